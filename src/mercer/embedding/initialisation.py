"""Where the points of a map begin: so close together that all pairs repel each other almost equally.

pca        the first principal components of the rows
spectral   the slowest directions of a random walk on the graph of affinities, for data without rows
random     noise
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.backends import to_numpy
from mercer.exceptions import DegenerateDataWarning, warn

SCALE = 1e-4  # the standard deviation of the first column: so small that the similarity of every pair is 1
_JITTER = 1e-2  # relative to the scale, so that equal rows do not begin at one point
_ROUGH = 1e-3  # residual of an eigenvector: a vector this close to one varies as slowly over the graph
_DENSE = 100  # rows up to which all eigenvectors are found at once, which the iteration could not do for so few
_ITERATIONS = 200  # for the eigenvectors: several times as many as a swiss roll of 8,000 rows takes
_EXTRA = 2  # vectors beyond those wanted, which make the iteration converge where eigenvalues are close together


def initial_map(init: Any, n: int, c: int, rng: np.random.Generator, scores: Callable[[int], np.ndarray]) -> np.ndarray:
    """The first map, (n, c) float32.

    init : an array (n, c), taken as it is; "random"; or another word, for `scores` and a little noise
    scores : seed -> coordinates of the rows, (n, at most c): principal components, or `spectral_scores`
    """
    if not isinstance(init, str):
        return given_map(init, n, c)
    noise = rng.standard_normal((n, c))
    components = None if init == "random" else _to_unit_spread(scores(int(rng.integers(2**31))))
    if components is None:
        return (SCALE * noise).astype(np.float32)
    Y = _JITTER * noise
    Y[:, : components.shape[1]] += components
    return (SCALE * Y).astype(np.float32)


def spectral_scores(P: sp.csr_array, c: int, seed: int) -> np.ndarray:
    """The c slowest directions of the random walk on the rows with the transition matrix D⁻¹P, (n, c).

    D⁻¹P v = λ v, scaled by λ (a diffusion map). λ = 1 belongs to the constant vector, which is left out. A graph in
    several parts has λ = 1 several times, and the map begins with each part at a point of its own.

    Cost: at most 200 products of P with c + 2 vectors.

    References
    ----------
    Kobak & Linderman (2021), Initialization is critical for preserving global data structure in both t-SNE and UMAP.
    """
    from scipy.sparse.linalg import lobpcg  # loaded late: most maps begin with principal components

    roots = np.sqrt(np.asarray(P.sum(axis=1), np.float64).ravel())
    inverse = np.divide(1.0, roots, out=np.zeros_like(roots), where=roots > 0)  # a row may have no neighbours at all
    walk = sp.diags_array(inverse) @ P.astype(np.float64) @ sp.diags_array(inverse)
    n, wanted, constant = len(roots), min(c, len(roots) - 1), (roots / np.linalg.norm(roots))[:, None]
    if n <= max(_DENSE, 5 * (wanted + _EXTRA) + 1):  # LOBPCG needs a space of five times its block
        values, vectors = np.linalg.eigh(walk.toarray() - 2 * constant @ constant.T)  # the constant is now the last
        values, vectors = values[::-1], vectors[:, ::-1]
    else:
        start = np.random.default_rng(seed).standard_normal((n, wanted + _EXTRA))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of vectors that are still rough after all iterations
            values, vectors = lobpcg(walk, start, Y=constant, tol=_ROUGH, maxiter=_ITERATIONS, largest=True)
    return inverse[:, None] * vectors[:, :wanted] * values[:wanted]


def given_map(init: Any, n: int, c: int) -> np.ndarray:
    """The map that the user gives, as a fresh float32 array; ValueError unless it is (n, c) and finite."""
    Y = to_numpy(init)
    if Y.shape != (n, c):
        raise ValueError(f"init has the shape {Y.shape}, but {n} samples in {c} dimensions need {(n, c)}.")
    if Y.dtype.kind not in "iuf" or not np.all(np.isfinite(Y)):
        raise ValueError("init must hold finite numbers only. Give finite positions, or init='pca'.")
    return np.array(Y, np.float32, order="C")


def movable_points(fixed: Any, n: int) -> np.ndarray:
    """Which of n points may move, (n,) booleans, given a mask or the row numbers of the fixed points."""
    fixed = np.asarray(fixed)
    if fixed.dtype.kind == "b" and fixed.shape == (n,):
        return ~fixed
    if fixed.dtype.kind not in "iu" or fixed.ndim != 1 or fixed.max(initial=0) >= n or fixed.min(initial=0) < -n:
        raise ValueError(f"fixed must be a mask of {n} booleans, or row numbers below {n}.")
    free = np.ones(n, np.bool_)
    free[fixed] = False
    return free


def _to_unit_spread(scores: np.ndarray) -> np.ndarray | None:
    """Scores divided by the standard deviation of the first column; None, with a warning, if nothing varies."""
    spread = np.std(scores[:, 0]) if scores.shape[1] else 0.0
    if not spread > 0:
        warn("Nothing varies along the first component, so the map begins at random.", DegenerateDataWarning)
        return None
    return scores / spread
