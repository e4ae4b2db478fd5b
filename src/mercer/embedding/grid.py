"""Where the nodes of a grid are, and the kernel w(d²) on them: what a map's field is computed with (`field`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import fft
from scipy.interpolate import BSpline

ORDER = 6
_MARGIN = 16  # nodes between the longest distance in use and the wrap: β's inverse falls by 0.43 a node
_LONGEST = 2**30  # nodes of an axis: no grid is that long, but a map may ask for it before it is refused
_TABLE = 128  # steps of the table of what a point does to itself
_SPLINE = BSpline.basis_element(np.arange(ORDER + 1), extrapolate=False)


@dataclass(frozen=True)
class Grid:
    """Where the nodes are: spacing, lower corner, nodes per axis, and the lengths of the transforms.

    softness : of the part of the kernel that it carries (see `near`); None: it carries the whole kernel
    """

    spacing: float
    low: np.ndarray
    nodes: tuple[int, ...]
    lengths: tuple[int, ...]
    softness: float | None = None

    @property
    def size(self) -> int:
        """Numbers in the padded grid: what a call costs beyond its points."""
        return int(np.prod(self.lengths, dtype=np.float64))

    @property
    def extent(self) -> np.ndarray:
        """How far apart two points on it can be along each axis."""
        return self.spacing * (np.array(self.nodes) - ORDER + 1)


def grid_over(low: np.ndarray, high: np.ndarray, spacing: float, softness: float | None = None) -> Grid:
    """The grid that points between two corners reach."""
    nodes = tuple(int((h - l) * (1 / spacing)) + ORDER for l, h in zip(low, high, strict=True))
    return Grid(spacing, low, nodes, tuple(2 * _length(n + _MARGIN) for n in nodes), softness)


def _length(n: int) -> int:
    """A length of at least n that transforms fast, in steps of a sixteenth, so that a growing map rarely changes it."""
    if n > _LONGEST:
        return n
    step = max(1, 2 ** (n.bit_length() - 5))
    return int(fft.next_fast_len(-(-n // step) * step, real=True))


@dataclass(frozen=True)
class Spectrum:
    """The kernel w − constant on a grid: its transform, and what it does to a point itself over a cell."""

    values: np.ndarray
    constant: float
    own: np.ndarray
    own_slope: np.ndarray


def spectrum_of(weight: Callable[[Any], Any], grid: Grid, dtype: np.dtype) -> Spectrum:
    """The transform of w − constant over differences of nodes, divided by β's own, twice.

    The kernel is even along every axis, so a cosine transform of one octant is all of it.
    """
    c, h = len(grid.lengths), grid.spacing
    d2: Any = 0.0
    for axis, m in enumerate(grid.lengths):
        d2 = d2 + ((np.arange(m // 2 + 1) * h) ** 2).reshape([-1 if k == axis else 1 for k in range(c)])
    constant = float(weight(np.square(max(grid.lengths) / 2 * h)))
    S = fft.dctn(weight(d2) - constant, type=1, overwrite_x=True)
    for axis, m in enumerate(grid.lengths):
        S /= (_spline_spectrum(m) ** 2).reshape([-1 if k == axis else 1 for k in range(c)])
    own, own_slope = _own_tables(fft.idctn(S, type=1)[(slice(ORDER),) * c], c)
    return Spectrum(S.astype(dtype), constant, own, own_slope)


def _spline_spectrum(m: int) -> np.ndarray:
    """β's transform on the nodes: Σ_k β(k) cos(2π jk/m), j = 0 … m/2."""
    values = _SPLINE(np.arange(1, ORDER))  # β at its inner nodes
    k = np.arange(1, ORDER) - ORDER // 2
    return np.cos(2 * np.pi / m * np.outer(np.arange(m // 2 + 1), k)) @ values


def _own_tables(near: np.ndarray, c: int) -> tuple[np.ndarray, np.ndarray]:
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
