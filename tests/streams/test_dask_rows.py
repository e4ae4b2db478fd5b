import pickle

import numpy as np
import pytest

from mercer import open_rows

da = pytest.importorskip("dask.array")


def test_blocks_are_chunks(whole, X):
    array = da.from_array(X, chunks=((300, 0, 700), 5))
    source = pickle.loads(pickle.dumps(open_rows(array)))
    assert source.lengths == [300, 0, 700] and source.dtype == np.float32
    np.testing.assert_array_equal(whole(source), X)
    np.testing.assert_array_equal(whole(open_rows(array, columns=[3, 1])), X[:, [3, 1]])


def test_columns_in_several_blocks_are_joined(whole, X):
    source = open_rows(da.from_array(X, chunks=(400, 2)))
    assert source.lengths == [400, 400, 200]
    np.testing.assert_array_equal(whole(source), X)


def test_unknown_lengths_are_counted_and_the_array_is_left_alone(whole, X):
    array = da.from_array(X, chunks=(400, 5))
    some = array[array[:, 0] > 0]
    source = open_rows(some)
    np.testing.assert_array_equal(whole(source), X[X[:, 0] > 0])
    assert np.isnan(some.shape[0])


def test_a_value_that_is_not_finite_is_named_by_chunk(X):
    X = X.copy()
    X[850, 1] = np.inf
    source = open_rows(da.from_array(X, chunks=(100, 5)))
    with pytest.raises(ValueError, match="Chunk 8: row 50, which is row 850 of all, is infinite in column 1"):
        source.chunk(8)


def test_text_is_refused():
    with pytest.raises(ValueError, match="not numbers"):
        open_rows(da.from_array(np.array([["a"]]), chunks=1))
    with pytest.raises(ValueError, match="matrix"):
        open_rows(da.ones(5))


def test_frames_keep_their_names(whole, X):
    dd = pytest.importorskip("dask.dataframe")
    pd = pytest.importorskip("pandas")
    frame = dd.from_pandas(pd.DataFrame(X, columns=list("abcde")), npartitions=3)
    source = open_rows(frame, columns=["c", "a"])
    assert source.feature_names == ["c", "a"] and len(source.lengths) == 3
    np.testing.assert_array_equal(whole(source), X[:, [2, 0]])
    with pytest.raises(ValueError, match="'who'"):
        open_rows(frame.assign(who="w"))
