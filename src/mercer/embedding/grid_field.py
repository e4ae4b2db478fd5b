"""The field of a map's points on a regular grid, in one, two or three dimensions, in O(n + N log N) for N nodes.

    Φ(y) = Σ_j w(‖y − yⱼ‖²),   Gᵢ = −½ ∇Φ(yᵢ),   Zᵢ = Φ(yᵢ) − w(0)

The gradient of w(d²) is 2w'(y − yⱼ), so one field holds both sums. Points are spread on the nodes with a B-spline β of
order 6, convolved with the kernel by one Fourier transform forward and one back, and Φ and its gradient are read at the
points with β and β'. The kernel's spectrum is divided by β's on the nodes, twice: the sums then interpolate w(d²) by
splines in both of its points. Three things keep the remaining error small:

- What a point does to itself on the grid is known, a function of its place in the cell. It is tabulated and subtracted.
- A constant is subtracted from w, its value at the far end of the grid, and added back to Z. The field is then no
  larger than its variation, and its gradient does not cancel in float32 while the map is small.
- The transforms are a little more than twice as long as the grid, so nothing wraps around.

The error falls as exp(−π ℓ/spacing), ℓ the length over which w changes, until the spline's order limits it.

How fine the grid must be was measured. The tables below hold ‖G − G_exact‖/‖G_exact‖ on the hardest maps that were
tried: 2,000 to 3,000 points, uniform on a line of length 300 and in a square of side 100 to 300, where near pairs
dominate. Maps as t-SNE makes them have an error 3 to 10 times smaller, and the error of Z is below a tenth of G's.
tests/embedding/test_repulsion.py measures them again.

References
----------
Linderman et al. (2019), Fast interpolation-based t-SNE for improved visualization of single-cell RNA-seq data.
Essmann et al. (1995), A smooth particle mesh Ewald method.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import product
from typing import Any

import numpy as np
from scipy import fft
from scipy.interpolate import BSpline

from mercer.backends import cpu
from mercer.embedding.similarity import Similarity

ORDER = 6  # of the spline: the nodes that a point reaches along an axis
_MARGIN = 16  # nodes between the longest distance in use and the wrap: β's inverse falls by 0.43 per node
_LONGEST = 2**30  # nodes of an axis beyond which no fast length is looked for: such a grid will be refused anyway
_LEAST_LENGTH = 64  # of few: a shorter transform takes a card no less time
_TABLE = 128  # steps of the table of what a point does to itself; straight lines between them keep float32's digits
_CHUNK = 2**14  # points of a job
_KEPT = 4  # spectra of the latest grids that are kept: a growing map goes back and forth between a few
_SPLINE = BSpline.basis_element(np.arange(ORDER + 1), extrapolate=False)

# The error of G, and the spacing that gives it if w changes over a length of 1.
_ERRORS = np.array([1e-5, 1e-4, 1e-3, 1e-2, 1e-1])
_SPACINGS = np.array([0.138, 0.192, 0.27, 0.38, 0.62])
_SOFT_SPACINGS = np.array([0.29, 0.42, 0.57, 0.8, 1.3])  # for the smooth part of Student(1), times √T
FINEST, COARSEST = float(_ERRORS[0]), float(_ERRORS[-1])
_IN_SPACE = 1.12  # in three dimensions near pairs are a smaller part of the sums, and a wider grid is as accurate


@cache
def compiled() -> Any:
    return import_module("mercer.backends.compiled_grid")


# --- how fine a grid must be ---------------------------------------------------------------------------------


def spacing_for(error: float, similarity: Similarity, n_components: int) -> float:
    """The spacing at which G has this relative error.

    >>> from mercer.embedding.similarity import Student
    >>> round(spacing_for(1e-3, Student(), 2), 3)
    0.27
    """
    return _unit(similarity, n_components) * float(np.exp(np.interp(np.log(error), np.log(_ERRORS), np.log(_SPACINGS))))


def error_at(spacing: float, similarity: Similarity, n_components: int) -> float:
    """The relative error of G at a spacing; 1 for a grid coarser than any that was measured."""
    h = spacing / _unit(similarity, n_components)
    if h > _SPACINGS[-1]:
        return 1.0
    return float(np.exp(np.interp(np.log(h), np.log(_SPACINGS), np.log(_ERRORS))))


def soft_spacing(error: float, softness: float) -> float:
    """The spacing for the part of Student(1) that is smooth over 1/√softness, in two or three dimensions."""
    return float(np.exp(np.interp(np.log(error), np.log(_ERRORS), np.log(_SOFT_SPACINGS))) / np.sqrt(softness))


def _unit(similarity: Similarity, n_components: int) -> float:
    """The length of which the table's spacings are multiples."""
    assert similarity.length is not None
    return similarity.length * (_IN_SPACE if n_components == 3 else 1.0)


