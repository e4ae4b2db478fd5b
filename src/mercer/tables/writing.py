"""Writing columns to files, by suffix. A file is complete or absent, and floats come back to the same bits."""

from __future__ import annotations

import contextlib
import gzip
import os
import re
import sys
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import ipc, parquet

from mercer.atomic_write import replacing
from mercer.tables.arrow_columns import arrow_column
from mercer.tables.dialect import DELIMITERS, MISSING, is_number
from mercer.tables.source import TableError, listed, shortened

WRITABLE = ".csv, .tsv (also .gz), .parquet, .arrow, .feather, .npy, .npz, or - for csv on stdout"
_TEXT_SUFFIXES = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")
_RUNS = re.compile(r"'*[=+\-@\t\r]")  # how text begins that a spreadsheet would run, or that was already made inert
_BATCH = 1 << 16  # rows formatted at a time
_RUN_NUMBERS = 1 << 23  # of a run of rows, 64 MB: row groups that readers like, and little memory
_SPECIAL = {  # by delimiter: the text that needs quotes
    ",": r'[,"\r\n]|^\s|\s$',
    "\t": r'[\t"\r\n]|^\s|\s$',
}
_ALL = ""  # matches every text
Columns = dict[str, np.ndarray]


def write_table(path: str | Path, columns: Columns, *, inert: bool = False) -> None:
    """Write columns of numbers or text as a table. The suffix decides the format; "-" is csv on stdout.

    Floats get the shortest digits that come back to the same bits. Missing numbers (NaN) and texts (None) become empty
    cells in csv and nulls in parquet and arrow. In .npz missing text becomes empty text; .npy holds only numbers.

    inert : put an apostrophe before texts that begin with = + - @ or a tab, which a spreadsheet that opens a csv or tsv
        file would run as formulas. Numbers stay numbers, and `read_table` and `read_columns` give the original texts.

    `path` is the file.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "t.csv"
    ...     write_table(path, {"a": np.array([1, 2]), "b": np.array([0.5, 0.25])})
    ...     text = path.read_text()
    >>> text.split()
    ['a,b', '1,0.5', '2,0.25']
    """
    with contextlib.suppress(BrokenPipeError), table_writer(path, inert=inert) as table:
        table.add(columns)


@contextlib.contextmanager
def table_writer(path: str | Path, *, inert: bool = False) -> Iterator[TableWriter]:
    """Write a table some rows at a time: `with table_writer("t.csv") as table: table.add(columns)`, again and again.

    The bytes are the same as from `write_table` with all rows, however the rows are cut. Every part needs the same
    columns, of the same types; at least one part is needed, which may have no rows. If anything fails, the file stays
    as it was. A BrokenPipeError says that no one reads stdout any more.

    Cost: memory for a part and for at most 64 MB of numbers; a .npz is compressed column by column, so it needs all.

    `path` is the file, and `inert` is as in `write_table`.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "t.csv"
    ...     with table_writer(path) as table:
    ...         table.add({"a": np.array([1, 2])})
    ...         table.add({"a": np.array([3])})
    ...     text = path.read_text()
    >>> text.split()
    ['a', '1', '2', '3']
    """
    if str(path) == "-":
        with _flushed(cast(BinaryIO, sys.stdout.buffer)) as stdout, TableWriter(path, stdout, CsvFile, inert) as table:
            yield table
        return
    path = Path(path)
    kind, zipped = _format_of(path)
    with replacing(path) as part, contextlib.ExitStack() as opened:
        file: Any = opened.enter_context(open(part, "wb"))
        if zipped:  # without time and name in its header, the same table is the same bytes
            file = opened.enter_context(gzip.GzipFile("", "wb", 6, file, mtime=0))
        with TableWriter(path, file, kind, inert and issubclass(kind, CsvFile)) as table:
            yield table


