"""Rows of parquet and Arrow IPC files, one or many, chunk by chunk.

Columns, types and lengths come from the metadata. A source holds paths, not open files, so it can be sent to another
process. It keeps the place where the last chunk ended: chunks of one row group that are asked for in order decode it
once.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from copy import copy
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import ipc, parquet

from mercer.streams.row_source import Rows, bounded_rows, checked_chunk, common_type, even_cuts
from mercer.tables.arrow_columns import float_values, is_number
from mercer.tables.source import TableError, check_known, listed, readable

_BATCH = 1 << 16  # rows decoded at a time: calls cost nothing beside them, and their columns stay in the cache
_BUFFER = 1 << 24  # bytes of compressed pages that are held at a time, over all columns


class Unit(NamedTuple):
    """Rows that a file stores together: a row group or a record batch, by its number in its file."""

    path: Path
    number: int


class Piece(NamedTuple):
    """Rows start to stop of one unit.

    A chunk is a list of pieces: units of any length become chunks of a bounded length, and one unit is held at a time.
    """

    unit: int
    start: int
    stop: int


class ArrowRows(ABC):
    """The columns of files with the same columns. A subclass says how a file's units are found and read.

    numbers : whether all columns must hold numbers. Columns of text can only be read as record batches.
    """

    kind: str  # how errors call the format
    unit_name: str  # and its units

    def __init__(
        self,
        paths: Sequence[Path],
        *,
        columns: Sequence[Any] | None = None,
        chunk_rows: int | None = None,
        numbers: bool = True,
    ):
        self.units: list[Unit] = []
        lengths: list[int] = []
        names: list[str] = []
        types: dict[str, list[np.dtype]] = {}
        self.sizes = {path: path.stat().st_size for path in paths}
        for path in paths:
            with readable(path, self.kind):
                schema, rows = self.describe(path)
                found = chosen_columns(path, schema, columns, numbers=numbers)
                if self.units and found != names:
                    if columns is None and sorted(found) != sorted(names):
                        raise TableError(_difference(path, found, paths[0], names))
                    found = names  # the same columns in another order
                names = found
                for name in names:
                    types.setdefault(name, []).append(column_type(schema, name))
            self.units.extend(Unit(path, number) for number in range(len(rows)))
            lengths.extend(rows)
        self.n_features = len(names)
        self.column_types = {name: common_type(found) for name, found in types.items()}
        self.dtype = common_type(list(self.column_types.values()))
        self.feature_names = names
        self.unit_lengths = lengths
        self.pieces = chunks_of_units(lengths, bounded_rows(self.n_features * self.dtype.itemsize, chunk_rows))
        self.lengths = [sum(piece.stop - piece.start for piece in pieces) for pieces in self.pieces]
        self._cursor = _Cursor()

    @property
    def digest(self) -> str:
        """The size of each file, by which a checkpoint recognises it, also under another name."""
        return repr(list(self.sizes.values()))

    @abstractmethod
    def describe(self, path: Path) -> tuple[pa.Schema, list[int]]:
        """The schema, and the rows of every unit."""

    @abstractmethod
    def batches(self, unit: Unit) -> Iterator[pa.RecordBatch]:
        """The rows of a unit with the columns `feature_names`, in batches."""

    def only(self, names: Sequence[str]) -> ArrowRows:
        """The same chunks with some of the columns. No others are read, and their types do not count."""
        made = copy(self)
        made.feature_names, made.n_features = list(names), len(names)
        made.dtype = common_type([self.column_types[name] for name in names])
        made._cursor = _Cursor()
        return made

    def chunk(self, i: int) -> Rows:
        made = np.empty((self.lengths[i], self.n_features), self.dtype)
        done = 0
        for batch in self.record_batches(i):
            for j, column in enumerate(batch.columns):
                with np.errstate(over="ignore"):
                    made[done : done + len(batch), j] = float_values(column)
            done += len(batch)
        return checked_chunk(made, self, i, lambda row: self._where(i, row))

    def record_batches(self, i: int) -> Iterator[pa.RecordBatch]:
        """The rows of chunk i with the columns `feature_names`, as the files have them."""
        for piece in self.pieces[i]:
            unit = self.units[piece.unit]
            what = f"{self.kind} ({self.unit_name} {unit.number}, for chunk {i})"
            with self._cursor.lock, readable(unit.path, what):
                yield from self._cursor.rows(self, piece)

    def unchanged(self, unit: Unit) -> Iterator[pa.RecordBatch]:
        """The batches of a unit. An error if its file has changed its size since it was opened."""
        size, now = self.sizes[unit.path], unit.path.stat().st_size
        if now != size:
            raise ValueError(f"it had {size:,} bytes when it was opened, and has {now:,} now. Open the rows again.")
        return self.batches(unit)

    def _where(self, i: int, row: int | None) -> str:
        """The files and units of a chunk, or those of one of its rows."""
        pieces = self.pieces[i]
        if row is not None:
            ends = np.cumsum([piece.stop - piece.start for piece in pieces])
            pieces = [pieces[int(np.searchsorted(ends, row, side="right"))]]
        units = [self.units[piece.unit] for piece in pieces]
        return " to ".join(
            f"{unit.path}, {self.unit_name} {unit.number}" for unit in dict.fromkeys(units[:1] + units[-1:])
        )


class _Cursor:
    """Where the last read ended, so that the next read of the same unit need not decode from its start."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.unit, self.row = -1, 0
        self.left: Iterator[pa.RecordBatch] = iter(())

    def __reduce__(self) -> Any:
        return _Cursor, ()  # an open file stays where it is

    def rows(self, source: ArrowRows, piece: Piece) -> Iterator[pa.RecordBatch]:
        """The rows of a piece in batches; the caller holds the lock. An error if the unit ends before them."""
        if (self.unit, self.row) != (piece.unit, piece.start):
            self.unit, self.row, self.left = piece.unit, 0, source.unchanged(source.units[piece.unit])
        while self.row < piece.stop:
            batch = next(self.left, None)
            if batch is None:
                self.unit = -1
                raise ValueError(f"it ends at row {self.row} of {piece.stop}, so it is damaged or was changed.")
            first, self.row = self.row, self.row + len(batch)
            if self.row > piece.stop:
                rest = batch.slice(piece.stop - first)
                self.left, self.row = _preceded(rest, self.left), piece.stop
            if self.row > piece.start:
                start = max(0, piece.start - first)
                yield batch.slice(start, self.row - first - start)
        if self.row == piece.stop and piece.stop == source.unit_lengths[piece.unit]:
            self.unit, self.left = -1, iter(())  # the end of the unit: close its file


