"""Writing columns to files, by suffix. A file is complete or absent, and floats come back to the same bits."""

from __future__ import annotations

import contextlib
import gzip
import os
import re
import sys
from collections.abc import Callable
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
    """
    columns = _checked(path, columns)
    if inert and str(path).lower().endswith(_TEXT_SUFFIXES):
        columns = {_inert(name): _inert_values(values) for name, values in columns.items()}
    if str(path) == "-":
        _to_stdout(columns)
        return
    path = Path(path)
    write, zipped = _writer(path)
    with replacing(path) as part, open(part, "wb") as file:
        if zipped:  # without time and name in its header, the same table is the same bytes
            with gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
                write(cast(BinaryIO, packed), columns)
        else:
            write(file, columns)


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


def _writer(path: Path) -> tuple[Callable[[BinaryIO, Columns], None], bool]:
    """The function that writes the format of this suffix, and whether its output is gzipped."""
    zipped = path.suffix.lower() == ".gz"
    suffix = Path(path.stem).suffix.lower() if zipped else path.suffix.lower()
    if suffix in (".csv", ".tsv", ".txt"):
        return (write_tsv if suffix != ".csv" else write_csv), zipped
    known: dict[str, Callable[[BinaryIO, Columns], None]] = {
        ".parquet": _write_parquet,
        ".arrow": _write_ipc,
        ".feather": _write_ipc,
        ".npy": _write_npy,
        ".npz": _write_npz,
    }
    if zipped or suffix not in known:
        raise TableError(f"{path}: tables cannot be written as {path.suffix!r}. Known: {WRITABLE}.")
    return known[suffix], False


def _to_stdout(columns: Columns) -> None:
    """Write csv to stdout. A closed pipe is not a failure: no one is left to read a message."""
    try:
        write_csv(cast(BinaryIO, sys.stdout.buffer), columns)
        sys.stdout.flush()
    except BrokenPipeError:
        with contextlib.suppress(OSError, ValueError):  # the interpreter flushes once more at exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def write_csv(file: BinaryIO, columns: Columns) -> None:
    """Write a header and rows, with commas between the cells."""
    _write_text(file, columns, ",")


def write_tsv(file: BinaryIO, columns: Columns) -> None:
    """Write a header and rows, with tabs between the cells."""
    _write_text(file, columns, "\t")


def _write_text(file: BinaryIO, columns: Columns, delimiter: str) -> None:
    wide = len(columns) > 1
    quoted = _ALL if _names_mislead(list(columns)) else _SPECIAL[delimiter]
    _write_lines(file, [_quoted(pa.array([name]), quoted, wide) for name in columns], delimiter)
    for batch in _arrow(columns).to_batches(_BATCH):
        _write_lines(file, [_cells(column, _SPECIAL[delimiter], wide) for column in batch.columns], delimiter)


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


def _write_parquet(file: BinaryIO, columns: Columns) -> None:
    parquet.write_table(_arrow(columns), file)


def _write_ipc(file: BinaryIO, columns: Columns) -> None:
    table = _arrow(columns)
    with ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)


def _write_npy(file: BinaryIO, columns: Columns) -> None:
    texts = [name for name, values in columns.items() if values.dtype.kind not in "biuf"]
    if texts:
        raise TableError(f"A .npy file holds only numbers, but {listed(texts)} hold text. Write .csv or .parquet.")
    np.save(file, np.column_stack(list(columns.values())), allow_pickle=False)


def _write_npz(file: BinaryIO, columns: Columns) -> None:
    """One array per column. Text gets a fixed width, because objects would be pickled."""
    bad = [name for name in columns if "/" in name or "\\" in name or name == "file" or "\0" in name or not name]
    if bad:
        raise TableError(f"Columns of a .npz file cannot be named {listed(bad)}. Write .csv or .parquet.")
    np.savez_compressed(file, allow_pickle=False, **{name: _fixed_width(values) for name, values in columns.items()})


def _fixed_width(values: np.ndarray) -> np.ndarray:
    if values.dtype.kind in "biufU":
        return values
    return np.array(["" if _is_missing(value) else shortened(value, 10**6) for value in values], str)


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and value != value)
