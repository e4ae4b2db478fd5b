import pickle

import h5py
import numpy as np
import pytest
from scipy import sparse

from mercer import open_rows


def write_h5ad(path, X, kind="csr_matrix"):
    with h5py.File(path, "w") as file:
        if sparse.issparse(X):
            group = file.create_group("X")
            group.attrs["encoding-type"], group.attrs["shape"] = kind, X.shape
            for name in ("data", "indices", "indptr"):
                group[name] = getattr(X, name)
        else:
            file["X"] = X
        for part, size in (("obs", X.shape[0]), ("var", X.shape[1])):
            group = file.create_group(part)
            group.attrs["_index"] = "_index"
            group["_index"] = [f"{part}{i}" for i in range(size)]
        file["obsm/X_pca"] = np.arange(2.0 * X.shape[0]).reshape(-1, 2)


def thin(X):
    return sparse.csr_array(np.where(X > 1, X, 0))


@pytest.mark.parametrize("make", [np.asarray, thin])
def test_annotated_matrices_are_read_in_backed_mode(tmp_path, whole, X, make):
    write_h5ad(tmp_path / "X.h5ad", make(X))
    source = pickle.loads(pickle.dumps(open_rows(tmp_path / "X.h5ad", chunk_rows=90)))
    assert source.feature_names == [f"var{j}" for j in range(5)]
    assert sparse.issparse(source.chunk(0)) == sparse.issparse(make(X))
    expected = make(X).toarray() if sparse.issparse(make(X)) else X
    np.testing.assert_array_equal(whole(source), expected)
    chosen = open_rows(tmp_path / "X.h5ad", columns=["var3", "var1"])
    np.testing.assert_array_equal(whole(chosen), expected[:, [3, 1]])
    assert open_rows(tmp_path / "X.h5ad", key="obsm/X_pca").n_features == 2


def test_chunks_of_a_dataset_are_not_cut(tmp_path, whole, X):
    with h5py.File(tmp_path / "X.h5", "w") as file:
        file.create_dataset("rows", data=np.zeros((5000, 4000), np.float32), chunks=(300, 4000), compression="gzip")
        file["few"] = X[0]
    source = open_rows(tmp_path / "X.h5")
    assert all(length % 300 == 0 for length in source.lengths[:-1]) and max(source.lengths) * 16000 <= 64_000_000
    assert sum(source.lengths) == 5000 and len(source.lengths) > 1


def test_an_open_dataset_says_how_to_open_it_again(tmp_path, whole, X):
    with h5py.File(tmp_path / "X.h5", "w") as file:
        file["group/rows"] = X
    said = r"open_rows\(.*X\.h5', key='/group/rows'\)"
    with h5py.File(tmp_path / "X.h5") as file, pytest.raises(TypeError, match=said):
        open_rows(file["group/rows"])
    source = open_rows(tmp_path / "X.h5", key="/group/rows", chunk_rows=400)
    np.testing.assert_array_equal(whole(pickle.loads(pickle.dumps(source))), X)


def test_a_matrix_has_to_be_chosen_if_there_are_several(tmp_path, X):
    with h5py.File(tmp_path / "X.h5", "w") as file:
        file["a"], file["b"], file["c"] = X, X, h5py.ExternalLink("other.h5", "x")
    with pytest.raises(ValueError, match=r"'a', 'b'.*key="):
        open_rows(tmp_path / "X.h5")
    with pytest.raises(ValueError, match="no /d"):
        open_rows(tmp_path / "X.h5", key="d")
    with pytest.raises(ValueError, match="link to another place"):
        open_rows(tmp_path / "X.h5", key="c")


def test_columns_compressed_by_columns_say_what_to_do(tmp_path, X):
    write_h5ad(tmp_path / "X.h5ad", sparse.csc_array(thin(X)), "csc_matrix")
    with pytest.raises(ValueError, match="tocsr"):
        open_rows(tmp_path / "X.h5ad")


def test_damaged_sparse_parts_are_refused_where_they_are_read(tmp_path, X):
    path = tmp_path / "X.h5ad"
    write_h5ad(path, thin(X))
    with h5py.File(path, "a") as file:
        file["X/indices"][-1] = 9
        file["X/indptr"][5] = -4
    source = open_rows(path, chunk_rows=100)
    source.chunk(1)
    with pytest.raises(ValueError, match="indptr does not rise"):
        source.chunk(0)
    with pytest.raises(ValueError, match="outside of 0 to 4"):
        source.chunk(9)


def test_a_file_cut_short_is_refused(tmp_path, X):
    path = tmp_path / "X.h5"
    with h5py.File(path, "w") as file:
        file["rows"] = X
    path.write_bytes(path.read_bytes()[:-2000])
    with pytest.raises(ValueError, match=r"X\.h5 cannot be read"):
        open_rows(path)


def test_a_key_that_is_not_there_is_answered_with_those_that_are(tmp_path):
    with h5py.File(tmp_path / "X.h5", "w") as file:
        file["first"], file["second"] = np.eye(3), np.eye(2)
    with pytest.raises(ValueError, match=r"has no /third\. It has 'first', 'second' in /"):
        open_rows(tmp_path / "X.h5", key="third")
    size = (tmp_path / "X.h5").stat().st_size
    with open(tmp_path / "X.h5", "r+b") as file:
        file.truncate(size // 2)
    with pytest.raises(ValueError, match=r"X\.h5 cannot be read as \.h5:"):
        open_rows(tmp_path / "X.h5", key="first")
