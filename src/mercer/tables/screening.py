"""Looking through a table: missing and infinite values, with their places, and what to know before a fit.

Dense matrices are read in blocks of rows, so that no copy is made and X may be a memory map of a large file.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from mercer.amounts import amount
from mercer.memory import forget_pages
from mercer.tables.source import Matrix, Raw, listed, shortened

_BLOCK = 1 << 18  # numbers per block: they fit in a core's cache
_WIDE = 1000  # ratio of spans above which one column drowns another: its share of a squared distance is below 10⁻⁶
_MANY_COPIES = 0.01  # share of rows; fewer copies do not change a map visibly


def row_blocks(X: np.ndarray) -> Iterator[slice]:
    """Slices of rows. Pages of a memory map are released after each block."""
    step = max(1, _BLOCK // max(1, X.shape[1]))
    for start in range(0, X.shape[0], step):
        rows = slice(start, min(start + step, X.shape[0]))
        yield rows
        forget_pages(X[rows])


@dataclass
class Findings:
    """The values of a table that no estimator can use."""

    missing: dict[str, tuple[int, int]]  # for each column that lacks values: how many, and the first such row
    incomplete: np.ndarray  # (n,) whether a row lacks a value
    infinite: tuple[str, int] | None  # column and row of the first infinite value


def screen(raw: Raw) -> Findings:
    """Find missing and infinite values in one pass."""
    n, p = raw.matrix.shape
    counts, first, infinite = np.zeros(p, np.int64), np.full(p, n), None
    found = Findings({}, np.zeros(n, bool), None)
    for rows, columns, values in _not_finite(raw.matrix):
        gone = np.isnan(values)
        counts += np.bincount(columns[gone], minlength=p)
        here = np.full(p, n)
        here[columns[gone][::-1]] = rows[gone][::-1]  # the first row is written last, and stays
        first = np.minimum(first, here)
        found.incomplete[rows[gone]] = True
        if infinite is None and not gone.all():
            infinite = raw.numbers[int(columns[~gone][0])], int(rows[~gone][0])
    found.infinite = infinite
    found.missing = {raw.numbers[j]: (int(counts[j]), int(first[j])) for j in np.flatnonzero(counts)}
    for name, values in raw.texts.items():
        gone = absent(values)
        if gone.any():
            found.missing[name] = int(gone.sum()), int(gone.argmax())
            found.incomplete |= gone
    return found


def _not_finite(X: Matrix) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Rows, columns and values of what is NaN or infinite, block by block."""
    if sparse.issparse(X):
        entries = X.tocoo()
        bad = ~np.isfinite(entries.data)
        yield entries.coords[0][bad], entries.coords[1][bad], entries.data[bad]
        return
    for block in row_blocks(X):
        with np.errstate(over="ignore", invalid="ignore"):
            if np.isfinite(np.sum(X[block])):  # then every value is, and a sum is faster than testing each
                continue
        rows, columns = np.nonzero(~np.isfinite(X[block]))
        yield rows + block.start, columns, X[block][rows, columns]


def absent(texts: np.ndarray) -> np.ndarray:
    """(n,) where a column of text has no value."""
    none: Any = None
    return np.equal(texts, none).astype(bool)


def extremes(X: Matrix) -> tuple[np.ndarray, np.ndarray]:
    """(p,) the least and the greatest value of each column."""
    if sparse.issparse(X):
        return X.min(axis=0).toarray().ravel(), X.max(axis=0).toarray().ravel()
    least, most = np.full(X.shape[1], np.inf), np.full(X.shape[1], -np.inf)
    for rows in row_blocks(X):
        np.minimum(least, X[rows].min(axis=0), out=least)
        np.maximum(most, X[rows].max(axis=0), out=most)
    return least, most


def copies(X: Matrix) -> int:
    """How many rows equal an earlier one bit by bit, compared by a 64-bit hash. Not counted for sparse X."""
    if sparse.issparse(X):
        return 0
    odd = np.random.default_rng(0).integers(0, 2**63, X.shape[1], np.uint64) * np.uint64(2) + np.uint64(1)
    kind = np.uint64 if X.dtype.itemsize == 8 else np.uint32
    sums = np.empty(X.shape[0], np.uint64)
    for rows in row_blocks(X):
        bits = np.ascontiguousarray(X[rows]).view(kind).astype(np.uint64)
        bits = (bits ^ (bits >> np.uint64(32))) * odd  # short numbers end in zero bits: mix the high bits in
        sums[rows] = (bits ^ (bits >> np.uint64(29))).sum(axis=1, dtype=np.uint64)
    sums.sort()
    return int((sums[1:] == sums[:-1]).sum())


def notes_on(X: Matrix, features: list[str], scaled: bool) -> list[str]:
    """Sentences on constant columns, columns on very different scales, and repeated rows."""
    if X.shape[0] < 2:
        return []
    least, most = extremes(X)
    names = [features[j] for j in np.flatnonzero(least == most)]
    are = "is" if len(names) == 1 else "are"
    constant = [f"{len(names)} of {amount(X.shape[1], 'column')} {are} constant: {listed(names)}."] if names else []
    comparable = not scaled and not sparse.issparse(X)
    return [*constant, *(_note_on_scales(least, most, features) if comparable else []), *_note_on_copies(X)]


def _note_on_scales(least: np.ndarray, most: np.ndarray, features: list[str]) -> list[str]:
    half = most / 2 - least / 2  # the difference itself may overflow
    if not (half > 0).any():
        return []
    spans = np.where(half > 0, half, np.nan)
    large, small = int(np.nanargmax(spans)), int(np.nanargmin(spans))
    if not spans[large] / _WIDE > spans[small]:
        return []
    wide, narrow = (repr(shortened(features[place], 20)) for place in (large, small))
    return [
        f"Column {wide} spans {2 * spans[large]:.3g} and {narrow} {2 * spans[small]:.3g}, so the first dominates every "
        'distance. Use scale="standard" to weigh columns alike.'
    ]


def _note_on_copies(X: Matrix) -> list[str]:
    count = copies(X)
    share = count / X.shape[0]
    repeat = "repeats" if count == 1 else "repeat"
    return [f"{count} of {X.shape[0]} rows ({share:.0%}) {repeat} an earlier row."] if share >= _MANY_COPIES else []
