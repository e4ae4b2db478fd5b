"""A component as a function of the data, over a plane through it: what its level sets are drawn from.

A spectral map is a function z_j(x) of any row x, not of the fitted ones alone. Two of its variables are varied:

    columns a and b       x = base with x_a = s and x_b = t; all other variables are those of the base
    principal axes        x = base + (s − ⟨base − μ, u₁⟩) u₁ + (t − ⟨base − μ, u₂⟩) u₂, with μ the mean row

The base is the mean row, or a row of the table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.estimators.pca import PCA
from mercer.live.cursor_rows import mirrored_axes
from mercer.live.live_table import LiveTable

SIDE = 48  # places along each side: 2,304 rows are scored
_COMPARED = 200  # rows that tell whether the map is mirrored
_MARGIN = 0.08  # of the range of the rows, on either side


@dataclass(frozen=True)
class LevelSets:
    """values (side, side) of a component, by rows of equal t; the ranges of s and t; (s, t) of the rows, (n, 2)."""

    values: np.ndarray
    ranges: tuple[tuple[float, float], tuple[float, float]]
    points: np.ndarray


def level_sets(
    table: LiveTable,
    transform: Callable[[Any], Any],
    shown: np.ndarray,
    component: int,
    across: tuple[int, int] | None,
    base: int | None = None,
    side: int = SIDE,
) -> LevelSets:
    """Values of a component on a grid over two columns of the table, or over its principal axes (None).

    transform : from rows to coordinates
    shown : (n, k) the map of the table that is shown, which may be mirrored
    base : the row through which the plane goes; None for the mean

    >>> from mercer import PCA
    >>> X = np.random.default_rng(0).normal(size=(30, 3))
    >>> model = PCA(2).fit(X)
    >>> found = level_sets(LiveTable(X), model.transform, model.transform(X), 0, None, side=5)
    >>> bool(np.allclose(found.values[0], np.linspace(*found.ranges[0], 5)))
    True
    """
    if not isinstance(table.X, np.ndarray):
        raise ValueError("Level sets need a dense table: most numbers of a sparse one are zero.")
    X = table.X.astype(np.float64, copy=False)
    if not 0 <= component < shown.shape[1]:
        raise ValueError(f"The map has {shown.shape[1]} components.")
    middle = X.mean(axis=0)
    origin = middle if base is None else X[base]
    directions = _columns(across, X.shape[1]) if across is not None else _principal(X)
    points = (X - middle if across is None else X) @ directions.T
    ranges = tuple(_range(values) for values in points.T)
    s, t = (np.linspace(*each, side) for each in ranges)
    at = np.column_stack([np.tile(s, side), np.repeat(t, side)])
    here = (origin - middle if across is None else origin) @ directions.T
    rows = origin + (at - here) @ directions
    some = slice(None, None, -(-len(X) // _COMPARED))
    sign = mirrored_axes(transform(X[some]), shown[some])[component]
    values = sign * transform(rows)[:, component]
    return LevelSets(values.reshape(side, side), (ranges[0], ranges[1]), points)


def _columns(across: tuple[int, int], d: int) -> np.ndarray:
    if not all(0 <= j < d for j in across) or across[0] == across[1]:
        raise ValueError(f"Choose two different columns of the {d:,}.")
    directions = np.zeros((2, d))
    directions[[0, 1], across] = 1.0
    return directions


def _principal(X: np.ndarray) -> np.ndarray:
    if min(X.shape) < 2:
        raise ValueError("The table has a single column, so there is no plane.")
    return np.asarray(PCA(2).fit(X).components_, np.float64)


def _range(values: np.ndarray) -> tuple[float, float]:
    low, high = float(values.min()), float(values.max())
    margin = _MARGIN * (high - low) if high > low else 1.0
    return low - margin, high + margin
