"""JSON lines: types by column, mixed columns as text, broken lines named, nesting that cannot crash the parser."""

import numpy as np
import pytest

from mercer.tables.table import Choice, TableError, read_columns, read_table


def test_objects_become_rows(table):
    path = table('{"a": 1, "day": "2024-02-29", "size": {"x": 1.5}}\n\n{"size": {"x": 2}, "a": 3}\n', "t.jsonl")
    found = read_columns(path)
    assert found["a"].tolist() == [1, 3] and found["size.x"].tolist() == [1.5, 2.0]
    assert found["day"].astype("datetime64[D]").astype(str).tolist() == ["2024-02-29", "NaT"]


def test_gzip_and_lists(table):
    path = table('{"v": [1, 2.5], "k": "x"}\n{"v": [3, null], "k": "y"}\n', "t.jsonl.gz")
    found = read_table(path, Choice(vector="v", impute="zero"))
    assert found.X.tolist() == [[1, 2.5], [3, 0]] and found.features == ["v[1]", "v[2]"]


def test_what_arrow_refuses_is_read_line_by_line(table):
    found = read_columns(table('{"a": 1, "b": NaN}\n{"a": "x", "b": 2}\n{"a": true, "b": 3.5}\n', "t.ndjson"))
    assert found["a"].tolist() == ["1", "x", "true"]
    np.testing.assert_array_equal(found["b"], [np.nan, 2, 3.5])


@pytest.mark.parametrize("line", ['{"a": }', '{"a": 1', "[1, 2]", "a,b"])
def test_a_broken_line_is_named(table, line):
    with pytest.raises(TableError, match=r"line 2 is not"):
        read_table(table(f'{{"a": 1}}\n{line}\n{{"a": 2}}\n', "t.jsonl"))


@pytest.mark.parametrize("opening, closing", [("[", "]"), ('{"a":', "}"), ('{"x":"}","a":\n', "}")])
def test_deep_nesting_is_refused_before_a_parser_follows_it(table, opening, closing):
    content = '{"a":' + opening * 100_000 + "1" + closing * 100_000 + "}\n"
    with pytest.raises(TableError, match="64 levels deep"):
        read_table(table(content, "t.jsonl"))


@pytest.mark.parametrize("content", ["", "\n\n", "{}\n{}\n"])
def test_nothing_is_refused(table, content):
    with pytest.raises(TableError):
        read_table(table(content, "t.jsonl"))
