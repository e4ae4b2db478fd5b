"""Reader of spreadsheets (.xlsx), by openpyxl where it is installed: one sheet, whose first row holds the names.

Formulas have the values that the spreadsheet program stored; nothing is computed, and no macro or link is followed.
"""

from __future__ import annotations

import datetime
import warnings
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa

from mercer import memory
from mercer.tables.arrow import ArrowSource, from_columns
from mercer.tables.arrow_columns import python_column
from mercer.tables.dates import as_days
from mercer.tables.dialect import MISSING
from mercer.tables.source import TableError, closest, digest_of, listed, place_names, readable, unique_names

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
        with path.open("rb") as file:  # of a path, openpyxl wants the suffix, which the copy of a pipe does not have
            book = openpyxl.load_workbook(file, read_only=True, data_only=True, keep_links=False)
            sheets = {each.title: each for each in book.worksheets}
            if not sheets:
                raise TableError(f"{path} holds no sheet with cells.")
            if sheet is not None and sheet not in sheets:
                raise TableError(f"sheet: {path} has no sheet {sheet!r}. {closest(sheet, sheets, 'sheets')}")
            name = sheet or next(iter(sheets))
            rows = [list(row) for row in sheets[name].iter_rows(values_only=True)]
    if sheet is None and len(sheets) > 1:
        notes.append(f"Sheet {name!r} was read; the others are {listed(list(sheets)[1:])}. `sheet` chooses another.")
    source = from_columns(path, digest, _columns(path, name, rows, notes))
    source.notes[:0] = notes
    return source


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
    """The value of a cell; a time of day, for which Mercer has no type, as text."""
    if isinstance(cell, str) and (cell.strip() in MISSING or cell in _ERRORS):
        return None
    if type(cell) is datetime.date:
        return datetime.datetime.combine(cell, datetime.time())
    return str(cell) if isinstance(cell, datetime.time | datetime.timedelta) else cell


def _column(values: list[Any]) -> pa.Array:
    return as_days(python_column(values, _text))  # Excel stores every date with a time of day


def _text(value: Any) -> str:
    """A value as text; 5.0 is "5", as the sheet shows it."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
