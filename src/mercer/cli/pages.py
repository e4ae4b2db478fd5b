"""Pages of what was fitted or read: maps, the columns to colour by, and their quality."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.cli.messages import Voice
from mercer.cli.methods import METHODS
from mercer.cli.record import plain
from mercer.tables.table import Table
from mercer.web.page import Map, Page, write_page

if TYPE_CHECKING:
    from mercer.cli.fitting import Fit
    from mercer.cli.request import Request

MOST_COLUMNS, MOST_VALUES = 100, 4_000_000  # of the data that a page shows beside the map: more would not open quickly
NEIGHBORS = 15


def quality_of(
    table: Table, Y: np.ndarray, *, seed: int = 0, neighbors: int = NEIGHBORS, **settings: Any
) -> list[dict[str, Any]]:
    """The scores of a map as plain dictionaries."""
    return [plain(score) for score in quality_report(table, Y, seed=seed, neighbors=neighbors, **settings).scores]


def quality_report(table: Table, Y: np.ndarray, *, seed: int = 0, neighbors: int = NEIGHBORS, **settings: Any) -> Any:
    """`mercer.quality.report`; labels on a scale are no classes, and are left out."""
    from mercer.quality import report

    return report(table.X, Y, labels=classes_of(table), n_neighbors=neighbors, random_state=seed, **settings)


def classes_of(table: Table) -> np.ndarray | None:
    """The labels, unless they are numbers on a scale."""
    labels = table.labels
    if labels is None or labels.dtype.kind != "f":
        return labels
    known = labels[np.isfinite(labels)]
    return labels if np.array_equal(known, np.floor(known)) else None


def title_of(path: str) -> str:
    return "stdin" if path == "-" else Path(path).name


def label_name(table: Table, label: str | None) -> str:
    return label or table.preparation.label or "label"


def columns_shown(table: Table, label: str | None) -> dict[str, np.ndarray]:
    """The columns of a table that a page has: labels, what was left out of X, and X itself where it is not too much."""
    shown: dict[str, np.ndarray] = {}
    if table.labels is not None:
        shown[label_name(table, label)] = table.labels
    shown |= {name: column for name, column in table.columns.items() if name not in shown}
    n, d = table.X.shape
    if d <= MOST_COLUMNS and n * d <= MOST_VALUES and isinstance(table.X, np.ndarray):
        shown |= {name: table.X[:, i] for i, name in enumerate(table.features) if name not in shown}
    return shown


def views_of(fit: Fit) -> list[tuple[str, np.ndarray, list[str]]]:
    """(name, coordinates, axes) of each map of a fit: two for kernel CCA."""
    if fit.second is None:
        return [(fit.title, fit.coordinates, fit.names)]
    k = len(fit.names) // 2
    halves = (("first table", slice(0, k)), ("second table", slice(k, 2 * k)))
    return [(f"{fit.title}, {which}", fit.coordinates[:, part], fit.names[part]) for which, part in halves]


def page_of_fit(fit: Fit, request: Request, record: dict[str, Any]) -> Callable[[Path], int]:
    """The function that writes the page of a fit."""
    maps = [
        Map(name, values, axes, record.get("quality") if i == 0 else None, record)
        for i, (name, values, axes) in enumerate(views_of(fit))
    ]
    title = f"{title_of(request.table)}: {METHODS[fit.method].title}"
    return writer(title, maps, fit.table, request.choice.get("label"))


def writer(title: str, maps: list[Map], table: Table, label: str | None) -> Callable[[Path], int]:
    columns = columns_shown(table, label)
    colour = label_name(table, label) if table.labels is not None else None
    page = Page(title, maps, table.ids, columns, colour, table.images)
    return lambda path: write_page(page, path)


def say_page(path: str, size: int, voice: Voice) -> None:
    from mercer.memory import format_bytes

    voice.field("page", f"{path} ({format_bytes(size)}): open it in a browser, no network is needed")
