"""The field of a map's points on a regular grid, in one, two or three dimensions, in O(n + N log N) for N nodes.

    Φ(y) = Σ_j w(‖y − yⱼ‖²),   Gᵢ = −½ ∇Φ(yᵢ),   Zᵢ = Φ(yᵢ) − w(0)

The gradient of w(d²) is 2w'(y − yⱼ), so one field holds both sums. Points are spread on the nodes with a B-spline β of
order 6, convolved with the kernel by one Fourier transform forward and one back, and Φ and its gradient are read at the
points with β and β'. The kernel's spectrum is divided by β's on the nodes, twice: the sums then interpolate w(d²) by
splines in both of its points. Three things keep what is left small:

- What a point does to itself on the grid is known, a function of its place in the cell: it is tabled and taken off.
- A constant is taken off w, its value at the far end of the grid, and given back in Z. The field is then no larger than
  it varies, and its gradient does not cancel in float32 while the map is small.
- The transforms are twice as long as the grid and a little more, so nothing wraps around.

The error falls as exp(−π ℓ/spacing), ℓ the length over which w changes, until the spline's order limits it.

References
----------
Linderman et al. (2019), Fast interpolation-based t-SNE for improved visualization of single-cell RNA-seq data.
Essmann et al. (1995), A smooth particle mesh Ewald method.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from itertools import product
from typing import Any

import numpy as np
from scipy import fft

from mercer.backends import cpu
from mercer.embedding.grid import ORDER, Grid, Spectrum, spectrum_of
from mercer.embedding.near import Smooth
from mercer.embedding.similarity import Similarity

_CHUNK = 2**14  # points in a job
_KEPT = 4  # spectra of the latest grids


@cache
def compiled() -> Any:
    return import_module("mercer.backends.compiled_grid")


class Field:
    """Sums over points by way of a grid, for one similarity. Spectra of the latest grids are kept.

    double : whether the transforms are in float64 for float32 points as well.
    """

    def __init__(self, similarity: Similarity, n_jobs: int | None = None, *, double: bool = False) -> None:
        self.similarity, self.n_jobs, self.double = similarity, n_jobs, double
        self._spectra: OrderedDict[Any, Spectrum] = OrderedDict()

    def sums(self, new: np.ndarray, fixed: np.ndarray, grid: Grid, *, same: bool) -> tuple[np.ndarray, np.ndarray]:
        """G (m, c) and the rows' share of Z (m,), both float64, as `pair_sums` gives them exactly.

        A soft grid gives those of the smooth part of the similarity.
        """
        spectrum = self._spectrum(grid, np.dtype(np.float64) if self.double else new.dtype)
        points, starts, order = self._sorted(fixed, grid)
        field = self._convolve(self._spread(points, starts, grid), spectrum.values, grid)
        if not same:
            points, _, order = self._sorted(new, grid)
        G, Z = self._gather(points, order, field, grid, spectrum if same else None)
        Z += spectrum.constant * (len(fixed) - same)
        return G, Z

    def _spectrum(self, grid: Grid, dtype: np.dtype) -> Spectrum:
        key = grid.spacing, grid.lengths, grid.softness, dtype.char
        if key not in self._spectra:
            part = self.similarity if grid.softness is None else Smooth(grid.softness)
            self._spectra[key] = spectrum_of(part.weight, grid, dtype)
            while len(self._spectra) > _KEPT:
                self._spectra.popitem(last=False)
        self._spectra.move_to_end(key)
        return self._spectra[key]

    def _sorted(self, Y: np.ndarray, grid: Grid) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Points by their cell along the first axis, where each cell starts, and which point is where."""
        rows = grid.nodes[0] if len(grid.nodes) > 1 else 1
        chunks = [(first, min(first + 4 * _CHUNK, len(Y))) for first in range(0, len(Y), 4 * _CHUNK)]
        counts = np.zeros((len(chunks), rows), np.int64)
        low, scale = grid.low[0], 1 / grid.spacing if rows > 1 else 0.0

        def count(job: int, slot: int) -> None:
            compiled().count_rows(Y, *chunks[job], low, scale, counts[job])

        def place(job: int, slot: int) -> None:
            compiled().place(Y, *chunks[job], low, scale, places[job], order, points)

        cpu.for_each(range(len(chunks)), count, self.n_jobs)
        starts = np.concatenate([[0], np.cumsum(counts.sum(axis=0))])
        places = starts[:-1] + np.cumsum(counts, axis=0) - counts  # after the points of earlier chunks in the cell
        order, points = np.empty(len(Y), np.int64), np.empty_like(Y)
        cpu.for_each(range(len(chunks)), place, self.n_jobs)
        return points, starts, order

    def _spread(self, points: np.ndarray, starts: np.ndarray, grid: Grid) -> np.ndarray:
        density = np.zeros(_three_axes(grid.nodes))  # float64: a node may hold the weight of all points
        bands = _bands(starts, cpu.workers(self.n_jobs))

        def work(band: tuple[int, int], slot: int) -> None:
            compiled().spread(points, starts, grid.low, 1 / grid.spacing, *band, density)

        cpu.for_each(bands, work, self.n_jobs)
        return density

    def _convolve(self, density: np.ndarray, spectrum: np.ndarray, grid: Grid) -> np.ndarray:
        """The density's convolution with the kernel on the nodes. Rows that are zero are not transformed."""
        threads, last = cpu.workers(self.n_jobs), len(grid.nodes) - 1
        F = fft.rfft(density.reshape(grid.nodes).astype(spectrum.dtype), grid.lengths[last], axis=last, workers=threads)
        for axis in range(last - 1, -1, -1):
            F = fft.fft(F, grid.lengths[axis], axis=axis, workers=threads, overwrite_x=True)
        _multiply(F, spectrum)
        for axis in range(last):
            F = fft.ifft(F, axis=axis, workers=threads, overwrite_x=True)
            F = F[(slice(None),) * axis + (slice(grid.nodes[axis]),)]
        F = fft.irfft(F, grid.lengths[last], axis=last, workers=threads)  # the padding stays, so that nothing is copied
        return F.reshape(*density.shape[:2], -1)

    def _gather(
        self, points: np.ndarray, order: np.ndarray, field: np.ndarray, grid: Grid, own: Spectrum | None
    ) -> tuple[np.ndarray, np.ndarray]:
        G, Z = np.empty(points.shape), np.empty(len(points))
        nothing = np.zeros(2)
        tables = (own.own, own.own_slope) if own else (nothing, nothing)

        def work(first: int, slot: int) -> None:
            last = min(first + _CHUNK, len(points))
            compiled().gather(points, order, first, last, grid.low, 1 / grid.spacing, field, *tables, G, Z)

        cpu.for_each(range(0, len(points), _CHUNK), work, self.n_jobs)
        return G, Z


