"""Tables that carry their types: parquet, Arrow's IPC format (feather), and columns that are in memory already.

A file is read batch by batch into one array. Sizes that a file claims are compared with the memory that is free before
anything is allocated, and every batch is validated before its values are touched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import ipc, parquet

from mercer.tables.arrow_values import as_text, carried_values, float_values, is_date, is_number
from mercer.tables.table_source import Raw, Role, Source, check_room, check_text, digest_of, readable, unique_names
from mercer.tables.table_types import TableError

_ROWS = 1 << 16  # in a batch
_MOST_COLUMNS = 1_000_000

Batches = Callable[[list[int]], Iterable[pa.RecordBatch]]  # the columns at these places


def open_parquet(path: Path) -> ArrowSource:
    digest = digest_of(path)
    with readable(path, "parquet"):
        file = parquet.ParquetFile(path)
        fields, rows = file.schema_arrow, file.metadata.num_rows

        def batches(places: list[int]) -> Iterable[pa.RecordBatch]:
            names = [fields.names[place] for place in places]
            # A text that stands in many rows is stored once, and is to be read once.
            texts = [name for name in names if pa.types.is_string(fields.field(name).type)]
            with parquet.ParquetFile(path, read_dictionary=texts) as again:
                for batch in again.iter_batches(_ROWS, columns=names):
                    yield batch.select(names)

        if len(set(fields.names)) < len(fields.names):
            raise TableError(f"{path} has two columns of one name, which parquet cannot tell apart; rename one.")
        return _source(path, digest, fields, rows, batches, "parquet")


def open_ipc(path: Path) -> ArrowSource:
    """Arrow's file format, or a stream of it."""
    digest = digest_of(path)
    with readable(path, "an Arrow table"):
        with open(path, "rb") as file:
            start = file.read(6)
        if start.startswith(b"FEA1"):
            raise TableError(f"{path} is of Feather's first version; write it anew as version 2.")
        stream = start != b"ARROW1"
        fields, rows = _shape(path, stream)

        def batches(places: list[int]) -> Iterable[pa.RecordBatch]:
            options = ipc.IpcReadOptions(included_fields=sorted(places))
            order = [sorted(places).index(place) for place in places]
            for batch in _ipc_batches(path, stream, options):
                batch.validate(full=True)  # offsets of a damaged file may point anywhere
                yield batch.select(order)

        return _source(path, digest, fields, rows, batches, "an Arrow table")


def _ipc_batches(path: Path, stream: bool, options: ipc.IpcReadOptions | None = None) -> Iterable[pa.RecordBatch]:
    with pa.OSFile(str(path)) as file:
        if stream:
            yield from ipc.open_stream(file, options=options)
        else:
            reader = ipc.open_file(file, options=options)
            for i in range(reader.num_record_batches):
                yield reader.get_batch(i)


def _shape(path: Path, stream: bool) -> tuple[pa.Schema, int]:
    """The columns, and the number of rows, for which no column is read but the first."""
    with pa.OSFile(str(path)) as file:
        fields = (ipc.open_stream(file) if stream else ipc.open_file(file)).schema
    options = ipc.IpcReadOptions(included_fields=[0] if len(fields) else [])
    return fields, sum(batch.num_rows for batch in _ipc_batches(path, stream, options))


def from_columns(path: Path, digest: str, columns: dict[str, pa.Array], named: bool = True) -> ArrowSource:
    """A table of columns that are in memory."""
    table = pa.table(columns)
    return _source(path, digest, table.schema, table.num_rows, lambda p: table.select(p).to_batches(_ROWS), "columns")


def _source(path: Path, digest: str, fields: pa.Schema, rows: int, batches: Batches, kind: str) -> ArrowSource:
    if not len(fields) or len(fields) > _MOST_COLUMNS:
        raise TableError(f"{path} has {len(fields)} columns; a table has between 1 and {_MOST_COLUMNS}.")
    if rows < 1:
        raise TableError(f"{path} has no rows.")
    names, notes = unique_names(list(fields.names))
    index = [name for name in names if name.startswith("__index_level_")]  # what pandas adds is no measurement
    features = [name for name in names if name not in index]
    return ArrowSource(
        str(path),
        digest,
        features,
        extras=index,
        notes=notes,
        types=dict(zip(names, fields.types, strict=True)),
        rows=rows,
        batches=batches,
        kind=kind,
    )


def _no_batches(places: list[int]) -> Iterable[pa.RecordBatch]:
    return []


@dataclass
class ArrowSource(Source):
    types: Any = None  # name → pa.DataType, in the order of the file
    rows: int = 0
    batches: Batches = _no_batches
    kind: str = ""

    def read(self, roles: dict[str, Role], dtype: str) -> Raw:
        numbers = [name for name, role in roles.items() if role is Role.FEATURE and is_number(self.types[name])]
        others = [name for name in roles if name not in set(numbers)]
        check_room(self.path, self.rows, len(numbers), np.dtype(dtype).itemsize)
        check_room(self.path, self.rows, len(others))  # a place each, whatever stands there
        with readable(self.path, self.kind):
            matrix = np.empty((self.rows, len(numbers)), dtype)
            chunks = self._fill(matrix, numbers, others)
            columns = {name: pa.chunked_array(chunks.pop(name)) for name in others}
            texts, carried = {}, {}
            for name in others:
                if roles[name] in (Role.FEATURE, Role.CATEGORY):
                    texts[name] = as_text(columns.pop(name))
                else:
                    carried[name] = carried_values(columns.pop(name), floats=roles[name] is not Role.ID)
            dated = {name for name in texts if is_date(self.types[name])}
        return Raw(matrix, numbers, texts, carried, dated=dated)

    def _fill(self, matrix: np.ndarray, numbers: list[str], others: list[str]) -> dict[str, list[pa.Array]]:
        """Write the numbers into the matrix; the other columns as they come."""
        place = {name: i for i, name in enumerate(self.types)}
        chunks: dict[str, list[pa.Array]] = {name: [] for name in others}
        done = size = 0
        for batch in self.batches([place[name] for name in [*numbers, *others]]):
            stop = done + batch.num_rows
            if stop > self.rows:
                break
            with np.errstate(over="ignore"):  # what is too large for float32 is found as an infinite value
                for j in range(len(numbers)):
                    matrix[done:stop, j] = float_values(batch.column(j))
            for j, name in enumerate(others, len(numbers)):
                part, added = _sharing(batch.column(j), chunks[name])
                chunks[name].append(part)
                size += added
            check_text(self.path, size)
            done = stop
        if done != self.rows:
            raise TableError(f"{self.path} says that it has {self.rows} rows and has {done}; it is damaged.")
        return chunks


def _sharing(column: pa.Array, before: list[pa.Array]) -> tuple[pa.Array, int]:
    """A part of a column, with the dictionary of the part before where that is the same, and the bytes it adds."""
    if not pa.types.is_dictionary(column.type) or not before or not column.dictionary.equals(before[-1].dictionary):
        return column, column.nbytes
    return pa.DictionaryArray.from_arrays(column.indices, before[-1].dictionary), column.indices.nbytes
