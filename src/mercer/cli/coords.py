"""Files of coordinates: which columns are coordinates, which name or label the rows, and what run made them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from mercer.cli.data import common_rows, refuse_lengths
from mercer.cli.errors import unsuitable
from mercer.cli.record import record_beside
from mercer.tables.table import read_columns


@dataclass(frozen=True)
class Coords:
    """A map as a file has it.

    values : (n, k), finite
    names : (k,)
    ids, labels : (n,) or None; `label` is the name of the column of labels
    others : the columns that are none of these
    record : the run.json beside the file, if there is one
    """

    path: str
    values: np.ndarray
    names: list[str]
    ids: np.ndarray | None
    labels: np.ndarray | None
    label: str | None
    others: dict[str, np.ndarray]
    record: dict[str, Any] | None

    @property
    def choice(self) -> dict[str, Any]:
        """What was asked of the table, if that is on record."""
        return dict(self.record["choice"]) if self.record else {}

    @property
    def method(self) -> str | None:
        return str(self.record["method"]) if self.record else None

    def rows(self, rows: np.ndarray) -> Coords:
        """Some rows, in this order."""
        return replace(
            self,
            values=self.values[rows],
            ids=None if self.ids is None else self.ids[rows],
            labels=None if self.labels is None else self.labels[rows],
            others={name: column[rows] for name, column in self.others.items()},
        )


def read_coords(path: str, *, coords: tuple[str, ...] = (), id: str | None = None, label: str | None = None) -> Coords:
    """A file of coordinates. What is not said is read off the run.json beside it, then off names and types."""
    columns, record = read_columns(path), record_beside(path)
    known = record or {}
    id = _present(id, columns, path) or _if_in(known.get("id"), columns) or _if_in("id", columns)
    label = _present(label, columns, path) or _if_in(known.get("label"), columns) or _if_in("label", columns)
    names = list(coords) or _recorded_names(record, columns) or _numeric(columns, (id, label))
    for name in names:
        _present(name, columns, path)
    if not names:
        raise unsuitable(f"{path} has no columns of numbers; name the coordinates with --coords a,b")
    values = _as_numbers(path, names, columns)
    others = {name: column for name, column in columns.items() if name not in (*names, id, label)}
    ids, labels = (None if name is None else columns[name] for name in (id, label))
    return Coords(path, values, names, ids, labels, label, others, record)


def _present(name: str | None, columns: dict[str, np.ndarray], path: str) -> str | None:
    if name is not None and name not in columns:
        raise unsuitable(f"{path} has no column {name!r}; there are {_few(list(columns))}")
    return name


def _if_in(name: Any, columns: dict[str, np.ndarray]) -> str | None:
    return name if isinstance(name, str) and name in columns else None


def _few(names: list[str], most: int = 8) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _recorded_names(record: dict[str, Any] | None, columns: dict[str, np.ndarray]) -> list[str]:
    """The coordinates of a run; of two tables those of the first, whose rows they are compared with."""
    names = [str(name) for name in record["coordinates"]] if record else []
    names = [name for name in names if not name.startswith("kcca_y")]
    return names if all(name in columns for name in names) else []


def _numeric(columns: dict[str, np.ndarray], taken: tuple[str | None, ...]) -> list[str]:
    """Columns of fractions; whole numbers, which may be classes, only where there are no fractions."""
    kinds = {name: column.dtype.kind for name, column in columns.items() if name not in taken}
    return [name for name, kind in kinds.items() if kind == "f"] or [
        name for name, kind in kinds.items() if kind in "iu"
    ]


def _as_numbers(path: str, names: list[str], columns: dict[str, np.ndarray]) -> np.ndarray:
    for name in names:
        if columns[name].dtype.kind not in "iufb":
            raise unsuitable(f"{path}: column {name!r} is text, not a coordinate")
    values = np.column_stack([columns[name] for name in names])
    values = values if values.dtype.kind == "f" else values.astype(np.float64)
    if not np.isfinite(values).all():
        row, column = np.argwhere(~np.isfinite(values))[0]
        raise unsuitable(f"{path}: row {row + 1} has no number in column {names[column]!r}")
    if not len(values):
        raise unsuitable(f"{path} has no rows")
    return values


def matched(maps: list[Coords]) -> list[Coords]:
    """Maps of the same rows: by ids where all have them, else by order."""
    first = maps[0]
    if any(found.ids is None for found in maps):
        for other in maps[1:]:
            refuse_lengths(len(first.values), len(other.values), (first.path, other.path))
        return maps
    for other in maps[1:]:
        first = first.rows(common_rows(_ids(first), _ids(other), (first.path, other.path))[0])
    return [first, *(o.rows(common_rows(_ids(first), _ids(o), (first.path, o.path))[1]) for o in maps[1:])]


def _ids(found: Coords) -> np.ndarray:
    assert found.ids is not None
    return found.ids


def map_names(maps: list[Coords]) -> list[str]:
    """A name for each map: its method where these differ, else its file."""
    methods = [found.method for found in maps]
    if None not in methods and len(set(methods)) == len(methods):
        return [str(method) for method in methods]
    stems = [Path(found.path).name for found in maps]
    return stems if len(set(stems)) == len(stems) else [found.path for found in maps]
