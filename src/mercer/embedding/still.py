"""The repulsion of a map that stands still, read at other points again and again.

Each of those points feels the map alone. Where the map's sums go by a grid, its field is laid once, over the map and
some room around it; points outside are summed pair by pair. So what a point feels never depends on who else asks.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mercer.embedding.exact import pair_sums
from mercer.embedding.field import Field
from mercer.embedding.grid import Grid, grid_over
from mercer.embedding.gridded import GridRepulsion
from mercer.embedding.repulsion import Repulsion
from mercer.embedding.similarity import Similarity

Reader = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]  # points (m, c) -> G (m, c), their shares of Z (m,)

_ROOM = 0.25  # of the map's width, on each side
_NOISE = 1e-4  # of the strongest field: what is weaker is summed pair by pair


def still_repulsion(repulsion: Repulsion, similarity: Similarity, Y: np.ndarray, n_jobs: int | None = None) -> Reader:
    """What `repulsion.on(·, Y)` gives for Y as it is now: G and the rows' shares of Z, in the type of the points."""
    grid = _grid(repulsion, Y) if isinstance(repulsion, GridRepulsion) else None

    def by_pairs(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return pair_sums(similarity, points, Y, same=False, n_jobs=n_jobs)

    if grid is None:
        return by_pairs
    field = Field(similarity, n_jobs)
    spectrum = field._spectrum(grid, Y.dtype)
    points, starts, _ = field._sorted(Y, grid)
    nodes = field._convolve(field._spread(points, starts, grid), spectrum.values, grid)
    strongest = float(np.max(nodes)) + spectrum.constant * len(Y)
    top = grid.low + grid.spacing * (np.array(grid.nodes) - 6)  # a spline reaches six nodes

    def by_grid(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        inside = np.all((points >= grid.low) & (points <= top), axis=1)
        G, rows = np.empty(points.shape), np.zeros(len(points))
        if inside.any():
            some, _, order = field._sorted(np.ascontiguousarray(points[inside]), grid)
            G[inside], rows[inside] = field._gather(some, order, nodes, grid, None)
            rows[inside] += spectrum.constant * len(Y)
        known = inside & (rows > _NOISE * strongest)  # beneath that a Gaussian's field is rounding of the transforms
        if not known.all():
            G[~known], rows[~known] = by_pairs(np.ascontiguousarray(points[~known]))
        return G, rows

    return by_grid


def _grid(repulsion: GridRepulsion, Y: np.ndarray) -> Grid | None:
    """The grid that the map itself would get, with room around it; None where it would be too large."""
    low, high = Y.min(axis=0).astype(np.float64), Y.max(axis=0).astype(np.float64)
    width = (high - low).max()
    if not width > 0:
        return None
    grid = grid_over(low - _ROOM * width, high + _ROOM * width, repulsion._spacing(high - low))
    return grid if grid.size <= repulsion.largest else None
