"""The field of a map's points on a grid, for maps that are tensors: `grid_field` on the device of the map.

The nodes, the spline, the spectrum and the tables are those of `grid_field`. Points are added to the nodes in whole
numbers, so the sums do not depend on their order, and the same map gives the same bits in every run.

A descent takes many steps between two looks at the map. A `GridPlan` has a grid with room for the map to grow, and
notes on the device whether the map has stayed within it: no step waits for the host.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from mercer.backends import namespace
from mercer.embedding.grid_field import ORDER, GridSpectrum, NodeGrid, own_tables, spline_spectrum
from mercer.embedding.similarity import Similarity

_KEPT = 4  # spectra of the latest grids


def on_tensors() -> Any:
    """The arithmetic, which is loaded when it is first needed."""
    return import_module("mercer.backends.torch_maps")


class TensorGridField:
    """Sums over points by way of a grid, for one similarity (final). As `GridField`, for tensors."""

    def __init__(self, similarity: Similarity, *, double: bool = False) -> None:
        self.similarity, self.double = similarity, double
        self.spectra: OrderedDict[Any, GridSpectrum] = OrderedDict()

    def sums(self, new: Any, fixed: Any, grid: NodeGrid, *, same: bool) -> tuple[Any, Any]:
        """G (m, c) and each row's part of Z (m,)."""
        spectrum, low = self.spectrum(grid, new), self._low(grid, new)
        field = self._convolve(fixed, low, grid, spectrum)
        own = (spectrum.own, spectrum.own_slope) if same else (None, None)
        G, Z = on_tensors().gather(new, low, grid.spacing, field, *own)
        return G.double(), Z.double() + spectrum.constant * (len(fixed) - same)

    def frozen(self, Y: Any, grid: NodeGrid) -> FrozenTensorField:
        """The field of a map that does not move: computed once, read again and again."""
        spectrum, low = self.spectrum(grid, Y), self._low(grid, Y)
        return FrozenTensorField(grid, low, self._convolve(Y, low, grid, spectrum), spectrum.constant * len(Y))

    def _low(self, grid: NodeGrid, Y: Any) -> Any:
        return namespace(Y).asarray(grid.low, device=Y.device).to(Y.dtype)

    def _convolve(self, Y: Any, low: Any, grid: NodeGrid, spectrum: GridSpectrum) -> Any:
        arithmetic = on_tensors()
        density = arithmetic.spread(Y, low, grid.spacing, grid.nodes)
        return arithmetic.convolved(density, spectrum.values, grid.lengths)

    def planned(self, Y: Any, low: Any, grid: NodeGrid, least: float) -> tuple[Any, Any]:
        """G (n, c) and Z for a map whose lowest corner is `low`, without a word to the host."""
        spectrum = self.spectrum(grid, Y)
        field = self._convolve(Y, low, grid, spectrum)
        G, Z = on_tensors().gather(Y, low, grid.spacing, field, spectrum.own, spectrum.own_slope)
        rows = Z.double() + spectrum.constant * (len(Y) - 1)
        return G, rows.clamp(min=(len(Y) - 1) * least).sum()

    def spectrum(self, grid: NodeGrid, Y: Any) -> GridSpectrum:
        """The spectrum of the kernel on a grid, on the device of Y."""
        xp = namespace(Y)
        dtype = xp.float64 if self.double else Y.dtype
        key = grid.spacing, grid.lengths, grid.softness, dtype, Y.device
        if key not in self.spectra:
            part: Any = self.similarity if grid.softness is None else self.similarity.smooth_part(grid.softness)
            splines = [spline_spectrum(m) for m in grid.lengths]
            S, constant, near = on_tensors().kernel_spectrum(part.weight, grid.spacing, grid.lengths, splines, Y.device)
            tables = (xp.asarray(table, device=Y.device).to(dtype) for table in own_tables(near, len(grid.lengths)))
            self.spectra[key] = GridSpectrum(S.to(dtype), constant, *tables)
            while len(self.spectra) > _KEPT:
                self.spectra.popitem(last=False)
        self.spectra.move_to_end(key)
        return self.spectra[key]


@dataclass(frozen=True)
class FrozenTensorField:
    """The field of a map that does not move, on the nodes of a grid. As `FrozenField`, for tensors."""

    grid: NodeGrid
    low: Any
    nodes: Any
    constant: float

    @property
    def strongest(self) -> float:
        """The largest Φ on the nodes."""
        return float(self.nodes.max()) + self.constant

    def covers(self, points: Any) -> Any:
        """Which points lie on the grid, (m,)."""
        top = self.low + self.grid.spacing * (namespace(points).asarray(self.grid.nodes, device=points.device) - ORDER)
        return ((points >= self.low) & (points <= top)).all(1)

    def at(self, points: Any) -> tuple[Any, Any]:
        """G (m, c) and Φ (m,) at points that the grid covers."""
        G, rows = on_tensors().gather(points, self.low, self.grid.spacing, self.nodes, None, None)
        return G.double(), rows.double() + self.constant


class GridPlan:
    """The repulsion of a map for several steps, in which it may grow, and whether it has kept within the grid (final).

    grid : with room for the map; None if the map is so small that w is a parabola over it
    room : (c,), how far apart its points may be along each axis
    slope : −w'(0), for the parabola;  least : the smallest weight of a pair
    """

    def __init__(
        self, field: TensorGridField, grid: NodeGrid | None, room: np.ndarray, Y: Any, slope: float, least: float
    ) -> None:
        self.field, self.grid, self.slope, self.least = field, grid, slope, least
        self._room = namespace(Y).asarray(room, device=Y.device).to(Y.dtype)
        self._widest = Y.new_zeros(())  # of the map so far, as a share of its room

    def __call__(self, Y: Any) -> tuple[Any, Any]:
        """G (n, c) in the precision of Y, and Z, both on the device."""
        low = Y.amin(0)
        self._widest = self._widest.maximum(((Y.amax(0) - low) / self._room).amax())  # NaN stays NaN
        if self.grid is not None:
            G, Z = self.field.planned(Y, low, self.grid, self.least)
        else:
            G, rows = on_tensors().parabola(self.slope, Y, Y, True)
            Z = rows.clamp(min=(len(Y) - 1) * self.least).sum()
        return G.to(Y.dtype), Z

    def used(self) -> float:
        """The share of its room that the map has needed so far; if it is not at most 1, the sums had no meaning."""
        return float(self._widest)
