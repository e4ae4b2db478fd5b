"""Sums over all pairs of points of a map, row by row: what SNE and t-SNE push points apart with.

A row goes over the others in tiles that stay in the first cache: squared distances, weights, sums. Each of these loops
is one that LLVM turns into vector code, so that they cost less together than one loop that it cannot. Within a tile
sums are taken in the type of the points, between tiles in float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic, overload

from mercer.backends.compiled import FLAGS, SUMS, as_float32, as_float64, exp

GAUSSIAN, CAUCHY, STUDENT = 0, 1, 2

# Divisions follow error_model="numpy": a test for zero in the loop would keep it from becoming vector code.
_TILE = 256
_LN2 = 0.6931471805599453
_ODD = tuple(2.0 / (2 * k + 1) for k in range(11, -1, -1))  # log m = 2(s + s³/3 + …) with s = (m − 1)/(m + 1)
_ODD32 = tuple(np.float32(c) for c in _ODD[7:])


@intrinsic
def _bits32(typingctx: Any, x: Any) -> Any:
    def build(context, builder, signature, args):
        return builder.bitcast(args[0], ir.IntType(32))

    return types.int32(types.float32), build


@intrinsic
def _bits64(typingctx: Any, x: Any) -> Any:
    def build(context, builder, signature, args):
        return builder.bitcast(args[0], ir.IntType(64))

    return types.uint64(types.float64), build


def log(x):
    """log x for finite x ≥ 1, as code that LLVM can vectorise."""
    return np.log(x)


@overload(log, inline="always")
def _log_by_type(x):
    if x == types.float32:
        return _log32
    if x == types.float64:
        return _log64
    return None


def _log32(x):
    # the bits of √½ are taken off before the exponent is read, so that m lies in [√½, √2)
    bits = np.int32(_bits32(x) - np.int32(0x3F3504F3))  # type: ignore[call-arg]
    e = np.int32(bits >> np.int32(23))
    m = as_float32(np.int32((bits & np.int32(0x007FFFFF)) + np.int32(0x3F3504F3)))
    s = (m - np.float32(1)) / (m + np.float32(1))
    s2 = s * s
    c = _ODD32
    p = c[0]
    p = p * s2 + c[1]
    p = p * s2 + c[2]
    p = p * s2 + c[3]
    p = p * s2 + c[4]
    return p * s + np.float32(e) * np.float32(_LN2)


def _log64(x):
    bits = _bits64(x) - np.uint64(0x3FE6A09E667F3BCD)  # type: ignore[call-arg]
    e = bits >> np.uint64(52)
    m = as_float64(np.int64((bits & np.uint64(0x000FFFFFFFFFFFFF)) + np.uint64(0x3FE6A09E667F3BCD)))
    s = (m - 1.0) / (m + 1.0)
    s2 = s * s
    c = _ODD
    p = c[0]
    p = p * s2 + c[1]
    p = p * s2 + c[2]
    p = p * s2 + c[3]
    p = p * s2 + c[4]
    p = p * s2 + c[5]
    p = p * s2 + c[6]
    p = p * s2 + c[7]
    p = p * s2 + c[8]
    p = p * s2 + c[9]
    p = p * s2 + c[10]
    p = p * s2 + c[11]
    return p * s + np.float64(np.int32(e)) * _LN2


@njit(nogil=True, cache=True, error_model="numpy", fastmath=FLAGS)
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


@njit(nogil=True, cache=True, error_model="numpy", fastmath=SUMS)
def _total(values, count):
    total = values.dtype.type(0)
    for j in range(count):
        total += values[j]
    return np.float64(total)


@njit(nogil=True, cache=True, error_model="numpy", fastmath=SUMS)
def _push(a, others, slope, count):
    """Σ_j slope_j (a − others_j)."""
    total = others.dtype.type(0)
    for j in range(count):
        total += slope[j] * (a - others[j])
    return np.float64(total)


@njit(nogil=True, cache=True, error_model="numpy", fastmath=FLAGS)
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
            z += _total(w, count)
            for k in range(c):
                sums[k] += _push(new[i, k], others_transposed[k, start : start + count], slope, count)
        Z[i] = z
        for k in range(c):
            G[i, k] = sums[k]
