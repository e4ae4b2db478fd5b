import numpy as np
import pytest
from scipy import sparse

from mercer import open_rows, write_rows


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".feather", ".npy"])
@pytest.mark.parametrize("make", [np.asarray, np.float64, sparse.csr_array])
def test_what_is_written_is_read_back_to_the_bit(tmp_path, whole, X, suffix, make):
    path = tmp_path / f"X{suffix}"
    write_rows(open_rows(make(X), chunk_rows=300), path)
    found = open_rows(path)
    assert found.dtype == make(X).dtype
    np.testing.assert_array_equal(whole(found), X)
    assert list(tmp_path.iterdir()) == [path]


def test_chunks_are_row_groups_and_names_are_kept(tmp_path, X):
    from pyarrow import parquet

    write_rows([X[:300], X[:0], X[300:]], tmp_path / "X.parquet")
    about = parquet.read_metadata(tmp_path / "X.parquet")
    lengths = [about.row_group(g).num_rows for g in range(about.num_row_groups)]
    assert [length for length in lengths if length] == [300, 700]
    assert open_rows(tmp_path / "X.parquet").feature_names == ["x1", "x2", "x3", "x4", "x5"]


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".npy"])
def test_a_failure_leaves_what_was_there(tmp_path, X, suffix):
    path = tmp_path / f"X{suffix}"
    path.write_bytes(b"before")
    with pytest.raises(ValueError, match="Chunk 1"):
        write_rows([X, np.full((2, 5), np.nan, np.float32)], path)
    assert path.read_bytes() == b"before" and list(tmp_path.iterdir()) == [path]
    with pytest.raises(ValueError, match="cannot be written"):
        write_rows(X, tmp_path / "X.csv")


def test_names_that_repeat_are_refused_before_anything_is_written(tmp_path, X):
    from mercer.streams import ArraySource

    with pytest.raises(ValueError, match="several columns have the name 'b'"):
        write_rows(ArraySource(X[:, :3], feature_names=["a", "b", "b"]), tmp_path / "X.parquet")
    assert not list(tmp_path.iterdir())
