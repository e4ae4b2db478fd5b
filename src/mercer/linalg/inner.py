"""Inner products ⟨HAH, HBH⟩ of centred matrices that may not be stored, for alignment and tests of independence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import frexp, inf
from typing import Any

import numpy as np

from mercer.backends import to_numpy
from mercer.linalg.operators import Centered, Operator

BLOCK_ENTRIES = 2**19  # entries of a matrix held at once: 4 MB, which a processor's cache can hold


@dataclass(frozen=True)
class CentredProducts:
    """All inner products of a few centred matrices, and their diagonals, each matrix in its own unit.

    inner : (p, p), ⟨HAᵢH/sᵢ, HAⱼH/sⱼ⟩ = Σ of the products of their entries
    diagonals : (p, n), of HAᵢH/sᵢ
    scales : (p,), s: powers of two near the traces, so that no square overflows or vanishes, and no digit is lost
    """

    inner: np.ndarray
    diagonals: np.ndarray
    scales: np.ndarray


def operator_products(operators: Sequence[Operator], *, block_entries: int = BLOCK_ENTRIES) -> CentredProducts:
    """⟨HAᵢH, HAⱼH⟩/sᵢsⱼ for every pair of the operators, from blocks of rows: two passes over each, never n × n.

    block_entries : how many entries of each matrix are held at once, though at least one row

    Entries are centred before they are multiplied. Sums of uncentred entries would save one pass, but lose all digits
    of a nearly constant matrix, such as that of a wide kernel.
    """
    n, centred = operators[0].n, [Centered(A) for A in operators]
    inner = np.zeros((len(centred), len(centred)))
    diagonals = np.array([to_numpy(A.diagonal()) for A in centred], dtype=np.float64)
    scales = np.array([power_of_two(np.abs(diagonal).max()) for diagonal in diagonals])
    step = max(1, block_entries // n)
    for start in range(0, n, step):
        rows = slice(start, min(start + step, n))
        blocks = [_rows(A, rows) / scale for A, scale in zip(centred, scales, strict=True)]
        inner += [[float(np.vdot(a, b)) for b in blocks] for a in blocks]
    return CentredProducts(inner, diagonals / scales[:, None], scales)


def power_of_two(size: float, most: int = 1020) -> float:
    """The power of two just above `size`, between 2^−most and 2^most; 1 if `size` is zero, infinite or NaN."""
    return 2.0 ** min(max(frexp(size)[1], -most), most) if 0 < size < inf else 1.0


def _rows(A: Centered, rows: slice) -> np.ndarray:
    index = A.xp.arange(rows.start, rows.stop, **A.placement())
    return to_numpy(A.rows(index)).astype(np.float64, copy=False)


def factor_products(factors: Sequence[Any]) -> CentredProducts:
    """The same for Aᵢ = FᵢFᵢᵀ: ⟨HFFᵀH, HGGᵀH⟩ = ‖FᵀHG‖², from factors of shape (n, mᵢ). Cost: n mᵢ mⱼ per pair."""
    centred = [centred_columns(F) for F in factors]
    units = np.array([power_of_two(np.abs(F).max(initial=0.0), 510) for F in centred])
    centred = [F / unit for F, unit in zip(centred, units, strict=True)]
    inner = np.array([[float(np.sum((F.T @ G) ** 2)) for G in centred] for F in centred])
    return CentredProducts(inner, np.array([np.einsum("ij,ij->i", F, F) for F in centred]), units**2)


def centred_columns(F: Any) -> np.ndarray:
    """HF in float64, on the host."""
    F = to_numpy(F).astype(np.float64)
    return F - F.mean(axis=0)
