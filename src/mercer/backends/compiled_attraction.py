"""Compiled loops of the descent: the sparse sums of the attraction, and the step with momentum and gains.

For Student's t and the Gaussian the slope −w′/w is a / (b + s d²), so one loop serves both. Sums along a row may be
reordered for the vector unit, but never across rows: the bits are the same for any number of threads. Rows are taken as
slices and indices are unsigned, so that LLVM need not expect a negative index or a division that raises.
"""

from __future__ import annotations

import numpy as np

from mercer.backends.compilation import RATIOS, SUMS, compiled, inlined
from mercer.backends.compiled_math import log

_TILE = 256  # logarithms that are computed together, by vector code


@compiled(RATIOS)
def attract_plane(heads, indices, P, A, Y, a, b, s, pull, start, stop):
    """pullᵢ = Σⱼ pᵢⱼ a / (b + s d²ᵢⱼ) · (aᵢ − yⱼ) in the plane: A are the points that are pulled, Y those that pull."""
    for i in range(start, stop):
        weights, others = P[heads[i] : heads[i + 1]], indices[heads[i] : heads[i + 1]]
        x, y = A[i, 0], A[i, 1]
        sum_x, sum_y = A.dtype.type(0), A.dtype.type(0)
        for entry in range(len(weights)):
            j = others[entry]
            dx, dy = x - Y[j, 0], y - Y[j, 1]
            strength = weights[entry] * a / (b + s * (dx * dx + dy * dy))
            sum_x += strength * dx
            sum_y += strength * dy
        pull[i, 0], pull[i, 1] = sum_x, sum_y


@compiled(RATIOS)
def attract(heads, indices, P, A, Y, a, b, s, pull, start, stop):
    """The same in any number of dimensions."""
    c = Y.shape[1]
    for i in range(start, stop):
        weights, others = P[heads[i] : heads[i + 1]], indices[heads[i] : heads[i + 1]]
        pull[i] = 0
        for entry in range(len(weights)):
            j = others[entry]
            d2 = A.dtype.type(0)
            for axis in range(c):
                d2 += (A[i, axis] - Y[j, axis]) ** 2
            strength = weights[entry] * a / (b + s * d2)
            for axis in range(c):
                pull[i, axis] += strength * (A[i, axis] - Y[j, axis])


@inlined(SUMS)
def _weighted_logs(weights, first, count, ratios):
    total = 0.0
    for k in range(count):
        total += weights[first + k] * log(ratios[k])
    return total


@compiled()
def log_similarity(heads, indices, P, A, Y, a, b, s, logs, start, stop):
    """logsᵢ = Σⱼ pᵢⱼ log wᵢⱼ in float64: −(a/s) log(1 + s d²/b), and −(a/b) d² where s = 0."""
    ratios = np.empty(_TILE)
    for i in range(start, stop):
        total = 0.0
        for first in range(heads[i], heads[i + 1], _TILE):
            count = min(_TILE, heads[i + 1] - first)
            for k in range(count):
                j = indices[first + k]
                d2 = 0.0
                for axis in range(Y.shape[1]):
                    d2 += (np.float64(A[i, axis]) - np.float64(Y[j, axis])) ** 2
                if s > 0:
                    ratios[k] = 1 + s * d2 / b
                else:
                    total -= P[first + k] * d2 * a / b
            if s > 0:
                total -= _weighted_logs(P, first, count, ratios) * a / s
        logs[i] = total


@compiled()
def descend(Y, pull, push, strength, weight, rate, momentum, longest, free, update, gains, start, stop):
    """Take one step along −gradient in place, and return the sum of the squares of the gradient.

    gradient = strength · pull − weight · push. The gain of a coordinate grows by 0.2 if the last step went against
    the gradient, that is downhill as the next one will, and otherwise shrinks to 0.8 of itself, but never below 0.01
    (Jacobs 1988). No coordinate moves further than `longest`. Rows that are not `free` stay where they are (if `free`
    is empty, all move). `weight` has one entry, or one per row.
    """
    c = Y.shape[1]
    kind = Y.dtype.type
    grow, shrink, least = kind(0.2), kind(0.8), kind(0.01)
    squares = 0.0
    for i in range(start, stop):
        if len(free) > 0 and not free[i]:
            continue
        repulsion = weight[i] if len(weight) > 1 else weight[0]
        for axis in range(c):
            slope = strength * pull[i, axis] - repulsion * push[i, axis]
            squares += np.float64(slope) ** 2
            last, gain = update[i, axis], gains[i, axis]
            gain = gain + grow if (slope > 0) != (last > 0) else max(gain * shrink, least)
            step = min(max(momentum * last - rate * gain * slope, -longest), longest)
            gains[i, axis], update[i, axis] = gain, step
            Y[i, axis] += step
    return squares
