import pickle

import numpy as np
import pytest
from scipy import sparse

from mercer import open_rows


class Days:
    """Chunks that are made anew in each pass; the last is sparse."""

    def __init__(self, X):
        self.X, self.passes = X, 0

    def __iter__(self):
        self.passes += 1
        for k in range(0, 900, 300):
            yield self.X[k : k + 300]
        yield self.X[:0]
        yield sparse.csr_array(self.X[900:])


def test_chunks_in_order_take_one_pass_after_the_one_that_counts(whole, X):
    days = Days(X)
    source = open_rows(days)
    assert source.lengths == [300, 300, 300, 0, 100] and days.passes == 1
    np.testing.assert_array_equal(whole(source), X)
    assert days.passes == 2
    np.testing.assert_array_equal(source.chunk(1), X[300:600])
    np.testing.assert_array_equal(source.chunk(1), X[300:600])
    np.testing.assert_array_equal(whole(pickle.loads(pickle.dumps(source))), X)


def test_what_gives_its_chunks_once_is_refused(X):
    for once in (iter([X]), (X for _ in range(2)), map(np.asarray, [X])):
        with pytest.raises(TypeError, match="gives its chunks once"):
            open_rows(once)


class Shrinking:
    def __init__(self, *passes):
        self.passes = list(passes)

    def __iter__(self):
        return iter(self.passes.pop(0))


def test_an_iterable_that_changes_is_refused(X):
    source = open_rows(Shrinking([X, X], [X], [X[:1]]))
    with pytest.raises(ValueError, match="gave 1 chunk this time"):
        source.chunk(1)
    with pytest.raises(ValueError, match="Chunk 0 has 1 row, but 1000"):
        source.chunk(0)
    with pytest.raises(ValueError, match="Chunk 1 has 3 columns"):
        open_rows(Shrinking([X, X[:, :3]]))
    with pytest.raises(ValueError, match="no chunks"):
        open_rows(Shrinking([]))
