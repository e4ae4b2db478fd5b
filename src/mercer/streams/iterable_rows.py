"""Rows of any object that gives its chunks anew each time it is iterated over."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from scipy import sparse

from mercer.amounts import amount
from mercer.backends import is_foreign
from mercer.streams.row_source import Rows, checked_chunk, common_device, common_type, float_type, type_of


class IterableRows:
    """Chunks of an iterable. It is read once when it is opened, since nothing else tells the lengths of its chunks.

    Chunks asked for in order take one pass over the iterable; one that lies further back starts a new pass.
    """

    def __init__(self, chunks: Iterable[Any]):
        first = iter(chunks)
        if first is chunks:
            raise TypeError(
                f"A {type(chunks).__name__} gives its chunks once, but a fit may read them several times. Pass an "
                "object whose __iter__ starts again (a class with `def __iter__(self): yield …`), a list, or a file."
            )
        self.chunks = chunks
        self.lengths: list[int] = []
        types, self.n_features, heads = [], -1, []
        for i, part in enumerate(first):
            rows = _matrix(part, i)
            self.n_features = rows.shape[1] if self.n_features < 0 else self.n_features
            if rows.shape[1] != self.n_features:
                raise ValueError(f"Chunk {i} has {amount(rows.shape[1], 'column')}, but chunk 0 has {self.n_features}.")
            types.append(float_type(type_of(rows), f"Chunk {i}"))
            heads.append(rows[:0])
            self.lengths.append(int(rows.shape[0]))
        if not self.lengths:
            raise ValueError("The iterable gives no chunks, so its columns are unknown.")
        self.dtype, self.device = common_type(types), common_device(heads)
        self.feature_names: list[str] | None = None
        self._pass = _Pass()

    def chunk(self, i: int) -> Rows:
        with self._pass.lock:
            return checked_chunk(_matrix(self._pass.part(self.chunks, i), i), self, i)


class _Pass:
    """A pass over the chunks, and the number of the next one. A pickled pass starts again."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.next = -1
        self.left: Iterator[Any] = iter(())

    def __reduce__(self) -> Any:
        return _Pass, ()

    def part(self, chunks: Iterable[Any], i: int) -> Any:
        if not 0 <= self.next <= i:
            self.next, self.left = 0, iter(chunks)
        while True:
            try:
                found = next(self.left)
            except StopIteration:
                was, self.next = self.next, -1
                raise ValueError(
                    f"The iterable gave {amount(was, 'chunk')} this time, but more when it was opened."
                ) from None
            self.next += 1
            if self.next == i + 1:
                return found


def _matrix(part: Any, i: int) -> Any:
    rows = part if sparse.issparse(part) or isinstance(part, np.ndarray) or is_foreign(part) else np.asarray(part)
    if rows.ndim != 2:
        raise ValueError(f"Chunk {i} of the iterable has shape {rows.shape}, but should be a matrix of rows.")
    return rows
