"""Rows of one source in the chunks of another are the same rows."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer.streams import ArraySource, ListSource
from mercer.streams.recut_rows import LastChunk, RecutRows, beside

X = np.random.default_rng(0).standard_normal((60, 3))


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 60), max_size=6), st.lists(st.integers(0, 60), max_size=6))
def test_any_cut_gives_the_same_rows(first, second):
    cuts = [np.unique([0, *part, 60]) for part in (first, second)]
    source = ListSource([X[a:b] for a, b in zip(cuts[0][:-1], cuts[0][1:], strict=True)])
    recut = RecutRows(source, np.diff(cuts[1]).tolist())
    order = np.random.default_rng(len(first)).permutation(len(recut.lengths))
    for i in order:
        assert np.array_equal(recut.chunk(i), X[cuts[1][i] : cuts[1][i + 1]])


def test_sparse_rows_and_empty_chunks():
    rows = sp.random_array((20, 4), density=0.5, rng=np.random.default_rng(0), format="csr")
    recut = RecutRows(ArraySource(rows, chunk_rows=6), [0, 9, 0, 11])
    assert recut.chunk(0).shape == (0, 4) and recut.chunk(2).shape == (0, 4)
    assert np.array_equal(recut.chunk(3).toarray(), rows.toarray()[9:])


def test_a_chunk_that_is_asked_for_again_is_read_once():
    class Counting(ArraySource):
        reads = 0

        def chunk(self, i):
            Counting.reads += 1
            return super().chunk(i)

    recut = RecutRows(Counting(X, chunk_rows=30), [10] * 6)
    assert [len(recut.chunk(i)) for i in range(6)] == [10] * 6 and Counting.reads == 2


def test_a_copy_for_another_process_holds_no_rows():
    last = LastChunk(ArraySource(X, chunk_rows=7))
    last.chunk(1)
    again = pickle.loads(pickle.dumps(RecutRows(last, [60])))
    assert np.array_equal(again.chunk(0), X)


def test_a_target_is_put_beside_its_rows_or_refused():
    source = ArraySource(X, chunk_rows=25)
    assert np.array_equal(beside(source, X[:, 0]).chunk(1), X[20:40, :1])
    same = ArraySource(X, chunk_rows=25)
    assert beside(source, same) is same
    with pytest.raises(ValueError, match="60 rows and y has 59"):
        beside(source, X[1:])