# --- the nodes, and the kernel on them -----------------------------------------------------------------------


@dataclass(frozen=True)
class NodeGrid:
    """Where the nodes are: spacing, lower corner, nodes per axis, and the lengths of the transforms.

    softness : of the part of the kernel that the grid carries (see `short_range`); None if it carries all of it
    """

    spacing: float
    low: np.ndarray
    nodes: tuple[int, ...]
    lengths: tuple[int, ...]
    softness: float | None = None

    @property
    def size(self) -> int:
        """Numbers in the padded grid, which set the cost of a call beyond that of its points."""
        return int(np.prod(self.lengths, dtype=np.float64))

    @property
    def extent(self) -> np.ndarray:
        """How far apart two points on the grid can be along each axis."""
        return self.spacing * (np.array(self.nodes) - ORDER + 1)


def grid_over(
    low: np.ndarray, high: np.ndarray, spacing: float, softness: float | None = None, *, few: bool = False
) -> NodeGrid:
    """The grid that points between two corners reach.

    few : whether the transforms should have few different lengths, because each takes long to set up
    """
    nodes = tuple(int((h - l) * (1 / spacing)) + ORDER for l, h in zip(low, high, strict=True))
    length = _one_of_few_lengths if few else _length
    return NodeGrid(spacing, low, nodes, tuple(2 * length(n + _MARGIN) for n in nodes), softness)


