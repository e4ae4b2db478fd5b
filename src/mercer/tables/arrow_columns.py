"""Columns between Arrow and NumPy: floats, text, and columns that are shown but not computed with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mercer.tables.dates import date_values, dates_among, dates_in_text, is_date_type
from mercer.tables.dialect import INERT, MISSING, ZERO_PADDED
from mercer.tables.source import TableError

_EXACT = 2**53  # up to here every whole number is a float64

Column = Any  # pa.Array or pa.ChunkedArray


def is_number(kind: pa.DataType) -> bool:
    """Whether values of this type can be features without encoding."""
    known = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_boolean, pa.types.is_null)
    return any(check(kind) for check in known)


def arrow_column(values: np.ndarray, empty_is_missing: bool = False) -> pa.Array:
    """Arrow's column of a NumPy array. NaN and None become null; with `empty_is_missing`, so does empty text."""
    if values.dtype.kind in "biuf":
        if values.dtype.itemsize > 8:  # Arrow has no long double
            values = values.astype(np.float64)
        return pa.array(np.ascontiguousarray(values, values.dtype.newbyteorder("=")), from_pandas=True)
    if values.dtype.kind == "M" and np.datetime_data(values.dtype)[0] in ("D", "s", "ms", "us", "ns"):
        return pa.array(np.ascontiguousarray(values, values.dtype.newbyteorder("=")))  # NaT becomes null
    if values.dtype.kind in "mM":
        missing, values = np.isnat(values), values.astype(str).astype(object)
        values[missing] = None
    _check_letters(values)
    texts = [_text(value) for value in values.tolist()]
    return pa.array([None if empty_is_missing and not text else text for text in texts], pa.large_string())


def python_column(values: list[Any], text: Callable[[Any], str]) -> pa.Array:
    """Arrow's column of Python's values, None where missing: of one type if they have one, and otherwise of texts.

    text : how a value is written among others
    """
    kinds = {type(value) for value in values if value is not None}
    if kinds == {int, float}:
        values = [None if value is None else float(value) for value in values]
    if len(kinds) == 1 or kinds == {int, float}:
        try:
            return pa.array(values, from_pandas=True)
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
            pass  # objects of several shapes, or a whole number beyond 64 bits
    return pa.array([None if value is None else text(value) for value in values], pa.large_string())


def _check_letters(values: np.ndarray) -> None:
    """TableError for fixed-width text that is not Unicode: in a damaged file, converting it would crash."""
    if values.dtype.kind == "U" and values.size and values.dtype.itemsize:
        codes = np.ascontiguousarray(values).view(np.dtype(np.uint32).newbyteorder(values.dtype.byteorder))
        # Beyond the last code point, or half of a surrogate pair.
        if codes.max() > 0x10FFFF or ((codes >= 0xD800) & (codes < 0xE000)).any():
            raise TableError("The table contains text that is not valid Unicode; the file is damaged.")


def _text(value: Any) -> str | None:
    if value is None or (isinstance(value, float) and value != value):
        return None
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def float_values(column: Column) -> np.ndarray:
    """Numbers and booleans as floats; NaN where missing."""
    if pa.types.is_boolean(column.type):
        column = pc.cast(column, pa.uint8())
    if not pa.types.is_floating(column.type) or pa.types.is_float16(column.type):
        column = pc.cast(column, pa.float64(), safe=False)
    return _plain(column.fill_null(np.nan) if column.null_count else column)


def _plain(column: Column) -> np.ndarray:
    """Numbers without nulls as a view of Arrow's memory. Arrow's own to_numpy imports pandas if that is installed."""
    if isinstance(column, pa.ChunkedArray):
        parts = [_plain(chunk) for chunk in column.chunks]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)
    kind = column.type
    letter = "f" if pa.types.is_floating(kind) else "u" if pa.types.is_unsigned_integer(kind) else "i"
    values = np.frombuffer(column.buffers()[1], f"{letter}{kind.bit_width // 8}")
    return values[column.offset : column.offset + len(column)]


