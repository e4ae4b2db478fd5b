"""Chunks made of pieces: row groups, record batches and small files are joined, large ones are cut.

A file stores its rows in units that are read as a whole. A chunk is a list of pieces (unit, start, stop), so that units
of any length become chunks of a bounded length, and no more than one unit is held at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from mercer.streams.row_source import even_cuts


class Piece(NamedTuple):
    """Rows start to stop of one unit."""

    unit: int
    start: int
    stop: int


def chunks_of_units(lengths: Sequence[int], rows: int) -> list[list[Piece]]:
    """Cut units longer than `rows`, and join consecutive shorter ones while the sum of their rows is at most `rows`.

    >>> chunks_of_units([3, 3, 10], 6)
    [[Piece(unit=0, start=0, stop=3), Piece(unit=1, start=0, stop=3)], [Piece(unit=2, start=0, stop=5)], \
[Piece(unit=2, start=5, stop=10)]]
    """
    made: list[list[Piece]] = []
    joined: list[Piece] = []
    size = 0
    for unit, length in enumerate(lengths):
        if size + length > rows and joined:
            made.append(joined)
            joined, size = [], 0
        if length > rows:
            made.extend([Piece(unit, start, stop)] for start, stop in pairwise(even_cuts(length, rows)))
        elif length:
            joined.append(Piece(unit, 0, length))
            size += length
    return [*made, joined] if joined or not made else made
