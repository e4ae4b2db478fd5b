"""Rows of a matrix in an HDF5 file, dense or CSR, and of annotated matrices (.h5ad) in backed mode."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import h5py

from mercer.streams.stored_rows import StoredRows, sparse_shape
from mercer.tables.h5ad import attribute, index_names, member, opened, word
from mercer.tables.source import TableError, listed, unique_names


def open_hdf5_rows(
    path: Path, *, key: str | None = None, columns: Sequence[Any] | None = None, chunk_rows: int | None = None
) -> StoredRows:
    """Rows of the dataset or CSR group `key`: X of a .h5ad file, otherwise the only matrix at the top of the file.

    The names of the columns are those of var if they fit.
    """
    with opened(path) as file:
        key = key or _only_matrix(path, file)
        where = f"{path}, {key}"
        part = _part(path, file, key)
        shape = None
        if isinstance(part, h5py.Group):
            kind = word(path, part, "encoding-type", word(path, part, "h5sparse_format", ""))
            given = attribute(path, part, "shape")
            shape = sparse_shape(where, kind, attribute(path, part, "h5sparse_shape") if given is None else given)
            for name in ("data", "indices", "indptr"):
                member(path, part, name, whole=False)
        names = None
        if "var" in file and key.strip("/").partition("/")[0] in ("X", "layers"):
            names, _ = unique_names(index_names(path, member(path, file, "var")).tolist())
    return StoredRows(
        partial(_opened_part, path, key), where, shape, feature_names=names, columns=columns, chunk_rows=chunk_rows
    )


def _part(path: Path, file: h5py.File, key: str) -> Any:
    """The member at a path of names, each of them in the file itself."""
    part: Any = file
    for name in key.strip("/").split("/"):
        if not isinstance(part, h5py.Group):
            raise TableError(f"{path} has no {key}.")
        part = member(path, part, name, whole=False)
    return part


@contextmanager
def _opened_part(path: Path, key: str) -> Iterator[Any]:
    with opened(path) as file:
        yield _part(path, file, key)


def _only_matrix(path: Path, file: h5py.File) -> str:
    if "X" in file:
        return "X"
    found = [name for name, part in file.items() if isinstance(part, h5py.Dataset) and part.ndim == 2]
    if len(found) != 1:
        has = f"the matrices {listed(found)}" if found else "no matrix at its top"
        raise TableError(f"{path} has {has}. Choose one with key=.")
    return found[0]
