"""Sources made of other sources: several one after the other, some of the columns, other chunks.

If chunk i of a view follows from chunk i of its source, the view has a method `of_chunk(i, rows)`. Workers that are
brought the chunk can then compute the view without the source.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.backends import is_foreign, namespace
from mercer.streams.row_source import Rows, RowSource, common_type, device_of_rows, row_starts, type_of


class JoinedRows:
    """The chunks of all parts in order. `labels` are what errors call the parts: their files, or their numbers."""

    def __init__(self, parts: Sequence[RowSource], labels: Sequence[str]):
        first = parts[0]
        for part, label in zip(parts, labels, strict=True):
            if part.n_features != first.n_features or part.feature_names != first.feature_names:
                raise ValueError(
                    f"{label} has {part.n_features} columns{_some(part)}, but {labels[0]} has {first.n_features}"
                    f"{_some(first)}. All parts need the same columns."
                )
        self.parts, self.labels = list(parts), list(labels)
        self.n_features = first.n_features
        self.dtype = common_type([part.dtype for part in parts])
        self.feature_names, self.device = first.feature_names, one_device(parts)
        self.places = [(p, i) for p, part in enumerate(parts) for i in range(len(part.lengths))]
        self.lengths = [parts[p].lengths[i] for p, i in self.places]

    def chunk(self, i: int) -> Rows:
        p, own = self.places[i]
        return self.of_part(i, lambda: self.parts[p].chunk(own))

    def of_part(self, i: int, read: Callable[[], Rows]) -> Rows:
        """Chunk i, which its part gives when it is read, as a chunk of the whole."""
        p, _ = self.places[i]
        try:
            rows = read()
        except ValueError as error:
            raise type(error)(f"Chunk {i}, of {self.labels[p]}: {error}") from error
        if is_foreign(rows):
            return rows if type_of(rows) == self.dtype else namespace(rows).astype(rows, namespace(rows).float64)
        return rows.astype(self.dtype, copy=False)


def one_device(parts: Sequence[RowSource]) -> Any:
    """Where the chunks of all parts are. ValueError if they are in several places."""
    places = {str(device_of_rows(part)): device_of_rows(part) for part in parts}
    if len(places) > 1:
        raise ValueError(f"The parts are in several places: {', '.join(places)}. Move them to one device.")
    return next(iter(places.values()))


def _some(source: RowSource) -> str:
    names = source.feature_names
    return "" if names is None else f" ({', '.join(map(repr, names[:5]))}{', …' if len(names) > 5 else ''})"


class LastChunk:
    """A source that remembers the chunk that it gave last, for readers that ask for it again. A copy forgets it."""

    def __init__(self, source: RowSource) -> None:
        self.source = source
        self.n_features, self.dtype, self.feature_names = source.n_features, source.dtype, source.feature_names
        self.device = device_of_rows(source)
        self._lock, self._number, self._rows = threading.Lock(), -1, None

    def __reduce__(self) -> Any:
        return LastChunk, (self.source,)

    @property
    def lengths(self) -> Sequence[int]:
        return self.source.lengths

    def chunk(self, i: int) -> Rows:
        with self._lock:
            if i != self._number:
                self._rows, self._number = self.source.chunk(i), i
            return self._rows


class RecutRows:
    """A source cut into chunks of the given lengths. It holds one chunk of the source besides its own."""

    def __init__(self, source: RowSource, lengths: Sequence[int]) -> None:
        self.source = LastChunk(source)
        self.n_features, self.dtype, self.feature_names = source.n_features, source.dtype, source.feature_names
        self.device = device_of_rows(source)
        self.lengths = list(lengths)
        self._starts, self._own = row_starts(source), row_starts(self)

    def chunk(self, i: int) -> Rows:
        start, stop = int(self._own[i]), int(self._own[i + 1])
        first = int(np.searchsorted(self._starts, start, side="right")) - 1
        parts = []
        while start < stop:
            end = min(stop, int(self._starts[first + 1]))
            if end > start:
                parts.append(self.source.chunk(first)[start - self._starts[first] : end - self._starts[first]])
            start, first = end, first + 1
        if not parts:
            return np.empty((0, self.n_features), self.dtype)
        if len(parts) == 1:
            return parts[0]
        if is_foreign(parts[0]):
            return namespace(parts[0]).concat(parts, axis=0)
        return sp.vstack(parts, format="csr") if sp.issparse(parts[0]) else np.concatenate(parts)


class ChosenColumns:
    """The columns of a source with the given numbers, in that order."""

    def __init__(self, source: RowSource, places: Sequence[int]) -> None:
        self.source, self.places = source, list(places)
        self.n_features, self.dtype, self.device = len(self.places), source.dtype, device_of_rows(source)
        names = source.feature_names
        self.feature_names = None if names is None else [names[j] for j in self.places]

    @property
    def lengths(self) -> Sequence[int]:
        return self.source.lengths

    def chunk(self, i: int) -> Rows:
        return self.of_chunk(i, self.source.chunk(i))

    def of_chunk(self, i: int, rows: Rows) -> Rows:
        rows = rows[:, self.places]
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
