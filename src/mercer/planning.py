"""What a fit will do and how much memory it will take, known before it starts.

Every estimator that can grow large has `plan(X)`, which gives a `Plan`: the method and why, the peak of memory, whether
that fits, and what to change if it does not. `fit` makes the same plan and refuses by it, so the two never disagree.

The memory model is a `Footprint`: parts that a fit holds from beginning to end, and steps that come one after another,
each with parts of its own. The sizes of the parts are in `mercer.footprints`.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from mercer.exceptions import MemoryLimitError
from mercer.memory import address_bytes, format_bytes, parse_bytes

DEFAULT_SHARE = 0.5  # the share of free memory that a fit without a limit may use; other programs need the rest
# Kept tiles only save time, and without a limit the user has not agreed to spend memory on them. Reading a kept tile
# takes half the time of computing it for 50 columns and a tenth for 800, but filling fresh memory costs as much as one
# to three passes. So keeping less loses little, and a job in a batch queue seldom has less than 2 GB.
# Without a limit, kept tiles may use this share of the free memory, and this many bytes at most.
KEPT_SHARE, KEPT_MOST = 0.25, 2 * 10**9
COMPILED_CODE = 100_000_000  # bytes that numba, LLVM and the compiled loops take, once in a process
LIBRARIES = 9_000_000  # bytes that BLAS takes for the buffers of its threads, and Python for modules and objects
MODULES = 1_500_000  # bytes of Python's modules and objects alone

Parts = Mapping[str, int]


@dataclass(frozen=True)
class Footprint:
    """The memory of a fit in bytes, part by part.

    held : parts that stay from beginning to end
    steps : the parts that each step adds; steps follow one another, so only the largest counts

    >>> Footprint({"rows": 10}, {"factor": {"F": 5}, "passes": {"basis": 7, "tiles": 2}}).peak
    19
    """

    held: Parts
    steps: Mapping[str, Parts] = field(default_factory=dict)

    @property
    def peak(self) -> int:
        """The bytes held when the largest step runs."""
        return sum(self.parts.values())

    @property
    def parts(self) -> dict[str, int]:
        """The parts that are in memory when the largest step runs."""
        largest = max(self.steps.values(), key=lambda parts: sum(parts.values()), default={})
        return {**self.held, **largest}

    def as_steps(self, name: str) -> dict[str, Parts]:
        """This footprint as steps of a larger one, with `name` in front of theirs."""
        steps = self.steps or {"": {}}
        return {f"{name}: {step}".rstrip(": "): {**self.held, **parts} for step, parts in steps.items()}


@dataclass(frozen=True)
class Alternative:
    """A change of parameters that takes less memory, and the bytes that the fit then needs."""

    parameters: Mapping[str, Any]
    needed_bytes: int

    def __str__(self) -> str:
        changes = ", ".join(f"{name}={value!r}" for name, value in self.parameters.items())
        return f"{changes} ({format_bytes(self.needed_bytes)})"


@dataclass(frozen=True)
class Plan:
    """What `fit` will do: the method and why, the memory it takes, and whether that fits.

    estimator : the name of the class
    rows : how many samples there are
    method : the solver or method that will run; `solver` is another name for it
    reason : why that one
    footprint : the parts of the memory that the fit needs
    limit : bytes that the fit may take: `memory_limit`, or half of the free memory
    limit_given : whether the limit is the user's
    keep_bytes : of tiles that the fit keeps between passes; fewer would only be slower. As many as the user's limit
        allows; without one, at most a quarter of the free memory and 2 GB
    later : the memory of what follows the fit itself, such as the map back to rows, when kept tiles are gone
    code_bytes : of libraries and compiled code that the first fit in a process loads, and that stay. The very first
        fit on a machine also compiles, which may take about 100 MB more, once; this is not counted
    tile : rows of a tile of the kernel matrix; 0 if the fit uses no tiles
    alternatives : changes that would fit, smallest change first; empty if the plan fits
    """

    estimator: str
    rows: int
    method: str
    reason: str
    footprint: Footprint
    limit: int
    limit_given: bool = False
    keep_bytes: int = 0
    code_bytes: int = 0
    tile: int = 0
    alternatives: tuple[Alternative, ...] = ()
    later: Footprint = Footprint({})

    @property
    def solver(self) -> str:
        return self.method

    @property
    def needed_bytes(self) -> int:
        """The least that the fit works with, new code included. More than the limit is refused."""
        return max(self.footprint.peak, self.later.peak) + self.code_bytes

    @property
    def peak_bytes(self) -> int:
        """The most that the fit will add to the process: the bytes it needs, and the tiles that it keeps."""
        return max(self.footprint.peak + self.keep_bytes, self.later.peak) + self.code_bytes

    @property
    def parts(self) -> dict[str, int]:
        """The parts that are in memory at the peak of what is needed."""
        return self.later.parts if self.later.peak > self.footprint.peak else self.footprint.parts

    @property
    def room_bytes(self) -> int:
        """The bytes that the limit leaves while tiles are kept."""
        return max(0, self.limit - self.footprint.peak - self.code_bytes)

    @property
    def fits(self) -> bool:
        return self.needed_bytes <= self.limit

    def keeping(self, wanted: int, free: int, most: int = KEPT_MOST) -> Plan:
        """The plan with up to `wanted` bytes of kept tiles; without a limit, `most` and a share of `free` at most."""
        if not wanted:
            return self
        allowed = self.room_bytes if self.limit_given else min(self.room_bytes, most, int(KEPT_SHARE * free))
        return replace(self, keep_bytes=min(wanted, allowed))

    def refuse(self) -> None:
        """Raise MemoryLimitError if the plan does not fit."""
        if not self.fits:
            raise MemoryLimitError(self._refusal())
        if self.needed_bytes > address_bytes():
            raise MemoryLimitError(
                f"{self.estimator} of {self.rows:,} rows by {self.method} needs {format_bytes(self.needed_bytes)}, "
                f"more than the {format_bytes(address_bytes())} that the limit on addresses (RLIMIT_AS, `ulimit -v`) "
                "leaves. Nothing was allocated. Raise that limit."
            )

    def _refusal(self) -> str:
        tries = [str(alternative) for alternative in self.alternatives]
        tries.append("a larger memory_limit" if self.limit_given else "a machine with more free memory")
        return (
            f"{self.estimator} of {self.rows:,} rows by {self.method} ({self.reason}) needs "
            f"{format_bytes(self.needed_bytes)}{self._what_for()}, more than the {self._whose()}. Nothing was "
            f"allocated. Try {', or '.join(tries)}."
        )

    def _what_for(self) -> str:
        return f" for {next(iter(self.later.steps))}" if self.later.peak > self.footprint.peak else ""

    def _whose(self) -> str:
        if self.limit_given:
            return f"memory_limit of {format_bytes(self.limit)}"
        return f"{format_bytes(self.limit)} of free memory that it may take"

    def __str__(self) -> str:
        kept = f", {format_bytes(self.keep_bytes)} of it tiles that are kept" if self.keep_bytes else ""
        code = f", {format_bytes(self.code_bytes)} of it libraries that stay loaded" if self.code_bytes else ""
        lines = [
            f"{self.estimator} of {self.rows:,} rows by {self.method}: {self.reason}",
            f"peak {format_bytes(self.peak_bytes)}{kept}{code}",
            f"{'fits' if self.fits else 'DOES NOT FIT'} the {self._whose()}",
        ]
        lines += [f"instead: {alternative}" for alternative in self.alternatives]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = {
            "method": f"{self.method}: {self.reason}",
            "peak": format_bytes(self.peak_bytes),
            **{f"· {name}": format_bytes(size) for name, size in self.parts.items() if size},
            **({"· kept tiles": format_bytes(self.keep_bytes)} if self.keep_bytes else {}),
            **({"· libraries": format_bytes(self.code_bytes)} if self.code_bytes else {}),
            "fits": f"{'yes' if self.fits else 'no'}, the limit is {format_bytes(self.limit)}",
            **({"instead": "; ".join(map(str, self.alternatives))} if self.alternatives else {}),
        }
        body = "".join(f"<tr><th>{_escaped(name)}</th><td>{_escaped(text)}</td></tr>" for name, text in rows.items())
        return f"<table><caption>{self.estimator} of {self.rows:,} rows</caption>{body}</table>"


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")


def limit_of(memory_limit: Any, free: int, share: float = DEFAULT_SHARE) -> int:
    """The bytes that a fit may take: the user's limit, or a share of the free memory."""
    return int(share * free) if memory_limit is None else parse_bytes(memory_limit)


def code_bytes(compiled: bool) -> int:
    """The bytes that a first fit adds to its process for libraries and compiled code. numba may be loaded already."""
    return LIBRARIES + (COMPILED_CODE if compiled and "numba" not in sys.modules else 0)
