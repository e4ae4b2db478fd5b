"""Columns of a table as a page shows them: categories, numbers, dates or text, each with its missing values.

category   codes into a list of names; missing ones have the code after the last
number     whole numbers, float32 if that is exact, otherwise float64; missing ones are NaN
date       milliseconds since 1970, NaN where missing
text       strings that hardly repeat; they can be searched, not coloured by
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from mercer.web.payload import Payload, add_texts

Column = dict[str, Any]

MOST_CLASSES = 1000  # distinct strings up to which a column is one of categories; above it is text
_FEW_NUMBERS = 20  # distinct whole numbers up to which a column is one of classes
_FEW_LABELS = 200  # the same for the column that holds the labels
_EXACT_ROWS = 100_000  # rows up to which numbers that float32 would round are kept in float64
_MISSING_TYPES = {"NoneType", "NAType", "NaTType"}


def add_column(payload: Payload, name: str, values: Any, rows: int, *, use: str = "column") -> Column:
    """A column; use="label" prefers classes, "id" and "score" make none. ValueError unless it has `rows` values."""
    array = _unmasked(values) if np.ma.isMaskedArray(values) else np.asarray(values)
    if array.shape != (rows,):
        raise ValueError(f"Column {name!r} has shape {array.shape}; there are {rows} points, so it must be ({rows},).")
    if array.dtype.kind not in "biufUSOMmT":
        raise TypeError(f"Column {name!r} holds {array.dtype}; give numbers, text, dates or booleans.")
    return {"name": name} | _described(payload, array, use)


def _unmasked(values: Any) -> np.ndarray:
    """A masked array as a plain one, with NaN, NaT or None for masked values."""
    if values.dtype.kind == "f":
        return np.ma.filled(values, np.nan)
    if values.dtype.kind == "M":
        return values.filled(np.array("NaT", values.dtype))
    array = values.data.astype(object)
    array[np.ma.getmaskarray(values)] = None
    return array


def _described(payload: Payload, array: np.ndarray, use: str) -> Column:
    kind = array.dtype.kind
    if kind == "M":
        return {"kind": "date"} | payload.add(_milliseconds(array))
    if kind in "iuf":
        return _numbers(payload, array, use)
    texts = _texts(array)
    numbers = _all_numbers(array) if kind == "O" else None
    if numbers is not None:
        return _numbers(payload, numbers, use)
    return _strings(payload, texts, use)


def _milliseconds(array: np.ndarray) -> np.ndarray:
    whole = array.astype("datetime64[ms]")
    return np.where(np.isnat(whole), np.nan, whole.astype(np.int64).astype(np.float64))


def _all_numbers(array: np.ndarray) -> np.ndarray | None:
    """An array of Python objects as numbers, if each is a number or missing and at least one is not missing."""
    kinds = {type(value) for value in array}
    if any(not issubclass(kind, int | float | np.integer | np.floating) or kind is bool for kind in kinds
           if kind.__name__ not in _MISSING_TYPES):  # fmt: skip
        return None
    if all(kind.__name__ in _MISSING_TYPES for kind in kinds):
        return None
    whole = all(issubclass(kind, int | np.integer) for kind in kinds)
    try:
        if whole:
            return np.array([int(value) for value in array])
        return np.array([np.nan if is_missing(value) else float(value) for value in array])
    except OverflowError:
        return None


def is_missing(value: Any) -> bool:
    """None, NaN, NaT or pandas' NA.

    >>> is_missing(None), is_missing(float("nan")), is_missing(""), is_missing(0)
    (True, True, False, False)
    """
    return type(value).__name__ in _MISSING_TYPES or (isinstance(value, float | np.floating) and value != value)


def _texts(array: np.ndarray) -> list[str | None]:
    if array.dtype.kind == "S":
        return [value.decode("utf-8", "replace") for value in array.tolist()]
    if array.dtype.kind == "U":
        return array.tolist()
    if array.dtype.kind == "m":
        return [None if value != value else str(value) for value in array]
    return [None if is_missing(value) else _as_text(value) for value in array.tolist()]


def _as_text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _numbers(payload: Payload, array: np.ndarray, use: str) -> Column:
    if array.dtype.kind == "O" or (array.dtype.kind in "iu" and array.size and _too_large(array)):
        return _strings(payload, [str(value) for value in array.tolist()], use)
    if use not in ("id", "score"):
        few = _few_whole(array, _FEW_LABELS if use == "label" else _FEW_NUMBERS)
        if few is not None:
            texts = [None if value != value else str(int(value)) for value in array.tolist()]
            return _strings(payload, texts, use)
    return {"kind": "number"} | payload.add(_narrowed(array))


def _too_large(array: np.ndarray) -> bool:
    return int(array.max()) > 2**53 or int(array.min()) < -(2**53)


def _few_whole(array: np.ndarray, most: int) -> np.ndarray | None:
    """The distinct values, if they are whole and few enough to be classes."""
    if array.dtype.kind == "f" and np.isinf(array).any():
        return None
    sample = array[: 50 * most]
    if array.dtype.kind == "f" and not np.all((sample == np.round(sample)) | np.isnan(sample)):
        return None
    if len(np.unique(sample[~np.isnan(sample)])) > most:
        return None
    distinct = np.unique(array[~np.isnan(array)])
    whole = bool(np.all(distinct == np.round(distinct)))
    return distinct if whole and 0 < len(distinct) <= most else None


def _narrowed(array: np.ndarray) -> np.ndarray:
    """Integers if all are whole and none is missing; float32 if that is exact, or if there are very many rows."""
    if array.dtype.kind in "iu":
        return array
    with np.errstate(over="ignore"):  # what does not fit is kept in float64
        narrow = array.astype(np.float32)
        exact = np.array_equal(narrow.astype(np.float64), array.astype(np.float64), equal_nan=True)
    fits = bool(np.all(np.isfinite(narrow) == np.isfinite(array)))
    return narrow if exact or (fits and len(array) > _EXACT_ROWS) else array.astype(np.float64)


def _strings(payload: Payload, texts: list[str | None], use: str) -> Column:
    if use != "id":
        distinct = {text for text in texts if text is not None}
        if len(distinct) <= MOST_CLASSES and not _hardly_repeat(len(distinct), len(texts)):
            return _category(payload, texts, sorted(distinct, key=natural_key))
    return {"kind": "text"} | add_texts(payload, texts)


def _hardly_repeat(distinct: int, rows: int) -> bool:
    return distinct > 20 and 2 * distinct > rows


def _category(payload: Payload, texts: list[str | None], names: list[str]) -> Column:
    codes: dict[str | None, int] = {name: code for code, name in enumerate(names)}
    codes[None] = len(names)
    array = np.fromiter((codes[text] for text in texts), dtype=np.int64, count=len(texts))
    return {"kind": "category", "names": [name.encode("utf-8", "replace").decode() for name in names]} | payload.add(
        array
    )


def natural_key(text: str) -> tuple[tuple[int, int, str], ...]:
    """Orders text as people do: 2 before 10, "b2" before "b10".

    >>> sorted(["b10", "b2", "10", "9"], key=natural_key)
    ['9', '10', 'b2', 'b10']
    """
    parts = [part for part in re.split(r"([0-9]+)", text[:200]) if part]
    keys = [(0, int(part), "") if part.isascii() and part.isdigit() else (1, 0, part.casefold()) for part in parts]
    return (*keys, (2, 0, text))
