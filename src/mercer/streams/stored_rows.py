"""What HDF5 and zarr have in common: a matrix in one array, dense, or in three that make up a CSR matrix."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from scipy import sparse

from mercer.streams.row_source import MatrixRows, stored_row_bytes
from mercer.tables.source import TableError, readable

Opened = Callable[[], AbstractContextManager[Any]]  # opens the array or group for reading


class StoredRows(MatrixRows):
    """A matrix that is opened anew for each chunk, so that the source holds no open file.

    opened : gives the array, or the mapping of data, indices and indptr. It has to be picklable.
    shape : of a sparse matrix; None if the matrix is dense
    """

    def __init__(
        self,
        opened: Opened,
        where: str,
        shape: tuple[int, int] | None,
        *,
        feature_names: Sequence[str] | None = None,
        columns: Sequence[Any] | None = None,
        chunk_rows: int | None = None,
    ):
        self.opened, self.where, self.sparse = opened, where, shape is not None
        with readable(where, "a matrix"), opened() as found:
            values = found["data"] if shape is not None else found
            if values.dtype.kind not in "biuf":
                raise TableError(f"{where} holds values of type {values.dtype}, not numbers.")
            if shape is not None and (
                found["indptr"].shape != (shape[0] + 1,) or values.shape != found["indices"].shape
            ):
                raise TableError(f"{where} is damaged: the parts of its sparse matrix do not fit together.")
            if shape is None and len(values.shape) != 2:
                raise TableError(f"{where} has shape {values.shape}, but rows come from a matrix.")
            stored = None if shape is None else stored_row_bytes(shape[0], values.shape[0], values.dtype)
            self.shape = tuple(int(size) for size in (values.shape if shape is None else shape))
            unit = (values.chunks or (1,))[0] if shape is None else 1
            super().__init__(
                self.shape,
                values.dtype,
                feature_names=feature_names,
                columns=columns,
                chunk_rows=chunk_rows,
                unit=unit,
                row_bytes=stored,
            )

    def read(self, start: int, stop: int) -> Any:
        with readable(self.where, f"a matrix, rows {start} to {stop}"), self.opened() as found:
            if not self.sparse:
                return np.asarray(found[start:stop])
            return self._csr(found, start, stop)

    def _csr(self, group: Mapping[str, Any], start: int, stop: int) -> sparse.csr_array:
        starts = np.asarray(group["indptr"][start : stop + 1]).astype(np.int64)
        first, last = int(starts[0]), int(starts[-1])
        if first < 0 or (np.diff(starts) < 0).any() or last > group["data"].shape[0]:
            raise TableError(f"{self.where} is damaged: indptr does not rise from row {start} to {stop}.")
        data, indices = np.asarray(group["data"][first:last]), np.asarray(group["indices"][first:last])
        if len(indices) and not (int(indices.min()) >= 0 and int(indices.max()) < self.shape[1]):
            raise TableError(f"{self.where} is damaged: an index lies outside of 0 to {self.shape[1] - 1}.")
        if max(self.shape[1], last - first) < 2**31:
            indices, starts = indices.astype(np.int32), (starts - first).astype(np.int32)
        else:
            indices, starts = indices.astype(np.int64), starts - first
        made = sparse.csr_array((data, indices, starts), shape=(stop - start, self.shape[1]))
        made.sum_duplicates()
        return made


def sparse_shape(where: str, kind: str, shape: Any) -> tuple[int, int]:
    """The shape of a group that stores a sparse matrix. TableError if rows cannot be read from it one after another."""
    if kind.removesuffix("_matrix") != "csr":
        raise TableError(
            f"{where} is stored as {kind or 'a group'!r}, not as an array or by rows (csr_matrix). Convert it once: "
            "adata.X = adata.X.tocsr()."
        )
    sizes = [int(size) for size in np.asarray(shape).ravel()] if shape is not None else []
    if len(sizes) != 2:
        raise TableError(f"{where}: the sparse matrix has no shape.")
    return sizes[0], sizes[1]
