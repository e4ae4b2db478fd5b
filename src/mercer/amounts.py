"""Counts with their nouns, for messages."""

from __future__ import annotations


def amount(count: int, one: str, many: str | None = None) -> str:
    """A count with its noun.

    >>> amount(1, "row"), amount(1200, "row"), amount(2, "pass", "passes")
    ('1 row', '1,200 rows', '2 passes')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"
