"""One judge for all: how good an answer is, recomputed in float64 by NumPy alone, in tiles.

Nothing here is shared with Mercer (SciPy and scikit-learn do for Isomap). The judge runs in the process that starts
the measurements, never in one that is measured.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from scipy.sparse.csgraph import shortest_path
from scipy.sparse.linalg import eigsh
from scipy.spatial import procrustes
from sklearn.neighbors import kneighbors_graph

_TILE = 1000  # rows at a time


def rbf_residuals(
    X: np.ndarray, gamma: float, values: np.ndarray, vectors: np.ndarray, *, most: int = 200_000, sample: int = 4000
) -> np.ndarray:
    """‖HKHv − γv‖ / γ₁ for each pair, K the Gaussian kernel matrix of X and v made a unit vector.

    Beyond `most` rows the norm is estimated from a `sample` of the rows of K: ‖r‖² ≈ n/m Σ rᵢ². With d = KHv − γv the
    residual is d − mean(d) − γ mean(v), and d hardly varies where the residual is small, so a sample gives its mean.
    """
    V = _unit(vectors)
    n = len(X)
    rows = np.arange(n)
    if n > most:
        rows = np.sort(np.random.default_rng(0).choice(n, sample, replace=False))
    product = _kernel_product(X[rows], X, gamma, V - V.mean(axis=0))
    difference = product - V[rows] * values
    difference -= difference.mean(axis=0) + values * V.mean(axis=0)
    return np.sqrt(n / len(rows)) * np.linalg.norm(difference, axis=0) / abs(values).max()


def _kernel_product(A: np.ndarray, B: np.ndarray, gamma: float, V: np.ndarray) -> np.ndarray:
    """k(A, B) V for the Gaussian kernel."""
    centre = B.mean(axis=0, dtype=np.float64)
    B = B.astype(np.float64) - centre
    A = A.astype(np.float64) - centre
    bb = np.sum(B**2, axis=1)

    def part(run: slice) -> np.ndarray:
        total = np.zeros((run.stop - run.start, V.shape[1]))
        aa = np.sum(A[run] ** 2, axis=1)
        for start in range(0, len(B), 4 * _TILE):
            columns = slice(start, start + 4 * _TILE)
            D = A[run] @ B[columns].T
            D *= -2
            D += aa[:, None]
            D += bb[None, columns]
            np.maximum(D, 0, out=D)
            D *= -gamma
            total += np.exp(D, out=D) @ V[columns]
        return total

    return _in_parts(len(A), part)


def matrix_residuals(M: np.ndarray, values: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """‖Mv − γv‖ / γ₁ for each pair of a symmetric matrix, which may be a memory map."""
    V = _unit(vectors)
    product = _in_parts(len(M), lambda run: np.asarray(M[run]) @ V)
    return np.linalg.norm(product - V * values, axis=0) / abs(values).max()


def covariance_residuals(X: np.ndarray, values: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """‖Sv − λv‖ / λ₁ for each pair, S the covariance of X with n − 1."""
    V, mean = _unit(vectors), X.mean(axis=0, dtype=np.float64)
    S = np.zeros((X.shape[1], X.shape[1]))
    for start in range(0, len(X), 10 * _TILE):
        rows = X[start : start + 10 * _TILE].astype(np.float64) - mean
        S += rows.T @ rows
    S /= len(X) - 1
    return np.linalg.norm(S @ V - V * values, axis=0) / abs(values).max()


def discriminant_scores(X: np.ndarray, y: np.ndarray, gamma: float, reg: float, new: np.ndarray) -> np.ndarray:
    """Scores of new rows along the directions in the span of all samples, by the regression that is equivalent.

    With R = (HKH + nλI)⁻¹HY, Y the indicators of the classes, the directions span those of the columns of KHR.
    """
    K = _kernel_product(X, X, gamma, np.eye(len(X)))
    means = K.mean(axis=0)
    centred = K - means - means[:, None] + means.mean()
    indicators = (y[:, None] == np.unique(y)).astype(np.float64)
    indicators -= indicators.mean(axis=0)
    shifted = centred + reg * np.trace(centred) * np.eye(len(X))
    R = np.linalg.solve(shifted, indicators)
    return _kernel_product(new, X, gamma, R - R.mean(axis=0))


def largest_sine(A: np.ndarray, B: np.ndarray) -> float:
    """The sine of the largest angle between the spans of two sets of centred columns, of the rank that B's have."""
    bases = []
    for columns in (A, B):
        U, s, _ = np.linalg.svd(columns - columns.mean(axis=0), full_matrices=False)
        bases.append(U[:, s > 1e-10 * s[0]])
    return float(np.linalg.norm(bases[1] - bases[0] @ (bases[0].T @ bases[1]), 2))


