"""Sparse matrices out of their parts, which are checked first: a damaged file must not make SciPy read elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from mercer.tables.table_source import check_room
from mercer.tables.table_types import TableError


def compressed(path: object, kind: str, data: Any, indices: Any, indptr: Any, shape: Any) -> sparse.csr_array:
    """A csr_array of the parts of a CSR or CSC matrix."""
    n, d = _shape(path, shape)
    lines, width = (n, d) if kind == "csr" else (d, n)
    good = (
        all(part.ndim == 1 for part in (data, indices, indptr))
        and data.dtype.kind in "biuf"
        and indices.dtype.kind in "iu"
        and indptr.dtype.kind in "iu"
        and len(indptr) == lines + 1
        and len(data) == len(indices)
        and indptr[0] == 0
        and int(indptr[-1]) == len(data)
        and bool((indptr[1:] >= indptr[:-1]).all())
        and (not len(indices) or (int(indices.min()) >= 0 and int(indices.max()) < width))
    )
    if not good:
        raise TableError(f"{path} holds a sparse matrix whose parts do not fit together; it is damaged.")
    build = sparse.csr_array if kind == "csr" else sparse.csc_array
    found = sparse.csr_array(build((data, indices.astype(np.int64), indptr.astype(np.int64)), shape=(n, d)))
    return _tidy(found)


def coordinates(path: object, data: Any, row: Any, col: Any, shape: Any) -> sparse.csr_array:
    """A csr_array of the parts of a COO matrix."""
    n, d = _shape(path, shape)
    good = data.ndim == row.ndim == col.ndim == 1 and len(data) == len(row) == len(col) and data.dtype.kind in "biuf"
    for places, most in ((row, n), (col, d)):
        good = good and places.dtype.kind in "iu"
        good = good and (not len(places) or (int(places.min()) >= 0 and int(places.max()) < most))
    if not good:
        raise TableError(f"{path} holds a sparse matrix whose parts do not fit together; it is damaged.")
    return _tidy(sparse.csr_array((data, (row.astype(np.int64), col.astype(np.int64))), shape=(n, d)))


def _shape(path: object, shape: Any) -> tuple[int, int]:
    sizes = [int(size) for size in np.asarray(shape).ravel()]
    if len(sizes) != 2 or min(sizes) < 1:
        raise TableError(f"{path} holds a sparse matrix of shape {tuple(sizes)}; rows and columns are needed.")
    check_room(path, sum(sizes), 1)  # a row without values still takes a place
    return sizes[0], sizes[1]


def _tidy(found: sparse.csr_array) -> sparse.csr_array:
    found.sum_duplicates()
    if max(found.shape) < 2**31 and found.nnz < 2**31:  # scikit-learn takes 32-bit places alone
        found.indices, found.indptr = found.indices.astype(np.int32), found.indptr.astype(np.int32)
    return found
