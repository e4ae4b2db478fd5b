"""Where a map can be trusted: for single rows, the nearest in the data, and how many of them the map keeps.

With Nₖ(i) the k nearest rows of i in the data, Uₖ(i) those in the map, and r, s the ranks of rows by their distance
from i in the data and in the map, the scores of row i are the terms of the scores of the whole map:

    neighbours kept   |Nₖ(i) ∩ Uₖ(i)| / k
    trustworthiness   1 − 2/(k(2n − 3k − 1)) Σ_{j ∈ Uₖ(i)} max(0, r(i, j) − k)
    continuity        1 − 2/(k(2n − 3k − 1)) Σ_{j ∈ Nₖ(i)} max(0, s(i, j) − k)

Their means over all rows are `mercer.quality.neighbor_recall`, `trustworthiness` and `continuity`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mercer.quality.inputs import ExactIndex, data_index, map_index, most_neighbors, refuse_other_length
from mercer.quality.neighborhoods import shared
from mercer.random_state import generator_from
from mercer.web.page import NearRows, Page

# Pairs of rows that "auto" compares, a few seconds of work: all rows up to 14,000. At least a thousand rows show
# where a map is good and where it is not, so more pairs are compared for them if n is large.
MOST_PAIRS, LEAST_ROWS = 200_000_000, 1_000


def with_neighbors(
    page: Page,
    X: Any,
    *,
    n_neighbors: int = 10,
    metric: Any = "euclidean",
    sample: int | str | None = "auto",
    random_state: Any = None,
) -> Page:
    """Add the nearest rows in the data to a page, and to each map the scores of single rows.

    A click on a point then shows its nearest rows in the data beside those in the map. You can also colour points by
    how many of their neighbours the map keeps.

    Parameters
    ----------
    page : its maps are scored on their first two columns, which are drawn first
    X : (n, d), dense or CSR, or what `metric` compares: the rows that the maps were made of
    n_neighbors : k; lowered to what n rows allow
    metric : the metric of the data, as for `mercer.graph.build_index`; "precomputed" for a matrix of distances
    sample : None for all rows, a number of rows, or "auto": all up to 14,000, then as many as make 2·10⁸ pairs, but at
        least 1,000. The neighbours of a row are sought among all n rows; only the scores of other rows are missing.
    random_state : the seed of the sample; None is the seed 0

    Cost: two rows of n distances in the data and two in each map per row of the sample. The page grows by k numbers per
    row of the sample, and by one per row, map and score.

    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> from mercer.web import Map
    >>> page = with_neighbors(Page("x", [Map("first two", X[:, :2])]), X, n_neighbors=5)
    >>> page.neighbors.indices.shape, sorted(page.maps[0].row_scores)
    ((50, 5), ['continuity', 'neighbours kept', 'trustworthiness'])
    """
    data = data_index(X, metric)
    refuse_other_length(data.n, len(np.asarray(page.maps[0].coordinates)), "the map")
    if min(n_neighbors, most_neighbors(data.n)) < 1:
        return page
    quality = RowQuality(data, n_neighbors=n_neighbors, sample=sample, random_state=random_state)
    maps = [
        dataclasses.replace(each, row_scores=dict(each.row_scores) | quality.scores(np.asarray(each.coordinates)))
        for each in page.maps
    ]
    return dataclasses.replace(page, maps=maps, neighbors=quality.near)


SCORES = ("neighbours kept", "trustworthiness", "continuity")


class RowQuality:
    """The nearest rows of a table, found once, and the scores of one map after the other.

    data : `mercer.quality.inputs.data_index` of the rows; n_neighbors, sample, random_state as in `with_neighbors`

    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> RowQuality(data_index(X, "euclidean"), n_neighbors=5).scores(X[:, :2])["neighbours kept"].shape
    (50,)
    """

    def __init__(
        self,
        data: ExactIndex,
        *,
        n_neighbors: int = 10,
        sample: int | str | None = "auto",
        random_state: Any = None,
        most_pairs: int = MOST_PAIRS,
    ) -> None:
        self.data, self.rows = data, _sampled_rows(data.n, sample, random_state, most_pairs)
        self.k = min(n_neighbors, most_neighbors(data.n))
        self._near, _ = data.nearest_of(self.rows, self.k)

    @property
    def near(self) -> NearRows:
        """The nearest rows in the data."""
        return NearRows(self._near, None if len(self.rows) == self.data.n else self.rows)

    def scores(self, coordinates: np.ndarray, names: Sequence[str] = SCORES) -> dict[str, np.ndarray]:
        """Name → (n,) scores of the rows in the first two columns of a map, NaN for rows that are not in the sample."""
        coordinates = coordinates.astype(np.float64, copy=False)
        points = map_index(coordinates[:, None] if coordinates.ndim == 1 else coordinates[:, :2])
        n, k, rows, near = self.data.n, self.k, self.rows, self._near
        near_in_map, _ = points.nearest_of(rows, k)

        def beyond(ranks: np.ndarray) -> np.ndarray:
            return 1 - np.maximum(ranks - k, 0).sum(axis=1) * (2 / (k * (2 * n - 3 * k - 1)))

        terms: dict[str, Callable[[], np.ndarray]] = {
            "neighbours kept": lambda: shared(near, near_in_map) / k,
            "trustworthiness": lambda: beyond(self.data.ranks_of(rows, near_in_map)),
            "continuity": lambda: beyond(points.ranks_of(rows, near)),
        }
        found = {}
        for name in names:
            found[name] = np.full(n, np.nan)
            found[name][rows] = terms[name]()
        return found


def _sampled_rows(n: int, sample: int | str | None, random_state: Any, most_pairs: int) -> np.ndarray:
    """The rows to score, ascending."""
    if sample == "auto":
        wanted = n if n * n <= most_pairs else max(LEAST_ROWS, most_pairs // n)
    elif sample is None:
        wanted = n
    elif isinstance(sample, int | np.integer) and sample >= 1:
        wanted = int(sample)
    else:
        raise ValueError(f"sample={sample!r}; give a number of rows, None for all of them, or 'auto'.")
    if wanted >= n:
        return np.arange(n)
    return np.sort(generator_from(random_state).permutation(n)[:wanted])
