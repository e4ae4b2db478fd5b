"""Products with a kernel matrix that is never stored: entries and product come from one fused GPU kernel.

A backend that can do this has `fused_product(formula, arithmetic, largest)`. The formula is traced from the kernel's
own tile. So this works for every kernel whose profile calls functions of the namespace that it is given, alone or in a
composite.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from mercer.backends import is_foreign, namespace, placement
from mercer.backends.symbolic import trace
from mercer.kernels.discrete import backend_for
from mercer.kernels.kernel import Constant, Kernel, Points, simple_kernels
from mercer.kernels.vector import VectorKernel

Product = Callable[[Any], Any]

# Entries from which on a product is fused. Tiles of fewer take some milliseconds, and the first use of a new formula
# takes a second or two of compilation.
FUSED_FROM = 2**29
WIDEST = 128  # columns of V up to which a product is fused: for more, a tile in memory serves them all
_SAMPLE = 256  # rows whose entries show how large the others may be


def may_fuse(kernel: Kernel | None, X: Any) -> bool:
    """Whether products with the kernel's matrix over the rows X are fused in every precision, as a plan foresees it."""
    if kernel is None or not is_foreign(X) or X.ndim != 2 or X.shape[0] ** 2 < FUSED_FROM:
        return False
    if not _on_card(Points(X)) or X.shape[1] > backend_for(Points(X)).DOUBLE_TO:
        return False
    return all(isinstance(part, VectorKernel | Constant) for part in simple_kernels(kernel))


def _on_card(points: Points) -> bool:
    backend = backend_for(points)
    return hasattr(backend, "fuses") and backend.fuses(_rows(points))


def _rows(points: Points) -> Any:
    """The rows of points, for a composite those of one of its parts."""
    while points.rows is None:
        points = points.parts[0]
    return points.rows


def fused_product(kernel: Kernel, A: Points, B: Points | None, arithmetic: str) -> Product | None:
    """V ↦ k(A, B) V, or for the symmetric k(A, A) without B; None if the backend cannot, or if tiles cost as little.

    arithmetic : "half", "single" or "double"; the points must be in float64 for "double", and in float32 otherwise.
    The product answers None if entries exceed the range of its arithmetic.
    """
    Q = A if B is None else B
    if len(A) * len(Q) < FUSED_FROM or not _on_card(A):
        return None
    formula = trace(kernel.tile, A, B)
    if formula is None or not formula.readings:
        return None
    largest = _largest(kernel, A, Q)
    if not np.isfinite(largest):
        return None
    return backend_for(A).fused_product(formula, arithmetic, largest, partial(_trial, kernel, A, B, arithmetic))


# By how much a right product of some rows may be off, relative to what rounding the rows to 11 bits makes of an entry,
# and relative to the largest entry. Right code stays far below both; code that loses a half, or an operand, lies above.
_ALLOWED = {"half": (8.0, 2.0**-7), "single": (2.0**-6, 2.0**-15), "double": (2.0**-20, 2.0**-36)}


def _trial(kernel: Kernel, A: Points, B: Points | None, arithmetic: str) -> tuple[Any, Any, float]:
    """The formula of some rows, their matrix in float64, and by how much entries may be off in the given arithmetic."""
    some, others = _sampled(A), None if B is None else _sampled(B)
    xp = namespace(_rows(A))
    wide, across = some.astype(xp.float64), None if others is None else others.astype(xp.float64)
    K = kernel.tile(wide, across)
    moved = kernel.tile(_rounded(wide), None if across is None else _rounded(across))
    of_rounding, of_largest = _ALLOWED[arithmetic]
    allowed = of_rounding * float(xp.max(xp.abs(moved - K))) + of_largest * float(xp.max(xp.abs(K)))
    return trace(kernel.tile, some, others), K, allowed if np.isfinite(allowed) else np.inf


def _rounded(points: Points) -> Points:
    """The points, in float64, with coordinates of 11 bits, as half precision has them, and the norms as they are."""
    rows = points.rows
    if rows is not None:
        wide = rows * (2.0**42 + 1)  # Dekker's splitting: what is left of 53 bits
        rows = wide - (wide - rows)
    return replace(points, rows=rows, parts=tuple(_rounded(part) for part in points.parts))


def _largest(kernel: Kernel, A: Points, Q: Points) -> float:
    """The largest k(x, x), which bounds |k| if the kernel is positive semidefinite, or |k| on a sample of rows."""
    found = [kernel.tile(_sampled(A), _sampled(Q)), kernel.diagonal(A), kernel.diagonal(Q)]
    xp = namespace(found[0])
    return max(float(xp.max(xp.abs(part))) for part in found)


def _sampled(points: Points) -> Points:
    """Evenly spaced points."""
    rows, n = _rows(points), len(points)
    xp = namespace(rows)
    index = xp.asarray(np.linspace(0, n - 1, min(n, _SAMPLE)).astype(np.int64), **placement(rows))
    return points.take(index)
