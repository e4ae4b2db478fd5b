"""Reader of tables that carry their types: parquet, Arrow's IPC format (feather), and columns already in memory.

A file is read batch by batch into one array. The sizes that a file claims are compared with free memory before anything
is allocated. IPC batches are validated before their values are used, since offsets in a damaged file point anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import ipc, parquet

from mercer.tables.arrow_columns import as_text, carried_values, float_values, is_number
from mercer.tables.dates import dates_among, is_date_type
from mercer.tables.list_columns import list_block, lists_numbers, width_of
from mercer.tables.source import (
    Raw,
    Role,
    Source,
    TableError,
    check_room,
    check_text,
    digest_of,
    readable,
    unique_names,
)

_BATCH = 1 << 16  # rows converted at a time: large enough that calls cost nothing, small beside the table
_MOST_COLUMNS = 1_000_000  # a damaged header can claim billions

Batches = Callable[[list[int]], Iterable[pa.RecordBatch]]  # yields the columns at these places


def open_parquet(path: Path, *, batch: int = _BATCH) -> ArrowSource:
    """Open a parquet file, to be read `batch` rows at a time."""
    digest = digest_of(path)
    with readable(path, "parquet"):
        with parquet.ParquetFile(path) as file:
            schema, rows = file.schema_arrow, file.metadata.num_rows

        def batches(places: list[int]) -> Iterable[pa.RecordBatch]:
            names = [schema.names[place] for place in places]
            # Text that repeats is stored once in the file; reading it as a dictionary keeps it so.
            texts = [name for name in names if pa.types.is_string(schema.field(name).type)]
            with parquet.ParquetFile(path, read_dictionary=texts) as again:
                for found in again.iter_batches(batch, columns=names):
                    yield found.select(names)

        if len(set(schema.names)) < len(schema.names):
            raise TableError(f"{path} has two columns with the same name, which parquet cannot tell apart. Rename one.")
        return _source(path, digest, schema, rows, batches, "parquet")


def open_ipc(path: Path) -> ArrowSource:
    """Open a file in Arrow's file format (feather), or a stream."""
    digest = digest_of(path)
    with readable(path, "an Arrow table"):
        with open(path, "rb") as file:
            start = file.read(6)
        if start.startswith(b"FEA1"):
            raise TableError(f"{path} is in version 1 of the Feather format. Write it again as version 2.")
        stream = start != b"ARROW1"
        schema, rows = _shape(path, stream)

        def batches(places: list[int]) -> Iterable[pa.RecordBatch]:
            options = ipc.IpcReadOptions(included_fields=sorted(places))
            order = [sorted(places).index(place) for place in places]
            for found in _ipc_batches(path, stream, options):
                found.validate(full=True)
                yield found.select(order)

        return _source(path, digest, schema, rows, batches, "an Arrow table")


def _ipc_batches(path: Path, stream: bool, options: ipc.IpcReadOptions | None = None) -> Iterable[pa.RecordBatch]:
    with pa.OSFile(str(path)) as file:
        if stream:
            yield from ipc.open_stream(file, options=options)
        else:
            reader = ipc.open_file(file, options=options)
            for i in range(reader.num_record_batches):
                yield reader.get_batch(i)


def _shape(path: Path, stream: bool) -> tuple[pa.Schema, int]:
    """The schema and the number of rows. The format does not store the latter, so the first column is read for it."""
    with pa.OSFile(str(path)) as file:
        schema = (ipc.open_stream(file) if stream else ipc.open_file(file)).schema
    options = ipc.IpcReadOptions(included_fields=[0] if len(schema) else [])
    return schema, sum(batch.num_rows for batch in _ipc_batches(path, stream, options))


def from_columns(path: Path, digest: str, columns: dict[str, pa.Array]) -> ArrowSource:
    """A table of columns that are in memory."""
    table = pa.table(columns)
    return _source(path, digest, table.schema, table.num_rows, lambda p: table.select(p).to_batches(_BATCH), "columns")


def _source(path: Path, digest: str, schema: pa.Schema, rows: int, batches: Batches, kind: str) -> ArrowSource:
    if not len(schema) or len(schema) > _MOST_COLUMNS:
        raise TableError(f"{path} has {len(schema)} columns. A table has between 1 and {_MOST_COLUMNS}.")
    if rows < 1:
        raise TableError(f"{path} has no rows.")
    names, notes = unique_names(list(schema.names))
    index = [name for name in names if name.startswith("__index_level_")]  # an index of pandas is not a measurement
    return ArrowSource(
        str(path),
        digest,
        [name for name in names if name not in index],
        extras=index,
        notes=notes,
        lists=[name for name, kind in zip(names, schema.types, strict=True) if lists_numbers(kind)],
        types=dict(zip(names, schema.types, strict=True)),
        rows=rows,
        batches=batches,
        kind=kind,
    )


