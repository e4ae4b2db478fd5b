"""Sources made of others hold the same rows: several sources, some of the columns, other chunks."""

import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from mercer.streams import ArraySource, ListSource, open_rows
from mercer.streams.source_views import ChosenColumns, LastChunk, RecutRows, columns_named, without_column

ROWS = np.random.default_rng(0).standard_normal((60, 3))
COLUMNS = np.random.default_rng(0).standard_normal((50, 3)).astype(np.float32)
NAMES = ["a", "b", "c"]


def test_a_list_may_hold_anything_that_can_be_opened(whole, X):
    source = open_rows([pd.DataFrame(X), pd.DataFrame(X.astype(float))], chunk_rows=400)
    assert source.dtype == np.float64 and len(source.lengths) == 6
    np.testing.assert_array_equal(whole(source), np.vstack([X, X]))


def test_errors_name_the_chunk_of_all_and_the_part(X):
    X = X.copy()
    X[500, 2] = np.nan
    source = open_rows([pd.DataFrame(X[:400]), pd.DataFrame(X[400:])])
    with pytest.raises(ValueError, match=r"Chunk 1, of part 1 of the list: .*row 100"):
        source.chunk(1)
    with pytest.raises(ValueError, match="part 1 of the list has 4 columns"):
        open_rows([pd.DataFrame(X), pd.DataFrame(X[:, :4])])


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 60), max_size=6), st.lists(st.integers(0, 60), max_size=6))
def test_any_cut_gives_the_same_rows(first, second):
    cuts = [np.unique([0, *part, 60]) for part in (first, second)]
    source = ListSource([ROWS[a:b] for a, b in zip(cuts[0][:-1], cuts[0][1:], strict=True)])
    recut = RecutRows(source, np.diff(cuts[1]).tolist())
    order = np.random.default_rng(len(first)).permutation(len(recut.lengths))
    for i in order:
        assert np.array_equal(recut.chunk(i), ROWS[cuts[1][i] : cuts[1][i + 1]])


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

    recut = RecutRows(Counting(ROWS, chunk_rows=30), [10] * 6)
    assert [len(recut.chunk(i)) for i in range(6)] == [10] * 6 and Counting.reads == 2


def test_a_copy_for_another_process_holds_no_rows():
    last = LastChunk(ArraySource(ROWS, chunk_rows=7))
    last.chunk(1)
    again = pickle.loads(pickle.dumps(RecutRows(last, [60])))
    assert np.array_equal(again.chunk(0), ROWS)


@pytest.fixture
def path(tmp_path):
    table = pa.table({"a": COLUMNS[:, 0], "b": np.arange(50), "c": COLUMNS[:, 2]})
    parquet.write_table(table, tmp_path / "rows.parquet", row_group_size=20)
    return tmp_path / "rows.parquet"


def test_columns_of_any_source(whole):
    source = ArraySource(COLUMNS, chunk_rows=20, feature_names=NAMES)
    assert np.array_equal(whole(ChosenColumns(source, [2, 0])), COLUMNS[:, [2, 0]])
    assert columns_named(source, ["c"]).feature_names == ["c"]
    rows, target = without_column(source, "b")
    assert rows.feature_names == ["a", "c"]
    assert np.array_equal(whole(rows), COLUMNS[:, [0, 2]]) and np.array_equal(whole(target), COLUMNS[:, 1:2])


def test_columns_of_a_file_keep_their_own_type_and_the_chunks(path, whole):
    source = open_rows(path, chunk_rows=13)
    rows, target = without_column(source, "b")
    assert source.dtype == np.float64 and rows.dtype == np.float32  # the whole numbers are no longer among them
    assert rows.lengths == target.lengths == source.lengths
    assert np.array_equal(whole(rows), COLUMNS[:, [0, 2]]) and np.array_equal(whole(target)[:, 0], np.arange(50))


def test_a_name_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match=r"no column 'z'. It has 'a', 'b', 'c'"):
        columns_named(ArraySource(COLUMNS, feature_names=NAMES), ["z"])
    with pytest.raises(ValueError, match="columns without names"):
        without_column(ArraySource(COLUMNS), "z")
