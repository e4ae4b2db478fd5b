"""Columns of a source by name are those of its chunks; a file is read for them alone."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from mercer.streams import ArraySource, open_rows
from mercer.streams.chosen_columns import ChosenColumns, columns_named, without_column

X = np.random.default_rng(0).standard_normal((50, 3)).astype(np.float32)
NAMES = ["a", "b", "c"]


@pytest.fixture
def path(tmp_path):
    table = pa.table({"a": X[:, 0], "b": np.arange(50), "c": X[:, 2]})
    parquet.write_table(table, tmp_path / "rows.parquet", row_group_size=20)
    return tmp_path / "rows.parquet"


def test_columns_of_any_source(whole):
    source = ArraySource(X, chunk_rows=20, feature_names=NAMES)
    assert np.array_equal(whole(ChosenColumns(source, [2, 0])), X[:, [2, 0]])
    assert columns_named(source, ["c"]).feature_names == ["c"]
    rows, target = without_column(source, "b")
    assert rows.feature_names == ["a", "c"]
    assert np.array_equal(whole(rows), X[:, [0, 2]]) and np.array_equal(whole(target), X[:, 1:2])


def test_columns_of_a_file_keep_their_own_type_and_the_chunks(path, whole):
    source = open_rows(path, chunk_rows=13)
    rows, target = without_column(source, "b")
    assert source.dtype == np.float64 and rows.dtype == np.float32  # the whole numbers are no longer among them
    assert rows.lengths == target.lengths == source.lengths
    assert np.array_equal(whole(rows), X[:, [0, 2]]) and np.array_equal(whole(target)[:, 0], np.arange(50))


def test_a_name_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match=r"no column 'z'. It has 'a', 'b', 'c'"):
        columns_named(ArraySource(X, feature_names=NAMES), ["z"])
    with pytest.raises(ValueError, match="columns without names"):
        without_column(ArraySource(X), "z")
