"""Statistics of columns in blocks of rows, so that no copy of X is made, and X may be a map of a file."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import sparse

from mercer.memory import forget_pages
from mercer.tables.source import Matrix

_BLOCK = 1 << 18  # numbers in a block: what a core's cache holds


def row_blocks(X: np.ndarray) -> Iterator[slice]:
    """Slices of rows; pages of a file are forgotten when their block is done."""
    step = max(1, _BLOCK // max(1, X.shape[1]))
    for start in range(0, X.shape[0], step):
        rows = slice(start, min(start + step, X.shape[0]))
        yield rows
        forget_pages(X[rows])


def _stored(X: Matrix) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, columns and values of a sparse matrix."""
    entries = X.tocoo()
    return entries.coords[0], entries.coords[1], entries.data


def first_infinite(X: Matrix) -> tuple[int, int] | None:
    """Row and column of the first infinite value."""
    if sparse.issparse(X):
        bad = np.flatnonzero(np.isinf(X.data))
        if not len(bad):
            return None
        at, columns, _ = _stored(X)
        return int(at[bad[0]]), int(columns[bad[0]])
    for rows in row_blocks(X):
        block = X[rows]
        # A sum is finite only where all its terms are, and is computed faster than the terms are compared.
        with np.errstate(over="ignore", invalid="ignore"):
            if np.isfinite(np.sum(block)):
                continue
        found = np.isinf(block)
        if found.any():
            row, column = np.unravel_index(int(found.argmax()), found.shape)
            return rows.start + int(row), int(column)
    return None


def missing(X: Matrix) -> tuple[np.ndarray, np.ndarray]:
    """(p,) the number of NaN in each column, and the first row that has one."""
    counts, first = np.zeros(X.shape[1], np.int64), np.full(X.shape[1], -1)
    if sparse.issparse(X):
        if not np.isnan(X.data).any():
            return counts, first
        rows, columns, values = _stored(X)
        gone = np.isnan(values)
        first[columns[gone][::-1]] = rows[gone][::-1]
        return np.bincount(columns[gone], minlength=X.shape[1]), first
    for block in row_blocks(X):
        with np.errstate(over="ignore", invalid="ignore"):
            if not np.isnan(np.sum(X[block])):
                continue
        gone = np.isnan(X[block])
        new = gone.any(axis=0) & (first < 0)
        first[new] = block.start + gone[:, new].argmax(axis=0)
        counts += gone.sum(axis=0)
    return counts, first


def rows_missing(X: Matrix) -> np.ndarray:
    """(n,) whether a row has a NaN."""
    found = np.zeros(X.shape[0], bool)
    if sparse.issparse(X):
        rows, _, values = _stored(X)
        found[rows[np.isnan(values)]] = True
        return found
    for block in row_blocks(X):
        found[block] = np.isnan(X[block]).any(axis=1)
    return found


def fill_values(X: Matrix, impute: str) -> np.ndarray:
    """(p,) mean or median of what is there, or zero; NaN where a column has no value."""
    if impute == "zero":
        counts, _ = missing(X)
        return np.where(counts == X.shape[0], np.nan, 0.0)
    if sparse.issparse(X):
        return _sparse_fill(X, impute)
    if impute == "median":
        return np.array([_median(X[:, j]) for j in range(X.shape[1])])
    return _mean(X)


def _median(column: np.ndarray) -> float:
    there = column[~np.isnan(column)]
    return float(np.median(there)) if len(there) else np.nan


def _sparse_fill(X: Matrix, impute: str) -> np.ndarray:
    """Means and medians of sparse columns: what is not stored is 0 and counts."""
    columns = sparse.csc_array(X)
    found = np.empty(X.shape[1])
    for j in range(X.shape[1]):
        values = columns.data[columns.indptr[j] : columns.indptr[j + 1]]
        there = values[~np.isnan(values)].astype(np.float64)
        n = X.shape[0] - (len(values) - len(there))
        if n == 0:
            found[j] = np.nan
        elif impute == "mean":
            found[j] = there.sum() / n
        else:
            found[j] = np.median(np.concatenate([there, np.zeros(n - len(there))]))
    return found


def _mean(X: np.ndarray) -> np.ndarray:
    """Means of what is not NaN, by way of the largest value so that no sum overflows."""
    size = largest(X)
    counts, sums = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    for rows in row_blocks(X):
        block = X[rows].astype(np.float64) / size
        there = ~np.isnan(block)
        counts += there.sum(axis=0)
        sums += np.where(there, block, 0).sum(axis=0)
    with np.errstate(invalid="ignore"):
        return sums / counts * size


