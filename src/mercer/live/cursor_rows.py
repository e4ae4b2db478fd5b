"""The row of data that a place of the map stands for, and how far it is from the rows that there are.

    kernel PCA      the pre-image of the scores, by ridge regression of the rows on their scores
    PCA             its inverse
    other maps      the mean of the rows of the nearest points, weighted by a Gaussian of their distance in the map

The gap says how believable a place is: the distance of its row to the nearest row of the table, over the distance that
rows of the table usually have to their nearest. About 1 is among the data, 3 and more is empty space.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.live.live_table import LiveTable
from mercer.live.map_stages import MapFrame

_NEAR = 10  # points of the map that are interpolated between
_SAMPLE = 300  # rows whose nearest rows say how far apart rows usually are


@dataclass(frozen=True)
class CursorRow:
    """A row of data (d,), how it was found, its nearest row of the table, and its gap."""

    values: np.ndarray
    how: str
    nearest: int
    gap: float


class CursorRows:
    """From places of one finished map to rows of the table.

    >>> X = np.random.default_rng(0).normal(size=(30, 2))
    >>> rows = CursorRows(LiveTable(X), MapFrame(X, ["a", "b"], "steps", []))
    >>> found = rows(X[3])
    >>> found.how, found.nearest
    ('interpolated', 3)
    """

    def __init__(self, table: LiveTable, frame: MapFrame) -> None:
        if not isinstance(table.X, np.ndarray):
            raise ValueError("Rows of a sparse table are not looked up: most of their numbers are zero.")
        self._X, self._points = table.X, frame.coordinates.astype(np.float64)
        self._norms = np.einsum("ij,ij->i", self._X, self._X)
        self._usual = self._usual_distance()
        name = type(frame.estimator).__name__
        ways = {"KernelPCA": self._pre_image, "PCA": self._inverse}
        self.how, self._row = ways[name](frame.estimator) if name in ways else ("interpolated", self._interpolated)

    def __call__(self, place: np.ndarray) -> CursorRow:
        """The row at a place of the map, (k,)."""
        if place.shape != (self._points.shape[1],) or not np.all(np.isfinite(place)):
            raise ValueError(f"A place of this map has {self._points.shape[1]} finite coordinates.")
        values = np.asarray(self._row(place), np.float64).ravel()
        nearest, distance = self._nearest(values)
        return CursorRow(values, self.how, nearest, distance / self._usual if self._usual > 0 else 0.0)

    def _pre_image(self, estimator: Any) -> tuple[str, Callable[[np.ndarray], np.ndarray]]:
        # A factor instead of all rows keeps an answer below a millisecond, however many rows there are.
        on_factor = copy.copy(estimator)
        on_factor.eigen_solver = "rpcholesky"
        way_back = on_factor.way_back(self._X, self._points.shape[1])
        scores = np.asarray(estimator.eigenvectors_ * np.sqrt(estimator.eigenvalues_))
        signs = np.where(np.einsum("ij,ij->j", scores, self._points) < 0, -1.0, 1.0)  # the map may be mirrored
        return "pre-image", lambda place: way_back((place * signs)[None, :].astype(scores.dtype))

    def _inverse(self, estimator: Any) -> tuple[str, Callable[[np.ndarray], np.ndarray]]:
        scores = np.asarray(estimator.transform(self._X))
        signs = np.where(np.einsum("ij,ij->j", scores, self._points) < 0, -1.0, 1.0)
        return "inverse", lambda place: estimator.inverse_transform((place * signs)[None, :])

    def _interpolated(self, place: np.ndarray) -> np.ndarray:
        squares = np.sum((self._points - place) ** 2, axis=1)
        near = np.argpartition(squares, min(_NEAR, len(squares)) - 1)[:_NEAR]
        width = max(float(np.median(squares[near])), 1e-300)
        weights = np.exp(-(squares[near] - squares[near].min()) / width)
        if squares[near].min() == 0:  # on a point: its own row
            weights = (squares[near] == 0).astype(np.float64)
        return weights @ self._X[near] / weights.sum()

    def _nearest(self, values: np.ndarray) -> tuple[int, float]:
        row = int(np.argmin(self._norms - 2 * (self._X @ values)))
        return row, float(np.linalg.norm(self._X[row] - values))

    def _usual_distance(self) -> float:
        n = len(self._X)
        rows = np.random.default_rng(0).permutation(n)[:_SAMPLE]
        squares = self._norms[rows][:, None] + self._norms - 2 * self._X[rows] @ self._X.T
        squares[np.arange(len(rows)), rows] = np.inf
        return float(np.median(np.sqrt(np.maximum(squares.min(axis=1), 0.0))))
