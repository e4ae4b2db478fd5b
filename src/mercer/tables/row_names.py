"""Columns that name rows instead of measuring them: running numbers, keys, zero-padded codes.

An id that is fitted adds the order of the file to every distance, so `read_table` leaves a likely one out and says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import numpy as np
from scipy import sparse

from mercer.tables.source import Raw

FEWEST_ROWS = 20  # with fewer, different whole numbers in one range are nothing unusual
_TELLING = re.compile(
    r"(?i:id|ids|uid|uuid|idx|index|key|row|rows|row_?names?|nr|no|num|number|#|unnamed.*)"
    r"|.*(?i:[_\-. ](id|idx|index|key|nr|no))|.*[a-z](Id|ID)"
)
_PLACE = re.compile(r"x\d+")  # the name of a column without one; pandas writes its index so
_UNNAMED = re.compile(r"x\d+|(?i:unnamed.*)")
_DIGITS = re.compile(r"\s*\d+\s*")
_HEAD = 64  # rows that rule out nearly all columns before all rows are looked at


def names_rows(name: str, values: np.ndarray) -> bool:
    """Whether a column of numbers or text looks like an id: all different, and a name or an order that says so.

    >>> names_rows("customer_id", np.array([812, 77, 305])), names_rows("age", np.array([31, 27, 44]))
    (True, False)
    """
    if not all_different(values):
        return False
    if values.dtype.kind not in "iuf":
        return all(_DIGITS.fullmatch(str(value)) for value in values.tolist())
    low, high, n = float(values.min()), float(values.max()), len(values)
    running = high - low == n - 1
    return bool(_TELLING.fullmatch(name)) or (running and (n >= FEWEST_ROWS or bool(_PLACE.fullmatch(name))))


def by_name_first(ids: Iterable[str]) -> list[str]:
    """Columns that look like ids, those with a name of their own first: an index that pandas wrote has none.

    >>> by_name_first(["x1", "customer_id"])
    ['customer_id', 'x1']
    """
    return sorted(ids, key=lambda name: _UNNAMED.fullmatch(name) is not None)


def all_different(values: np.ndarray) -> bool:
    """Whether no value is missing, repeated or a fraction."""
    if len(values) < 2:
        return False
    if values.dtype.kind not in "iuf":
        return values.dtype.kind in "OUT" and None not in (texts := set(values.tolist())) and len(texts) == len(values)
    for part in (values[:_HEAD], values):
        whole = values.dtype.kind != "f" or bool(np.all(part == np.floor(part)) and np.isfinite(part).all())
        if not whole or len(np.unique(part)) < len(part):
            return False
    return True


def likely_ids(raw: Raw, texts_stay: bool = True) -> tuple[list[str], list[str]]:
    """The features that look like ids, and those that might be: all different whole numbers under another name.

    A table in which no other feature would be left has no ids. `texts_stay`: whether text becomes features.
    """
    found, doubtful = [], []
    for name, values in _candidates(raw):
        if names_rows(name, values):
            found.append(name)
        elif values.dtype.kind in "iuf" and len(values) >= FEWEST_ROWS and all_different(values):
            doubtful.append(name)
    features = [*raw.numbers, *(raw.texts if texts_stay else ())]
    return (found, doubtful) if set(features) - set(found) else ([], doubtful)


def _candidates(raw: Raw) -> Iterator[tuple[str, np.ndarray]]:
    yield from raw.texts.items()
    if not sparse.issparse(raw.matrix):
        head = raw.matrix[:_HEAD]
        with np.errstate(invalid="ignore"):
            whole = np.all(head == np.floor(head), axis=0)
        for j in np.flatnonzero(whole):
            yield raw.numbers[j], raw.matrix[:, j]


def take_out(raw: Raw, names: list[str]) -> dict[str, np.ndarray]:
    """Remove columns from the features, in place, and return them: whole numbers or text."""
    places = [j for j, name in enumerate(raw.numbers) if name in names]
    taken = {raw.numbers[j]: raw.matrix[:, j].astype(np.int64) for j in places}
    taken |= {name: raw.texts.pop(name) for name in names if name in raw.texts}
    if places:
        raw.matrix, raw.owned = np.delete(raw.matrix, places, axis=1), True
        raw.numbers = [name for name in raw.numbers if name not in taken]
    return taken
