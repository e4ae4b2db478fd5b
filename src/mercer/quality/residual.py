"""Residual variance: 1 − R² between the distances of the data, straight or along a graph, and those of the map."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.exceptions import DisconnectedGraphError
from mercer.graph.geodesics import Geodesics
from mercer.quality.inputs import ExactIndex, checked_neighbors
from mercer.quality.pairs import MEANINGS, Pairs, all_pairs, two_indexes
from mercer.quality.sampling import Growing, Mean, SamplingPlan, sampled
from mercer.quality.score import Score
from mercer.random_state import generator_from

_SOURCES = 100  # rows from which "auto" learns how many it needs
_RUN = 64  # sources whose distances stand in memory at once


def residual_variance(
    X: Any,
    Y: Any,
    *,
    n_neighbors: int | None = None,
    metric: Any = "euclidean",
    sample: int | str | None = "auto",
    error: float = 0.005,
    random_state: Any = None,
) -> Score:
    """The share of the variance of distances in the data that distances in the map leave unexplained.

        1 − R²,   R = the correlation of d(xᵢ, xⱼ) and ‖yᵢ − yⱼ‖

    R is Pearson's correlation over the whole matrices of distances, diagonals included, as in Isomap's
    `residual_variance_`. The best value is 0, and a constant map gets 1.

    Parameters
    ----------
    X, Y, metric, error, random_state : as for `trustworthiness`
    n_neighbors : None for distances by the metric; a number for distances along the graph of that many neighbours, as
        in Isomap
    sample : None for all pairs, a number of pairs (along a graph: of rows), or "auto": all of up to 2,000 rows, else
        random ones

    Along a graph the cost is the search for neighbours, and shortest paths from each row used.

    References
    ----------
    Tenenbaum, de Silva & Langford (2000), A global geometric framework for nonlinear dimensionality reduction.

    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> abs(round(residual_variance(X, 3 * X).value, 12))
    0.0
    """
    plan = SamplingPlan.checked(sample, error)
    data, points = two_indexes(X, Y, metric, 3)
    if n_neighbors is not None:
        return _along_graph(data, points, checked_neighbors(n_neighbors, data.n), plan, random_state)
    if plan.sample is None:
        return _in_rows(lambda rows: data.between(rows, np.arange(data.n)), points, plan, random_state)
    return Pairs(data, points, random_state, whole=all_pairs(plan, data.n)).residual(plan)


def _along_graph(data: ExactIndex, points: ExactIndex, k: int, plan: SamplingPlan, random_state: Any) -> Score:
    geodesics = Geodesics(data.neighbors(k).graph(data.n))

    def distances(rows: np.ndarray) -> np.ndarray:
        D = geodesics.from_nodes(rows)
        if not np.isfinite(D).all():
            raise DisconnectedGraphError(
                f"The graph of {k} neighbours falls into parts, and distances between them are unknown: raise "
                "n_neighbors, or compare straight distances (n_neighbors=None)."
            )
        return D

    return _in_rows(distances, points, plan, random_state)


def _in_rows(distances: Any, points: ExactIndex, plan: SamplingPlan, random_state: Any) -> Score:
    """From whole rows of the matrix of distances; the standard error is a jackknife over the rows."""
    n = points.n
    whole = plan.is_exact(n, 2000)
    order = np.arange(n) if whole else generator_from(random_state).permutation(n)
    everyone = np.arange(n)
    scales = [float(D.max()) or 1.0 for D in (distances(order[:1]), points.between(order[:1], everyone))]

    def moments(start: int, stop: int) -> np.ndarray:
        parts = []
        for first in range(start, stop, _RUN):
            rows = order[first : min(first + _RUN, stop)]
            x = np.asarray(distances(rows), np.float64) / scales[0]
            y = np.asarray(points.between(rows, everyone), np.float64) / scales[1]
            parts.append(np.stack([part.mean(axis=1) for part in (x, y, x * x, y * y, x * y)], axis=1))
        return np.concatenate(parts)

    rows = Growing(moments)
    exact = SamplingPlan(None, plan.error) if whole else plan
    found = sampled(lambda m: _jackknife(rows.first(m), n), exact, n, _SOURCES)
    return Score(
        "residual_variance",
        found.value,
        found.error,
        found.count * (n - 1) - found.count * (found.count - 1) // 2,  # none twice
        0.0,
        MEANINGS["residual_variance"],
        "pairs",
    )


def _jackknife(rows: np.ndarray, n: int) -> Mean:
    """1 − R² from the moments of m rows, (m, 5), and its spread over leaving one of them out."""
    m = len(rows)
    value = float(_unexplained(rows.mean(axis=0)))
    if m >= n:
        return Mean(value, 0.0, m)
    if m < 2:
        return Mean(value, 1.0, m)
    left = _unexplained((rows.sum(axis=0) - rows) / (m - 1))
    variance = (m - 1) / m * float(np.sum((left - left.mean()) ** 2))
    return Mean(value, float(np.sqrt(variance * (1 - m / n))) or 1 / m, m)


def _unexplained(moments: np.ndarray) -> np.ndarray:
    x, y, xx, yy, xy = np.moveaxis(moments, -1, 0)
    spread = (xx - x * x) * (yy - y * y)
    varies = spread > 1e-26  # the product of two variances; of values up to 1, rounding leaves less
    safe = np.where(varies, spread, 1.0)
    return np.clip(np.where(varies, 1 - (xy - x * y) ** 2 / safe, 1.0), 0.0, 1.0)
