"""The statistics of one chunk, on all cores, with bits that depend on neither the cores nor who computes the chunk.

A chunk is cut into runs of rows. A run is mapped and multiplied in the precision of the map, in a thread of its own;
its sums are added in float64, in the order of the runs. A chunk of tensors is summed on their device, one run after
the other, and only its sums come back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Condition
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.backends import backend_of, is_foreign, namespace, placement, to_numpy
from mercer.streams.row_maps import Room, RowMap
from mercer.streams.sufficient_statistics import Draws, SufficientStatistics, draw_rows

RUN_ROWS = 2048  # enough for BLAS to run at full speed, few enough that sums move to float64 often
RUN_NUMBERS = 2**23  # of a run's features: 32 MB in float32, so that many columns do not need much memory
DEVICE_SHARE = 4  # runs on a device are longer by this factor, so that its many cores have enough to do


def run_rows(columns: int, *, on_device: bool = False) -> int:
    """Rows of a run with this many columns."""
    factor = DEVICE_SHARE if on_device else 1
    return max(64, min(factor * RUN_ROWS, factor * RUN_NUMBERS // max(1, columns)))


@dataclass(frozen=True)
class ChunkWork:
    """A pass over rows: what to compute from each chunk. It can be pickled, so other processes can compute chunks too.

    maps : one per view
    draws : rows that every chunk draws for each map with a kernel
    key : the seed and the number of the pass
    weights : (C,), how much a row of each class counts in the sums and products; the mean over all rows is one. The
        classes are the last view.

    >>> ChunkWork(maps=()).draws
    0
    """

    maps: tuple[RowMap, ...]
    draws: int = 0
    key: tuple[int, int] = (0, 0)
    n_jobs: int | None = None
    weights: tuple[float, ...] | None = None

    def __call__(self, number: int, first: int, views: Sequence[Any]) -> SufficientStatistics:
        """The statistics of chunk `number`, whose first row has the number `first` among all rows.

        views : the rows of the chunk, one matrix per map
        """
        like = next((rows for rows in views if is_foreign(rows)), None)
        sums = _Sums(self.maps, views[0].shape[0], self.weights, like)
        size = run_rows(sum(each.columns for each in self.maps), on_device=like is not None)
        runs = [slice(start, min(start + size, sums.n)) for start in range(0, sums.n, size)]
        backend = backend_of(like)
        with backend.one_thread():
            jobs = list(enumerate(runs))
            backend.for_each(jobs, lambda job, slot: sums.add(job[0], job[1], views, slot), self.n_jobs)
        sums.come_home()
        sums.refuse_infinite(number, first)
        drawn = tuple(
            draw_rows(rows, left, self.draws, first, (*self.key, v, number))
            if self.draws and left is not None
            else None
            for v, (rows, left) in enumerate(zip(views, sums.residuals, strict=True))
        )
        return sums.statistics(drawn)

    def nothing(self, views: Sequence[Any]) -> SufficientStatistics:
        """The statistics of no rows."""
        return _Sums(self.maps, 0).statistics((None,) * len(self.maps))


class _Sums:
    """Sums over the runs of a chunk, added in the order of the runs whichever thread computed them."""

    def __init__(
        self, maps: Sequence[RowMap], n: int, weights: Sequence[float] | None = None, like: Any = None
    ) -> None:
        self.maps, self.n, self.like = maps, n, like
        self.xp, self.place = namespace(like), placement(like)
        self.weights = None if weights is None else np.asarray(weights)
        m, v = sum(each.columns for each in maps), len(maps)
        self.sums, self.products, *kernel = (self._zeros(*shape) for shape in ((m,), (m, m), (v,), (v,), (v,), (v,)))
        self.trace, self.left, self.negative, self.largest = kernel
        self.residuals: list[Any] = [None] * v
        self.rooms: dict[int, Room] = {}
        self.next_run, self.turn, self.failed = 0, Condition(), False

    def add(self, number: int, run: slice, views: Sequence[Any], slot: int) -> None:
        room = self.rooms.setdefault(slot, Room())
        try:
            with np.errstate(over="ignore", invalid="ignore", under="ignore"):  # `refuse_infinite` judges the sums
                mapped = [each(rows[run], room) for each, rows in zip(self.maps, views, strict=True)]
                F = self._joined([f for f, _, _ in mapped])
                own = None if self.weights is None else self.weights[views[-1][run, 0].astype(np.intp)]
                sums, product = self._sums_of(F, own, room)
        except BaseException:
            with self.turn:
                self.failed = True
                self.turn.notify_all()
            raise
        with self.turn:
            self.turn.wait_for(lambda: self.next_run == number or self.failed)
            if self.failed:
                return
            with np.errstate(over="ignore", invalid="ignore"):
                self.sums += sums
                self.products += product
                for v, (_, diagonal, squares) in enumerate(mapped):
                    if diagonal is not None and squares is not None:
                        self._add_kernel(v, run, diagonal, squares)
            self.next_run += 1
            self.turn.notify_all()

    def _add_kernel(self, v: int, run: slice, diagonal: Any, squares: Any) -> None:
        xp = self.xp
        left, noise = diagonal - squares, self.maps[v].slack * diagonal
        none = xp.zeros_like(left)
        self.trace[v] += xp.sum(diagonal)
        self.left[v] += xp.sum(xp.maximum(left, none))
        # Four times what rounding was seen to do is no longer rounding.
        self.negative[v] -= xp.sum(xp.where(left < -4 * noise, left, none)) + xp.sum(xp.minimum(diagonal, none))
        self.largest[v] = xp.maximum(self.largest[v], xp.max(diagonal))
        if self.residuals[v] is None:
            self.residuals[v] = self._zeros(self.n)
        self.residuals[v][run] = xp.where(left > noise, left, none)

    def come_home(self) -> None:
        """Bring the sums of a device to the host."""
        if self.like is None:
            return
        for name in ("sums", "products", "trace", "left", "negative", "largest"):
            setattr(self, name, to_numpy(getattr(self, name)))
        self.residuals = [None if each is None else to_numpy(each) for each in self.residuals]

    def _zeros(self, *shape: int) -> Any:
        return self.xp.zeros(shape, dtype=self.xp.float64, **self.place)

    def _sums_of(self, F: Any, weights: np.ndarray | None, room: Room) -> tuple[Any, Any]:
        """Σ w f and Σ w f fᵀ over the rows f of F."""
        if self.like is None:
            return _sums_of(F, weights, room)
        xp = self.xp
        W = F if weights is None else F * xp.asarray(weights, dtype=F.dtype, **self.place)[:, None]
        return xp.sum(W, axis=0, dtype=xp.float64), F.T @ W

    def _joined(self, parts: list[Any]) -> Any:
        """The features of all maps side by side, where those of a tensor are."""
        if self.like is None:
            return _joined(parts)
        xp = self.xp
        precision = xp.float64 if any(str(part.dtype).endswith("64") for part in parts) else xp.float32
        moved = [xp.asarray(part, dtype=precision, **self.place) for part in parts]
        return moved[0] if len(moved) == 1 else xp.concat(moved, axis=1)

    def refuse_infinite(self, number: int, first: int) -> None:
        if (
            np.isfinite(self.sums).all()
            and np.isfinite(self.products.diagonal()).all()
            and np.isfinite(self.left).all()
        ):
            return
        raise ValueError(
            f"The values of chunk {number}, which starts with row {first} of all, are too large or not numbers: sums "
            "of their squares, or the kernel, overflow. Scale the data."
        )

    def statistics(self, draws: tuple[Draws | None, ...]) -> SufficientStatistics:
        shift = np.concatenate([np.asarray(each.shift, np.float64) for each in self.maps])
        kernel = self.trace, self.left, self.negative, self.largest
        return SufficientStatistics(self.n, shift, self.sums, self.products, *kernel, draws)


def _sums_of(F: Any, weights: np.ndarray | None, room: Room) -> tuple[np.ndarray, np.ndarray]:
    """Σ w f and Σ w f fᵀ over the rows f of F."""
    if weights is None and not sp.issparse(F):
        m = F.shape[1]
        return F.sum(axis=0, dtype=np.float64), np.matmul(F.T, F, out=room.matrix(m, m, F.dtype, -1))
    if weights is None:
        sums, product = np.asarray(F.sum(axis=0, dtype=np.float64)).reshape(-1), F.T @ F
    else:
        roots = np.sqrt(weights)[:, None]
        F = F.multiply(roots).tocsr() if sp.issparse(F) else F * roots.astype(F.dtype)
        sums, product = np.asarray(F.T @ roots[:, 0], np.float64).reshape(-1), F.T @ F
    return sums, product.toarray() if sp.issparse(product) else product


def _joined(parts: list[Any]) -> Any:
    if len(parts) == 1:
        return parts[0]
    return np.concatenate([part.toarray() if sp.issparse(part) else part for part in parts], axis=1)
