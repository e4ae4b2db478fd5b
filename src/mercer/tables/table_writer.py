"""Columns to files, by suffix. A file is complete or not there; floats are written so that they come back the same."""

from __future__ import annotations

import contextlib
import gzip
import os
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np

from mercer.atomic_write import replacing
from mercer.tables.table_types import TableError, listed, shortened

WRITABLE = ".csv, .tsv (also .gz), .parquet, .arrow, .feather, .npy, .npz, or - for csv on stdout"
Columns = dict[str, np.ndarray]


def write_table(path: str | Path, columns: Columns) -> None:
    """Write columns of numbers or text as a table, by suffix; "-" is csv on stdout.

    Floats have the shortest digits that come back to the same bits. Missing numbers (NaN) and texts (None) are empty
    cells of csv, nulls of parquet and arrow; in .npz missing text is empty text. `.npy` holds numbers alone.
    """
    columns = _checked(path, columns)
    if str(path) == "-":
        _to_stdout(columns)
        return
    path = Path(path)
    write, zipped = _writer(path)
    with _whole_file(path) as file:
        if zipped:  # no time and no name in it: the same table is the same bytes
            with gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
                write(cast(BinaryIO, packed), columns)
        else:
            write(file, columns)


def _checked(path: str | Path, columns: Columns) -> Columns:
    """The columns as arrays of one length."""
    made = {str(name): np.asarray(values) for name, values in columns.items()}
    if not made:
        raise TableError(f"{path}: a table needs at least one column.")
    lengths = {name: values.shape for name, values in made.items()}
    if len(made) < len(columns) or len(set(lengths.values())) > 1 or any(len(s) != 1 for s in lengths.values()):
        shapes = listed([f"{name}: {shape}" for name, shape in lengths.items()])
        raise TableError(
            f"{path}: columns have different names, one dimension and the same length; these have {shapes}."
        )
    return made


def _writer(path: Path) -> tuple[Callable[[BinaryIO, Columns], None], bool]:
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
        raise TableError(f"{path}: tables are not written as {path.suffix or 'nothing'!r}; known are {WRITABLE}.")
    return known[suffix], False


@contextlib.contextmanager
def _whole_file(path: Path) -> Iterator[BinaryIO]:
    """A file that takes its name when it is complete, and leaves nothing behind if it does not get there."""
    try:
        with replacing(path) as part, open(part, "wb") as file:
            yield file
    except OSError as error:
        raise TableError(f"{path} cannot be written: {error.strerror or error}.") from error


def _to_stdout(columns: Columns) -> None:
    """csv on stdout. Whoever reads may stop reading: then nobody is left to be told."""
    try:
        write_csv(cast(BinaryIO, sys.stdout.buffer), columns)
        sys.stdout.flush()
    except BrokenPipeError:
        with contextlib.suppress(OSError, ValueError):  # so that the interpreter's own flush at exit is silent too
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def write_csv(file: BinaryIO, columns: Columns) -> None:
    import_module("mercer.tables.csv_writer").write(file, columns, ",")


def write_tsv(file: BinaryIO, columns: Columns) -> None:
    import_module("mercer.tables.csv_writer").write(file, columns, "\t")


def _write_parquet(file: BinaryIO, columns: Columns) -> None:
    import_module("pyarrow.parquet").write_table(_arrow(columns), file)


def _write_ipc(file: BinaryIO, columns: Columns) -> None:
    table = _arrow(columns)
    with import_module("pyarrow.ipc").new_file(file, table.schema) as writer:
        writer.write_table(table)


def _arrow(columns: Columns) -> Any:
    return import_module("mercer.tables.csv_writer").arrow_table(columns)


def _write_npy(file: BinaryIO, columns: Columns) -> None:
    texts = [name for name, values in columns.items() if values.dtype.kind not in "biuf"]
    if texts:
        raise TableError(
            f"a .npy file holds numbers alone, and {listed(texts)} hold text; write .npz, .csv or .parquet."
        )
    np.save(file, np.column_stack(list(columns.values())), allow_pickle=False)


def _write_npz(file: BinaryIO, columns: Columns) -> None:
    """One array a column; text as fixed-width text, for objects would need pickle."""
    bad = [name for name in columns if "/" in name or "\\" in name or name == "file" or "\0" in name or not name]
    if bad:
        raise TableError(f"columns of a .npz file cannot be called {listed(bad)}; write .csv or .parquet.")
    np.savez_compressed(file, allow_pickle=False, **{name: _plain(values) for name, values in columns.items()})


def _plain(values: np.ndarray) -> np.ndarray:
    if values.dtype.kind in "biufU":
        return values
    return np.array(["" if _gone(value) else shortened(value, 10**6) for value in values], str)


def _gone(value: Any) -> bool:
    return value is None or (isinstance(value, float) and value != value)
