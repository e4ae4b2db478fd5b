"""Rows that are moved to a device as they are read, so that passes over them are computed there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mercer.backends import is_foreign, on_device
from mercer.streams.opening import open_rows
from mercer.streams.row_source import Rows, RowSource


class DeviceRows:
    """A source whose chunks are tensors on a device (final). The thread that reads ahead also moves them there.

    rows : a source, or anything that `open_rows` opens, without sparse chunks
    device : where torch is to compute, such as "cuda"

    The sums of a pass and the scores come back to the host, so a model of these rows holds NumPy arrays.

    >>> import numpy as np
    >>> DeviceRows(np.eye(3), "cpu").chunk(0).device  # doctest: +SKIP
    device(type='cpu')
    """

    def __init__(self, rows: Any, device: Any) -> None:
        self.source: RowSource = open_rows(rows)
        self.device = device
        self.n_features, self.dtype = self.source.n_features, self.source.dtype
        self.feature_names = self.source.feature_names

    @property
    def lengths(self) -> Sequence[int]:
        return self.source.lengths

    def chunk(self, i: int) -> Rows:
        return self.of_chunk(i, self.source.chunk(i))

    def of_chunk(self, i: int, rows: Rows) -> Rows:
        if hasattr(rows, "indptr"):
            raise TypeError(f"Chunk {i} is sparse, and only dense rows are computed on a device.")
        return rows if is_foreign(rows) else on_device(rows, self.device)
