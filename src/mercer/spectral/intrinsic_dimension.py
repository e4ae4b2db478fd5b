"""The probabilistic reading of PCA: how many dimensions to keep, and the SpikedGaussian that they describe."""

from __future__ import annotations

from math import log, pi
from numbers import Integral
from typing import Any

import numpy as np
from scipy.special import gammaln

from mercer.backends import namespace, to_numpy


def choose_dimension(wanted: int | float | str, variances: np.ndarray, n_samples: int) -> int:
    """The number of components that `wanted` asks for: a number, a share of variance, or "mle".

    A share s asks for the least k with (λ₁ + … + λₖ) / (λ₁ + … + λ_d) > s. Data without variance has one.

    >>> choose_dimension(0.7, np.array([6.0, 3.0, 1.0]), n_samples=20)
    2
    """
    if isinstance(wanted, Integral):
        return int(wanted)
    if not variances[0] > 0:
        return 1
    if wanted == "mle":
        return infer_dimension(variances, n_samples)
    shares = np.cumsum(variances / np.sum(variances))
    return min(int(np.searchsorted(shares, wanted, side="right")) + 1, len(variances))


def infer_dimension(variances: np.ndarray, n_samples: int) -> int:
    """The dimension from 1 to d − 1 whose evidence is greatest; 1 for a single feature."""
    evidence = [log_evidence(variances, rank, n_samples) for rank in range(1, len(variances))]
    return int(np.argmax(evidence)) + 1 if evidence else 1


def log_evidence(spectrum: np.ndarray, rank: int, n_samples: int) -> float:
    """The logarithm of p(X | k), Laplace's approximation for a probabilistic PCA model of k dimensions.

        log p(U) − n/2 (Σ_{i≤k} log λᵢ + (d−k) log v) + (m+k)/2 log 2π − ½ log |A| − k/2 log n

    with v the mean of the discarded variances, m = dk − k(k+1)/2 and
    |A| = Π_{i≤k} Π_{j>i} (1/λ̂ⱼ − 1/λ̂ᵢ)(λᵢ − λⱼ) n, where λ̂ⱼ = λⱼ for j ≤ k and v beyond.

    A variance that is zero to rounding gives −∞: the data does not vary in that direction.

    References: T. P. Minka, Automatic choice of dimensionality for PCA, NIPS 2000, equation 30.

    Cost: d k numbers.

    >>> spectrum = np.array([4.0, 3.0, 0.1, 0.1, 0.09])
    >>> bool(log_evidence(spectrum, 2, n_samples=50) > log_evidence(spectrum, 1, n_samples=50))
    True
    """
    variances = np.asarray(spectrum, dtype=np.float64)
    d, k, n = len(variances), rank, n_samples
    if not 1 <= k < d:
        raise ValueError(f"rank={k} was given: the tested rank should be in [1, n_features - 1] = [1, {d - 1}].")
    smallest = d * np.finfo(np.float64).eps * variances[0]
    if variances[k - 1] <= smallest:
        return -np.inf
    noise = max(smallest, float(np.mean(variances[k:])))
    free = d - np.arange(k)  # d, d − 1, …: the sizes of the spheres that the directions are drawn from
    log_uniform = -k * log(2) + float(np.sum(gammaln(free / 2) - free / 2 * log(pi)))
    log_likelihood = -n / 2 * (float(np.sum(np.log(variances[:k]))) + (d - k) * log(noise))
    parameters = d * k - k * (k + 1) / 2
    log_volume = (parameters + k) / 2 * log(2 * pi)
    curvature = _log_curvature(variances, noise, k, smallest) + parameters * log(n)
    return log_uniform + log_likelihood + log_volume - curvature / 2 - k / 2 * log(n)


def _log_curvature(variances: np.ndarray, noise: float, k: int, smallest: float) -> float:
    """Σ_{i≤k} Σ_{j>i} log((1/λ̂ⱼ − 1/λ̂ᵢ)(λᵢ − λⱼ)); equal variances count as a rounding error apart."""
    model = np.where(np.arange(len(variances)) < k, variances, noise)
    gaps = np.maximum(variances[:k, None] - variances[None, :], smallest)
    model_gaps = np.maximum(model[:k, None] - model[None, :], smallest)
    logs = np.log(gaps) + np.log(model_gaps) - np.log(model[:k, None]) - np.log(model[None, :])
    return float(np.sum(np.triu(logs, k=1)))


def noise_variance(variances: np.ndarray, total: float, k: int, rank: int) -> float:
    """The mean of the variances beyond the first k: of those found, or of what is left of the total."""
    if k >= rank:
        return 0.0
    if len(variances) > k:
        return float(np.mean(variances[k:]))
    return max(0.0, total - float(np.sum(variances))) / (rank - k)


class SpikedGaussian:
    """The normal distribution with variances a₁ … aₖ along orthonormal vᵢ and σ² in all other directions.

        C = Σ (aᵢ − σ²) vᵢvᵢᵀ + σ² I

    Directions of no variance are left out: the inverse is the pseudo-inverse, and the density is the one on
    the span of the others.

    References: M. E. Tipping and C. M. Bishop, Probabilistic principal component analysis, JRSS B 61 (1999).
    """

    def __init__(self, along: Any, across: float, directions: Any) -> None:
        self.along, self.across, self.directions = along, across, directions  # (k,), σ², (k, d)

    def covariance(self) -> Any:
        return self._matrix(self.along, self.across)

    def precision(self) -> Any:
        return self._matrix(_inverses(self.along), _inverse(self.across))

    def _matrix(self, along: Any, across: float) -> Any:
        V, xp = self.directions, namespace(self.directions)
        return (V.T * (along - across)) @ V + across * xp.eye(V.shape[1], dtype=V.dtype, device=V.device)

    def log_density(self, centred: Any) -> Any:
        """log p of each row of `centred`, of shape (m, d), whose mean has been subtracted."""
        V, xp = self.directions, namespace(self.directions)
        scores = centred @ V.T
        missed = centred - scores @ V
        squares = xp.sum(scores * scores * _inverses(self.along), axis=1)
        squares = squares + _inverse(self.across) * xp.vecdot(missed, missed)
        # A row may lie further off than a float can say, in units of a tiny σ. It then gets the largest distance.
        squares = xp.where(xp.isfinite(squares), squares, xp.full_like(squares, xp.finfo(squares.dtype).max))
        return self._log_height() - squares / 2

    def _log_height(self) -> float:
        """−½ (r log 2π + log |C|) over the r directions that have variance."""
        along = to_numpy(self.along).astype(np.float64)
        along = along[along > 0]
        k, d = self.directions.shape
        outside = d - k if self.across > 0 else 0
        log_determinant = float(np.sum(np.log(along))) + (outside * log(self.across) if outside else 0.0)
        return -0.5 * ((len(along) + outside) * log(2 * pi) + log_determinant)


def _inverse(variance: float) -> float:
    return 1 / variance if variance > 0 else 0.0


def _inverses(variances: Any) -> Any:
    xp = namespace(variances)
    positive = variances > 0
    return xp.astype(positive, variances.dtype) / xp.where(positive, variances, xp.ones_like(variances))
