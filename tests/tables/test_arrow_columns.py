"""Columns keep what they are: exact integers, text that looks like numbers, gaps."""

import numpy as np
import pyarrow as pa
import pytest

from mercer.tables.arrow_columns import arrow_column, as_text, carried_values, float_values, numbers_in_text
from mercer.tables.source import TableError
from mercer.tables.table import Choice, read_table


def test_ids_and_labels_stay_what_they_are(table):
    text = "i,zip,l,x\n9007199254740993,00123,1.5,1\n9007199254740995,90210,,2\n"
    found = read_table(table(text), Choice(label="l", id="i", columns=("x",)))
    assert found.ids.dtype == np.int64 and found.ids.tolist() == [9007199254740993, 9007199254740995]
    assert found.labels[0] == 1.5 and np.isnan(found.labels[1])
    assert found.columns["zip"].tolist() == ["00123", "90210"]
    assert found.features == ["x"]


def test_missing_labels_of_text_are_kept(table):
    found = read_table(table("l,x\nred,1\n,2\nblue,3\n"), Choice(label="l"))
    assert found.labels.tolist() == ["red", None, "blue"]


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["1", "2"], [1, 2]),
        (["1", None], [1.0, None]),
        (["9007199254740993", None], ["9007199254740993", None]),  # as a float it would be another number
        (["007", "8"], ["007", "8"]),
        (["1.50", "2"], [1.5, 2.0]),
        (["1e3", "NA"], [1000.0, None]),
        (["1", "x"], ["1", "x"]),
    ],
)
def test_text_becomes_numbers_only_if_nothing_is_lost(texts, expected):
    found = numbers_in_text(pa.chunked_array([texts]))
    assert [None if value != value else value for value in found.tolist()] == expected


def test_an_id_is_a_whole_number_or_text():
    assert numbers_in_text(pa.chunked_array([["1.5", "2"]]), floats=False).tolist() == ["1.5", "2"]
    assert carried_values(pa.chunked_array([[1.5, 2.0]]), floats=False).tolist() == ["1.5", "2"]


def test_booleans_decimals_and_gaps_are_floats():
    assert float_values(pa.array([True, False])).tolist() == [1, 0]
    found = float_values(pa.array([1, None, 3]))
    assert np.isnan(found[1]) and found[::2].tolist() == [1, 3]
    assert float_values(pa.array(["1.25"]).cast(pa.decimal128(5, 2))).tolist() == [1.25]


def test_equal_texts_are_one_object():
    found = as_text(pa.chunked_array([["long text", None], ["long text", "other"]]))
    assert found.tolist() == ["long text", None, "long text", "other"] and found[0] is found[2]


def test_letters_outside_of_unicode_are_refused():
    values = np.array(["ab", "cd"])
    values.view(np.uint32)[1] = 0x110000
    with pytest.raises(TableError, match="not valid Unicode"):
        arrow_column(values)
