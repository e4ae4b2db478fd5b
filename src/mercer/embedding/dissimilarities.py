"""The dissimilarities of all pairs of rows, stored once per pair or computed again in every pass over them.

Every pass visits each pair i < j once. The dissimilarities of row i with i + 1, i + 2, … are contiguous, in one of
three places: in the condensed upper half of the matrix (n(n − 1)/2 numbers, the default), in a square matrix that the
caller holds anyway, or in a block of rows that is computed when it is read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.backends import cpu
from mercer.exceptions import DisconnectedGraphError
from mercer.graph.connectivity import connected
from mercer.linalg.inner import power_of_two

_BLOCK = 2**19  # dissimilarities that a thread holds at once: 4 MB
_PIECES = 64  # jobs of a pass over kept dissimilarities; they shrink, so that threads finish together
UNKNOWN = -1.0  # stands for a pair that is not known: dissimilarities are not negative


@dataclass(frozen=True)
class Block:
    """Rows first … last − 1 with all later ones: row first + r begins at flat[starts[r]]; in units of 1/scale."""

    first: int
    last: int
    flat: np.ndarray
    starts: np.ndarray
    scale: float


class Dissimilarities:
    """δ of all pairs of n rows (final).

    n : rows
    unit : a power of two near the largest δ; blocks times their scale are δ/unit
    flat, starts : where they are kept; None if they are computed in every pass
    table : (rows, later rows) ↦ δ between them, in the precision of the data
    unknown : condensed places of pairs that are not known, (u,); None if all are
    """

    def __init__(
        self,
        n: int,
        unit: float,
        table: Callable[[np.ndarray, np.ndarray], np.ndarray],
        *,
        flat: np.ndarray | None = None,
        starts: np.ndarray | None = None,
        scale: float = 1.0,
        unknown: np.ndarray | None = None,
    ) -> None:
        self.n, self.unit, self.table = n, unit, table
        self.flat, self.starts, self.scale, self.unknown = flat, starts, scale, unknown

    @classmethod
    def of_rows(cls, index: Any, keep: Any, n_jobs: int | None) -> Dissimilarities:
        """Dissimilarities by the metric of an index, kept in the precision `keep`; if None, computed in every pass."""
        n = index.n
        first = index.between(np.zeros(1, np.int64), np.arange(n))
        unit = power_of_two(float(first.max(initial=0.0)))
        found = cls(n, unit, index.between, scale=1 / unit)
        return found if keep is None else found.kept(keep, n_jobs)

    @classmethod
    def of_matrix(cls, D: np.ndarray, keep: Any, n_jobs: int | None) -> Dissimilarities:
        """Dissimilarities from a symmetric matrix; NaN marks unknown pairs. With keep=None the matrix is not copied."""
        n = len(D)
        largest = float(np.nanmax(D, initial=0.0))
        unit, square = power_of_two(largest), D if D.flags.c_contiguous else D.T
        found = cls(n, unit, lambda rows, others: D[rows[0] : rows[-1] + 1, others[0] : others[-1] + 1], scale=1 / unit)
        if keep is None and square.flags.c_contiguous and not np.isnan(D).any():
            return cls(n, unit, found.table, flat=square.reshape(-1), starts=square_starts(n), scale=1 / unit)
        return found.kept(D.dtype if keep is None else keep, n_jobs)

    def kept(self, dtype: Any, n_jobs: int | None) -> Dissimilarities:
        """The same, condensed: n(n − 1)/2 numbers of this precision, in units."""
        n, starts = self.n, condensed_starts(self.n)
        flat = np.empty(n * (n - 1) // 2, dtype)
        largest = np.zeros(cpu.workers(n_jobs))

        def work(rows: tuple[int, int], slot: int) -> None:
            first, last = rows
            D = self.table(np.arange(first, last), np.arange(first, n))
            for i in range(first, last):
                flat[starts[i] : starts[i] + n - 1 - i] = D[i - first, i + 1 - first :]
            own = flat[starts[first] : starts[last] if last < n else len(flat)]
            own *= self.scale
            gaps = np.isnan(own)
            own[gaps] = UNKNOWN
            largest[slot] = max(largest[slot], float(own.max(initial=0.0)))

        cpu.for_each(_row_blocks(n), work, n_jobs)
        if not np.isfinite(largest.max()):
            raise ValueError("Some dissimilarities overflow. Scale the data down.")
        unknown = np.flatnonzero(flat < 0) if (flat < 0).any() else None
        return Dissimilarities(n, self.unit, self.table, flat=flat, starts=starts, unknown=unknown)

    def jobs(self, exact: bool = False) -> list[tuple[int, int]]:
        """The blocks of rows of one pass."""
        return _row_blocks(self.n) if self._streams(exact) else _pieces(self.n)

    def read(self, rows: tuple[int, int], exact: bool = False) -> Block:
        """The dissimilarities of a block of rows. `exact` asks the source again if the kept ones are rounded."""
        first, last = rows
        if not self._streams(exact):
            assert self.flat is not None and self.starts is not None
            return Block(first, last, self.flat, self.starts[first:last], self.scale)
        D = np.ascontiguousarray(self.table(np.arange(first, last), np.arange(first, self.n)))
        at = np.arange(last - first)
        starts = at * (self.n - first) + at + 1
        if self.unknown is not None:
            D = np.where(np.isnan(D), UNKNOWN, D)
        return Block(first, last, D.reshape(-1), starts, 1 / self.unit)

    def _streams(self, exact: bool) -> bool:
        return self.flat is None or (exact and self.flat.dtype == np.float32)

    def columns(self, chosen: np.ndarray) -> np.ndarray:
        """(n, m) float64, δ of every row to the chosen ones; NaN for pairs that are not known."""
        out = np.empty((self.n, len(chosen)))
        if self.flat is None:
            for start in range(0, self.n, 4096):  # rows that are read at a time
                rows = np.arange(start, min(start + 4096, self.n))
                out[rows] = self.table(rows, chosen)
            out[chosen, np.arange(len(chosen))] = 0.0
            return out
        assert self.starts is not None
        everyone = np.arange(self.n)
        for place, j in enumerate(chosen):
            low, high = np.minimum(everyone, j), np.maximum(everyone, j)
            at = self.starts[low] + high - low - 1
            at[j] = at[j - 1] if j else at[1]  # any place that exists: the row itself is set below
            column = self.flat[at] * (self.scale * self.unit)
            column[j] = 0.0
            out[:, place] = np.where(column < 0, np.nan, column)
        return out

    def refuse_unconnected(self) -> None:
        """Raise DisconnectedGraphError if the known pairs do not connect all rows: the parts could lie anywhere."""
        if self.unknown is None:
            return
        assert self.flat is not None
        count, labels = connected(_known_graph(self.flat, self.n))
        if count > 1:
            largest = int(np.bincount(labels).max())
            raise DisconnectedGraphError(
                f"The known dissimilarities connect the {self.n:,} rows into {count:,} separate parts; the largest has "
                f"{largest:,} rows. How the parts lie to each other is unknown. Give a dissimilarity between parts, "
                "or map each part by itself."
            )


def condensed_starts(n: int) -> np.ndarray:
    """(n,), where row i begins in the condensed upper half, the order of scipy.spatial.distance.pdist."""
    i = np.arange(n, dtype=np.int64)
    return i * n - i * (i + 1) // 2


def square_starts(n: int) -> np.ndarray:
    """(n,), where row i begins behind the diagonal of a square matrix."""
    return np.arange(n, dtype=np.int64) * (n + 1) + 1


def condensed_pairs(places: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """(i, j), i < j, of places in the condensed upper half."""
    starts = condensed_starts(n)
    i = np.searchsorted(starts, places, side="right") - 1
    i = np.minimum(i, n - 2)  # the last two rows begin at the same place
    return i, places - starts[i] + i + 1


def refuse_bad_matrix(D: np.ndarray, *, missing: bool) -> None:
    """Raise ValueError for entries that are negative, infinite or not symmetric, and for NaN unless `missing`."""
    if D.shape[0] != D.shape[1]:
        raise ValueError(f"Precomputed dissimilarities must be a square matrix, not one of {D.shape}.")
    n, size, gaps = len(D), 1024, 0
    for a in range(0, n, size):
        for b in range(a, n, size):
            upper, lower = D[a : a + size, b : b + size], D[b : b + size, a : a + size].T
            gaps += int(np.isnan(upper).sum())
            if (upper < 0).any() or (lower < 0).any():
                raise ValueError("Precomputed dissimilarities must not be negative, but some are.")
            if np.isinf(upper).any() or np.isinf(lower).any():
                raise ValueError("Input X contains infinity: dissimilarities must be finite.")
            if not np.allclose(upper, lower, atol=1e-10, equal_nan=True):  # scikit-learn's tolerance
                raise ValueError(
                    "Precomputed dissimilarities must be a symmetric matrix, but this one is not. Use (D + D.T) / 2."
                )
    if gaps and not missing:
        raise ValueError(
            "Input X contains NaN. Set allow_missing=True to leave pairs whose dissimilarity is NaN out of the stress, "
            "or fill them in."
        )


def _known_graph(flat: np.ndarray, n: int) -> sp.csr_array:
    """The known pairs as a sparse graph."""
    i, j = condensed_pairs(np.flatnonzero(flat >= 0), n)
    return sp.csr_array((np.ones(len(i), np.float32), (i, j)), shape=(n, n))


def _row_blocks(n: int) -> list[tuple[int, int]]:
    """Blocks of rows whose dissimilarities to all later rows are computed together."""
    blocks, first = [], 0
    while first < n - 1:
        last = min(n, first + max(1, _BLOCK // (n - first)))
        blocks.append((first, last))
        first = last
    return blocks


def _pieces(n: int) -> list[tuple[int, int]]:
    """Runs of rows with about as many pairs each."""
    pairs = np.cumsum(np.arange(n - 1, 0, -1))
    edges = np.searchsorted(pairs, np.arange(1, _PIECES) * (pairs[-1] / _PIECES)) + 1
    cuts = np.unique(np.concatenate([[0], edges, [n]]))
    return [(int(a), int(b)) for a, b in pairwise(cuts)]
