"""The statistics of one chunk, on all cores, with bits that depend on neither the cores nor who computes the chunk.

A chunk is cut into runs of rows. A run is mapped and multiplied in the precision of the map, in a thread of its own;
its sums are added in float64, in the order of the runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Condition
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.backends import cpu
from mercer.streams.row_maps import RowMap
from mercer.streams.sufficient_statistics import Draws, SufficientStatistics, draw_rows

RUN_ROWS = 2048  # enough for BLAS to run at full speed, few enough that sums move to float64 often
RUN_NUMBERS = 2**23  # of a run's features: 32 MB in float32, so that many columns do not need much memory


def run_rows(columns: int) -> int:
    """Rows of a run with this many columns."""
    return max(64, min(RUN_ROWS, RUN_NUMBERS // max(1, columns)))


@dataclass(frozen=True)
class ChunkWork:
    """A pass over rows: what to compute of each chunk. It pickles, so that others can compute chunks as well.

    maps : one per view
    draws : rows that every chunk draws for each map with a kernel
    key : the seed and the number of the pass
    weights : (C,), what a row of each class counts in the sums and products, one on average over all rows. The classes
        are the last view.
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
        sums = _Sums(self.maps, views[0].shape[0], self.weights)
        size = run_rows(sum(each.columns for each in self.maps))
        runs = [slice(start, min(start + size, sums.n)) for start in range(0, sums.n, size)]
        with cpu.one_thread():
            cpu.for_each(list(enumerate(runs)), lambda job, _: sums.add(job[0], job[1], views), self.n_jobs)
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

    def __init__(self, maps: Sequence[RowMap], n: int, weights: Sequence[float] | None = None) -> None:
        self.maps, self.n = maps, n
        self.weights = None if weights is None else np.asarray(weights)
        m, v = sum(each.columns for each in maps), len(maps)
        self.sums, self.products = np.zeros(m), np.zeros((m, m))
        self.trace, self.left, self.negative, self.largest = (np.zeros(v) for _ in range(4))
        self.residuals: list[np.ndarray | None] = [None] * v
        self.next_run, self.turn, self.failed = 0, Condition(), False

    def add(self, number: int, run: slice, views: Sequence[Any]) -> None:
        try:
            with np.errstate(over="ignore", invalid="ignore", under="ignore"):  # `refuse_infinite` judges the sums
                mapped = [each(rows[run]) for each, rows in zip(self.maps, views, strict=True)]
                F = _joined([f for f, _, _ in mapped])
                own = None if self.weights is None else self.weights[views[-1][run, 0].astype(np.intp)]
                sums, product = _sums_of(F, own)
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

    def _add_kernel(self, v: int, run: slice, diagonal: np.ndarray, squares: np.ndarray) -> None:
        left, noise = diagonal - squares, self.maps[v].slack * diagonal
        self.trace[v] += diagonal.sum()
        self.left[v] += np.maximum(left, 0.0).sum()
        # Four times what rounding was seen to do is no longer rounding.
        self.negative[v] -= left[left < -4 * noise].sum() + np.minimum(diagonal, 0.0).sum()
        self.largest[v] = max(self.largest[v], float(diagonal.max(initial=0.0)))
        residual = self.residuals[v]
        if residual is None:
            residual = self.residuals[v] = np.zeros(self.n)
        residual[run] = np.where(left > noise, left, 0.0)

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


def _sums_of(F: Any, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Σ w f and Σ w f fᵀ over the rows f of F."""
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
