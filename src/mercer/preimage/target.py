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

from mercer.backends import backend_of, beside, is_foreign, namespace, to_numpy
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

    >>> from mercer import KernelPCA
    >>> from mercer.preimage import PreImage
    >>> X = np.random.default_rng(0).standard_normal((30, 2))
    >>> kpca = KernelPCA(2, kernel="rbf", fit_inverse_transform=True).fit(X)  # builds one, and gives it to the method
    >>> isinstance(kpca.preimage_, PreImage)
    True
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
        """The same parts for the first k components only, as if no others had been fitted."""
        if k >= self.k:
            return self
        old = self.expansion
        kept = [*range(k), self.k]  # the last column is that of the mean
        xp = namespace(old.coefs)
        coefs = xp.stack([old.coefs[:, j] for j in kept], axis=1)
        offset = xp.stack([old.offset[j] for j in kept])
        expansion = KernelExpansion(old.kernel, old.anchors, coefs, offset, old.n_jobs)
        return replace(self, Z=self.Z[:, :k], expansion=expansion)

    def coefficients(self, Z: np.ndarray) -> Any:
        """The coefficients c of P(z) = Σ c_l φ(a_l), one row for each row of Z, (m, anchors), and the anchors a."""
        xp = namespace(self.expansion.coefs)
        coefs = xp.astype(self.expansion.coefs, xp.float64, copy=False)
        return beside(Z, coefs) @ coefs[:, : self.k].T + coefs[:, self.k]

    def squared_norms(self, Z: np.ndarray) -> np.ndarray:
        """‖P(z)‖² = ‖μ‖² + 2 Σⱼ zⱼ ⟨wⱼ, μ⟩ + ‖z‖²; the offset of the expansion is ⟨wⱼ, μ⟩."""
        offset = to_numpy(self.expansion.offset).astype(np.float64)[: self.k]
        return np.maximum(self.mean_norm + 2 * Z @ offset + np.einsum("ij,ij->i", Z, Z), 0.0)

    def scores_and_excess(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """The scores t of rows, (m, k), and ‖φ(x) − μ‖² − ‖t‖², (m,): the part that the components leave out."""
        new = self.expansion.new_points(self.like_rows(X))
        both = to_numpy(self.expansion.on_points(new)).astype(np.float64, copy=False)
        t, mean = both[:, :-1], both[:, -1]
        lengths = to_numpy(self.expansion.kernel.diagonal(new)).astype(np.float64) - 2 * mean + self.mean_norm
        return t, np.maximum(lengths - np.einsum("ij,ij->i", t, t), 0.0)

    def error(self, Z: Any, X: Any) -> np.ndarray:
        """‖φ(x) − P(z)‖² for each pair of rows, (m,): the quantity that a pre-image should make small."""
        t, excess = self.scores_and_excess(X)
        return ((t - to_numpy(Z).astype(np.float64)) ** 2).sum(axis=1) + excess

    def like_rows(self, X: Any) -> Any:
        """Move rows that were computed on the host to the device of the samples, in the precision of the scores."""
        return beside(X, self.Z) if isinstance(X, np.ndarray) and is_foreign(self.Z) else X

    @property
    def tile_entries(self) -> int:
        """The number of entries in the largest block: as many as a cache holds, or as keep a GPU busy."""
        return 2**26 if is_foreign(self.Z) else TILE_ENTRIES


@dataclass(frozen=True)
class FeatureNeighbors:
    """Neighbours of P(z) among the training samples, found with distances of scores alone.

    ‖φ(xⱼ) − P(z)‖² = ‖zⱼ − z‖² + excess(xⱼ), and the excess does not depend on z.

    Cost of a call on m rows: 2 m n k flops, and one tile of distances per thread.
    """

    _saved = SavedRecord("FeatureNeighbors", {"Z": floats("n", "k"), "excess": floats("n"), "n_jobs": THREADS})

    Z: Any  # (n, k)
    excess: Any  # (n,)
    n_jobs: int | None

    @classmethod
    def of(cls, fitted: FittedComponents, n_jobs: int | None) -> FeatureNeighbors:
        """Prepare the search with one pass over the training samples: n kernel entries for each anchor."""
        xp, excess = namespace(fitted.Z), fitted.scores_and_excess(fitted.X)[1]
        Z = xp.astype(fitted.Z, xp.float64, copy=False)
        return cls(Z, beside(excess, Z), n_jobs)

    def __call__(self, Z: np.ndarray, q: int, *, tile_entries: int = TILE_ENTRIES) -> tuple[np.ndarray, np.ndarray]:
        """The places of the q nearest samples and the squared distances to them, nearest first, (m, q) both."""
        if is_foreign(self.Z):
            return self._on_device(Z, q, tile_entries)
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

    def _on_device(self, Z: np.ndarray, q: int, tile_entries: int) -> tuple[np.ndarray, np.ndarray]:
        xp, there = namespace(self.Z), beside(Z, self.Z)
        own, parts = xp.sum(self.Z**2, axis=1) + self.excess, []
        for run in runs_of(len(Z), len(self.Z), tile_entries):
            found = xp.argsort(own - 2 * there[run, :] @ self.Z.T, axis=1)[:, :q]
            apart = self.Z[found, :] - there[run, :][:, None, :]
            parts.append((to_numpy(found), to_numpy(xp.sum(apart**2, axis=2) + self.excess[found])))
        places, squares = (np.concatenate(part) for part in zip(*parts, strict=True))
        return places, squares


def precision_of(Z: Any) -> Any:
    """The precision of an array, as NumPy names it."""
    return np.dtype(f"float{namespace(Z).finfo(Z.dtype).bits}")


def runs_of(m: int, width: int, tile_entries: int = TILE_ENTRIES) -> list[slice]:
    """Split range(m) into slices whose blocks of `width` columns have at most `tile_entries` entries."""
    size = max(1, tile_entries // max(width, 1))
    return [slice(i, min(i + size, m)) for i in range(0, m, size)]