class TableWriter:
    """Rows on their way into a file, gathered to runs of a fixed length: where they were cut leaves no trace.

    `end_run` cuts a run short, for a file whose parts are to be read as they were written.
    """

    def __init__(self, path: str | Path, file: BinaryIO, kind: type[ColumnFile], inert: bool) -> None:
        self.path, self.inert = path, inert
        self._kind, self._file = kind, file
        self._out: ColumnFile | None = None
        self._like: dict[str, Any] = {}
        self._waiting: list[Columns] = []
        self._rows = 0

    def add(self, columns: Columns) -> None:
        """Write some rows. TableError if their columns or types are not those of the rows before them."""
        columns = _checked(self.path, columns)
        kinds = {name: "text" if values.dtype.kind in "OUST" else values.dtype for name, values in columns.items()}
        if self.inert:
            columns = {_inert(name): _inert_values(values) for name, values in columns.items()}
        if self._out is None:
            self._like, self._out = kinds, self._kind(self._file, {name: found[:0] for name, found in columns.items()})
        elif kinds != self._like:
            raise TableError(f"{self.path}: a part of the table has other columns or types than the one before it.")
        self._waiting.append(columns)
        self._rows += len(next(iter(columns.values())))
        while self._rows >= self._out.run:
            self._write(self._out, self._out.run)

    def end_run(self) -> None:
        """Write what waits, so that rows added from now on begin a row group or a record batch of their own."""
        if self._out is not None and self._rows:
            self._write(self._out, self._rows)

    def __enter__(self) -> TableWriter:
        return self

    def __exit__(self, failed: type[BaseException] | None, *_: Any) -> None:
        """Write what is left, unless the block has failed."""
        try:
            if failed is None:
                self._end()
        except BaseException as error:
            failed = type(error)
            raise
        finally:
            if failed is not None and self._out is not None:
                self._out.abandon()

    def _end(self) -> None:
        if self._out is None:
            raise TableError(f"{self.path}: a table needs at least one part.")
        if self._rows or not self._out.runs:
            self._write(self._out, self._rows)
        self._out.close()

    def _write(self, out: ColumnFile, rows: int) -> None:
        taken: list[Columns] = []
        left = rows
        while left or not taken:
            part = self._waiting.pop(0)
            length = len(next(iter(part.values())))
            if length > left:
                self._waiting.insert(0, {name: values[left:] for name, values in part.items()})
                part, length = {name: values[:left] for name, values in part.items()}, left
            taken.append(part)
            left -= length
        whole = {name: np.concatenate([part[name] for part in taken]) for name in taken[0]} if taken[1:] else taken[0]
        self._rows -= rows
        out.runs += 1
        out.write(whole)


def _inert(text: Any) -> Any:
    """
    >>> _inert("=1+1"), _inert("'=1+1"), _inert("1=1")
    ("'=1+1", "''=1+1", '1=1')
    """
    return f"'{text}" if isinstance(text, str) and _RUNS.match(text) else text


def _inert_values(values: np.ndarray) -> np.ndarray:
    return values if values.dtype.kind in "biufmM" else np.array([_inert(value) for value in values.tolist()], object)


def _checked(path: str | Path, columns: Columns) -> Columns:
    """The columns as arrays of equal length."""
    made = {str(name): np.asarray(values) for name, values in columns.items()}
    if not made:
        raise TableError(f"{path}: a table needs at least one column.")
    lengths = {name: values.shape for name, values in made.items()}
    if len(made) < len(columns) or len(set(lengths.values())) > 1 or any(len(s) != 1 for s in lengths.values()):
        shapes = listed([f"{name}: {shape}" for name, shape in lengths.items()])
        raise TableError(f"{path}: columns need different names, one dimension and equal lengths. Given: {shapes}.")
    return made


