"""How many rows a score looks at, and what its standard error is.

    mean of m of n terms, drawn without replacement:   s.e. = s/√m · √(1 − m/n)
    mean of m terms, drawn independently:              s.e. = s/√m

With sample="auto", m grows until 1.96 standard errors are within `error`. Where all m terms are equal, the standard
error is taken as 1/m and not as 0: one row in m may well differ.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

EXACT_UP_TO = 5000  # rows of which "auto" looks at all
PILOT = 500  # rows from which it learns how many it needs
NORMAL = 1.96  # standard errors on either side of a 95 % interval
_MARGIN = 1.1  # more than the pilot asks for, so that a second round is rarely needed


@dataclass(frozen=True)
class SamplingPlan:
    """How many terms to take: all (None), a number, or as many as the error needs ("auto")."""

    sample: int | str | None
    error: float

    @classmethod
    def checked(cls, sample: Any, error: Any) -> SamplingPlan:
        is_count = isinstance(sample, Integral) and not isinstance(sample, bool) and int(sample) >= 2
        if not (sample is None or is_count or (isinstance(sample, str) and sample == "auto")):
            raise ValueError(f"sample={sample!r} must be None (all rows), a number of rows ≥ 2, or 'auto'.")
        if not isinstance(error, Real) or not float(error) > 0:
            raise ValueError(f"error={error!r} must be a number > 0: the half-width of a 95 % interval.")
        return cls(int(sample) if is_count else sample, float(error))

    def is_exact(self, n: int, up_to: int = EXACT_UP_TO) -> bool:
        """Whether all of n are to be looked at."""
        if self.sample == "auto":
            return n <= up_to
        return self.sample is None or int(self.sample) >= n


@dataclass(frozen=True)
class Mean:
    """An estimate, its standard error, and the number of terms."""

    value: float
    error: float
    count: int


def mean_of(terms: np.ndarray, n: float = np.inf) -> Mean:
    """The mean of some of n terms; n = ∞ for terms that are drawn independently.

    >>> mean_of(np.array([0.0, 1.0, 1.0, 0.0]), 4)
    Mean(value=0.5, error=0.0, count=4)
    """
    m = len(terms)
    value = float(np.mean(terms, dtype=np.float64))
    if m >= n:
        return Mean(value, 0.0, m)
    spread = float(np.std(terms, ddof=1, dtype=np.float64)) if m > 1 else 1.0
    error = spread / np.sqrt(m) if spread > 0 else 1 / m
    return Mean(value, error * float(np.sqrt(1 - m / n)), m)


def needed(error: float, found: Mean, n: float = np.inf) -> int:
    """How many terms bring 1.96 standard errors within `error`, judged by those that were seen."""
    shrunk = np.sqrt(1 - found.count / n)
    spread = found.error / shrunk * np.sqrt(found.count)
    share = (error / (NORMAL * spread)) ** 2 + 1 / n  # one over the number
    return int(min(n, np.ceil(_MARGIN / share)))


def sampled(estimate: Callable[[int], Mean], plan: SamplingPlan, n: float = np.inf, pilot: int = PILOT) -> Mean:
    """`estimate(m)`, the mean of the first m terms, for the m that the plan asks for.

    n : how many terms there are; ∞ if they are drawn independently
    """
    if plan.sample != "auto":
        return estimate(int(min(n, n if plan.sample is None else int(plan.sample))))
    found = estimate(int(min(n, pilot)))
    while found.error * NORMAL > plan.error and found.count < n:
        found = estimate(max(needed(plan.error, found, n), found.count + found.count // 4 + 1))
    return found


class Growing:
    """An array whose first entries are known; more are computed when they are asked for.

    compute(start, stop) gives the entries from start to stop.
    """

    def __init__(self, compute: Callable[[int, int], Any]) -> None:
        self.compute, self._parts, self._count = compute, [], 0  # type: ignore[var-annotated]

    def first(self, m: int) -> np.ndarray:
        """The entries 0 … m − 1."""
        if m > self._count:
            self._parts.append(self.compute(self._count, m))
            self._count = m
            if len(self._parts) > 1:
                self._parts = [np.concatenate(self._parts)]
        return self._parts[0][:m]
