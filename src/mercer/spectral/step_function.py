"""A rational function that is one above a gap of a spectrum and zero below it.

    h(x) = ½ + ½ Σ wₗ (x − c) / ((x − c)² + τₗ²)

With c in the middle of the gap, h(B) is the projector onto the eigenvectors of B above the gap, and xᵀh(B)x takes no
more than the resolvent xᵀ(B − c − iτ)⁻¹x at a few dozen points. This is Zolotarev's best function of its kind: with r
terms it misses the step by 4 exp(−π² r / ln(4b/a)) on a ≤ |x − c| ≤ b.

References: Hale, Higham & Trefethen, *Computing A^α, log(A) and related matrix functions by contour integrals* (2008).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ellipj, ellipkm1

_MISSED = 1e-14  # by how much h may miss the step; rounding makes it no better


@dataclass(frozen=True)
class StepFunction:
    """h, by its middle c, its poles c ± iτ and their weights w."""

    middle: float
    poles: np.ndarray
    weights: np.ndarray

    @classmethod
    def across(cls, low: float, high: float, reach: float) -> StepFunction:
        """The step between `low` < `high`, for numbers that are at most `reach` away from the middle.

        >>> step = StepFunction.across(1.0, 1.1, reach=2.0)
        >>> np.abs(step(np.array([-0.5, 1.0, 1.1, 3.0])) - [0, 0, 1, 1]).max() < 1e-13
        np.True_
        """
        half = (high - low) / 2
        ratio = half / max(reach, half)
        count = max(1, int(np.ceil(np.log(4 / _MISSED) * np.log(4 / ratio) / np.pi**2)))
        poles, weights = _elliptic(ratio, count)
        return cls(low + half, poles * half / ratio, weights * half / ratio)

    def __call__(self, x: np.ndarray) -> np.ndarray:
        away = np.asarray(x)[..., None] - self.middle
        return 0.5 + 0.5 * (self.weights * (away / (away**2 + self.poles**2))).sum(axis=-1)


def _elliptic(ratio: float, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The poles τ and weights of the sign on ratio ≤ |x| ≤ 1: τ = ratio · sn/cn at the midpoints of (0, K').

    Beyond K'/2 the reflected functions are used: there cn is a small difference, and its digits would be lost.
    """
    period = ellipkm1(ratio**2)
    at = (np.arange(count) + 0.5) / count * period
    far = at > period / 2
    sn, cn, dn, _ = ellipj(np.where(far, period - at, at), 1 - ratio**2)
    poles = np.where(far, cn / sn, ratio * sn / cn)
    weights = 2 * period / (np.pi * count) * np.where(far, dn / sn**2, ratio * dn / cn**2)
    return poles, weights
