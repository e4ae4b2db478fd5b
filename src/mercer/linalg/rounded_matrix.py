"""A symmetric matrix that is stored in float32 or float64 on any device, with products in float64."""

from __future__ import annotations

from copy import copy
from typing import Any

from mercer.backends import backend_of, namespace, placement, slices
from mercer.linalg.operators import Array, Operator
from mercer.progress import phase


class RoundedMatrix(Operator):
    """A symmetric matrix as it is stored; products are in float64, made of some rows at a time.

    The ladder starts with products in the precision of the matrix.
    """

    RUN = 2**25  # entries that are made wider at a time: 256 MB, enough to keep a GPU busy

    def __init__(self, A: Array) -> None:
        self.A, self.n, self.xp = A, A.shape[0], namespace(A)
        self.dtype = self.precision = self.xp.float64

    def matmat(self, V: Array) -> Array:
        xp = self.xp
        with phase(f"pass {self.passes + 1} over all pairs"):
            if self.precision == self.A.dtype:
                out = xp.astype(self.A @ xp.astype(V, self.precision, copy=False), self.dtype, copy=False)
            else:
                out = xp.empty(V.shape, dtype=self.dtype, **self.placement())
                wide = xp.astype(V, self.dtype, copy=False)

                def work(run: slice, slot: int) -> None:
                    out[run, :] = xp.astype(self.A[run, :], self.dtype) @ wide

                backend_of(self.A).for_each(slices(self.n, max(1, self.RUN // self.n)), work, self.n_jobs)
        self.count(V)
        return out

    def rows(self, index: Array) -> Array:
        return self.xp.take(self.A, index, axis=0)

    def diagonal(self) -> Array:
        return self.xp.linalg.diagonal(self.A)

    def ladder(self, tol: float) -> list[Operator]:
        if self.A.dtype == self.precision:
            return [self]
        coarse = copy(self)
        coarse.precision = self.A.dtype
        return [coarse, self]

    def placement(self) -> dict[str, Any]:
        return placement(self.A)

    @property
    def kept_bytes(self) -> int:
        return self.n**2 * self.xp.finfo(self.A.dtype).bits // 8
