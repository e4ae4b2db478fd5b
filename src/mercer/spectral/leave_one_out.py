"""How far each training row would be from the subspace, had it not been among the rows that were fitted.

Rows that were fitted are nearer to the subspace than new ones, since it was turned towards them. The mathematics is in
`spectral.downdate`. This module finds the eigenpairs and scores that it needs:

    from_rows      from the covariance of the columns, for a PCA of few columns
    from_gram      from the kernel matrix: all its eigenpairs if it is small, so that the distances are exact;
                   else the kept pairs, one more pass, and one number per row for what was not kept
    from_factor    from the features of a low-rank factor

Of rows that are not in memory a sample is left out, row by row, from the scatter of all: `from_sums` and
`from_streamed_factor`.

A refit might choose another width (gamma="median") or another number of components (a share of the variance). These
stay as they were chosen for all rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.backends import cpu, is_foreign, namespace, placement, to_numpy
from mercer.expansion import KernelExpansion
from mercer.kernels import Kernel
from mercer.linalg.covariance import moments
from mercer.linalg.gram import Gram
from mercer.linalg.inner import power_of_two
from mercer.linalg.lowrank import inverse_root
from mercer.linalg.operators import Centered
from mercer.spectral.downdate import exact_distances, lumped_distances
from mercer.streams.chunk_statistics import ChunkWork
from mercer.streams.local_driver import total_statistics
from mercer.streams.row_source import RowSource
from mercer.streams.streamed_features import features_of
from mercer.streams.sufficient_statistics import SufficientStatistics

_ZERO = 1e-12  # an eigenvalue below this share of the largest is rounding
_INSIDE = 1e-10  # share of a row's length that rounding may leave outside the span of all components


@dataclass(frozen=True)
class Limits:
    """Where the exact way ends, and how much is held at a time."""

    whole: int = 2000  # rows or columns up to which all eigenpairs are computed
    exact_work: float = 1e8  # rows × pairs × components up to which every root is searched: some seconds
    block_entries: int = 2**22  # entries of a matrix that stand in memory at a time

    def blocks(self, n: int, width: int) -> list[slice]:
        """Split n rows of the given width into blocks."""
        step = max(1, self.block_entries // max(width, 1))
        return [slice(i, min(i + step, n)) for i in range(0, n, step)]


LIMITS = Limits()


def from_rows(X: Any, k: int, limits: Limits = LIMITS) -> np.ndarray:
    """The distances from the first k principal components of the rows of X, by the covariance of their columns."""
    n, d = X.shape
    mean, covariance = moments(X)
    values, vectors = _descending(*np.linalg.eigh((n - 1) * covariance))
    parts = (_dense(X[run]) - mean for run in limits.blocks(n, d))
    return np.concatenate([_from_all(values, part @ vectors, k, n, limits) for part in parts])


def from_gram(
    kernel: Kernel, X: Any, values: np.ndarray, scores: np.ndarray, n_jobs: int | None, limits: Limits = LIMITS
) -> np.ndarray:
    """The distances from the components with eigenvalues (k,) and training scores (n, k), by the kernel matrix."""
    xp = namespace(X)
    values, scores = values.astype(np.float64), scores.astype(np.float64)
    A = Centered(Gram(kernel, X, precision=xp.float64, n_jobs=n_jobs))
    unit = _unit(values)
    values, scores = values / unit**2, scores / unit
    sizes = to_numpy(A.diagonal()) / unit**2
    outside = np.maximum(sizes - (scores**2).sum(axis=1), 0.0)
    if np.all(outside <= _INSIDE * sizes):  # every component is kept: the pairs at hand are all there are
        nothing = np.zeros(A.n)
        return unit**2 * lumped_distances(values, scores, nothing, nothing, A.n)
    if A.n <= limits.whole:
        with cpu.one_thread():  # at this size two threads are hardly faster, and on a busy machine much slower
            found, vectors = _descending(*np.linalg.eigh(to_numpy(A.to_dense())))
        return _from_all(found, vectors * np.sqrt(found), int(np.sum(values > 0)), A.n, limits)
    spread = _spread(A, scores * unit, unit**2, limits)
    return unit**2 * lumped_distances(values, scores, outside, spread, A.n)


def _unit(values: np.ndarray) -> float:
    """Of lengths, from eigenvalues: in it squares of squares are numbers too. A power of two, which rounds nothing."""
    return power_of_two(float(np.sqrt(values.max(initial=0.0))), 510)


def _spread(A: Centered, scores: np.ndarray, unit: float, limits: Limits) -> np.ndarray:
    """Σⱼ ⟨φ̃ᵢ − Σ z v, φ̃ⱼ⟩² for each row: the squared rows of (HKH − ZZᵀ)/unit, a block at a time."""
    xp, place = A.xp, A.placement()
    Z = xp.asarray(scores, dtype=A.dtype, **place)
    parts = []
    for run in limits.blocks(A.n, A.n):
        left = A.rows(xp.arange(run.start, run.stop, **place)) - Z[run, :] @ Z.T
        parts.append(to_numpy(xp.sum((left / unit) ** 2, axis=1)))
    return np.concatenate(parts)


def from_factor(
    expansion: KernelExpansion, X: Any, landmarks: np.ndarray, k: int, limits: Limits = LIMITS
) -> np.ndarray:
    """The distances from the first k components of K ≈ FFᵀ, for the expansion over its landmarks.

    The scatter is that of the features F(x). What k(x, x) has beyond ‖F(x)‖² lies outside every such subspace. A
    landmark has nothing beyond, but only while it is one: without itself it is as far from the span of the other
    landmarks as the diagonal of the inverse of their kernel matrix says. Its distance is at least that.
    """
    kernel, anchors, X = expansion.kernel, _doubles(expansion.anchors), _doubles(X)
    root = inverse_root(to_numpy(kernel.tile(kernel.points(anchors))))
    xp, place = namespace(expansion.coefs), placement(expansion.coefs)
    coefs = xp.asarray(root, dtype=xp.float64, **place)
    F = KernelExpansion(kernel, anchors, coefs, xp.zeros(root.shape[1], dtype=xp.float64, **place), expansion.n_jobs)
    n = X.shape[0]
    runs = limits.blocks(n, root.shape[1])
    mean = sum(to_numpy(F(_cut(X, run))).sum(axis=0) for run in runs) / n
    scatter = sum(f.T @ f for f in (to_numpy(F(_cut(X, run))) - mean for run in runs))
    values, vectors = _descending(*np.linalg.eigh(scatter))
    k = min(k, len(values))

    def distances(rows: Any) -> np.ndarray:
        new = F.new_points(rows)
        f = to_numpy(F.on_points(new))
        beyond = to_numpy(kernel.diagonal(new)) - (f**2).sum(axis=1)
        return _from_all(values, (f - mean) @ vectors, k, n, limits) + np.maximum(beyond, 0.0)

    found = np.concatenate([distances(_cut(X, run)) for run in runs])
    found[landmarks] = np.maximum(found[landmarks], 1 / (root**2).sum(axis=1))
    return found


def from_sums(sums: SufficientStatistics, rows: Any, k: int, limits: Limits = LIMITS) -> np.ndarray:
    """The distances of a few of the rows from the first k principal components, by the sums over all rows."""
    values, vectors = _descending(*np.linalg.eigh(sums.centred_products()))
    scores = (_dense(rows) - sums.mean) @ vectors
    return _from_all(values, scores, k, sums.n, _of_sample(limits, len(scores), sums.n))


def from_streamed_factor(
    expansion: KernelExpansion,
    source: RowSource,
    landmarks: np.ndarray,
    k: int,
    sample: tuple[np.ndarray, Any],
    limits: Limits = LIMITS,
) -> np.ndarray:
    """As `from_factor`, for a sample, the numbers of rows and the rows, from one pass over all rows of a source."""
    places, rows = sample
    features = features_of(expansion.kernel, expansion.anchors, rows, expansion.n_jobs)
    sums = total_statistics(ChunkWork((features,), n_jobs=expansion.n_jobs), [source], "rows left out")
    values, vectors = _descending(*np.linalg.eigh(sums.centred_products()))
    new = features.expansion.new_points(rows)
    f = np.asarray(features.expansion.on_points(new), np.float64)
    beyond = np.maximum(np.asarray(expansion.kernel.diagonal(new), np.float64) - (f**2).sum(axis=1), 0.0)
    within = _of_sample(limits, rows.shape[0], sums.n)
    found = _from_all(values, (f - sums.mean) @ vectors, min(k, len(values)), sums.n, within) + beyond
    own = 1 / (features.expansion.coefs.astype(np.float64) ** 2).sum(axis=1)
    order = np.argsort(landmarks)
    at = np.minimum(np.searchsorted(landmarks[order], places), len(landmarks) - 1)
    chosen = landmarks[order][at] == places
    found[chosen] = np.maximum(found[chosen], own[order][at[chosen]])
    return found


def _of_sample(limits: Limits, rows: int, n: int) -> Limits:
    """The limits for `rows` of n rows: the work is that of these alone."""
    return replace(limits, exact_work=limits.exact_work * n / max(1, rows))


def _from_all(values: np.ndarray, scores: np.ndarray, k: int, n: int, limits: Limits) -> np.ndarray:
    """Exact if the work allows it; else from the first k pairs and what the others amount to."""
    unit = _unit(values)
    values, scores = values / unit**2, scores / unit
    if len(scores) * len(values) * k <= limits.exact_work * len(scores) / n:
        return unit**2 * exact_distances(values, scores, k, n)
    rest = scores[:, k:] ** 2
    return unit**2 * lumped_distances(values[:k], scores[:, :k], rest.sum(axis=1), rest @ values[k:], n)


def _descending(values: np.ndarray, vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenpairs that are not zero, the largest first."""
    alive = np.flatnonzero(values > _ZERO * values.max(initial=0.0))[::-1]
    return values[alive], vectors[:, alive]


def _cut(X: Any, run: slice) -> Any:
    return X[run, ...] if is_foreign(X) else X[run]


def _doubles(X: Any) -> Any:
    """Vectors in float64, where inverses keep their digits; strings as they are."""
    if X.ndim != 2:
        return X
    return namespace(X).astype(X, namespace(X).float64) if is_foreign(X) else X.astype(np.float64)


def _dense(rows: Any) -> np.ndarray:
    return rows.toarray() if sp.issparse(rows) else np.asarray(rows, dtype=np.float64)
