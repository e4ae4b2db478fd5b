"""Rows of a source as a fitted model maps them: computed chunk by chunk, when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.backends import is_foreign, to_numpy
from mercer.streams.local_driver import chunks
from mercer.streams.row_source import RowSource, row_starts


@dataclass(frozen=True)
class RowFunction:
    """A function of rows, (m, d), whose results are read as (m, columns) numbers of one type, on the host.

    of_tensors : whether the function takes rows on a device as they are
    """

    function: Callable[[Any], Any]
    columns: int
    dtype: np.dtype
    of_tensors: bool = False

    def __call__(self, rows: Any) -> np.ndarray:
        rows = to_numpy(rows) if is_foreign(rows) and not self.of_tensors else rows
        return np.asarray(to_numpy(self.function(rows)), self.dtype).reshape(-1, self.columns)


class MappedRows:
    """A source whose chunk i is `function` of chunk i of another.

    function : rows (m, d) to scores (m, k), row by row
    n_features : k
    dtype : of the scores; by default that of the rows. Classes may be text, which other arrays hold and files do not.
    vector : whether `function` gives one number per row, (m,), as a prediction does. Then all of them are a vector,
        too. A chunk is a matrix of one column, as in every source.
    """

    def __init__(
        self,
        source: RowSource,
        function: Callable[[Any], Any],
        n_features: int,
        feature_names: list[str] | None = None,
        dtype: Any = None,
        of_tensors: bool = False,
        vector: bool = False,
    ) -> None:
        self.source, self.function, self.vector = source, function, vector
        self.n_features, self.feature_names = n_features, feature_names
        self.dtype = np.dtype(source.dtype if dtype is None else dtype)
        self.mapped = RowFunction(function, n_features, self.dtype, of_tensors)  # what is sent to where the rows are

    @property
    def lengths(self) -> Sequence[int]:
        return self.source.lengths

    def chunk(self, i: int) -> np.ndarray:
        if not self.lengths[i]:
            return np.empty((0, self.n_features), self.dtype)
        return self.mapped(self.source.chunk(i))

    def to_array(self, out: np.ndarray | None = None) -> np.ndarray:
        """All rows, (n, k), or (n,) for a vector, in a new array, or written to `out`, such as a memory map."""
        starts = row_starts(self)
        shape = (int(starts[-1]),) if self.vector else (int(starts[-1]), self.n_features)
        out = np.empty(shape, self.dtype) if out is None else out
        for i, rows in enumerate(chunks(self)):
            part = out[starts[i] : starts[i + 1]]
            part[:] = rows.reshape(part.shape)
        return out
