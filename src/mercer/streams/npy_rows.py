"""Rows of a .npy file or of a memory map, chunk by chunk.

Rows are read, not mapped: what a mapped file leaves in memory counts as the process's own until the system needs it.
"""

from __future__ import annotations

import math
import mmap
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mercer.streams.row_source import ArraySource, MatrixRows
from mercer.tables.source import TableError, readable


class NpyRows(MatrixRows):
    """An array in a file, from its place, shape, type and order."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        offset: int,
        shape: tuple[int, ...],
        dtype: np.dtype,
        *,
        fortran: bool = False,
        columns: Sequence[Any] | None = None,
        chunk_rows: int | None = None,
    ):
        self.path, self.offset, self.shape, self.stored, self.fortran = Path(path), offset, shape, dtype, fortran
        self.where = str(path)
        needed, there = offset + math.prod(shape) * dtype.itemsize, os.path.getsize(path)
        if needed > there:
            raise TableError(
                f"{path} was cut short: an array of shape {shape} needs {needed} bytes, and it has {there}."
            )
        super().__init__(shape, dtype, columns=columns, chunk_rows=chunk_rows)

    def read(self, start: int, stop: int) -> np.ndarray:
        n, width = self.shape
        with readable(self.path, f".npy, rows {start} to {stop}"), open(self.path, "rb") as file:
            if self.fortran:
                return np.column_stack([self._numbers(file, j * n + start, stop - start) for j in range(width)])
            return self._numbers(file, start * width, (stop - start) * width).reshape(-1, width)

    def _numbers(self, file: Any, first: int, count: int) -> np.ndarray:
        made = np.empty(count, self.stored)
        file.seek(self.offset + first * self.stored.itemsize)
        if file.readinto(made.view(np.uint8)) != made.nbytes:
            raise TableError(f"{self.path} was cut short: it ends before number {first + count}.")
        return made


def open_npy_rows(path: Path, *, columns: Sequence[Any] | None, chunk_rows: int | None) -> NpyRows:
    """Rows of a .npy file that holds a matrix of numbers."""
    with readable(path, ".npy"), open(path, "rb") as file:
        version = np.lib.format.read_magic(file)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, fortran, dtype = read(file)
        if dtype.kind not in "biuf":
            raise TableError(f"{path} holds values of type {dtype}, not numbers.")
        if len(shape) != 2:
            raise TableError(f"{path} holds an array of shape {shape}, not a matrix of rows. Reshape it first.")
        return NpyRows(path, file.tell(), shape, dtype, fortran=fortran, columns=columns, chunk_rows=chunk_rows)


def of_array(X: Any, *, columns: Sequence[Any] | None, chunk_rows: int | None) -> MatrixRows:
    """Rows of an array. A memory map of a whole array is held by its path, so that it is never pickled."""
    whole = isinstance(X, np.memmap) and isinstance(X.base, mmap.mmap) and X.filename is not None and X.ndim == 2
    if whole and (X.flags.c_contiguous or X.flags.f_contiguous):
        return NpyRows(
            str(X.filename),
            X.offset,
            X.shape,
            X.dtype,
            fortran=not X.flags.c_contiguous,
            columns=columns,
            chunk_rows=chunk_rows,
        )
    return ArraySource(X, columns=columns, chunk_rows=chunk_rows)
