import pickle

import numpy as np
import pytest

from mercer import open_rows


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["<f4", ">f8", "i2"])
def test_rows_of_a_file(tmp_path, whole, X, order, dtype):
    X = (100 * X).astype(dtype, order=order)
    np.save(tmp_path / "X.npy", X)
    source = open_rows(tmp_path / "X.npy", chunk_rows=77, columns=[4, 0])
    assert source.dtype == (np.float32 if dtype == "<f4" else np.float64)
    np.testing.assert_array_equal(whole(source), X[:, [4, 0]])


def test_several_files_are_joined(tmp_path, whole, X):
    for k in range(3):
        np.save(tmp_path / f"{k}.npy", X[k::3].astype(np.float64 if k == 1 else np.float32))
    source = open_rows(tmp_path)
    assert source.dtype == np.float64
    np.testing.assert_array_equal(whole(source), np.vstack([X[0::3], X[1::3], X[2::3]]))
    np.save(tmp_path / "3.npy", X[:, :2])
    with pytest.raises(ValueError, match=r"3\.npy has 2 columns, but .*0\.npy has 5"):
        open_rows(tmp_path)


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_memory_map_is_pickled_by_its_path(tmp_path, whole, X, order):
    mapped = np.memmap(tmp_path / "X.raw", np.float32, "w+", 16, X.shape, order)
    mapped[:] = X
    mapped.flush()
    source = open_rows(mapped, chunk_rows=100)
    assert len(pickle.dumps(source)) < X.nbytes / 2
    np.testing.assert_array_equal(whole(pickle.loads(pickle.dumps(source))), X)
    np.testing.assert_array_equal(whole(open_rows(mapped[100:200])), X[100:200])  # a part of it has another offset


def test_files_that_are_no_matrix_of_numbers_are_refused(tmp_path, X):
    path = tmp_path / "X.npy"
    for wrong, match in [
        (X[0], "not a matrix"),
        (np.array([["a"]]), "not numbers"),
        (np.ones((2, 2, 2)), "not a matrix"),
    ]:
        np.save(path, wrong)
        with pytest.raises(ValueError, match=match):
            open_rows(path)
    path.write_bytes(b"no header")
    with pytest.raises(ValueError, match=r"X\.npy cannot be read"):
        open_rows(path)


def test_a_file_cut_short_is_refused_before_and_after_it_is_opened(tmp_path, X):
    path = tmp_path / "X.npy"
    np.save(path, X)
    source = open_rows(path, chunk_rows=100)
    path.write_bytes(path.read_bytes()[:-4])
    source.chunk(8)
    with pytest.raises(ValueError, match="cut short"):
        source.chunk(9)
    with pytest.raises(ValueError, match="cut short"):
        open_rows(path)
