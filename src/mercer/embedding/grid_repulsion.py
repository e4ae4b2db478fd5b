"""The repulsive sums on a grid, for any map: small, large, or with points far from the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.backends import is_torch
from mercer.embedding.exact_repulsion import as_precise, checked_pair, checked_points, pair_sums
from mercer.embedding.grid_field import GridField, NodeGrid, compiled, error_at, grid_over, spacing_for
from mercer.embedding.short_range import ShortRangeCells, add_short_range, soften
from mercer.embedding.similarity import Similarity
from mercer.embedding.tensor_grid_field import GridPlan, TensorGridField, on_tensors

LARGEST_GRID = 2**25  # numbers in the padded grid: half a second per call on two cores, and half a gigabyte
MOST_PAIRS = 2**30  # pairs that take about as long as the largest grid
_FEWEST = 16  # cells across a map: in fewer, most points would lie at the edge, where splines are least accurate
_FAR = 8  # points at each end of an axis that may be left out of a grid that would be too large
_NODES_PER_PAIR = 16  # nodes whose transforms take as long as one pair, with a margin in favour of the grid
_FEW_PAIRS = 2**12  # up to this many pairs, summing them takes less time than setting up a grid
_TINY = 1e-300  # keeps Z positive when every weight has underflowed
_SINGLE = 1e-4  # the accuracy that float32 transforms keep with room to spare
_ROOM = 0.25  # of the width of a frozen map, added on each side of its grid for the points to be placed
_NARROW = 0.1  # of the width of a map, which each axis of a plan has at least in addition
_LEAST_ROOM = 1e-30  # of a plan for points that coincide
_NOISE = 1e-4  # of the strongest field: a Gaussian's field below this is rounding of the transforms


class GridRepulsion:
    """G and Z by way of a grid: see `mercer.embedding.grid_field`.

    The spacing follows from the accuracy and stays as the map grows, so that the kernel's spectrum is reused. On a wide
    map of t-SNE a coarser grid and the short-range pairs share the work (`mercer.embedding.short_range`). A map smaller
    than 16 cells gets smaller cells. A map so small that w is a parabola over it needs no grid: its sums are means.
    When the grid would be too large, points far from the rest (up to 8 at each end of an axis) are summed exactly. If
    that is not enough, all pairs are summed if they are few, and otherwise the spacing widens.

    Parameters
    ----------
    similarity, n_components, n_jobs : as in `make_repulsion`; the similarity must state its length
    accuracy : the relative error of G to stay below
    reason : why this method was chosen
    largest : numbers in the padded grid above which the spacing widens; None is 2^25, and up to 2^28 on a card
    most_pairs : pairs up to which all are summed before the spacing widens

    Attributes
    ----------
    spacing : of the latest grid; 0 if the latest call needed none
    finest : the spacing that the accuracy asks for
    field, tensor_field : a `GridField` and a `TensorGridField`, with the spectra of the latest grids
    expected_error : the relative error of G at that spacing: at most `accuracy`, unless the map outgrew the grid

    The cost of a call is O(n) for the points and O(N log N) for the N nodes, about (2 diameter/spacing)^c.
    """

    method = "grid"

    def __init__(
        self,
        similarity: Similarity,
        n_components: int,
        accuracy: float = 1e-3,
        n_jobs: int | None = None,
        reason: str = "",
        largest: int | None = None,
        most_pairs: int = MOST_PAIRS,
    ) -> None:
        self.similarity, self.n_components, self.n_jobs, self.reason = similarity, n_components, n_jobs, reason
        self.accuracy, self._largest, self.most_pairs = accuracy, largest, most_pairs
        self.spacing, self.expected_error = 0.0, 0.0
        self.finest = spacing_for(accuracy, similarity, n_components)
        self.field = GridField(similarity, n_jobs, double=accuracy < _SINGLE)
        self.tensor_field = TensorGridField(similarity, double=accuracy < _SINGLE)

    def __call__(self, Y: Any) -> tuple[Any, float]:
        """G (n, c) in the precision of Y, and Z."""
        points = checked_points(Y, self.n_components)
        G, rows = self._sums(points, points, same=True)
        return as_precise(G, Y), float(rows.sum())

    def on(self, new: Any, fixed: Any) -> tuple[Any, float, Any]:
        """G (m, c), Z over new × fixed, and the contribution of each new row to Z (m,)."""
        points, others = checked_pair(new, fixed, self.n_components)
        G, rows = self._sums(points, others, same=False)
        return as_precise(G, new), float(rows.sum()), as_precise(rows, new)

    def planned(self, Y: Any, growth: float) -> GridPlan | None:
        """The repulsion of a map of tensors for several steps, in which it may become `growth` times as wide.

        None if the map needs sums of pairs, which no grid plans.
        """
        points = checked_points(Y, self.n_components)
        low, high = _corners(points, points)
        extent = high - low
        room = np.maximum(growth * extent + _NARROW * extent.max(), _LEAST_ROOM)
        slope = float(self.similarity.slope(np.zeros(())))
        if len(Y) ** 2 <= _FEW_PAIRS or points.dtype != Y.dtype:
            return None
        if self._is_flat(room):
            return GridPlan(self.tensor_field, None, room, Y, slope, _TINY)
        if self._is_flat(extent):
            return None
        grid = grid_over(np.zeros(len(room)), room, self._spacing(extent), few=True)
        if grid.size > self._most_nodes(Y) or _too_few(Y, Y, grid):
            return None
        self.spacing, self.expected_error = grid.spacing, self.accuracy
        least = max(float(self.similarity.weight(np.square(grid.extent).sum())), _TINY)
        return GridPlan(self.tensor_field, grid, room, Y, slope, least)

    def _most_nodes(self, Y: Any) -> int:
        if self._largest is not None:
            return self._largest
        return on_tensors().most_nodes(Y, LARGEST_GRID) if is_torch(Y) else LARGEST_GRID

    def frozen(self, Y: Any) -> Callable[[Any], tuple[Any, Any]]:
        """What a map Y that does not move does to other points: points (m, c) -> G (m, c), contributions to Z (m,).

        The field of the map is computed once, over the map and some room around it. Points outside are summed pair by
        pair, so what a point feels never depends on the other points that are asked for.
        """

        def by_pairs(points: Any) -> tuple[Any, Any]:
            return self._pairs(*checked_pair(points, Y, self.n_components), same=False)

        grid = self._roomy_grid(Y)
        if grid is None:
            return by_pairs
        if is_torch(Y):
            field: Any = TensorGridField(self.similarity).frozen(Y, grid)
        else:
            field = GridField(self.similarity, self.n_jobs).frozen(Y, grid)
        weakest = _NOISE * field.strongest

        def by_grid(points: Any) -> tuple[Any, Any]:
            inside = field.covers(points)
            G, rows = _room_for_sums(points)
            if inside.any():
                G[inside], rows[inside] = field.at(points[inside])
            known = inside & (rows > weakest)
            if not known.all():
                G[~known], rows[~known] = by_pairs(points[~known])
            return G, rows

        return by_grid

    def _roomy_grid(self, Y: Any) -> NodeGrid | None:
        """The grid that the map itself would get, with room around it; None if it is too large, or has no width."""
        low, high = _corners(Y, Y)
        width = (high - low).max()
        if not width > 0:
            return None
        grid = grid_over(low - _ROOM * width, high + _ROOM * width, self._spacing(high - low), few=is_torch(Y))
        return grid if grid.size <= self._most_nodes(Y) else None

    def _sums(self, new: Any, fixed: Any, *, same: bool) -> tuple[Any, Any]:
        self.spacing, self.expected_error = 0.0, 0.0
        if len(new) * len(fixed) <= _FEW_PAIRS:
            return self._pairs(new, fixed, same)
        grid = self._grid(new, fixed)
        if grid is not None and grid.size > self._most_nodes(new):
            return self._without_the_far(new, fixed, same)
        if _too_few(new, fixed, grid):
            return self._pairs(new, fixed, same)
        return self._on_grid(new, fixed, self._softened(grid, new, same), same)

    def _grid(self, new: Any, fixed: Any) -> NodeGrid | None:
        """The grid over all points, whatever its size; None for a map so small that it needs none."""
        low, high = _corners(new, fixed)
        return None if self._is_flat(high - low) else grid_over(low, high, self._spacing(high - low), few=is_torch(new))

    def _softened(self, grid: NodeGrid | None, Y: Any, same: bool) -> NodeGrid | None:
        """A coarser grid, if short-range pairs give the rest in less time; only for a similarity that can be split.

        On a line near pairs are too few to slow a fine grid down, so a map in one dimension keeps it. On a card a fine
        grid always takes less time than pairs, so only one that is too large is softened.
        """
        if grid is not None and is_torch(Y) and grid.size <= self._most_nodes(Y):
            return grid
        if grid is None or not same or self.n_components == 1 or self.similarity.smooth_part(1.0) is None:
            return grid
        return soften(grid, Y, self.accuracy, self._most_nodes(Y))

    def _pairs(self, new: Any, fixed: Any, same: bool) -> tuple[Any, Any]:
        return pair_sums(self.similarity, new, fixed, same=same, n_jobs=self.n_jobs)

    def _on_grid(self, new: Any, fixed: Any, grid: NodeGrid | None, same: bool) -> tuple[Any, Any]:
        if grid is None:
            return _parabola(float(self.similarity.slope(np.zeros(()))), new, fixed, same)
        self.spacing, self.expected_error = grid.spacing, self.accuracy
        field: Any = self.tensor_field if is_torch(new) else self.field
        G, rows = field.sums(new, fixed, grid, same=same)
        if grid.softness is None:
            self.expected_error = max(self.accuracy, error_at(grid.spacing, self.similarity, self.n_components))
        else:
            add_short_range(new, ShortRangeCells.under(grid, self.accuracy), grid.softness, G, rows, self.n_jobs)
        least = max(float(self.similarity.weight(np.square(grid.extent).sum())), _TINY)
        # No weight is negative, but the rounding of a small one can be.
        return G, rows.clip((len(fixed) - same) * least)

    def _is_flat(self, extent: np.ndarray) -> bool:
        """Whether −w' changes so little between the corners of the map that w is a parabola, to the accuracy."""
        slope = self.similarity.slope(np.array([0.0, extent @ extent]))
        return bool(1 - slope[1] / slope[0] <= self.accuracy / 100)

    def _spacing(self, extent: np.ndarray) -> float:
        """The spacing that the accuracy asks for, or a smaller one, in steps of √2, for a small map."""
        halvings = np.log2(self.finest * _FEWEST / extent.max())
        return self.finest * 2.0 ** (-max(0, np.ceil(2 * halvings)) / 2)

    def _without_the_far(self, new: Any, fixed: Any, same: bool) -> tuple[Any, Any]:
        """A grid for all points but the few that are far out; the far ones pair by pair."""
        near_new, near_fixed = _near(new, fixed, same)
        if not (near_new.any() and near_fixed.any()):
            return self._pairs(new, fixed, same)
        core, others = new[near_new], fixed[near_fixed]
        grid = self._grid(core, others)
        if _too_few(new, fixed, grid):
            return self._pairs(new, fixed, same)
        grid = self._softened(grid, core, same)
        if grid is not None and grid.size > self._most_nodes(new):
            if len(new) * len(fixed) <= self.most_pairs:
                return self._pairs(new, fixed, same)
            grid = self._widened(core, others, grid.spacing)
        G, rows = _room_for_sums(new)
        G[near_new], rows[near_new] = self._on_grid(core, others, grid, same)
        if not near_fixed.all():
            far = self._pairs(core, fixed[~near_fixed], same=False)
            G[near_new] += far[0]
            rows[near_new] += far[1]
        if not near_new.all():
            G[~near_new], rows[~near_new] = self._pairs(new[~near_new], fixed, same=False)
            rows[~near_new] -= int(same)  # a far point was among the fixed ones
        return G, rows

    def _widened(self, new: Any, fixed: Any, spacing: float) -> NodeGrid:
        """The finest grid that is not too large, by steps of a quarter of an octave, so that spectra are reused."""
        low, high = _corners(new, fixed)
        while (grid := grid_over(low, high, spacing, few=is_torch(new))).size > self._most_nodes(new):
            spacing *= 2**0.25
        return grid


