import pickle

import numpy as np
import pytest

from mercer import PCA, KernelDiscriminantAnalysis, KernelMap, KernelPCA, open_rows
from mercer.estimators.base import Estimator
from mercer.streams import ArraySource
from mercer.streams.mapped_rows import MappedRows

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


# --- estimators ---------------------------------------------------------------------------------------------


def blocks(X, rows=100, columns=5):
    return da.from_array(X, chunks=(rows, columns))


def computed(array):
    return array.compute(scheduler="synchronous")


def close(found, expected):
    """Up to the order of sums: shapes of products and threads differ, and a score sums at most 30 terms."""
    np.testing.assert_allclose(computed(found), expected, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize(
    "make",
    [
        lambda: PCA(2),
        lambda: KernelPCA(2, kernel="rbf", rank=30),
        lambda: KernelMap(kernel="rbf", rank=30),
    ],
)
def test_a_fit_of_a_dask_array_is_that_of_its_chunks(X, make):
    ours, theirs = make(), make().fit(ArraySource(X, chunk_rows=100))
    scores = ours.fit_transform(blocks(X))
    for name, value in vars(theirs).items():
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(getattr(ours, name), value)
    close(scores, theirs.transform(X))
    close(ours.transform(blocks(X, 300)), theirs.transform(X))
    # Nothing was computed yet, and everything is known.
    assert scores.chunks == ((100,) * 10, (scores.shape[1],)) and scores.dtype == X.dtype
    assert type(scores._meta) is np.ndarray and scores._meta.dtype == X.dtype


def test_mapped_rows_keep_what_dask_does_not_know(X):
    some = blocks(X)[X[:, 0] > 0]
    pca = PCA(2).fit(X)
    scores = pca.transform(some[some[:, 1] > 0])
    assert np.isnan(scores.shape[0]) and scores.shape[1] == 2
    close(scores, pca.transform(X[(X[:, 0] > 0) & (X[:, 1] > 0)]))


def test_chunks_without_rows_and_columns_in_parts(X):
    array = da.from_array(X, chunks=((300, 0, 700), (2, 3)))
    pca = PCA(2)
    scores = pca.fit_transform(array)
    assert scores.chunks == ((300, 0, 700), (2,))
    close(scores, pca.transform(X))


def test_a_gap_is_named_when_rows_are_mapped(X):
    pca, rows = PCA(2).fit(X), X.copy()
    rows[850, 1] = np.nan
    with pytest.raises(ValueError, match="Chunk 8: row 50, which is row 850 of all, is missing"):
        computed(pca.transform(blocks(rows)))
    with pytest.raises(ValueError, match="Chunk 8: row 50 is missing"):
        array = blocks(rows)
        computed(pca.transform(array[da.ones(1000, chunks=100) > 0]))
    with pytest.raises(ValueError, match="Chunk 8: row 50"):
        PCA(2).fit(blocks(rows))


def test_scores_of_a_frame_are_a_dask_array(X):
    dd = pytest.importorskip("dask.dataframe")
    pd = pytest.importorskip("pandas")
    frame = dd.from_pandas(pd.DataFrame(X, columns=list("abcde")), npartitions=3)
    pca = PCA(2)
    scores = pca.fit_transform(frame)
    assert list(pca.feature_names_in_) == list("abcde") and not np.isnan(scores.shape[0])
    close(scores, PCA(2).fit(ArraySource(X)).transform(X))


def test_other_widths_are_refused(X):
    with pytest.raises(ValueError, match="X has 3 features, but PCA is expecting 5"):
        PCA(2).fit(X).transform(blocks(X[:, :3]))


class Pairs(Estimator):
    """Takes two sources, and gives one of them for each."""

    def _draft(self, X, y=None): ...

    def fit(self, X, y):
        self.lengths = X.lengths, y.lengths
        self.columns = X.n_features, y.n_features
        return self

    def transform(self, X, y=None):
        return MappedRows(X, np.copy, X.n_features), y


def test_labels_are_cut_where_the_rows_are(X):
    labels = da.from_array(np.arange(1000), chunks=250)
    pairs = Pairs().fit(blocks(X), y=labels)
    assert pairs.lengths == ([100] * 10, [100] * 10) and pairs.columns == (5, 1)
    rows, nothing = pairs.transform(blocks(X))
    np.testing.assert_array_equal(computed(rows), X)
    assert nothing is None
    # Labels of other rows stay as they are: the fit says what is wrong with them.
    assert Pairs().fit(blocks(X), labels[:500]).lengths[1] == [250, 250]


def test_methods_without_streams_say_so(X):
    with pytest.raises(ValueError, match="Give rank"):
        KernelPCA(2, kernel="rbf").fit(blocks(X))
    assert "one pass over 10 chunks" in PCA(2).plan(blocks(X)).reason


def test_one_number_per_row_is_a_vector(X):
    y = np.arange(1000) % 3
    kda = KernelDiscriminantAnalysis(rank=30).fit(X, y)
    found = kda.predict(blocks(X))
    assert found.chunks == ((100,) * 10,) and found.dtype == kda.classes_.dtype
    np.testing.assert_array_equal(computed(found), kda.predict(X))
    assert kda.score(blocks(X), da.from_array(y, chunks=250)) == kda.score(X, y)
    pca = PCA(2).fit(X)
    close(pca.squared_distance(blocks(X)), pca.squared_distance(X))


def test_data_frames_of_set_output_hold_arrays_only(X):
    pd = pytest.importorskip("pandas")
    pca = PCA(2).set_output(transform="pandas").fit(X)
    assert isinstance(pca.transform(X), pd.DataFrame)
    close(pca.transform(blocks(X)), pca.transform(X).to_numpy())
    assert isinstance(pca.transform(ArraySource(X)), MappedRows)


def test_a_method_that_does_not_stream_says_so(X):
    with pytest.raises(TypeError, match="This method of PCA needs all rows in memory"):
        PCA(2).fit(X).score(blocks(X))
