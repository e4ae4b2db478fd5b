"""`write_rows`: a source of rows into a file, chunk by chunk. The file is complete or not there."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from mercer.streams.local_driver import chunks
from mercer.streams.opening import open_rows
from mercer.tables.source import TableError, listed, place_names
from mercer.tables.writing import table_writer

_WRITABLE = (".parquet", ".arrow", ".feather", ".npy")  # what a source reads back chunk by chunk, to the bit


def write_rows(rows: Any, path: str | os.PathLike[str]) -> None:
    """Write rows to a .parquet, .arrow, .feather or .npy file, one chunk in memory at a time.

    rows : a source, or anything that `open_rows` opens. Sparse chunks are written as dense rows.

    Columns without names are called x1, x2, …. Each chunk becomes one row group of a parquet file or one record batch
    of an Arrow file, or several if it is larger than 64 MB. If anything fails, a file that was there before stays as
    it was.

    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/rows.parquet"
    >>> write_rows(np.eye(3), path)
    >>> open_rows(path).feature_names
    ['x1', 'x2', 'x3']
    """
    source, suffix = open_rows(rows), Path(path).suffix.lower()
    if suffix not in _WRITABLE:
        raise TableError(f"{path}: rows cannot be written as {suffix!r}. Known: {', '.join(_WRITABLE)}.")
    names = source.feature_names or place_names(source.n_features)
    if len(set(names)) < len(names):
        repeated = sorted({name for name in names if names.count(name) > 1})
        raise TableError(f"{path}: several columns have the name {listed(repeated)}. Give every column its own.")
    with table_writer(Path(path)) as table:
        table.add({name: np.empty(0, source.dtype) for name in names})  # a source may have no chunks
        for part in chunks(source):
            dense = part.toarray() if sparse.issparse(part) else part
            table.add(dict(zip(names, dense.T, strict=True)))
            table.end_run()
