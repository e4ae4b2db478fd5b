"""Where a map of dissimilarities begins: classical scaling of landmarks, which place all other rows.

With m landmarks, B = −½HD²H of their own dissimilarities has eigenpairs γ, v. A row with squared dissimilarities δ² to
them lies at −½ vᵀ(δ² − mean δ²)/√γ (de Silva & Tenenbaum). A start need not be exact, and n m numbers are enough.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh

from mercer.embedding.dissimilarities import Dissimilarities

LANDMARKS = 500  # a hundred place most data well; more cost little


def landmark_map(given: Dissimilarities, c: int, rng: np.random.Generator, landmarks: int = LANDMARKS) -> np.ndarray:
    """(n, c) coordinates of all rows. Cost: n m dissimilarities and an m × m eigenproblem."""
    m = min(landmarks, given.n)
    chosen = np.sort(rng.choice(given.n, m, replace=False))
    S = filled(given.columns(chosen)) ** 2  # (n, m)
    own = S[chosen]
    own = (own + own.T) / 2
    mean = own.mean(axis=0)
    B = -0.5 * (own - mean - mean[:, None] + mean.mean())
    k = min(c, m)
    values, vectors = eigh(B, subset_by_index=(m - k, m - 1))
    values, vectors = values[::-1], vectors[:, ::-1]
    good = values > np.finfo(np.float64).eps * m * max(float(values[0]), 0.0)
    coefs = np.where(good, vectors / np.sqrt(np.where(good, values, 1.0)), 0.0)
    X = np.zeros((given.n, c))
    X[:, :k] = -0.5 * (S - mean) @ coefs
    return X


def filled(D: np.ndarray) -> np.ndarray:
    """D with unknown entries replaced by the mean of what is known of their row and column."""
    gaps = np.isnan(D)
    if not gaps.any():
        return D
    counts, values = ~gaps, np.where(gaps, 0.0, D)
    whole = values.sum() / max(1, counts.sum())
    rows = np.where(counts.any(axis=1), values.sum(axis=1) / np.maximum(1, counts.sum(axis=1)), whole)
    columns = np.where(counts.any(axis=0), values.sum(axis=0) / np.maximum(1, counts.sum(axis=0)), whole)
    return np.where(gaps, (rows[:, None] + columns) / 2, D)


def spread_flat_columns(X: np.ndarray, rng: np.random.Generator, share: float = 1e-3) -> np.ndarray:
    """X with noise in columns that are all zero: no step would ever leave such a flat map."""
    size = float(np.sqrt(np.mean(X * X)))
    flat = np.abs(X).max(axis=0, initial=0.0) <= 1e-12 * size
    if not flat.any():
        return X
    X = X.copy()
    X[:, flat] = (size or 1.0) * share * rng.standard_normal((len(X), int(flat.sum())))
    return X
