import numpy as np
import pytest

from mercer import open_rows
from mercer.streams import ArraySource, RowSource
from mercer.streams.opening import beside


def test_rows_as_lists_of_numbers(whole):
    np.testing.assert_array_equal(whole(open_rows([[1, 2], [3, 4]])), [[1, 2], [3, 4]])


def test_a_source_stays_what_it_is(X):
    source = open_rows([X, X])
    assert isinstance(source, RowSource) and open_rows(source) is source
    with pytest.raises(ValueError, match="where it is opened"):
        open_rows(source, chunk_rows=3)


def test_what_cannot_be_opened_says_what_can(tmp_path, X):
    (tmp_path / "a.csv").touch()
    for rows, kind, match in [
        (tmp_path / "a.csv", ValueError, "read_table"),
        (tmp_path, ValueError, "folder without files"),
        (tmp_path / "b.npy", FileNotFoundError, "does not exist"),
        (str(tmp_path / "*.npy"), FileNotFoundError, "No file matches"),
        (3, TypeError, "of type int"),
        ([], ValueError, "at least one"),
        (X[0], ValueError, "matrix"),
    ]:
        with pytest.raises(kind, match=match):
            open_rows(rows)
    np.save(tmp_path / "a.npy", X)
    with pytest.raises(ValueError, match="nothing to choose"):
        open_rows(tmp_path / "a.npy", key="X")
    (tmp_path / "a.parquet").touch()
    with pytest.raises(ValueError, match=r"end in \.npy, \.parquet"):
        open_rows(tmp_path)
    with pytest.raises(ValueError, match="key='X'"):
        open_rows(X, key="X")


def test_numbered_parts_are_in_the_order_of_their_numbers(tmp_path, whole):
    for part in (2, 10, 1):
        np.save(tmp_path / f"part-{part}.npy", np.full((1, 1), float(part)))
    for rows in (tmp_path, str(tmp_path / "part-*.npy")):
        np.testing.assert_array_equal(whole(open_rows(rows)), [[1], [2], [10]])


def test_a_target_is_put_beside_its_rows_or_refused(X):
    source = ArraySource(X, chunk_rows=25)
    assert np.array_equal(beside(source, X[:, 0]).chunk(1), X[25:50, :1])
    same = ArraySource(X, chunk_rows=25)
    assert beside(source, same) is same
    with pytest.raises(ValueError, match="1,000 rows and y has 999"):
        beside(source, X[1:])