def _room_for_sums(points: Any) -> tuple[Any, Any]:
    """Zeros in float64 beside the points, for G and for the parts of Z."""
    if is_torch(points):
        return points.new_zeros(points.shape).double(), points.new_zeros(len(points)).double()
    return np.zeros(points.shape), np.zeros(len(points))


def _too_few(new: Any, fixed: Any, grid: NodeGrid | None) -> bool:
    """Whether all pairs cost less than the grid's transforms: a few points, far apart."""
    return grid is not None and _NODES_PER_PAIR * len(new) * len(fixed) <= grid.size


def _corners(*sets: Any) -> tuple[np.ndarray, np.ndarray]:
    """The lowest and the highest coordinates, in float64."""
    sets = sets[:1] if sets[0] is sets[-1] else sets
    if is_torch(sets[0]):
        ends = [on_tensors().corners(Y) for Y in sets]
        return np.min([low for low, _ in ends], axis=0), np.max([high for _, high in ends], axis=0)
    low, high = np.empty((2, len(sets), sets[0].shape[1]))
    for k, Y in enumerate(sets):
        compiled().corners(Y, low[k], high[k])
    return low.min(axis=0), high.max(axis=0)


def _near(new: Any, fixed: Any, same: bool) -> tuple[Any, Any]:
    """Which points lie in the box that all but a few reach, with a quarter of its width around it."""
    if is_torch(new):
        return _near_tensors(new, fixed, same)
    both = fixed if same else np.concatenate([new, fixed])
    ends = np.partition(both, (min(_FAR, len(both) - 1), max(len(both) - 1 - _FAR, 0)), axis=0).astype(np.float64)
    low, high = ends[min(_FAR, len(both) - 1)], ends[max(len(both) - 1 - _FAR, 0)]
    near = [(np.abs(Y - (low + high) / 2) <= 0.75 * (high - low)).all(axis=1) for Y in (new, fixed)]
    return near[0], near[1]


