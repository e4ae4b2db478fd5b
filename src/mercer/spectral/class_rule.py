"""From coordinates along the directions to classes: normal clouds, calibrated on samples left out.

Where a class lies is known from the fit up to a factor along each direction: fitted samples are drawn towards their
targets, new ones less so. That factor, the spread and the temperature are taken from samples that were left out. The
means themselves are not: leaving a sample out moves the rest away from it, so free means would know the labels.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mercer.models.fields import SavedRecord, at_least, floats
from mercer.spectral.scatter import Directions

_COLDEST, _CLOSE, _NEWTON = 2e-9, 1e-3, 60  # for 1/T: the smallest, the relative accuracy, the most steps
_LEAST = 1e-3  # share of the fitted means below which a direction tells nothing about new samples; the floor used
_FOLDS = 5  # parts of the left-out samples, each judged by a rule fitted to the other four


@dataclass(frozen=True)
class DiscriminantRule:
    """Classes as normal clouds: δ_c(z) = Σⱼ (zⱼ m_cj − ½m_cj²) / (T τⱼ²) + log π_c.

    T ≥ 1 makes up for tails that are heavier than a normal cloud's.
    """

    _saved = SavedRecord(
        "Rule",
        {
            "means": floats("c", "k"),
            "spread": floats("k", positive=True),
            "priors": floats("c", positive=True),
            "temperature": at_least(1.0),
        },
    )

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

    def calibrated(self, z: np.ndarray, codes: np.ndarray, weights: np.ndarray) -> DiscriminantRule:
        """This rule with the temperature that minimises the log loss on samples left out.

        The loss is convex in s = 1/T, with the mean and the variance of the margins over the classes as its
        derivatives: Newton's steps, kept between the slopes that are known to be of either sign.
        """
        margins, base, weights = self._margins(z), np.log(self.priors), weights / weights.sum()
        margins -= margins[np.arange(len(codes)), codes][:, None]  # over the sample's own class
        low, high, s = _COLDEST, 1.0, 1.0
        for _ in range(_NEWTON):
            chances = s * margins + base
            chances -= chances.max(axis=1, keepdims=True)
            chances = np.exp(chances, out=chances)
            chances /= chances.sum(axis=1, keepdims=True)
            means = np.einsum("ic,ic->i", chances, margins)
            slope = float(weights @ means)
            with np.errstate(over="ignore", invalid="ignore"):
                bend = float(weights @ (np.einsum("ic,ic,ic->i", chances, margins, margins) - means**2))
            low, high = (s, high) if slope < 0 else (low, s)
            newton = s - slope / bend if 0 < bend < np.inf else s
            if high <= low * (1 + _CLOSE) or 0 < abs(newton - s) <= _CLOSE * s or slope == 0:
                break
            s = newton if low < newton < high else max(s / 8, (low * high) ** 0.5)
        return replace(self, temperature=1 / s)


def fit_rule(
    z: np.ndarray, codes: np.ndarray, weights: np.ndarray, found: Directions, priors: np.ndarray
) -> DiscriminantRule:
    """The rule fitted to samples left out in turn: samples of the fit lie too near their own class."""
    fitted = found.means[codes]
    size = np.average(fitted**2, axis=0, weights=weights)
    held = np.average(z * fitted, axis=0, weights=weights) / np.where(size > 0, size, 1.0)
    means = found.means * np.clip(held, _LEAST, 1.0)
    alone = np.bincount(codes, minlength=len(priors))[codes] < 2  # left out, its class is not there at all
    rest = slice(None) if alone.all() else ~alone
    spread = np.average(((z - means[codes]) ** 2)[rest], axis=0, weights=weights[rest])
    return DiscriminantRule(means, np.maximum(spread, float(np.finfo(np.float64).tiny) ** 0.5), priors)


def left_out_error(
    z: np.ndarray,
    codes: np.ndarray,
    weights: np.ndarray,
    found: Directions,
    priors: np.ndarray,
    own_share: np.ndarray | None = None,
    alone: np.ndarray | None = None,
) -> float:
    """The share of left-out samples that a rule fitted to the others misclassifies, in five folds.

    A rule that was fitted to a sample's own left-out position knows a little about it; none of these do.

    own_share : (s,), what part of its class each sample is, if the shares of the classes are counted on the data:
        without it, its class has a smaller share
    alone : (s,), whether each sample is the only one of its class: no rule that was fitted without it knows the class
    """
    folds = np.empty(len(codes), np.int64)
    folds[np.argsort(codes, kind="stable")] = np.arange(len(codes)) % _FOLDS  # every class in every fold
    wrong = np.zeros(len(codes), bool) if alone is None else alone.copy()
    for fold in range(_FOLDS):
        own, rest = np.flatnonzero(folds == fold), folds != fold
        if len(own) and rest.any():
            delta = fit_rule(z[rest], codes[rest], weights[rest], found, priors).decide(z[own])
            if own_share is not None:
                delta[np.arange(len(own)), codes[own]] += np.log(np.maximum(1 - own_share[own], _LEAST))
            wrong[own] |= delta.argmax(axis=1) != codes[own]
    return float(np.average(wrong, weights=weights))
