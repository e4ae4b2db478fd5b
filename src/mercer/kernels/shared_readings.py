"""Matrices of many kernels on the same rows. Distances that several kernels read are computed only once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mercer.backends import namespace
from mercer.kernels.kernel import Kernel
from mercer.kernels.vector import VectorKernel


class SharedReadings:
    """Rows X and the reading that was last taken from all pairs of them (final).

    For example, Gaussians of different widths all read the same distances. Only the last reading is kept, n² numbers,
    so ask for the kernels in the order of `by_reading`.

    >>> import numpy as np
    >>> from mercer.kernels import RBF
    >>> rows = SharedReadings(np.array([[0.0], [1.0]]), np.float64)
    >>> rows.matrix(RBF(gamma=1.0)).round(3).tolist(), rows.matrix(RBF(gamma=2.0)).round(3).tolist()
    ([[1.0, 0.368], [0.368, 1.0]], [[1.0, 0.135], [0.135, 1.0]])
    """

    def __init__(self, X: Any, dtype: Any) -> None:
        self.X, self.dtype = X, dtype
        self._key: tuple[str, bool] | None = None
        self._reading: Any = None

    def matrix(self, kernel: Kernel) -> Any:
        """The matrix of k over all pairs of rows, (n, n), as a new array."""
        points = kernel.points(self.X, self.dtype)
        if not isinstance(kernel, VectorKernel) or not _is_shareable(kernel):
            return kernel.tile(points)
        key = kernel.reads, bool(getattr(points.context, "direct", False))
        if key != self._key:
            self._reading = None  # release the old reading first, so that two are never in memory at once
            self._reading, self._key = kernel.reading(points, points), key
        return kernel.matrix_of_reading(namespace(self._reading).asarray(self._reading, copy=True), points)


def by_reading(kernels: Sequence[Kernel]) -> list[int]:
    """The indices of the kernels, ordered so that kernels with the same reading follow each other."""
    return sorted(range(len(kernels)), key=lambda i: getattr(kernels[i], "reads", ""))


def _is_shareable(kernel: VectorKernel) -> bool:
    """Whether the reading depends on the rows alone and is worth keeping.

    A kernel with `points` of its own may prepare other rows. A product of the rows costs no more than copying it.
    """
    return type(kernel).points is VectorKernel.points and not kernel.reads.startswith("dot")
