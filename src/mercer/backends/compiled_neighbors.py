"""The k smallest distances of each row, from tiles of rounded dot products and from the rows themselves.

A tile gives ‖a − b‖² = ‖a‖² + ‖b‖² − 2⟨a, b⟩ to within e (‖a‖² + ‖b‖²). With aa = (1 − e)‖a‖² it lies between
low = aa + bb − 2⟨a, b⟩ and high = low + width (aa + bb), width = 2e / (1 − e). A row keeps the entries whose low is at
most its k-th smallest high: all that can be among its k nearest. These few are then computed coordinate by coordinate,
so the answer does not depend on the precision of the tiles. A row that collects more of them than its buffer holds
(copies, clusters far from the centre) is settled at once in the same way.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from mercer.backends.compilation import compiled, options

_RUN = 64  # entries that are tested together by vector code: most runs hold nothing near
TINY = 1e-30  # below this a float32 sum of squares is not reliable: terms may have underflowed


def square(A: Any, i: int, B: Any, j: int, inverse: float) -> float:
    """‖Aᵢ − Bⱼ‖² · inverse², for dense rows or for CSR rows as (data, indices, indptr)."""
    raise NotImplementedError


@overload(square, jit_options=options())
def _square_by_type(A, i, B, j, inverse):
    return _sparse_square if isinstance(A, types.BaseTuple) else _dense_square


def _dense_square(A, i, B, j, inverse):
    a, b = A[i], B[j]
    even = odd = third = last = 0.0  # four sums, so that an addition need not wait for the one before
    width = a.shape[0] // 4 * 4
    for c in range(0, width, 4):
        p = np.float64(a[c]) * inverse - np.float64(b[c]) * inverse
        q = np.float64(a[c + 1]) * inverse - np.float64(b[c + 1]) * inverse
        r = np.float64(a[c + 2]) * inverse - np.float64(b[c + 2]) * inverse
        s = np.float64(a[c + 3]) * inverse - np.float64(b[c + 3]) * inverse
        even += p * p
        odd += q * q
        third += r * r
        last += s * s
    for c in range(width, a.shape[0]):
        p = np.float64(a[c]) * inverse - np.float64(b[c]) * inverse
        even += p * p
    return (even + odd) + (third + last)


def _sparse_square(A, i, B, j, inverse):
    values, columns, starts = A
    others, places, begins = B
    p, q, total = starts[i], begins[j], 0.0
    while p < starts[i + 1] and q < begins[j + 1]:
        # Factors of 0 and 1 instead of branches, which the processor would predict wrongly every other time.
        left, right = np.int64(columns[p] <= places[q]), np.int64(places[q] <= columns[p])
        difference = left * (np.float64(values[p]) * inverse) - right * (np.float64(others[q]) * inverse)
        p += left
        q += right
        total += difference * difference
    for rest in range(p, starts[i + 1]):
        difference = np.float64(values[rest]) * inverse
        total += difference * difference
    for rest in range(q, begins[j + 1]):
        difference = np.float64(others[rest]) * inverse
        total += difference * difference
    return total


_NEAR = 0.1  # ‖a − b‖² relative to ‖a‖² above which ‖a‖² less a part of it keeps all digits but one or two


def spread(A: Any, i: int, inverse: float, table: Any) -> float:
    """Write a CSR row to the places of its columns in `table`, for `square_to`. Returns its squared norm."""
    raise NotImplementedError


@overload(spread, jit_options=options())
def _spread_by_type(A, i, inverse, table):
    return _sparse_spread if isinstance(A, types.BaseTuple) else _nothing_to_spread


def _nothing_to_spread(A, i, inverse, table):
    return 0.0


def _sparse_spread(A, i, inverse, table):
    values, columns, starts = A
    norm = 0.0
    for p in range(starts[i], starts[i + 1]):
        value = np.float64(values[p]) * inverse
        table[columns[p]] = value
        norm += value * value
    return norm


def square_to(A: Any, i: int, table: Any, norm: float, B: Any, j: int, inverse: float) -> float:
    """‖Aᵢ − Bⱼ‖² · inverse² as `square` gives it, for a row i that was spread: CSR rows in a third of the time.

    What a has in columns where b has nothing is ‖a‖² less the rest of a. That loses digits for near rows, which
    `square` compares number by number.
    """
    raise NotImplementedError


@overload(square_to, jit_options=options())
def _square_to_by_type(A, i, table, norm, B, j, inverse):
    return _sparse_square_to if isinstance(A, types.BaseTuple) else _dense_square_to


def _dense_square_to(A, i, table, norm, B, j, inverse):
    return square(A, i, B, j, inverse)


def _sparse_square_to(A, i, table, norm, B, j, inverse):
    others, places, begins = B
    total, common, width = 0.0, 0.0, table.shape[0]
    for q in range(begins[j], begins[j + 1]):
        value = table[places[q]] if places[q] < width else 0.0
        difference = value - np.float64(others[q]) * inverse
        total += difference * difference
        common += value * value
    total += max(norm - common, 0.0)
    return total if total > _NEAR * norm else square(A, i, B, j, inverse)


def unspread(A: Any, i: int, table: Any) -> None:
    """Make the table zeros again."""
    raise NotImplementedError


@overload(unspread, jit_options=options())
def _unspread_by_type(A, i, table):
    return _sparse_unspread if isinstance(A, types.BaseTuple) else _nothing_to_unspread


def _nothing_to_unspread(A, i, table):
    return None


def _sparse_unspread(A, i, table):
    for p in range(A[2][i], A[2][i + 1]):
        table[A[1][p]] = 0.0


def columns_of(A: Any, rows: Any) -> int:
    """How long a table the given rows need: one more than their last column; 0 for dense rows."""
    raise NotImplementedError


@overload(columns_of, jit_options=options())
def _columns_by_type(A, rows):
    return _sparse_columns if isinstance(A, types.BaseTuple) else _no_columns


def _no_columns(A, rows):
    return 0


def _sparse_columns(A, rows):
    most = 0
    for i in rows:
        if A[2][i] < A[2][i + 1]:
            most = max(most, A[1][A[2][i + 1] - 1] + 1)  # sorted: the last is the largest
    return most


@compiled()
def add_sparse_products(starts, columns, values, heads, places, weights, first, out):
    """Add ⟨a, b⟩ of CSR rows a, and of the rows b from `first` on, sorted by column (CSC), to a tile (m, n)."""
    for i in range(out.shape[0]):
        row = out[i]
        for p in range(starts[i], starts[i + 1]):
            value, column = values[p], columns[p]
            for q in range(heads[column], heads[column + 1]):
                if places[q] >= first:
                    row[places[q] - first] += value * weights[q]


@compiled()
def spread_columns(starts, columns, values, place, out):
    """Write the numbers of CSR rows to a dense array in which column c is at place[c], if that is not negative."""
    for i in range(out.shape[0]):
        for p in range(starts[i], starts[i + 1]):
            at = place[columns[p]]
            if at >= 0:
                out[i, at] = values[p]


@compiled()
def _kth(values, n, k, scratch):
    """The k-th smallest of the first n values (Hoare's selection)."""
    scratch[:n] = values[:n]
    left, right = 0, n - 1
    while left < right:
        pivot = scratch[(left + right) >> 1]
        i, j = left, right
        while i <= j:
            while scratch[i] < pivot:
                i += 1
            while scratch[j] > pivot:
                j -= 1
            if i <= j:
                scratch[i], scratch[j] = scratch[j], scratch[i]
                i += 1
                j -= 1
        if k - 1 <= j:
            right = j
        elif k - 1 >= i:
            left = i
        else:
            break
    return scratch[k - 1]


@compiled()
def _sort(keys, index, n):
    """Heap sort of pairs by key, then by index."""
    for start in range(n // 2 - 1, -1, -1):
        _sift(keys, index, start, n)
    for stop in range(n - 1, 0, -1):
        keys[0], keys[stop] = keys[stop], keys[0]
        index[0], index[stop] = index[stop], index[0]
        _sift(keys, index, 0, stop)


@compiled()
def _sift(keys, index, root, n):
    key, place = keys[root], index[root]
    while 2 * root + 1 < n:
        child = 2 * root + 1
        if child + 1 < n and (
            keys[child + 1] > keys[child] or (keys[child + 1] == keys[child] and index[child + 1] > index[child])
        ):
            child += 1
        if keys[child] < key or (keys[child] == key and index[child] < place):
            break
        keys[root], index[root] = keys[child], index[child]
        root = child
    keys[root], index[root] = key, place


@compiled()
def _settle(low, high, index, n, k, row, table, norm, A, extra, B, extras, inverse):
    """Compute the number in every interval and sort the k smallest. Returns how many were computed, and kept.

    The row was spread over `table`, which gave its norm.
    """
    computed = 0
    for s in range(n):
        if high[s] > low[s]:
            j = index[s]
            low[s] = high[s] = square_to(A, row, table, norm, B, j, inverse) + extra + extras[j]
            computed += 1
    _sort(low, index, n)
    kept = min(n, k)
    high[:kept] = low[:kept]
    return computed, kept


@compiled()
def _shrink(low, high, index, n, k, scratch):
    """Keep the entries that may be among the k nearest. Returns their number, and the bound on their low ends."""
    bound = _kth(high, n, k, scratch)
    kept = 0
    for s in range(n):
        if low[s] <= bound:
            low[kept], high[kept], index[kept] = low[s], high[s], index[s]
            kept += 1
    return kept, bound


@compiled()
def scan(dots, aa, bb, width, which, rows, columns, own, groups, k, state, A, extra, B, extras, inverse):
    """Take a tile into `state` = low, high, index, count, bound, computed, arrays with an entry for each of `rows`.

    which : the places in `rows` of the rows of the tile
    own, groups : a pair is skipped if `own` of its row equals `groups` of its column
    """
    low, high, index, count, bound, computed = state
    capacity = low.shape[1]
    scratch, hits, table = np.empty(capacity), np.empty(_RUN + 1, np.int64), np.zeros(columns_of(A, rows))
    two = dots.dtype.type(2)
    for t in range(dots.shape[0]):
        i, entries, n = which[t], dots[t], dots.shape[1]
        norm, is_spread = 0.0, False
        a = np.float64(aa[i])
        limit = dots.dtype.type(
            bound[i] - a + width / 12 * (a + bound[i]) + TINY
        )  # a little more, for the rounding of this sum
        for start in range(0, n, _RUN):
            stop = min(start + _RUN, n)
            near = 0
            for j in range(start, stop):
                near += bb[j] - two * entries[j] <= limit
            if near == 0:
                continue
            near = 0
            for j in range(start, stop):  # without a branch, which the processor would often predict wrongly
                hits[near] = j
                near += bb[j] - two * entries[j] <= limit
            for s in range(near):
                j = hits[s]
                both = a + np.float64(bb[j])
                lowest = both - 2 * np.float64(entries[j]) - TINY
                if lowest > bound[i] or groups[columns[j]] == own[i]:
                    continue
                at, highest = count[i], lowest + width * both + 2 * TINY
                settled = computed[i] > 0  # the first k are sorted numbers: only entries before the last of them count
                if settled:
                    if not is_spread:
                        norm, is_spread = spread(A, rows[i], inverse, table), True
                    exact = square_to(A, rows[i], table, norm, B, columns[j], inverse)
                    lowest = highest = exact + extra[i] + extras[columns[j]]
                    computed[i] += 1
                    if lowest > bound[i] or (lowest == bound[i] and columns[j] > index[i, k - 1]):
                        continue
                low[i, at], high[i, at], index[i, at] = lowest, highest, columns[j]
                count[i] = at + 1
                if at + 1 < capacity:
                    continue
                if not settled:
                    count[i], bound[i] = _shrink(low[i], high[i], index[i], capacity, k, scratch)
                if settled or count[i] > (capacity + k) // 2:
                    if not is_spread:
                        norm, is_spread = spread(A, rows[i], inverse, table), True
                    interval = low[i], high[i], index[i], count[i]
                    number, count[i] = _settle(*interval, k, rows[i], table, norm, A, extra[i], B, extras, inverse)
                    computed[i] += number
                    bound[i] = low[i, count[i] - 1]
                limit = dots.dtype.type(bound[i] - a + width / 12 * (a + bound[i]) + TINY)
        if is_spread:
            unspread(A, rows[i], table)


@compiled()
def finish(rows, k, state, A, extra, B, extras, inverse, places, squares):
    """The k nearest of each row in order; −1 and infinity if there are fewer."""
    low, high, index, count, bound, computed = state
    scratch, table = np.empty(low.shape[1]), np.zeros(columns_of(A, rows))
    for i in range(len(rows)):
        if count[i] > k:
            count[i], bound[i] = _shrink(low[i], high[i], index[i], count[i], k, scratch)
        norm, interval = spread(A, rows[i], inverse, table), (low[i], high[i], index[i], count[i])
        number, kept = _settle(*interval, k, rows[i], table, norm, A, extra[i], B, extras, inverse)
        unspread(A, rows[i], table)
        computed[i] += number
        places[i, :kept], squares[i, :kept] = index[i, :kept], low[i, :kept]
        places[i, kept:], squares[i, kept:] = -1, np.inf


@compiled()
def collect(dots, aa, bb, rows, columns, own, limit, A, extra, B, extras, inverse, found_rows, found, squares):
    """All pairs of a tile with ‖a − b‖² ≤ limit, computed coordinate by coordinate. Returns their number."""
    number = 0
    for i in range(dots.shape[0]):
        a = np.float64(aa[i])
        for j in range(dots.shape[1]):
            if a + np.float64(bb[j]) - 2 * np.float64(dots[i, j]) - TINY > limit:
                continue
            if columns[j] == own[i]:
                continue
            value = square(A, rows[i], B, columns[j], inverse) + extra[i] + extras[columns[j]]
            if value <= limit:
                found_rows[number], found[number], squares[number] = i, columns[j], value
                number += 1
    return number


@compiled()
def table(A, rows, extra, B, others, extras, inverse, out):
    """‖a − b‖² for each of the rows with each of the others, coordinate by coordinate."""
    for i in range(len(rows)):
        for j in range(len(others)):
            out[i, j] = square(A, rows[i], B, others[j], inverse) + extra[i] + extras[j]
