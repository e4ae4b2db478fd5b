"""Eigenpairs, and how good they are: from residuals to bounds on eigenvalues."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.backends import namespace, to_numpy
from mercer.linalg.operators import Operator

SAFE_SQUARES = 1e-280, 1e280  # squares between these neither underflow nor overflow in a sum


@dataclass(frozen=True)
class Eigenpairs:
    """A V = V diag(values), values descending.

    values : (k,), NumPy
    vectors : (n, k), orthonormal, on the operator's device
    residuals : (k,), ‖A v − θ v‖
    errors : (k,), a bound on |γ − θ| for the nearest eigenvalue γ
    passes : the number of passes over the matrix, in all precisions together
    solver : the solver that ran; `reason` tells why
    operator : the operator that the residuals were computed with

    >>> from mercer.linalg import top_eigenpairs
    >>> pairs = top_eigenpairs(np.diag([3.0, 1.0, 2.0]), 1)
    >>> pairs.values.round(12).tolist(), pairs.vectors.shape, bool(pairs.residuals[0] < 1e-12)
    ([3.0], (3, 1), True)
    """

    values: np.ndarray
    vectors: Any
    residuals: np.ndarray
    errors: np.ndarray
    passes: int
    solver: str
    reason: str
    operator: Operator
    kept_bytes: int = 0  # of the matrix, held between passes
    lowest: float = np.nan  # the smallest Ritz value seen: far below zero means an indefinite matrix


def largest_of(values: np.ndarray) -> float:
    """The largest magnitude of sorted values, which is at one of their ends; 0 if there are no values."""
    return max(abs(float(values[0])), abs(float(values[-1]))) if len(values) else 0.0


def length_of(v: Any) -> float:
    """‖v‖ of a vector: directly if its square is in range, else scaled. Callers silence over- and underflow."""
    square = float(v @ v)
    if SAFE_SQUARES[0] < square < SAFE_SQUARES[1]:
        return square**0.5
    return float(column_norms(v[:, None], namespace(v))[0])


def column_norms(R: Any, xp: Any) -> np.ndarray:
    """‖r‖ of each column, (b,). Columns are scaled first if their squares, such as (1e200)², leave the range."""
    with np.errstate(over="ignore", under="ignore"):
        squares = to_numpy(xp.sum(R * R, axis=0)).astype(np.float64, copy=False)
    if not squares.size or (squares.min() > SAFE_SQUARES[0] and squares.max() < SAFE_SQUARES[1]):
        return np.sqrt(squares)
    scale = xp.max(xp.abs(R), axis=0)
    scale = xp.where(scale > 0, scale, xp.ones_like(scale))
    return to_numpy(scale * xp.sqrt(xp.sum((R / scale) ** 2, axis=0)))


def error_bounds(
    values: np.ndarray, residuals: np.ndarray, n: int, *, rest: float | None = None, converged: bool = True
) -> np.ndarray:
    """|γ − θ| ≤ min(r, r²/gap) for descending Ritz values θ with residuals r of an n × n matrix.

    The first bound always holds for the nearest eigenvalue. The second (Kato–Temple) needs the distance from θ to all
    other eigenvalues. It is taken to the other Ritz intervals [θ ± r], and for the last values to `rest`, the next
    Ritz value, on the understanding that a converged solver has left nothing out between them: without `converged` it
    is not used, without `rest` not for the last value, and never where intervals meet. √n · eps · θ₁ is added for what
    rounding does to a sum of n terms.
    """
    rounding = n**0.5 * float(np.finfo(np.float64).eps) * largest_of(values)
    if not converged or not len(values):
        return residuals + rounding
    # From θᵢ to the lowest end of an interval above it, and to the highest end of one below: no k × k matrix is needed.
    above = np.append(np.inf, np.minimum.accumulate(values - residuals)[:-1]) - values
    below = values - np.append(np.maximum.accumulate((values + residuals)[::-1])[::-1][1:], -np.inf)
    gap = np.minimum(above, below)
    if rest is None:
        gap[-1] = 0.0
    else:
        gap = np.minimum(gap, values - rest)
    known = np.isfinite(gap) & (gap > 2 * residuals)
    ratio = np.where(known, residuals / np.where(known, gap - residuals, 1.0), 1.0)
    return residuals * ratio + rounding
