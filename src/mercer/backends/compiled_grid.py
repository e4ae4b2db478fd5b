"""Points to a grid and back, by B-splines of order 6: the loops over points of the grid method.

A grid has three axes. A map in the plane uses the first and the last, a map on a line only the last; an unused axis has
one node. A point with scaled coordinate x = cell + t reaches the six nodes cell … cell + 5 with the weights β(t), which
add up to 1. Points come sorted by their cell along the first axis. The thread that owns a band of rows then finds the
points that reach it next to each other, writes to no other thread's rows, and adds points in an order that does not
depend on the bands.
"""

from __future__ import annotations

import numpy as np

from mercer.backends.compilation import SUMS, compiled, inlined

ORDER = 6  # nodes per axis that a point reaches: pieces of degree five, so that forces are smooth
_THIRD = 1.0 / 3.0
_FLAGS = SUMS - {"nnan", "ninf"}  # nothing is assumed of the coordinates


@compiled()
def corners(Y, low, high):
    """The smallest and the largest coordinate along each axis."""
    for k in range(Y.shape[1]):
        smallest = largest = Y[0, k]
        for i in range(Y.shape[0]):
            y = Y[i, k]
            smallest = y if y < smallest else smallest
            largest = y if y > largest else largest
        low[k], high[k] = smallest, largest


@compiled()
def _cell(y, low, scale):
    """The cell of a coordinate, and its fraction of the cell. No fast math: all loops must find the same cell."""
    x = (y - low) * scale
    cell = int(x)
    return cell, x - cell


@compiled()
def count_rows(Y, first, last, low, scale, counts):
    """Count the points first … last − 1 in each cell of the first axis."""
    for i in range(first, last):
        row, _ = _cell(Y[i, 0], low, scale)
        counts[row] += 1


@compiled()
def place(Y, first, last, low, scale, places, order, sorted_points):
    """Sort the points first … last − 1 by cell: `places` holds where the next point of each cell goes."""
    for i in range(first, last):
        row, _ = _cell(Y[i, 0], low, scale)
        at = places[row]
        places[row] = at + 1
        order[at] = i
        for k in range(Y.shape[1]):
            sorted_points[at, k] = Y[i, k]


@inlined(_FLAGS)
def _quartics(t):
    """The five weights of a spline of order 5 at fraction t, each order from the one below as de Boor does."""
    a0, a2 = (1.0 - t) * (1.0 - t) * 0.5, t * t * 0.5
    a1 = 1.0 - a0 - a2
    b0, b1 = (1.0 - t) * a0 * _THIRD, ((t + 2.0) * a0 + (2.0 - t) * a1) * _THIRD
    b2, b3 = ((t + 1.0) * a1 + (3.0 - t) * a2) * _THIRD, t * a2 * _THIRD
    c0, c1 = (1.0 - t) * b0 * 0.25, ((t + 3.0) * b0 + (2.0 - t) * b1) * 0.25
    c2, c3 = ((t + 2.0) * b1 + (3.0 - t) * b2) * 0.25, ((t + 1.0) * b2 + (4.0 - t) * b3) * 0.25
    return c0, c1, c2, c3, t * b3 * 0.25


@inlined(_FLAGS)
def _quintics(t, c0, c1, c2, c3, c4):
    """The six weights of the spline of order 6, from those of order 5. Its derivatives are the latter's differences."""
    d0, d1 = (1.0 - t) * c0 * 0.2, ((t + 4.0) * c0 + (2.0 - t) * c1) * 0.2
    d2, d3 = ((t + 3.0) * c1 + (3.0 - t) * c2) * 0.2, ((t + 2.0) * c2 + (4.0 - t) * c3) * 0.2
    return d0, d1, d2, d3, ((t + 1.0) * c3 + (5.0 - t) * c4) * 0.2, t * c4 * 0.2


@inlined(_FLAGS)
def window(t, weights, slopes, axis):
    """The six weights along an axis of a point at fraction t of its cell, and their derivatives."""
    c0, c1, c2, c3, c4 = _quartics(t)
    d0, d1, d2, d3, d4, d5 = _quintics(t, c0, c1, c2, c3, c4)
    weights[axis, 0], weights[axis, 1], weights[axis, 2] = d0, d1, d2
    weights[axis, 3], weights[axis, 4], weights[axis, 5] = d3, d4, d5
    slopes[axis, 0], slopes[axis, 1], slopes[axis, 2] = -c0, c0 - c1, c1 - c2
    slopes[axis, 3], slopes[axis, 4], slopes[axis, 5] = c2 - c3, c3 - c4, c4


