"""Rows in numbered chunks: the protocol, the check that every chunk passes, and sources for arrays in memory.

A source knows its columns and the length of every chunk before it reads any row. A chunk is asked for by its number, as
often as needed and in any order, so that a pass can be repeated, resumed, or dealt to several workers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, Protocol, runtime_checkable

import numpy as np
from scipy import sparse

from mercer.amounts import amount
from mercer.backends import device_of, is_foreign, namespace, to_numpy
from mercer.numeric_input import refuse_not_numeric, sorted_columns

# Bytes of a dense chunk: a call of a parquet reader or of BLAS and a task on a cluster all cost little beside so much
# work, and a chunk that is read ahead of the one in use still leaves a small computer room.
CHUNK_BYTES = 64_000_000

Rows = Any  # (rows, n_features): np.ndarray, scipy.sparse.csr_array or torch tensor, float32 or float64


@runtime_checkable
class RowSource(Protocol):
    """A matrix in numbered chunks of rows. Chunk i has lengths[i] rows, possibly zero.

    If the chunks are torch tensors, the source also has `device`, where they are: passes are then computed there.

    >>> from mercer.streams import ArraySource
    >>> isinstance(ArraySource(np.zeros((3, 2))), RowSource)
    True
    """

    @property
    def n_features(self) -> int: ...

    @property
    def dtype(self) -> np.dtype:
        """float32 or float64: the type of every chunk."""
        ...

    @property
    def feature_names(self) -> list[str] | None: ...

    @property
    def lengths(self) -> Sequence[int]: ...

    def chunk(self, i: int) -> Rows:
        """The rows of chunk i, (lengths[i], n_features), checked to be finite and of the source's type."""
        ...


def device_of_rows(source: Any) -> Any:
    """Where the chunks of a source are, if they are tensors; None for arrays on the host."""
    return getattr(source, "device", None)


def row_starts(source: RowSource) -> np.ndarray:
    """The number of the first row of each chunk, and last the number of all rows: (chunks + 1,) int64."""
    return np.concatenate([[0], np.cumsum(source.lengths, dtype=np.int64)])


def float_type(dtype: Any, where: str) -> np.dtype:
    """The type of chunks made from values of this type: float32 stays, half precision becomes it, the rest is float64.

    >>> float_type("int8", "X"), float_type("float32", "X")
    (dtype('float64'), dtype('float32'))
    """
    dtype = np.dtype(dtype)
    if dtype.kind not in "biuf":
        raise ValueError(f"{where} holds values of type {dtype}, not numbers.")
    return np.dtype(np.float32 if dtype.kind == "f" and dtype.itemsize <= 4 else np.float64)


def common_type(types: Sequence[np.dtype]) -> np.dtype:
    """The type that holds the chunks of several parts without loss: float32 if all parts have it."""
    return np.dtype(np.float32) if types and all(dtype == np.float32 for dtype in types) else np.dtype(np.float64)


def type_of(rows: Any) -> np.dtype:
    """NumPy's name for the type of an array or a tensor."""
    return to_numpy(rows[:0]).dtype if is_foreign(rows) else rows.dtype


def common_device(parts: Sequence[Any]) -> Any:
    """Where tensors are, or None for arrays. ValueError if they are in several places."""
    places = {str(part.device) if is_foreign(part) else None: device_of(part) for part in parts}
    if len(places) > 1:
        raise ValueError(
            f"The chunks are in several places: {', '.join('the host' if p is None else p for p in places)}. Move them "
            "to one device."
        )
    name, place = next(iter(places.items()))
    return None if name is None else place


Where = str | Callable[[int | None], str]  # what a chunk was read from, or what its row with this number was


def checked_chunk(rows: Any, source: Any, i: int, where: Where = "") -> Rows:
    """Rows as chunk i of the source: a C-ordered array or a sorted csr_array of its type; a copy only if it must be.

    ValueError or TypeError, with the number of the chunk and of the row, for other numbers of rows or columns, for
    types that the source's type cannot hold, and for values that are missing or infinite. `where` says what the chunk
    was read from, or a row of it, if that was several things. The source may be no more than what it announces:
    n_features, dtype, feature_names and lengths.
    """
    place = _named(i, where)
    if getattr(rows, "ndim", None) != 2:
        raise ValueError(f"{place} has shape {getattr(rows, 'shape', None)}, but should be a matrix of rows.")
    if rows.shape[1] != source.n_features:
        raise ValueError(f"{place} has {amount(rows.shape[1], 'column')}, but the source has {source.n_features}.")
    if rows.shape[0] != source.lengths[i]:
        raise ValueError(f"{place} has {amount(rows.shape[0], 'row')}, but {source.lengths[i]} were announced.")
    if is_foreign(rows):
        return _checked_tensor(rows, source, i, where)
    refuse_not_numeric(rows, place)
    rows = sorted_columns(sparse.csr_array(rows)) if sparse.issparse(rows) else np.asarray(rows)
    if common_type([float_type(rows.dtype, place), source.dtype]) != source.dtype:
        raise ValueError(f"{place} holds {rows.dtype}, but the source holds {source.dtype}: digits would be lost.")
    rows = rows.astype(source.dtype, copy=False)
    if sparse.issparse(rows):
        _refuse_not_finite(rows.data, source, i, where, lambda at: (_line_of(rows.indptr, at), int(rows.indices[at])))
        return rows
    rows = np.ascontiguousarray(rows)
    _refuse_not_finite(rows.ravel(), source, i, where, lambda at: divmod(at, source.n_features))
    return rows


