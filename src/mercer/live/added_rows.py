"""Rows that are added to the map of others.

interpolated   the mean of the points of the nearest rows, weighted by 1 / distance: while a map is on its way
placed         `transform` of the estimator, when the map has settled
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.graph.nearest_neighbors import build_index
from mercer.live.live_table import LiveTable

_NEAR = 5  # rows that are interpolated between


class AddedRows:
    """The rows `more` of a table, and their nearest rows among the others.

    >>> X = np.random.default_rng(0).normal(size=(40, 3))
    >>> added = AddedRows(LiveTable(X[:30], more=X[30:]))
    >>> added.interpolated(X[:30, :2]).shape
    (10, 2)
    """

    def __init__(self, table: LiveTable) -> None:
        self._more = table.more
        found = build_index(table.X).query(table.more, min(_NEAR, table.X.shape[0]))
        self._near = np.asarray(found.indices)
        weights = 1.0 / np.maximum(found.distances, 1e-9 * max(float(np.max(found.distances)), 1e-300))
        self._weights = weights / weights.sum(axis=1, keepdims=True)

    def interpolated(self, coordinates: np.ndarray) -> np.ndarray:
        """(m, k) between the points of the nearest rows in a map (n, k) of the others."""
        return np.einsum("ij,ijk->ik", self._weights, coordinates[self._near])

    def placed(self, estimator: Any) -> np.ndarray:
        """(m, k) where a fitted estimator puts them."""
        return np.asarray(estimator.transform(self._more))
