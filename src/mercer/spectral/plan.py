"""What a fit of kernel PCA will do and take, known before it starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mercer.exceptions import MemoryLimitError
from mercer.linalg.eigen import SMALL, choose_solver
from mercer.memory import format_bytes, parse_bytes
from mercer.models.fields import SavedRecord

DEFAULT_SHARE = 0.5  # of what is free: the rest of the machine has work to do as well


@dataclass(frozen=True)
class Plan:
    """The solver that will run and why, and the memory that it needs at least and may use at most."""

    solver: str
    reason: str
    needed_bytes: int
    keep_bytes: int
    limit: int
    tile: int  # rows of K's tiles

    def __str__(self) -> str:
        kept = f", up to {format_bytes(self.keep_bytes)} of tiles kept" if self.keep_bytes else ""
        return f"{self.solver}: {self.reason}; needs {format_bytes(self.needed_bytes)}{kept}"


@dataclass(frozen=True)
class SolverReport:
    """What a fit did: the solver and why it was chosen, passes over the kernel matrix, bytes, tolerance, seconds."""

    _saved = SavedRecord("SolverReport")

    name: str
    reason: str
    passes: int
    bytes: int
    tol: float
    converged: bool
    seconds: float

    def __str__(self) -> str:
        state = "converged" if self.converged else "NOT converged"
        return (
            f"{self.name} ({self.reason}): {self.passes} passes, {format_bytes(self.bytes)}, "
            f"{state} at {self.tol:.0e} in {self.seconds:.2g} s"
        )


def plan_fit(
    n: int,
    d: int,
    k: int,
    itemsize: int,
    *,
    solver: str,
    rank: int | None,
    limit: Any,
    free: int,
    threads: int,
    tile: int,
    parts: int = 1,
    numpy: bool = True,
    tries: Sequence[str] | None = None,
) -> Plan:
    """The plan for the top k of n samples that hold d numbers each; MemoryLimitError where it would not fit.

    tries : what a refusal advises; None is what KernelPCA offers
    """
    bound = parse_bytes(limit) if limit is not None else int(DEFAULT_SHARE * free)
    reason = "asked for"
    if solver == "auto":
        solver, reason = choose_solver(n, k, numpy=numpy)
        if solver == "dense" and _dense_bytes(n, k) > bound and k < n // 2:
            solver, reason = "krylov", f"the dense matrix of {format_bytes(8 * n * n)} does not fit the limit"
    tile = _tile_that_fits(tile, bound // 4, parts, threads)
    need = {
        "dense": _dense_bytes(n, k),
        "rpcholesky": _factor_bytes(n, rank or 0, d, itemsize, tile, parts, threads),
    }.get(solver, _block_bytes(n, k, d, tile, parts, threads))
    if need > bound:
        raise MemoryLimitError(_refusal(n, k, solver, need, bound, limit is not None, rank, tries))
    keep = 0 if solver in ("dense", "rpcholesky") else min(bound - need, n * (n + 8192) // 2 * 8)
    return Plan(solver, reason, need, keep, bound, tile)


def _dense_bytes(n: int, k: int) -> int:
    return 8 * (2 * n * n + 5 * n * k)  # the matrix and LAPACK's copy; vectors, their product and residuals


def _block_bytes(n: int, k: int, d: int, tile: int, parts: int, threads: int) -> int:
    """Of a block solver: basis and product, old and new while they grow; the preconditioner; points; sums; tiles."""
    whole = 8 * n * n if n <= SMALL else 0
    basis = 4 * 8 * n * max(4 * (k + max(4, k // 8)), 64)
    preconditioner = 4 * n * max(200, 3 * k)
    points = parts * n * d * (8 + 4 + 8)  # float64 and float32 rows, and one copy on the way
    sums = (threads + 1) * 8 * n * (k + max(4, k // 8) + 4)
    return whole + basis + preconditioner + points + sums + _tile_bytes(n, tile, parts, threads)


def _factor_bytes(n: int, rank: int, d: int, itemsize: int, tile: int, parts: int, threads: int) -> int:
    """Of a factor: F, the points, the small matrices of each thread, and the strips of K on their way into F."""
    strips = threads * itemsize * 8192 * max(8, rank // 8) * 4
    small = 8 * rank * rank * (threads + 3) + 8 * n * 6
    return n * rank * itemsize + parts * 3 * n * d * itemsize + small + strips + _tile_bytes(n, tile, parts, threads)


def _tile_bytes(n: int, tile: int, parts: int, threads: int) -> int:
    return threads * (1 + parts) * 8 * min(tile, n) ** 2  # a buffer, and a temporary for each part


def _tile_that_fits(tile: int, room: int, parts: int, threads: int) -> int:
    """The backend's tile, halved until those of all threads fit."""
    while tile > 256 and _tile_bytes(tile, tile, parts, threads) > room:
        tile //= 2
    return tile


def _refusal(
    n: int, k: int, solver: str, need: int, bound: int, given: bool, rank: int | None, advice: Sequence[str] | None
) -> str:
    whose = f"memory_limit of {format_bytes(bound)}" if given else f"{format_bytes(bound)} that can be spared"
    tries = [] if advice is None else list(advice)
    if advice is None and solver == "dense":
        tries.append("eigen_solver='krylov' with fewer components, which never forms the matrix")
    if advice is not None:
        pass
    elif solver == "rpcholesky":
        tries.append(f"a rank below {rank}")
    else:
        tries.append("eigen_solver='rpcholesky' with a rank of a few hundred")
        tries.append("fewer components")
    tries.append("a larger memory_limit" if given else "memory_limit, if more can be had")
    what = f"eigen_solver='{solver}' on {n} samples for {k} components" if advice is None else f"A fit of {n} samples"
    return (
        f"{what} needs {format_bytes(need)}, more than the {whose}. Nothing was allocated. Try {', or '.join(tries)}."
    )
