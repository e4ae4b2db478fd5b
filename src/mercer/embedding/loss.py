"""The loss of a map: KL(P ‖ Q), Q the similarities of its points over their sum, and what pulls and pushes the points.

    qᵢⱼ = w(d²ᵢⱼ) / Z,   Z = Σ_{k≠l} w(d²ₖₗ),   KL = Σ pᵢⱼ log pᵢⱼ − Σ pᵢⱼ log w(d²ᵢⱼ) + log Z
    ∂KL/∂yᵢ = 4 [ Σⱼ pᵢⱼ (−w′/w)(d²ᵢⱼ) (yᵢ − yⱼ) − Gᵢ/Z ],   Gᵢ = Σⱼ −w′(d²ᵢⱼ) (yᵢ − yⱼ)

The first sum is the attraction, over the neighbours alone; G and Z are the repulsion, over all pairs.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from mercer.backends.cpu import for_each
from mercer.embedding.arrange import arranged
from mercer.embedding.laws import runs
from mercer.embedding.repulsion import Repulsion
from mercer.embedding.similarity import Gaussian, Similarity, Student


class Attraction:
    """Σⱼ pᵢⱼ (−w′/w)(d²ᵢⱼ) (aᵢ − yⱼ) for a sparse P with rows i and columns j, O(nnz), in parallel over rows."""

    def __init__(self, P: sp.csr_array, similarity: Similarity, n_jobs: int | None = None) -> None:
        self.n, self.n_jobs = P.shape[0], n_jobs
        self.entries = P.indptr, P.indices.view(np.uint32 if P.indices.dtype == np.int32 else np.uint64), P.data
        self.shape = _slope_shape(similarity)

    def __call__(self, A: np.ndarray, Y: np.ndarray | None = None) -> np.ndarray:
        """The pull on each row of A by the rows of Y, (n, c); without Y, by those of A itself."""
        Y, pull = A if Y is None else Y, np.empty_like(A)
        kernel = _compiled().attract_plane if A.shape[1] == 2 else _compiled().attract
        self._each(kernel, A, Y, pull)
        return pull

    def log_similarity(self, A: np.ndarray, Y: np.ndarray | None = None) -> np.ndarray:
        """Σⱼ pᵢⱼ log w(d²ᵢⱼ) of each row, (n,), in float64."""
        logs = np.empty(self.n)
        self._each(_compiled().log_similarity, A, A if Y is None else Y, logs)
        return logs

    def _each(self, kernel: Any, A: np.ndarray, Y: np.ndarray, out: np.ndarray) -> None:
        kind = A.dtype.type
        shape = tuple(kind(number) for number in self.shape)

        def work(run: slice, _: int) -> None:
            kernel(*self.entries, A, Y, *shape, out, run.start, run.stop)

        for_each(runs(self.n), work, self.n_jobs)


class Forces(NamedTuple):
    """Of a map: the gradient is 4 (pull − push / Z)."""

    pull: np.ndarray
    push: np.ndarray
    Z: float


class Loss:
    """KL(P ‖ Q) as a function of the map; P symmetric and summing to one, `entropy` its Σ p log p."""

    def __init__(
        self,
        P: sp.csr_array,
        entropy: float,
        similarity: Similarity,
        repulsion: Repulsion,
        n_jobs: int | None = None,
    ) -> None:
        self.attraction = Attraction(P, similarity, n_jobs)
        self.P, self.entropy, self.similarity, self.repulsion, self.n_jobs = P, entropy, similarity, repulsion, n_jobs

    def arrange(self, order: np.ndarray | None) -> None:
        """From now on the rows of a map are those of P in the given order; None: as they are in P."""
        del self.attraction  # two copies of P beside the first would be one too many
        P = self.P if order is None else arranged(self.P, order, self.n_jobs)
        self.attraction = Attraction(P, self.similarity, self.n_jobs)

    def forces(self, Y: np.ndarray) -> Forces:
        pull = self.attraction(Y)
        push, Z = self.repulsion(Y)
        # Where all similarities underflow nothing repels, and no more than that can be said.
        return Forces(pull, push, max(Z, float(np.finfo(np.float32).tiny)))

    def gradient(self, Y: np.ndarray, exaggeration: float = 1.0) -> np.ndarray:
        """∂KL/∂Y, (n, c), the attraction multiplied by the exaggeration."""
        pull, push, Z = self.forces(Y)
        return 4 * (exaggeration * pull - push / Z)

    def value(self, Y: np.ndarray, Z: float | None = None) -> float:
        """KL(P ‖ Q), with sums in float64; Z is computed where it is not given."""
        Z = self.repulsion(Y)[1] if Z is None else Z
        Z = max(Z, float(np.finfo(np.float32).tiny))
        return self.entropy - float(self.attraction.log_similarity(Y).sum()) + float(np.log(Z))


def _slope_shape(similarity: Similarity) -> tuple[float, float, float]:
    """a, b, s with −w′/w = a / (b + s d²)."""
    if isinstance(similarity, Gaussian):
        return 1.0, 1.0, 0.0
    if isinstance(similarity, Student):
        return 0.5 * (similarity.dof + 1), similarity.dof, 1.0
    raise TypeError(f"similarity = {similarity!r} must be Student(dof) or Gaussian().")


def _compiled() -> Any:
    return import_module("mercer.backends.compiled_attraction")