def _named(i: int, where: Where, row: int | None = None) -> str:
    text = where if isinstance(where, str) else where(row)
    return f"Chunk {i} ({text})" if text else f"Chunk {i}"


def _checked_tensor(rows: Any, source: Any, i: int, where: Where) -> Rows:
    """Rows of a tensor in the type of the source, where they are."""
    place = _named(i, where)
    if device_of_rows(source) is None:
        raise ValueError(f"{place} is a tensor, but those before it are arrays. Give one kind.")
    xp = namespace(rows)
    wide = xp.float32 if source.dtype == np.float32 else xp.float64
    if rows.dtype == xp.float64 and wide != xp.float64:
        raise ValueError(f"{place} holds {rows.dtype}, but the source holds {source.dtype}: digits would be lost.")
    rows = xp.astype(rows, wide, copy=False)
    if not bool(xp.all(xp.isfinite(rows))):
        _refuse_not_finite(to_numpy(rows).ravel(), source, i, where, lambda at: divmod(at, source.n_features))
    return rows


def _refuse_not_finite(
    values: np.ndarray, source: Any, i: int, where: Where, cell: Callable[[int], tuple[int, int]]
) -> None:
    with np.errstate(all="ignore"):
        if np.isfinite(values.sum(dtype=np.float64)):  # one pass without a mask; a sum may still overflow
            return
    wrong = np.flatnonzero(~np.isfinite(values))
    if not len(wrong):
        return
    row, column = cell(int(wrong[0]))
    what = "missing (NaN)" if np.isnan(values[wrong[0]]) else "infinite"
    name = repr(source.feature_names[column]) if source.feature_names else str(column)
    first = sum(source.lengths[:i])
    whole = "" if first != first else f", which is row {first + row} of all,"  # lengths that dask does not know are NaN
    more = f", and {len(wrong) - 1} more values are missing or infinite" if len(wrong) > 1 else ""
    raise ValueError(
        f"{_named(i, where, row)}: row {row}{whole} is {what} in column {name}{more}. Leave such rows out, or fill "
        "them first."
    )


def _line_of(indptr: np.ndarray, at: int) -> int:
    return int(np.searchsorted(indptr, at, side="right")) - 1


