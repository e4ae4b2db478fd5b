"""Files of coordinates: which columns are coordinates, which name or label the rows, and which run made them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from mercer.cli.console import Console
from mercer.cli.errors import unsuitable
from mercer.cli.methods import METHODS
from mercer.cli.record import record_beside
from mercer.cli.table_input import (
    as_choice,
    columns_in,
    common_rows,
    read,
    refuse_lengths,
    rows_of,
    tell_left_out,
)
from mercer.tables.row_names import all_different, names_rows
from mercer.tables.source import check_known, digest_of
from mercer.tables.table import Choice, Table, read_columns


@dataclass(frozen=True)
class MapFile:
    """A map read from a file.

    values : (n, k), finite
    names : (k,), the columns that are coordinates
    ids, labels : (n,) or None; `id` and `label` name their columns
    others : the remaining columns
    record : the run.json beside the file, if there is one
    """

    path: str
    values: np.ndarray
    names: list[str]
    ids: np.ndarray | None
    labels: np.ndarray | None
    id: str | None
    label: str | None
    others: dict[str, np.ndarray]
    record: dict[str, Any] | None

    def column(self, name: str) -> np.ndarray:
        """The ids, or another column that is neither label nor coordinate."""
        return self.ids if name == self.id and self.ids is not None else self.others[name]

    @property
    def choice(self) -> dict[str, Any]:
        """The options about the table in the run that made the map, if it is known."""
        return dict(self.record["choice"]) if self.record else {}

    @property
    def method(self) -> str | None:
        return str(self.record["method"]) if self.record else None

    def rows(self, rows: np.ndarray) -> MapFile:
        """Some rows, in this order."""
        return replace(
            self,
            values=self.values[rows],
            ids=None if self.ids is None else self.ids[rows],
            labels=None if self.labels is None else self.labels[rows],
            others={name: column[rows] for name, column in self.others.items()},
        )


def read_map(path: str, *, coords: tuple[str, ...] = (), id: str | None = None, label: str | None = None) -> MapFile:
    """Read coordinates. Roles that are not given come from the run.json beside the file, then from names and types."""
    columns, record = read_columns(path), record_beside(path)
    known = record or {}
    check_known([*coords, *(name for name in (id, label) if name is not None)], columns, path)
    id = id or _if_in(known.get("id"), columns) or _if_in("id", columns)
    label = label or _if_in(known.get("label"), columns) or _if_in("label", columns)
    names = list(coords) or _recorded_names(record, columns) or _numeric(columns, (id, label))
    if not names:
        raise unsuitable(f"{path} has no columns of numbers. Name the coordinates with --coords a,b.")
    values = _as_numbers(path, names, columns)
    others = {name: column for name, column in columns.items() if name not in (*names, id, label)}
    ids, labels = (None if name is None else columns[name] for name in (id, label))
    return MapFile(path, values, names, ids, labels, id, label, others, record)


def _if_in(name: Any, columns: dict[str, np.ndarray]) -> str | None:
    return name if isinstance(name, str) and name in columns else None


def _recorded_names(record: dict[str, Any] | None, columns: dict[str, np.ndarray]) -> list[str]:
    """The coordinates of the run's first map, the one whose rows are those of its table."""
    if record is None:
        return []
    recorded = [str(name) for name in record["coordinates"]]
    views = METHODS[record["method"]].views(len(recorded))
    # A model of two tables may have placed rows of the first table only: then all its columns are of one map.
    whole = set(METHODS[record["method"]].column_names(len(recorded))) <= set(recorded)
    names = recorded[views[0][1]] if whole else recorded
    return names if all(name in columns for name in names) else []


def _numeric(columns: dict[str, np.ndarray], taken: tuple[str | None, ...]) -> list[str]:
    """The columns of fractions. Whole numbers, which may be classes, count only if there are no fractions."""
    kinds = {name: column.dtype.kind for name, column in columns.items() if name not in taken}
    return [name for name, kind in kinds.items() if kind == "f"] or [
        name for name, kind in kinds.items() if kind in "iu"
    ]


def _as_numbers(path: str, names: list[str], columns: dict[str, np.ndarray]) -> np.ndarray:
    for name in names:
        if columns[name].dtype.kind not in "iufb":
            raise unsuitable(f"{path}: column {name!r} holds text, not coordinates.")
    values = np.column_stack([columns[name] for name in names])
    values = values if values.dtype.kind == "f" else values.astype(np.float64)
    if not np.isfinite(values).all():
        row, column = np.argwhere(~np.isfinite(values))[0]
        raise unsuitable(
            f"{path}: row {row + 1} has no number in column {names[column]!r}. If the table has other columns beside "
            "its coordinates, name these with --coords a,b."
        )
    if not len(values):
        raise unsuitable(f"{path} has no rows.")
    return values


