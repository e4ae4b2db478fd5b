"""Rows of dask arrays and dask frames, as sources, and the other way: mapped rows as a dask array.

dask itself is not imported: its objects bring the methods that are needed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, wraps
from typing import Any, TypeVar

import numpy as np

from mercer.backends import cpu
from mercer.streams.local_driver import is_row_source, sharded_source
from mercer.streams.mapped_rows import MappedRows, RowFunction
from mercer.streams.row_source import Rows, checked_chunk, float_type, places_of
from mercer.streams.source_views import LastChunk

_F = TypeVar("_F", bound=Callable[..., Any])


def is_dask(X: Any) -> bool:
    """Whether X is a dask array or a dask frame."""
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr") and hasattr(X, "__dask_graph__")


def dask_matrix(X: Any, columns: Sequence[Any] | None = None) -> tuple[Any, list[str] | None]:
    """X as a dask array that has all columns in every chunk, and the names of the columns. Lengths may be unknown.

    A vector of numbers becomes a column.
    """
    names = None
    if hasattr(X, "to_dask_array") and hasattr(X, "columns"):
        names = [str(name) for name in X.columns]
        if columns is not None:
            places = places_of(columns, names, len(names), "The dask frame")
            X, names, columns = X[[X.columns[j] for j in places]], [names[j] for j in places], None
        for name, dtype in zip(names, X.dtypes, strict=True):
            stored = getattr(dtype, "numpy_dtype", dtype)
            if getattr(stored, "kind", "O") not in "biuf":
                raise ValueError(f"Column {name!r} of the dask frame holds {dtype}, not numbers. Choose with columns=.")
    X = X.to_dask_array() if hasattr(X, "to_dask_array") else X
    if X.ndim != 2:
        raise ValueError(f"Rows are cut from a matrix, but the dask array has shape {X.shape}.")
    float_type(X.dtype, "The dask array")
    if any(math.isnan(length) for length in X.chunks[1]):
        raise ValueError("The number of columns of the dask array is unknown: call X.compute_chunk_sizes() first.")
    if columns is not None:
        X = X[:, places_of(columns, None, X.shape[1], "The dask array")]
    if len(X.chunks[1]) > 1:
        X = X.rechunk({1: -1})
    return X, names


@dataclass(frozen=True)
class RowFacts:
    """What a chunk of a dask array is checked against, without the array. Lengths that dask does not know are NaN."""

    n_features: int
    dtype: np.dtype
    feature_names: list[str] | None
    lengths: Sequence[float]


class DaskRows:
    """The chunks of a dask array: computed by the client's workers if there is a client, otherwise in this process."""

    def __init__(self, X: Any, *, columns: Sequence[Any] | None = None):
        self.array, self.feature_names = dask_matrix(X, columns)
        self.n_features = int(self.array.shape[1])
        self.dtype = float_type(self.array.dtype, "The dask array")
        self._whole: tuple[LastChunk, list[int]] | None = None  # if these are some of the columns of others

    def only(self, names: Sequence[str]) -> DaskRows:
        """The columns with these names. On workers they share the graph of the others, and here they share chunks."""
        self.lengths  # noqa: B018 -- unknown ones are counted once, for both
        known = self.feature_names or []
        places = [known.index(name) for name in names]
        whole, there = self._whole or (LastChunk(self), list(range(self.n_features)))
        made = DaskRows(self.array[:, places])
        made.feature_names = list(names)
        made._whole = whole, [there[place] for place in places]
        return made

    @cached_property
    def lengths(self) -> list[int]:
        """Those that dask does not know, as of every frame, are counted when a fit first asks, in a pass."""
        if any(math.isnan(length) for length in self.array.chunks[0]):
            self.array = self.array.copy().compute_chunk_sizes()  # of a copy: it changes the array in place
        return [int(length) for length in self.array.chunks[0]]

    @property
    def facts(self) -> RowFacts:
        return RowFacts(self.n_features, self.dtype, self.feature_names, self.array.chunks[0])

    @cached_property
    def _blocks(self) -> list[Any]:
        return [row[0] for row in self.array.to_delayed()]

    def block(self, i: int) -> Any:
        """Chunk i, unchecked, as a part of dask's graph."""
        return self._blocks[i]

    def workers(self) -> Any:
        """Those of the client that dask itself would use now, if there is one."""
        from mercer.streams.cluster_driver import current_driver  # loaded late: dask need not be installed whole

        return current_driver()

    def chunk(self, i: int) -> Rows:
        # A graph may refer to results that a cluster holds. Only its client can compute it then.
        here = {"scheduler": "synchronous"} if self.workers() is None else {}
        if here and self._whole is not None:
            whole, places = self._whole
            return np.ascontiguousarray(whole.chunk(i)[:, places])
        return checked_chunk(self.array.blocks[i].compute(**here), replace(self.facts, lengths=self.lengths), i)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_blocks"}

    def mapped(self, function: RowFunction) -> Any:
        """The rows as a function maps them, a matrix of dask: nothing is computed yet, and chunks stay as they are."""
        from mercer.backends.dask_workers import in_graph  # loaded late: it imports dask

        return self.array.map_blocks(
            _mapped_block,
            in_graph(_BlockMap(function, self.facts)),
            dtype=function.dtype,
            chunks=(self.array.chunks[0], (function.columns,)),
            meta=np.empty((0, 0), function.dtype),
        )