def _near_tensors(new: Any, fixed: Any, same: bool) -> tuple[Any, Any]:
    sets = (fixed,) if same else (new, fixed)
    ends = [on_tensors().inner_corners(Y, _FAR) for Y in sets]
    low, high = np.min([low for low, _ in ends], axis=0), np.max([high for _, high in ends], axis=0)
    middle, reach = (new.new_tensor(values.tolist()) for values in ((low + high) / 2, 0.75 * (high - low)))
    near = [((Y - middle).abs() <= reach).all(1) for Y in (new, fixed)]
    return near[0], near[1]


def _parabola(slope: float, new: Any, fixed: Any, same: bool) -> tuple[Any, Any]:
    """The sums for w = 1 − slope d²: Σ_j (yᵢ − yⱼ) = n (yᵢ − ȳ) and Σ_j d²ᵢⱼ = n ‖yᵢ − ȳ‖² + Σ_j ‖yⱼ − ȳ‖²."""
    if is_torch(new):
        return on_tensors().parabola(slope, new, fixed, same)
    origin = fixed[0].astype(np.float64)  # a point of the map: differences from it lose nothing, wherever the map lies
    apart = fixed - origin
    mean = apart.mean(axis=0)
    away = (new - origin) - mean
    inertia = float(np.square(apart - mean).sum())
    rows = len(fixed) - same - slope * (len(fixed) * np.square(away).sum(axis=1) + inertia)
    return slope * len(fixed) * away, rows
