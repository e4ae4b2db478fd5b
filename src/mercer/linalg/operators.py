"""Symmetric n × n matrices that may not be stored: what solvers ask of them, and the four that Mercer has.

Dense      the matrix itself
Gram       a kernel's matrix, streamed in symmetric tiles, as many of them kept as fit
LowRank    F Fᵀ
Centered   H A H for H = I − 11ᵀ/n, never formed
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from mercer.backends import backend_of, namespace, placement
from mercer.kernels.base import Kernel
from mercer.kernels.discrete import backend_for

Array = Any


class Operator(ABC):
    """A symmetric n × n matrix known by its products (abstract)."""

    n: int
    xp: Any  # the array namespace of what goes in and comes out
    dtype: Any  # in which products are given: the precision that a certificate can speak of
    passes: int = 0  # how often all n × n entries were visited
    n_jobs: int | None = None  # threads; None is all cores
    columns: int = 0  # how many vectors were multiplied in all

    @abstractmethod
    def matmat(self, V: Array) -> Array:
        """A V for V of shape (n, b), in one pass over the matrix."""

    @abstractmethod
    def rows(self, index: Array) -> Array:
        """The given rows, (m, n)."""

    def strip(self, index: Array) -> Callable[[slice], Array]:
        """The given rows as a function of a run of columns, so that they need never stand in memory at once."""
        block = self.rows(index)
        return lambda run: block[:, run]

    def crossing(self, index: Array) -> Array:
        """The entries where the given rows and columns cross, (m, m)."""
        return self.xp.take(self.rows(index), index, axis=1)

    @abstractmethod
    def diagonal(self) -> Array:
        """(n,)."""

    def ladder(self, tol: float) -> list[Operator]:
        """The same matrix from cheap and coarse to exact: a solver climbs it. The last is the one to certify on."""
        return [self]

    def forget(self) -> None:
        """Give back memory that only made later products faster."""
        return None

    def to_dense(self) -> Array:
        """The matrix, (n, n)."""
        return self.rows(self.xp.arange(self.n, **self._place()))

    def _place(self) -> dict[str, Any]:
        return {}

    def _count(self, V: Array) -> None:
        self.passes += 1
        self.columns += V.shape[1]

    @property
    def kept_bytes(self) -> int:
        """How much of the matrix is held in memory."""
        return 0


class Dense(Operator):
    """A matrix that is stored."""

    def __init__(self, A: Array) -> None:
        self.A, self.n, self.xp, self.dtype = A, A.shape[0], namespace(A), A.dtype

    def matmat(self, V: Array) -> Array:
        self._count(V)
        return self.product(V)

    def product(self, V: Array) -> Array:
        return backend_of(self.A).product(self.A, V)

    def rows(self, index: Array) -> Array:
        return self.xp.take(self.A, index, axis=0)

    def diagonal(self) -> Array:
        return self.xp.linalg.diagonal(self.A)

    def to_dense(self) -> Array:
        return self.A

    def _place(self) -> dict[str, Any]:
        return placement(self.A)

    @property
    def kept_bytes(self) -> int:
        return self.n**2 * self.xp.finfo(self.dtype).bits // 8


class LowRank(Operator):
    """F Fᵀ for F of shape (n, m)."""

    def __init__(self, F: Array) -> None:
        self.F, self.n, self.xp, self.dtype = F, F.shape[0], namespace(F), F.dtype

    def matmat(self, V: Array) -> Array:
        self._count(V)
        return self.F @ (self.F.T @ V)

    def rows(self, index: Array) -> Array:
        return self.xp.take(self.F, index, axis=0) @ self.F.T

    def diagonal(self) -> Array:
        return self.xp.sum(self.F**2, axis=1)

    def _place(self) -> dict[str, Any]:
        return placement(self.F)

    @property
    def kept_bytes(self) -> int:
        return self.F.shape[0] * self.F.shape[1] * self.xp.finfo(self.dtype).bits // 8


class Gram(Operator):
    """The matrix k(xᵢ, xⱼ), computed in tiles on and above the diagonal, each used for both of its places.

    Tiles are kept from the pass numbered `keep_from` on, as many as fit into `keep_bytes`; the rest is computed anew
    in every pass. `precision` is the dtype of the tiles; products are summed in float64 whatever it is.
    """

    def __init__(
        self,
        kernel: Kernel,
        X: Any,
        *,
        precision: Any = None,
        keep_bytes: int = 0,
        keep_from: int = 0,
        tile: int | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.kernel, self.X = kernel, X
        self.points = kernel.points(X, precision)
        self.backend = backend_for(self.points)
        self.n = len(self.points)
        like = self.kernel.diagonal(self.points[:1])
        self.xp, self.precision = namespace(like), like.dtype
        self.dtype = self.xp.float64
        self._device = placement(like)
        self._like = like
        self._keep_bytes, self._keep_from = keep_bytes, keep_from
        self.n_jobs, self.tile = n_jobs, tile
        size = min(tile or self._tile_size(), self.n)
        self.runs = [slice(i, min(i + size, self.n)) for i in range(0, self.n, size)]
        self._tiles = [(i, j) for i in range(len(self.runs)) for j in range(i, len(self.runs))]
        self._store: Array = None
        self._kept: dict[tuple[int, int], Array] = {}
        self._places = self._plan_store()

    def _tile_size(self) -> int:
        """The backend's choice; for small n a quarter, so that symmetry halves the work and every thread has some."""
        return self.backend.TILE if self.n > self.backend.TILE else max(256, -(-self.n // 4))

    def _shape(self, place: tuple[int, int]) -> tuple[int, int]:
        I, J = self.runs[place[0]], self.runs[place[1]]
        return I.stop - I.start, J.stop - J.start

    def _plan_store(self) -> dict[tuple[int, int], slice]:
        """Where in one long store each tile that is kept will lie: the first tiles, as many as fit."""
        places, used = {}, 0
        room = self._keep_bytes // (self.xp.finfo(self.precision).bits // 8)
        for place in self._tiles:
            m, n = self._shape(place)
            if used + m * n > room:
                break
            places[place] = slice(used, used + m * n)
            used += m * n
        return places

    def _place(self) -> dict[str, Any]:
        return self._device

    @property
    def kept_bytes(self) -> int:
        return 0 if self._store is None else self._store.shape[0] * self.xp.finfo(self.precision).bits // 8

    def ladder(self, tol: float) -> list[Operator]:
        """float32 tiles first: half the memory and a third of the time; then tiles of the precision asked for."""
        single = self.xp.float32
        if self.precision == single or self.n < 2 * self.backend.TILE:
            return [self]
        coarse = Gram(
            self.kernel, self.X, precision=single, keep_bytes=self._keep_bytes, tile=self.tile, n_jobs=self.n_jobs
        )
        usable = coarse.points.is_finite() and bool(self.xp.all(self.xp.isfinite(coarse.diagonal())))
        return [coarse, self] if usable else [self]

    def forget(self) -> None:
        """Give back the memory of the kept tiles."""
        self._kept, self._store = {}, None

    def matmat(self, V: Array) -> Array:
        b = V.shape[1]
        V = self._padded(self.xp.astype(V, self.precision, copy=False))
        if self._store is None and self._places and self.passes >= self._keep_from:
            entries = max(place.stop for place in self._places.values())
            self._store = self.backend.buffer(entries, 1, self._like)[:, 0]
        slots = min(self.backend.workers(self.n_jobs), len(self._tiles))
        sums = [self.xp.zeros(V.shape, dtype=self.dtype, **self._device) for _ in range(slots)]
        size = self.runs[0].stop
        buffers = [self.backend.buffer(size * size, 1, self._like) for _ in range(slots)]

        def work(place: tuple[int, int], slot: int) -> None:
            I, J = self.runs[place[0]], self.runs[place[1]]
            K = self._tile(place, buffers[slot])
            sums[slot][I, :] += K @ V[J, :]
            if I != J:
                sums[slot][J, :] += K.T @ V[I, :]

        self.backend.for_each(self._tiles, work, self.n_jobs)
        self._count(V)
        for more in sums[1:]:
            sums[0] += more
        return sums[0][:, :b]

    def _padded(self, V: Array) -> Array:
        """V with columns of zeros up to a multiple of four: BLAS is a quarter slower on odd widths."""
        missing = -V.shape[1] % 4
        if not missing:
            return V
        zeros = self.xp.zeros((self.n, missing), dtype=V.dtype, **self._device)
        return self.xp.concat([V, zeros], axis=1)

    def _tile(self, place: tuple[int, int], buffer: Array) -> Array:
        K = self._kept.get(place)
        if K is not None:
            return K
        keep = self._store is not None and place in self._places
        m, n = self._shape(place)
        out: Any = None
        if keep and self._store is not None:
            out = self.xp.reshape(self._store[self._places[place]], (m, n))
        elif buffer is not None:
            out = self.xp.reshape(buffer[: m * n, 0], (m, n))
        K = self._evaluate(place, out)
        if keep:
            if out is not K:
                out[...] = K
            self._kept[place] = out
        return K

    def _evaluate(self, place: tuple[int, int], out: Array = None) -> Array:
        I, J = self.runs[place[0]], self.runs[place[1]]
        return self.kernel.tile(self.points[I], None if I == J else self.points[J], out)

    def strip(self, index: Array) -> Callable[[slice], Array]:
        chosen = self.points.take(index)
        return lambda run: self.kernel.tile(chosen, self.points[run])

    def crossing(self, index: Array) -> Array:
        chosen = self.points.take(index)
        return self.kernel.tile(chosen, chosen)

    def rows(self, index: Array) -> Array:
        strip = self.strip(index)
        out = self.xp.empty((index.shape[0], self.n), dtype=self.precision, **self._device)

        def work(run: slice, slot: int) -> None:
            out[:, run] = strip(run)

        self.backend.for_each(self.runs, work, self.n_jobs)
        return out

    def diagonal(self) -> Array:
        return self.kernel.diagonal(self.points)

    def to_dense(self) -> Array:
        out = self.xp.empty((self.n, self.n), dtype=self.precision, **self._device)

        def work(place: tuple[int, int], slot: int) -> None:
            I, J = self.runs[place[0]], self.runs[place[1]]
            K = self._evaluate(place)
            out[I, J] = K
            if I != J:
                out[J, I] = K.T

        self.backend.for_each(self._tiles, work, self.n_jobs)
        return out


class Centered(Operator):
    """H A H, H = I − 11ᵀ/n: the operator of the centred features. A product costs O(nb) more than A's.

    The first product carries a column of ones along, so that A1, and with it the trace, needs no pass of its own.
    """

    def __init__(self, A: Operator) -> None:
        self.A: Any = A
        self.n, self.xp, self.dtype = A.n, A.xp, A.dtype
        self._sums: Array = None
        self._diagonal: Array = None  # A's, once asked for
        self._matrix: Array = None  # HAH itself, where it was formed
        self.entry_error = 0.0  # how far an entry of A may be from the kernel's value, where that is known

    @classmethod
    def consuming(cls, A: Array) -> Centered:
        """HAH formed in the memory of the matrix A, which must not be used after: for small n."""
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

    def center(self, V: Array) -> Array:
        """H V."""
        return V - self.xp.mean(V, axis=0, keepdims=True)

    def matmat(self, V: Array) -> Array:
        self._count(V)
        if self._matrix is not None:
            return self.A.product(V)
        if self._sums is not None:
            return self.center(self.A.matmat(self.center(V)))
        ones = self.xp.ones((self.n, 1), dtype=V.dtype, **self._place())
        product = self.A.matmat(self.xp.concat([self.center(V), ones], axis=1))
        self._sums = product[:, -1]
        _refuse_not_finite(self._sums, self.xp)
        return self.center(product[:, :-1])

    def row_sums(self) -> Array:
        """A1, (n,)."""
        if self._sums is None:
            ones = self.xp.ones((self.n, 1), dtype=self.dtype, **self._place())
            self._sums = self.A.matmat(ones)[:, 0]
        return self._sums

    def uncentred_diagonal(self) -> Array:
        """Aᵢᵢ, (n,)."""
        if self._diagonal is None:
            self._diagonal = self.xp.astype(self.A.diagonal(), self.dtype)
        return self._diagonal

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

    def ladder(self, tol: float) -> list[Operator]:
        steps = self.A.ladder(tol)
        return [*(Centered(A) for A in steps[:-1]), self]

    def forget(self) -> None:
        self.A.forget()

    def _place(self) -> dict[str, Any]:
        return self.A._place()

    @property
    def kept_bytes(self) -> int:
        return self.A.kept_bytes


def _refuse_not_finite(sums: Array, xp: Any) -> None:
    """A sum over a row shows an entry that is no number, wherever it stands."""
    if not bool(xp.all(xp.isfinite(sums))):
        raise ValueError(
            "The kernel matrix has entries that are not finite. A kernel function may give NaN, a polynomial of "
            "fractional degree has no value where its base is negative, and huge values overflow: scale the data, or "
            "change the kernel."
        )


def operator_of(A: Any) -> Operator:
    """A as an Operator: itself, or a matrix wrapped in Dense."""
    return A if isinstance(A, Operator) else Dense(A)
