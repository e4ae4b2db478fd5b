"""The eigensolvers of the case "solvers": (M or X, k, tol, …) ↦ values, vectors, passes and products.

A pass is one visit of the matrix, whatever the number of vectors; products count the vectors. All but the streamed
one are given the same explicit matrix HKH; where a solver wants an absolute tolerance, it is given tol · γ₁. What
Mercer's solver starts and preconditions with, a low-rank factor of rank max(200, 3k), is given to the others as
well in the "started" ones, and building it is part of their time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator, eigsh, lobpcg

from mercer.kernels import RBF
from mercer.linalg.eigen import top_eigenpairs
from mercer.linalg.gram import Gram
from mercer.linalg.lowrank import rpcholesky
from mercer.linalg.operators import Centered, Dense

Answer = dict[str, Any]
_KEEP = 10**9  # bytes of tiles that the streamed operator may keep: all of 10,000² in either precision


class Counted(LinearOperator):
    """A matrix that counts its visits and the vectors that it was multiplied with."""

    def __init__(self, M: np.ndarray) -> None:
        super().__init__(M.dtype, M.shape)
        self.M, self.passes, self.products = M, 0, 0

    def _matmat(self, V: np.ndarray) -> np.ndarray:
        self.passes += 1
        self.products += V.shape[1]
        return self.M @ V

    def _matvec(self, v: np.ndarray) -> np.ndarray:
        return self._matmat(v.reshape(-1, 1))

    def answer(self, values: np.ndarray, vectors: np.ndarray) -> Answer:
        return {"values": values, "vectors": vectors, "passes": self.passes, "products": self.products}


def krylov_dense(M: np.ndarray, k: int, tol: float, largest: float) -> Answer:
    A = Dense(M)
    pairs = top_eigenpairs(A, k, solver="krylov", tol=tol)
    return {
        "values": pairs.values,
        "vectors": pairs.vectors,
        "passes": pairs.passes,
        "products": A.columns,
    }


def krylov_streamed(X: np.ndarray, k: int, tol: float, gamma: float) -> Answer:
    A = Centered(Gram(RBF(gamma).bind(X), X, keep_bytes=_KEEP, keep_from=1))
    pairs = top_eigenpairs(A, k, solver="krylov", tol=tol)
    return {"values": pairs.values, "vectors": pairs.vectors, "passes": pairs.passes, "products": None}


def primme_default(M: np.ndarray, k: int, tol: float, largest: float) -> Answer:
    import primme

    A = Counted(M)
    v0 = np.random.default_rng(0).standard_normal((len(M), 1))
    return A.answer(*primme.eigsh(A, k, which="LA", tol=tol, v0=v0))


def primme_started(M: np.ndarray, k: int, tol: float, largest: float) -> Answer:
    import primme

    A = Counted(M)
    V, preconditioner = low_rank_start(M, k)
    return A.answer(*primme.eigsh(A, k, which="LA", tol=tol, v0=V, OPinv=preconditioner, maxBlockSize=min(k, 8)))


def lobpcg_random(M: np.ndarray, k: int, tol: float, largest: float) -> Answer:
    A = Counted(M)
    V = np.random.default_rng(0).standard_normal((len(M), k))
    return A.answer(*lobpcg(A, V, tol=tol * largest, maxiter=500, largest=True))


def lobpcg_started(M: np.ndarray, k: int, tol: float, largest: float) -> Answer:
    A = Counted(M)
    V, preconditioner = low_rank_start(M, k)
    return A.answer(*lobpcg(A, V, M=preconditioner, tol=tol * largest, maxiter=500, largest=True))


def arpack(M: np.ndarray, k: int, tol: float, largest: float) -> Answer:
    A = Counted(M)
    v0 = np.random.default_rng(0).uniform(-1, 1, len(M))
    return A.answer(*eigsh(A, k, which="LA", tol=tol, v0=v0))


def low_rank_start(M: np.ndarray, k: int) -> tuple[np.ndarray, LinearOperator]:
    """The top k eigenvectors of FFᵀ ≈ M, and σ(σI − FFᵀ)⁻¹ with σ a little above the largest eigenvalue."""
    rank = min(len(M) // 4, max(200, 3 * k))
    F = rpcholesky(Dense(M), rank, np.random.default_rng(0), dtype=np.float32).F
    values, W = np.linalg.eigh((F.T @ F).astype(np.float64))
    alive = np.flatnonzero(values > 1e-6 * values[-1])[::-1]
    values = values[alive]
    U = F @ (W[:, alive] / np.sqrt(values))
    sigma = 1.01 * values[0]
    weights = sigma / (sigma - values) - 1

    def apply(R: np.ndarray) -> np.ndarray:
        R = R.reshape(len(M), -1)
        return R + U @ (weights[:, None] * (U.T @ R))

    V = np.linalg.qr(U[:, :k])[0]
    return V, LinearOperator(M.shape, matvec=apply, matmat=apply, dtype=np.float64)


def streams(name: str) -> bool:
    """Whether the solver is given the data instead of the matrix."""
    return name == "krylov_streamed"


SOLVERS: dict[str, Callable[..., Answer]] = {
    solver.__name__: solver
    for solver in (
        krylov_dense,
        krylov_streamed,
        primme_default,
        primme_started,
        lobpcg_random,
        lobpcg_started,
        arpack,
    )
}
