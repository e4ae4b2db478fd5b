"""Dates in columns: recognised in text, taken from Arrow, and kept as NumPy's datetime64.

A column of days has the unit D. A column of times has the coarsest unit that is exact, from seconds to nanoseconds, in
UTC if the file names time zones. So a date that is written comes back as it was.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_DAY = r"\d{4}-\d{2}-\d{2}"
_TIME = r"\d{2}:\d{2}(:\d{2}([.,]\d{1,9})?)?"
_ZONE = r"(Z|[+-]\d{2}(:?\d{2})?)"
ISO_DATE = rf"^\s*{_DAY}([T ]{_TIME}\s*{_ZONE}?)?\s*$"  # ISO 8601, as pandas, R and databases write it
_ISO = re.compile(ISO_DATE)
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}

Column = Any  # pa.Array or pa.ChunkedArray


def is_date_type(kind: pa.DataType) -> bool:
    """Whether Arrow's type is that of a day or a point in time; a time of day or a duration is neither."""
    return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind))


def looks_like_date(text: str) -> bool:
    """Whether a text is written like a date.

    >>> looks_like_date("2024-02-29"), looks_like_date("2024-02-29 10:30Z"), looks_like_date("29.2.2024")
    (True, True, False)
    """
    return _ISO.match(text) is not None


def date_values(column: Column) -> np.ndarray:
    """A column of Arrow's dates or timestamps as datetime64, NaT where missing."""
    kind = column.type
    if pa.types.is_date32(kind):
        return _as_units(pc.cast(column, pa.int32()), "D")
    if pa.types.is_date64(kind):
        return _as_units(pc.cast(column, pa.int64()), "ms").astype("datetime64[D]")
    return _coarsest(_as_units(pc.cast(column, pa.int64()), kind.unit))


def as_days(column: Column) -> Column:
    """The same column, as days if it holds times without a zone that are all midnight.

    Spreadsheets, and Arrow's reader of JSON, give every date a time of day.
    """
    if not pa.types.is_timestamp(column.type) or column.type.tz is not None:
        return column
    days = pc.cast(column, pa.date32(), safe=False)
    return days if pc.all(pc.equal(pc.cast(days, column.type), column)).as_py() in (True, None) else column


def dates_in_text(column: Column) -> np.ndarray | None:
    """A column of text as datetime64 if every text in it is a date that exists; otherwise None."""
    if column.null_count == len(column) or not pc.all(pc.match_substring_regex(column, ISO_DATE)).as_py():
        return None
    texts = pc.replace_substring(pc.utf8_trim_whitespace(column), ",", ".")
    day = pc.equal(pc.utf8_length(texts), 10)
    try:
        if pc.all(day).as_py():
            return date_values(pc.cast(texts, pa.date32()))
        # Nanoseconds reach from 1678 to 2261 only, so they are used where a file has them and nowhere else.
        unit = "ns" if pc.any(pc.match_substring_regex(texts, r"\.\d{7}")).as_py() else "us"
        times = pc.replace_substring_regex(_with(texts, day, "T00:00"), rf"\s*{_ZONE}$", r"\1")
        zoned = pc.match_substring_regex(times, rf":.*{_ZONE}$")
        return date_values(pc.cast(_with(times, pc.invert(zoned), "Z"), pa.timestamp(unit, "UTC")))
    except pa.ArrowInvalid:  # 2023-02-29 looks like a date, but does not exist
        return None


def _with(texts: Column, where: Column, ending: str) -> Column:
    """The texts, some of them with an ending."""
    kind = texts.type
    longer = pc.binary_join_element_wise(texts, pa.scalar(ending, kind), pa.scalar("", kind))
    return pc.if_else(where, longer, texts)


def dates_among(texts: np.ndarray) -> np.ndarray | None:
    """The same for an array of str objects, None where missing."""
    first = next((text for text in texts if text is not None), "")
    return dates_in_text(pa.array(texts.tolist(), pa.large_string())) if looks_like_date(first) else None


def _as_units(numbers: Column, unit: str) -> np.ndarray:
    """Whole numbers since 1970 as datetime64, NaT where missing."""
    parts = numbers.chunks if isinstance(numbers, pa.ChunkedArray) else [numbers]
    nat = np.iinfo(np.int64).min  # what NumPy stores for NaT
    whole = [_plain(pc.cast(part, pa.int64()).fill_null(nat)) for part in parts]
    return np.concatenate([*whole, np.empty(0, np.int64)]).view(f"datetime64[{unit}]")


def _plain(part: pa.Array) -> np.ndarray:
    return np.frombuffer(part.buffers()[1], np.int64)[part.offset : part.offset + len(part)]


def _coarsest(found: np.ndarray) -> np.ndarray:
    """The same times in the coarsest unit that is exact."""
    unit = np.datetime_data(found.dtype)[0]
    numbers = found[~np.isnat(found)].astype(np.int64)
    for coarse, per_second in _PER_SECOND.items():
        if per_second < _PER_SECOND[unit] and np.all(numbers % (_PER_SECOND[unit] // per_second) == 0):
            return found.astype(f"datetime64[{coarse}]")
    return found
