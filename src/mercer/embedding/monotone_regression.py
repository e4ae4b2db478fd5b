"""Disparities of non-metric scaling: the distances of a map, made to rise with the dissimilarities.

d̂ = argmin Σ (d̂ₖ − dₖ)² over all d̂ that rise with δ, where equal δ get equal d̂ (the secondary approach to ties, as
scikit-learn has it). Pairs are sorted once; each regression then takes O(pairs) by pooling adjacent violators.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from scipy.optimize import isotonic_regression

from mercer.backends import cpu

_KNOTS = 2048  # of the curve δ ↦ d̂ that places new rows; fewer pairs have one each
_EQUAL = 1e-12  # of the largest δ: a smaller difference is rounding, and the order that it suggests is chance
_CHUNK = 2**20  # pairs that a thread moves at a time


class MonotoneRegression:
    """Monotone regression on fixed dissimilarities (final).

    dissimilarities : (p,), negative for pairs that are not known; the array may be freed afterwards
    compiled : whether loops are compiled, in which case 12 bytes a pair are enough

    >>> found = MonotoneRegression(np.array([1.0, 2.0, 3.0, 4.0]))
    >>> found.fit(np.array([0.5, 3.0, 1.0, 4.0])).tolist()
    [0.5, 2.0, 2.0, 4.0]
    """

    def __init__(self, dissimilarities: np.ndarray, *, compiled: bool = False, n_jobs: int | None = None) -> None:
        count = len(dissimilarities)
        order = np.argsort(dissimilarities).astype(np.int32 if count < 2**31 else np.int64)
        ranked = dissimilarities[order]
        unknown = int(np.searchsorted(ranked, 0.0))  # they are negative, and stand first
        order, ranked = order[unknown:], ranked[unknown:]
        self.ties = _runs_of_ties(ranked)
        knots = np.unique(np.linspace(0, len(ranked) - 1, min(_KNOTS, len(ranked))).astype(np.int64))
        self._knots, self._at_knots = knots, ranked[knots].astype(np.float64)
        self.order = order
        self.compiled, self.n_jobs = compiled, n_jobs
        self._fitted = np.empty(len(order))  # in the order of the dissimilarities

    def fit(self, distances: np.ndarray) -> np.ndarray:
        """The disparities for distances (p,), written over them; places of unknown pairs stay as they are."""
        loops: Any = import_module("mercer.backends.compiled_stress") if self.compiled else None
        if loops is None:
            y = distances[self.order].astype(np.float64)
            self._fitted = _pooled(y, self.ties)
            distances[self.order] = self._fitted
            return distances
        chunks = [(a, min(a + _CHUNK, len(self.order))) for a in range(0, len(self.order), _CHUNK)]
        cpu.for_each(chunks, lambda part, _: loops.gather(distances, self.order, *part, self._fitted), self.n_jobs)
        loops.pool_adjacent(self._fitted, self.ties)
        cpu.for_each(chunks, lambda part, _: loops.scatter(self._fitted, self.order, *part, distances), self.n_jobs)
        return distances

    def curve(self) -> np.ndarray:
        """(q, 2), δ and d̂ of the last fit, at up to 2048 pairs spread evenly over their ranks."""
        return np.stack([self._at_knots, self._fitted[self._knots]], axis=1)


def _runs_of_ties(ranked: np.ndarray) -> np.ndarray:
    """(t, 2), the first place of each run of equal values, and the one after its last."""
    if not len(ranked):
        return np.empty((0, 2), np.int64)
    equal = np.zeros(len(ranked) + 1, bool)  # [k]: whether k − 1 and k are tied
    equal[1:-1] = ranked[1:] - ranked[:-1] <= _EQUAL * ranked[-1]
    edges = np.flatnonzero(equal[1:] != equal[:-1])
    return np.stack([edges[0::2], edges[1::2] + 1], axis=1)


def _pooled(y: np.ndarray, ties: np.ndarray) -> np.ndarray:
    """The rising sequence nearest to y; each run of ties gets one value."""
    first = np.ones(len(y), bool)
    for a, b in ties:
        first[a + 1 : b] = False
    groups = np.flatnonzero(first)
    sizes = np.diff(np.append(groups, len(y)))
    means = np.add.reduceat(y, groups) / sizes
    return np.repeat(isotonic_regression(means, weights=sizes).x, sizes)
