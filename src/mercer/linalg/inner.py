"""Inner products ⟨HAH, HBH⟩ of centred matrices that may not be stored: what alignment and independence are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.backends import to_numpy
from mercer.linalg.operators import Centered, Operator

_BLOCK_ENTRIES = 2**19  # of the rows of a matrix that are held at once


@dataclass(frozen=True)
class CentredProducts:
    """All inner products of a few centred matrices, and their diagonals.

    inner : (p, p), ⟨HAᵢH, HAⱼH⟩ = Σ of the products of their entries
    diagonals : (p, n), of HAᵢH
    """

    inner: np.ndarray
    diagonals: np.ndarray


def centred_products(operators: Sequence[Operator]) -> CentredProducts:
    """⟨HAᵢH, HAⱼH⟩ for every pair of the operators, from blocks of rows: two passes over each, never n × n.

    Entries are centred before they are multiplied. Sums of uncentred ones would cost one pass less, and all digits
    where the matrix is nearly constant, as a wide kernel's is.
    """
    n, centred = operators[0].n, [Centered(A) for A in operators]
    inner = np.zeros((len(centred), len(centred)))
    step = max(1, _BLOCK_ENTRIES // n)
    for start in range(0, n, step):
        blocks = [_rows(A, start, min(start + step, n)) for A in centred]
        inner += [[float(np.vdot(a, b)) for b in blocks] for a in blocks]
    return CentredProducts(inner, np.array([to_numpy(A.diagonal()) for A in centred], dtype=np.float64))


def _rows(A: Centered, start: int, stop: int) -> np.ndarray:
    index = A.xp.arange(start, stop, **A._place())
    return to_numpy(A.rows(index)).astype(np.float64, copy=False)


def factor_products(factors: Sequence[Any]) -> CentredProducts:
    """The same for Aᵢ = FᵢFᵢᵀ: ⟨HFFᵀH, HGGᵀH⟩ = ‖FᵀHG‖², from factors of shape (n, mᵢ). Cost: n mᵢ mⱼ a pair."""
    centred = [centred_columns(F) for F in factors]
    inner = np.array([[float(np.sum((F.T @ G) ** 2)) for G in centred] for F in centred])
    return CentredProducts(inner, np.array([np.einsum("ij,ij->i", F, F) for F in centred]))


def centred_columns(F: Any) -> np.ndarray:
    """HF in float64, on the host."""
    F = to_numpy(F).astype(np.float64)
    return F - F.mean(axis=0)
