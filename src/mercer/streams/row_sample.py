"""A seeded sample of the rows of a source, and a point in the middle of the data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.backends import to_numpy
from mercer.random_state import generator_from
from mercer.streams.local_driver import folded, row_count
from mercer.streams.row_source import RowSource, row_starts

LEFT_OUT_ROWS = 10_000  # rows of a sample that are left out in turn: a share of 0.05 of them is known to 0.002
_SHIFT_ROWS = 256  # of each of up to three chunks: their mean lies in the middle of the data


def sample_places(source: RowSource, size: int, random_state: Any) -> np.ndarray:
    """Numbers of `size` rows, rising, each set of rows equally likely; all rows if there are no more."""
    n = row_count(source)
    if n <= size:
        return np.arange(n)
    return np.sort(generator_from(random_state).choice(n, size, replace=False))


@dataclass(frozen=True)
class _Picking:
    """The step that takes some rows of a chunk, by their numbers in it."""

    index: Mapping[int, Any]

    def __call__(self, state: None, number: int, views: list[Any]) -> Any:
        found = views[0][self.index[number]]
        return found if sp.issparse(found) else np.array(to_numpy(found))  # a slice would keep the chunk in memory


def rows_at(source: RowSource, places: np.ndarray) -> Any:
    """The rows with the given numbers, rising, as one matrix. Only chunks that hold one of them are read."""
    starts = row_starts(source)
    homes = np.searchsorted(starts, places, side="right") - 1
    index = {int(i): places[homes == i] - starts[i] for i in np.unique(homes)}
    parts = list(folded(_Picking(index), [source], [[i] for i in index]))
    if not parts:
        return np.empty((0, source.n_features), source.dtype)
    return sp.vstack(parts, format="csr") if sp.issparse(parts[0]) else np.concatenate(parts)


def middle_of(source: RowSource) -> np.ndarray | None:
    """The median of a few rows of the first, the middle and the last chunk, (d,); None for sparse rows.

    Sums about it lose no digits to the distance of the data from the origin. A mean would follow the values of a chunk
    that are too large, and the sums of all other chunks would overflow before its own.
    """
    filled = [i for i, length in enumerate(source.lengths) if length]
    chosen = sorted({filled[0], filled[len(filled) // 2], filled[-1]})
    index = {i: slice(None, None, -(-source.lengths[i] // _SHIFT_ROWS)) for i in chosen}
    parts = list(folded(_Picking(index), [source], [[i] for i in chosen]))
    if any(sp.issparse(part) for part in parts):
        return None
    middle = np.median(np.concatenate(parts), axis=0)
    return np.where(np.isfinite(middle), middle, 0.0).astype(source.dtype).astype(np.float64)