def bounded_rows(row_bytes: float, chunk_rows: int | None = None, *, size: int = CHUNK_BYTES) -> int:
    """Rows of a chunk: what was asked for, or as many as take `size` bytes, at least one."""
    if chunk_rows is not None:
        if isinstance(chunk_rows, bool) or int(chunk_rows) != chunk_rows or chunk_rows < 1:
            raise ValueError(f"chunk_rows={chunk_rows!r}: a chunk has a whole number of rows, at least 1.")
        return int(chunk_rows)
    return max(1, int(size // max(1, row_bytes)))


def even_cuts(n: int, rows: int) -> list[int]:
    """Where to cut n rows into as few chunks of at most `rows` rows as possible, of nearly equal lengths.

    >>> even_cuts(10, 4)
    [0, 3, 6, 10]
    """
    parts = max(1, -(-n // rows))
    return [n * k // parts for k in range(parts + 1)]


class MatrixRows(ABC):
    """A matrix that can be sliced by rows, cut into chunks of nearly equal length.

    A subclass gives `read(start, stop)`, and `where`, what errors call the matrix.

    unit : rows that are stored together, so that a cut elsewhere would read some of them twice
    row_bytes : bytes of a row, for the length of a chunk; those of a dense row by default
    """

    where = ""

    def __init__(
        self,
        shape: tuple[int, ...],
        dtype: Any,
        *,
        chunk_rows: int | None = None,
        feature_names: Sequence[str] | None = None,
        columns: Sequence[Any] | None = None,
        unit: int = 1,
        row_bytes: float | None = None,
    ):
        if len(shape) != 2:
            raise ValueError(f"Rows are cut from a matrix, but {self.where or 'the array'} has shape {tuple(shape)}.")
        n, width = (int(size) for size in shape)
        names = _names(feature_names, width)
        self.places = None if columns is None else places_of(columns, names, width, self.where or "The array")
        self.n_features = width if self.places is None else len(self.places)
        self.dtype = float_type(dtype, self.where or "The array")
        self.feature_names = names if names is None or self.places is None else [names[j] for j in self.places]
        rows = bounded_rows(row_bytes or width * self.dtype.itemsize, chunk_rows)
        if unit > 1 and chunk_rows is None and rows >= unit:
            rows -= rows % unit
            self.cuts = [*range(0, n, rows), n] if n else [0, 0]
        else:
            self.cuts = even_cuts(n, rows)
        self.lengths = [stop - start for start, stop in pairwise(self.cuts)]

    @abstractmethod
    def read(self, start: int, stop: int) -> Any:
        """Rows start to stop with all columns of the matrix, dense or sparse, of any numeric type."""

    def chunk(self, i: int) -> Rows:
        rows = self.read(self.cuts[i], self.cuts[i + 1])
        return checked_chunk(rows if self.places is None else rows[:, self.places], self, i, self.where)


def places_of(columns: Sequence[Any], names: list[str] | None, width: int, where: str) -> list[int]:
    """The places of columns that are given by name or by number. ValueError if one does not exist or comes twice."""
    if isinstance(columns, str):
        columns = [columns]
    known = {} if names is None else {name: j for j, name in enumerate(names)}
    places = []
    for column in columns:
        if isinstance(column, str) and column in known:
            places.append(known[column])
        elif not isinstance(column, str | bool) and 0 <= int(column) == column < width:
            places.append(int(column))
        else:
            has = (
                f"the names {', '.join(map(repr, names[:10]))}{', …' if len(names) > 10 else ''}"
                if names
                else "no names"
            )
            raise ValueError(f"columns: {where} has no column {column!r}. Its {width} columns have {has}.")
    if not places or len(set(places)) < len(places):
        raise ValueError(f"columns={list(columns)!r}: give at least one column, and each of them once.")
    return places


class ArraySource(MatrixRows):
    """One array, memory map or sparse matrix, cut into chunks of rows. Only the chunk that you ask for is copied.

    >>> source = ArraySource(np.arange(10.0)[:, None], chunk_rows=4)
    >>> source.lengths, source.n_features
    ([3, 3, 4], 1)
    """

    def __init__(
        self,
        X: Any,
        *,
        chunk_rows: int | None = None,
        feature_names: Sequence[str] | None = None,
        columns: Sequence[Any] | None = None,
    ):
        if sparse.issparse(X):
            refuse_not_numeric(X, "The matrix")  # before any slice follows its indices
            X = sparse.csr_array(X)
        elif not (hasattr(X, "shape") and hasattr(X, "dtype")):
            X = np.asarray(X)
        size = stored_row_bytes(X.shape[0], X.nnz, X.dtype) if sparse.issparse(X) else None
        super().__init__(
            X.shape, X.dtype, chunk_rows=chunk_rows, feature_names=feature_names, columns=columns, row_bytes=size
        )
        self.array = X

    def read(self, start: int, stop: int) -> Any:
        return self.array[start:stop]


def stored_row_bytes(n: int, nnz: int, dtype: np.dtype) -> float:
    """Bytes of a row of a sparse matrix on average: its values with their columns, and its place in indptr."""
    return 8 + nnz / max(1, n) * (dtype.itemsize + 4)


class ListSource:
    """A list of arrays or sparse matrices with the same columns. Each is one chunk.

    >>> source = ListSource([np.zeros((3, 2)), np.ones((2, 2))])
    >>> list(source.lengths), source.chunk(1).shape
    ([3, 2], (2, 2))
    """

    def __init__(self, parts: Sequence[Any], *, feature_names: Sequence[str] | None = None):
        self.parts = [part if hasattr(part, "shape") else np.asarray(part) for part in parts]
        if not self.parts:
            raise ValueError("A list of arrays needs at least one, since the columns are taken from them.")
        self.device = common_device(self.parts)
        for i, part in enumerate(self.parts):
            if part.ndim != 2 or part.shape[1] != self.parts[0].shape[-1]:
                raise ValueError(
                    f"Chunk {i} has shape {part.shape}, but chunk 0 has shape {self.parts[0].shape}: all chunks "
                    "need the same columns."
                )
        self.n_features = int(self.parts[0].shape[1])
        self.dtype = common_type([float_type(type_of(part), f"Chunk {i}") for i, part in enumerate(self.parts)])
        self.feature_names = _names(feature_names, self.n_features)
        self.lengths = [int(part.shape[0]) for part in self.parts]

    def chunk(self, i: int) -> Rows:
        return checked_chunk(self.parts[i], self, i)


def _names(names: Sequence[str] | None, n_features: int) -> list[str] | None:
    if names is None:
        return None
    if len(names) != n_features:
        raise ValueError(f"There are {len(names)} names for {n_features} columns.")
    return [str(name) for name in names]
