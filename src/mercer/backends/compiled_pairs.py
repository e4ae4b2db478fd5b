"""Sums over all pairs of points of a map, row by row: the exact repulsion of SNE and t-SNE.

A row visits the others in tiles that stay in the first-level cache: squared distances, weights, sums. LLVM turns each
of these loops into vector code, so together they cost less than one loop that it cannot vectorise. Within a tile sums
are taken in the precision of the points, between tiles in float64.
"""

from __future__ import annotations

import numpy as np

from mercer.backends.compilation import FLAGS, SUMS, compiled, inlined
from mercer.backends.compiled_math import exp, log, total_of

GAUSSIAN, CAUCHY, STUDENT = 0, 1, 2

_TILE = 256  # points: their distances, weights and slopes fit the first-level cache


@inlined(FLAGS)
def _weights(d2, w, slope, count, kind, dof):
    """w(d²) and −w'(d²) for the first `count` squared distances."""
    one = d2.dtype.type(1)
    if kind == CAUCHY:
        for j in range(count):
            q = one / (one + d2[j])
            w[j] = q
            slope[j] = q * q
    elif kind == GAUSSIAN:
        for j in range(count):
            q = exp(-d2[j])
            w[j] = q
            slope[j] = q
    else:
        inverse = d2.dtype.type(1.0 / dof)
        power = d2.dtype.type(-(dof + 1.0) / 2.0)
        factor = d2.dtype.type((dof + 1.0) / (2.0 * dof))
        for j in range(count):
            x = one + d2[j] * inverse
            q = exp(power * log(x))
            w[j] = q
            slope[j] = factor * q / x


@inlined(SUMS)
def _push(a, others, slope, count):
    """Σ_j slope_j (a − others_j)."""
    total = others.dtype.type(0)
    for j in range(count):
        total += slope[j] * (a - others[j])
    return np.float64(total)


@compiled(FLAGS)
def rows(new, others_transposed, first, last, same, kind, dof, G, Z):
    """Σ_j −w'(d²)(yᵢ − yⱼ) into G and Σ_j w(d²) into Z for rows first … last − 1; where `same`, j ≠ i."""
    c, n = others_transposed.shape
    d2 = np.empty(_TILE, new.dtype)
    w = np.empty(_TILE, new.dtype)
    slope = np.empty(_TILE, new.dtype)
    for i in range(first, last):
        sums = np.zeros(c, np.float64)
        z = 0.0
        for start in range(0, n, _TILE):
            count = min(_TILE, n - start)
            d2[:] = 0
            for k in range(c):
                a = new[i, k]
                others = others_transposed[k, start : start + count]
                for j in range(count):
                    difference = a - others[j]
                    d2[j] += difference * difference
            _weights(d2, w, slope, count, kind, dof)
            if same and start <= i < start + count:
                w[i - start] = 0
            z += total_of(w, count)
            for k in range(c):
                sums[k] += _push(new[i, k], others_transposed[k, start : start + count], slope, count)
        Z[i] = z
        for k in range(c):
            G[i, k] = sums[k]
