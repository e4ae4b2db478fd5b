"""Pages of maps: the scores of a map, what a page holds of the table, and the file.

People send pages to others, so nothing may get into one by accident. By default a page holds ids, labels, the columns
that were fitted and those of --keep. --page-columns chooses others. The page says how the map was made, but it names no
path, command line or machine unless --page-record asks for the whole record.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from mercer.amounts import amount
from mercer.cli.errors import unsuitable
from mercer.cli.table_input import source_name
from mercer.memory import format_bytes
from mercer.quality import report
from mercer.tables.source import listed
from mercer.tables.table import Table
from mercer.web.page import AsFitted, Map, Page
from mercer.web.row_quality import with_neighbors

MOST_COLUMNS, MOST_VALUES = 1000, 4_000_000  # of X on a page; with more it would not open quickly
NEIGHBORS = 15
NONE = ("none",)  # what --page-columns says for no columns at all
_RUN = ("method", "estimator", "parameters", "seed", "fit", "stopped")
_VARYING = ("seconds", "bytes")  # facts about a fit that differ from run to run; bytes depend on what is free


def quality_report(table: Table, Y: np.ndarray, *, seed: int = 0, neighbors: int = NEIGHBORS, **settings: Any) -> Any:
    """`mercer.quality.report` of a map. Labels on a scale are not classes, and are left out."""
    return report(table.X, Y, labels=class_labels(table), n_neighbors=neighbors, random_state=seed, **settings)


def class_labels(table: Table) -> np.ndarray | None:
    """The labels, unless they are numbers on a scale."""
    labels = table.labels
    if labels is not None and labels.dtype.kind == "M":
        return None
    if labels is None or labels.dtype.kind != "f":
        return labels
    known = labels[np.isfinite(labels)]
    return labels if np.array_equal(known, np.floor(known)) else None


def title_of(path: str) -> str:
    return Path(source_name(path)).name


def run_shown(record: dict[str, Any] | None, whole: bool = False) -> dict[str, Any] | None:
    """What a page tells of a run: the same for every repetition, and nothing about the machine, unless all of it."""
    if record is None or whole:
        return record
    told = {name: _steady(record[name]) for name in _RUN if name in record}
    if isinstance(record.get("input"), dict):
        told["input"] = {name: record["input"].get(name) for name in ("rows", "columns", "sha256")}
    versions = record.get("versions", {})
    return told | {"versions": {name: versions[name] for name in versions if name not in ("platform", "machine")}}


def _steady(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _steady(part) for name, part in value.items() if name not in _VARYING}
    return value


def label_name(table: Table, label: str | None) -> str:
    return label or table.preparation.label or "label"


def columns_shown(table: Table, label: str | None) -> dict[str, np.ndarray]:
    """What a page can hold of a table, as the file has it: labels, kept columns, and those of X unless too many."""
    made = table.preparation.columns
    shown: dict[str, np.ndarray] = {}
    if table.labels is not None:
        shown[label_name(table, label)] = table.labels
    shown |= {name: column for name, column in table.columns.items() if name not in (*made, *shown)}
    if len(made) <= MOST_COLUMNS:
        shown |= {name: table.originals[name] for name in made if name in table.originals and name not in shown}
    return shown


def only(
    columns: dict[str, np.ndarray], chosen: tuple[str, ...] | None, label: str | None = None
) -> dict[str, np.ndarray]:
    """The label and the chosen columns; all of them if --page-columns was not given."""
    if chosen is None:
        return columns
    wanted = () if chosen == NONE else chosen
    missing = [name for name in wanted if name not in columns]
    if missing:
        raise unsuitable(
            f"--page-columns: {listed(missing)} cannot be shown. The page can have {listed(columns, 10) or 'none'}."
        )
    return {name: column for name, column in columns.items() if name == label or name in wanted}


def as_fitted(table: Table) -> dict[str, AsFitted]:
    """Column → how its values were filled and scaled; columns that were fitted as they are do not appear."""
    preparation, found, place = table.preparation, dict[str, AsFitted](), 0
    for rule in preparation.rules:
        width = len(rule.features(preparation.encode))
        number = rule.categories is None and preparation.spread is not None
        centre = preparation.centre[place] if number and preparation.centre else 0.0
        spread = preparation.spread[place] if number and preparation.spread else 1.0
        how = AsFitted(rule.fill, centre, spread)
        if how != AsFitted():
            found[rule.name] = how
        place += width
    return found


def page_of(title: str, maps: list[Map], table: Table, label: str | None, chosen: tuple[str, ...] | None) -> Page:
    """The page of maps of one table, coloured by its labels."""
    colour = label_name(table, label) if table.labels is not None else None
    return page_with(title, maps, only(columns_shown(table, label), chosen, colour), colour, table)


def page_with(
    title: str,
    maps: list[Map],
    columns: dict[str, np.ndarray],
    colour: str | None,
    table: Table | None,
    ids: np.ndarray | None = None,
    id_name: str = "id",
) -> Page:
    """A page with these columns. From a table, if there is one, come ids, images, and the nearest rows of each row."""
    if table is None:
        return Page(title, maps, ids, columns, colour, id_name=id_name)
    fitted = {name: how for name, how in as_fitted(table).items() if name in columns}
    if table.ids is not None:
        ids, id_name = table.ids, table.preparation.id or id_name
    return _with_row_quality(Page(title, maps, ids, columns, colour, table.images, fitted, id_name=id_name), table)


def _with_row_quality(page: Page, table: Table) -> Page:
    """The page with the nearest rows in the table, and the scores of single rows in each map that was scored.

    Maps without scores are those of another table, such as the second view of kernel CCA, or were not to be scored.
    """
    scored = [each for each in page.maps if each.quality]
    if not scored:
        return page
    found = with_neighbors(replace(page, maps=scored), table.X)
    scores = iter(found.maps)
    return replace(found, maps=[next(scores) if each.quality else each for each in page.maps])


def contents(page: Page, size: int) -> str:
    """What a page holds, in a line.

    >>> contents(Page("", [Map("", np.eye(3))], columns={"kind": np.arange(3)}), 1500)
    '1.5 kB, 3 rows with: kind'
    """
    held = [*(["ids"] if page.ids is not None else []), *page.columns, *(["images"] if page.images is not None else [])]
    shown = [*held[:8], *([amount(len(held) - 8, "more column")] if len(held) > 8 else [])]
    rows = len(np.asarray(page.maps[0].coordinates))
    return f"{format_bytes(size)}, {amount(rows, 'row')} with: {', '.join(shown) or 'coordinates only'}"
