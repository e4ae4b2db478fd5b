"""The kernel matrix as an operator whose products are dealt to workers, so that solvers run unchanged on a cluster.

The rows are cut into p runs. A task multiplies the block of two runs I ≤ J by V, and its mirror image: K_IJ V_J and
K_IJᵀ V_I, tile by tile. What comes back is added in float64 in a fixed order, so the number of workers changes no bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations_with_replacement, pairwise
from typing import Any, Protocol

import numpy as np

from mercer.linalg.gram import Gram
from mercer.linalg.operators import Array, Operator
from mercer.progress import counted

# Runs of rows. A pass of b columns brings back n b (p + 1) numbers, and p (p + 1)/2 blocks keep a hundred workers busy.
_RUNS = 32
# Rows of a run, at least: a block of 4096² entries takes a worker tenths of a second, and dask a millisecond.
_LEAST_ROWS = 4096


class Computing(Protocol):
    """Workers of a cluster, as `mercer.backends.dask_workers` has them."""

    def share(self, value: Any) -> Any: ...

    def each(self, function: Callable[..., Any], shared: Any, jobs: Iterable[Sequence[Any]]) -> Iterator[Any]: ...


class DealtGram(Operator):
    """A streamed kernel matrix of NumPy data whose products workers compute (final).

    gram : the matrix; rows, diagonal and the factor that a solver starts from are computed here
    runs : into how many runs the rows are cut; by default as many as leave 4096 rows to each, up to 32

    Cost of a pass over b columns: n²/2 kernel entries, dealt to the workers; n b numbers travel to each of them, and
    n b (runs + 1) come back. A worker holds the rows in each precision, V, and a tile.
    """

    def __init__(self, gram: Gram, workers: Computing, *, runs: int | None = None) -> None:
        self.gram, self.workers = gram, workers
        self.n, self.xp, self.dtype, self.n_jobs = gram.n, gram.xp, gram.dtype, gram.n_jobs
        count = runs or max(1, min(_RUNS, self.n // _LEAST_ROWS))
        cuts = [self.n * i // count for i in range(count + 1)]
        self.runs = [slice(*pair) for pair in pairwise(cuts)]
        self._shared: Any = None

    def matmat(self, V: Array) -> np.ndarray:
        if self._shared is None:
            self._shared = self.workers.share(self.gram)
        sent = self.workers.share(np.asarray(V, self.gram.precision))
        blocks = list(combinations_with_replacement(self.runs, 2))
        products = self.workers.each(_block_products, self._shared, ((sent, I, J) for I, J in blocks))
        total = np.zeros(V.shape, self.dtype)
        name = f"pass {self.passes + 1} over all pairs"
        for (I, J), (left, right) in counted(name, zip(blocks, products, strict=True), len(blocks)):
            total[I] += left
            if right is not None:
                total[J] += right
        self.count(V)
        return total

    def rows(self, index: Array) -> Array:
        return self.gram.rows(index)

    def strip(self, index: Array) -> Callable[[slice], Array]:
        return self.gram.strip(index)

    def crossing(self, index: Array) -> Array:
        return self.gram.crossing(index)

    def diagonal(self) -> Array:
        return self.gram.diagonal()

    def to_dense(self) -> Array:
        return self.gram.to_dense()

    def ladder(self, tol: float) -> list[Operator]:
        coarse = [step for step in self.gram.ladder(tol)[:-1] if isinstance(step, Gram)]
        return [*(DealtGram(step, self.workers, runs=len(self.runs)) for step in coarse), self]


def _block_products(gram: Gram, V: np.ndarray, I: slice, J: slice) -> tuple[np.ndarray, np.ndarray | None]:
    """K_IJ V_J, and K_IJᵀ V_I if the block is not on the diagonal, in tiles; sums in float64."""
    size, b = gram.backend.TILE, V.shape[1]
    left = np.zeros((I.stop - I.start, b), gram.dtype)
    right = left if I == J else np.zeros((J.stop - J.start, b), gram.dtype)
    for rows in _cut(I, size):
        for columns in _cut(J, size):
            if I == J and columns.start < rows.start:
                continue  # the mirror image of a tile that was computed
            same = rows == columns
            K = gram.kernel.tile(gram.points[rows], None if same else gram.points[columns])
            left[rows.start - I.start : rows.stop - I.start] += K @ V[columns]
            if not same:
                right[columns.start - J.start : columns.stop - J.start] += K.T @ V[rows]
    return left, None if I == J else right


def _cut(run: slice, size: int) -> list[slice]:
    return [slice(start, min(start + size, run.stop)) for start in range(run.start, run.stop, size)]
