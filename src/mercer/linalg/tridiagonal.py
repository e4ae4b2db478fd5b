"""The top eigenpairs of a whole matrix from its tridiagonal form, by LAPACK.

    Qᵀ A Q = T, T s = θ s, v = Q s

SciPy's `eigh` does the same for selected pairs, by bisection and inverse iteration, and tells nothing about the rest.
Here the pairs of T come from MRRR or from divide and conquer, whichever takes less time. The lowest eigenvalue, which
shows whether A is indefinite, costs one more bisection.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg.lapack import dormqr, dstebz, dstemr, dstevd, dsytrd

from mercer.linalg.inner import power_of_two

_PANEL = 32  # columns that LAPACK reduces at a time, and reflections that it applies at a time


@dataclass(frozen=True)
class TopPairs:
    """The k largest eigenvalues, descending, their vectors, and the lowest eigenvalue."""

    values: np.ndarray  # (k,)
    vectors: np.ndarray  # (n, k)
    lowest: float


def top_pairs(M: np.ndarray, k: int) -> TopPairs | None:
    """The top k pairs of a symmetric matrix, n > 1, in float64; None if LAPACK does not find them.

    Cost: 4 n³/3 flops, half of them in products that read the matrix once, then some 60 n k, or 4 n² k/3 and more by
    divide and conquer, and 2 n² k flops for the vectors.
    """
    n, columns = len(M), M.T if M.flags.c_contiguous else M  # symmetric, so that LAPACK's order costs no copy
    unit, largest = 1.0, max(float(columns.max()), -float(columns.min()))
    if largest > 0 and not 1e-100 < largest < 1e100:  # squares would leave the range of numbers
        unit = power_of_two(largest)
        columns = columns / unit
    reduced, diagonal, beside, tau, trouble = dsytrd(columns, lower=1, lwork=_PANEL * n, overwrite_a=unit != 1.0)
    if trouble:
        return None
    found = tridiagonal_pairs(diagonal, beside, k)
    if found is None:
        return None
    values, vectors = found
    lowest = dstebz(diagonal, beside, 2, 0.0, 0.0, 1, 1, 0.0, b"E")[1][0]
    return TopPairs(values * unit, _rotated_back(reduced, tau, vectors), float(lowest) * unit)


def _rotated_back(reduced: np.ndarray, tau: np.ndarray, S: np.ndarray) -> np.ndarray:
    """Q S. The reflections lie below the diagonal of the reduced matrix, one per column, and leave row 0 as it is."""
    n, k = S.shape
    # From the second number on, in columns as long as before, rows 1 to n − 1 come first: nothing is copied.
    reflections = reduced.reshape(-1, order="F")[1 : 1 + n * (n - 1)].reshape(n, n - 1, order="F")
    # With room for blocks of 64 reflections LAPACK forms their products first. Up to some 16 vectors it is faster to
    # apply them one by one.
    room = k if k < 16 else 64 * k + 65 * 64
    turned, _, _ = dormqr("L", "N", reflections, tau, np.asfortranarray(S[1:]), room, overwrite_c=1)
    vectors = np.empty((n, k), order="F")
    vectors[0], vectors[1:] = S[0], turned
    return vectors


def tridiagonal_pairs(diagonal: np.ndarray, beside: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray] | None:
    """The top k eigenpairs of a tridiagonal matrix, descending; None if LAPACK does not find them.

    MRRR takes some 170 n k ns for a few pairs, and divide and conquer the time of n/7 to n/8 pairs for all of them.
    """
    m = len(diagonal)
    if 7 * k < m:
        found, values, S, trouble = selected_pairs(diagonal, np.append(beside, 0.0), m - k, m - 1)
        if found == k and not trouble:
            return values[:k][::-1], S[:, :k][:, ::-1]
    values, S, trouble = dstevd(diagonal, beside, compute_v=1)
    return None if trouble else (values[::-1][:k], S[:, ::-1][:, :k])


def selected_pairs(diagonal: np.ndarray, beside: np.ndarray, first: int, last: int) -> tuple[int, np.ndarray, Any, int]:
    """Eigenpairs number `first` to `last`, counted from 0, ascending, of a tridiagonal matrix, by MRRR.

    LAPACK overwrites both arrays, and wants room for one more number beside the diagonal.
    """
    m = len(diagonal)
    return dstemr(diagonal.copy(), beside, 2, 0.0, 0.0, first + 1, last + 1, compute_v=1, lwork=18 * m, liwork=10 * m)
