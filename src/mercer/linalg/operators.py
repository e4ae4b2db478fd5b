"""Symmetric n × n matrices that may not be stored: what solvers ask of them, and the simple ones.

Dense      the matrix itself
LowRank    F Fᵀ
Centered   H A H for H = I − 11ᵀ/n, never formed

`Gram` (a kernel's matrix, streamed in tiles), `Packed` (half of a matrix, in tiles) and `WeightedCentered` have modules
of their own. An operator of your own is a subclass of `Operator` that sets `n`, `xp` and `dtype` and defines `matmat`,
`rows` and `diagonal`. Solvers need nothing else. `mercer.testing.check_operator` compares it with the explicit
matrix.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from mercer.backends import backend_of, namespace, placement

Array = Any


class Operator(ABC):
    """A symmetric n × n matrix A, known by its products V ↦ A V (abstract).

    A subclass sets `n`, `xp` and `dtype`, and defines `matmat`, `rows` and `diagonal`. Everything else follows from
    these. A subclass may override the rest if it can do it faster.

    >>> import numpy as np
    >>> from mercer.linalg import top_eigenpairs
    >>> class Diagonal(Operator):
    ...     def __init__(self, d):
    ...         self.d, self.n, self.xp, self.dtype = d, len(d), np, d.dtype
    ...     def matmat(self, V):
    ...         self.count(V)
    ...         return self.d[:, None] * V
    ...     def rows(self, index):
    ...         return np.eye(self.n)[index] * self.d[index, None]
    ...     def diagonal(self):
    ...         return self.d
    >>> top_eigenpairs(Diagonal(np.array([3.0, 1.0, 2.0])), 2).values.round(9).tolist()
    [3.0, 2.0]
    """

    n: int
    xp: Any  # the array namespace of vectors and products
    dtype: Any  # of the products: the precision that a certificate can vouch for
    passes: int = 0  # how often all n × n entries were visited
    n_jobs: int | None = None  # threads; None means all cores
    columns: int = 0  # how many vectors were multiplied in total

    @abstractmethod
    def matmat(self, V: Array) -> Array:
        """A V for V of shape (n, b), in one pass over the matrix."""

    @abstractmethod
    def rows(self, index: Array) -> Array:
        """The given rows, (m, n)."""

    def strip(self, index: Array) -> Callable[[slice], Array]:
        """The given rows as a function of a run of columns, so that they need not be in memory all at once."""
        block = self.rows(index)
        return lambda run: block[:, run]

    def crossing(self, index: Array) -> Array:
        """The entries where the given rows and columns cross, (m, m)."""
        return self.xp.take(self.rows(index), index, axis=1)

    @abstractmethod
    def diagonal(self) -> Array:
        """(n,)."""

    def stored(self) -> Array:
        """The whole matrix if it is in memory; otherwise None."""
        return None

    def ladder(self, tol: float) -> list[Operator]:
        """The same matrix in steps from cheap and coarse to exact. A solver climbs them and certifies on the last."""
        return [self]

    def to_factor(self) -> tuple[Operator, bool]:
        """The operator whose low-rank factor F a solver may start from, and whether F must then be centred."""
        return self, False

    def keep(self) -> None:
        """From the next product on, keep whatever makes later products faster, as far as memory allows."""
        return None

    def forget(self) -> None:
        """Free memory that only makes later products faster."""
        return None

    @property
    def noise(self) -> Any:
        """What a coarse step's arithmetic adds to products with unit vectors, if that was measured, else None.

        It has one norm per column of the first product, (b,).
        """
        return None

    @property
    def columns_at_once(self) -> int:
        """The number of columns that a product multiplies in little more time than a single one; 1 if not known."""
        return 1

    def to_dense(self) -> Array:
        """The matrix, (n, n)."""
        return self.rows(self.xp.arange(self.n, **self.placement()))

    def spend(self) -> Array:
        """The matrix, (n, n), in memory that the caller may overwrite. The operator may be unusable afterwards."""
        return self.xp.asarray(self.to_dense(), copy=True)

    def placement(self) -> dict[str, Any]:
        """The keyword arguments that make `xp`'s constructors put a new array where this operator's products are."""
        return {}

    def count(self, V: Array) -> None:
        """Record one pass over the matrix, with the columns of V. `matmat` calls it."""
        self.passes += 1
        self.columns += V.shape[1]

    @property
    def kept_bytes(self) -> int:
        """How many bytes of the matrix are kept in memory."""
        return 0


class Dense(Operator):
    """A symmetric matrix A that is stored: V ↦ A V. Cost: n² numbers, and 2 n² b flops for b vectors.

    >>> import numpy as np
    >>> A = Dense(np.diag([1.0, 2.0]))
    >>> A.matmat(np.eye(2)).tolist()
    [[1.0, 0.0], [0.0, 2.0]]
    """

    def __init__(self, A: Array) -> None:
        self.A, self.n, self.xp, self.dtype = A, A.shape[0], namespace(A), A.dtype

    def matmat(self, V: Array) -> Array:
        self.count(V)
        return self.product(V)

    def product(self, V: Array) -> Array:
        return backend_of(self.A).product(self.A, V)

    def rows(self, index: Array) -> Array:
        return self.xp.take(self.A, index, axis=0)

    def diagonal(self) -> Array:
        return self.xp.linalg.diagonal(self.A)

    def stored(self) -> Array:
        return self.A

    def to_dense(self) -> Array:
        return self.A

    def placement(self) -> dict[str, Any]:
        return placement(self.A)

    @property
    def kept_bytes(self) -> int:
        return self.n**2 * self.xp.finfo(self.dtype).bits // 8


class LowRank(Operator):
    """The matrix F Fᵀ for F of shape (n, m): V ↦ F (Fᵀ V). Cost: n m numbers, and 4 n m b flops for b vectors.

    >>> import numpy as np
    >>> LowRank(np.array([[1.0], [2.0]])).matmat(np.eye(2)).tolist()
    [[1.0, 2.0], [2.0, 4.0]]
    """

    def __init__(self, F: Array) -> None:
        self.F, self.n, self.xp, self.dtype = F, F.shape[0], namespace(F), F.dtype

    def matmat(self, V: Array) -> Array:
        self.count(V)
        return self.F @ (self.F.T @ V)

    def rows(self, index: Array) -> Array:
        return self.xp.take(self.F, index, axis=0) @ self.F.T

    def diagonal(self) -> Array:
        return self.xp.sum(self.F**2, axis=1)

    def placement(self) -> dict[str, Any]:
        return placement(self.F)

    @property
    def kept_bytes(self) -> int:
        return self.F.shape[0] * self.F.shape[1] * self.xp.finfo(self.dtype).bits // 8


class Centered(Operator):
    """H A H, H = I − 11ᵀ/n: the operator of the centred features. A product costs O(nb) more than A's.

    The first product carries a column of ones along, so that A1, and with it the trace, needs no pass of its own.

    >>> import numpy as np
    >>> A = Centered(Dense(np.diag([1.0, 2.0, 3.0])))
    >>> A.matmat(np.ones((3, 1))).ravel().round(12).tolist()  # H removes the constant vector
    [0.0, 0.0, 0.0]
    """

    def __init__(self, A: Operator) -> None:
        self.A: Any = A
        self.n, self.xp, self.dtype = A.n, A.xp, A.dtype
        self._sums: Array = None
        self._diagonal: Array = None  # A's, once computed
        self._matrix: Array = None  # HAH itself, if it was formed
        self._spent = False  # given away: sums and diagonal are still known, and there are no more products
        self.entry_error = 0.0  # how far an entry of A may be from the kernel's value, if that is known
        self.largest: float | None = None  # an entry's magnitude, at most, if the diagonal does not say

    @classmethod
    def consuming(cls, A: Array) -> Centered:
        """HAH, formed in the memory of the matrix A, which must not be used afterwards: for small n."""
        centred = cls(Dense(A))
        xp = centred.xp
        centred._diagonal = xp.asarray(centred.A.diagonal(), copy=True)
        centred._sums = xp.sum(A, axis=0)
        _refuse_not_finite(centred._sums, xp)
        means = centred._sums / centred.n
        A -= means[None, :]
        A -= (means - xp.mean(means))[:, None]
        centred._matrix = A
        return centred

    def stored(self) -> Array:
        return self._matrix

    def center(self, V: Array) -> Array:
        """H V."""
        return V - self.xp.mean(V, axis=0, keepdims=True)

    def matmat(self, V: Array) -> Array:
        if self._spent:
            raise RuntimeError("The matrix was given away by `spend`: there are no more products with it.")
        self.count(V)
        if self._matrix is not None:
            return self.A.product(V)
        if self._sums is not None:
            return self.center(self.A.matmat(self.center(V)))
        ones = self.xp.ones((self.n, 1), dtype=V.dtype, **self.placement())
        product = self.A.matmat(self.xp.concat([self.center(V), ones], axis=1))
        self._sums = product[:, -1]
        _refuse_not_finite(self._sums, self.xp)
        return self.center(product[:, :-1])

    def row_sums(self) -> Array:
        """A1, (n,)."""
        if self._sums is None:
            ones = self.xp.ones((self.n, 1), dtype=self.dtype, **self.placement())
            self._sums = self.A.matmat(ones)[:, 0]
        return self._sums

    def uncentred_diagonal(self) -> Array:
        """Aᵢᵢ, (n,)."""
        if self._diagonal is None:
            self._diagonal = self.xp.astype(self.A.diagonal(), self.dtype)
        return self._diagonal

    def largest_entry(self) -> float:
        """A bound of |Aᵢⱼ|.

        The largest entry of the diagonal bounds the others if A is positive semidefinite, and then means of rows are
        no larger. If they are larger, A is taken for −d²: two points are apart at most twice as far as the outermost is
        from the centre, and the mean of its row is at least the square of that.
        """
        if self.largest is not None:
            return self.largest
        xp = self.xp
        largest = float(xp.max(xp.abs(self.uncentred_diagonal())))
        if self._sums is None:  # not worth a pass of its own
            return largest
        mean = float(xp.max(xp.abs(self._sums))) / self.n
        self.largest = largest if mean <= largest else 4 * mean
        return self.largest

    def trace(self) -> float:
        """tr(HAH) = Σ Aᵢᵢ − 1ᵀA1/n."""
        return float(self.xp.sum(self.uncentred_diagonal()) - self.xp.sum(self.row_sums()) / self.n)

    def rows(self, index: Array) -> Array:
        if self._matrix is not None:
            return self.xp.take(self._matrix, index, axis=0)
        means = self.row_sums() / self.n
        block = self.xp.astype(self.A.rows(index), self.dtype, copy=False)
        return block - means[None, :] - self.xp.take(means, index)[:, None] + self.xp.mean(means)

    def diagonal(self) -> Array:
        means = self.row_sums() / self.n
        return self.uncentred_diagonal() - 2 * means + self.xp.mean(means)

    def to_dense(self) -> Array:
        if self._matrix is not None:
            return self._matrix
        A = self.xp.astype(self.A.to_dense(), self.dtype, copy=False)
        means = self.xp.mean(A, axis=0)
        self._sums = means * self.n if self._sums is None else self._sums
        return A - means[None, :] - means[:, None] + self.xp.mean(means)

    def spend(self) -> Array:
        if self._matrix is None:
            return self.to_dense()  # formed for this call
        matrix, self._matrix, self._spent = self._matrix, None, True
        return matrix

    def ladder(self, tol: float) -> list[Operator]:
        steps = self.A.ladder(tol)
        return [*(Centered(A) for A in steps[:-1]), self]

    def to_factor(self) -> tuple[Operator, bool]:
        return self.A, True

    @property
    def noise(self) -> Any:
        known = self.A.noise
        return known if known is None or len(known) == 1 else known[:-1]  # without the column of ones

    @property
    def columns_at_once(self) -> int:
        return self.A.columns_at_once

    def keep(self) -> None:
        self.A.keep()

    def forget(self) -> None:
        self.A.forget()

    def placement(self) -> dict[str, Any]:
        return self.A.placement()

    @property
    def kept_bytes(self) -> int:
        return self.A.kept_bytes


def _refuse_not_finite(sums: Array, xp: Any) -> None:
    """Refuse NaN and infinity: one such entry anywhere makes the sum of its row one too."""
    if not bool(xp.all(xp.isfinite(sums))):
        raise ValueError(
            "The kernel matrix has entries that are not finite. A kernel function may return NaN, a polynomial "
            "of fractional degree is undefined for a negative base, and huge values overflow. Scale the data, or "
            "change the kernel."
        )


def operator_of(A: Any) -> Operator:
    """A as an Operator: itself, or a matrix wrapped in Dense."""
    return A if isinstance(A, Operator) else Dense(A)
