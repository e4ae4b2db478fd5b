"""Tables of text: csv and tsv, plain or gzipped, or on stdin.

A file is read in blocks into one array that is allocated once, for the number of its lines is known beforehand. Which
columns are numbers is guessed from the first block. Where a later block proves the guess wrong, all columns are read
as text, block after block, to see what they are, and then read again: three passes at worst, whatever the file.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from mercer.tables.arrow_values import as_text, float_values, floats_in_text, numbers_in_text
from mercer.tables.csv_dialect import FALSE, MISSING, TRUE, Dialect, Scan, is_number, look, scan
from mercer.tables.table_source import Raw, Role, Source, check_room, check_text, readable
from mercer.tables.table_types import TableError, shortened

_BLOCK = 1 << 23  # bytes; at least a few rows must fit
_WIDE_BLOCK = 1 << 26  # where rows are long, so that a block has some dozens of them
_MOST_BLOCK = 1 << 29


def open_csv(path: Path) -> CsvSource:
    """The table of a text file."""
    with readable(path, "a table of text"):
        found = scan(path)
        dialect = look(path, found)
    return CsvSource(
        str(path), found.digest, dialect.names, dialect.named, notes=_notes(dialect, found), file=path, scan=found,
        dialect=dialect,
    )  # fmt: skip


def open_stdin() -> CsvSource:
    """The table on stdin, kept in a temporary file, for it is read more than once."""
    spool = tempfile.NamedTemporaryFile(suffix=".csv")  # noqa: SIM115  lives as long as the source
    shutil.copyfileobj(sys.stdin.buffer, spool)
    spool.flush()
    try:
        source = open_csv(Path(spool.name))
    except TableError as error:
        raise TableError(str(error).replace(spool.name, "the table on stdin")) from error
    source.path, source.spool = "the table on stdin", spool
    return source


def _notes(dialect: Dialect, found: Scan) -> list[str]:
    latin = ["The file is not UTF-8; it was read as Latin-1."] if found.encoding == "latin-1" else []
    return [*dialect.notes, *latin]


class _WrongGuessError(Exception):
    """A column is not of the type it was taken for, for the sake of the value that is the message."""


class _LongRowError(Exception):
    """A row is longer than a block."""


@dataclass
class CsvSource(Source):
    file: Path = Path()
    scan: Scan = field(default_factory=Scan)
    dialect: Dialect = field(default_factory=lambda: Dialect(",", [], True))
    spool: Any = None
    block: int = 0  # bytes

    def __post_init__(self) -> None:
        self.block = max(_BLOCK, min(32 * self.dialect.line, _WIDE_BLOCK), 2 * self.dialect.line)

    def read(self, roles: dict[str, Role], dtype: str) -> Raw:
        features = [name for name in roles if roles[name] is Role.FEATURE]
        with readable(self.path, "a table of text"):
            while True:
                try:
                    return self._read(roles, features, dtype)
                except _LongRowError:
                    self.block *= 8

    def _read(self, roles: dict[str, Role], features: list[str], dtype: str) -> Raw:
        types, quoted, inferred = self._guess(features), False, False
        while True:
            try:
                return self._fill(roles, types, dtype, quoted)
            except _WrongGuessError as wrong:
                if str(wrong) in MISSING and not quoted:
                    quoted = True  # missing numbers stand in quotes, so quotes do not tell text from missing
                elif not inferred:
                    types, inferred = self._infer(features), True
                else:
                    raise TableError(f"{self.path} changed while it was read, or {wrong} is no number.") from wrong

    def _guess(self, features: list[str]) -> dict[str, pa.DataType]:
        """The types of the columns by the first rows. Arrow can guess too, but takes 0.1 ms a column for it."""
        found = dict.fromkeys(self.names, pa.float64())
        for name, *cells in zip(self.names, *self.dialect.sample[:50], strict=False):
            there = [cell for cell in cells if cell not in MISSING]
            if not all(is_number(cell, self.dialect.decimal) for cell in there):
                found[name] = pa.bool_() if all(cell in TRUE + FALSE for cell in there) else pa.string()
        return {name: found[name] for name in features}

    def _infer(self, features: list[str]) -> dict[str, pa.DataType]:
        """The types that hold for every value."""
        may = {name: [pa.float64(), pa.bool_()] for name in features}
        for batch in self._batches(dict.fromkeys(features, pa.string()), features, quoted=True):
            for name in [name for name in features if may[name]]:
                may[name] = [kind for kind in may[name] if _reads_as(batch[name], kind, self.dialect.decimal)]
        return {name: may[name][0] if may[name] else pa.string() for name in features}

    def _fill(self, roles: dict[str, Role], types: dict[str, pa.DataType], dtype: str, quoted: bool) -> Raw:
        numbers = [name for name in types if not pa.types.is_string(types[name])]
        others = [name for name in roles if name not in types or pa.types.is_string(types[name])]
        place = {name: j for j, name in enumerate(roles)}
        rows = min(self.scan.lines, self.scan.size // len(self.dialect.names) + 1)
        check_room(self.path, rows, len(numbers), np.dtype(dtype).itemsize)
        matrix = np.empty((rows, len(numbers)), dtype)  # pages that are never written take no memory
        chunks: dict[str, list[pa.Array]] = {name: [] for name in others}
        done = size = 0
        for batch in self._batches({**dict.fromkeys(others, pa.string()), **types}, list(roles), quoted):
            stop = done + batch.num_rows
            if stop > rows:
                raise TableError(f"{self.path} has more rows than lines; was it changed while it was read?")
            for j, name in enumerate(numbers):
                matrix[done:stop, j] = float_values(batch.column(place[name]))
            for name in others:
                chunks[name].append(batch.column(place[name]))
                size += chunks[name][-1].nbytes
            check_text(self.path, size)
            done = stop
        if not done:
            raise TableError(f"{self.path} has a header and no rows.")
        texts = {name: pa.chunked_array(chunks.pop(name), pa.string()) for name in others}
        features = [name for name in others if name in types or roles[name] is Role.CATEGORY]
        return Raw(
            matrix[:done],
            numbers,
            {name: as_text(texts.pop(name)) for name in features},
            {
                name: numbers_in_text(texts.pop(name), roles[name] is not Role.ID, self.dialect.decimal)
                for name in list(texts)
            },
            decimal=self.dialect.decimal,
        )

    def _batches(self, types: dict[str, pa.DataType], wanted: list[str], quoted: bool) -> Iterator[pa.RecordBatch]:
        """The rows, block after block."""
        try:
            yield from self._open(types, wanted, quoted)
        except pa.ArrowInvalid as error:
            self._check_length(error)
            if "conversion error" in str(error):
                raise _WrongGuessError(str(error).partition("invalid value '")[2].removesuffix("'")) from error
            raise self._explained(error) from error

    def _check_length(self, error: Exception) -> None:
        """Whether a row did not fit into a block; larger ones help, up to the size of the file."""
        if "straddling" not in str(error):
            return
        if self.block < min(_MOST_BLOCK, self.scan.size):
            raise _LongRowError from error
        raise TableError(f"{self.path}: a cell in quotes is never closed, or a row is longer than a table's can be.")

    def _explained(self, error: Exception) -> TableError:
        """What is wrong with the first row that does not fit, and which one it is."""
        bad: list[Any] = []
        try:
            for _ in self._open({}, self.names[:1], True, bad):
                pass
        except pa.ArrowInvalid:
            pass
        if not bad:
            return TableError(f"{self.path} cannot be read as a table of text: {shortened(error, 200)}")
        row = bad[0]
        where = f"row {row.number - self.dialect.lead - self.dialect.header}" if row.number else "a row"
        return TableError(
            f"{self.path}: {where} has {row.actual_columns} cells where {row.expected_columns} are needed: "
            f"{shortened(row.text, 60)!r}; the cells are divided by {self.dialect.delimiter!r}."
        )

    def _open(
        self,
        types: dict[str, pa.DataType],
        wanted: list[str],
        quoted: bool,
        bad: list[Any] | None = None,
    ) -> Any:
        """A reader of record batches; slower, and numbering the rows, where bad ones are to be collected."""
        dialect = self.dialect

        def keep(row: Any) -> str:
            if bad is not None:
                bad.append(row)
            return "error"

        return arrow_csv.open_csv(
            _stream(self.file, self.scan.gzipped),
            arrow_csv.ReadOptions(
                block_size=self.block,
                column_names=dialect.names,
                skip_rows=dialect.lead,
                skip_rows_after_names=dialect.header,
                encoding=self.scan.encoding,
                use_threads=bad is None,
            ),
            arrow_csv.ParseOptions(delimiter=dialect.delimiter, newlines_in_values=True, invalid_row_handler=keep),
            arrow_csv.ConvertOptions(
                column_types=types,
                include_columns=wanted,
                null_values=list(MISSING),
                strings_can_be_null=True,
                quoted_strings_can_be_null=quoted,
                true_values=list(TRUE),
                false_values=list(FALSE),
                decimal_point=dialect.decimal,
            ),
        )


def _stream(path: Path, gzipped: bool) -> Any:
    file = pa.OSFile(str(path))
    return pa.CompressedInputStream(file, "gzip") if gzipped else file


def _reads_as(column: pa.Array, kind: pa.DataType, decimal: str) -> bool:
    """Whether every value of a column of text is a number, or a truth value."""
    if column.null_count == len(column):
        return True
    if pa.types.is_boolean(kind):
        return bool(pc.all(pc.is_in(column.drop_null(), pa.array(TRUE + FALSE))).as_py())
    try:
        floats_in_text(column, decimal)
    except pa.ArrowInvalid:
        return False
    return True
