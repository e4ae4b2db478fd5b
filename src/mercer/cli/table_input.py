"""Tables as the verbs need them: read, with notes shown, and matched row by row with other tables."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import click
import numpy as np

from mercer.amounts import amount
from mercer.cli.console import Console
from mercer.cli.errors import unsuitable
from mercer.cli.options import reading_choice, unknown
from mercer.tables.source import check_known
from mercer.tables.table import Choice, Table, open_source, read_table


def as_choice(given: dict[str, Any]) -> Choice:
    """The choice that options or a record describe. Fields that this version does not know are ignored.

    Only the columns of --keep are carried beside X: a page must not show what the user did not ask for.
    """
    known = {part.name for part in fields(Choice)}
    settings: dict[str, Any] = {name: value for name, value in given.items() if name in known}
    return Choice(**{"keep": ()} | settings)


def read(path: str, choice: Choice, console: Console, *, preparation: Any = None, originals: int = 0) -> Table:
    """Read a table and show its notes. `originals`: how many values of the file to keep for a page, at most."""
    with console.working(f"reading {path}"):
        table = read_table(path, choice, preparation=preparation, originals=originals)
    for note in table.notes:
        console.note(note)
    return table


def read_second(path: str, choice: Choice, console: Console) -> Table:
    """Read the other table of a pair: prepared like the first, with its own columns; label, id and vector optional.

    How the first file is written says nothing about the second.
    """
    own = replace(
        choice, drop=(), columns=None, keep=(), show=(), delimiter=None, encoding=None, header=None, sheet=None
    )
    names = columns_in(path, own)
    label, id_ = (name if name in names else None for name in (choice.label, choice.id))
    vector = tuple(name for name in choice.vector if name in names)
    return read(path, replace(own, label=label, id=id_, vector=vector), console)


def columns_in(path: str, choice: Choice | None = None) -> set[str]:
    """The names of the columns of a file, without reading its rows."""
    source = open_source(path, choice=choice)
    return {*source.names, *source.extras}


def refuse_page_columns(path: str, wanted: tuple[str, ...], choice: dict[str, Any]) -> None:
    """TableError for columns of --page-columns that the table does not have."""
    if wanted:
        known = sorted(columns_in(path, as_choice(reading_choice(choice))))
        check_known([name for name in wanted if name != "none"], known, "page_columns")


def source_name(path: str) -> str:
    """What messages call a table: its path, or stdin."""
    return "stdin" if path == "-" else path


def refuse_metric(name: Any) -> None:
    """UsageError for a metric that does not exist, before anything is read."""
    from sklearn.neighbors import VALID_METRICS

    known = sorted(VALID_METRICS["brute"])
    if isinstance(name, str) and name not in known:
        raise click.UsageError(unknown("metric", name, known))


def refuse_no_rows(table: Table) -> None:
    if table.X.shape[0] < 2:
        raise unsuitable("The table has a single row. At least 2 are needed.")


def rows_of(table: Table, rows: np.ndarray) -> Table:
    """Some rows of a table, in this order."""
    return replace(
        table,
        X=table.X[rows],
        ids=None if table.ids is None else table.ids[rows],
        labels=None if table.labels is None else table.labels[rows],
        columns={name: column[rows] for name, column in table.columns.items()},
        images=None if table.images is None else [table.images[i] for i in rows],
        originals={name: column[rows] for name, column in table.originals.items()},
    )


def match(
    first: Table, second: Table, names: tuple[str, str], console: Console, *, id: str | None = None
) -> tuple[Table, Table]:
    """The rows of two tables that belong together: those with the same id, or in the same place if there are no ids.

    Ids that the user did not name, by `id`, match rows only if both columns have the same name: running numbers may
    start at 0 in one table and at 1 in the other.
    """
    alike = id is not None or first.preparation.id == second.preparation.id
    if first.ids is None or second.ids is None or not alike:
        refuse_lengths(first.X.shape[0], second.X.shape[0], names)
        return first, second
    mine, theirs = common_rows(first.ids, second.ids, names)
    tell_left_out(len(mine), first.X.shape[0] + second.X.shape[0] - 2 * len(mine), console, "both tables")
    return rows_of(first, mine), rows_of(second, theirs)


def tell_left_out(kept: int, lost: int, console: Console, where: str) -> None:
    """Say how many rows of two files have no partner, if any."""
    if lost:
        have, out = ("has" if kept == 1 else "have"), (f"{lost} others are" if lost > 1 else "one other is")
        console.note(f"{amount(kept, 'row')} {have} the same id in {where}; {out} left out.")


def refuse_lengths(here: int, there: int, names: tuple[str, str]) -> None:
    if here != there:
        raise unsuitable(
            f"{names[0]} has {amount(here, 'row')} and {names[1]} has {there:,}. Rows are matched by order unless both "
            "files have ids (--id COLUMN)."
        )


def common_rows(first: np.ndarray, second: np.ndarray, names: tuple[str, str]) -> tuple[np.ndarray, np.ndarray]:
    """The rows with the same id, in the order of the first."""
    places: list[dict[str, int]] = []
    for ids, name in zip((first, second), names, strict=True):
        found = {str(key): row for row, key in enumerate(ids.tolist())}
        if len(found) < len(ids):
            raise unsuitable(f"{name} has the id {_repeated(ids)!r} more than once, so ids cannot match its rows.")
        places.append(found)
    keys = [key for key in places[0] if key in places[1]]
    if not keys:
        raise unsuitable(f"{names[0]} and {names[1]} have no id in common.")
    return tuple(np.array([found[key] for key in keys]) for found in places)  # type: ignore[return-value]


def _repeated(ids: np.ndarray) -> str:
    seen: set[str] = set()
    for key in map(str, ids.tolist()):
        if key in seen:
            return key
        seen.add(key)
    return ""