def largest(X: np.ndarray) -> np.ndarray:
    """(p,) max |x| of each column, 1 where that is 0 or nothing."""
    found = np.zeros(X.shape[1])
    for rows in row_blocks(X):
        np.fmax(found, np.fmax.reduce(np.abs(X[rows]), axis=0), out=found)
    return np.where(found > 0, found, 1.0)


def filled(X: Matrix, values: np.ndarray) -> Matrix:
    """X with values[j] in place of the NaN of column j, in place."""
    if sparse.issparse(X):
        at, columns, data = _stored(X)
        data = np.where(np.isnan(data), values[columns], data)
        found = sparse.csr_array((data, (at, columns)), X.shape)
        found.eliminate_zeros()
        return found
    for rows in row_blocks(X):
        block = X[rows]
        gone = np.isnan(block)
        if gone.any():
            block[gone] = np.broadcast_to(values, block.shape)[gone]
    return X


def extremes(X: Matrix) -> tuple[np.ndarray, np.ndarray]:
    """(p,) the least and the greatest value of each column."""
    if sparse.issparse(X):
        return X.min(axis=0).toarray().ravel(), X.max(axis=0).toarray().ravel()
    least, most = np.full(X.shape[1], np.inf), np.full(X.shape[1], -np.inf)
    for rows in row_blocks(X):
        np.minimum(least, X[rows].min(axis=0), out=least)
        np.maximum(most, X[rows].max(axis=0), out=most)
    return least, most


def deviation(X: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """(p,) √(Σ(x − mean)²/n), by way of the largest value so that nothing overflows."""
    size, sums = largest(X), np.zeros(X.shape[1])
    for rows in row_blocks(X):
        sums += ((X[rows] / size - mean / size) ** 2).sum(axis=0)
    return np.sqrt(sums / X.shape[0]) * size


def sparse_deviation(X: Matrix) -> np.ndarray:
    """(p,) standard deviations of sparse columns, 1 for constant ones."""
    least, most = extremes(X)
    size = np.maximum(np.maximum(np.abs(least), np.abs(most)), np.finfo(np.float64).tiny)
    scaled = sparse.csr_array(X.multiply(1 / size))
    mean = np.asarray(scaled.mean(axis=0, dtype=np.float64)).ravel()
    square = np.asarray(scaled.multiply(scaled).mean(axis=0, dtype=np.float64)).ravel()
    found = np.sqrt(np.maximum(square - mean**2, 0)) * size
    return np.where((least < most) & (found > 0), found, 1.0)


def centre_and_spread(X: np.ndarray, scale: str) -> tuple[np.ndarray, np.ndarray]:
    """(p,) what is subtracted from each column, and what it is divided by: 1 where the column does not vary."""
    least, most = extremes(X)
    if scale == "standard":
        centre = _mean(X)
        spread = deviation(X, centre)
    elif scale == "minmax":
        centre, spread = least, most - least
    else:
        quartiles = np.array([np.percentile(X[:, j], [25, 50, 75]) for j in range(X.shape[1])])
        centre, spread = quartiles[:, 1], quartiles[:, 2] - quartiles[:, 0]
    centre = np.where(least < most, centre, least).astype(np.float64)
    varies = (least < most) & (spread > 0) & np.isfinite(spread)
    return centre, np.where(varies, spread, 1.0).astype(np.float64)


def copies(X: Matrix) -> int:
    """How many rows are the same, bit for bit, as an earlier one (by a 64-bit sum of products; dense X alone)."""
    if sparse.issparse(X):
        return 0
    odd = np.random.default_rng(0).integers(0, 2**63, X.shape[1], np.uint64) * np.uint64(2) + np.uint64(1)
    kind = np.uint64 if X.dtype.itemsize == 8 else np.uint32
    sums = np.empty(X.shape[0], np.uint64)
    for rows in row_blocks(X):
        bits = np.ascontiguousarray(X[rows]).view(kind).astype(np.uint64)
        bits = (bits ^ (bits >> np.uint64(32))) * odd  # the low bits of a short number are zero: mix the high ones in
        sums[rows] = (bits ^ (bits >> np.uint64(29))).sum(axis=1, dtype=np.uint64)
    sums.sort()
    return int((sums[1:] == sums[:-1]).sum())
