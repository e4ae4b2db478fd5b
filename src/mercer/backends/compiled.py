"""The loops that numba compiles. Each works in place on one tile, releases the GIL and runs in one thread.

NumPy's exp is scalar for float64 (5 ns an entry on AVX2) and numba's calls the C library (3 ns for float32).
Written out as range reduction and a polynomial, LLVM turns it into vector code: 0.7 ns for float32 and 2 ns for
float64, with the distance computed on the way. The error is below 1 unit in the last place for float64
(Taylor to degree 13 on |r| ≤ ½ ln 2) and below 2 for float32 (degree 7).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic, overload

# Assume no NaN and allow fused multiply-add, but never reorder: ln 2 is subtracted in two parts, and in that order.
FLAGS = {"contract", "nsz", "nnan", "ninf"}
SUMS = FLAGS | {"reassoc"}  # for loops that only add up: their terms may change places

_LOG2E = 1.4426950408889634
_LN2_HIGH32, _LN2_LOW32 = np.float32(0.693359375), np.float32(-2.12194440e-4)
_LN2_HIGH64, _LN2_LOW64 = 6.93145751953125e-1, 1.42860682030941723212e-6
_INVERSE_FACTORIALS = tuple(1.0 / float(np.prod(np.arange(1, k + 1))) for k in range(13, -1, -1))
_INVERSE_FACTORIALS32 = tuple(np.float32(c) for c in _INVERSE_FACTORIALS[6:])


@intrinsic
def as_float32(typingctx: Any, bits: Any) -> Any:
    def build(context, builder, signature, args):
        return builder.bitcast(args[0], ir.FloatType())

    return types.float32(types.int32), build


@intrinsic
def as_float64(typingctx: Any, bits: Any) -> Any:
    def build(context, builder, signature, args):
        return builder.bitcast(args[0], ir.DoubleType())

    return types.float64(types.int64), build


def exp(x):
    """e^x for x ≤ 0, as code that LLVM can vectorise; the type of x chooses the polynomial."""
    return np.exp(x)


@overload(exp, inline="always")
def _exp_by_type(x):
    if x == types.float32:
        return _exp32
    if x == types.float64:
        return _exp64
    return None


def _exp32(x):
    x = max(x, np.float32(-87.0))
    n = np.floor(x * np.float32(_LOG2E) + np.float32(0.5))
    r = x - n * _LN2_HIGH32
    r = r - n * _LN2_LOW32
    c = _INVERSE_FACTORIALS32
    p = c[0]
    p = p * r + c[1]
    p = p * r + c[2]
    p = p * r + c[3]
    p = p * r + c[4]
    p = p * r + c[5]
    p = p * r + c[6]
    p = p * r + c[7]
    return p * as_float32((np.int32(n) + np.int32(127)) << np.int32(23))  # type: ignore[call-arg]


def _exp64(x):
    x = max(x, -708.0)
    n = np.floor(x * _LOG2E + 0.5)
    r = x - n * _LN2_HIGH64
    r = r - n * _LN2_LOW64
    c = _INVERSE_FACTORIALS
    p = c[0]
    p = p * r + c[1]
    p = p * r + c[2]
    p = p * r + c[3]
    p = p * r + c[4]
    p = p * r + c[5]
    p = p * r + c[6]
    p = p * r + c[7]
    p = p * r + c[8]
    p = p * r + c[9]
    p = p * r + c[10]
    p = p * r + c[11]
    p = p * r + c[12]
    p = p * r + c[13]
    return p * as_float64((np.int64(np.int32(n)) + np.int64(1023)) << np.int64(52))  # type: ignore[call-arg]


@njit(nogil=True, cache=True, fastmath=FLAGS)
def gaussian_from_dots(dots, aa, bb, gamma):
    """exp(−γ max(aaᵢ + bbⱼ − 2 dotsᵢⱼ, 0)), in place."""
    two, zero = dots.dtype.type(2), dots.dtype.type(0)
    for i in range(dots.shape[0]):
        a = aa[i]
        for j in range(dots.shape[1]):
            d2 = max(a + bb[j] - two * dots[i, j], zero)
            dots[i, j] = exp(-gamma * d2)


@njit(nogil=True, cache=True, fastmath=FLAGS)
def distances_from_dots(dots, aa, bb):
    """max(aaᵢ + bbⱼ − 2 dotsᵢⱼ, 0), in place."""
    two, zero = dots.dtype.type(2), dots.dtype.type(0)
    for i in range(dots.shape[0]):
        a = aa[i]
        for j in range(dots.shape[1]):
            dots[i, j] = max(a + bb[j] - two * dots[i, j], zero)


# Sums over coordinates. B comes transposed, so that the inner loop runs along j and vectorises.


@njit(nogil=True, cache=True, fastmath=FLAGS)
def manhattan(A, B_transposed, out):
    """Σ_c |a_c − b_c|."""
    out[:] = 0
    for i in range(A.shape[0]):
        for c in range(A.shape[1]):
            a = A[i, c]
            for j in range(out.shape[1]):
                out[i, j] += abs(a - B_transposed[c, j])


@njit(nogil=True, cache=True, fastmath=FLAGS)
def intersection(A, B_transposed, out):
    """Σ_c min(a_c, b_c)."""
    out[:] = 0
    for i in range(A.shape[0]):
        for c in range(A.shape[1]):
            a = A[i, c]
            for j in range(out.shape[1]):
                out[i, j] += min(a, B_transposed[c, j])


@njit(nogil=True, cache=True, fastmath=FLAGS)
def matches(A, B_transposed, out):
    """The number of c with a_c = b_c."""
    out[:] = 0
    one, zero = out.dtype.type(1), out.dtype.type(0)
    for i in range(A.shape[0]):
        for c in range(A.shape[1]):
            a = A[i, c]
            for j in range(out.shape[1]):
                out[i, j] += one if a == B_transposed[c, j] else zero


@njit(nogil=True, cache=True, fastmath=FLAGS)
def chi2(A, B_transposed, out):
    """Σ_c (a_c − b_c)² / (a_c + b_c), nothing where both are zero."""
    out[:] = 0
    zero = out.dtype.type(0)
    tiny = out.dtype.type(1e-30)  # keeps 0/0 at 0 without a branch; every other sum is far above it
    for i in range(A.shape[0]):
        for c in range(A.shape[1]):
            a = A[i, c]
            for j in range(out.shape[1]):
                difference = a - B_transposed[c, j]
                total = max(a + B_transposed[c, j], tiny)
                out[i, j] += max(difference * difference / total, zero)
