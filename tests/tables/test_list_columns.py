"""Columns of lists: matrices by every format that has them, the same for new rows."""

import json

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from mercer.tables.table import Choice, Preparation, TableError, read_table

ROWS = np.random.default_rng(0).standard_normal((12, 5))
KINDS = {
    "list": pa.list_(pa.float64()),
    "large": pa.large_list(pa.float64()),
    "fixed": pa.list_(pa.float64(), 5),
    "short": pa.list_(pa.float32(), 5),
}


@pytest.fixture(params=KINDS)
def vectors(request, tmp_path):
    lists = pa.array(ROWS.tolist(), KINDS[request.param])
    table = pa.table({"nr": np.arange(12.0) + 0.5, "embedding": lists, "word": [f"w{i}" for i in range(12)]})
    parquet.write_table(table, tmp_path / "t.parquet", row_group_size=5)
    feather.write_feather(table, tmp_path / "t.feather")
    return tmp_path


@pytest.mark.parametrize("name", ["t.parquet", "t.feather"])
def test_a_vector_is_a_matrix(vectors, name):
    found = read_table(vectors / name, Choice(vector="embedding", id="word"))
    np.testing.assert_allclose(found.X, ROWS, rtol=1e-7)  # half a digit of float32 at worst
    assert found.features == [f"embedding[{i}]" for i in range(1, 6)] and found.ids[3] == "w3"
    both = read_table(vectors / name, Choice(columns=("nr", "embedding"), keep=()))
    assert both.features == ["nr", *found.features] and both.X[2, 0] == 2.5
    part = read_table(vectors / name, Choice(vector="embedding", rows=(4, 9)))
    assert np.array_equal(part.X, found.X[3:9])


def test_new_rows_are_prepared_alike(vectors):
    found = read_table(vectors / "t.parquet", Choice(vector="embedding", scale="standard"), originals=10**6)
    assert not found.originals  # single numbers of a vector are not for display
    kept = Preparation.from_dict(json.loads(json.dumps(found.preparation.to_dict())))
    assert np.array_equal(read_table(vectors / "t.feather", preparation=kept).X, found.X)


def test_gaps_are_missing_values(tmp_path):
    lists = [[1.0, 2.0], None, [None, 5.0]]
    parquet.write_table(pa.table({"v": lists}), tmp_path / "t.parquet")
    with pytest.raises(TableError, match="3 values are missing"):
        read_table(tmp_path / "t.parquet", Choice(vector="v"))
    assert read_table(tmp_path / "t.parquet", Choice(vector="v", impute="zero")).X.tolist() == [[1, 2], [0, 0], [0, 5]]


def test_lists_that_no_one_asked_for_are_not_fitted_in_silence(vectors):
    with pytest.raises(TableError, match=r"'embedding' holds lists of numbers. Use vector='embedding'"):
        read_table(vectors / "t.parquet", Choice(id="word"))
    assert read_table(vectors / "t.parquet", Choice(id="word", drop=("embedding",))).features == ["nr"]


def test_what_is_no_vector_is_refused(vectors, tmp_path):
    with pytest.raises(TableError, match=r"'nr' .*does not hold lists"):
        read_table(vectors / "t.parquet", Choice(vector="nr"))
    with pytest.raises(TableError, match=r"no column 'embeding'. Did you mean 'embedding'"):
        read_table(vectors / "t.parquet", Choice(vector="embeding"))
    parquet.write_table(pa.table({"v": [[1.0, 2.0], [3.0]]}), tmp_path / "ragged.parquet")
    with pytest.raises(TableError, match=r"'v': the list in row 2 has length 1, and those before it have 2"):
        read_table(tmp_path / "ragged.parquet", Choice(vector="v"))
