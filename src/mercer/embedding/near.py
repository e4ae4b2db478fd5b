"""The similarity of t-SNE in two parts: one that a coarse grid can carry, and one that only near pairs have.

    1/(1 + d²) = ∫₀^∞ exp(−t (1 + d²)) dt = [1 − exp(−T(1 + d²))]/(1 + d²) + exp(−T(1 + d²))/(1 + d²)

The first part, Gaussians no narrower than 1/√T, is smooth over that length, and so is the spacing of its grid; the
second falls as a Gaussian and is summed over pairs closer than a few 1/√T. A map that has grown wide has far more nodes
than near pairs: its sums take a tenth of the time. (Ewald split Coulomb's law so, for crystals.)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from mercer.backends import cpu
from mercer.embedding.grid import Grid, grid_over
from mercer.embedding.spacing import soft_spacing

_JOBS = 64
_SOFTNESSES = 2.0 * 4.0 ** -np.arange(10)  # from 1/√T = 0.7, below which the whole kernel needs no finer grid
_PAIRS_A_NODE = 10  # pairs in the time that a node's transforms take
_PAIRS_A_POINT = 60  # what sorting a point and collecting those around it costs, in pairs
_COUNTED = 2**14  # points from which the number of pairs is estimated
_BEYOND = 1.1  # the sums over pairs leave out 0.05 exp(−T R²) of G, as measured: beyond R a seventh of the accuracy


@cache
def _compiled() -> Any:
    return import_module("mercer.backends.compiled_near")


@dataclass(frozen=True)
class Smooth:
    """[1 − exp(−T(1 + d²))]/(1 + d²), the part of Student(1) that is smooth over lengths of 1/√T.

    softness : T > 0

    >>> from mercer.embedding.similarity import Student
    >>> float(Smooth(1e3).weight(3.0)) == float(Student().weight(3.0))
    True
    """

    softness: float

    def weight(self, d2: np.ndarray) -> np.ndarray:
        r = 1 + np.asarray(d2)
        return -np.expm1(-self.softness * r) / r


@dataclass(frozen=True)
class Cells:
    """Cells over a map, so wide that two on each side hold all pairs that matter."""

    low: np.ndarray
    side: float
    shape: np.ndarray

    @classmethod
    def under(cls, grid: Grid, accuracy: float) -> Cells:
        """Cells for the pairs that a soft grid leaves out."""
        assert grid.softness is not None
        side = np.sqrt((-np.log(accuracy) - _BEYOND) / grid.softness) / _compiled().REACH
        return cls(grid.low, side, np.array([int(e / side) + 1 for e in grid.extent]))

    def counts(self, Y: np.ndarray) -> np.ndarray:
        """Points in each cell, in the order of the cells."""
        counts = np.zeros(int(np.prod(self.shape)), np.int64)
        _compiled().count_cells(Y, self.low, 1 / self.side, self.shape, counts)
        return counts

    def pairs(self, Y: np.ndarray) -> float:
        """About how many pairs `add_near` goes over, from some of the points: as if the cells around were as full."""
        stride = -(-len(Y) // _COUNTED)
        counts = self.counts(Y[::stride])
        shared = stride**2 * float(np.dot(counts, counts - 1)) + len(Y)
        return shared * (2 * _compiled().REACH + 1) ** Y.shape[1]


def soften(grid: Grid, Y: np.ndarray, accuracy: float, largest: int) -> Grid:
    """The grid of the softness with which nodes and near pairs together take the least time; `grid` if that is none."""
    best, least = grid, float(_PAIRS_A_NODE * grid.size)
    for softness in _SOFTNESSES:
        if _PAIRS_A_POINT * len(Y) >= least:
            break
        soft = grid_over(grid.low, grid.low + grid.extent, soft_spacing(accuracy, softness), softness)
        if soft.size > largest:
            continue
        pairs = Cells.under(soft, accuracy).pairs(Y)
        cost = _PAIRS_A_NODE * soft.size + _PAIRS_A_POINT * len(Y) + pairs
        if cost >= least:
            break  # with less softness there are more pairs still
        best, least = soft, cost
    return best


def add_near(
    Y: np.ndarray, cells: Cells, softness: float, G: np.ndarray, Z: np.ndarray, n_jobs: int | None = None
) -> None:
    """Add the sums of the second part over near pairs to G (n, c), c = 2 or 3, and to the rows' shares of Z (n,)."""
    starts = np.concatenate([[0], np.cumsum(cells.counts(Y))])
    order, columns = np.empty(len(Y), np.int64), np.empty(Y.shape[::-1], Y.dtype)
    _compiled().sort_by_cell(Y, cells.low, 1 / cells.side, cells.shape, starts[:-1].copy(), order, columns)
    cuts = np.searchsorted(starts, np.linspace(0, len(Y), _JOBS + 1)[1:-1])
    edges = np.unique(np.concatenate([[0], cuts, [len(starts) - 1]]))
    T = Y.dtype.type(softness)

    def work(job: int, slot: int) -> None:
        _compiled().add_near(columns, starts, cells.shape, order, T, edges[job], edges[job + 1], G, Z)

    cpu.for_each(range(len(edges) - 1), work, n_jobs)