def matched(maps: list[MapFile], console: Console | None = None) -> list[MapFile]:
    """Maps cut to the same rows: by id if all have ids, otherwise by order. The console hears of rows left out."""
    first = maps[0]
    if any(found.ids is None for found in maps):
        for other in maps[1:]:
            refuse_lengths(len(first.values), len(other.values), (first.path, other.path))
        return maps
    for other in maps[1:]:
        first = first.rows(common_rows(_ids(first), _ids(other), (first.path, other.path))[0])
    if console is not None:
        kept = len(first.values)
        tell_left_out(kept, sum(len(other.values) - kept for other in maps), console, "all maps")
    return [first, *(o.rows(common_rows(_ids(first), _ids(o), (first.path, o.path))[1]) for o in maps[1:])]


def _ids(found: MapFile) -> np.ndarray:
    assert found.ids is not None
    return found.ids


def map_names(maps: list[MapFile]) -> list[str]:
    """A name for each map: its method if no two share one, otherwise its file."""
    methods = [found.method for found in maps]
    if None not in methods and len(set(methods)) == len(methods):
        return [str(method) for method in methods]
    stems = [Path(found.path).name for found in maps]
    return stems if len(set(stems)) == len(stems) else [found.path for found in maps]


def with_table(
    path: str,
    maps: list[MapFile],
    choice: dict[str, Any],
    console: Console,
    *,
    model: str | None = None,
    originals: int = 0,
) -> tuple[Table, list[MapFile]]:
    """A table and its maps, cut to the rows that all of them have.

    The table is prepared as the run of the first map did, unless options say otherwise.
    """
    maps = matched(maps, console)
    table, first = _table_of(path, maps[0], choice, console, model, originals)
    return table, matched([first, *maps[1:]])


def _table_of(
    path: str, found: MapFile, choice: dict[str, Any], console: Console, model: str | None, originals: int
) -> tuple[Table, MapFile]:
    """A table and a map of it, row by row."""
    preparation = None
    if model is None and not choice:
        model = _model_of(found, console)
    if model is not None:
        from mercer.cli.transform import open_model, preparation_in

        preparation = preparation_in(open_model(model)[1], "preparation")
    settings = found.choice | choice
    if "id" not in settings:
        shared = _shared_id(path, found, as_choice(settings))
        settings |= {} if shared is None else {"id": shared}
        found = found if shared is None else replace(found, ids=found.column(shared))
    table = read(path, as_choice(settings), console, preparation=preparation, originals=originals)
    # Running numbers may start at 0 in one file and at 1 in the other, so ids that no one named need the same name.
    alike = "id" in settings or found.id == table.preparation.id
    if table.ids is not None and found.ids is not None and alike:
        mine, theirs = common_rows(table.ids, found.ids, (path, found.path))
        lost = len(table.ids) + len(found.ids) - 2 * len(mine)
        tell_left_out(len(mine), lost, console, f"{path} and {found.path}")
        return rows_of(table, mine), found.rows(theirs)
    refuse_lengths(table.X.shape[0], len(found.values), (path, found.path))
    console.note(f"Rows of {path} and {found.path} are matched by their order, as the files have no ids in common.")
    return table, found


def _shared_id(path: str, found: MapFile, choice: Choice) -> str | None:
    """A column that both a table and its map have, different in every row: text, or numbers that look like an id."""
    mine = [name for name in (found.id, *found.others) if name is not None]
    names = columns_in(path, choice) - set(choice.columns or ())
    for name in mine:
        values = found.column(name)
        measured = values.dtype.kind in "iuf" and name != found.id and not names_rows(name, values)
        if name in names and not measured and all_different(values) and all_different(read_columns(path, choice)[name]):
            return name
    return None


def _model_of(found: MapFile, console: Console) -> str | None:
    """The model that placed the rows of a map, if it is still there: it knows how they were prepared."""
    record = found.record or {}
    placed = record.get("model") if record.get("verb") == "transform" else None
    if not isinstance(placed, dict):
        return None
    path = Path(str(placed.get("path")))
    if path.is_file() and digest_of(path) == placed.get("sha256"):
        return str(path)
    console.warn(
        f"{path}, which placed {found.path}, is gone or has changed, so the table is prepared anew (see --model)."
    )
    return None