def _three_axes(nodes: tuple[int, ...]) -> tuple[int, int, int]:
    """The shape for the compiled loops: axes that a map does not use have one node."""
    return (nodes[0] if len(nodes) > 1 else 1, nodes[1] if len(nodes) > 2 else 1, nodes[-1])


def _bands(starts: np.ndarray, threads: int) -> list[tuple[int, int]]:
    """Rows of the grid in bands with about as many points each, none so narrow that most points reach over its edge."""
    rows = len(starts) - 1
    if rows == 1:
        return [(0, 1)]
    cuts = np.searchsorted(starts, np.linspace(0, starts[-1], threads + 1)[1:-1])
    edges = [0]
    for cut in cuts:
        if edges[-1] + 2 * ORDER <= cut <= rows - 2 * ORDER:
            edges.append(int(cut))
    return list(zip(edges, [*edges[1:], rows], strict=True))


def _multiply(F: np.ndarray, S: np.ndarray) -> None:
    """F ← F S, where S holds the non-negative frequencies of a transform that is even in all axes."""
    for parts in product(*(_halves(m) for m in F.shape[:-1])):
        where, of = tuple(p[0] for p in parts), tuple(p[1] for p in parts)
        F[where] *= S[of]


def _halves(m: int) -> Iterator[tuple[slice, slice]]:
    """Frequencies 0 … m/2, and those above with the negative ones that they stand for."""
    half = m // 2
    yield slice(half + 1), slice(half + 1)
    yield slice(half + 1, m), slice(half - 1, 0, -1)
