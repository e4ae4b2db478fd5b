"""`open_rows`: a source of rows from a file, a folder, a pattern, or an object in memory."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from mercer.amounts import amount
from mercer.backends import is_torch
from mercer.streams.dask_rows import DaskRows, is_dask
from mercer.streams.iterable_rows import IterableRows
from mercer.streams.npy_rows import of_array
from mercer.streams.row_source import ArraySource, ListSource, RowSource, bounded_rows, even_cuts, places_of
from mercer.streams.source_views import JoinedRows, RecutRows
from mercer.tables.source import TableError

# Module, name and whether it takes many files at once, by suffix. A module is imported when its kind of file is opened.
_READERS: dict[str, tuple[str, str, bool]] = {
    ".parquet": ("arrow_rows", "ParquetRows", True),
    ".arrow": ("arrow_rows", "IpcRows", True),
    ".feather": ("arrow_rows", "IpcRows", True),
    ".npy": ("npy_rows", "open_npy_rows", False),
    ".h5ad": ("hdf5_rows", "open_hdf5_rows", False),
    ".h5": ("hdf5_rows", "open_hdf5_rows", False),
    ".hdf5": ("hdf5_rows", "open_hdf5_rows", False),
    ".zarr": ("zarr_rows", "open_zarr_rows", False),
}
_KEYED = ("hdf5_rows", "zarr_rows")
_FRAMES = ("pandas", "polars", "pyarrow")


def open_rows(
    rows: Any, *, columns: Sequence[Any] | None = None, chunk_rows: int | None = None, key: str | None = None
) -> RowSource:
    """Open rows that need not fit in memory. Only metadata is read, unless the format has none.

    Parameters
    ----------
    rows : one of

        - a path: .parquet, .arrow, .feather, .npy, .h5, .hdf5, .h5ad (backed, dense or CSR) or .zarr (a folder)
        - a folder of such files, or a pattern such as "part-*.parquet": the files in the order of their names, in which
          part-2 comes before part-10
        - an array, a memory map, a SciPy sparse matrix, a pandas or polars frame, an Arrow table
        - a tensor, whose chunks stay on its device
        - a list of arrays, of tensors, of sparse matrices, or of anything else named here, one after the other
        - a dask array or dask frame
        - an object whose `__iter__` gives chunks anew each time; it is read once to learn their lengths
    columns : names of the columns, or their numbers if the format has no names; by default all of them.
    chunk_rows : the largest number of rows per chunk. By default a chunk takes up to 64 MB. Lists, iterables and dask
        objects come in chunks already, which stay as they are.
    key : the matrix in a .h5, .h5ad or .zarr, for instance "layers/counts" or "obsm/X_pca".

    Returns
    -------
    RowSource : with n_features, dtype (float32 if every column has it, otherwise float64), feature_names, lengths, and
        chunk(i). A source of files holds paths, not open files: it can be pickled and used in another process.

    >>> source = open_rows(np.arange(12.0).reshape(6, 2), chunk_rows=4)
    >>> source.lengths, source.chunk(1).tolist()
    ([3, 3], [[6.0, 7.0], [8.0, 9.0], [10.0, 11.0]])
    """
    if isinstance(rows, str | os.PathLike):
        return _open_files(_files(os.fspath(rows)), columns, chunk_rows, key)
    if key is not None:
        raise ValueError(f"key={key!r} chooses a matrix in a file, but rows is a {type(rows).__name__}.")
    return _open_object(rows, columns, chunk_rows)


def beside(source: RowSource, y: Any, name: str = "y") -> RowSource:
    """y, a source or an array with a row per row of the source, in the chunks of the source. ValueError otherwise."""
    if not all(hasattr(y, part) for part in ("chunk", "lengths")):
        y = np.asarray(y) if not hasattr(y, "shape") else y
        y = open_rows(np.asarray(y).reshape(-1, 1) if len(y.shape) == 1 else y)
    n, given = int(sum(source.lengths)), int(sum(y.lengths))
    if n != given:
        raise ValueError(f"X has {n:,} rows and {name} has {given:,}: inconsistent numbers of samples.")
    return y if list(y.lengths) == list(source.lengths) else RecutRows(y, source.lengths)


def _open_object(rows: Any, columns: Sequence[Any] | None, chunk_rows: int | None) -> RowSource:
    package = type(rows).__module__.partition(".")[0]
    if isinstance(rows, RowSource):
        if columns is not None or chunk_rows is not None:
            raise ValueError("The rows are already a source: choose columns and chunk_rows where it is opened.")
        return rows
    if sparse.issparse(rows):
        return ArraySource(rows, columns=columns, chunk_rows=chunk_rows)
    if isinstance(rows, np.ndarray):
        return of_array(rows, columns=columns, chunk_rows=chunk_rows)
    if is_dask(rows):
        return DaskRows(rows, columns=columns)
    if is_torch(rows):
        if columns is not None:
            rows = rows[:, places_of(columns, None, rows.shape[1], "The tensor")]
        return ListSource(list(_cut(rows, chunk_rows)))
    if package in _FRAMES and type(rows).__name__ == "LazyFrame":
        raise TypeError("A LazyFrame has no rows yet. Write them with .sink_parquet(path) and open that file.")
    if package in _FRAMES and hasattr(rows, "columns"):
        return _of("frame_rows", "FrameRows")(rows, columns=columns, chunk_rows=chunk_rows)
    if package == "h5py":
        raise TypeError(  # HDF5 opens a file once, for one set of flags, and a source has to open it again
            f"Rows are not read from an open HDF5 file. Close it, and pass its path: open_rows({rows.file.filename!r}, "
            f"key={rows.name!r})."
        )
    if package == "zarr":
        of_zarr = _of("zarr_rows", "of_zarr")
        return of_zarr(rows, "The zarr array", partial(_of("zarr_rows", "kept_open"), rows), columns, chunk_rows)
    if isinstance(rows, list | tuple):
        return _open_list(rows, columns, chunk_rows)
    if hasattr(rows, "__iter__"):
        if columns is not None:
            raise ValueError("columns: choose them in the iterable, which gives whole chunks.")
        return IterableRows(rows)
    raise TypeError(
        f"Rows cannot be read from an object of type {type(rows).__name__}. Pass a path, an array, or an iterable of "
        "chunks."
    )


def _open_list(parts: Sequence[Any], columns: Sequence[Any] | None, chunk_rows: int | None) -> RowSource:
    if parts and all(isinstance(part, str | os.PathLike) for part in parts):
        return _open_files([path for part in parts for path in _files(os.fspath(part))], columns, chunk_rows, None)
    if parts and all(np.ndim(part) == 1 and not isinstance(part, np.ndarray) for part in parts[:1]):
        return ArraySource(np.asarray(parts), columns=columns, chunk_rows=chunk_rows)  # rows as lists of numbers
    if columns is None and chunk_rows is None and all(_is_matrix(part) for part in parts):
        return ListSource(parts)
    if not parts:
        raise ValueError("The list is empty, so the columns are unknown.")
    opened = [_open_object(part, columns, chunk_rows) for part in parts]
    return JoinedRows(opened, [f"part {p} of the list" for p in range(len(parts))])


def _cut(rows: Any, chunk_rows: int | None) -> Iterator[Any]:
    """Views of the rows of a tensor."""
    cuts = even_cuts(rows.shape[0], bounded_rows(rows.shape[1] * rows.dtype.itemsize, chunk_rows))
    return (rows[start:stop] for start, stop in pairwise(cuts))


def _is_matrix(part: Any) -> bool:
    return isinstance(part, np.ndarray) or sparse.issparse(part) or is_torch(part)


def _files(text: str) -> list[Path]:
    """The files of a path, a folder or a pattern, by name; numbers in names are in their own order."""
    path = Path(text).expanduser()
    if path.is_dir() and path.suffix.lower() != ".zarr":
        inside = [p for p in path.rglob("*") if p.suffix.lower() in _READERS and not _hidden(p.relative_to(path))]
        inside.sort(key=_by_number)
        zarrs = [p for p in inside if p.suffix.lower() == ".zarr" and p.is_dir()]
        found = [p for p in inside if p in zarrs or (p.is_file() and not any(z in p.parents for z in zarrs))]
        if not found:
            raise TableError(f"{path} is a folder without files that end in {', '.join(_READERS)}.")
        return found
    if path.exists():
        return [path]
    if glob.has_magic(text):
        found = sorted((Path(p) for p in glob.glob(str(path), recursive=True)), key=_by_number)
        if not found:
            raise FileNotFoundError(f"No file matches {text}.")
        return found
    raise FileNotFoundError(f"{text} does not exist.")


def _by_number(path: Path) -> tuple[Any, ...]:
    """The key by which part-2 comes before part-10, as whoever wrote the parts counted them."""
    text = path.as_posix()
    return [int(piece) if piece.isdecimal() else piece for piece in re.split(r"(\d+)", text)], text


def _hidden(path: Path) -> bool:
    """Whether a file is one of those that writers of parquet folders leave behind, such as _metadata."""
    return any(part.startswith((".", "_")) for part in path.parts)


def _open_files(
    paths: Sequence[Path], columns: Sequence[Any] | None, chunk_rows: int | None, key: str | None
) -> RowSource:
    suffixes = sorted({path.suffix.lower() for path in paths})
    if len(suffixes) > 1:
        raise TableError(f"The {amount(len(paths), 'file')} end in {', '.join(suffixes)}: open one kind at a time.")
    if suffixes[0] not in _READERS:
        raise TableError(
            f"{paths[0]}: rows can be read from {', '.join(_READERS)}. Other tables: mercer.tables.read_table."
        )
    module, name, many = _READERS[suffixes[0]]
    if key is not None and module not in _KEYED:
        raise ValueError(f"key={key!r}: {paths[0]} holds one table, so there is nothing to choose.")
    opener = _of(module, name)
    if many:
        return opener(paths, columns=columns, chunk_rows=chunk_rows)
    more = {"key": key} if module in _KEYED else {}
    opened = [opener(path, columns=columns, chunk_rows=chunk_rows, **more) for path in paths]
    return opened[0] if len(opened) == 1 else JoinedRows(opened, [str(path) for path in paths])


def _of(module: str, name: str) -> Callable[..., Any]:
    return getattr(import_module(f"mercer.streams.{module}"), name)