def held_out_correlation(first: np.ndarray, second: np.ndarray) -> float:
    """The mean over components of the correlation between the scores of two views of rows that no fit has seen."""
    a, b = (scores.astype(np.float64) - scores.mean(axis=0, dtype=np.float64) for scores in (first, second))
    return float(np.mean(np.sum(a * b, axis=0) / (np.linalg.norm(a, axis=0) * np.linalg.norm(b, axis=0))))


def isomap(X: np.ndarray, n_neighbors: int, k: int) -> np.ndarray:
    """The map by the textbook: SciPy's shortest paths, the doubly centred matrix of their squares, its top vectors."""
    graph = kneighbors_graph(X, n_neighbors, mode="distance")
    K = shortest_path(graph, method="D", directed=False)
    K **= 2
    K *= -0.5
    means = K.mean(axis=0)
    K -= means
    K -= (means - means.mean())[:, None]
    values, vectors = eigsh(K, k, v0=np.ones(len(X)) + np.arange(len(X)) / len(X))
    return (vectors * np.sqrt(values))[:, ::-1]


def unrolled(X: np.ndarray) -> np.ndarray:
    """The sheet that scikit-learn's swiss roll (t cos t, y, t sin t) was rolled from: arc length and y."""
    t = np.hypot(X[:, 0], X[:, 2])
    return np.column_stack([(t * np.sqrt(1 + t**2) + np.arcsinh(t)) / 2, X[:, 1]])


def procrustes_distance(A: np.ndarray, B: np.ndarray) -> float:
    """‖A − B‖/‖B‖ of two maps after the best shift, rotation and scale: the root of SciPy's disparity."""
    return float(np.sqrt(max(procrustes(A, B)[2], 0.0)))


def score_error(
    X: np.ndarray,
    gamma: float,
    values: np.ndarray,
    vectors: np.ndarray,
    new: np.ndarray,
    scores: np.ndarray,
    sample: int = 1000,
) -> float:
    """The largest error of a transform over the largest score, on a sample of rows, by the textbook's centred kernel:

    z = Σᵢ k̃(x, xᵢ) vᵢ/√γ,  k̃(x, xᵢ) = k(x, xᵢ) − mean k(x, ·) − mean k(·, xᵢ) + mean k
    """
    index = np.random.default_rng(0).choice(len(new), min(sample, len(new)), replace=False)
    alphas = vectors.astype(np.float64) / np.sqrt(values)
    means = _kernel_product(X, X, gamma, np.full((len(X), 1), 1 / len(X)))
    ones = np.full((len(X), 1), 1 / len(X))
    both = _kernel_product(new[index], X, gamma, np.hstack([alphas, ones]))
    sums = alphas.sum(axis=0)
    wanted = both[:, :-1] - both[:, -1:] * sums - (means.T @ alphas) + means.mean() * sums
    return float(abs(wanted - scores[index]).max() / abs(wanted).max())


def _unit(vectors: np.ndarray) -> np.ndarray:
    V = np.asarray(vectors, np.float64)
    return V / np.linalg.norm(V, axis=0)


def _in_parts(n: int, part: Callable[[slice], np.ndarray]) -> np.ndarray:
    """part(run) for runs of rows, on all cores, stacked."""
    runs = [slice(start, min(start + _TILE, n)) for start in range(0, n, _TILE)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return np.vstack(list(pool.map(part, runs)))


def trustworthiness(X: np.ndarray, Y: np.ndarray, k: int) -> float:
    """1 − 2/(nk(2n − 3k − 1)) Σ max(0, r − k), row by row, with distances coordinate by coordinate in float64."""
    n, beyond = len(X), 0
    X, Y = X.astype(np.float64), Y.astype(np.float64)
    for i in range(n):
        near, far = (np.square(Z - Z[i]).sum(axis=1) for Z in (Y, X))
        near[i] = far[i] = np.inf
        close = np.argpartition(near, k - 1)[:k]
        ranks = 1 + (far[None, :] < far[close][:, None]).sum(axis=1)
        beyond += int(np.maximum(ranks - k, 0).sum())
    return 1 - 2 / (n * k * (2 * n - 3 * k - 1)) * beyond
