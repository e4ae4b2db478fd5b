"""Maps of rows into numbers, whose sums a pass takes: the rows themselves, features of a kernel, classes.

A map is given a run of rows and returns f − shift, (rows, m), in its own precision, and k(x, x), (rows,), if it
approximates a kernel. Its shift is fixed when it is made. A map of tensors gives tensors on their device; what the map
itself holds stays on the host, and a copy is kept where the rows are.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from scipy.linalg.blas import get_blas_funcs

from mercer.backends import beside, is_foreign, namespace
from mercer.expansion import KernelExpansion

Mapped = tuple[Any, np.ndarray | None, np.ndarray | None]  # f − shift, k(x, x), ‖f‖²


class Room:
    """Memory that the runs of one thread use one after the other (final).

    Where free memory goes back to the system at once, as in dask's workers, fresh pages for every run take a tenth of
    the time of a pass.
    """

    def __init__(self) -> None:
        self._held: dict[Any, np.ndarray] = {}

    def matrix(self, rows: int, columns: int, dtype: Any, number: int = 0) -> np.ndarray:
        """A matrix with any contents, which is free again when the next run begins. `number` tells several apart."""
        key = number, columns, np.dtype(dtype)
        if key not in self._held or len(self._held[key]) < rows:
            self._held[key] = np.empty((rows, columns), dtype)
        return self._held[key][:rows]


class RowMap(Protocol):
    """A map into `columns` numbers about `shift`; `slack` is how far rounding moves ‖f‖² relative to k(x, x).

    A call may leave f in memory of the `room` that it is given.
    """

    @property
    def shift(self) -> np.ndarray: ...

    @property
    def slack(self) -> float: ...

    @property
    def columns(self) -> int: ...

    def __call__(self, rows: Any, room: Room | None = None) -> Mapped: ...


@dataclass(frozen=True)
class ShiftedRows:
    """x ↦ f(x) = x − shift, in the precision of x. CSR rows stay as they are: their zeros keep them near the origin.

    >>> ShiftedRows(np.array([1.0, 2.0])).shift.tolist()
    [1.0, 2.0]
    """

    shift: np.ndarray
    slack: float = 0.0

    @property
    def columns(self) -> int:
        return len(self.shift)

    def __call__(self, rows: Any, room: Room | None = None) -> Mapped:
        if sp.issparse(rows):
            return rows.astype(np.float64), None, None
        return rows - beside(self.shift, rows), None, None


@dataclass(frozen=True)
class ClassIndicators:
    """A column of codes 0 … C − 1 ↦ its row of the C × C identity."""

    classes: int
    shift: np.ndarray = field(init=False)
    slack: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "shift", np.zeros(self.classes))

    @property
    def columns(self) -> int:
        return self.classes

    def __call__(self, rows: Any, room: Room | None = None) -> Mapped:
        return (rows == np.arange(self.classes)).astype(np.float32), None, None


@dataclass(frozen=True)
class LandmarkFeatures:
    """x ↦ f(x) = k(x, landmarks) @ coefs − shift. The inner products approximate k: ⟨f(x), f(y)⟩ ≈ k(x, y) but for the
    shift.

    Cost per row: m kernel entries and 2 m² flops for m landmarks.

    expansion : k(x, landmarks) @ coefs, in the precision of its coefficients
    device : where the rows are, if they are tensors

    >>> from mercer import KernelMap
    >>> rows = np.random.default_rng(0).standard_normal((100, 2))
    >>> KernelMap("rbf", gamma=0.1, rank=10).fit_transform(rows).shape  # such features, for rows in memory
    (100, 10)
    """

    expansion: KernelExpansion
    shift: np.ndarray
    slack: float
    device: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("_there", "_is_triangular")}

    @property
    def columns(self) -> int:
        return self.expansion.coefs.shape[1]

    @cached_property
    def _there(self) -> KernelExpansion:
        return self.expansion.on_device(self.device)

    def __call__(self, rows: Any, room: Room | None = None) -> Mapped:
        if is_foreign(rows):
            return self._of_tensors(rows)
        expansion = self.expansion
        points = expansion.new_points(rows)
        diagonal = np.asarray(expansion.kernel.diagonal(points), np.float64)
        anchors = expansion.anchor_points()
        # Two views may have landmarks in equal numbers: each has memory of its own.
        out = None if room is None else room.matrix(len(points), len(anchors), expansion.coefs.dtype, id(self))
        F = self._times_coefs(expansion.kernel.tile(points, anchors, out))
        squares = np.einsum("ij,ij->i", F, F, dtype=np.float64)
        F -= self.shift.astype(F.dtype)
        return F, diagonal, squares

    def _of_tensors(self, rows: Any) -> Mapped:
        expansion, xp = self._there, namespace(rows)
        points = expansion.new_points(rows)
        F = expansion.kernel.tile(points, expansion.anchor_points()) @ expansion.coefs
        squares = xp.sum(F * F, axis=1, dtype=xp.float64)
        F -= xp.asarray(self.shift, dtype=F.dtype, device=F.device)
        return F, xp.astype(expansion.kernel.diagonal(points), xp.float64), squares

    @cached_property
    def _is_triangular(self) -> bool:
        coefs = self.expansion.coefs
        return coefs.shape[0] == coefs.shape[1] and not np.tril(coefs, -1).any()

    def _times_coefs(self, K: np.ndarray) -> np.ndarray:
        """K @ coefs. The inverse of a Cholesky factor is triangular, so half of the product is zero: it stays out."""
        coefs = self.expansion.coefs
        if not self._is_triangular or K.dtype != coefs.dtype:
            return K @ coefs
        # LAPACK's order is that of the transposes, so nothing is copied: Kᵀ is overwritten by coefsᵀ Kᵀ.
        trmm = get_blas_funcs("trmm", (coefs, K))
        return trmm(1.0, coefs.T, K.T, side=0, lower=1, overwrite_b=1).T
