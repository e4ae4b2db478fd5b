"""From coordinates along the directions to classes: normal clouds of one spread, calibrated on samples left out."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize_scalar


@dataclass(frozen=True)
class Rule:
    """Classes as normal clouds: δ_c(z) = (z·m_c − ½‖m_c‖²) / (T τ²) + log π_c.

    T ≥ 1 makes up for tails that are heavier than a normal cloud's.
    """

    means: np.ndarray  # (C, k)
    spread: float  # τ²
    priors: np.ndarray  # (C,)
    temperature: float = 1.0

    def decide(self, z: np.ndarray) -> np.ndarray:
        """δ, (n, C)."""
        return self._margins(z) / (self.temperature * self.spread) + np.log(self.priors)

    def _margins(self, z: np.ndarray) -> np.ndarray:
        return z @ self.means.T - 0.5 * (self.means**2).sum(axis=1)

    def calibrated(self, z: np.ndarray, codes: np.ndarray, weights: np.ndarray) -> Rule:
        """This rule with the temperature of least log loss on samples that were left out.

        The loss is convex in 1/T, so a search along a line finds it.
        """
        scaled, base, right = self._margins(z) / self.spread, np.log(self.priors), np.arange(len(codes))

        def loss(log_t: float) -> float:
            delta = scaled * np.exp(-log_t) + base
            delta -= delta.max(axis=1, keepdims=True)
            return float(np.average(np.log(np.exp(delta).sum(axis=1)) - delta[right, codes], weights=weights))

        best = minimize_scalar(loss, bounds=(0.0, 12.0), method="bounded", options={"xatol": 1e-3})
        return replace(self, temperature=float(np.exp(best.x)) if loss(best.x) < loss(0.0) else 1.0)


def fit_rule(z: np.ndarray, codes: np.ndarray, weights: np.ndarray, priors: np.ndarray) -> Rule:
    """The rule that samples left out in turn call for: fitted ones lie too near their class to tell."""
    C, k = len(priors), z.shape[1]
    mass = np.bincount(codes, weights, minlength=C)
    means = np.stack([np.bincount(codes, weights * column, minlength=C) for column in z.T], axis=1) / mass[:, None]
    counts = np.bincount(codes, minlength=C)
    alone = counts[codes] < 2  # says nothing about the spread
    if alone.all():
        return Rule(means, 1.0, priors)
    unbiased = (counts / np.maximum(counts - 1, 1))[codes]
    off = ((z - means[codes]) ** 2).sum(axis=1) / k * unbiased
    spread = float(np.average(off[~alone], weights=weights[~alone]))
    return Rule(means, max(spread, float(np.finfo(np.float64).tiny) ** 0.5), priors)