@dataclass
class ArrowSource(Source):
    types: dict[str, pa.DataType] = field(default_factory=dict)  # in the order of the file
    rows: int = 0
    batches: Batches = lambda places: []
    kind: str = ""

    def expand(self, names: Iterable[str]) -> None:
        for name in names:
            if name not in self.lists:
                super().expand([name])
            entries = [f"{name}[{i}]" for i in range(1, self._width(name) + 1)]
            if set(entries) & self.types.keys():
                raise TableError(f"{self.path} has columns named like the numbers of {name!r}: {entries[0]!r}, …")
            self.vectors[name] = entries
            self.names = [each for known in self.names for each in (entries if known == name else [known])]
            self.lists = [known for known in self.lists if known != name]

    def _width(self, name: str) -> int:
        """How many numbers the first list has; that all have as many is checked when they are read."""
        place = list(self.types).index(name)
        with readable(self.path, self.kind):
            for batch in self.batches([place]):
                if (width := width_of(batch.column(0))) is not None:
                    if width > _MOST_COLUMNS:
                        raise TableError(f"{self.path}: a list in column {name!r} holds {width} numbers.")
                    return width
        raise TableError(f"{self.path}: column {name!r} holds no list.")

    def truths(self, columns: dict[str, np.ndarray]) -> set[str]:
        return {name for name in columns if name in self.types and pa.types.is_boolean(self.types[name])}

    def read(self, roles: dict[str, Role], dtype: str) -> Raw:
        inside = {entry for entries in self.vectors.values() for entry in entries}
        numbers = [
            name
            for name, role in roles.items()
            if role is Role.FEATURE and (name in inside or is_number(self.types[name]))
        ]
        others = [name for name in roles if name not in set(numbers)]
        rows = min(self.rows, self.stop or self.rows)
        check_room(self.path, rows, len(numbers), np.dtype(dtype).itemsize)
        check_room(self.path, rows, len(others))  # each value takes at least a pointer
        with readable(self.path, self.kind):
            matrix = np.empty((rows, len(numbers)), dtype)
            raw = Raw(matrix, numbers)
            chunks = self._fill(matrix, numbers, others)
            for name in others:
                column = pa.chunked_array(chunks.pop(name))
                if roles[name] in (Role.FEATURE, Role.CATEGORY):
                    raw.texts[name] = as_text(column)
                    if is_date_type(column.type) or dates_among(raw.texts[name]) is not None:
                        raw.dated.add(name)
                else:
                    raw.carried[name] = carried_values(column, floats=roles[name] is not Role.ID)
        return raw

    def _fill(self, matrix: np.ndarray, numbers: list[str], others: list[str]) -> dict[str, list[pa.Array]]:
        """Write the numbers into the matrix, and return the other columns in parts."""
        inside = {entry: (name, i) for name, entries in self.vectors.items() for i, entry in enumerate(entries)}
        wanted = list(dict.fromkeys(inside[name][0] if name in inside else name for name in [*numbers, *others]))
        place = {name: i for i, name in enumerate(self.types)}
        column = {name: j for j, name in enumerate(numbers)}
        chunks: dict[str, list[pa.Array]] = {name: [] for name in others}
        rows, done, size = len(matrix), 0, 0
        for batch in self.batches([place[name] for name in wanted]):
            stop = done + batch.num_rows
            if stop > rows and self.stop is None:
                break
            batch, stop = batch.slice(0, rows - done), min(stop, rows)
            for name, values in self._named(batch, wanted, done):
                in_list = isinstance(values, np.ndarray)
                if name in column:
                    with np.errstate(over="ignore"):  # a value too large for float32 becomes infinite: refused later
                        matrix[done:stop, column[name]] = values if in_list else float_values(values)
                if name in chunks:
                    part, added = _sharing(pa.array(values) if in_list else values, chunks[name])
                    chunks[name].append(part)
                    size += added
            check_text(self.path, size)
            done = stop
            if done == rows:
                break
        if done != rows:
            raise TableError(f"{self.path} is damaged: it claims {self.rows} rows, but holds {done}.")
        return chunks

    def _named(self, batch: pa.RecordBatch, wanted: list[str], row: int) -> Iterator[tuple[str, Any]]:
        """The columns of a batch: as Arrow has them, or the numbers in lists place by place, as NumPy has them."""
        for name, values in zip(wanted, batch.columns, strict=True):
            if name in self.vectors:
                block = list_block(values, len(self.vectors[name]), f"{self.path}: column {name!r}", row)
                yield from zip(self.vectors[name], block.T, strict=True)
            else:
                yield name, values


def _sharing(column: pa.Array, before: list[pa.Array]) -> tuple[pa.Array, int]:
    """A part of a column, sharing the previous part's dictionary if it is equal; and the bytes that the part adds."""
    if not pa.types.is_dictionary(column.type) or not before or not column.dictionary.equals(before[-1].dictionary):
        return column, column.nbytes
    return pa.DictionaryArray.from_arrays(column.indices, before[-1].dictionary), column.indices.nbytes
