"""The rows of one source in the chunks of another, so that both can be read side by side."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.streams.opening import open_rows
from mercer.streams.row_source import Rows, RowSource, row_starts


class LastChunk:
    """A source that remembers the chunk that it gave last, for readers that ask for it again. A copy forgets it."""

    def __init__(self, source: RowSource) -> None:
        self.source = source
        self.n_features, self.dtype, self.feature_names = source.n_features, source.dtype, source.feature_names
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
        return sp.vstack(parts, format="csr") if sp.issparse(parts[0]) else np.concatenate(parts)


def beside(source: RowSource, y: Any, name: str = "y") -> RowSource:
    """y, a source or an array with a row per row of the source, in the chunks of the source. ValueError otherwise."""
    if not all(hasattr(y, part) for part in ("chunk", "lengths")):
        y = np.asarray(y) if not hasattr(y, "shape") else y
        y = open_rows(np.asarray(y).reshape(-1, 1) if len(y.shape) == 1 else y)
    n, given = int(sum(source.lengths)), int(sum(y.lengths))
    if n != given:
        raise ValueError(f"X has {n:,} rows and {name} has {given:,}: inconsistent numbers of samples.")
    return y if list(y.lengths) == list(source.lengths) else RecutRows(y, source.lengths)
