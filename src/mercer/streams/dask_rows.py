"""Rows of dask arrays and dask frames. dask itself is not imported: its objects bring the methods that are needed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from mercer.streams.row_source import Rows, checked_chunk, float_type, places_of


def is_dask(X: Any) -> bool:
    """Whether X is a dask array or a dask frame."""
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr") and hasattr(X, "__dask_graph__")


def dask_matrix(X: Any, columns: Sequence[Any] | None = None) -> tuple[Any, list[str] | None]:
    """X as a dask array whose chunks have known lengths and all columns, and the names of the columns.

    Lengths that dask does not know, as those of every frame, are computed: that takes one pass over the data.
    """
    names = None
    if hasattr(X, "to_dask_array"):
        names = [str(name) for name in X.columns]
        if columns is not None:
            places = places_of(columns, names, len(names), "The dask frame")
            X, names, columns = X[[X.columns[j] for j in places]], [names[j] for j in places], None
        for name, dtype in zip(names, X.dtypes, strict=True):
            stored = getattr(dtype, "numpy_dtype", dtype)
            if getattr(stored, "kind", "O") not in "biuf":
                raise ValueError(f"Column {name!r} of the dask frame holds {dtype}, not numbers. Choose with columns=.")
        X = X.to_dask_array(lengths=True)
    if X.ndim != 2:
        raise ValueError(f"Rows are cut from a matrix, but the dask array has shape {X.shape}.")
    float_type(X.dtype, "The dask array")
    if any(math.isnan(length) for length in X.chunks[1]):
        raise ValueError("The number of columns of the dask array is unknown: call X.compute_chunk_sizes() first.")
    if columns is not None:
        X = X[:, places_of(columns, None, X.shape[1], "The dask array")]
    if len(X.chunks[1]) > 1:
        X = X.rechunk({1: -1})
    if any(math.isnan(length) for length in X.chunks[0]):
        X = X.copy().compute_chunk_sizes()  # of a copy: it changes the array in place
    return X, names


class DaskRows:
    """The chunks of a dask array, each computed in this process when it is asked for."""

    def __init__(self, X: Any, *, columns: Sequence[Any] | None = None):
        self.array, self.feature_names = dask_matrix(X, columns)
        self.n_features = int(self.array.shape[1])
        self.dtype = float_type(self.array.dtype, "The dask array")
        self.lengths = [int(length) for length in self.array.chunks[0]]

    def chunk(self, i: int) -> Rows:
        return checked_chunk(self.array.blocks[i].compute(scheduler="synchronous"), self, i)