@dataclass(frozen=True)
class _BlockMap:
    """A function of rows that are checked first."""

    function: RowFunction
    facts: RowFacts

    def __call__(self, rows: Any, number: int) -> np.ndarray:
        known = list(self.facts.lengths)
        if math.isnan(known[number]):
            known[number] = rows.shape[0]
        rows = checked_chunk(rows, replace(self.facts, lengths=known), number)
        return self.function(rows) if rows.shape[0] else np.empty((0, self.function.columns), self.function.dtype)


def _mapped_block(rows: Any, function: _BlockMap, block_id: Any = None) -> np.ndarray:
    with cpu.in_this_thread():  # dask deals out blocks to threads
        return function(rows, block_id[0])


def accepts_dask(method: _F, streamed: Callable[..., Any]) -> _F:
    """A method that takes and gives sources of rows. Dask arrays become sources, and their results dask arrays.

    The first dask argument is X. Others, such as labels, are cut where X is cut; a vector becomes a column. If the
    processes of a group fit their shards, they first compare the parameters of their estimators.

    streamed : the method without scikit-learn's `set_output`, whose data frames hold all rows. Sources go to this one.
    """

    @wraps(method)
    def accepting(self: Any, *args: Any, **named: Any) -> Any:
        given = (*args, *named.values())
        X = next((each for each in given if is_dask(each)), None)
        if X is None:
            chosen = streamed if any(is_row_source(each) for each in given) else method
            shards: Any = next((found for each in given if (found := sharded_source(each)) is not None), None)
            if method.__name__.startswith("fit") and hasattr(shards, "refuse_other"):
                shards.refuse_other(self.get_params())
            return chosen(self, *args, **named)
        rows = DaskRows(X)
        read: Callable[[Any], Any] = lambda each: (  # noqa: E731
            rows if each is X else _beside(each, rows) if is_dask(each) else each
        )
        return _as_dask(streamed(self, *map(read, args), **{name: read(each) for name, each in named.items()}))

    return accepting  # type: ignore[return-value]


def _beside(y: Any, rows: DaskRows) -> DaskRows:
    """Another matrix or vector with the same rows, cut where these are cut."""
    if not hasattr(y, "columns"):
        y = y.to_dask_array() if hasattr(y, "to_dask_array") else y
        y = y[:, None] if y.ndim == 1 else y
    found = DaskRows(y)
    if found.lengths != rows.lengths and sum(found.lengths) == sum(rows.lengths):
        found = DaskRows(found.array.rechunk({0: tuple(rows.lengths)}))
    return found


def _as_dask(result: Any) -> Any:
    """Mapped rows of a dask array as a dask array; anything else as it is."""
    if isinstance(result, tuple):
        return tuple(_as_dask(each) for each in result)
    found = _dask_rows(result)
    if found is None:
        return result
    return found[:, 0] if result.vector else found


def _dask_rows(source: Any) -> Any:
    """The matrix of dask that mapped rows of a dask array are; None for any other source."""
    if not isinstance(source, MappedRows):
        return None
    rows = source.source
    if isinstance(rows, MappedRows):
        matrix = _dask_rows(rows)
        rows = rows if matrix is None else DaskRows(matrix)
    return rows.mapped(source.mapped) if isinstance(rows, DaskRows) else None
