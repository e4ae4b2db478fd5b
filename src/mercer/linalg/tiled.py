"""Symmetric matrices in tiles on and above the diagonal. Each tile serves for its mirror image too."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from copy import copy
from typing import Any

import numpy as np

from mercer.backends import cpu, namespace
from mercer.linalg.operators import Array, Operator
from mercer.progress import phase


class Tiled(Operator):
    """A matrix that is visited tile by tile (abstract). Products are summed in `dtype`, whatever the tiles are in."""

    backend: Any
    precision: Any  # of the tiles
    runs: list[slice]

    def _cut(self, size: int) -> None:
        """Lay out the tiles: runs of rows, and the pairs of runs on and above the diagonal."""
        self.runs = [slice(i, min(i + size, self.n)) for i in range(0, self.n, size)]
        self._tiles = [(i, j) for i in range(len(self.runs)) for j in range(i, len(self.runs))]

    def _shape(self, place: tuple[int, int]) -> tuple[int, int]:
        I, J = self.runs[place[0]], self.runs[place[1]]
        return I.stop - I.start, J.stop - J.start

    @abstractmethod
    def _tile(self, place: tuple[int, int], buffer: Array) -> Array:
        """The tile at a place; `buffer` is memory for it, if it has to be computed."""

    def _buffers(self, slots: int) -> list[Array]:
        """Memory for one tile per thread."""
        return [None] * slots

    def matmat(self, V: Array) -> Array:
        b = V.shape[1]
        V = self._padded(self.xp.astype(V, self.precision, copy=False))
        slots = min(self.backend.workers(self.n_jobs), len(self._tiles))
        sums = [self.xp.zeros(V.shape, dtype=self.dtype, **self.placement()) for _ in range(slots)]
        buffers = self._buffers(slots)

        def work(place: tuple[int, int], slot: int) -> None:
            I, J = self.runs[place[0]], self.runs[place[1]]
            K = self._tile(place, buffers[slot])
            sums[slot][I, :] += K @ V[J, :]
            if I != J:
                sums[slot][J, :] += K.T @ V[I, :]

        with phase(f"pass {self.passes + 1} over all pairs"):
            self.backend.for_each(self._tiles, work, self.n_jobs)
        self.count(V)
        for more in sums[1:]:
            sums[0] += more
        return sums[0][:, :b]

    def _padded(self, V: Array) -> Array:
        """V with columns of zeros up to a multiple of four: on other widths BLAS is a quarter slower."""
        missing = -V.shape[1] % 4
        if not missing:
            return V
        zeros = self.xp.zeros((self.n, missing), dtype=V.dtype, **self.placement())
        return self.xp.concat([V, zeros], axis=1)


class Packed(Tiled):
    """A symmetric matrix A of NumPy floats, stored as its tiles on and above the diagonal: V ↦ A V.

    It starts empty. To fill it, write runs of rows to the parts that `room(rows)` yields. Products are computed in
    float64, however the tiles are stored. The ladder starts with products in the precision of the tiles. Cost: n²/2
    numbers, and 2 n² b flops for b vectors.

    >>> packed = Packed(3, stored=np.float64)
    >>> packed.n
    3
    """

    TILE = 1024

    def __init__(self, n: int, *, stored: Any = np.float32, tile: int | None = None, n_jobs: int | None = None) -> None:
        self.n, self.backend, self.n_jobs = n, cpu, n_jobs
        self.xp = namespace(np.empty(0))
        self.dtype, self.precision, self.stored_as = np.float64, np.dtype(np.float64), np.dtype(stored)
        self._cut(min(tile or self.TILE, n))
        self._kept = {place: np.empty(self._shape(place), self.stored_as) for place in self._tiles}

    def room(self, rows: slice) -> Iterator[tuple[slice, np.ndarray]]:
        """(columns, part) for rows within one run of tiles, from the tile on the diagonal to the right."""
        run = rows.start // self.runs[0].stop
        I = self.runs[run]
        if rows.stop > I.stop:
            raise ValueError(f"Rows {rows.start} to {rows.stop} cross the boundary between tiles at {I.stop}.")
        inside = slice(rows.start - I.start, rows.stop - I.start)
        for j in range(run, len(self.runs)):
            yield self.runs[j], self._kept[run, j][inside]

    def symmetrize(self) -> None:
        """Make the tiles on the diagonal symmetric: copy what is above the diagonal below it."""
        for i in range(len(self.runs)):
            tile = self._kept[i, i]
            tile[...] = np.triu(tile) + np.triu(tile, 1).T

    def ladder(self, tol: float) -> list[Operator]:
        if self.stored_as == self.precision:
            return [self]
        coarse = copy(self)
        coarse.precision = self.stored_as
        return [coarse, self]

    def _buffers(self, slots: int) -> list[Array]:
        if self.stored_as == self.precision:
            return [None] * slots
        size = self.runs[0].stop
        return [np.empty(size * size, self.precision) for _ in range(slots)]

    def _tile(self, place: tuple[int, int], buffer: Array) -> np.ndarray:
        tile = self._kept[place]
        if buffer is None:
            return tile
        out = buffer[: tile.size].reshape(tile.shape)
        out[...] = tile
        return out

    def tiles(self) -> list[tuple[slice, slice, np.ndarray]]:
        """(rows, columns, tile) for every tile on and above the diagonal."""
        return [(self.runs[i], self.runs[j], tile) for (i, j), tile in self._kept.items()]

    def rows(self, index: Array) -> np.ndarray:
        index = np.asarray(index)
        out = np.empty((len(index), self.n), self.stored_as)
        run = index // self.runs[0].stop
        for r in np.unique(run):
            where = np.flatnonzero(run == r)
            inside = index[where] - self.runs[r].start
            for j, J in enumerate(self.runs):
                out[where, J] = self._kept[r, j][inside] if j >= r else self._kept[j, r].T[inside]
        return out

    def diagonal(self) -> np.ndarray:
        return np.concatenate([self._kept[i, i].diagonal() for i in range(len(self.runs))])

    @property
    def kept_bytes(self) -> int:
        return sum(tile.nbytes for tile in self._kept.values())
