"""Correlations of two lists of numbers, with standard errors that assume no distribution.

A correlation r of m independent pairs is a smooth function of means. So to first order r − ρ is the mean of m terms,
one per pair (its influence), and the standard error is that of a mean: the standard deviation of the terms over √m.

    Pearson    ψᵢ = aᵢbᵢ − ½ r (aᵢ² + bᵢ²), a and b standardised
    Spearman   the same with ranks for a and b, and two more terms, for the ranks are means themselves: how much the
               pair i moves the ranks of the others
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata


@dataclass(frozen=True)
class Correlation:
    """r and its standard error."""

    value: float
    error: float


def pearson(x: np.ndarray, y: np.ndarray) -> Correlation:
    """The correlation of x and y, (m,) each; 0 where either does not vary."""
    both = _standardised(x, y)
    if both is None:
        return Correlation(0.0, 1 / len(x))
    a, b = both
    r = float(np.clip(np.mean(a * b), -1, 1))
    return Correlation(r, error_of(a * b - 0.5 * r * (a * a + b * b)))


def spearman(x: np.ndarray, y: np.ndarray) -> Correlation:
    """The correlation of the ranks of x and of y, ties sharing their mean; 0 where either does not vary.

    Cost: two sorts.

    >>> spearman(np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 4.0, 9.0, 16.0])).value
    1.0
    """
    ranks = rankdata(x), rankdata(y)
    both = _standardised(*ranks)
    if both is None:
        return Correlation(0.0, 1 / len(x))
    a, b = both
    r = float(np.clip(np.mean(a * b), -1, 1))
    spreads = [float(np.std(one)) for one in ranks]
    moved = _moved(ranks[0], a, b, r, spreads[0]) + _moved(ranks[1], b, a, r, spreads[1])
    return Correlation(r, error_of(a * b - 0.5 * r * (a * a + b * b) + moved))


def _moved(ranks: np.ndarray, a: np.ndarray, b: np.ndarray, r: float, spread: float) -> np.ndarray:
    """What a pair does to r by raising the ranks of all that lie above it: Σⱼ ∂r/∂rankⱼ [xᵢ < xⱼ], ties by half."""
    slope = (b - r * a) / spread
    order = np.argsort(ranks, kind="stable")
    cumulative = np.concatenate([[0.0], np.cumsum(slope[order])])
    ordered = ranks[order]
    below, upto = np.searchsorted(ordered, ranks, "left"), np.searchsorted(ordered, ranks, "right")
    return cumulative[-1] - 0.5 * (cumulative[below] + cumulative[upto])


def _standardised(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    out = []
    for values in (x, y):
        size = float(np.abs(values).max(initial=0.0)) or 1.0
        values = values / size  # no square overflows
        centred = values - values.mean()
        spread = float(np.sqrt(np.mean(centred * centred)))
        if not spread > 1e-14:  # the largest value is 1: beneath is the rounding of the mean
            return None
        out.append(centred / spread)
    return out[0], out[1]


def error_of(terms: np.ndarray) -> float:
    """The standard error of a mean of influences.

    If all terms are equal up to rounding, as in a sample of a map that keeps every distance, it is 1/m and not 0: one
    pair in m may well differ.
    """
    m = len(terms)
    if m < 2:
        return 1.0
    spread = float(np.std(terms, ddof=1))
    return spread / m**0.5 if spread > 1e-12 else 1 / m  # beneath is the rounding of terms of size 1
