"""Compiled loops of the affinities: the width of each row, and the sum of a directed graph and its transpose.

Each loop works on rows (or columns) that no other thread writes to, releases the GIL and runs in one thread.
"""

from __future__ import annotations

import numpy as np

from mercer.backends.compilation import compiled
from mercer.backends.compiled_math import exp

_CLOSE = 1e-7  # error of the log-perplexity at which Newton's method stops: one more step would square it
_WIDEST = 80.0  # |log β| beyond which e^(−βE) is 0 or 1 for everything that differs in float64
_NOTHING = 1e-25  # smaller weights become 0: divided by 2n they would be subnormal, and slow to compute with
_STRIDE = 2.0  # the largest step of log β: Newton's method overshoots far from the solution


@compiled()
def calibrate(D, log_perplexity, share, P, widths, start, stop):
    """Add to rows of P, times `share`, the Gaussian weights whose entropy is `log_perplexity`; σ goes to `widths`.

    With E = d² − min d², scaled, p ∝ e^(−βE) and H the entropy of p: dH/d log β = −β² Var_p(E). Newton's method on
    log β within a bracket, since H falls with β. If no β reaches the entropy, the limit is taken: equal weights
    (β → 0, too few neighbours), or only the nearest ones (β → ∞, more ties than the perplexity counts).
    """
    k = D.shape[1]
    E, W = np.empty(k), np.empty(k)
    for i in range(start, stop):
        near, far = np.float64(D[i, 0]), np.float64(D[i, 0])
        for j in range(1, k):
            near, far = min(near, np.float64(D[i, j])), max(far, np.float64(D[i, j]))
        mean = 0.0
        if far > near:
            floor = near / far
            for j in range(k):
                ratio = D[i, j] / far
                E[j] = (ratio - floor) * (ratio + floor)
                mean += E[j] / k
        if mean == 0.0 or log_perplexity >= np.log(k):
            for j in range(k):
                P[i, j] += share / k
            widths[i] = far
            continue
        for j in range(k):
            E[j] /= mean
        theta, low, high = 0.0, -np.inf, np.inf
        total = 1.0
        while True:
            beta = np.exp(theta)
            for j in range(k):
                W[j] = exp(-beta * E[j])
            total, first, second = 0.0, 0.0, 0.0
            for j in range(k):
                total += W[j]
                first += W[j] * E[j]
                second += W[j] * E[j] * E[j]
            first, second = first / total, second / total
            gap = np.log(total) + beta * first - log_perplexity
            # theta is log β: an interval of 1e-12 leaves β that many of its digits.
            if abs(gap) < _CLOSE or abs(theta) > _WIDEST or high - low < 1e-12:
                break
            if gap > 0:
                low = theta
            else:
                high = theta
            slope = beta * beta * (second - first * first)
            step = gap / slope if slope > 0 else np.copysign(_STRIDE, gap)
            theta += min(max(step, -_STRIDE), _STRIDE)
            if not low < theta < high:
                theta = 0.5 * (low + high)
        for j in range(k):
            if W[j] > _NOTHING * total:
                P[i, j] += share * W[j] / total
        widths[i] = far * np.sqrt(0.5 * mean / beta)


@compiled()
def sort_rows(indices, P, start, stop):
    """Sort rows by index in place, and their values with them: both share a 64-bit key, so one sort is enough."""
    keys = np.empty(indices.shape[1], np.int64)
    bits = P.view(np.int32)
    for i in range(start, stop):
        for j in range(len(keys)):
            keys[j] = (np.int64(indices[i, j]) << 32) | (np.int64(bits[i, j]) & 0xFFFFFFFF)
        keys.sort()
        for j in range(len(keys)):
            indices[i, j] = keys[j] >> 32
            bits[i, j] = np.int32(keys[j] & 0xFFFFFFFF)


@compiled()
def count_incoming(indices, counts, start, stop):
    """How often each column from start to stop occurs among the neighbours."""
    flat = indices.ravel()
    for entry in range(len(flat)):
        column = flat[entry]
        if start <= column < stop:
            counts[column] += 1


@compiled()
def fill_incoming(indices, P, places, rows, values, start, stop):
    """The transpose for columns start to stop: the rows that point there, in order, and their weights.

    `places` holds where the next entry of each column goes, and is updated.
    """
    for i in range(indices.shape[0]):
        for j in range(indices.shape[1]):
            column = indices[i, j]
            if start <= column < stop:
                place = places[column]
                rows[place] = i
                values[place] = P[i, j]
                places[column] = place + 1


@compiled()
def join_rows(indices, P, heads, rows, values, scale, ends, out_indices, out_values, start, stop):
    """Rows of (P + Pᵀ) · scale, both given in order of their indices.

    If `out_indices` is empty, only the lengths of the rows are written, to `ends`. Otherwise the rows are written, each
    from its entry of `ends` on.
    """
    k = indices.shape[1]
    counting = len(out_indices) == 0
    for i in range(start, stop):
        a, b, last = 0, heads[i], heads[i + 1]
        place = np.int64(0) if counting else ends[i]
        while a < k or b < last:
            outgoing = a < k and (b >= last or indices[i, a] <= rows[b])
            incoming = b < last and (a >= k or rows[b] <= indices[i, a])
            if not counting:
                value = np.float32(0)
                if outgoing:
                    value += P[i, a]
                    out_indices[place] = indices[i, a]
                if incoming:
                    value += values[b]
                    out_indices[place] = rows[b]
                out_values[place] = value * scale
            a += outgoing
            b += incoming
            place += 1
        if counting:
            ends[i] = place


@compiled()
def reorder_rows(heads, indices, P, order, places, new_heads, new_indices, new_P, start, stop):
    """Write row order[i] of a matrix as row i, with column j renamed to places[j]."""
    for i in range(start, stop):
        source, goal = heads[order[i]], new_heads[i]
        for entry in range(new_heads[i + 1] - goal):
            new_indices[goal + entry] = places[indices[source + entry]]
            new_P[goal + entry] = P[source + entry]
