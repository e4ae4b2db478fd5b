"""Columns of a page: kinds, missing values, classes in order."""

import numpy as np
import pytest

from mercer.web.columns import add_column, natural_key
from mercer.web.payload import Payload


def numbers(block, place):
    """Planes of bytes put together again: written from the description of the format, not from the code."""
    kind = np.dtype(f"<{place['type']}")
    raw = np.frombuffer(block, np.uint8, place["count"] * kind.itemsize, place["at"])
    return np.ascontiguousarray(raw.reshape(kind.itemsize, -1).T).view(kind)[:, 0]


def texts(block, place):
    lengths, at, out = numbers(block, place["lengths"]), place["at"], []
    for length in lengths.tolist():
        out.append(None if length == 0 else block[at : at + length - 1].decode())
        at += max(0, length - 1)
    return out


def values(column):
    """A column as it is stored, read back."""
    payload = Payload()
    about = add_column(payload, "c", column, len(column))
    block = b"".join(payload._parts)
    if about["kind"] == "text":
        return about["kind"], texts(block, about)
    stored = numbers(block, about)
    if about["kind"] == "category":
        return about["kind"], [(*about["names"], None)[code] for code in stored]
    return about["kind"], stored


@pytest.mark.parametrize(
    "column, kind",
    [
        (np.array(["b", "a", "b"]), "category"),
        (np.array([True, False, True]), "category"),
        (np.array([3, 1, 3]), "category"),
        (np.array([3.0, np.nan, 1.0]), "category"),
        (np.array([0.5, 0.25, np.nan]), "number"),
        (np.arange(500), "number"),
        (np.array([f"t{i}" for i in range(500)]), "text"),
        (np.array([2**60 + i for i in range(40)]), "text"),
        (np.array(["2024-01-01", "NaT"], dtype="datetime64[D]"), "date"),
        (np.array([1, None, 2.5], dtype=object), "number"),
        (np.array(["x", None, 3], dtype=object), "category"),
        (np.array([None, None], dtype=object), "category"),
        (np.array([b"x", b"y"]), "category"),
    ],
)
def test_kinds_of_columns(column, kind):
    assert values(column)[0] == kind


def test_values_of_columns_come_back():
    assert values(np.array(["b", None, "", "a"], dtype=object))[1] == ["b", None, "", "a"]
    assert values(np.array([3.0, np.nan, 10.0]))[1] == ["3", None, "10"]
    long = [f"text {i}" for i in range(60)] + [None, ""]
    assert values(np.array(long, dtype=object))[1] == long
    np.testing.assert_array_equal(values(np.array([0.1, np.nan, np.inf]))[1], [0.1, np.nan, np.inf])
    kind, stored = values(np.array([1.0, 2.0, -np.inf]))  # whole numbers, but no classes: infinity is no name
    assert kind == "number" and stored.tolist() == [1.0, 2.0, -np.inf]
    np.testing.assert_array_equal(values(np.array([1.5, None], dtype=object))[1], [1.5, np.nan])
    day = values(np.array(["1970-01-02", "NaT"], dtype="datetime64[D]"))[1]
    np.testing.assert_array_equal(day, [86_400_000, np.nan])


def test_pandas_missing_values():
    pandas = pytest.importorskip("pandas")
    series = pandas.Series(["a", pandas.NA, "b"], dtype="string")
    assert values(np.asarray(series, dtype=object))[1] == ["a", None, "b"]
    assert values(np.asarray(pandas.array([1, None, 30_000], dtype="Int64"), dtype=object))[1] == ["1", None, "30000"]


def test_masked_values_are_missing():
    mask = [False, True, False]
    assert values(np.ma.array(["a", "b", "c"], mask=mask))[1] == ["a", None, "c"]
    assert values(np.ma.array([1, 2, 3], mask=mask))[1] == ["1", None, "3"]
    np.testing.assert_array_equal(values(np.ma.array([0.5, 2.5, 3.5], mask=mask))[1], [0.5, np.nan, 3.5])
    days = np.ma.array(np.array([0, 1, 2], "datetime64[D]"), mask=mask)
    np.testing.assert_array_equal(values(days)[1], [0, np.nan, 2 * 86_400_000])


@pytest.mark.skipif(not hasattr(np.dtypes, "StringDType"), reason="numpy has no StringDType")
def test_numpy_strings_with_a_missing_value():
    array = np.array(["a", np.nan, "b"], dtype=np.dtypes.StringDType(na_object=np.nan))
    assert values(array)[1] == ["a", None, "b"]


def test_float64_is_kept_where_float32_would_round():
    column = np.random.default_rng(0).random(50)
    np.testing.assert_array_equal(values(column)[1], column)
    many = np.random.default_rng(0).random(150_000)
    back = values(many)[1]
    assert back.dtype == np.float32 and np.abs(back - many).max() <= 2.0**-24


def test_classes_are_in_the_order_people_expect():
    words = ["class 10", "class 9", "Class 1", "b", "a2", "a10"]
    assert sorted(words, key=natural_key) == ["a2", "a10", "b", "Class 1", "class 9", "class 10"]
    labels = np.array([0, 10, 2, 33, 7])
    payload = Payload()
    assert add_column(payload, "y", labels, 5, use="label")["names"] == ["0", "2", "7", "10", "33"]


def test_ids_are_never_classes():
    about = add_column(Payload(), "id", np.array(["a", "b", "a"]), 3, use="id")
    assert about["kind"] == "text"


@pytest.mark.parametrize("column", [np.zeros(4), np.zeros((3, 1)), [1, 2]])
def test_columns_of_another_length_are_refused(column):
    with pytest.raises(ValueError, match="'weight' has shape"):
        add_column(Payload(), "weight", column, 3)


def test_columns_that_cannot_be_shown_are_refused():
    with pytest.raises(TypeError, match="complex128"):
        add_column(Payload(), "z", np.zeros(3, complex), 3)
