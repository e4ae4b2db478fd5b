"""Reader of text tables: csv and tsv, plain or gzipped, or csv on stdin.

The first pass over the file finds its digest, encoding and number of lines; the second fills one array, allocated once.
Types are sampled from the first rows and hold for the whole file or not at all: if a later value contradicts the
sample, one pass finds the type of every column over all rows, and the array is filled again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from mercer.amounts import amount
from mercer.tables.arrow_columns import float_values, floats_in_text, numbers_in_text, texts_in_text, without
from mercer.tables.dates import dates_among
from mercer.tables.dialect import (
    FALSE,
    LONGEST_LINE,
    MISSING,
    TRUE,
    UNKNOWN,
    ZERO_PADDED,
    Dialect,
    Scan,
    TextFormat,
    is_number,
    look,
    refuse_unclosed_quote,
    scan,
)
from mercer.tables.source import Raw, Role, Source, TableError, check_room, check_text, readable, shortened

_BLOCK = 1 << 23  # bytes parsed at a time: enough for Arrow's threads, little beside the numbers
_WIDE_BLOCK = 1 << 26  # for long rows, so that a block still holds dozens of them
_LARGEST_BLOCK = 1 << 29  # Arrow's offsets of text have 32 bits
# Types are guessed from this many rows. A wrong guess costs two more passes; a longer look would cost every file.
_SAMPLED_ROWS = 50


def open_text(
    path: Path, given: TextFormat = UNKNOWN, *, block: int | None = None, longest_line: int = LONGEST_LINE
) -> TextSource:
    """Open a text table. Rows are parsed `block` bytes at a time; lines above `longest_line` bytes are refused."""
    with readable(path, "a table of text"):
        found = scan(path, longest_line, given.encoding)
        dialect = look(path, found, given)
        refuse_unclosed_quote(path, found, dialect)
    guessed = found.encoding == "latin-1" and given.encoding is None
    latin = ["The file is not UTF-8; it was read as Latin-1. `encoding` chooses another."] if guessed else []
    return TextSource(
        str(path),
        found.digest,
        dialect.names,
        dialect.named,
        notes=[*dialect.notes, *latin],
        file=path,
        scan=found,
        dialect=dialect,
        block=block or max(_BLOCK, min(32 * dialect.line, _WIDE_BLOCK), 2 * dialect.line),  # 32 rows, or 2 if very long
    )


class _WrongTypeError(TableError):
    """A value does not have the type of its column."""


class _LongRowError(Exception):
    """A row does not fit into a block."""


@dataclass
class TextSource(Source):
    file: Path = Path()
    scan: Scan = field(default_factory=Scan)
    dialect: Dialect = field(default_factory=lambda: Dialect(",", [], True))
    block: int = _BLOCK

    def truths(self, columns: dict[str, np.ndarray]) -> set[str]:
        there = {name: set(values.tolist()) - {None} for name, values in columns.items() if values.dtype.kind == "O"}
        return {name for name, texts in there.items() if texts and texts <= {*TRUE, *FALSE}}

    def read(self, roles: dict[str, Role], dtype: str) -> Raw:
        with readable(self.path, "a table of text"):
            while True:
                try:
                    return self._read(roles, dtype)
                except _LongRowError:  # a cell may hold line breaks, so only parsing tells how long rows are
                    self.block *= 8

    def parts(self, roles: dict[str, Role], dtype: str, rows: int) -> Iterator[Raw]:
        """The features among some roles, `rows` rows at a time or a few more. One pass before finds their types."""
        with readable(self.path, "a table of text"):
            while True:
                try:
                    types, quoted = self._exact_types([name for name in roles if roles[name] is Role.FEATURE])
                    break
                except _LongRowError:
                    self.block *= 8
            types |= {name: pa.string() for name in roles if name not in types}
            waiting: list[pa.RecordBatch] = []
            done = 0
            with closing(self._batches(types, list(roles), quoted)) as batches:
                for batch in batches:
                    waiting.append(batch)
                    if sum(part.num_rows for part in waiting) >= rows:
                        yield self._part(waiting, roles, types, dtype, done)
                        done, waiting = done + sum(part.num_rows for part in waiting), []
            if waiting or not done:
                yield self._part(waiting, roles, types, dtype, done)

    def _part(
        self,
        batches: list[pa.RecordBatch],
        roles: dict[str, Role],
        types: dict[str, pa.DataType],
        dtype: str,
        first: int,
    ) -> Raw:
        if not sum(batch.num_rows for batch in batches):
            raise TableError(f"{self.path} has a header but no rows.")
        rows = pa.Table.from_batches(batches)
        numbers = [name for name in roles if not pa.types.is_string(types[name])]
        matrix = np.empty((rows.num_rows, len(numbers)), dtype)
        for j, name in enumerate(numbers):
            with np.errstate(over="ignore"):  # a value too large for float32 becomes infinite: refused later
                matrix[:, j] = float_values(rows[name])
        raw = self._raw(matrix, numbers, roles, {name: rows[name] for name in roles if name not in set(numbers)})
        raw.first = first
        return raw

    def _read(self, roles: dict[str, Role], dtype: str) -> Raw:
        features = [name for name in roles if roles[name] is Role.FEATURE]
        try:
            return self._fill(roles, self._sampled_types(features), dtype)
        except _WrongTypeError:
            types, quoted = self._exact_types(features)
            return self._fill(roles, types, dtype, quoted)

    def _sampled_types(self, features: list[str]) -> dict[str, pa.DataType]:
        """The types of the features in the first rows. Arrow can infer types too, but takes 0.1 ms per column."""
        found = dict.fromkeys(self.names, pa.float64())
        sampled = min(_SAMPLED_ROWS, self.stop or _SAMPLED_ROWS)
        for name, *cells in zip(self.names, *self.dialect.sample[:sampled], strict=False):
            there = [cell for cell in cells if cell not in MISSING]
            if not all(is_number(cell, self.dialect.decimal) and not re.match(ZERO_PADDED, cell) for cell in there):
                found[name] = pa.bool_() if all(cell in TRUE + FALSE for cell in there) else pa.string()
        return {name: found[name] for name in features}

    def _exact_types(self, features: list[str]) -> tuple[dict[str, pa.DataType], bool]:
        """The types of the features over all rows, and whether missing numbers stand in quotes."""
        possible = {name: [pa.float64(), pa.bool_()] for name in features}
        quoted = set()
        for batch in self._wanted(self._batches(dict.fromkeys(features, pa.string()), features)):
            for name in [name for name in features if possible[name]]:
                given = batch[name]
                there = without(given, MISSING)  # unquoted ones are null already
                if there.null_count > given.null_count:
                    quoted.add(name)
                possible[name] = [kind for kind in possible[name] if _all_are(kind, there, self.dialect.decimal)]
        types = {name: possible[name][0] if possible[name] else pa.string() for name in features}
        return types, any(not pa.types.is_string(types[name]) for name in quoted)

    def _fill(self, roles: dict[str, Role], types: dict[str, pa.DataType], dtype: str, quoted: bool = False) -> Raw:
        numbers = [name for name in types if not pa.types.is_string(types[name])]
        others = [name for name in roles if name not in types or pa.types.is_string(types[name])]
        place = {name: j for j, name in enumerate(roles)}
        rows = min(self.scan.lines, self.scan.size // len(self.dialect.names) + 1, self.stop or self.scan.lines)
        check_room(self.path, rows, len(numbers), np.dtype(dtype).itemsize)
        matrix = np.empty((rows, len(numbers)), dtype)  # pages that are never written take no memory
        chunks: dict[str, list[pa.Array]] = {name: [] for name in others}
        done = size = 0
        # Arrow converts whole blocks. If rows after the last one are in a block, they may not have these types.
        parsed = dict.fromkeys(types, pa.string()) if self.stop else types
        batches = self._batches({**dict.fromkeys(others, pa.string()), **parsed}, list(roles), quoted)
        for batch in self._wanted(batches):
            stop = done + batch.num_rows
            if stop > rows:
                raise TableError(f"{self.path} has more rows than lines. Was it changed while it was read?")
            for j, name in enumerate(numbers):
                column = batch.column(place[name])
                matrix[done:stop, j] = self._parsed(column, types[name]) if self.stop else float_values(column)
            for name in others:
                chunks[name].append(batch.column(place[name]))
                size += chunks[name][-1].nbytes
            check_text(self.path, size)
            done = stop
        if not done:
            raise TableError(f"{self.path} has a header but no rows.")
        return self._raw(matrix[:done], numbers, roles, {name: pa.chunked_array(chunks.pop(name)) for name in others})

    def _parsed(self, column: pa.Array, kind: pa.DataType) -> np.ndarray:
        """A column of text as floats; _WrongTypeError if some text is not of this type."""
        there = without(column, MISSING)
        if not _all_are(kind, there, self.dialect.decimal):
            raise _WrongTypeError(f"{self.path} holds values that are not of type {kind}.")
        if pa.types.is_boolean(kind):
            return float_values(pc.if_else(pc.is_valid(there), pc.is_in(there, pa.array(TRUE)), None))
        return float_values(floats_in_text(there, self.dialect.decimal))

    def _raw(self, matrix: np.ndarray, numbers: list[str], roles: dict[str, Role], columns: dict[str, Any]) -> Raw:
        raw = Raw(matrix, numbers, decimal=self.dialect.decimal)
        for name in list(columns):
            column = columns.pop(name)  # frees Arrow's copy as soon as NumPy has its own
            if roles[name] in (Role.FEATURE, Role.CATEGORY):
                raw.texts[name] = texts_in_text(column)
                if roles[name] is Role.FEATURE and dates_among(raw.texts[name]) is not None:
                    raw.dated.add(name)
            else:
                raw.carried[name] = numbers_in_text(column, roles[name] is not Role.ID, self.dialect.decimal)
        return raw

    def _wanted(self, batches: Generator[pa.RecordBatch, None, None]) -> Iterator[pa.RecordBatch]:
        """The batches up to the last row that is wanted. What follows is not even parsed."""
        left = self.stop or self.scan.size + 1
        with closing(batches):  # Arrow's reader must not outlive this loop
            for batch in batches:
                yield batch.slice(0, left)
                left -= batch.num_rows
                if left <= 0:
                    return

    def _batches(
        self, types: dict[str, pa.DataType], wanted: list[str], quoted: bool = False
    ) -> Generator[pa.RecordBatch, None, None]:
        """The rows, block by block."""
        try:
            with self._reader(types, wanted, quoted) as reader:
                yield from reader
        except pa.ArrowInvalid as error:
            if "straddling" in str(error):
                if self.block < min(_LARGEST_BLOCK, self.scan.size):
                    raise _LongRowError from error
                raise TableError(f"{self.path}: a quoted cell is never closed, or a row is too long.") from error
            if "conversion error" in str(error):
                value = shortened(str(error).partition("invalid value '")[2].removesuffix("'"))
                raise _WrongTypeError(
                    f"{self.path} cannot be read: {value!r} is not a number. Was the file changed while it was read?"
                ) from error
            raise self._explained(error) from error

    def _explained(self, error: Exception) -> TableError:
        """Say which row is the first with the wrong number of cells. Arrow numbers rows only without threads."""
        bad: list[Any] = []
        try:
            with self._reader({}, self.names[:1], True, bad) as reader:
                for _ in reader:
                    pass
        except pa.ArrowInvalid:
            pass
        if not bad:
            return TableError(f"{self.path} cannot be read as a table of text: {shortened(error, 200)}")
        row = bad[0]
        where = f"row {row.number - self.dialect.lead - self.dialect.header}" if row.number else "a row"
        return TableError(
            f"{self.path}: {where} has {amount(row.actual_columns, 'cell')} instead of {row.expected_columns}: "
            f"{shortened(row.text)!r}. The delimiter is {self.dialect.delimiter!r}."
        )

    @contextmanager
    def _reader(
        self,
        types: dict[str, pa.DataType],
        wanted: list[str],
        quoted: bool,
        bad: list[Any] | None = None,
    ) -> Iterator[Any]:
        """Arrow's reader of record batches, closed on every path. With `bad`, it collects rows of wrong length there.

        Only then does Arrow get a function of Python's, and no threads: a thread that still holds one when the
        interpreter ends would abort the process.
        """

        def keep(row: Any) -> str:
            bad.append(row)  # type: ignore[union-attr]
            return "error"

        with ExitStack() as opened:
            file = opened.enter_context(pa.OSFile(str(self.file)))
            if self.scan.gzipped:
                file = opened.enter_context(pa.CompressedInputStream(file, "gzip"))
            yield opened.enter_context(self._open_csv(file, types, wanted, quoted, None if bad is None else keep))

    def _open_csv(
        self,
        file: Any,
        types: dict[str, pa.DataType],
        wanted: list[str],
        quoted: bool,
        keep: Callable[[Any], str] | None,
    ) -> Any:
        dialect = self.dialect
        return arrow_csv.open_csv(
            file,
            arrow_csv.ReadOptions(
                block_size=self.block,
                column_names=dialect.names,
                skip_rows=dialect.lead,
                skip_rows_after_names=dialect.header,
                encoding=self.scan.encoding,
                use_threads=keep is None,
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


def _all_are(kind: pa.DataType, column: pa.Array, decimal: str) -> bool:
    """Whether every text of a column that is not missing reads as this type."""
    if column.null_count == len(column):
        return True
    if pa.types.is_boolean(kind):
        return bool(pc.all(pc.is_in(column.drop_null(), pa.array(TRUE + FALSE))).as_py())
    if pc.any(pc.match_substring_regex(column, ZERO_PADDED)).as_py():
        return False
    try:
        floats_in_text(column, decimal)
    except pa.ArrowInvalid:
        return False
    return True
