"""The point P of feature space that scores describe, distances to it, and the training samples nearest to it.

With w_j the components, μ the mean of the features and z the scores, P(z) = μ + Σⱼ zⱼ wⱼ. A fit keeps w_j and μ as
combinations of the features of its anchors a_l, so P = Σ_l c_l φ(a_l) with c = (mean coefficients) + coefs z. Let t be
the scores of x. Then φ(x) − P = (φ(x) − μ − Σⱼ tⱼ wⱼ) + Σⱼ (tⱼ − zⱼ) wⱼ, and the two parts are orthogonal, so

    ‖φ(x) − P‖² = ‖t − z‖² + excess(x),    excess(x) = ‖φ(x) − μ‖² − ‖t‖² ≥ 0.

This form loses no digits to cancellation, and only its first part depends on z.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.backends import backend_of, namespace
from mercer.expansion import KernelExpansion
from mercer.kernels.kernel import Kernel
from mercer.kernels.kernel_fields import bound_kernel
from mercer.models.fields import THREADS, SavedRecord, finite, floats, instance_of, samples

TILE_ENTRIES = 2**21  # entries of the largest block computed at a time: 16 MB of float64, which fits a large cache


@dataclass(frozen=True)
class FittedComponents:
    """The parts of a fitted kernel PCA that a pre-image method needs.

    kernel : bound to the data
    X : the samples, (n, d), dense or CSR
    Z : their scores, (n, k)
    expansion : x ↦ (scores, ⟨μ, φ(x)⟩), (k + 1) columns
    mean_norm : ‖μ‖²
    """

    _saved = SavedRecord(
        "Fitted",
        {
            "kernel": bound_kernel,
            "X": samples("n", "d"),
            "Z": floats("n", "k"),
            "expansion": instance_of("KernelExpansion", n="m", d="d", k="k+1"),
            "mean_norm": finite,
        },
    )

    kernel: Kernel
    X: Any
    Z: Any
    expansion: KernelExpansion
    mean_norm: float

    @property
    def k(self) -> int:
        return self.Z.shape[1]

    def truncated(self, k: int) -> FittedComponents:
        """The same with the first k components only, as if no more had been fitted."""
        if k >= self.k:
            return self
        old = self.expansion
        kept = [*range(k), self.k]  # the last column is that of the mean
        xp = namespace(old.coefs)
        coefs = xp.stack([old.coefs[:, j] for j in kept], axis=1)
        offset = xp.stack([old.offset[j] for j in kept])
        expansion = KernelExpansion(old.kernel, old.anchors, coefs, offset, old.n_jobs)
        return replace(self, Z=self.Z[:, :k], expansion=expansion)

    def coefficients(self, Z: np.ndarray) -> np.ndarray:
        """The coefficients c of P(z) = Σ c_l φ(a_l): one row for each row of Z, (m, anchors)."""
        coefs = np.asarray(self.expansion.coefs, np.float64)
        return Z @ coefs[:, : self.k].T + coefs[:, self.k]

    def squared_norms(self, Z: np.ndarray) -> np.ndarray:
        """‖P(z)‖² = ‖μ‖² + 2 Σⱼ zⱼ ⟨wⱼ, μ⟩ + ‖z‖²; the offset of the expansion is ⟨wⱼ, μ⟩."""
        offset = np.asarray(self.expansion.offset, np.float64)[: self.k]
        return np.maximum(self.mean_norm + 2 * Z @ offset + np.einsum("ij,ij->i", Z, Z), 0.0)

    def scores_and_excess(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """The scores t of rows, (m, k), and ‖φ(x) − μ‖² − ‖t‖², (m,): the part that the components leave out."""
        new = self.expansion.new_points(X)
        both = np.asarray(self.expansion.on_points(new), np.float64)
        t, mean = both[:, :-1], both[:, -1]
        lengths = np.asarray(self.expansion.kernel.diagonal(new), np.float64) - 2 * mean + self.mean_norm
        return t, np.maximum(lengths - np.einsum("ij,ij->i", t, t), 0.0)

    def error(self, Z: Any, X: Any) -> np.ndarray:
        """‖φ(x) − P(z)‖² for each pair of rows, (m,): the quantity that a pre-image should make small."""
        t, excess = self.scores_and_excess(X)
        return ((t - np.asarray(Z, np.float64)) ** 2).sum(axis=1) + excess


@dataclass(frozen=True)
class FeatureNeighbors:
    """Neighbours of P(z) among the training samples, found with distances of scores alone.

    ‖φ(xⱼ) − P(z)‖² = ‖zⱼ − z‖² + excess(xⱼ), and the excess does not depend on z.

    Cost of a call on m rows: 2 m n k flops, and one tile of distances per thread.
    """

    _saved = SavedRecord("FeatureNeighbors", {"Z": floats("n", "k"), "excess": floats("n"), "n_jobs": THREADS})

    Z: np.ndarray  # (n, k)
    excess: np.ndarray  # (n,)
    n_jobs: int | None

    @classmethod
    def of(cls, fitted: FittedComponents, n_jobs: int | None) -> FeatureNeighbors:
        """Prepare the search with one pass over the training samples: n kernel entries for each anchor."""
        return cls(np.asarray(fitted.Z, np.float64), fitted.scores_and_excess(fitted.X)[1], n_jobs)

    def __call__(self, Z: np.ndarray, q: int, *, tile_entries: int = TILE_ENTRIES) -> tuple[np.ndarray, np.ndarray]:
        """The places of the q nearest samples and the squared distances to them, nearest first, (m, q) both."""
        n, m = len(self.Z), len(Z)
        places, squares = np.empty((m, q), np.int64), np.empty((m, q))
        own = np.einsum("ij,ij->i", self.Z, self.Z) + self.excess

        def work(run: slice, slot: int) -> None:
            part = Z[run]
            D = own - 2 * part @ self.Z.T
            found = np.argpartition(D, q - 1, axis=1)[:, :q] if q < n else np.tile(np.arange(n), (len(part), 1))
            order = np.lexsort((found, np.take_along_axis(D, found, axis=1)), axis=1)
            places[run] = found = np.take_along_axis(found, order, axis=1)
            apart = self.Z[found] - part[:, None, :]  # computed again, without the cancellation in D
            squares[run] = np.einsum("ijk,ijk->ij", apart, apart) + self.excess[found]

        backend_of(self.Z).for_each(runs_of(m, max(n, q * self.Z.shape[1]), tile_entries), work, self.n_jobs)
        return places, squares


def runs_of(m: int, width: int, tile_entries: int = TILE_ENTRIES) -> list[slice]:
    """Split range(m) into slices whose blocks of `width` columns have at most `tile_entries` entries."""
    size = max(1, tile_entries // max(width, 1))
    return [slice(i, min(i + size, m)) for i in range(0, m, size)]
