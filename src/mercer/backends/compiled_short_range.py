"""Sums over the near pairs of a map, cell by cell: the part of a similarity that a coarse grid leaves out.

Points are sorted by cell, with the cells along the last axis next to each other. A point meets the points of its own
cell and of the two cells on each side along every axis. These are collected once for all points of a cell, side by
side, so that LLVM turns the loop over them into vector code.
"""

from __future__ import annotations

import numpy as np

from mercer.backends.compilation import SUMS, compiled, inlined
from mercer.backends.compiled_math import exp

REACH = 2  # cells on each side that a point meets
VECTORS = 32  # points are padded to a multiple of this: vector code would take a remainder one by one
NOWHERE = 1e15  # coordinate of the padding: its square fits float32, and its weight is zero


@compiled()
def _cell(Y, i, low, scale, shape):
    """The number of a point's cell: the same in every loop, and on the grid however the division is rounded."""
    number = 0
    for k in range(Y.shape[1]):
        number = number * shape[k] + min(int((Y[i, k] - low[k]) * scale), shape[k] - 1)
    return number


@compiled()
def count_cells(Y, low, scale, shape, counts):
    """How many points lie in each cell."""
    for i in range(Y.shape[0]):
        counts[_cell(Y, i, low, scale, shape)] += 1


@compiled()
def sort_by_cell(Y, low, scale, shape, places, order, columns):
    """Sort the points by cell: their numbers, and their coordinates with one row per axis. `places` is overwritten."""
    for i in range(Y.shape[0]):
        cell = _cell(Y, i, low, scale, shape)
        at = places[cell]
        places[cell] = at + 1
        order[at] = i
        for k in range(Y.shape[1]):
            columns[k, at] = Y[i, k]


@inlined(SUMS)
def _sums_in_plane(around, count, x, y, softness):
    one = around.dtype.type(1)
    total, push_x, push_y = around.dtype.type(0), around.dtype.type(0), around.dtype.type(0)
    for j in range(count):
        dx, dy = x - around[0, j], y - around[1, j]
        r = one + dx * dx + dy * dy
        q = one / r
        w = q * exp(-softness * r)
        slope = w * (softness + q)
        total += w
        push_x += slope * dx
        push_y += slope * dy
    return total, push_x, push_y


@inlined(SUMS)
def _sums_in_space(around, count, x, y, z, softness):
    one = around.dtype.type(1)
    total, push_x, push_y, push_z = (
        around.dtype.type(0),
        around.dtype.type(0),
        around.dtype.type(0),
        around.dtype.type(0),
    )
    for j in range(count):
        dx, dy, dz = x - around[0, j], y - around[1, j], z - around[2, j]
        r = one + dx * dx + dy * dy + dz * dz
        q = one / r
        w = q * exp(-softness * r)
        slope = w * (softness + q)
        total += w
        push_x += slope * dx
        push_y += slope * dy
        push_z += slope * dz
    return total, push_x, push_y, push_z


@compiled()
def _runs_around(cell, starts, shape, runs):
    """Where the points around a cell begin and end, a run per row of cells; the numbers of runs and points."""
    rest, columns = cell // shape[-1], shape[-1]
    left, right = max(cell % columns - REACH, 0), min(cell % columns + REACH + 1, columns)
    row, rows = rest % shape[-2], shape[-2]
    layer, layers = (rest // rows, shape[0]) if len(shape) == 3 else (0, 1)
    found, points = 0, 0
    for p in range(max(layer - REACH, 0), min(layer + REACH + 1, layers)):
        for r in range(max(row - REACH, 0), min(row + REACH + 1, rows)):
            first = (p * rows + r) * columns
            runs[found, 0], runs[found, 1] = starts[first + left], starts[first + right]
            points += runs[found, 1] - runs[found, 0]
            found += 1
    return found, points


@compiled()
def _collect(columns, runs, found, around):
    """Copy the points of the runs side by side, and pad them to a whole number of vectors."""
    count = 0
    for k in range(found):
        for j in range(runs[k, 0], runs[k, 1]):
            for axis in range(columns.shape[0]):
                around[axis, count] = columns[axis, j]
            count += 1
    whole = (count + VECTORS - 1) // VECTORS * VECTORS
    for j in range(count, whole):
        for axis in range(columns.shape[0]):
            around[axis, j] = NOWHERE
    return whole


@compiled()
def add_short_range(columns, starts, shape, order, softness, first, last, G, Z):
    """Add to G and Z, for the points of cells first … last − 1, Σ_j −v'(d²)(yᵢ − yⱼ) and Σ_{j≠i} v(d²), where

    v(d²) = exp(−softness (1 + d²)) / (1 + d²), and j goes over the points of the cells around.
    """
    c = columns.shape[0]
    own = np.float64(exp(-softness))  # a point's weight with itself
    runs = np.empty(((2 * REACH + 1) ** (c - 1), 2), np.int64)
    around = np.empty((c, 1024), columns.dtype)
    for cell in range(first, last):
        if starts[cell] == starts[cell + 1]:
            continue
        found, points = _runs_around(cell, starts, shape, runs)
        if points + VECTORS > around.shape[1]:
            around = np.empty((c, 2 * points + VECTORS), columns.dtype)
        count = _collect(columns, runs, found, around)
        for i in range(starts[cell], starts[cell + 1]):
            at = order[i]
            if c == 2:
                total, push_x, push_y = _sums_in_plane(around, count, columns[0, i], columns[1, i], softness)
            else:
                total, push_x, push_y, push_z = _sums_in_space(
                    around, count, columns[0, i], columns[1, i], columns[2, i], softness
                )
                G[at, 2] += push_z
            Z[at] += total - own
            G[at, 0] += push_x
            G[at, 1] += push_y
