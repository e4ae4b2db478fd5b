import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from mercer import open_rows

FRAMES = [pd.DataFrame, pl.DataFrame, pa.table]


def frame(make, X, **more):
    return make({**{name: np.ascontiguousarray(X[:, j]) for j, name in enumerate("abcde")}, **more})


@pytest.mark.parametrize("make", FRAMES)
def test_rows_of_a_frame(whole, X, make):
    source = open_rows(frame(make, X), chunk_rows=90)
    assert source.feature_names == list("abcde") and source.dtype == np.float32 and max(source.lengths) <= 90
    np.testing.assert_array_equal(whole(source), X)
    source = open_rows(frame(make, X, n=np.arange(1000)), columns=["n", "b"])
    assert source.dtype == np.float64
    np.testing.assert_array_equal(whole(source), np.column_stack([np.arange(1000), X[:, 1]]))


@pytest.mark.parametrize("make", FRAMES)
def test_text_and_dates_are_refused_by_name(X, make):
    days = np.full(1000, "2020-01-01", "M8[ms]")
    for more in ({"who": ["w"] * 1000}, {"who": days}):
        with pytest.raises((ValueError, TypeError), match="'who'"):
            open_rows(frame(make, X, **more))


@pytest.mark.parametrize("make", FRAMES)
def test_a_missing_value_is_named(X, make):
    source = open_rows(frame(make, X, n=pa.array([*range(999), None]) if make is pa.table else [*range(999), None]))
    with pytest.raises(ValueError, match=r"row 999, which is row 999 of all, is missing .* 'n'"):
        source.chunk(0)


def test_nullable_types_of_pandas_are_numbers(whole):
    source = open_rows(pd.DataFrame({"a": pd.array([1, 2], "Int64"), "b": pd.array([0.5, 1.5], "Float32")}))
    assert source.dtype == np.float64
    np.testing.assert_array_equal(whole(source), [[1, 0.5], [2, 1.5]])


def test_a_lazy_frame_says_what_to_do(X):
    with pytest.raises(TypeError, match="sink_parquet"):
        open_rows(frame(pl.DataFrame, X).lazy())
