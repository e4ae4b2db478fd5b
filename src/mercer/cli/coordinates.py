"""Files of coordinates: ids and labels, and the coordinates after them, written in one part or in many."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from mercer.cli.outputs import STDOUT
from mercer.tables.table import Table
from mercer.tables.writing import table_writer

Columns = dict[str, np.ndarray]


def write_coordinates(
    path: str | Path,
    parts: Iterable[tuple[Columns, np.ndarray]],
    names_of: Callable[[int], list[str]],
    *,
    inert: bool = False,
) -> list[str]:
    """Write rows part by part. Returns the names of the coordinates.

    parts : what stands beside some rows, and their coordinates (m, k)
    names_of : k → the names of the coordinates
    inert : whether text that a spreadsheet would run is made harmless; on stdout it is not, since programs read that
    """
    names: list[str] = []
    with _unread_pipe(path), table_writer(path, inert=inert and path != STDOUT) as out:
        for beside, values in parts:
            names = names or names_of(values.shape[1])
            out.add(with_coordinates(beside, names, values))
    return names


@contextmanager
def _unread_pipe(path: str | Path) -> Iterator[None]:
    """A closed pipe behind stdout is not a failure: no one is left to read."""
    try:
        yield
    except BrokenPipeError:
        if path != STDOUT:
            raise


def with_coordinates(beside: Columns, names: list[str], values: np.ndarray) -> Columns:
    """The columns beside the coordinates, and the coordinates. None replaces a column of the same name."""
    columns = dict(beside)
    for name, column in zip(names, values.T, strict=True):
        columns[name if name not in columns else f"{name}_"] = np.ascontiguousarray(column)
    return columns


def carried_columns(table: Table, choice: dict[str, Any]) -> Columns:
    """The columns of ids and labels, if there are any."""
    found = zip(carried_names(table, choice), (table.ids, table.labels), strict=True)
    return {name: values for name, values in found if name is not None and values is not None}


def carried_names(table: Table, choice: dict[str, Any]) -> tuple[str | None, str | None]:
    """The names of the columns of ids and labels, or None for a column that the table does not have."""
    id_ = choice.get("id") or table.preparation.id or "id"
    label = choice.get("label") or table.preparation.label or "label"
    return (None if table.ids is None else id_), (None if table.labels is None else label)
