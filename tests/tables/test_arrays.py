"""Matrices: maps, archives, sparse parts; nothing is unpickled, and no header is believed."""

import os

import numpy as np
import pytest
from scipy import sparse

from mercer import memory
from mercer.tables.table import Choice, TableError, read_table

RNG = np.random.default_rng(0)


def test_npy_is_mapped_and_not_copied(tmp_path):
    X = RNG.standard_normal((50, 4))
    for order in "CF":
        np.save(tmp_path / "t.npy", np.asarray(X, order=order))
        found = read_table(tmp_path / "t.npy")
        assert isinstance(found.X, np.memmap) and (found.X == X).all()
        assert found.features == ["x1", "x2", "x3", "x4"]
    assert not isinstance(read_table(tmp_path / "t.npy", Choice(dtype="float32")).X, np.memmap)
    scaled = read_table(tmp_path / "t.npy", Choice(scale="standard")).X
    np.testing.assert_allclose(scaled.std(axis=0), 1)
    assert (np.load(tmp_path / "t.npy") == X).all()


def test_a_map_can_be_fitted(tmp_path):
    from mercer import PCA

    X = RNG.standard_normal((60, 5))
    np.save(tmp_path / "t.npy", X)
    np.testing.assert_allclose(
        PCA(2).fit(read_table(tmp_path / "t.npy").X).explained_variance_, PCA(2).fit(X).explained_variance_
    )


@pytest.mark.parametrize("dtype", ["uint8", "int64", "bool", "float16", ">f8", "float32"])
def test_npy_of_other_numbers(tmp_path, dtype):
    X = RNG.integers(0, 2, (6, 3)).astype(dtype)
    np.save(tmp_path / "t.npy", X)
    found = read_table(tmp_path / "t.npy").X
    assert found.dtype == np.dtype("float64") and (found == X).all()


def test_npy_of_one_column_of_fields_and_of_images(tmp_path):
    path = tmp_path / "t.npy"
    np.save(path, np.arange(5.0))
    assert read_table(path).X.tolist() == [[0], [1], [2], [3], [4]]
    np.save(path, np.array([(1, "a", 0.5), (2, "b", 1.5)], [("n", "i4"), ("kind", "U2"), ("x", "f8")]))
    found = read_table(path, Choice(label="kind"))
    assert found.features == ["n", "x"] and found.X.tolist() == [[1, 0.5], [2, 1.5]]
    assert found.labels.tolist() == ["a", "b"]
    np.save(path, RNG.integers(0, 255, (3, 5, 4), np.uint8))
    found = read_table(path)
    assert found.X.shape == (3, 20) and len(found.images) == 3 and found.images[0].startswith(b"\x89PNG")


def test_objects_are_never_unpickled(tmp_path):
    class Trap:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "trapped"),)

    np.save(tmp_path / "t.npy", np.array([Trap(), None], object), allow_pickle=True)
    np.savez(tmp_path / "t.npz", X=np.array([[Trap()]], object), allow_pickle=True)
    for suffix in ("npy", "npz"):
        with pytest.raises(TableError, match="Python objects"):
            read_table(tmp_path / f"t.{suffix}")
    assert not (tmp_path / "trapped").exists()


def test_npz_with_labels_ids_and_names(tmp_path):
    X = RNG.standard_normal((4, 2))
    np.savez(tmp_path / "t.npz", X=X, y=["a", "b", "a", "c"], ids=[5, 6, 7, 8], features=["p", "q"], mass=X[:, 0])
    found = read_table(tmp_path / "t.npz")
    assert (found.X == X).all() and found.features == ["p", "q"]
    assert found.labels.tolist() == ["a", "b", "a", "c"] and found.ids.tolist() == [5, 6, 7, 8]
    assert (found.columns["mass"] == X[:, 0]).all()
    np.savez(tmp_path / "t.npz", X)
    assert (read_table(tmp_path / "t.npz", Choice(scale="standard")).X.std(axis=0) > 0.99).all()
    np.savez(tmp_path / "t.npz", a=X, b=X)
    with pytest.raises(TableError, match="Save the matrix as X"):
        read_table(tmp_path / "t.npz")


