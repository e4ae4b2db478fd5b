"""Where the points of a map begin: principal components or noise, on a scale where every pair repels alike."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.estimators.kernel_pca import KernelPCA
from mercer.estimators.pca import PCA
from mercer.exceptions import DegenerateDataWarning, MercerWarning, warn
from mercer.kernels.kernel import Kernel
from mercer.linalg.inner import power_of_two

SCALE = 1e-4  # the standard deviation of the first column: so small that every similarity is 1
_JITTER = 1e-2  # of the scale, so that equal rows do not begin at one point
_LEAST, _MOST = 1e-12, 1e12  # entries whose squares are safe in float32, sums of them too
_LARGE = 2048  # rows above which a kernel's components come from a factor


def start(X: Any, init: Any, c: int, metric: Any, rng: np.random.Generator, n_jobs: int | None) -> np.ndarray:
    """The first map, (n, c) float32: the given one as it is, else by principal components of X, else at random."""
    n = X.shape[0]
    if not isinstance(init, str):
        return given(init, n, c)
    noise = rng.standard_normal((n, c))
    scores = _components(X, c, metric, rng, n_jobs) if init == "pca" else None
    if scores is None:
        return (SCALE * noise).astype(np.float32)
    Y = _JITTER * noise
    Y[:, : scores.shape[1]] += scores
    return (SCALE * Y).astype(np.float32)


def given(init: Any, n: int, c: int) -> np.ndarray:
    Y = np.asarray(init)
    if Y.shape != (n, c):
        raise ValueError(f"init has the shape {Y.shape}; {n} samples in {c} dimensions need {(n, c)}.")
    if Y.dtype.kind not in "iuf" or not np.all(np.isfinite(Y)):
        raise ValueError("init must hold finite numbers: it has others. Give finite positions, or init='pca'.")
    return np.array(Y, np.float32, order="C")


def _components(X: Any, c: int, metric: Any, rng: np.random.Generator, n_jobs: int | None) -> np.ndarray | None:
    """Scores of X, (n, at most c), the first of unit variance; None, with a warning, where nothing varies."""
    seed = int(rng.integers(2**31))
    if sp.issparse(X) and X.shape[1] <= 4 * c:  # the sparse solver finds fewer components than there are columns
        X = X.toarray()
    most = c if X.ndim == 1 else min(c, min(X.shape) - (1 if sp.issparse(X) else 0))
    scores = np.zeros((X.shape[0], 0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MercerWarning)  # one of our own follows where it matters
        if isinstance(metric, Kernel):
            solver = "rpcholesky" if X.shape[0] > _LARGE else "auto"
            model: Any = KernelPCA(
                min(c, X.shape[0]), kernel=metric, eigen_solver=solver, random_state=seed, n_jobs=n_jobs
            )
            scores = _scores(model, X)
        elif most > 0:
            scores = _scores(PCA(most, random_state=seed), _in_range(X))
    spread = np.std(scores[:, 0]) if scores.shape[1] else 0.0
    if not spread > 0:
        warn(
            "Nothing varies along the first principal component, so the map begins at random.",
            DegenerateDataWarning,
        )
        return None
    return scores / spread


def _in_range(X: Any) -> Any:
    """X itself, or divided by a power of two where squares of its entries would overflow or vanish."""
    values = X.data if sp.issparse(X) else X
    size = max(-float(values.min(initial=0.0)), float(values.max(initial=0.0)))
    if size == 0 or _LEAST < size < _MOST:
        return X
    return X / X.dtype.type(power_of_two(size, 120 if X.dtype == np.float32 else 1020))


def _scores(model: Any, X: Any) -> np.ndarray:
    return np.asarray(model.set_output(transform="default").fit_transform(X), np.float64)
