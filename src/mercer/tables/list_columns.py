"""Columns of lists of numbers, the usual form of embeddings in parquet and Arrow files, as blocks of a matrix."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mercer.tables.arrow_columns import float_values, is_number
from mercer.tables.source import TableError


def lists_numbers(kind: pa.DataType) -> bool:
    """Whether each value of this type is a list of numbers, of any or of a fixed length."""
    kind = kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind
    listing = pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    return listing and is_number(kind.value_type) and not pa.types.is_null(kind.value_type)


def width_of(column: pa.Array) -> int | None:
    """How many numbers the first list has; None if no list holds any."""
    lengths = pc.list_value_length(_stored(column)).drop_null()
    first = next((length for length in lengths.to_pylist() if length), None)
    return None if first is None else int(first)


def list_block(column: pa.Array, width: int, where: str, row: int = 0) -> np.ndarray:
    """(n, width) floats; NaN where a list or one of its numbers is missing.

    where, row : how an error names the column and the place of its first list
    """
    column = _stored(column)
    lengths = np.array(pc.fill_null(pc.list_value_length(column), -1).to_pylist(), np.int64)
    wrong = np.flatnonzero((lengths >= 0) & (lengths != width))
    if len(wrong):
        raise TableError(
            f"{where}: the list in row {row + wrong[0] + 1} has length {lengths[wrong[0]]}, and those before it have "
            f"{width}. All lists of a vector need the same length."
        )
    there = lengths >= 0
    block = np.full((len(column), width), np.nan)
    block[there] = float_values(column.drop_null().flatten()).reshape(-1, width)
    return block


def _stored(column: pa.Array) -> pa.Array:
    """A tensor of a fixed shape is stored as a list."""
    return column.storage if isinstance(column, pa.ExtensionArray) else column
