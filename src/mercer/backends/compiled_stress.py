"""The stress of a map and its gradient over all pairs of points, and monotone regression, as loops that numba compiles.

A row meets the points after it in runs that stay in the first-level cache. Every pair is visited once and serves both
of its points. Within a run sums are taken in the precision of the map, between runs in float64.

Dissimilarities come as one flat array: those of row first + r with later rows begin at starts[r]. A square matrix and
its condensed upper half are both of this form. Negative entries stand for pairs that are not known.
"""

from __future__ import annotations

import numpy as np

from mercer.backends.compilation import FLAGS, SUMS, compiled, inlined
from mercer.backends.compiled_math import total_of

_RUN = 512  # points: their distances, terms and pulls fit the first-level cache
_TINY = 1e-30  # a square below it counts as zero; its root is far from the limits of float32


@inlined(FLAGS)
def _squares(Y, i, start, count, d2):
    """‖yᵢ − yⱼ‖² for the `count` points from `start` on."""
    for j in range(count):
        d2[j] = 0
    for k in range(Y.shape[0]):
        a, others = Y[k, i], Y[k, start : start + count]
        for j in range(count):
            difference = a - others[j]
            d2[j] += difference * difference


@inlined(FLAGS)
def _terms(d2, given, scale, weights, weighted, count, pull, errors, squares):
    """w(δ/d − 1), w(δ − d)² and w d² of a run."""
    kind = d2.dtype.type
    one, zero, tiny, unit = kind(1), kind(0), kind(_TINY), kind(scale)
    for j in range(count):
        delta = kind(given[j]) * unit
        inverse = one / np.sqrt(max(d2[j], tiny))
        error = delta - d2[j] * inverse
        w = one if delta >= zero else zero
        pull[j] = w * (delta * inverse - one)
        errors[j] = w * error * error
        squares[j] = w * d2[j]
    if weighted:
        for j in range(count):
            w = kind(weights[j])
            pull[j] *= w
            errors[j] *= w
            squares[j] *= w


@inlined(SUMS)
def _push(a, others, pull, count, sums):
    """Take each pull on the point at `a` from the others' sums; return their total."""
    total = others.dtype.type(0)
    for j in range(count):
        force = pull[j] * (a - others[j])
        total += force
        sums[j] -= force
    return np.float64(total)


@compiled(FLAGS)
def stress_rows(Y, first, last, given, starts, scale, weights, weight_starts, weighted, pulls, totals):
    """Add the pairs of rows first … last − 1 with later ones.

    Y : (c, n), the map; given, starts : dissimilarities, in units of 1/scale
    pulls : (c, n), Σⱼ w(δ/d − 1)(yᵢ − yⱼ) is added; totals : (2,), Σ w(δ − d)² and Σ w d² are added
    """
    c, n = Y.shape
    d2, pull = np.empty(_RUN, Y.dtype), np.empty(_RUN, Y.dtype)
    errors, squares = np.empty(_RUN, Y.dtype), np.empty(_RUN, Y.dtype)
    for i in range(first, last):
        for start in range(i + 1, n, _RUN):
            count = min(_RUN, n - start)
            at = starts[i - first] + start - i - 1
            weight_at = weight_starts[i - first] + start - i - 1 if weighted else 0
            _squares(Y, i, start, count, d2)
            _terms(
                d2,
                given[at : at + count],
                scale,
                weights[weight_at : weight_at + count],
                weighted,
                count,
                pull,
                errors,
                squares,
            )
            totals[0] += total_of(errors, count)
            totals[1] += total_of(squares, count)
            for k in range(c):
                pulls[k, i] += _push(Y[k, i], Y[k, start : start + count], pull, count, pulls[k, start : start + count])


@compiled(FLAGS)
def distance_rows(Y, first, last, starts, out):
    """‖yᵢ − yⱼ‖ of rows first … last − 1 with later ones, into the flat array."""
    n = Y.shape[1]
    d2 = np.empty(_RUN, Y.dtype)
    for i in range(first, last):
        for start in range(i + 1, n, _RUN):
            count = min(_RUN, n - start)
            at = starts[i - first] + start - i - 1
            _squares(Y, i, start, count, d2)
            for j in range(count):
                out[at + j] = np.sqrt(d2[j])


@compiled()
def gather(values, order, first, last, out):
    """out[k] = values[order[k]]."""
    for k in range(first, last):
        out[k] = values[order[k]]


@compiled()
def scatter(values, order, first, last, out):
    """out[order[k]] = values[k]."""
    for k in range(first, last):
        out[order[k]] = values[k]


@compiled()
def pool_adjacent(y, ties):
    """The rising sequence nearest to y ≥ 0 in least squares, in place; each run of ties gets one value.

    ties : (t, 2), in order, where each run begins and ends

    The blocks found so far are kept in y itself: the mean of a block at its first place and, if it has more than one,
    minus its length at its last. So no second array is needed, and a block can be found from the one after it.
    """
    n, first, tie = len(y), 0, 0
    while first < n:
        last = first + 1
        if tie < len(ties) and ties[tie, 0] == first:
            last = ties[tie, 1]
            tie += 1
        total, length = 0.0, last - first
        for k in range(first, last):
            total += y[k]
        begin = first
        while begin > 0:  # join the block before while it is not lower
            before = 1 if y[begin - 1] >= 0 else int(-y[begin - 1])
            mean = y[begin - before]
            if mean * length < total:
                break
            total += mean * before
            length += before
            begin -= before
        y[begin] = total / length
        if length > 1:
            y[begin + length - 1] = -length
        first = last
    at = n
    while at > 0:  # from the last block to the first: spread the means
        length = 1 if y[at - 1] >= 0 else int(-y[at - 1])
        mean = y[at - length]
        for k in range(at - length, at):
            y[k] = mean
        at -= length