def _format_of(path: Path) -> tuple[type[ColumnFile], bool]:
    """The format of this suffix, and whether it is gzipped."""
    zipped = path.suffix.lower() == ".gz"
    suffix = Path(path.stem).suffix.lower() if zipped else path.suffix.lower()
    if suffix in (".csv", ".tsv", ".txt"):
        return (TsvFile if suffix != ".csv" else CsvFile), zipped
    known: dict[str, type[ColumnFile]] = {
        ".parquet": ParquetColumns,
        ".arrow": IpcColumns,
        ".feather": IpcColumns,
        ".npy": NpyColumns,
        ".npz": NpzColumns,
    }
    if zipped or suffix not in known:
        raise TableError(f"{path}: tables cannot be written as {path.suffix!r}. Known: {WRITABLE}.")
    return known[suffix], False


@contextlib.contextmanager
def _flushed(stdout: BinaryIO) -> Iterator[BinaryIO]:
    """Stdout, flushed at the end. Once its reader is gone, the interpreter must not flush it again at exit."""
    try:
        yield stdout
        sys.stdout.flush()
    except BrokenPipeError:
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise


class ColumnFile(ABC):
    """A format: a head that the first columns decide, then runs of `run` rows, of which the last is shorter."""

    def __init__(self, file: BinaryIO, columns: Columns) -> None:
        self.file, self.runs = file, 0
        self.run = max(1, min(_BATCH, _RUN_NUMBERS // len(columns)))
        self.start(columns)

    @abstractmethod
    def start(self, columns: Columns) -> None:
        """Write the head. `columns` have no rows, but names and types."""

    @abstractmethod
    def write(self, columns: Columns) -> None: ...

    def close(self) -> None:  # noqa: B027  most formats have no end
        """Write what stands at the end. The file itself stays open."""

    def abandon(self) -> None:  # noqa: B027
        """Write no more: the file will be deleted."""


class CsvFile(ColumnFile):
    """A header and rows, with commas between the cells."""

    delimiter = ","

    def start(self, columns: Columns) -> None:
        self.wide = len(columns) > 1
        quoted = _ALL if _names_mislead(list(columns)) else _SPECIAL[self.delimiter]
        _write_lines(self.file, [_quoted(pa.array([name]), quoted, self.wide) for name in columns], self.delimiter)

    def write(self, columns: Columns) -> None:
        special = _SPECIAL[self.delimiter]
        for batch in _arrow(columns).to_batches():
            _write_lines(self.file, [_cells(column, special, self.wide) for column in batch.columns], self.delimiter)


class TsvFile(CsvFile):
    """A header and rows, with tabs between the cells."""

    delimiter = "\t"


class ArrowFile(ColumnFile):
    """A format that one of Arrow's writers writes (abstract)."""

    def start(self, columns: Columns) -> None:
        self.run = max(1, _RUN_NUMBERS // len(columns))
        self.writer: Any = self.open(_arrow(columns).schema)

    @abstractmethod
    def open(self, schema: pa.Schema) -> Any: ...

    def close(self) -> None:
        self.writer.close()

    def abandon(self) -> None:
        with contextlib.suppress(Exception):  # left open, it would write to the closed file when it is collected
            self.writer.close()


class ParquetColumns(ArrowFile):
    """One row group per run."""

    def open(self, schema: pa.Schema) -> Any:
        return parquet.ParquetWriter(self.file, schema)

    def write(self, columns: Columns) -> None:
        self.writer.write_table(_arrow(columns), row_group_size=self.run)


class IpcColumns(ArrowFile):
    """One record batch per run."""

    def open(self, schema: pa.Schema) -> Any:
        return ipc.new_file(self.file, schema)

    def write(self, columns: Columns) -> None:
        self.writer.write_table(_arrow(columns))


class NpyColumns(ColumnFile):
    """A matrix of numbers, whose head says how many rows it has, and is written again when that is known."""

    def start(self, columns: Columns) -> None:
        texts = [name for name, values in columns.items() if values.dtype.kind not in "biuf"]
        if texts:
            hold = "holds" if len(texts) == 1 else "hold"
            raise TableError(
                f"A .npy file holds only numbers, but {listed(texts)} {hold} text. Write .csv or .parquet."
            )
        self.rows, self.width = 0, len(columns)
        self.dtype = np.result_type(*(values.dtype for values in columns.values()))
        self._head()

    def _head(self) -> None:
        shape = self.rows, self.width
        head = {"descr": np.lib.format.dtype_to_descr(self.dtype), "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(self.file, head)  # leaves room for the digits of any number of rows

    def write(self, columns: Columns) -> None:
        matrix = np.column_stack(list(columns.values())).astype(self.dtype, copy=False)
        self.rows += len(matrix)
        self.file.write(matrix.tobytes())

    def close(self) -> None:
        self.file.seek(0)
        self._head()


class NpzColumns(ColumnFile):
    """One array per column. Text gets a fixed width, because objects would be pickled."""

    def start(self, columns: Columns) -> None:
        bad = [name for name in columns if "/" in name or "\\" in name or "\0" in name or not name]
        if bad:
            raise TableError(f"Columns of a .npz file cannot be named {listed(bad)}. Write .csv or .parquet.")
        self.parts: list[Columns] = []

    def write(self, columns: Columns) -> None:
        self.parts.append(columns)

    def close(self) -> None:
        whole = {name: np.concatenate([part[name] for part in self.parts]) for name in self.parts[0]}
        # np.savez takes names of columns for options, and NumPy 2.0 takes its option allow_pickle for a column.
        with zipfile.ZipFile(self.file, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, values in whole.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                    np.lib.format.write_array(entry, _fixed_width(values), allow_pickle=False)


def _names_mislead(names: list[str]) -> bool:
    """Whether a header would be taken for data, for a comment, or for cells with another delimiter."""
    data = all(is_number(name) or name in MISSING for name in names)
    return data or names[0][:1] == "#" or (len(names) == 1 and any(sign in DELIMITERS for sign in names[0]))


def _write_lines(file: BinaryIO, cells: list[pa.Array], delimiter: str) -> None:
    joined = pc.binary_join_element_wise(*cells, pa.scalar(delimiter, pa.large_string()))
    lines = pc.binary_join_element_wise(joined, pa.scalar("\n", pa.large_string()), pa.scalar("", pa.large_string()))
    _, offsets, text = lines.buffers()  # the lines lie one after the other, just as the file needs them
    first, *_, last = np.frombuffer(offsets, np.int64)[lines.offset : lines.offset + len(lines) + 1]
    file.write(text[int(first) : int(last)])


def _cells(column: pa.Array, special: str, wide: bool) -> pa.Array:
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return _quoted(column, special, wide)
    return pc.cast(column, pa.large_string()).fill_null(_empty(wide))


def _empty(wide: bool) -> str:
    """The cell of a missing value. In a table of one column it cannot be empty, since blank lines are not rows."""
    return "" if wide else "NA"


def _quoted(column: pa.Array, special: str, wide: bool) -> pa.Array:
    """Quote the texts that match `special` or would read as missing."""
    column = pc.cast(column, pa.large_string())
    needed = pc.or_(pc.match_substring_regex(column, special), pc.is_in(column, pa.array(MISSING, pa.large_string())))
    doubled = pc.replace_substring(column, '"', '""')
    quote = pa.scalar('"', pa.large_string())
    inside = pc.binary_join_element_wise(quote, doubled, quote, pa.scalar("", pa.large_string()))
    return pc.if_else(needed, inside, column).fill_null(_empty(wide))


def _arrow(columns: Columns) -> pa.Table:
    """The columns as Arrow's table; NaN and None become null."""
    return pa.table({name: arrow_column(values) for name, values in columns.items()})


def _fixed_width(values: np.ndarray) -> np.ndarray:
    if values.dtype.kind in "biufU":
        return values
    return np.array(["" if _is_missing(value) else shortened(value, 10**6) for value in values], str)


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and value != value)
