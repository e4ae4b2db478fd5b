"""The loss of a map: KL(P ‖ Q), with Q the similarities of its points over their sum; and the forces on the points.

    qᵢⱼ = w(d²ᵢⱼ) / Z,   Z = Σ_{k≠l} w(d²ₖₗ),   KL = Σ pᵢⱼ log pᵢⱼ − Σ pᵢⱼ log w(d²ᵢⱼ) + log Z
    ∂KL/∂yᵢ = 4 [ Σⱼ pᵢⱼ (−w′/w)(d²ᵢⱼ) (yᵢ − yⱼ) − Gᵢ/Z ],   Gᵢ = Σⱼ −w′(d²ᵢⱼ) (yᵢ − yⱼ)

The first sum is the attraction, over the neighbours alone; G and Z are the repulsion, over all pairs.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from mercer.backends import is_torch, slices
from mercer.backends.cpu import for_each
from mercer.embedding.repulsion import Repulsion
from mercer.embedding.similarity import Similarity
from mercer.embedding.z_order import reordered


class Attraction:
    """Σⱼ pᵢⱼ (−w′/w)(d²ᵢⱼ) (aᵢ − yⱼ) for a sparse P with rows i and columns j, O(nnz), in parallel over rows."""

    def __init__(self, P: sp.csr_array, similarity: Similarity, n_jobs: int | None = None) -> None:
        self.P, self.n, self.n_jobs, self.similarity = P, P.shape[0], n_jobs, similarity
        # Compiled code need not ask whether an unsigned index counts from the end.
        self.entries = P.indptr, P.indices.view(np.uint32 if P.indices.dtype == np.int32 else np.uint64), P.data

    def __call__(self, A: np.ndarray, Y: np.ndarray | None = None) -> np.ndarray:
        """The pull on each row of A by the rows of Y, (n, c); without Y, by those of A itself."""
        Y = A if Y is None else Y
        if self.similarity.compiled is None:
            return self._pull_in_numpy(A, Y)
        pull = np.empty_like(A)
        kernel = _compiled().attract_plane if A.shape[1] == 2 else _compiled().attract
        self._each(kernel, A, Y, pull)
        return pull

    def log_similarity(self, A: np.ndarray, Y: np.ndarray | None = None) -> np.ndarray:
        """Σⱼ pᵢⱼ log w(d²ᵢⱼ) of each row, (n,), in float64."""
        Y, logs = A if Y is None else Y, np.empty(self.n)
        if self.similarity.compiled is None:
            return self._sums(self.P.data * self.similarity.log_weight(self._squares(A, Y)))
        self._each(_compiled().log_similarity, A, Y, logs)
        return logs

    def _each(self, kernel: Any, A: np.ndarray, Y: np.ndarray, out: np.ndarray) -> None:
        form, kind = self.similarity.compiled, A.dtype.type
        assert form is not None
        numbers = kind(form.a), kind(form.b), kind(form.s)

        def work(run: slice, _: int) -> None:
            kernel(*self.entries, A, Y, *numbers, out, run.start, run.stop)

        for_each(slices(self.n), work, self.n_jobs, blas=False)

    # For a similarity without a compiled form, in float64:

    def _pull_in_numpy(self, A: np.ndarray, Y: np.ndarray) -> np.ndarray:
        strength = self.P.data * self.similarity.log_slope(self._squares(A, Y))
        rows, others = self._ends(A, Y)
        return np.stack([self._sums(s) for s in (strength[:, None] * (rows - others)).T], axis=1).astype(A.dtype)

    def _squares(self, A: np.ndarray, Y: np.ndarray) -> np.ndarray:
        rows, others = self._ends(A, Y)
        return np.square(rows - others).sum(axis=1)

    def _ends(self, A: np.ndarray, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The points of each stored pair, (nnz, c) both."""
        rows = np.repeat(np.arange(self.n), np.diff(self.P.indptr))
        return A[rows].astype(np.float64), Y[self.P.indices].astype(np.float64)

    def _sums(self, values: np.ndarray) -> np.ndarray:
        """Sums of the stored entries of each row, (n,)."""
        return np.asarray(sp.csr_array((values, self.P.indices, self.P.indptr), shape=self.P.shape).sum(axis=1))


class TensorAttraction:
    """The same sums for a P that is a CSR tensor, on its device."""

    def __init__(self, P: Any, similarity: Similarity) -> None:
        self.P, self.similarity, form = P, similarity, similarity.compiled
        self._numbers = None if form is None else (form.a, form.b, form.s)

    def __call__(self, A: Any, Y: Any = None) -> Any:
        Y = A if Y is None else Y
        if self._numbers is None:
            return _on_tensors().general_sums(self.P, A, Y, self.similarity)[0]
        return _on_tensors().attract(self.P, A, Y, *self._numbers)

    def log_similarity(self, A: Any, Y: Any = None) -> Any:
        Y = A if Y is None else Y
        if self._numbers is None:
            return _on_tensors().general_sums(self.P, A, Y, self.similarity)[1]
        return _on_tensors().log_similarities(self.P, A, Y, *self._numbers)


def attraction_of(P: Any, similarity: Similarity, n_jobs: int | None = None) -> Attraction | TensorAttraction:
    """The attraction by the type of P."""
    return TensorAttraction(P, similarity) if is_torch(P) else Attraction(P, similarity, n_jobs)


class Forces(NamedTuple):
    """The forces on the points of a map: the gradient is 4 (pull − push / Z)."""

    pull: Any
    push: Any
    Z: float


class Loss:
    """KL(P ‖ Q) as a function of the map. P is symmetric and sums to one; `entropy` is its Σ p log p."""

    def __init__(
        self,
        P: Any,
        entropy: float,
        similarity: Similarity,
        repulsion: Repulsion,
        n_jobs: int | None = None,
    ) -> None:
        self.attraction = attraction_of(P, similarity, n_jobs)
        self.P, self.entropy, self.similarity, self.repulsion, self.n_jobs = P, entropy, similarity, repulsion, n_jobs

    def reorder(self, order: Any) -> None:
        """Take the rows of every later map in this order of P's rows; None: in P's own order."""
        del self.attraction  # it may hold a reordered copy of P, and two copies beside P would be one too many
        P = self.P if order is None else reordered(self.P, order, self.n_jobs)
        self.attraction = attraction_of(P, self.similarity, self.n_jobs)

    def forces(self, Y: Any) -> Forces:
        pull = self.attraction(Y)
        push, Z = self.repulsion(Y)
        # If all similarities underflow, nothing repels: G is zero as well, and any positive Z gives that.
        return Forces(pull, push, max(Z, float(np.finfo(np.float32).tiny)))

    def gradient(self, Y: Any, exaggeration: float = 1.0) -> Any:
        """∂KL/∂Y, (n, c), with the attraction multiplied by the exaggeration."""
        pull, push, Z = self.forces(Y)
        return 4 * (exaggeration * pull - push / Z)

    def value(self, Y: Any, Z: float | None = None) -> float:
        """KL(P ‖ Q), with sums in float64. Without Z, it is computed here."""
        Z = self.repulsion(Y)[1] if Z is None else Z
        Z = max(Z, float(np.finfo(np.float32).tiny))
        return self.entropy - float(self.attraction.log_similarity(Y).sum()) + float(np.log(Z))


def _compiled() -> Any:
    return import_module("mercer.backends.compiled_attraction")


def _on_tensors() -> Any:
    return import_module("mercer.backends.torch_maps")
