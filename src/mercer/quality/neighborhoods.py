"""Scores of neighbourhoods: who is near whom in the data and in the map.

With Nₖ(i) the k nearest rows of i in the data, Uₖ(i) those in the map, and r, s the ranks of rows by their distance
from i in the data and in the map (1 for the nearest):

    trustworthiness   1 − 2/(nk(2n − 3k − 1)) Σᵢ Σ_{j ∈ Uₖ(i)} max(0, r(i, j) − k)
    continuity        1 − 2/(nk(2n − 3k − 1)) Σᵢ Σ_{j ∈ Nₖ(i)} max(0, s(i, j) − k)
    neighbor recall   Σᵢ |Nₖ(i) ∩ Uₖ(i)| / nk
    class purity      Σᵢ |{j ∈ Uₖ(i) : j is of the class of i}| / nk

Each is a mean over rows of a term in [0, 1], so it can be estimated from some rows; the term of a row is exact, against
all n rows.

Ties. Among rows at the same distance, those with the smaller index count as nearer, both in the data and in the map. So
a map that equals its data scores 1, with or without ties. Rows at the same distance share the best of their ranks, so a
map is not penalised for an order that the data does not have. scikit-learn keeps whatever order its sort leaves;
without ties the two agree.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.progress import phase
from mercer.quality.inputs import (
    ExactIndex,
    checked_labels,
    checked_neighbors,
    data_index,
    map_index,
    refuse_other_length,
    rows_of,
)
from mercer.quality.sampling import Growing, Mean, SamplingPlan, mean_of, sampled
from mercer.quality.score import Score
from mercer.random_state import generator_from

MEANINGS = {
    "trustworthiness": "neighbours in the map are near in the data, too: low where the map puts strangers together",
    "continuity": "neighbours in the data are near in the map, too: low where the map tears the data apart",
    "neighbor_recall": "share of a row's nearest in the data that are among its nearest in the map",
    "class_purity": "share of a point's nearest in the map that have its class",
    "class_purity_of_data": "the same among its nearest in the data: what the map had to begin with",
}


class Neighborhoods:
    """The terms of all these scores for the rows of one random order, each computed when it is asked for.

    data, points : indices of the data and of the map; one may be None if the scores do not need it
    order : (n,), in which rows are looked at
    """

    def __init__(
        self, data: ExactIndex | None, points: ExactIndex | None, k: int, order: np.ndarray, classes: Any = None
    ) -> None:
        self.data, self.points, self.k, self.order, self.classes = data, points, k, order, classes
        self.n = len(order)
        self._near = Growing(lambda a, b: self._known(self.data).nearest_of(order[a:b], k)[0])
        self._near_in_map = Growing(lambda a, b: self._known(self.points).nearest_of(order[a:b], k)[0])
        self._terms = {
            "trustworthiness": Growing(self._trust),
            "continuity": Growing(self._continuity),
            "neighbor_recall": Growing(self._recall),
            "class_purity": Growing(lambda a, b: self._purity(self._near_in_map, a, b)),
            "class_purity_of_data": Growing(lambda a, b: self._purity(self._near, a, b)),
        }

    def mean(self, name: str, plan: SamplingPlan) -> Mean:
        """A score by its name, on as many rows as the plan says."""
        terms = self._terms[name]
        exact = SamplingPlan(None, plan.error) if plan.is_exact(self.n) else plan
        return sampled(lambda m: mean_of(terms.first(m), self.n), exact, self.n)

    def score(self, name: str, plan: SamplingPlan, note: str = "") -> Score:
        with phase(name.replace("_", " ")):
            found = self.mean(name, plan)
        return Score(name, found.value, found.error, found.count, 1.0, MEANINGS[name], note=note)

    def _trust(self, start: int, stop: int) -> np.ndarray:
        others = self._near_in_map.first(stop)[start:]
        return self._kept(self._known(self.data).ranks_of(self.order[start:stop], others))

    def _continuity(self, start: int, stop: int) -> np.ndarray:
        others = self._near.first(stop)[start:]
        return self._kept(self._known(self.points).ranks_of(self.order[start:stop], others))

    def _kept(self, ranks: np.ndarray) -> np.ndarray:
        """1 less the ranks beyond k, over what they could be at most."""
        k, n = self.k, self.n
        return 1 - np.maximum(ranks - k, 0).sum(axis=1) * (2 / (k * (2 * n - 3 * k - 1)))

    def _recall(self, start: int, stop: int) -> np.ndarray:
        return shared(self._near.first(stop)[start:], self._near_in_map.first(stop)[start:]) / self.k

    def _purity(self, neighbors: Growing, start: int, stop: int) -> np.ndarray:
        near = self.classes[neighbors.first(stop)[start:]]
        return np.mean(near == self.classes[self.order[start:stop], None], axis=1)

    @staticmethod
    def _known(index: ExactIndex | None) -> ExactIndex:
        assert index is not None
        return index


def shared(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """How many numbers each row of a (m, k) has in common with that of b; no row has one twice.

    >>> shared(np.array([[1, 2, 3]]), np.array([[3, 4, 1]])).tolist()
    [2]
    """
    both = np.sort(np.concatenate([a, b], axis=1), axis=1)
    return np.count_nonzero(both[:, 1:] == both[:, :-1], axis=1)


def in_order(n: int, plan: SamplingPlan, random_state: Any) -> np.ndarray:
    """The order in which rows are examined: random for a sample, their own order if all are examined."""
    return np.arange(n) if plan.is_exact(n) else generator_from(random_state).permutation(n)


def _of_both(name: str, X: Any, Y: Any, k: Any, metric: Any, sample: Any, error: float, random_state: Any) -> Score:
    plan = SamplingPlan.checked(sample, error)
    points = map_index(Y, X)
    data = data_index(X, metric)
    refuse_other_length(data.n, points.n)
    k = checked_neighbors(k, data.n)
    return Neighborhoods(data, points, k, in_order(data.n, plan, random_state)).score(name, plan)


def trustworthiness(
    X: Any,
    Y: Any,
    *,
    n_neighbors: int = 15,
    metric: Any = "euclidean",
    sample: int | str | None = "auto",
    error: float = 0.005,
    random_state: Any = None,
) -> Score:
    """Whether neighbours in the map are near in the data.

    1 − 2/(nk(2n − 3k − 1)) Σᵢ Σ_{j ∈ Uₖ(i)} max(0, r(i, j) − k): a point that is among the k nearest of i in the map
    but not in the data lowers the score by its rank in the data beyond k.

    Parameters
    ----------
    X : (n, d), dense or CSR, or what `metric` compares
    Y : (n, c), the map, compared by Euclidean distances
    n_neighbors : k, less than n/2
    metric : the metric of the data, as for `mercer.graph.build_index`; "precomputed" for a matrix of distances
    sample : None for all rows, a number of rows, or "auto": all up to 5,000, else as many as `error` asks for
    error : the half-width of the 95 % interval (1.96 standard errors) that "auto" aims at
    random_state : the seed of the sample; None is the seed 0

    Returns a `Score`. Cost: n distances of d coordinates per row, O(nk) memory. It agrees with scikit-learn's score if
    no two distances are equal. For ties see `mercer.quality.neighborhoods`.

    References
    ----------
    Venna & Kaski (2001), Neighborhood preservation in nonlinear projection methods.

    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> trustworthiness(X, 2 * X, n_neighbors=5).value
    1.0
    """
    return _of_both("trustworthiness", X, Y, n_neighbors, metric, sample, error, random_state)


def continuity(
    X: Any,
    Y: Any,
    *,
    n_neighbors: int = 15,
    metric: Any = "euclidean",
    sample: int | str | None = "auto",
    error: float = 0.005,
    random_state: Any = None,
) -> Score:
    """Whether neighbours in the data are near in the map: trustworthiness with data and map exchanged.

    1 − 2/(nk(2n − 3k − 1)) Σᵢ Σ_{j ∈ Nₖ(i)} max(0, s(i, j) − k). Parameters and cost are those of `trustworthiness`.

    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> continuity(X, X[:, :1], n_neighbors=5).value < 1
    True

    `Y`, `metric`, `sample`, `error` and `random_state` are as in `trustworthiness`.
    """
    return _of_both("continuity", X, Y, n_neighbors, metric, sample, error, random_state)


def neighbor_recall(
    X: Any,
    Y: Any,
    *,
    n_neighbors: int = 15,
    metric: Any = "euclidean",
    sample: int | str | None = "auto",
    error: float = 0.005,
    random_state: Any = None,
) -> Score:
    """The mean share of a row's k nearest rows in the data that are also among its k nearest in the map.

    Σᵢ |Nₖ(i) ∩ Uₖ(i)| / nk. This is the strictest of these scores: a neighbour at rank k + 1 does not count at all. A
    random map gets k/(n − 1). Parameters and cost are those of `trustworthiness`.

    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> neighbor_recall(X, X, n_neighbors=5).value
    1.0

    `Y`, `metric`, `sample`, `error` and `random_state` are as in `trustworthiness`.
    """
    return _of_both("neighbor_recall", X, Y, n_neighbors, metric, sample, error, random_state)


def class_purity(
    Y: Any,
    labels: Any,
    *,
    n_neighbors: int = 15,
    metric: Any = "euclidean",
    sample: int | str | None = "auto",
    error: float = 0.005,
    random_state: Any = None,
) -> Score:
    """The mean share of a point's k nearest points that have its class.

    Σᵢ |{j ∈ Uₖ(i) : cⱼ = cᵢ}| / nk. To see how pure the data itself is, pass the data in place of the map, with its
    metric. Cost: the search for the k nearest of each sampled row.

    Parameters
    ----------
    Y : (n, c), a map, or data
    labels : (n,), classes; rows without one (None, NaN) are left out, as points and as neighbours
    metric, n_neighbors, sample, error, random_state : as for `trustworthiness`

    `note` tells what a random map would score: Σ_c (n_c/n)(n_c − 1)/(n − 1).

    >>> class_purity([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]], list("aaabbb"), n_neighbors=2).value
    1.0
    """
    plan = SamplingPlan.checked(sample, error)
    is_map = isinstance(metric, str) and metric == "euclidean" and not sp.issparse(Y)
    index = map_index(Y) if is_map else data_index(Y, metric)
    classes = checked_labels(labels, index.n)
    labelled = np.flatnonzero(classes >= 0)
    if len(labelled) < 3 <= index.n:
        raise ValueError(f"{len(labelled)} of the {index.n:,} rows have a label; purity needs at least 3.")
    if len(labelled) < index.n:
        index, classes = rows_of(index, metric, labelled), classes[labelled]
    k = checked_neighbors(n_neighbors, index.n)
    order = in_order(index.n, plan, random_state)
    return Neighborhoods(None, index, k, order, classes).score("class_purity", plan, chance_of(classes))


def chance_of(classes: np.ndarray) -> str:
    """What purity a map would have in which neighbours are drawn at random, in words."""
    counts = np.bincount(classes).astype(np.float64)
    n = counts.sum()
    return f"chance: {float((counts * (counts - 1)).sum() / (n * max(n - 1, 1))):.3f}"
