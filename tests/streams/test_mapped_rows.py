"""Scores of a source are computed chunk by chunk."""

import numpy as np

from mercer.streams import ListSource
from mercer.streams.mapped_rows import MappedRows

X = np.arange(12.0).reshape(6, 2)


def test_chunks_are_computed_when_asked_for_and_joined_in_order(tmp_path):
    asked = []
    mapped = MappedRows(ListSource([X[:2], X[:0], X[2:]]), lambda rows: asked.append(len(rows)) or rows[:, :1] * 2, 1)
    assert not asked and list(mapped.lengths) == [2, 0, 4]
    assert mapped.chunk(1).shape == (0, 1)
    assert np.array_equal(mapped.to_array(), X[:, :1] * 2) and asked == [2, 4]
    out = np.lib.format.open_memmap(tmp_path / "scores.npy", "w+", float, (6, 1))
    assert mapped.to_array(out) is out and np.array_equal(out, X[:, :1] * 2)
