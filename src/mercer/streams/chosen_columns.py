"""Some of the columns of a source, as a source."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mercer.streams.recut_rows import LastChunk
from mercer.streams.row_source import Rows, RowSource


class ChosenColumns:
    """The columns of a source with the given numbers, in that order."""

    def __init__(self, source: RowSource, places: Sequence[int]) -> None:
        self.source, self.places = source, list(places)
        self.n_features, self.dtype = len(self.places), source.dtype
        names = source.feature_names
        self.feature_names = None if names is None else [names[j] for j in self.places]

    @property
    def lengths(self) -> Sequence[int]:
        return self.source.lengths

    def chunk(self, i: int) -> Rows:
        rows = self.source.chunk(i)[:, self.places]
        return np.ascontiguousarray(rows) if isinstance(rows, np.ndarray) else rows


def columns_named(source: RowSource, names: Sequence[str]) -> RowSource:
    """The columns with these names. A file is read for these columns alone. ValueError for a name that is not there."""
    known = source.feature_names or []
    missing = [name for name in names if name not in known]
    if missing:
        has = (
            ", ".join(map(repr, known[:10])) + (", …" if len(known) > 10 else "") if known else "columns without names"
        )
        raise ValueError(f"The source of rows has no column {missing[0]!r}. It has {has}.")
    only = getattr(source, "only", None)
    return only(list(names)) if only is not None else ChosenColumns(source, [known.index(name) for name in names])


def without_column(source: RowSource, name: str) -> tuple[RowSource, RowSource]:
    """All other columns, and the one with this name: rows and their target from one table."""
    if not hasattr(source, "only"):
        source = LastChunk(source)  # both parts of a chunk come from one read
    column = columns_named(source, [name])
    return columns_named(source, [other for other in source.feature_names or [] if other != name]), column
