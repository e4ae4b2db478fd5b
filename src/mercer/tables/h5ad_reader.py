"""Tables of cells and genes (.h5ad): X, dense or sparse, with the columns of obs beside it and the names of var."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np

from mercer.tables import sparse_parts
from mercer.tables.h5ad_parts import attribute, block_rows, member, opened, read_names, try_elsewhere, values_of
from mercer.tables.matrix_reader import MatrixSource
from mercer.tables.table_source import digest_of, unique_names
from mercer.tables.table_types import Matrix, TableError, listed


def open_h5ad(path: Path) -> MatrixSource:
    digest = digest_of(path)
    try_elsewhere(path)
    given, ids, columns, left = read_names(path)
    features, notes = unique_names(given)
    if left:
        notes.append(f"Columns of obs that are neither numbers nor text were left out: {listed(left)}.")
    known = set(features)
    extras = {f"obs/{name}" if name in known else name: values for name, values in columns.items()}
    index = next(name for name in ("obs_names", "obs/index", "obs/names") if name not in known and name not in extras)
    return MatrixSource(
        str(path),
        digest,
        features,
        extras=[index, *extras],
        id=index,
        notes=notes,
        load=lambda: _matrix(path, len(ids), len(features)),
        columns={index: ids, **extras},
    )


def _matrix(path: Path, n: int, d: int) -> Matrix:
    """X as it is: an array, or a csr_array."""
    with opened(path) as file:
        part = member(path, file, "X")
        if isinstance(part, h5py.Group):
            found = _sparse(path, part)
        else:
            found = _dense(path, part)
        if found.shape != (n, d):
            raise TableError(
                f"{path}: X is of shape {found.shape}, and there are {n} names of rows and {d} of columns."
            )
        return found


def _sparse(path: Path, group: h5py.Group) -> Matrix:
    kind = attribute(group, "encoding-type", attribute(group, "h5sparse_format", "")).removesuffix("_matrix")
    if kind not in ("csr", "csc"):
        raise TableError(f"{path}: X is stored as {kind!r}; known are arrays, csr_matrix and csc_matrix.")
    data, indices, indptr = (values_of(path, group, name) for name in ("data", "indices", "indptr"))
    shape = group.attrs.get("shape", group.attrs.get("h5sparse_shape"))
    if shape is None:
        raise TableError(f"{path}: the sparse X has no shape.")
    return sparse_parts.compressed(path, kind, data, indices, indptr, shape)


def _dense(path: Path, part: h5py.Dataset) -> np.ndarray:
    if part.ndim != 2 or part.dtype.kind not in "biuf" or not part.size:
        raise TableError(f"{path}: X is {part.dtype} of shape {part.shape}; a matrix of numbers is needed.")
    found = np.empty(part.shape, part.dtype.newbyteorder("="))
    step = block_rows(part)
    for start in range(0, part.shape[0], step):
        found[start : start + step] = part[start : start + step]
    return found
