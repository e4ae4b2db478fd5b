"""Sufficient statistics of rows: all that PCA, kernel PCA, discriminants, CCA and ridge need of them.

For a map f of a row into m numbers (the row itself for PCA, its low-rank features for a kernel) these are

    n,  Σ (f − s),  Σ (f − s)(f − s)ᵀ,  Σ k(x, x),  Σ (k(x, x) − ‖f(x)‖²)

about a shift s that is fixed beforehand, so that the sums hold the spread of f and not its distance from the origin.
All of them are sums, so those of several chunks merge by addition: on one machine, in a file, or over a network.

The same pass draws rows that would make the next landmarks. A chunk draws b rows in proportion to what the features
leave of their k(x, x), and sets b exponential clocks whose rate is the chunk's total. The clock that rings first over
all chunks belongs to chunk c with the probability of c's share of the whole total, so its row is a draw in proportion
over all rows. Merging keeps the earlier of two clocks.

References: Epperly, Tropp & Webber, Embrace rejection: kernel matrix approximation by accelerated randomly pivoted
Cholesky (arXiv 2410.03969).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.backends import is_foreign, to_numpy
from mercer.random_state import generator_from


@dataclass(frozen=True)
class Draws:
    """b rows drawn in proportion to what is left of k(x, x).

    clocks : (b,), the times at which they were drawn; infinite if nothing was left to draw
    places : (b,), their numbers among all rows; −1 if nothing was left
    rows : (b, d), the rows themselves, dense or CSR
    """

    clocks: np.ndarray
    places: np.ndarray
    rows: Any

    def merge(self, other: Draws) -> Draws:
        """The earlier draw of each pair."""
        later = other.clocks < self.clocks
        rows = self.rows
        if later.any():
            index = np.flatnonzero(later)
            if sp.issparse(rows) or sp.issparse(other.rows):
                both = sp.vstack([sp.csr_array(rows), sp.csr_array(other.rows)], format="csr")
                order = np.arange(len(later))
                order[index] += len(later)
                rows = both[order]
            else:
                rows = rows.copy()
                rows[index] = other.rows[index]
        return Draws(np.where(later, other.clocks, self.clocks), np.where(later, other.places, self.places), rows)

    def found(self) -> np.ndarray:
        """Numbers of the draws that found a row, each row once, in the order of the draws."""
        alive = np.flatnonzero(self.places >= 0)
        _, first = np.unique(self.places[alive], return_index=True)
        return alive[np.sort(first)]


def draw_rows(rows: Any, left: np.ndarray, b: int, first: int, key: Sequence[int]) -> Draws:
    """b draws from a chunk whose first row has the number `first`.

    left : (rows,), what the features leave of each k(x, x), at least zero
    key : the seed, the number of the pass and that of the chunk. Nothing else decides what is drawn.
    """
    rng = np.random.default_rng(list(key))
    total = float(left.sum())
    clocks = rng.exponential(size=b)
    if not total > 0:
        kind = to_numpy(rows[:0]).dtype if is_foreign(rows) else rows.dtype
        shape = b, rows.shape[1]
        blank = sp.csr_array(shape, dtype=kind) if sp.issparse(rows) else np.zeros(shape, kind)
        return Draws(np.full(b, np.inf), np.full(b, -1, np.int64), blank)
    chosen = np.searchsorted(np.cumsum(left), rng.random(b) * total, side="right")
    # Rounding may lead beyond the last row, or to one of which nothing is left.
    chosen = np.minimum(chosen, np.flatnonzero(left > 0)[-1])
    drawn = rows[chosen]
    return Draws(clocks / total, first + chosen.astype(np.int64), to_numpy(drawn) if is_foreign(drawn) else drawn)


@dataclass(frozen=True)
class SufficientStatistics:
    """The sums of one pass over rows. Arrays with one entry per map have one for each of v views.

    n : the number of rows
    shift : (m,), the shift that was fixed before the pass
    sums, products : (m,), Σ (f − shift), and (m, m), Σ (f − shift)(f − shift)ᵀ, in float64
    trace : (v,), Σ k(x, x); zero for maps without a kernel
    left : (v,), Σ max(0, k(x, x) − ‖f(x)‖²)
    negative : (v,), how far below zero k(x, x) − ‖f(x)‖² was seen to go beyond rounding, summed
    largest : (v,), the largest k(x, x)
    draws : (v,), the next landmarks of each map, or none

    >>> first = SufficientStatistics.of(np.array([[1.0], [3.0]]), np.zeros(1))
    >>> second = SufficientStatistics.of(np.array([[5.0]]), np.zeros(1))
    >>> both = first.merge(second)
    >>> both.mean.tolist(), both.centred_products().tolist()
    ([3.0], [[8.0]])
    """

    n: int
    shift: np.ndarray
    sums: np.ndarray
    products: np.ndarray
    trace: np.ndarray
    left: np.ndarray
    negative: np.ndarray
    largest: np.ndarray
    draws: tuple[Draws | None, ...] = ()

    @classmethod
    def of(cls, rows: np.ndarray, shift: np.ndarray) -> SufficientStatistics:
        """The statistics of a few rows about a given shift."""
        F = np.asarray(rows, np.float64) - shift
        zero = np.zeros(1)
        return cls(len(F), shift, F.sum(axis=0), F.T @ F, zero, zero, zero, zero, (None,))

    def merge(self, other: SufficientStatistics) -> SufficientStatistics:
        """The statistics of the rows of both. Different shifts raise ValueError."""
        if not np.array_equal(self.shift, other.shift):
            raise ValueError("Statistics about different shifts do not add up: both passes need the same maps.")
        return SufficientStatistics(
            self.n + other.n,
            self.shift,
            self.sums + other.sums,
            self.products + other.products,
            self.trace + other.trace,
            self.left + other.left,
            self.negative + other.negative,
            np.maximum(self.largest, other.largest),
            tuple(
                mine if theirs is None else theirs if mine is None else mine.merge(theirs)
                for mine, theirs in zip(self.draws, other.draws, strict=True)
            ),
        )

    @property
    def mean(self) -> np.ndarray:
        """(m,), the mean of f."""
        return self.shift + self.sums / max(1, self.n)

    def centred_products(self) -> np.ndarray:
        """(m, m), Σ (f − mean)(f − mean)ᵀ."""
        return self.products - np.outer(self.sums, self.sums) / max(1, self.n)

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Plain arrays by name, for files and networks. `from_arrays` makes the same statistics from them."""
        names = ("shift", "sums", "products", "trace", "left", "negative", "largest")
        arrays = {"n": np.array([self.n, len(self.draws)], np.int64), **{name: getattr(self, name) for name in names}}
        for v, draws in enumerate(self.draws):
            if draws is not None:
                arrays |= {f"draws.{v}.clocks": draws.clocks, f"draws.{v}.places": draws.places}
                arrays |= {f"draws.{v}.{name}": part for name, part in _parts(draws.rows).items()}
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> SufficientStatistics:
        n, views = (int(value) for value in arrays["n"])
        draws: list[Draws | None] = []
        for v in range(views):
            found = {name.rpartition(".")[2]: part for name, part in arrays.items() if name.startswith(f"draws.{v}.")}
            draws.append(Draws(found["clocks"], found["places"], _rows(found)) if found else None)
        names = ("shift", "sums", "products", "trace", "left", "negative", "largest")
        parts: dict[str, Any] = {name: arrays[name] for name in names}
        return cls(n=n, draws=tuple(draws), **parts)


def _parts(rows: Any) -> dict[str, np.ndarray]:
    if not sp.issparse(rows):
        return {"rows": np.ascontiguousarray(rows)}
    shape = np.array(rows.shape, np.int64)
    return {"data": rows.data, "indices": rows.indices, "indptr": rows.indptr, "shape": shape}


def _rows(parts: Mapping[str, np.ndarray]) -> Any:
    if "rows" in parts:
        return parts["rows"]
    shape = tuple(int(size) for size in parts["shape"])
    return sp.csr_array((parts["data"], parts["indices"], parts["indptr"]), shape=shape)


def seed_number(random_state: Any) -> int:
    """A whole number that stands for the random state, so that draws of every chunk can be keyed by it."""
    return int(generator_from(random_state).integers(2**62))
