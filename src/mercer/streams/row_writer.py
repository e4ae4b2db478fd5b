"""`write_rows`: a source of rows into a file, chunk by chunk. The file is complete or not there."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import ipc, parquet
from scipy import sparse

from mercer.atomic_write import replacing
from mercer.streams.local_driver import chunks
from mercer.streams.opening import open_rows
from mercer.streams.row_source import RowSource
from mercer.tables.source import TableError, place_names


def write_rows(rows: Any, path: str | os.PathLike[str]) -> None:
    """Write rows to a .parquet, .arrow, .feather or .npy file, one chunk in memory at a time.

    rows : a source, or anything that `open_rows` opens. Sparse chunks are written as dense rows.

    Columns without names are called x1, x2, …. Each chunk becomes one row group of a parquet file or one record batch
    of an Arrow file. If anything fails, a file that was there before stays as it was.

    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/rows.parquet"
    >>> write_rows(np.eye(3), path)
    >>> open_rows(path).feature_names
    ['x1', 'x2', 'x3']
    """
    source = open_rows(rows)
    known: dict[str, Callable[[RowSource, Path], None]] = {
        ".parquet": _write_parquet,
        ".arrow": _write_ipc,
        ".feather": _write_ipc,
        ".npy": _write_npy,
    }
    suffix = Path(path).suffix.lower()
    if suffix not in known:
        raise TableError(f"{path}: rows cannot be written as {suffix!r}. Known: {', '.join(known)}.")
    with replacing(path) as part:
        known[suffix](source, part)


def _write_parquet(source: RowSource, path: Path) -> None:
    with parquet.ParquetWriter(path, _schema(source)) as writer:
        for rows in chunks(source):
            writer.write_batch(_batch(source, rows), row_group_size=max(1, rows.shape[0]))


def _write_ipc(source: RowSource, path: Path) -> None:
    with ipc.new_file(str(path), _schema(source)) as writer:
        for rows in chunks(source):
            writer.write_batch(_batch(source, rows))


def _write_npy(source: RowSource, path: Path) -> None:
    head = {
        "descr": np.lib.format.dtype_to_descr(source.dtype),
        "fortran_order": False,
        "shape": (sum(source.lengths), source.n_features),
    }
    with open(path, "wb") as file:
        np.lib.format.write_array_header_2_0(file, head)
        for rows in chunks(source):
            file.write(_dense(rows).tobytes())


def _schema(source: RowSource) -> pa.Schema:
    kind = pa.float32() if source.dtype == np.float32 else pa.float64()
    return pa.schema([(name, kind) for name in source.feature_names or place_names(source.n_features)])


def _batch(source: RowSource, rows: Any) -> pa.RecordBatch:
    columns = np.ascontiguousarray(_dense(rows).T)
    return pa.record_batch([pa.array(column) for column in columns], schema=_schema(source))


def _dense(rows: Any) -> np.ndarray:
    return rows.toarray() if sparse.issparse(rows) else rows
