"""From coordinates along the directions to classes: normal clouds, calibrated on samples left out.

Where a class lies is known from the fit up to a factor along each direction: fitted samples are drawn towards their
targets, new ones less so. That factor, the spread and the temperature are taken from samples that were left out. The
means themselves are not: leaving a sample out moves the rest away from it, so free means would know the labels.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize_scalar

from mercer.linalg.discriminant import Directions

_LEAST = 1e-3  # of the fitted means: below it a direction says nothing of new samples, and this is as good as nothing


@dataclass(frozen=True)
class Rule:
    """Classes as normal clouds: δ_c(z) = Σⱼ (zⱼ m_cj − ½m_cj²) / (T τⱼ²) + log π_c.

    T ≥ 1 makes up for tails that are heavier than a normal cloud's.
    """

    means: np.ndarray  # (C, k)
    spread: np.ndarray  # (k,), τ²
    priors: np.ndarray  # (C,)
    temperature: float = 1.0

    def decide(self, z: np.ndarray) -> np.ndarray:
        """δ, (n, C)."""
        return self._margins(z) / self.temperature + np.log(self.priors)

    def _margins(self, z: np.ndarray) -> np.ndarray:
        scaled = self.means / self.spread
        return z @ scaled.T - 0.5 * (self.means * scaled).sum(axis=1)

    def calibrated(self, z: np.ndarray, codes: np.ndarray, weights: np.ndarray) -> Rule:
        """This rule with the temperature of least log loss on samples that were left out.

        The loss is convex in 1/T, so a search along a line finds it.
        """
        margins, base, right = self._margins(z), np.log(self.priors), np.arange(len(codes))

        def loss(log_t: float) -> float:
            delta = margins * np.exp(-log_t) + base
            delta -= delta.max(axis=1, keepdims=True)
            return float(np.average(np.log(np.exp(delta).sum(axis=1)) - delta[right, codes], weights=weights))

        best = minimize_scalar(loss, bounds=(0.0, 20.0), method="bounded", options={"xatol": 1e-3})
        return replace(self, temperature=float(np.exp(best.x)) if loss(best.x) < loss(0.0) else 1.0)


def fit_rule(z: np.ndarray, codes: np.ndarray, weights: np.ndarray, found: Directions, priors: np.ndarray) -> Rule:
    """The rule that samples left out in turn call for: fitted ones lie too near their class to tell."""
    fitted = found.means[codes]
    size = np.average(fitted**2, axis=0, weights=weights)
    held = np.average(z * fitted, axis=0, weights=weights) / np.where(size > 0, size, 1.0)
    means = found.means * np.clip(held, _LEAST, 1.0)
    alone = np.bincount(codes, minlength=len(priors))[codes] < 2  # left out, its class is not there at all
    rest = slice(None) if alone.all() else ~alone
    spread = np.average(((z - means[codes]) ** 2)[rest], axis=0, weights=weights[rest])
    return Rule(means, np.maximum(spread, float(np.finfo(np.float64).tiny) ** 0.5), priors)