# The loops take no slices of arrays: each would count references, and threads would wait for the counter. The weights
# along the last axis are scalars, which stay in registers.


@compiled(_FLAGS)
def spread(points, starts, low, scale, top, bottom, grid):
    """Add to rows top … bottom − 1 of the grid every point that reaches them; starts[r] is the first in row r."""
    c = points.shape[1]
    deep, wide = (ORDER if c > 1 else 1), (ORDER if c > 2 else 1)
    weights, slopes = np.ones((2, ORDER)), np.zeros((2, ORDER))
    flat, across, along = grid.reshape(-1), grid.shape[1], grid.shape[2]
    row, column = 0, 0
    for i in range(starts[max(top - deep + 1, 0)], starts[min(bottom, len(starts) - 1)]):
        if c > 1:
            row, t0 = _cell(points[i, 0], low[0], scale)
            window(t0, weights, slopes, 0)
        if c > 2:
            column, t1 = _cell(points[i, 1], low[1], scale)
            window(t1, weights, slopes, 1)
        start, t = _cell(points[i, c - 1], low[c - 1], scale)
        c0, c1, c2, c3, c4 = _quartics(t)
        u0, u1, u2, u3, u4, u5 = _quintics(t, c0, c1, c2, c3, c4)
        for a in range(max(top - row, 0), min(bottom - row, deep)):
            for b in range(wide):
                share = weights[0, a] * weights[1, b]
                at = np.uint64(((row + a) * across + column + b) * along + start)
                flat[at] += share * u0
                flat[at + np.uint64(1)] += share * u1
                flat[at + np.uint64(2)] += share * u2
                flat[at + np.uint64(3)] += share * u3
                flat[at + np.uint64(4)] += share * u4
                flat[at + np.uint64(5)] += share * u5


@inlined(_FLAGS)
def _look_up(table, t):
    """A table over [0, 1) at t, by linear interpolation."""
    x = t * (len(table) - 1)
    m = np.uint64(x)
    return table[m] + (x - m) * (table[m + np.uint64(1)] - table[m])


@compiled(_FLAGS)
def gather(points, order, first, last, low, scale, field, own, own_slope, G, Z):
    """Z ← Φ(y) and G ← −½∇Φ(y), without the part that the grid makes of a point's pull on itself.

    own, own_slope : a table of that part over the fractions of a cell, a sum over the axes.
    """
    c = points.shape[1]
    deep, wide = (ORDER if c > 1 else 1), (ORDER if c > 2 else 1)
    weights, slopes = np.ones((2, ORDER)), np.zeros((2, ORDER))
    flat, across, along = field.reshape(-1), field.shape[1], field.shape[2]
    half = -0.5 * scale
    row, column, t0, t1 = 0, 0, 0.0, 0.0
    for i in range(first, last):
        if c > 1:
            row, t0 = _cell(points[i, 0], low[0], scale)
            window(t0, weights, slopes, 0)
        if c > 2:
            column, t1 = _cell(points[i, 1], low[1], scale)
            window(t1, weights, slopes, 1)
        start, t = _cell(points[i, c - 1], low[c - 1], scale)
        c0, c1, c2, c3, c4 = _quartics(t)
        u0, u1, u2, u3, u4, u5 = _quintics(t, c0, c1, c2, c3, c4)
        value, g0, g1, g2 = 0.0, 0.0, 0.0, 0.0
        for a in range(deep):
            for b in range(wide):
                at = np.uint64(((row + a) * across + column + b) * along + start)
                f0, f1, f2 = flat[at], flat[at + np.uint64(1)], flat[at + np.uint64(2)]
                f3, f4, f5 = flat[at + np.uint64(3)], flat[at + np.uint64(4)], flat[at + np.uint64(5)]
                v = u0 * f0 + u1 * f1 + u2 * f2 + u3 * f3 + u4 * f4 + u5 * f5
                s = c0 * (f1 - f0) + c1 * (f2 - f1) + c2 * (f3 - f2) + c3 * (f4 - f3) + c4 * (f5 - f4)
                value += weights[0, a] * weights[1, b] * v
                g0 += slopes[0, a] * weights[1, b] * v
                g1 += weights[0, a] * slopes[1, b] * v
                g2 += weights[0, a] * weights[1, b] * s
        at_point = order[i]
        value -= _look_up(own, t)
        G[at_point, c - 1] = half * (g2 - _look_up(own_slope, t))
        if c > 1:
            value -= _look_up(own, t0)
            G[at_point, 0] = half * (g0 - _look_up(own_slope, t0))
        if c > 2:
            value -= _look_up(own, t1)
            G[at_point, 1] = half * (g1 - _look_up(own_slope, t1))
        Z[at_point] = value
