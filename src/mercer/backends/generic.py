"""The reference backend: plain array-API code, nothing fused, one thread. Every other backend agrees with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from mercer.backends import namespace
from mercer.memory import available_bytes

TILE = 1024
FUSED: dict[str, Callable[..., Any]] = {}  # kernels whose distance and profile are computed in one sweep


def workers(n_jobs: int | None = None) -> int:
    return 1


def free_bytes(X: Any) -> int:
    return available_bytes()


def for_each(jobs: Iterable[Any], work: Callable[[Any, int], None], n_jobs: int | None = None) -> None:
    """Call work(job, slot) for each job; slots count the workers, so that each can own a buffer."""
    for job in jobs:
        work(job, 0)


def buffer(rows: int, columns: int, like: Any) -> Any:
    """Room for a tile that the backend may write into, or None where it writes none."""
    return None


def dot(A: Any, B: Any, out: Any = None) -> Any:
    """⟨a, b⟩ for rows a of A and b of B."""
    return A @ B.T


def sqeuclidean(A: Any, aa: Any, B: Any, bb: Any, out: Any = None) -> Any:
    """‖a − b‖² by ‖a‖² + ‖b‖² − 2⟨a, b⟩: fast, with an absolute error of eps · (‖a‖² + ‖b‖²)."""
    xp = namespace(A)
    D = -2 * (A @ B.T) + aa[:, None] + bb[None, :]
    return xp.where(D > 0, D, xp.zeros_like(D))


def sqeuclidean_direct(A: Any, B: Any) -> Any:
    """‖a − b‖² coordinate by coordinate: slower, and right to the last digit wherever the points lie."""
    return _sum_over_coordinates(A, B, lambda a, b: (a - b) ** 2)


def manhattan(A: Any, B: Any, out: Any = None) -> Any:
    """‖a − b‖₁."""
    xp = namespace(A)
    return _sum_over_coordinates(A, B, lambda a, b: xp.abs(a - b))


def _sum_over_coordinates(A: Any, B: Any, term: Callable[[Any, Any], Any]) -> Any:
    xp = namespace(A)
    total = xp.zeros((A.shape[0], B.shape[0]), dtype=A.dtype, device=A.device)
    for j in range(A.shape[1]):
        total = total + term(A[:, j][:, None], B[:, j][None, :])
    return total
