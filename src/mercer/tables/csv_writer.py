"""Columns as text: cells by Arrow, joined a block of rows at a time; quotes where they are needed, and only there."""

from __future__ import annotations

from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mercer.tables.arrow_values import arrow_column
from mercer.tables.csv_dialect import DELIMITERS, MISSING, is_number

_ROWS = 1 << 16  # in a block
_SPECIAL = {  # what a text in need of quotes has in it, by the delimiter
    ",": r'[,"\r\n]|^\s|\s$',
    "\t": r'[\t"\r\n]|^\s|\s$',
    "": "",  # all of them: names that are numbers, or divided by another sign, would be taken for something else
}


def write(file: BinaryIO, columns: dict[str, np.ndarray], delimiter: str) -> None:
    """A header, then the rows."""
    table = arrow_table(columns)
    plain = any(not is_number(name) and name not in MISSING for name in columns) and next(iter(columns))[:1] != "#"
    plain = plain and (len(columns) > 1 or not any(sign in DELIMITERS for sign in next(iter(columns))))
    names = [_quoted(pa.array([name]), delimiter if plain else "", len(columns)) for name in columns]
    _lines(file, names, delimiter)
    for batch in table.to_batches(_ROWS):
        _lines(file, [_cells(column, delimiter, len(columns)) for column in batch.columns], delimiter)


def _lines(file: BinaryIO, cells: list[pa.Array], delimiter: str) -> None:
    joined = pc.binary_join_element_wise(*cells, pa.scalar(delimiter, pa.large_string()))
    lines = pc.binary_join_element_wise(joined, pa.scalar("\n", pa.large_string()), pa.scalar("", pa.large_string()))
    _, offsets, text = lines.buffers()  # one text after the other, which is what is to be written
    first, *_, last = np.frombuffer(offsets, np.int64)[lines.offset : lines.offset + len(lines) + 1]
    file.write(text[int(first) : int(last)])


def _cells(column: pa.Array, delimiter: str, width: int) -> pa.Array:
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return _quoted(column, delimiter, width)
    cells = pc.cast(column, pa.large_string())
    return cells.fill_null(_empty(width))


def _empty(width: int) -> str:
    return "" if width > 1 else "NA"  # a line without anything would be no row


def _quoted(column: pa.Array, delimiter: str, width: int) -> pa.Array:
    """Text in quotes where it would be read as something else."""
    column = pc.cast(column, pa.large_string())
    special = pc.or_(
        pc.match_substring_regex(column, _SPECIAL[delimiter]),
        pc.is_in(column, pa.array(MISSING, pa.large_string())),
    )
    doubled = pc.replace_substring(column, '"', '""')
    quote = pa.scalar('"', pa.large_string())
    inside = pc.binary_join_element_wise(quote, doubled, quote, pa.scalar("", pa.large_string()))
    return pc.if_else(special, inside, column).fill_null(_empty(width))


def arrow_table(columns: dict[str, np.ndarray]) -> pa.Table:
    """Arrow's columns; NaN and None are null."""
    return pa.table({name: arrow_column(values) for name, values in columns.items()})
