"""Reader of spreadsheets (.xlsx), by openpyxl where it is installed: one sheet, whose first row holds the names.

Formulas have the values that the spreadsheet program stored; nothing is computed, and no macro or link is followed.
"""

from __future__ import annotations

import datetime
import difflib
import warnings
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa

from mercer import memory
from mercer.tables.arrow import ArrowSource, from_columns
from mercer.tables.dialect import MISSING
from mercer.tables.source import TableError, digest_of, listed, place_names, readable, unique_names

_ERRORS = ("#N/A", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#NULL!")  # of a formula: there is no value
_FACTOR = 4  # a cell in memory takes up to this many times the bytes of its text


def open_spreadsheet(path: Path, sheet: str | None = None) -> ArrowSource:
    """Open one sheet of a workbook, by default the first."""
    try:
        import openpyxl
    except ImportError as error:
        raise TableError(
            f"{path}: spreadsheets are read by openpyxl, which is not installed. Install it (pip install openpyxl), or "
            "save the table as csv."
        ) from error
    digest, notes = digest_of(path), []
    with readable(path, "a spreadsheet"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # openpyxl warns about styles and extensions that hold no values
        _refuse_large(path)
        book = openpyxl.load_workbook(path, read_only=True, data_only=True, keep_links=False)
        try:
            sheets = {each.title: each for each in book.worksheets}
            if not sheets:
                raise TableError(f"{path} holds no sheet with cells.")
            if sheet is not None:
                _check_sheet(path, sheet, sheets)
            name = sheet or next(iter(sheets))
            rows = [list(row) for row in sheets[name].iter_rows(values_only=True)]
        finally:
            book.close()
    if sheet is None and len(sheets) > 1:
        notes.append(f"Sheet {name!r} was read; the others are {listed(list(sheets)[1:])}. `sheet` chooses another.")
    source = from_columns(path, digest, _columns(path, name, rows, notes))
    source.notes[:0] = notes
    return source


def _check_sheet(path: Path, sheet: str, known: Iterable[str]) -> None:
    if sheet not in (names := list(known)):
        near = difflib.get_close_matches(sheet, names, n=1)
        hint = f"Did you mean {near[0]!r}?" if near else f"The sheets are {listed(names)}."
        raise TableError(f"sheet: {path} has no sheet {sheet!r}. {hint}")


def _refuse_large(path: Path) -> None:
    """TableError if the archive unpacks to more than fits in memory, before anything is unpacked."""
    with zipfile.ZipFile(path) as archive:
        needed = _FACTOR * sum(member.file_size for member in archive.infolist())
    if needed > (free := memory.available_bytes()):
        raise TableError(
            f"{path} needs about {memory.format_bytes(needed)}, but only {memory.format_bytes(free)} are free."
        )


def _columns(path: Path, sheet: str, rows: list[list[Any]], notes: list[str]) -> dict[str, pa.Array]:
    """The columns below the names. Empty rows and columns around the table are skipped."""
    rows = [[_value(cell) for cell in row] for row in rows]
    rows = [row for row in rows if any(cell is not None for cell in row)]
    if not rows:
        raise TableError(f"{path}: sheet {sheet!r} is empty.")
    width = max(len(row) for row in rows)
    filled = [j for j in range(width) if any(len(row) > j and row[j] is not None for row in rows)]
    rows = [[row[j] if len(row) > j else None for j in filled] for row in rows]
    if any(isinstance(cell, int | float) for cell in rows[0]):
        names = place_names(len(filled))
        notes.append(f"The first row holds numbers, so it was read as data. The columns are named x1 … {names[-1]}.")
    else:
        names, more = unique_names(["" if cell is None else str(cell).strip() for cell in rows.pop(0)])
        notes.extend(more)
    if not rows:
        raise TableError(f"{path}: sheet {sheet!r} has a header but no rows.")
    return {name: _column([row[j] for row in rows]) for j, name in enumerate(names)}


def _value(cell: Any) -> Any:
    return None if isinstance(cell, str) and (cell.strip() in MISSING or cell in _ERRORS) else cell


def _column(values: list[Any]) -> pa.Array:
    """Numbers, dates or booleans if all values are, otherwise text."""
    kinds = {type(value) for value in values if value is not None}
    if kinds == {int} and all(abs(value or 0) < 2**63 for value in values):
        return pa.array(values, pa.int64())
    if kinds and kinds <= {int, float}:
        return pa.array([None if value is None else float(value) for value in values], pa.float64())
    if kinds and kinds <= {datetime.datetime, datetime.date}:
        return _dates(values)
    if kinds == {bool}:
        return pa.array(values, pa.bool_())
    return pa.array([None if value is None else _text(value) for value in values], pa.large_string())


def _dates(values: list[Any]) -> pa.Array:
    """Days if no value has a time of day; Excel stores every date with one."""
    midnight = datetime.time()
    if all(not isinstance(value, datetime.datetime) or value.time() == midnight for value in values):
        days = [value.date() if isinstance(value, datetime.datetime) else value for value in values]
        return pa.array(days, pa.date32())
    times = [datetime.datetime.combine(value, midnight) if type(value) is datetime.date else value for value in values]
    return pa.array(times, pa.timestamp("us"))


def _text(value: Any) -> str:
    """A value as text; 5.0 is "5", as the sheet shows it."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
