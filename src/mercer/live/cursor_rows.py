"""The row of data that a place of the map stands for, and how far it is from the rows that there are.

    kernel PCA      the pre-image of the scores, by ridge regression of the rows on their scores
    PCA             its inverse
    other maps      the mean of the rows of the nearest points, weighted by a Gaussian of their distance in the map

Two distances say how believable a place is, and its gap is the greater one:

    of the row       to the nearest row of the table, over that which rows usually have (`mercer.live.data_gaps`)
    of the place     to the nearest point of the map, over that which points usually have to their tenth nearest

The second one matters because a place between clusters may stand for a row like those of a cluster.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from mercer.live.data_gaps import DataGaps
from mercer.live.map_stages import MapFrame

_ALL_ROWS = 3_000  # up to here one Cholesky factor of all rows takes less than a factor of rank 1,000
_NEAR = 10  # points of the map that are interpolated between
_SAMPLE = 300  # points that say how far apart points usually are


@dataclass(frozen=True)
class CursorRow:
    """A row of data (d,), how it was found, its nearest row of the table, and its gap."""

    values: np.ndarray
    how: str
    nearest: int
    gap: float


class CursorRows:
    """From places of one finished map to rows of the table.

    >>> from mercer.live.live_table import LiveTable
    >>> X = np.random.default_rng(0).normal(size=(30, 2))
    >>> rows = CursorRows(DataGaps(LiveTable(X)), MapFrame(X, ["a", "b"], "steps", []))
    >>> found = rows(X[3])
    >>> found.how, found.nearest
    ('interpolated', 3)
    """

    def __init__(self, gaps: DataGaps, frame: MapFrame) -> None:
        self._gaps, self._X, self._points = gaps, gaps.X, frame.coordinates.astype(np.float64)
        self._tree = cKDTree(self._points)
        self._usual = self._usual_distance()
        name = type(frame.estimator).__name__
        ways = {"KernelPCA": self._pre_image, "PCA": self._inverse}
        self.how, self._row = ways[name](frame.estimator) if name in ways else ("interpolated", self._interpolated)

    def __call__(self, place: np.ndarray) -> CursorRow:
        """The row at a place of the map, (k,)."""
        if place.shape != (self._points.shape[1],) or not np.all(np.isfinite(place)):
            raise ValueError(f"A place of this map has {self._points.shape[1]} finite coordinates.")
        values = np.asarray(self._row(place), np.float64).ravel()
        nearest, gap = self._gaps(values)
        away = float(self._tree.query(place)[0])
        return CursorRow(values, self.how, nearest, max(gap, away / self._usual if self._usual > 0 else 0.0))

    def _usual_distance(self) -> float:
        some = np.random.default_rng(0).permutation(len(self._points))[:_SAMPLE]
        near = min(_NEAR + 1, len(self._points))  # a point is its own nearest
        return float(np.median(self._tree.query(self._points[some], [near])[0]))

    def path(self, start: int, end: int, count: int) -> tuple[np.ndarray, list[CursorRow]]:
        """`count` places (count, k) on the straight line between the points of two rows, and the rows of data there."""
        share = np.linspace(0.0, 1.0, count)[:, None]
        places = (1 - share) * self._points[start] + share * self._points[end]
        return places, [self(place) for place in places]

    def _pre_image(self, estimator: Any) -> tuple[str, Callable[[np.ndarray], np.ndarray]]:
        way_back = prepared_way_back(estimator, self._X, self._points.shape[1])
        scores = np.asarray(estimator.eigenvectors_ * np.sqrt(estimator.eigenvalues_))
        signs = mirrored_axes(scores, self._points)
        return "pre-image", lambda place: way_back((place * signs)[None, :].astype(scores.dtype))

    def _inverse(self, estimator: Any) -> tuple[str, Callable[[np.ndarray], np.ndarray]]:
        signs = mirrored_axes(np.asarray(estimator.transform(self._X)), self._points)
        return "inverse", lambda place: estimator.inverse_transform((place * signs)[None, :])

    def _interpolated(self, place: np.ndarray) -> np.ndarray:
        distances, near = self._tree.query(place, range(1, min(_NEAR, len(self._points)) + 1))
        squares = distances**2
        width = max(float(np.median(squares)), 1e-300)
        weights = np.exp(-(squares - squares[0]) / width)
        if squares[0] == 0:  # on a point: its own row
            weights = (squares == 0).astype(np.float64)
        return weights @ self._X[near] / weights.sum()


def prepared_way_back(estimator: Any, X: np.ndarray, k: int) -> Any:
    """The map from the first k scores of a kernel PCA to rows, as soon as it can be had.

    Of many rows it compares scores with a factor instead of all of them: an answer then takes less than a millisecond.
    """
    if len(X) > _ALL_ROWS:
        estimator = copy.copy(estimator)
        estimator.eigen_solver = "rpcholesky"
    return estimator.way_back(X, k)


def mirrored_axes(scores: np.ndarray, shown: np.ndarray) -> np.ndarray:
    """(k,) −1 for each axis on which the map that is shown mirrors the scores, 1 for the others.

    >>> mirrored_axes(np.array([[1.0, 2.0]]), np.array([[-1.0, 2.0]])).tolist()
    [-1.0, 1.0]
    """
    return np.where(np.einsum("ij,ij->j", scores, shown) < 0, -1.0, 1.0)