@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
def test_sparse_npz(tmp_path, kind):
    S = sparse.random_array((20, 6), density=0.3, format=kind, rng=0)
    sparse.save_npz(tmp_path / "s.npz", S)
    found = read_table(tmp_path / "s.npz")
    assert isinstance(found.X, sparse.csr_array) and (found.X.toarray() == S.toarray()).all()
    scaled = read_table(tmp_path / "s.npz", Choice(scale="standard"))
    np.testing.assert_allclose(scaled.X.toarray(), S.toarray() / S.toarray().std(axis=0))
    assert any("not centred" in note for note in scaled.notes)
    with pytest.raises(TableError, match="would make a sparse table dense"):
        read_table(tmp_path / "s.npz", Choice(scale="minmax"))
    few = read_table(tmp_path / "s.npz", Choice(columns=("x3", "x1"), label="x2"))
    assert (few.X.toarray() == S.toarray()[:, [2, 0]]).all() and (few.labels == S.toarray()[:, 1]).all()


@pytest.mark.parametrize("impute", ["mean", "median", "zero", "drop"])
def test_missing_values_of_a_sparse_table(tmp_path, impute):
    dense = RNG.integers(0, 3, (15, 4)).astype(float)
    dense[2, 1] = dense[7, 3] = np.nan
    sparse.save_npz(tmp_path / "s.npz", sparse.csr_array(dense))
    np.save(tmp_path / "s.npy", dense)
    with pytest.raises(TableError, match="2 values are missing in 2 of 4 columns: 'x2', 'x4'"):
        read_table(tmp_path / "s.npz")
    found, expected = (read_table(tmp_path / f"s.{suffix}", Choice(impute=impute)).X for suffix in ("npz", "npy"))
    np.testing.assert_allclose(found.toarray(), expected)


def test_sparse_parts_that_do_not_fit_are_refused(tmp_path):
    good = {"data": np.ones(3), "indices": np.array([0, 1, 1]), "indptr": np.array([0, 1, 3]), "shape": (2, 2)}
    for change in (
        {"indices": np.array([0, 5, 1])},
        {"indices": np.array([0, -1, 1])},
        {"indptr": np.array([0, 3, 1])},
        {"indptr": np.array([0, 1, 9])},
        {"shape": (2**50, 2**50)},
        {"shape": (2, 1)},
        {"data": np.ones(2)},
    ):
        np.savez(tmp_path / "s.npz", **{**good, **change}, format=np.array("csr"))
        with pytest.raises(TableError):
            read_table(tmp_path / "s.npz")


def test_an_archive_that_unpacks_to_more_than_there_is(tmp_path, monkeypatch):
    np.savez_compressed(tmp_path / "t.npz", X=np.zeros((1000, 100)))
    monkeypatch.setattr(memory, "available_bytes", lambda: 100_000)
    with pytest.raises(TableError, match=r"unpacks to 800 kB, but only 100 kB are free"):
        read_table(tmp_path / "t.npz")


def test_features_of_one_name_and_of_that_of_another_array(tmp_path):
    X = np.arange(6.0).reshape(2, 3)
    np.savez(tmp_path / "t.npz", X=X, y=np.array(["u", "v"]), features=np.array(["a", "a", "y"]))
    found = read_table(tmp_path / "t.npz")
    assert found.X.tolist() == X.tolist() and found.features == ["a", "a_2", "y"]
    assert found.labels.tolist() == ["u", "v"] and any("told apart" in note for note in found.notes)


def test_a_matrix_without_rows_is_refused(tmp_path):
    np.savez(tmp_path / "t.npz", X=np.ones((0, 3)))
    for impute in (None, "mean", "drop"):
        with pytest.raises(TableError, match="has no rows"):
            read_table(tmp_path / "t.npz", impute=impute)
