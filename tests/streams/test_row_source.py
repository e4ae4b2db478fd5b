import pickle

import numpy as np
import pytest
from scipy import sparse

from mercer.streams.local_driver import chunks
from mercer.streams.row_source import (
    ArraySource,
    ListSource,
    RowSource,
    bounded_rows,
    even_cuts,
    float_type,
    row_starts,
)


def matrix(n=23, d=4, dtype=np.float64):
    return np.random.default_rng(0).standard_normal((n, d)).astype(dtype)


@pytest.mark.parametrize("make", [np.asarray, np.asfortranarray, sparse.csr_array, sparse.csc_matrix])
@pytest.mark.parametrize("rows", [1, 5, 23, 100])
def test_the_chunks_of_an_array_are_its_rows_in_order(make, rows):
    X = matrix()
    source = ArraySource(make(X), chunk_rows=rows)
    assert isinstance(source, RowSource)
    assert sum(source.lengths) == 23 and max(source.lengths) <= rows
    parts = [part.toarray() if sparse.issparse(part) else part for part in chunks(source)]
    np.testing.assert_array_equal(np.vstack(parts), X)
    assert all(part.flags.c_contiguous for part in parts)
    np.testing.assert_array_equal(row_starts(source), np.cumsum([0, *source.lengths]))


def test_a_slice_of_an_array_is_not_copied():
    X = matrix()
    assert np.shares_memory(ArraySource(X, chunk_rows=5).chunk(1), X)


def test_a_memory_map_stays_one(tmp_path):
    X = np.lib.format.open_memmap(tmp_path / "X.npy", mode="w+", dtype=np.float32, shape=(9, 2))
    source = ArraySource(X, chunk_rows=4)
    assert source.dtype == np.float32 and np.shares_memory(source.chunk(0), X)


def test_a_list_may_hold_empty_dense_and_sparse_parts():
    X = matrix()
    source = ListSource([X[:5], X[5:5], sparse.csr_matrix(X[5:])])
    assert source.lengths == [5, 0, 18]
    np.testing.assert_array_equal(source.chunk(2).toarray(), X[5:])
    assert source.chunk(1).shape == (0, 4)
    again = pickle.loads(pickle.dumps(source))
    np.testing.assert_array_equal(again.chunk(0), X[:5])


@pytest.mark.parametrize(
    ("types", "expected"),
    [
        ([np.float32, np.float32], np.float32),
        ([np.float32, np.float64], np.float64),
        ([np.float16, np.float32], np.float32),
        ([np.int64, np.float32], np.float64),
        ([bool, np.uint8], np.float64),
    ],
)
def test_chunks_have_the_type_that_holds_all_parts(types, expected):
    source = ListSource([np.ones((2, 3), dtype) for dtype in types])
    assert source.dtype == expected
    assert {part.dtype for part in chunks(source)} == {np.dtype(expected)}


def test_text_and_complex_numbers_are_refused_before_anything_is_read():
    for dtype in ("U3", complex, "M8[D]", object):
        with pytest.raises(ValueError, match="not numbers"):
            float_type(dtype, "X")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_a_value_that_is_not_finite_is_named_by_chunk_row_and_column(make, value):
    X = matrix()
    X[12, 2] = value
    source = ArraySource(make(X), chunk_rows=6, feature_names=list("abcd"))
    i = int(np.searchsorted(row_starts(source), 12, side="right")) - 1
    with pytest.raises(ValueError, match=rf"Chunk {i}: row {12 - row_starts(source)[i]}, which is row 12 .*column 'c'"):
        list(chunks(source))


def test_numbers_whose_sum_overflows_are_finite():
    X = np.full((3, 2), np.finfo(np.float64).max)
    np.testing.assert_array_equal(ArraySource(X).chunk(0), X)


def test_parts_with_other_columns_are_named():
    with pytest.raises(ValueError, match=r"Chunk 1 has shape \(2, 3\)"):
        ListSource([np.ones((2, 4)), np.ones((2, 3))])
    with pytest.raises(ValueError, match="at least one"):
        ListSource([])


def test_a_chunk_that_changed_after_it_was_announced_is_refused():
    source = ListSource([np.ones((2, 4), np.float32), np.ones((2, 4), np.float32)])
    source.parts[1] = np.ones((2, 4))
    with pytest.raises(ValueError, match="Chunk 1 holds float64"):
        source.chunk(1)
    source.parts[1] = np.ones((3, 4), np.float32)
    with pytest.raises(ValueError, match="Chunk 1 has 3 rows, but 2"):
        source.chunk(1)


def test_masked_values_and_malformed_matrices_are_refused():
    hidden = np.ma.masked_array(np.ones((2, 2)), [[0, 1], [0, 0]])
    with pytest.raises(ValueError, match="masked"):
        ArraySource(hidden).chunk(0)
    wrong = sparse.csr_array(np.ones((2, 2)))
    wrong.indices[1] = 7
    with pytest.raises(ValueError, match="malformed"):
        ListSource([wrong]).chunk(0)


def test_chunks_stay_below_their_size():
    rows = bounded_rows(80, size=1000)
    assert rows * 80 <= 1000 < (rows + 1) * 80
    assert bounded_rows(10**6, size=1000) == 1
    with pytest.raises(ValueError, match="chunk_rows=0"):
        bounded_rows(2, 0)


def test_cuts_are_even_and_complete():
    for n in (0, 1, 7, 100):
        for rows in (1, 3, 100):
            lengths = np.diff(even_cuts(n, rows))
            assert lengths.sum() == n and lengths.max() <= rows and np.ptp(lengths) <= 1


def test_columns_are_chosen_by_number_or_name():
    X = matrix()
    X[3, 0] = np.nan  # not among the chosen columns
    source = ArraySource(X, columns=["d", 1], feature_names=list("abcd"), chunk_rows=10)
    assert source.feature_names == ["d", "b"] and source.n_features == 2
    np.testing.assert_array_equal(np.vstack(list(chunks(source))), X[:, [3, 1]])
    for wrong in (["e"], [4], [-1], [1.5], [True], [0, 0], []):
        with pytest.raises(ValueError, match="column"):
            ArraySource(X, columns=wrong)
