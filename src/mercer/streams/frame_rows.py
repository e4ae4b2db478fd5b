"""Rows of data frames in memory: pandas, polars and Arrow tables. None of their packages is imported here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer.numeric_input import refuse_not_numeric
from mercer.streams.row_source import MatrixRows, common_type, float_type, places_of


class FrameRows(MatrixRows):
    """The numeric columns of a frame that can be sliced by rows and asked for its columns."""

    where = "The data frame"

    def __init__(self, frame: Any, *, columns: Sequence[Any] | None = None, chunk_rows: int | None = None):
        if hasattr(frame, "to_arrow"):
            frame = frame.to_arrow()  # of polars: the columns themselves, not copies
        self.arrow = hasattr(frame, "column_names")
        names = [str(name) for name in (frame.column_names if self.arrow else frame.columns)]
        if columns is not None:
            places = places_of(columns, names, len(names), self.where)
            frame = frame.select(places) if self.arrow else frame.iloc[:, places]
            names = [names[j] for j in places]
        self.frame = frame
        if self.arrow:
            # Imported here, since a frame of pandas needs no Arrow.
            from mercer.streams.arrow_rows import chosen_columns, column_type

            chosen_columns(self.where, frame.schema, names)
            types = [column_type(frame.schema, name) for name in names]
        else:
            refuse_not_numeric(frame.iloc[:0])
            types = [_pandas_type(name, dtype) for name, dtype in zip(names, frame.dtypes, strict=True)]
        super().__init__(frame.shape, common_type(types), feature_names=names, chunk_rows=chunk_rows)

    def read(self, start: int, stop: int) -> np.ndarray:
        made = np.empty((stop - start, self.n_features), self.dtype)
        if self.arrow:
            from mercer.tables.arrow_columns import float_values

            for j, column in enumerate(self.frame.slice(start, stop - start).columns):
                made[:, j] = float_values(column)
            return made
        part = self.frame.iloc[start:stop]
        for j in range(self.n_features):
            made[:, j] = part.iloc[:, j].to_numpy(dtype=self.dtype, na_value=np.nan)
        return made


def _pandas_type(name: str, dtype: Any) -> np.dtype:
    """The chunk's type for a column of pandas. Nullable types of pandas and Arrow say which NumPy type they hold."""
    stored = getattr(dtype, "numpy_dtype", getattr(dtype, "subtype", dtype))
    if not isinstance(stored, np.dtype) or stored.kind not in "biuf":
        raise ValueError(f"Column {name!r} of the data frame holds {dtype}, not numbers. Leave it out with columns=.")
    return float_type(stored, f"Column {name!r}")
