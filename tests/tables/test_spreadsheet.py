"""Spreadsheets: values, dates, gaps, several sheets; each kind of damage one line."""

import datetime

import numpy as np
import pytest

from mercer.tables.table import Choice, TableError, read_columns, read_table

openpyxl = pytest.importorskip("openpyxl")


@pytest.fixture
def workbook(tmp_path):
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "plants"
    day = datetime.datetime(2024, 2, 29)
    for row in [[], [None, "nr", "size", "kind", "day"], [None, 1, 1.5, "x", day], [None, 2, "#N/A", "007", None]]:
        sheet.append(row)
    other = book.create_sheet("bare")
    for row in ([1, 2.5], [3, 4.5], [None, None], [5, 6.5]):
        other.append(row)
    book.save(tmp_path / "t.xlsx")
    return tmp_path / "t.xlsx"


def test_the_first_sheet_is_read_and_the_others_are_named(workbook):
    found = read_columns(workbook)
    assert list(found) == ["nr", "size", "kind", "day"]
    assert found["nr"].tolist() == [1, 2] and found["kind"].tolist() == ["x", "007"]
    np.testing.assert_array_equal(found["size"], [1.5, np.nan])
    assert found["day"].astype(str).tolist() == ["2024-02-29", "NaT"]
    notes = read_table(workbook, Choice(columns=("size",), impute="zero")).notes
    assert any("'plants' was read" in note and "'bare'" in note for note in notes)


def test_a_sheet_by_name_without_a_header(workbook):
    found = read_table(workbook, Choice(sheet="bare"))
    assert found.features == ["x1", "x2"] and found.X.tolist() == [[1, 2.5], [3, 4.5], [5, 6.5]]
    with pytest.raises(TableError, match="Did you mean 'bare'"):
        read_table(workbook, Choice(sheet="bear"))


def test_damage_is_one_line(workbook, tmp_path):
    content = workbook.read_bytes()
    (tmp_path / "half.xlsx").write_bytes(content[: len(content) // 2])
    with pytest.raises(TableError, match=r"half.xlsx cannot be read as a spreadsheet"):
        read_table(tmp_path / "half.xlsx")


def test_without_openpyxl_the_message_says_what_to_do(workbook, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(TableError, match="pip install openpyxl"):
        read_table(workbook)
