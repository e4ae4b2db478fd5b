"""How many rows are nearer than given ones, from tiles of rounded dot products and from the rows themselves.

As in `compiled_neighbors`, a tile leaves an interval for every squared distance. An interval that holds none of a row's
limits is counted as it is. The few others are computed coordinate by coordinate, so counts do not depend on the
precision of the tiles.

If few columns of a run are nearer than a row's farthest limit, each is looked up among the limits. If many are, the run
is swept once per limit by code without branches.
"""

from __future__ import annotations

import numpy as np

from mercer.backends.compilation import compiled
from mercer.backends.compiled_neighbors import TINY, square

_RUN = 128  # columns that are tested together
_FEW = 16  # columns of a run up to which each is looked up by itself


@compiled()
def limits_of(A, rows, extra, B, others, extras, inverse, out):
    """‖a − b‖² of each row with each of its own others, coordinate by coordinate."""
    for i in range(len(rows)):
        for s in range(others.shape[1]):
            j = others[i, s]
            out[i, s] = square(A, rows[i], B, j, inverse) + extra[i] + extras[j]


@compiled()
def _at_most(limits, value):
    """How many of the limits, which are in order, are ≤ value."""
    low, high = 0, limits.shape[0]
    while low < high:
        middle = (low + high) >> 1
        if limits[middle] <= value:
            low = middle + 1
        else:
            high = middle
    return low


@compiled()
def _below(values, count, limit):
    """How many of the first `count` values are ≤ limit."""
    number = 0
    for j in range(count):
        number += values[j] <= limit
    return number


@compiled()
def count_nearer(dots, aa, bb, width, first, rows, limits, A, extra, B, extras, inverse, counts):
    """Add a tile to `counts`: [i, s] is how many columns are nearer to row i than its limit s.

    first : the number of the tile's first column; a row does not meet itself
    Returns how many pairs were computed one by one.
    """
    computed, k, n = 0, limits.shape[1], dots.shape[1]
    kind = dots.dtype.type
    hits, lows, highs = np.empty(_RUN + 1, np.int64), np.empty(_RUN, dots.dtype), np.empty(_RUN, dots.dtype)
    above, below = np.empty(k, dots.dtype), np.empty(k, dots.dtype)
    two, slope = kind(2), kind(width * 1.001)
    for i in range(dots.shape[0]):
        entries, own, a = dots[i], limits[i], np.float64(aa[i])
        for s in range(k):  # surely farther: bb − 2⟨a, b⟩ > above; surely nearer: that and width·bb ≤ below
            slack = width / 12 * (a + own[s]) + TINY  # for the rounding of these sums
            above[s] = own[s] - a + slack
            below[s] = own[s] - a - width * a - 2 * slack
        for start in range(0, n, _RUN):
            size = min(_RUN, n - start)
            for j in range(size):
                lows[j] = bb[start + j] - two * entries[start + j]
            near = _below(lows, size, above[k - 1])
            if near == 0:
                continue
            inside = first + start <= rows[i] < first + start + size
            if near > _FEW and not inside:
                for j in range(size):
                    highs[j] = lows[j] + slope * bb[start + j]
                for s in range(k):
                    surely = _below(highs, size, below[s])
                    counts[i, s] += surely
                    if surely == _below(lows, size, above[s]):
                        continue
                    for j in range(size):
                        if lows[j] <= above[s] and not highs[j] <= below[s]:
                            column = first + start + j
                            value = square(A, rows[i], B, column, inverse) + extra[i] + extras[column]
                            counts[i, s] += value < own[s]
                            computed += 1
                continue
            near = 0
            for j in range(size):  # without a branch, which the processor would often predict wrongly
                hits[near] = j
                near += lows[j] <= above[k - 1]
            for h in range(near):
                j = start + hits[h]
                column, both = first + j, a + np.float64(bb[j])
                if column == rows[i]:
                    continue
                low = both - 2 * np.float64(entries[j]) - TINY
                place = _at_most(own, low)
                if place < k and low + width * both + 2 * TINY >= own[place]:
                    value = square(A, rows[i], B, column, inverse) + extra[i] + extras[column]
                    place = _at_most(own, value)
                    computed += 1
                for s in range(place, k):
                    counts[i, s] += 1
    return computed
