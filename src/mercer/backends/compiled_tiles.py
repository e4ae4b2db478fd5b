"""Kernels and distances of one tile, compiled. Each loop works in place, releases the GIL and runs in one thread."""

from __future__ import annotations

import numpy as np

from mercer.backends.compilation import FLAGS, compiled
from mercer.backends.compiled_math import exp


@compiled(FLAGS)
def gaussian_from_dots(dots, aa, bb, gamma):
    """exp(−γ max(aaᵢ + bbⱼ − 2 dotsᵢⱼ, 0)), in place."""
    two, zero = dots.dtype.type(2), dots.dtype.type(0)
    for i in range(dots.shape[0]):
        a = aa[i]
        for j in range(dots.shape[1]):
            d2 = max(a + bb[j] - two * dots[i, j], zero)
            dots[i, j] = exp(-gamma * d2)


@compiled(FLAGS)
def distances_from_dots(dots, aa, bb):
    """max(aaᵢ + bbⱼ − 2 dotsᵢⱼ, 0), in place."""
    two, zero = dots.dtype.type(2), dots.dtype.type(0)
    for i in range(dots.shape[0]):
        a = aa[i]
        for j in range(dots.shape[1]):
            dots[i, j] = max(a + bb[j] - two * dots[i, j], zero)


@compiled(FLAGS)
def encode(tile, codes):
    """The tile in 65,536 even steps from its least entry to its largest: (least, step); |tile − decoded| ≤ step/2."""
    low, high = tile[0, 0], tile[0, 0]
    for i in range(tile.shape[0]):
        for j in range(tile.shape[1]):
            low, high = min(low, tile[i, j]), max(high, tile[i, j])
    step = (high - low) / tile.dtype.type(65535)
    per_step = tile.dtype.type(1) / step if step > 0 else tile.dtype.type(0)
    half = tile.dtype.type(0.5)
    for i in range(tile.shape[0]):
        for j in range(tile.shape[1]):
            codes[i, j] = np.uint16((tile[i, j] - low) * per_step + half)
    return low, step


@compiled(FLAGS)
def decode(codes, low, step, out):
    """What `encode` read, up to half a step."""
    for i in range(codes.shape[0]):
        for j in range(codes.shape[1]):
            out[i, j] = low + step * out.dtype.type(codes[i, j])


# Sums over coordinates. B comes transposed, so that the inner loop runs along j and vectorises.


@compiled(FLAGS)
def manhattan(A, B_transposed, out):
    """Σ_c |a_c − b_c|."""
    out[:] = 0
    for i in range(A.shape[0]):
        for c in range(A.shape[1]):
            a = A[i, c]
            for j in range(out.shape[1]):
                out[i, j] += abs(a - B_transposed[c, j])


@compiled(FLAGS)
def intersection(A, B_transposed, out):
    """Σ_c min(a_c, b_c)."""
    out[:] = 0
    for i in range(A.shape[0]):
        for c in range(A.shape[1]):
            a = A[i, c]
            for j in range(out.shape[1]):
                out[i, j] += min(a, B_transposed[c, j])


@compiled(FLAGS)
def matches(A, B_transposed, out):
    """The number of c with a_c = b_c."""
    out[:] = 0
    one, zero = out.dtype.type(1), out.dtype.type(0)
    for i in range(A.shape[0]):
        for c in range(A.shape[1]):
            a = A[i, c]
            for j in range(out.shape[1]):
                out[i, j] += one if a == B_transposed[c, j] else zero


@compiled(FLAGS)
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
