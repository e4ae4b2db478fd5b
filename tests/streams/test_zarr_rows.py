import pickle

import numpy as np
import pytest
from scipy import sparse

from mercer import open_rows

zarr = pytest.importorskip("zarr")


def store(group, name, values):
    group.create_array(name, shape=values.shape, dtype=values.dtype)[...] = values


def test_rows_of_an_array_in_a_folder_and_of_an_open_one(tmp_path, whole, X):
    array = zarr.create_array(str(tmp_path / "X.zarr"), data=X, chunks=(130, 3))
    for rows in (tmp_path / "X.zarr", array):
        source = pickle.loads(pickle.dumps(open_rows(rows, chunk_rows=200)))
        assert source.dtype == np.float32
        np.testing.assert_array_equal(whole(source), X)
    assert open_rows(tmp_path).n_features == 5  # the folder that holds it


def test_a_matrix_of_a_group(tmp_path, whole, X):
    thin = sparse.csr_array(np.where(X > 1, X, 0))
    group = zarr.open_group(str(tmp_path / "X.zarr"), mode="w")
    store(group, "dense", X)
    part = group.create_group("X", attributes={"encoding-type": "csr_matrix", "shape": list(X.shape)})
    for name in ("data", "indices", "indptr"):
        store(part, name, getattr(thin, name))
    np.testing.assert_array_equal(whole(open_rows(tmp_path / "X.zarr", key="dense")), X)
    source = open_rows(tmp_path / "X.zarr", chunk_rows=300)
    assert sparse.issparse(source.chunk(0))
    np.testing.assert_array_equal(whole(source), thin.toarray())


def test_what_is_no_matrix_is_refused(tmp_path, X):
    group = zarr.open_group(str(tmp_path / "X.zarr"), mode="w")
    store(group, "a", X[0])
    with pytest.raises(ValueError, match="key="):
        open_rows(tmp_path / "X.zarr")
    with pytest.raises(ValueError, match="rows come from a matrix"):
        open_rows(tmp_path / "X.zarr", key="a")
    with pytest.raises(ValueError, match="cannot be read as zarr"):
        open_rows(tmp_path / "X.zarr", key="b")
