"""Refuse input that looks like a matrix of numbers but is not one, before anything reads it as numbers.

NumPy turns dates and text into floats without a word and drops the mask of a masked array. SciPy's compiled code
follows the indices of a sparse matrix wherever they lead. Everything that reads a user's matrix asks here first.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_INSTEAD = {
    "LazyFrame": "call .collect() first",
    "AnnData": "pass its .X, a layer, or .obsm['X_pca']",
    "Dataset": "pass one of its arrays",
}


def refuse_not_numeric(X: Any, name: str = "X") -> None:
    """Raise ValueError for text, masked values and malformed sparse matrices, TypeError for dates and containers.

    >>> refuse_not_numeric(np.array(["1.5", "2"]))
    Traceback (most recent call last):
        ...
    ValueError: could not convert string to float: X holds text. Use astype(float) for numbers as text, else an encoder.
    """
    kind = type(X).__name__
    if kind in _INSTEAD and not hasattr(X, "__array__"):
        raise TypeError(f"{name} is of type {kind}, not a matrix: {_INSTEAD[kind]}.")
    if isinstance(X, np.ma.MaskedArray):
        _refuse_masked(X, name)
    if hasattr(X, "format") and hasattr(X, "nnz"):
        _refuse_malformed(X, name)
    elif isinstance(X, np.ndarray):
        _refuse_kind(X.dtype, X, name)
    elif hasattr(X, "columns") and hasattr(X, "dtypes"):
        for column, dtype in zip(X.columns, list(X.dtypes), strict=True):
            _refuse_column(X, column, dtype, name)


def sorted_columns(X: Any) -> Any:
    """X with sorted column indices if it is a compressed sparse matrix, copied only if needed; otherwise X itself.

    Products of sparse matrices leave columns in another order. Matrices that share their indices with such a one went
    wrong when SciPy sorted the indices of one of them in place. SciPy's own flags may be out of date, so they are not
    asked. Cost: one look at the indices.
    """
    if getattr(X, "format", "") not in ("csr", "csc") or len(X.indices) < 2:
        return X
    rising = np.diff(X.indices) > 0
    starts = X.indptr[1:-1]
    rising[starts[(starts > 0) & (starts < len(X.indices))] - 1] = True  # from one row to the next anything may follow
    if rising.all():
        return X
    X = type(X)((X.data.copy(), X.indices.copy(), X.indptr.copy()), shape=X.shape)  # knows nothing of the old flags
    X.sort_indices()
    return X


def _refuse_masked(X: np.ma.MaskedArray, name: str) -> None:
    hidden = int(np.ma.count_masked(X))
    if hidden:
        raise ValueError(
            f"{name} is a masked array that hides {hidden} of {X.size} values, and they would be read as numbers. Fill "
            "them (scikit-learn's SimpleImputer reads X.filled(numpy.nan)), or leave their rows out."
        )


def _refuse_malformed(X: Any, name: str) -> None:
    """Raise ValueError if a sparse matrix has indices out of range, which compiled code would follow out of bounds."""
    try:
        if hasattr(X, "check_format"):
            X.check_format(full_check=True)
        elif X.format == "coo":
            for size, index in zip(X.shape, (X.row, X.col), strict=True):
                if len(index) and not (index.min() >= 0 and index.max() < size):
                    raise ValueError(f"an index lies outside of 0 to {size - 1}")
    except ValueError as error:
        raise ValueError(f"{name} is a malformed {X.format.upper()} matrix: {error}.") from None


def _refuse_kind(dtype: np.dtype[Any], X: np.ndarray, name: str) -> None:
    if dtype.kind in "mM":
        raise TypeError(
            f"{name} holds {'dates' if dtype.kind == 'M' else 'durations'}, not numbers. Subtract a date and divide by "
            "a unit: (X - X.min()) / numpy.timedelta64(1, 'D')."
        )
    if dtype.kind in "USa" or (dtype.kind == "O" and any(isinstance(value, str | bytes) for value in X.flat)):
        raise ValueError(  # in the words of NumPy, which programs may look for
            f"could not convert string to float: {name} holds text. Use astype(float) for numbers as text, else an "
            "encoder."
        )


def _refuse_column(X: Any, column: Any, dtype: Any, name: str) -> None:
    """Of a data frame: pandas's dtypes have a kind, polars's can be asked what they are."""
    if hasattr(dtype, "kind"):
        values = np.asarray(X[column], dtype=object) if dtype.kind == "O" else np.empty(0)
        _refuse_kind(np.dtype(dtype.kind) if dtype.kind in "mMO" else np.dtype(float), values, f"Column {column!r}")
    elif hasattr(dtype, "is_temporal") and dtype.is_temporal():
        raise TypeError(f"Column {column!r} of {name} holds dates or times, not numbers. Take their difference first.")
