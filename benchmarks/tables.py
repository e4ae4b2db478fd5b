"""Reading a large csv into an array: normal numbers of 16 or 17 digits, written for each run and then deleted.

Every library ends with one array of floats, rows by columns, as an estimator needs it. Peak memory is that of the whole
process, with interpreter and libraries, and is also given as a multiple of the bytes of the numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv

_ROWS = 50_000  # in a block


def write(path: Path, n: int, d: int) -> Path:
    """The csv file of n rows of d columns."""
    schema = pa.schema([(f"c{j}", pa.float64()) for j in range(d)])
    with csv.CSVWriter(path, schema) as writer:
        for start in range(0, n, _ROWS):
            block = _block(start, min(_ROWS, n - start), d)
            writer.write_table(pa.table(list(block.T), schema=schema))
    return path


def _block(start: int, rows: int, d: int) -> np.ndarray:
    return np.random.default_rng(start).standard_normal((rows, d))


def read(job: dict[str, Any]) -> dict[str, Any]:
    """One measurement, in a process of its own."""
    from benchmarks.child import memory, timed

    work = READERS[job["what"]]()
    work(job["small"])
    before = memory("VmRSS")
    seconds, X = timed(lambda: work(job["data"]))
    peak = memory("VmHWM")
    np.save(Path(job["out"]) / "first.npy", X[:_ROWS])
    np.save(Path(job["out"]) / "last.npy", X[-1:])
    return {"seconds": seconds, "before_bytes": before, "peak_bytes": peak, "multiple": peak / (X.size * 8)}


def verdict(out: Path, n: int, d: int) -> dict[str, Any]:
    """The largest difference from the numbers that were written, in the first block and the last row."""
    first, last = (np.load(out / f"{name}.npy") for name in ("first", "last"))
    start = (n - 1) // _ROWS * _ROWS
    end = _block(start, n - start, d)[-1:]
    return {"residual": float(max(abs(first - _block(0, min(n, _ROWS), d)).max(), abs(last - end).max()))}


def _mercer() -> Callable[[str], np.ndarray]:
    from mercer.tables import read_table

    return lambda path: read_table(path).X


def _pyarrow() -> Callable[[str], np.ndarray]:
    def work(path: str) -> np.ndarray:
        table = csv.read_csv(path)
        X = np.empty(table.shape)
        for j, column in enumerate(table.columns):
            X[:, j] = column
        return X

    return work


def _pandas(**options: Any) -> Callable[[], Callable[[str], np.ndarray]]:
    def start() -> Callable[[str], np.ndarray]:
        import pandas as pd

        return lambda path: pd.read_csv(path, **options).to_numpy(np.float64)

    return start


def _polars() -> Callable[[str], np.ndarray]:
    import polars as pl

    return lambda path: pl.read_csv(path).to_numpy(order="c")


READERS: dict[str, Callable[[], Callable[[str], np.ndarray]]] = {
    "mercer": _mercer,
    "pyarrow": _pyarrow,
    "pandas": _pandas(),
    "pandas_pyarrow": _pandas(engine="pyarrow"),
    "polars": _polars,
}