def _length(n: int) -> int:
    """A length ≥ n with a fast transform, in steps of a sixteenth, so that a growing map rarely changes it."""
    if n > _LONGEST:
        return n
    step = max(1, 2 ** (n.bit_length() - 5))
    return int(fft.next_fast_len(-(-n // step) * step, real=True))


def _one_of_few_lengths(n: int) -> int:
    """The least of 64, 96, 128, 192, 256, … that is at least n.

    A card compiles and loads code for every length of a transform, which took 0.05 to 0.25 s each on an H200. On the
    lengths of `_length`, the maps of a first fit spent 18 of 20 seconds on that.
    """
    if n > _LONGEST:
        return n
    power = max(_LEAST_LENGTH, 1 << (n - 1).bit_length())
    return power * 3 // 4 if power > _LEAST_LENGTH and n <= power * 3 // 4 else power


@dataclass(frozen=True)
class GridSpectrum:
    """The kernel w − constant on a grid: its transform, and tables of what it does to a point itself over a cell."""

    values: Any
    constant: float
    own: Any
    own_slope: Any


def spectrum_of(weight: Callable[[Any], Any], grid: NodeGrid, dtype: np.dtype) -> GridSpectrum:
    """The transform of w − constant over differences of nodes, divided by β's own, twice.

    The kernel is even along every axis, so a cosine transform of one octant holds all of it.
    """
    c, h = len(grid.lengths), grid.spacing
    d2: Any = 0.0
    for axis, m in enumerate(grid.lengths):
        d2 = d2 + ((np.arange(m // 2 + 1) * h) ** 2).reshape([-1 if k == axis else 1 for k in range(c)])
    constant = float(weight(np.square(max(grid.lengths) / 2 * h)))
    S = fft.dctn(weight(d2) - constant, type=1, overwrite_x=True)
    for axis, m in enumerate(grid.lengths):
        S /= (spline_spectrum(m) ** 2).reshape([-1 if k == axis else 1 for k in range(c)])
    own, own_slope = own_tables(fft.idctn(S, type=1)[(slice(ORDER),) * c], c)
    return GridSpectrum(S.astype(dtype), constant, own, own_slope)


def spline_spectrum(m: int) -> np.ndarray:
    """β's transform on the nodes: Σ_k β(k) cos(2π jk/m), j = 0 … m/2."""
    values = _SPLINE(np.arange(1, ORDER))  # β at its inner nodes
    k = np.arange(1, ORDER) - ORDER // 2
    return np.cos(2 * np.pi / m * np.outer(np.arange(m // 2 + 1), k)) @ values


def own_tables(near: np.ndarray, c: int) -> tuple[np.ndarray, np.ndarray]:
    """What a point does to itself: s(t) = Σ_ab β_a(t) β_b(t) κ(a − b), κ the kernel that the grid uses, here near 0.

    Over a cell it varies along each axis almost by itself: s(t) ≈ Σ_axes f(t_axis). The means over the other axes, of
    the products of β_a and β_b, are the values of a spline of twice the order. Returns f and its slope ½ f', by which
    Σ_ab β'_a β_b κ(a − b) differs from zero.
    """
    products = BSpline.basis_element(np.arange(2 * ORDER + 1))(ORDER + np.arange(ORDER))  # ∫ β(x) β(x + k) dx
    means = np.r_[products[0], 2 * products[1:]]  # both signs of the difference
    for _ in range(c - 1):
        near = near @ means
    whole = near @ means
    t = np.linspace(0, 1, _TABLE + 1)
    reach = t[:, None] + np.arange(ORDER - 1, -1, -1)  # from the left end of each node's spline
    weights, slopes = np.nan_to_num(_SPLINE(reach)), np.nan_to_num(_SPLINE.derivative()(reach))
    along = np.abs(np.subtract.outer(np.arange(ORDER), np.arange(ORDER)))
    f = np.einsum("ta,tb,ab->t", weights, weights, near[along])
    slope = np.einsum("ta,tb,ab->t", slopes, weights, near[along])
    return f - whole * (c - 1) / c, slope


# --- the field -----------------------------------------------------------------------------------------------


class GridField:
    """Sums over points by way of a grid, for one similarity. The spectra of the latest grids are kept in `spectra`.

    double : whether the transforms are in float64 for float32 points as well
    """

    def __init__(self, similarity: Similarity, n_jobs: int | None = None, *, double: bool = False) -> None:
        self.similarity, self.n_jobs, self.double = similarity, n_jobs, double
        self.spectra: OrderedDict[Any, GridSpectrum] = OrderedDict()

    def sums(self, new: np.ndarray, fixed: np.ndarray, grid: NodeGrid, *, same: bool) -> tuple[np.ndarray, np.ndarray]:
        """G (m, c) and each row's part of Z (m,), both float64, as `pair_sums` gives them exactly.

        A soft grid gives the sums for the smooth part of the similarity.
        """
        spectrum = self._spectrum(grid, new.dtype)
        points, starts, order = self._sorted(fixed, grid)
        field = self._convolve(self._spread(points, starts, grid), spectrum.values, grid)
        if not same:
            points, _, order = self._sorted(new, grid)
        G, Z = self._gather(points, order, field, grid, spectrum if same else None)
        Z += spectrum.constant * (len(fixed) - same)
        return G, Z

    def frozen(self, Y: np.ndarray, grid: NodeGrid) -> FrozenField:
        """The field of a map that does not move: computed once, read again and again."""
        spectrum = self._spectrum(grid, Y.dtype)
        points, starts, _ = self._sorted(Y, grid)
        nodes = self._convolve(self._spread(points, starts, grid), spectrum.values, grid)
        return FrozenField(self, grid, nodes, spectrum.constant * len(Y))

    def read(self, points: np.ndarray, nodes: np.ndarray, grid: NodeGrid) -> tuple[np.ndarray, np.ndarray]:
        """−½∇Φ (m, c) and Φ (m,) at points that lie on the grid, from the field on its nodes."""
        points, _, order = self._sorted(np.ascontiguousarray(points), grid)
        return self._gather(points, order, nodes, grid, None)

    def _spectrum(self, grid: NodeGrid, points: np.dtype) -> GridSpectrum:
        dtype = np.dtype(np.float64) if self.double else points
        key = grid.spacing, grid.lengths, grid.softness, dtype.char
        if key not in self.spectra:
            part: Any = self.similarity if grid.softness is None else self.similarity.smooth_part(grid.softness)
            self.spectra[key] = spectrum_of(part.weight, grid, dtype)
            while len(self.spectra) > _KEPT:
                self.spectra.popitem(last=False)
        self.spectra.move_to_end(key)
        return self.spectra[key]

    def _sorted(self, Y: np.ndarray, grid: NodeGrid) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Points sorted by their cell along the first axis, where each cell starts, and the number of each point."""
        rows = grid.nodes[0] if len(grid.nodes) > 1 else 1
        chunks = [(first, min(first + 4 * _CHUNK, len(Y))) for first in range(0, len(Y), 4 * _CHUNK)]
        counts = np.zeros((len(chunks), rows), np.int64)
        low, scale = grid.low[0], 1 / grid.spacing if rows > 1 else 0.0

        def count(job: int, slot: int) -> None:
            compiled().count_rows(Y, *chunks[job], low, scale, counts[job])

        def place(job: int, slot: int) -> None:
            compiled().place(Y, *chunks[job], low, scale, places[job], order, points)

        cpu.for_each(range(len(chunks)), count, self.n_jobs, blas=False)
        starts = np.concatenate([[0], np.cumsum(counts.sum(axis=0))])
        places = starts[:-1] + np.cumsum(counts, axis=0) - counts  # after the points of earlier chunks in the cell
        order, points = np.empty(len(Y), np.int64), np.empty_like(Y)
        cpu.for_each(range(len(chunks)), place, self.n_jobs, blas=False)
        return points, starts, order

    def _spread(self, points: np.ndarray, starts: np.ndarray, grid: NodeGrid) -> np.ndarray:
        density = np.zeros(_three_axes(grid.nodes))  # float64: a node may hold the weight of all points
        bands = _bands(starts, cpu.workers(self.n_jobs))

        def work(band: tuple[int, int], slot: int) -> None:
            compiled().spread(points, starts, grid.low, 1 / grid.spacing, *band, density)

        cpu.for_each(bands, work, self.n_jobs, blas=False)
        return density

    def _convolve(self, density: np.ndarray, spectrum: np.ndarray, grid: NodeGrid) -> np.ndarray:
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
        self, points: np.ndarray, order: np.ndarray, field: np.ndarray, grid: NodeGrid, own: GridSpectrum | None
    ) -> tuple[np.ndarray, np.ndarray]:
        G, Z = np.empty(points.shape), np.empty(len(points))
        nothing = np.zeros(2)
        tables = (own.own, own.own_slope) if own else (nothing, nothing)

        def work(first: int, slot: int) -> None:
            last = min(first + _CHUNK, len(points))
            compiled().gather(points, order, first, last, grid.low, 1 / grid.spacing, field, *tables, G, Z)

        cpu.for_each(range(0, len(points), _CHUNK), work, self.n_jobs, blas=False)
        return G, Z


@dataclass(frozen=True)
class FrozenField:
    """The field of a map that does not move, on the nodes of a grid.

    constant : what was subtracted from the kernel, summed over the points of the map
    """

    field: GridField
    grid: NodeGrid
    nodes: np.ndarray
    constant: float

    @property
    def strongest(self) -> float:
        """The largest Φ on the nodes."""
        return float(np.max(self.nodes)) + self.constant

    def covers(self, points: np.ndarray) -> np.ndarray:
        """Which points lie on the grid, (m,)."""
        top = self.grid.low + self.grid.spacing * (np.array(self.grid.nodes) - ORDER)  # a spline reaches ORDER nodes
        return np.all((points >= self.grid.low) & (points <= top), axis=1)

    def at(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """G (m, c) and Φ (m,) at points that the grid covers."""
        G, rows = self.field.read(points, self.nodes, self.grid)
        return G, rows + self.constant


def _three_axes(nodes: tuple[int, ...]) -> tuple[int, int, int]:
    """The shape for the compiled loops: axes that a map does not use have one node."""
    return (nodes[0] if len(nodes) > 1 else 1, nodes[1] if len(nodes) > 2 else 1, nodes[-1])


def _bands(starts: np.ndarray, threads: int) -> list[tuple[int, int]]:
    """Rows of the grid in bands of about equally many points.

    A band is at least twice as wide as a spline. In a narrower one most points would reach over its edge and be
    visited by two threads.
    """
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
