"""torch tensors, on any device. One stream keeps a GPU busy, so tiles are computed one after another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from mercer.backends import generic
from mercer.backends.generic import for_each, mirrored, one_thread, product, workers
from mercer.memory import available_bytes

__all__ = [
    "FUSED",
    "TILE",
    "buffer",
    "coordinatewise",
    "dot",
    "for_each",
    "free_bytes",
    "mirrored",
    "one_thread",
    "product",
    "refine_near",
    "set_diagonal",
    "workers",
]

TILE = 8192  # a GPU needs large tiles to be busy


def free_bytes(X: torch.Tensor) -> int:
    """The memory that is free on the device of X, counting what torch holds in its own cache."""
    if X.device.type != "cuda":
        return available_bytes()
    held = torch.cuda.memory_reserved(X.device) - torch.cuda.memory_allocated(X.device)
    return torch.cuda.mem_get_info(X.device)[0] + held


def buffer(rows: int, columns: int, like: torch.Tensor) -> torch.Tensor:
    return torch.empty((rows, columns), dtype=like.dtype, device=like.device)


def dot(A: torch.Tensor, B: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
    """⟨a, b⟩ for rows a of A and b of B."""
    return torch.matmul(A, B.T, out=out)


def sqeuclidean(A, aa, B, bb, out=None, entries: int = 0) -> torch.Tensor:
    """‖a − b‖² by ‖a‖² + ‖b‖² − 2⟨a, b⟩: fast, with an absolute error of eps · (‖a‖² + ‖b‖²)."""
    D = dot(A, B, out)
    D.mul_(-2).add_(aa[:, None]).add_(bb[None, :])
    return D.clamp_(min=0)


def sqeuclidean_direct(A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
    """‖a − b‖² coordinate by coordinate: slower, but right to the last digit wherever the points lie."""
    return torch.cdist(A, B, compute_mode="donot_use_mm_for_euclid_dist") ** 2


def refine_near(D, A, aa, B, bb, near: float) -> torch.Tensor:
    """Squared distances D, with those below near · (aa + bb) recomputed coordinate by coordinate."""
    i, j = torch.nonzero(near * (aa[:, None] + bb[None, :]) > D, as_tuple=True)
    for run in torch.split(torch.arange(len(i), device=D.device), 2**16):
        D[i[run], j[run]] = ((A[i[run]] - B[j[run]]) ** 2).sum(1)
    return D


def coordinatewise(name: str, A: torch.Tensor, B: torch.Tensor, out: Any = None, entries: int = 0) -> torch.Tensor:
    """Σ_c term(a_c, b_c), the term chosen by name."""
    return torch.cdist(A, B, p=1.0) if name == "manhattan" else generic.coordinatewise(name, A, B)


def set_diagonal(K: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """K with the given diagonal, in place."""
    K.diagonal().copy_(values)
    return K


def _rbf(A, aa, B, bb, gamma: float, out=None, entries: int = 0) -> torch.Tensor:
    """exp(−γ‖a − b‖²): one product that adds the norms as it goes, then two sweeps in place."""
    half = -gamma * aa[:, None] - gamma * bb[None, :] if out is None else None
    if half is None:
        half = torch.add(aa[:, None], bb[None, :], out=out).mul_(-gamma)
    return torch.addmm(half, A, B.T, alpha=2 * gamma, out=half).clamp_(max=0).exp_()


FUSED: dict[str, Callable[..., Any]] = {"rbf": _rbf}
