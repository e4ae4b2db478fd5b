"""The reference backend: plain array-API code, nothing fused, one thread. Every other backend must agree with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from mercer.backends import namespace
from mercer.memory import available_bytes
from mercer.progress import counter

TILE = 1024  # rows and columns of a tile
FUSED: dict[str, Callable[..., Any]] = {}  # name of a kernel -> a function that computes distance and profile at once


def workers(n_jobs: int | None = None) -> int:
    """The number of jobs that run at the same time."""
    return 1


def free_bytes(X: Any) -> int:
    """The memory that is free where X lives."""
    return available_bytes()


def for_each(jobs: Iterable[Any], work: Callable[[Any, int], None], n_jobs: int | None = None) -> None:
    """Call work(job, slot) for each job. Jobs with the same slot never overlap, so a slot can own a buffer."""
    jobs = list(jobs)
    done_one = counter(len(jobs))
    for job in jobs:
        work(job, 0)
        if done_one is not None:
            done_one()


def one_thread() -> AbstractContextManager[Any]:
    """A context for problems that are too small for more than one thread."""
    return nullcontext()


def buffer(rows: int, columns: int, like: Any) -> Any:
    """Memory for a tile that the backend may write into, or None if it never does."""
    return None


def product(M: Any, V: Any) -> Any:
    """M V for a symmetric matrix that is stored."""
    return M @ V


def dot(A: Any, B: Any, out: Any = None) -> Any:
    """⟨a, b⟩ for rows a of A and b of B."""
    return A @ B.T


def sqeuclidean(A: Any, aa: Any, B: Any, bb: Any, out: Any = None, entries: int = 0) -> Any:
    """‖a − b‖² by ‖a‖² + ‖b‖² − 2⟨a, b⟩: fast, with an absolute error of eps · (‖a‖² + ‖b‖²)."""
    xp = namespace(A)
    D = -2 * (A @ B.T) + aa[:, None] + bb[None, :]
    return xp.where(D > 0, D, xp.zeros_like(D))


def sqeuclidean_direct(A: Any, B: Any) -> Any:
    """‖a − b‖² coordinate by coordinate: slower, but right to the last digit wherever the points lie."""
    return coordinatewise("sqeuclidean", A, B)


def refine_near(D: Any, A: Any, aa: Any, B: Any, bb: Any, near: float) -> Any:
    """Squared distances D, with those below near · (aa + bb) recomputed coordinate by coordinate."""
    return sqeuclidean_direct(A, B)


def coordinatewise(name: str, A: Any, B: Any, out: Any = None, entries: int = 0) -> Any:
    """Σ_c term(a_c, b_c), the term chosen by name."""
    xp = namespace(A)
    term = _TERMS[name]
    total = xp.zeros((A.shape[0], B.shape[0]), dtype=A.dtype, device=A.device)
    for c in range(A.shape[1]):
        total = total + xp.astype(term(A[:, c][:, None], B[:, c][None, :], xp), A.dtype)
    return total


def _chi2(a: Any, b: Any, xp: Any) -> Any:
    total = a + b
    empty = total == 0
    return xp.where(empty, xp.zeros_like(total), (a - b) ** 2 / xp.where(empty, xp.ones_like(total), total))


_TERMS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "sqeuclidean": lambda a, b, xp: (a - b) ** 2,
    "manhattan": lambda a, b, xp: xp.abs(a - b),
    "intersection": lambda a, b, xp: xp.minimum(a, b),
    "matches": lambda a, b, xp: a == b,
    "chi2": _chi2,
}


def mirrored(t: Any, entries: Callable[[Any, slice, slice], Any]) -> Any:
    """The symmetric matrix entries(t[I, J], I, J) of a symmetric t. A backend may compute only one half of it."""
    return entries(t, slice(None), slice(None))


def set_diagonal(K: Any, values: Any) -> Any:
    """K with the given diagonal."""
    xp = namespace(K)
    on = xp.eye(K.shape[0], dtype=xp.int8, device=K.device) == 1
    return xp.where(on, values[:, None], K)