def as_text(column: Column) -> np.ndarray:
    """(n,) str objects, None where missing. Equal texts share one object."""
    chunked = column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])
    if not len(chunked):
        return np.empty(0, object)
    coded = chunked if pa.types.is_dictionary(chunked.type) else _strings(chunked).dictionary_encode()
    coded = coded.unify_dictionaries()
    known = _strings(pa.chunked_array([coded.chunk(0).dictionary])).to_pylist()
    table = np.empty(len(known) + 1, object)
    table[:-1] = known
    indices = [pc.cast(chunk.indices, pa.int64()).fill_null(len(known)) for chunk in coded.chunks]
    return table[np.concatenate([_plain(part) for part in indices])]


def _strings(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Any column as text: booleans are true and false, times follow ISO 8601."""
    kind = column.type
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return _strings_of_numbers(column)
    if pa.types.is_nested(kind) or pa.types.is_binary(kind) or isinstance(kind, pa.BaseExtensionType):
        return pa.chunked_array([pa.array([_text(value) for value in column.to_pylist()], pa.large_string())])
    return pc.cast(column, pa.large_string())


def _strings_of_numbers(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Floats as text, without a point if they are whole, so that 1.0 is the category "1" in every format."""
    return pc.cast(pc.cast(column, pa.float64(), safe=False), pa.large_string())


def carried_values(column: Column, floats: bool = True) -> np.ndarray:
    """A column that is shown but not computed with: exact integers, floats and dates, else text.

    floats : False for ids, which are whole numbers or text
    """
    kind = column.type
    if floats and is_date_type(kind):
        return date_values(column)
    if pa.types.is_integer(kind):
        return _whole(column)
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return float_values(column) if floats else as_text(column)
    texts = as_text(column)
    dates = dates_among(texts) if floats else None
    return texts if dates is None else dates


def floats_in_text(column: Column, decimal: str = ".") -> Column:
    """Parse text as floats; ArrowInvalid if some text is not a number."""
    column = pc.utf8_trim_whitespace(column)
    if decimal == ",":  # a point must then not pass for a decimal sign
        column = pc.replace_substring(pc.replace_substring(column, ".", "no"), ",", ".")
    return pc.cast(column, pa.float64())


def texts_in_text(column: Column) -> np.ndarray:
    """Text from a file without types. The apostrophe that keeps a spreadsheet from running a text is not part of it."""
    return as_text(pc.replace_substring_regex(column, INERT, r"\1"))


def numbers_in_text(column: Column, floats: bool = True, decimal: str = ".") -> np.ndarray:
    """Text from a file without types: numbers or dates if all of it reads so and nothing is lost (007 stays text)."""
    given, column = column, without(column, MISSING)  # a missing number in quotes is still missing
    if column.null_count == len(column):
        return np.full(len(column), np.nan) if floats and given.null_count == len(given) else texts_in_text(given)
    try:
        whole = pc.cast(column, pa.int64())
        if pc.all(pc.equal(pc.cast(whole, column.type), column)).as_py():
            return _whole(whole)
    except pa.ArrowInvalid:
        pass
    if not floats or pc.any(pc.match_substring_regex(column, ZERO_PADDED)).as_py():
        return texts_in_text(given)
    try:
        return float_values(floats_in_text(column, decimal))
    except pa.ArrowInvalid:
        dates = dates_in_text(column)
        return texts_in_text(given) if dates is None else dates


def without(column: Column, texts: tuple[str, ...]) -> Column:
    """The column with null in place of each of these texts."""
    return pc.if_else(pc.is_in(column, pa.array(texts, column.type)), pa.scalar(None, column.type), column)


def _whole(column: Column) -> np.ndarray:
    """Whole numbers. If some are missing: floats if that is exact, otherwise text."""
    if not column.null_count:
        return _plain(column).copy()  # Arrow's memory is read-only
    most = max(abs(value) for value in pc.min_max(column).as_py().values())
    return float_values(column) if most <= _EXACT else as_text(column)
