"""How far each training row would be from the subspace, had it not been among the rows that were fitted.

Rows that were fitted are nearer to the subspace than new ones, since it was turned towards them. The mathematics is in
`linalg.downdate`; here are the eigenpairs and scores that it wants, from a fitted PCA or KernelPCA:

    all pairs          where the matrix of the smaller side can be decomposed: the distances are exact
    the kept pairs     beyond that: one more pass over the kernel matrix, and one number a row for what was not kept

What refits would choose anew (a width by gamma="median", a number of components by a share of the variance) is kept.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.backends import is_foreign, namespace, placement, to_numpy
from mercer.estimators.kernel_pca import KernelPCA
from mercer.estimators.pca import PCA
from mercer.expansion import KernelExpansion
from mercer.features import workload_of
from mercer.footprints import left_out_rows
from mercer.kernels import Kernel, Linear
from mercer.linalg.covariance import moments
from mercer.linalg.downdate import exact_distances, lumped_distances
from mercer.linalg.gram import Gram
from mercer.linalg.inner import power_of_two
from mercer.linalg.lowrank import inverse_root
from mercer.linalg.operators import Centered
from mercer.planning import Footprint

_WHOLE = 2000  # of rows or features, up to which all eigenpairs are computed
_EXACT_WORK = 1e8  # rows × pairs × components up to which every root is searched: some seconds
_BLOCK_ENTRIES = 2**22  # of the kernel matrix that stand in memory at a time
_ZERO = 1e-12  # of the largest eigenvalue: below it nothing but rounding


def left_out_distances(model: PCA | KernelPCA, X: Any) -> np.ndarray:
    """Squared distances of the rows of X, which the model was fitted to, each from the subspace of the others, (n,)."""
    if isinstance(model, PCA):
        return _of_pca(model, X)
    X, _ = model._new_samples(X)
    kernel = model.expansion_.kernel  # the one that was worked with: a linear one is taken about the mean
    if model.solver_.name == "rpcholesky":
        return _of_factor(model, kernel, X)
    values, scores = to_numpy(model.eigenvalues_), to_numpy(model._scores())
    return _of_gram(kernel, X, values.astype(np.float64), scores.astype(np.float64), model.n_jobs)


def left_out_footprint(model: PCA | KernelPCA, X: Any) -> Footprint:
    """The memory of `left_out_distances` for rows such as X."""
    kernel = model._resolved(1) if isinstance(model, KernelPCA) else None
    work = workload_of(X, getattr(model, "n_jobs", None), kernel)
    if isinstance(model, PCA) and work.d <= min(work.n, _WHOLE):
        step = min(work.n, max(1, _BLOCK_ENTRIES // work.d))
        return Footprint({}, {"rows": {"blocks of rows": 6 * 8 * step * work.d, "covariance": 5 * 8 * work.d**2}})
    k = model.n_components if isinstance(model.n_components, int) else 16
    return left_out_rows(work, k, _WHOLE, _BLOCK_ENTRIES)


def _of_pca(pca: PCA, X: Any) -> np.ndarray:
    X, _ = pca._data(X, reset=False)
    (n, d), k = X.shape, pca.n_components_
    if d > min(n, _WHOLE):
        values = (n - 1) * to_numpy(pca.explained_variance_).astype(np.float64)
        scores = to_numpy(pca._scores(X)).astype(np.float64) * (np.sqrt(values / (n - 1)) if pca.whiten else 1.0)
        X = X if is_foreign(X) or X.dtype.kind == "f" else X.astype(np.float64)
        return _of_gram(Linear().centered_form(X), X, values, scores, None)
    X = X if sp.issparse(X) else to_numpy(X)
    mean, covariance = moments(X)
    values, vectors = _descending(*np.linalg.eigh((n - 1) * covariance))
    step = max(1, _BLOCK_ENTRIES // d)
    parts = (_dense(X[i : i + step]) - mean for i in range(0, n, step))
    return np.concatenate([_from_all(values, part @ vectors, k, n) for part in parts])


def _of_gram(kernel: Kernel, X: Any, values: np.ndarray, scores: np.ndarray, n_jobs: int | None) -> np.ndarray:
    """From the kernel matrix: whole, or with one pass over it where it is large."""
    xp = namespace(X)
    A = Centered(Gram(kernel, X, precision=xp.float64, n_jobs=n_jobs))
    if A.n <= _WHOLE:
        found, vectors = _descending(*np.linalg.eigh(to_numpy(A.to_dense())))
        return _from_all(found, vectors * np.sqrt(found), int(np.sum(values > 0)), A.n)
    outside = np.maximum(to_numpy(A.diagonal()) - (scores**2).sum(axis=1), 0.0)
    unit = _unit(values)
    found = lumped_distances(values / unit**2, scores / unit, outside / unit**2, _spread(A, scores, unit**2), A.n)
    return unit**2 * found


def _unit(values: np.ndarray) -> float:
    """Of lengths, from eigenvalues: in it squares of squares are numbers too. A power of two, which rounds nothing."""
    return power_of_two(float(np.sqrt(values.max(initial=0.0))), 510)


def _spread(A: Centered, scores: np.ndarray, unit: float) -> np.ndarray:
    """Σⱼ ⟨φ̃ᵢ − Σ z v, φ̃ⱼ⟩² for each row: the squared rows of (HKH − ZZᵀ)/unit, a block at a time."""
    xp, place = A.xp, A.placement()
    Z = xp.asarray(scores, dtype=A.dtype, **place)
    step = max(1, _BLOCK_ENTRIES // A.n)
    parts = []
    for i in range(0, A.n, step):
        run = slice(i, min(i + step, A.n))
        left = A.rows(xp.arange(run.start, run.stop, **place)) - Z[run, :] @ Z.T
        parts.append(to_numpy(xp.sum((left / unit) ** 2, axis=1)))
    return np.concatenate(parts)


def _of_factor(model: KernelPCA, kernel: Kernel, X: Any) -> np.ndarray:
    """For K ≈ FFᵀ: the scatter is that of the features F(x), and what k(x, x) has beyond ‖F(x)‖² is outside for good.

    A landmark has nothing beyond, but only as long as it is one: without itself, it is as far from the span of the
    other landmarks as the diagonal of the inverse of their kernel matrix says. Its distance is at least that.
    """
    anchors, X = _doubles(model.expansion_.anchors), _doubles(X)
    root = inverse_root(to_numpy(kernel.tile(kernel.points(anchors))))
    xp, place = namespace(model.eigenvectors_), placement(model.eigenvectors_)
    coefs = xp.asarray(root, dtype=xp.float64, **place)
    F = KernelExpansion(kernel, anchors, coefs, xp.zeros(root.shape[1], dtype=xp.float64, **place), model.n_jobs)
    n, step = X.shape[0], max(1, _BLOCK_ENTRIES // max(root.shape[1], 1))
    runs = [slice(i, min(i + step, n)) for i in range(0, n, step)]
    mean = sum(to_numpy(F(_cut(X, run))).sum(axis=0) for run in runs) / n
    scatter = sum(f.T @ f for f in (to_numpy(F(_cut(X, run))) - mean for run in runs))
    values, vectors = _descending(*np.linalg.eigh(scatter))
    k = min(int(np.sum(to_numpy(model.eigenvalues_) > 0)), len(values))

    def distances(rows: Any) -> np.ndarray:
        new = F.new_points(rows)
        f = to_numpy(F.on_points(new))
        beyond = to_numpy(kernel.diagonal(new)) - (f**2).sum(axis=1)
        return _from_all(values, (f - mean) @ vectors, k, n) + np.maximum(beyond, 0.0)

    found = np.concatenate([distances(_cut(X, run)) for run in runs])
    places = model.landmarks_
    found[places] = np.maximum(found[places], 1 / (root**2).sum(axis=1))
    return found


def _from_all(values: np.ndarray, scores: np.ndarray, k: int, n: int) -> np.ndarray:
    """Exact where the work allows it; else from the first k pairs and what the others amount to."""
    unit = _unit(values)
    values, scores = values / unit**2, scores / unit
    if len(scores) * len(values) * k <= _EXACT_WORK * len(scores) / n:
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
