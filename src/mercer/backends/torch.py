"""torch tensors, on any device. One stream keeps a GPU busy, so tiles are computed one after another."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch

from mercer.backends import generic
from mercer.backends.generic import for_each, mirrored, one_thread, product, workers
from mercer.memory import available_bytes

__all__ = [
    "FUSED",
    "TILE",
    "buffer",
    "cholesky",
    "cholesky_solve",
    "coordinatewise",
    "dot",
    "for_each",
    "free_bytes",
    "fused_product",
    "fuses",
    "mirrored",
    "on_device",
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


def on_device(values: Any, device: Any) -> torch.Tensor:
    """Values as a tensor on a device. They pass through memory that the system cannot move, which a card reads itself.

    A copy to a card is begun, and products that need it wait for it.
    """
    here = torch.as_tensor(values)
    if torch.device(device).type != "cuda" or here.device.type != "cpu":
        return here.to(device)
    return here.pin_memory().to(device, non_blocking=True)


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


def cholesky(K: torch.Tensor) -> torch.Tensor:
    """L with L Lᵀ = K, lower triangular; LinAlgError if K is not positive definite."""
    L, failed = torch.linalg.cholesky_ex(K)
    if bool(failed):
        raise np.linalg.LinAlgError("The matrix is not positive definite.")
    return L


def cholesky_solve(L: torch.Tensor, V: torch.Tensor) -> torch.Tensor:
    """(L Lᵀ)⁻¹ V."""
    return torch.cholesky_solve(V, L)


def _rbf(A, aa, B, bb, gamma: float, out=None, entries: int = 0) -> torch.Tensor:
    """exp(−γ‖a − b‖²): one product that adds the norms as it goes, then two sweeps in place."""
    half = -gamma * aa[:, None] - gamma * bb[None, :] if out is None else None
    if half is None:
        half = torch.add(aa[:, None], bb[None, :], out=out).mul_(-gamma)
    return torch.addmm(half, A, B.T, alpha=2 * gamma, out=half).clamp_(max=0).exp_()


FUSED: dict[str, Callable[..., Any]] = {"rbf": _rbf}


def fuses(X: torch.Tensor) -> bool:
    """Whether products with kernel matrices of such tensors can be fused: on a GPU that Triton compiles for."""
    return X.device.type == "cuda" and _triton() and torch.cuda.get_device_capability(X.device) >= _LEAST_GPU


def fused_product(
    formula: Any, arithmetic: str, largest: float, trial: Callable[[], Any] | None = None
) -> Callable[[Any], Any] | None:
    """V ↦ k(X, Y) V for a formula of k (see `symbolic`), or None if it cannot be fused.

    The product answers None if entries exceed its range, if the card cannot run it, or if its code fails the trial.
    """
    if not fuses(formula.readings[0].rows):
        return None
    products = import_module("mercer.backends.triton_products")
    wide = any(reading.by_product and reading.rows.shape[1] > DOUBLE_TO for reading in formula.readings)
    return None if wide and arithmetic == "double" else products.FusedProduct(formula, arithmetic, largest, trial)


@cache
def _triton() -> bool:
    return find_spec("triton") is not None


DOUBLE_TO = 128  # coordinates up to which float64 is fused: beyond, symmetric halves of cuBLAS's tiles take less time
_LEAST_GPU = (8, 0)  # the first whose matrix units multiply in float64
