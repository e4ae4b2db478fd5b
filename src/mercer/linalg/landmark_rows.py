"""Landmarks: a few rows that stand for all.

    random       every row is as likely as any other, so landmarks are dense where the rows are
    maxmin       each is the row farthest from those before it, so landmarks cover the data, outliers first
    rpcholesky   the pivots of a randomly pivoted Cholesky factor: in between, by what a kernel has not yet explained

A map of neighbours (SNE, t-SNE) wants random landmarks, since it shows densities. A factor of a kernel matrix wants
pivots, since they leave the least out.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array

from mercer.backends import is_foreign
from mercer.kernels.resolve import resolve_kernel
from mercer.linalg.gram import Gram
from mercer.linalg.lowrank import rpcholesky
from mercer.numeric_input import refuse_not_numeric
from mercer.random_state import generator_from

METHODS = ("random", "maxmin", "rpcholesky")


def landmark_rows(
    X: Any,
    m: int,
    method: str = "random",
    *,
    kernel: Any = "rbf",
    gamma: Any = "median",
    random_state: Any = None,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Choose m rows of X that stand for all; returns their numbers in increasing order, for `landmarks=`.

    "maxmin" takes as the next landmark the row x with the largest min ‖x − landmark‖ over those chosen so far.
    "rpcholesky" draws it in proportion to the diagonal of K − FFᵀ. "random" draws every set of m rows with the same
    probability.

    X : (n, d), an array, a data frame, or a sparse matrix
    method : "random", "maxmin" (by Euclidean distances) or "rpcholesky" (by a kernel)
    kernel, gamma : the kernel of "rpcholesky"

    "maxmin" returns fewer than m rows if X has fewer different rows, and "rpcholesky" if fewer than m columns reproduce
    the kernel matrix. Cost: "random" nothing, "maxmin" n m d operations, "rpcholesky" n m kernel entries and n m²
    operations.

    >>> X = np.array([[0.0], [0.1], [0.2], [5.0]])
    >>> landmark_rows(X, 2, "maxmin")
    array([0, 3])

    `random_state` is a seed, a generator or None, which is the seed 0. `n_jobs` is the number of threads.
    """
    if not isinstance(m, Integral) or m < 1:
        raise ValueError(f"m = {m!r} must be a positive number of landmarks.")
    if method not in METHODS:
        raise ValueError(f"Unknown method {method!r}. Choose one of: {', '.join(METHODS)}.")
    if not is_foreign(X):
        refuse_not_numeric(X)
        X = check_array(X, accept_sparse="csr", dtype=(np.float64, np.float32))
    n = X.shape[0]
    rng, m = generator_from(random_state), min(int(m), n)
    if method == "random":
        return drawn_rows(n, m, rng)
    if method == "maxmin":
        return np.sort(_farthest_first(X, m, int(rng.integers(n))))
    bound = resolve_kernel(kernel, gamma).bind(X)
    return np.sort(rpcholesky(Gram(bound, X, n_jobs=n_jobs), m, rng).landmarks)


def drawn_rows(n: int, m: int, rng: np.random.Generator) -> np.ndarray:
    """m of n row numbers, each as likely as any other, in increasing order."""
    return np.sort(rng.choice(n, m, replace=False))


def checked_landmarks(landmarks: Any, rows: int) -> np.ndarray:
    """Row numbers that a caller gave, (m,); TypeError or ValueError unless they are different rows of the data."""
    given = np.asarray(landmarks)
    if given.ndim != 1 or not np.issubdtype(given.dtype, np.integer):
        raise TypeError("landmarks must be a number, or the numbers of rows: whole numbers.")
    if len(np.unique(given)) < len(given) or given.min(initial=0) < 0 or given.max(initial=0) >= rows:
        raise ValueError(f"landmarks must be different row numbers from 0 to {rows - 1}.")
    return given.astype(np.int64)


def _farthest_first(X: Any, m: int, first: int) -> np.ndarray:
    """Row numbers, each farthest from those before it; fewer than m once every other row is a copy of a chosen one."""
    if not sp.issparse(X):
        X = X - X.mean(axis=0)  # about the mean, the dot-product identity keeps the digits of small distances
    squares = _squared_norms(X)
    # A distance below this is rounding: the row is a copy of a landmark.
    least = 8 * np.finfo(X.dtype).eps * float(squares.max(initial=0.0))
    nearest = np.full(X.shape[0], np.inf)
    chosen = [first]
    while len(chosen) < m:
        row = X[[chosen[-1]]]
        products = (X @ row.T).toarray().ravel() if sp.issparse(X) else (X @ row.T).ravel()
        np.minimum(nearest, squares + squares[chosen[-1]] - 2.0 * products, out=nearest)
        nearest[chosen[-1]] = 0.0
        farthest = int(np.argmax(nearest))
        if nearest[farthest] <= least:
            break
        chosen.append(farthest)
    return np.array(chosen, np.int64)


def _squared_norms(X: Any) -> np.ndarray:
    if sp.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1), np.float64).ravel()
    return np.einsum("ij,ij->i", X, X, dtype=np.float64)
