"""Scores of distances: does the map keep them, or at least their order?

    Shepard correlation   Spearman's correlation of d(i, j) in the data and in the map, over pairs of rows
    residual variance     1 − R² between the two, as of Isomap
    triplet accuracy      the share of triplets (i; j, l) with d(i, j) and d(i, l) in the same order in both

A sample is of pairs (triplets) drawn independently from all there are, with replacement. Two of them may share a row;
that does not matter, for it is the pairs that are drawn: the score of all pairs is the mean of a population of pairs,
and independent draws from a population have the plain standard error. (It would matter had rows been drawn, and all
pairs among them taken.)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import kendalltau

from mercer.exceptions import MemoryLimitError
from mercer.memory import available_bytes, format_bytes
from mercer.quality.correlation import Correlation, error_of, pearson, spearman
from mercer.quality.inputs import ExactIndex, data_index, map_index, refuse_other_length
from mercer.quality.sampling import Growing, Mean, SamplingPlan, mean_of, sampled
from mercer.quality.score import Score
from mercer.random_state import generator_from

PILOT = 20_000  # pairs or triplets from which "auto" learns how many it needs
ALL_PAIRS_UP_TO = 2000  # rows of which "auto" takes all pairs
ALL_TRIPLETS_UP_TO = 300
_MOST = 10_000_000  # pairs that "auto" draws at most: distances of 160 MB
_BYTES = 120  # a pair: its rows, two distances, their ranks, and what a correlation makes of them
CORRELATIONS = {"spearman": spearman, "pearson": pearson}
MEANINGS = {
    "shepard_correlation": "far apart in the data is far apart in the map: correlation of the ranks of distances",
    "residual_variance": "share of the variance of distances that a straight line from map to data leaves over",
    "triplet_accuracy": "of two rows, the one that is nearer to a third in the data is so in the map",
}


class Pairs:
    """Distances of random pairs of rows, in the data and in the map, drawn as they are asked for; or of all pairs."""

    def __init__(self, data: ExactIndex, points: ExactIndex, random_state: Any, *, whole: bool) -> None:
        self.data, self.points, self.n, self.whole = data, points, data.n, whole
        self.rng = generator_from(random_state)
        if whole:
            refuse_pairs(self.n)
            self.i, self.j = (part.astype(np.int64) for part in np.triu_indices(self.n, 1))
        self._distances = Growing(self._more)

    def first(self, m: int) -> tuple[np.ndarray, np.ndarray]:
        """The distances of m pairs (of all)."""
        both = self._distances.first(len(self.i) if self.whole else m)
        return both[:, 0], both[:, 1]

    def _more(self, start: int, stop: int) -> np.ndarray:
        i, j = (self.i, self.j) if self.whole else draw_pairs(self.rng, self.n, stop - start)
        return np.stack([self.data.distances_of(i, j), self.points.distances_of(i, j)], axis=1)

    def shepard(self, plan: SamplingPlan, kind: str = "spearman") -> Score:
        return self._score("shepard_correlation", plan, CORRELATIONS[kind], 1.0)

    def residual(self, plan: SamplingPlan) -> Score:
        return self._score("residual_variance", plan, lambda x, y: unexplained(x, y, self.n), 0.0)

    def _score(self, name: str, plan: SamplingPlan, measure: Any, best: float) -> Score:
        if self.whole:
            found = measure(*self.first(0))
            return Score(name, found.value, 0.0, len(self.i), best, MEANINGS[name], "pairs")
        mean = sampled(lambda m: _as_mean(measure(*self.first(m)), m), _bounded(plan), pilot=PILOT)
        return Score(name, mean.value, mean.error, mean.count, best, MEANINGS[name], "pairs")


def draw_pairs(rng: np.random.Generator, n: int, m: int) -> tuple[np.ndarray, np.ndarray]:
    """m pairs i ≠ j, each drawn uniformly from all pairs."""
    i, j = rng.integers(0, n, m), rng.integers(0, n - 1, m)
    return i, j + (j >= i)


def unexplained(x: np.ndarray, y: np.ndarray, n: int) -> Correlation:
    """1 − R² over the n × n matrix of distances, its diagonal of zeros included, from pairs off the diagonal.

    Isomap's residual variance is over the whole matrix. The zeros of the diagonal are a share 1/n of its entries, so
    moments about the origin are 1 − 1/n times those over the pairs.
    """
    weight = 1 - 1 / n
    sizes = [float(part.max(initial=0.0)) or 1.0 for part in (x, y)]
    x, y = x / sizes[0], y / sizes[1]
    a, b = x - weight * x.mean(), y - weight * y.mean()
    means = weight * x.mean(), weight * y.mean()
    aa, bb, ab = (
        weight * float(np.mean(p)) + (1 - weight) * q
        for p, q in ((a * a, means[0] ** 2), (b * b, means[1] ** 2), (a * b, means[0] * means[1]))
    )
    if not (aa > 1e-28 and bb > 1e-28):  # squares of 1e-14: the rounding of values up to 1
        return Correlation(1.0, 1 / len(x))
    r = float(np.clip(ab / np.sqrt(aa * bb), -1, 1))
    terms = weight * (a * b / np.sqrt(aa * bb) - 0.5 * r * (a * a / aa + b * b / bb))
    error = error_of(terms)
    of_square = float(np.hypot(2 * r * error, 2**0.5 * error * error))  # the second for an r near 0
    return Correlation(max(0.0, 1 - r * r), of_square)


def _as_mean(found: Correlation, m: int) -> Mean:
    return Mean(found.value, found.error, m)


def _bounded(plan: SamplingPlan) -> SamplingPlan:
    """The plan, with no smaller an error than some millions of pairs can give."""
    least = 1.96 / np.sqrt(_MOST)  # half of the 95 % interval of a correlation of _MOST pairs, at most
    return plan if plan.sample != "auto" else SamplingPlan("auto", max(plan.error, least))


def refuse_pairs(n: int) -> None:
    need, free = _BYTES * n * (n - 1) // 2, available_bytes()
    if need > free:
        raise MemoryLimitError(
            f"All pairs of {n:,} rows take {format_bytes(need)} for their ranks, and {format_bytes(free)} are free. "
            "Take sample='auto' or a number of pairs."
        )


def two_indexes(X: Any, Y: Any, metric: Any, least: int) -> tuple[ExactIndex, ExactIndex]:
    points = map_index(Y, X)
    data = data_index(X, metric)
    refuse_other_length(data.n, points.n)
    if data.n < least:
        raise ValueError(f"Distances can be compared from {least} rows on, and there {_are(data.n)}.")
    return data, points


def _are(n: int) -> str:
    return "is 1" if n == 1 else f"are {n}"


def shepard_correlation(
    X: Any,
    Y: Any,
    *,
    kind: str = "spearman",
    metric: Any = "euclidean",
    sample: int | str | None = "auto",
    error: float = 0.005,
    random_state: Any = None,
) -> Score:
    """The rank correlation between distances in the data and distances in the map, over pairs of rows.

        the correlation of rank d(xᵢ, xⱼ) and rank ‖yᵢ − yⱼ‖ over the pairs i < j

    It is 1 if the map keeps the order of all distances, and about 0 if the map is unrelated to the data. A constant map
    gets 0. Most pairs are far apart, so the score judges where the clusters lie, not who the neighbours are. Cost: m
    distances in the data and in the map, for m pairs.

    Parameters
    ----------
    X, Y, metric, error, random_state : as of `trustworthiness`
    kind : "spearman" correlates the ranks of distances, and "pearson" the distances themselves
    sample : None for all pairs (120 bytes each), a number of pairs, or "auto": all of up to 2,000 rows, else some

    The standard error comes from the influence function of the correlation; see `mercer.quality.correlation`.

    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> shepard_correlation(X, 3 * X).value
    1.0
    """
    plan = SamplingPlan.checked(sample, error)
    data, points = two_indexes(X, Y, metric, 3)
    if kind not in CORRELATIONS:
        raise ValueError(f"kind={kind!r} must be one of {', '.join(map(repr, CORRELATIONS))}.")
    return Pairs(data, points, random_state, whole=all_pairs(plan, data.n)).shepard(plan, kind)


def all_pairs(plan: SamplingPlan, n: int) -> bool:
    """Whether the plan examines all pairs of n rows."""
    return plan.is_exact(n, ALL_PAIRS_UP_TO) if plan.sample in (None, "auto") else plan.is_exact(n * (n - 1) // 2)


# --- triplets ----------------------------------------------------------------------------------------------


def triplet_accuracy(
    X: Any,
    Y: Any,
    *,
    metric: Any = "euclidean",
    sample: int | str | None = "auto",
    error: float = 0.005,
    random_state: Any = None,
) -> Score:
    """The share of triplets (i; j, l) of rows whose distances d(i, j) and d(i, l) have the same order in the map.

        the mean of [ d(xᵢ, xⱼ) < d(xᵢ, xₗ)  =  ‖yᵢ − yⱼ‖ < ‖yᵢ − yₗ‖ ] over triplets

    A tie in both counts as 1, and a tie in one of them as ½. So a constant map gets ½, like a random map. Cost: two
    distances in the data and two in the map per triplet.

    Parameters
    ----------
    X, Y, metric, error, random_state : as of `trustworthiness`
    sample : None for all triplets (O(n² log n) time, O(n) memory), a number of triplets, or "auto": all of up to 300
        rows, else random ones

    References
    ----------
    Wang, Huang, Rudin & Shaposhnik (2021), Understanding how dimension reduction tools work.

    >>> X = np.random.default_rng(0).normal(size=(40, 3))
    >>> triplet_accuracy(X, 3 * X).value, triplet_accuracy(X, 0 * X).value
    (1.0, 0.5)
    """
    plan = SamplingPlan.checked(sample, error)
    data, points = two_indexes(X, Y, metric, 3)
    return triplets(data, points, plan, random_state)


def triplets(data: ExactIndex, points: ExactIndex, plan: SamplingPlan, random_state: Any) -> Score:
    n, name = data.n, "triplet_accuracy"
    total = n * (n - 1) * (n - 2) // 2
    exact = plan.is_exact(n, ALL_TRIPLETS_UP_TO) if plan.sample in (None, "auto") else plan.is_exact(total)
    if exact:
        value = _all_triplets(data, points)
        return Score(name, value, 0.0, total, 1.0, MEANINGS[name], "triplets")
    rng = generator_from(random_state)
    terms = Growing(lambda a, b: _random_triplets(data, points, rng, b - a))
    found = sampled(lambda m: mean_of(terms.first(m)), _bounded(plan), pilot=PILOT)
    return Score(name, found.value, found.error, found.count, 1.0, MEANINGS[name], "triplets")


def _random_triplets(data: ExactIndex, points: ExactIndex, rng: np.random.Generator, m: int) -> np.ndarray:
    """For each of m uniformly drawn triplets: 1 if the map keeps the order, ½ if one of the two is a tie, else 0."""
    n = data.n
    i, j = draw_pairs(rng, n, m)
    low, high = np.minimum(i, j), np.maximum(i, j)
    l = rng.integers(0, n - 2, m)
    l += l >= low
    l += l >= high
    signs = [np.sign(side.distances_of(i, j) - side.distances_of(i, l)) for side in (data, points)]
    return _agreement(*signs)


def _agreement(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.where(a == b, 1.0, np.where((a == 0) | (b == 0), 0.5, 0.0))


def _all_triplets(data: ExactIndex, points: ExactIndex) -> float:
    """The mean over rows of the share of pairs of other rows that are in the same order, by Kendall's count."""
    n, shares = data.n, 0.0
    everyone = np.arange(n)
    for row in range(n):
        others = np.delete(everyone, row)
        here = np.full(n - 1, row)
        shares += _concordance(data.distances_of(here, others), points.distances_of(here, others))
    return shares / n


def _concordance(x: np.ndarray, y: np.ndarray) -> float:
    """(pairs in the same order or tied in both + half of those tied in one) / pairs."""
    total = len(x) * (len(x) - 1) / 2
    ties = [_tied(values) for values in (x, y)]
    both = _tied(rank_pairs(x, y))
    apart = np.sqrt((total - ties[0]) * (total - ties[1]))
    excess = float(kendalltau(x, y).statistic) * apart if apart > 0 else 0.0  # same order less opposite order
    same = (total - ties[0] - ties[1] + both + round(excess)) / 2
    return (same + both + 0.5 * (ties[0] + ties[1] - 2 * both)) / total


def rank_pairs(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """A number for each pair (xᵢ, yᵢ), equal for equal pairs."""
    a, b = (np.unique(values, return_inverse=True)[1] for values in (x, y))
    return a.astype(np.int64) * len(x) + b


def _tied(values: np.ndarray) -> float:
    counts = np.unique(values, return_counts=True)[1].astype(np.float64)
    return float((counts * (counts - 1) / 2).sum())
