"""Rows of a zarr array, or of a matrix in a zarr group. zarr is optional: pip install zarr."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from mercer.streams.stored_rows import StoredRows, sparse_shape
from mercer.tables.source import TableError, listed, readable


def open_zarr_rows(
    path: Path, *, key: str | None = None, columns: Sequence[Any] | None = None, chunk_rows: int | None = None
) -> StoredRows:
    """Rows of a zarr array, or of the array or CSR group `key` of a group: X if there is one."""
    part = _opened(path, key)
    if not hasattr(part, "shape") and key is None:
        if "X" not in part:
            raise TableError(f"{path} is a group of {listed(part)}. Choose a matrix in it with key=.")
        key = "X"
        part = part[key]
    return of_zarr(part, f"{path}{f', {key}' if key else ''}", partial(_context, path, key), columns, chunk_rows)


def of_zarr(part: Any, where: str, opened: Any, columns: Sequence[Any] | None, chunk_rows: int | None) -> StoredRows:
    """Rows of an open zarr array, or of a group that holds a CSR matrix."""
    shape = None
    if not hasattr(part, "shape"):
        shape = sparse_shape(where, str(part.attrs.get("encoding-type", "")), part.attrs.get("shape"))
    return StoredRows(opened, where, shape, columns=columns, chunk_rows=chunk_rows)


def _opened(path: Path, key: str | None) -> Any:
    try:
        import zarr
    except ImportError:
        raise ImportError(f"{path} is read with zarr, which is not installed: pip install zarr.") from None
    with readable(path, "zarr"):
        found: Any = zarr.open(str(path), mode="r")
        return found[key] if key else found


def _context(path: Path, key: str | None) -> Any:
    return nullcontext(_opened(path, key))


def kept_open(part: Any) -> Any:
    """An array that is open already; zarr's arrays can be pickled, and hold no open files."""
    return nullcontext(part)
