"""What the values of a model must be, said in a line each: the language of the table in `models_classes`.

A check is called with a value and a `Scope`, in which sizes get names: `floats("n", "k")` and `floats("k")` in one
object ask for the same k. Every check raises `Wrong`, whose words end a sentence that begins with the value's name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp


class Wrong(ValueError):
    """A value that is not what it must be."""


@dataclass
class Scope:
    """The sizes that are known by name in one object, and those of the objects that it is made of."""

    sizes: dict[str, int] = field(default_factory=dict)
    known: dict[int, tuple[str, dict[str, int]]] = field(default_factory=dict)  # id -> class name, its sizes

    def bind(self, name: str | int, size: int) -> None:
        """A size must be what it was when its name, or that of "k+1", came first."""
        name, _, more = (name, "", "") if isinstance(name, int) else name.partition("+")
        wanted = name if isinstance(name, int) else self.sizes.setdefault(name, size - int(more or 0))
        if wanted + int(more or 0) != size or wanted < 0:
            raise Wrong(f"has a size of {size} where {wanted + int(more or 0)} is needed")


Check = Callable[[Any, Scope], None]


def anything(value: Any, scope: Scope) -> None:
    """Whatever a file can hold."""


def nothing(value: Any, scope: Scope) -> None:
    """None."""
    if value is not None:
        raise Wrong("must be None")


def either(*checks: Check) -> Check:
    """The first check that does not object."""

    def check(value: Any, scope: Scope) -> None:
        said = []
        for one in checks:
            before = dict(scope.sizes)
            try:
                return one(value, scope)
            except Wrong as wrong:
                scope.sizes = before
                said.append(str(wrong))
        raise Wrong(", or ".join(said))

    return check


def optional(check: Check) -> Check:
    return either(nothing, check)


# --- numbers and words -----------------------------------------------------------------------------------


def number(value: Any, scope: Scope) -> None:
    """A real number, infinite or not, or NaN."""
    if not isinstance(value, Real) or isinstance(value, (bool, np.bool_)):
        raise Wrong(f"must be a number, not {type(value).__name__}")


def finite(value: Any, scope: Scope) -> None:
    number(value, scope)
    if not np.isfinite(float(value)):
        raise Wrong("must be finite")


def at_least(least: float) -> Check:
    """A number, infinity too."""

    def check(value: Any, scope: Scope) -> None:
        number(value, scope)
        if not float(value) >= least:
            raise Wrong(f"must be at least {least}")

    return check


def whole(least: int = 0, most: int = 2**62) -> Check:
    def check(value: Any, scope: Scope) -> None:
        if not isinstance(value, Integral) or isinstance(value, (bool, np.bool_)) or not least <= int(value) <= most:
            raise Wrong(
                f"must be a whole number of at least {least}" + (f" and at most {most}" if most < 2**62 else "")
            )

    return check


def size(name: str, least: int = 0) -> Check:
    """A whole number that is the size of that name."""

    def check(value: Any, scope: Scope) -> None:
        whole(least)(value, scope)
        scope.bind(name, int(value))

    return check


def flag(value: Any, scope: Scope) -> None:
    if not isinstance(value, (bool, np.bool_)):
        raise Wrong("must be true or false")


def text(value: Any, scope: Scope) -> None:
    if not isinstance(value, str):
        raise Wrong(f"must be text, not {type(value).__name__}")


def word(*words: str) -> Check:
    def check(value: Any, scope: Scope) -> None:
        if not isinstance(value, str) or value not in words:
            raise Wrong(f"must be one of {', '.join(words)}")

    return check


threads = optional(whole(-(2**31), 2**31))  # n_jobs


# --- arrays ----------------------------------------------------------------------------------------------


def _shaped(value: Any, kinds: str, shape: tuple[str | int, ...], scope: Scope) -> None:
    if not isinstance(value, np.ndarray) or value.dtype.kind not in kinds:
        raise Wrong(f"must be an array of {' or '.join(_KINDS[kind] for kind in kinds)}, not {_said(value)}")
    if value.ndim != len(shape):
        raise Wrong(f"must have {len(shape)} dimensions, not {value.ndim}")
    for name, length in zip(shape, value.shape, strict=True):
        scope.bind(name, length)


_KINDS = {"f": "floats", "i": "integers", "u": "integers", "b": "booleans", "U": "text", "O": "strings"}


def _said(value: Any) -> str:
    return f"one of {value.dtype}" if isinstance(value, np.ndarray) else type(value).__name__


def floats(*shape: str | int, infinite: bool = False, positive: bool = False, most: float = np.inf) -> Check:
    """float32 or float64; finite unless that is said, positive and at most so large where that is."""

    def check(value: Any, scope: Scope) -> None:
        _shaped(value, "f", shape, scope)
        if value.dtype.itemsize not in (4, 8):
            raise Wrong(f"must be float32 or float64, not {value.dtype}")
        if not infinite and not all_finite(value):
            raise Wrong("has entries that are infinite or NaN")
        if positive and value.size and not value.min() > 0:
            raise Wrong("has entries that are not positive")
        if most < np.inf and value.size and max(float(value.max()), -float(value.min())) > most:
            raise Wrong(f"has entries beyond {most:g}")

    return check


def all_finite(array: np.ndarray) -> bool:
    """Without a mask as long as the array: a sum is finite where all entries are, unless it overflows."""
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(array.sum(dtype=np.float64))) or bool(np.isfinite(array).all())


def integers(name: str, below: str | None = None, increasing: bool = False) -> Check:
    """(name,), from 0 on; below the size of that name; each larger than the one before."""

    def check(value: Any, scope: Scope) -> None:
        _shaped(value, "iu", (name,), scope)
        if value.size and int(value.min()) < 0:
            raise Wrong("has negative entries")
        if below is not None and value.size and int(value.max()) >= scope.sizes[below]:
            raise Wrong(f"has an entry of {int(value.max())}, and there are {scope.sizes[below]} rows")
        if increasing and not np.all(value[1:] > value[:-1]):
            raise Wrong("is not increasing")

    return check


def permutation(name: str) -> Check:
    def check(value: Any, scope: Scope) -> None:
        integers(name, below=name)(value, scope)
        if not np.all(np.bincount(value, minlength=len(value)) == 1):
            raise Wrong("is no order of the rows")

    return check


def starts(name: str, total: str) -> Check:
    """(name + 1,): where each run begins, from 0 to the size `total`."""

    def check(value: Any, scope: Scope) -> None:
        _shaped(value, "iu", (f"{name}+1",), scope)
        if value[0] != 0 or value[-1] != scope.sizes[total] or not np.all(value[1:] >= value[:-1]):
            raise Wrong(f"does not rise from 0 to {scope.sizes[total]}")

    return check


def mask(name: str) -> Check:
    return lambda value, scope: _shaped(value, "b", (name,), scope)


def labels(name: str) -> Check:
    """The classes: numbers, booleans or text."""
    return lambda value, scope: _shaped(value, "iufbUO", (name,), scope)


def strings(name: str) -> Check:
    return lambda value, scope: _shaped(value, "UO", (name,), scope)


def sparse(rows: str | int, columns: str | int, *, canonical: bool = False, infinite: bool = False) -> Check:
    """CSR, its indices held to its shape when it was read; canonical: in order, and no entry twice."""

    def check(value: Any, scope: Scope) -> None:
        if not sp.issparse(value) or value.format != "csr":
            raise Wrong(f"must be a CSR matrix, not {type(value).__name__}")
        floats("", infinite=infinite)(value.data, Scope())
        for name, length in zip((rows, columns), value.shape, strict=True):
            scope.bind(name, length)
        if canonical and not value.has_canonical_format:
            raise Wrong("has columns out of order")

    return check


def samples(rows: str, columns: str, *, infinite: bool = False, canonical: bool = False) -> Check:
    """Rows as estimators keep them: dense, CSR, or one string each, which is one column."""
    dense, csr = floats(rows, columns, infinite=infinite), sparse(rows, columns, infinite=infinite, canonical=canonical)

    def check(value: Any, scope: Scope) -> None:
        if sp.issparse(value):
            return csr(value, scope)
        if isinstance(value, np.ndarray) and value.dtype.kind == "O":
            strings(rows)(value, scope)
            return scope.bind(columns, 1)
        return dense(value, scope)

    return check


# --- what is made of others ------------------------------------------------------------------------------


def row(*checks: Check) -> Check:
    """A tuple, one check an entry."""

    def check(value: Any, scope: Scope) -> None:
        if not isinstance(value, tuple) or len(value) != len(checks):
            raise Wrong(f"must be a tuple of {len(checks)}")
        for one, entry in zip(checks, value, strict=True):
            one(entry, scope)

    return check


def several(check: Check) -> Check:
    """A list of them."""

    def check_all(value: Any, scope: Scope) -> None:
        if not isinstance(value, list):
            raise Wrong(f"must be a list, not {type(value).__name__}")
        for entry in value:
            check(entry, scope)

    return check_all


def a(*names: str, **sizes: str | int) -> Check:
    """An object of one of these classes, or of a family such as "kernel"; its sizes are given names here."""

    def check(value: Any, scope: Scope) -> None:
        name, own = scope.known.get(id(value), ("", {}))
        if not any(name == wanted or name.startswith(f"{wanted}.") for wanted in names):
            raise Wrong(f"must be one of {', '.join(names)}, not {name or type(value).__name__}")
        for theirs, here in sizes.items():
            if theirs in own:
                scope.bind(here, own[theirs])

    return check