def _preceded(batch: pa.RecordBatch, others: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield batch
    yield from others


class ParquetRows(ArrowRows):
    """Rows of parquet files. No more than one row group is read at a time, and of a large one only the pages in use."""

    kind = "parquet"
    unit_name = "row group"

    def describe(self, path: Path) -> tuple[pa.Schema, list[int]]:
        with parquet.ParquetFile(path) as file:
            about = file.metadata
            return file.schema_arrow, [about.row_group(g).num_rows for g in range(about.num_row_groups)]

    def batches(self, unit: Unit) -> Iterator[pa.RecordBatch]:
        buffer = max(1 << 13, _BUFFER // max(1, self.n_features))
        with parquet.ParquetFile(unit.path, pre_buffer=False, buffer_size=buffer) as file:
            # Threads of Arrow's own decode no faster than one here: the columns of a batch are too short to share out.
            for batch in file.iter_batches(
                _BATCH, row_groups=[unit.number], columns=self.feature_names, use_threads=False
            ):
                yield batch.select(self.feature_names)


class IpcRows(ArrowRows):
    """Rows of Arrow IPC files (feather) and streams. They are mapped, so a record batch is read where it is needed."""

    kind = "an Arrow table"
    unit_name = "record batch"

    def describe(self, path: Path) -> tuple[pa.Schema, list[int]]:
        with open(path, "rb") as file:
            start = file.read(6)
        if start.startswith(b"FEA1"):
            raise TableError(f"{path} is in version 1 of the Feather format. Write it again as version 2.")
        if start != b"ARROW1":
            raise TableError(f"{path} is a stream, whose batches cannot be found by number. Write an Arrow file.")
        # The number of rows stands in the head of each batch. Only the first column is looked at to get there.
        with pa.memory_map(str(path)) as mapped:
            reader = ipc.open_file(mapped, options=ipc.IpcReadOptions(included_fields=[0]))
            rows = [reader.get_batch(number).num_rows for number in range(reader.num_record_batches)]
        with pa.memory_map(str(path)) as mapped:
            return ipc.open_file(mapped).schema, rows

    def batches(self, unit: Unit) -> Iterator[pa.RecordBatch]:
        with pa.memory_map(str(unit.path)) as mapped:
            schema = ipc.open_file(mapped).schema
            places = sorted(schema.get_field_index(name) for name in self.feature_names)
            reader = ipc.open_file(mapped, options=ipc.IpcReadOptions(included_fields=places))
            batch = reader.get_batch(unit.number)
            batch.validate(full=True)
            batch = batch.select(self.feature_names)
            for start in range(0, len(batch), _BATCH):
                yield batch.slice(start, _BATCH)


def chunks_of_units(lengths: Sequence[int], rows: int) -> list[list[Piece]]:
    """Cut units longer than `rows`, and join consecutive shorter ones while the sum of their rows is at most `rows`.

    >>> chunks_of_units([3, 3, 10], 6)
    [[Piece(unit=0, start=0, stop=3), Piece(unit=1, start=0, stop=3)], [Piece(unit=2, start=0, stop=5)], \
[Piece(unit=2, start=5, stop=10)]]
    """
    made: list[list[Piece]] = []
    joined: list[Piece] = []
    size = 0
    for unit, length in enumerate(lengths):
        if size + length > rows and joined:
            made.append(joined)
            joined, size = [], 0
        if length > rows:
            made.extend([Piece(unit, start, stop)] for start, stop in pairwise(even_cuts(length, rows)))
        elif length:
            joined.append(Piece(unit, 0, length))
            size += length
    return [*made, joined] if joined or not made else made


def chosen_columns(
    path: object, schema: pa.Schema, columns: Sequence[Any] | None, *, numbers: bool = True
) -> list[str]:
    """The names of the columns that are read. TableError if one of them does not hold numbers, if `numbers` asks it."""
    names = list(schema.names)
    if len(set(names)) < len(names):
        raise TableError(f"{path} has two columns with the same name. Rename one.")
    if columns is None:
        asked = [name for name in names if not name.startswith("__index_level_")]  # an index of pandas
    else:
        asked = [columns] if isinstance(columns, str) else list(columns)
        check_known([name for name in asked if name not in names], names, f"columns: {path}")
    others = [name for name in asked if numbers and not _is_number(schema.field(name).type)]
    if others:
        known = [name for name in names if _is_number(schema.field(name).type)]
        kind = schema.field(others[0]).type
        raise TableError(
            f"{path}: {listed(others)} of type {kind} hold no numbers. "
            + (f"Choose with columns=, for instance columns=[{listed(known)}], or encode" if known else "Encode")
            + " them first."
        )
    if not asked:
        raise TableError(f"{path} has no columns of numbers.")
    return asked


def _is_number(kind: pa.DataType) -> bool:
    return is_number(kind) and not pa.types.is_null(kind)


def column_type(schema: pa.Schema, name: str) -> np.dtype:
    """The chunk's type for a column: float32 for half and single precision, otherwise float64."""
    kind = schema.field(name).type
    floats = pa.types.is_float16(kind) or pa.types.is_float32(kind)
    return np.dtype(np.float32 if floats else np.float64)


def _difference(path: Path, found: list[str], first: Path, names: list[str]) -> str:
    missing, more = [n for n in names if n not in set(found)], [n for n in found if n not in set(names)]
    parts = [f"lacks {listed(missing)}"] if missing else []
    parts += [f"also has {listed(more)}"] if more else []
    return f"{path} {' and '.join(parts)}, unlike {first}. Choose the columns that all files have with columns=."
