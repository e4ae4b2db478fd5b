"""The similarity of t-SNE in two parts: one that a coarse grid can carry, and one that only near pairs have.

    1/(1 + d²) = ∫₀^∞ exp(−t (1 + d²)) dt = [1 − exp(−T(1 + d²))]/(1 + d²) + exp(−T(1 + d²))/(1 + d²)

The first part, Gaussians no narrower than 1/√T, is smooth over that length, and its grid may be as coarse. The second
part falls as a Gaussian and is summed over pairs closer than a few 1/√T. A map that has grown wide has far more nodes
than near pairs: its sums take a tenth of the time. (Ewald split Coulomb's law in the same way, for crystals.)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from mercer.backends import cpu, is_torch, to_numpy
from mercer.embedding.grid_field import NodeGrid, grid_over, soft_spacing

_JOBS = 64  # parts for the threads: many more than threads, because cells differ in the number of their pairs
_SOFTNESSES = 2.0 * 4.0 ** -np.arange(10)  # from 1/√T = 0.7: a harder first part needs a grid as fine as the whole
_PAIRS_PER_NODE = 10  # pairs that are summed in the time that the transforms take for one node
_PAIRS_PER_POINT = 60  # the cost of sorting a point and of collecting the points around it, in pairs
_COUNTED = 2**14  # points from which the number of pairs is estimated
_BEYOND = 1.1  # pairs beyond R hold 0.05 exp(−T R²) of G, as measured: with this they are a seventh of the accuracy


@cache
def _compiled() -> Any:
    return import_module("mercer.backends.compiled_short_range")


@dataclass(frozen=True)
class ShortRangeCells:
    """Square cells over a map, so wide that all pairs that matter are at most two cells apart along each axis."""

    low: np.ndarray
    side: float
    shape: np.ndarray

    @classmethod
    def under(cls, grid: NodeGrid, accuracy: float) -> ShortRangeCells:
        """Cells for the pairs that a soft grid leaves out."""
        assert grid.softness is not None
        side = np.sqrt((-np.log(accuracy) - _BEYOND) / grid.softness) / _compiled().REACH
        return cls(grid.low, side, np.array([int(e / side) + 1 for e in grid.extent]))

    def counts(self, Y: Any) -> np.ndarray:
        """The number of points in each cell, in the order of the cells."""
        counts = np.zeros(int(np.prod(self.shape)), np.int64)
        _compiled().count_cells(Y, self.low, 1 / self.side, self.shape, counts)
        return counts

    def pairs(self, Y: Any) -> float:
        """About how many pairs `add_short_range` visits.

        Estimated from some of the points, as if the cells around a cell were as full as the cell itself.
        """
        stride = -(-len(Y) // _COUNTED)
        counts = self.counts(to_numpy(Y[::stride]))
        shared = stride**2 * float(np.dot(counts, counts - 1)) + len(Y)
        return shared * (2 * _compiled().REACH + 1) ** Y.shape[1]


def soften(grid: NodeGrid, Y: Any, accuracy: float, largest: int) -> NodeGrid:
    """The grid with which nodes and short-range pairs together take the least time; it may be `grid` itself."""
    best, least = grid, float(_PAIRS_PER_NODE * grid.size)
    for softness in _SOFTNESSES:
        if _PAIRS_PER_POINT * len(Y) >= least:
            break
        spacing = soft_spacing(accuracy, softness)
        soft = grid_over(grid.low, grid.low + grid.extent, spacing, softness, few=is_torch(Y))
        if soft.size > largest:
            continue
        pairs = ShortRangeCells.under(soft, accuracy).pairs(Y)
        cost = _PAIRS_PER_NODE * soft.size + _PAIRS_PER_POINT * len(Y) + pairs
        if cost >= least:
            break  # a coarser grid leaves even more pairs
        best, least = soft, cost
    return best


def add_short_range(Y: Any, cells: ShortRangeCells, softness: float, G: Any, Z: Any, n_jobs: int | None = None) -> None:
    """Add the sums of the second part to G (n, c), c = 2 or 3, and to the contribution of each row to Z (n,)."""
    if is_torch(Y):
        on_tensors = import_module("mercer.backends.torch_maps").short_range
        push, rows = on_tensors(Y, cells.low, cells.side, cells.shape, _compiled().REACH, softness)
        G += push
        Z += rows
        return
    starts = np.concatenate([[0], np.cumsum(cells.counts(Y))])
    order, columns = np.empty(len(Y), np.int64), np.empty(Y.shape[::-1], Y.dtype)
    _compiled().sort_by_cell(Y, cells.low, 1 / cells.side, cells.shape, starts[:-1].copy(), order, columns)
    cuts = np.searchsorted(starts, np.linspace(0, len(Y), _JOBS + 1)[1:-1])
    edges = np.unique(np.concatenate([[0], cuts, [len(starts) - 1]]))
    T = Y.dtype.type(softness)

    def work(job: int, slot: int) -> None:
        _compiled().add_short_range(columns, starts, cells.shape, order, T, edges[job], edges[job + 1], G, Z)

    cpu.for_each(range(len(edges) - 1), work, n_jobs, blas=False)
