"""Pages of maps: the scores of a map, the columns to colour it by, and the file that holds both."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from mercer.quality import report
from mercer.tables.table import Table
from mercer.web.page import Map, Page, write_page

MOST_COLUMNS, MOST_VALUES = 100, 4_000_000  # of the table on a page; with more it would not open quickly
NEIGHBORS = 15


def quality_report(table: Table, Y: np.ndarray, *, seed: int = 0, neighbors: int = NEIGHBORS, **settings: Any) -> Any:
    """`mercer.quality.report` of a map. Labels on a scale are not classes, and are left out."""
    return report(table.X, Y, labels=class_labels(table), n_neighbors=neighbors, random_state=seed, **settings)


def class_labels(table: Table) -> np.ndarray | None:
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
    """The columns on a page: the labels, the columns beside X, and those of X unless they are too many."""
    shown: dict[str, np.ndarray] = {}
    if table.labels is not None:
        shown[label_name(table, label)] = table.labels
    shown |= {name: column for name, column in table.columns.items() if name not in shown}
    n, d = table.X.shape
    if d <= MOST_COLUMNS and n * d <= MOST_VALUES and isinstance(table.X, np.ndarray):
        shown |= {name: table.X[:, i] for i, name in enumerate(table.features) if name not in shown}
    return shown


def page_writer(title: str, maps: list[Map], table: Table, label: str | None) -> Callable[[Path], int]:
    """The function that writes a page of maps of one table, coloured by its labels."""
    columns = columns_shown(table, label)
    colour = label_name(table, label) if table.labels is not None else None
    page = Page(title, maps, table.ids, columns, colour, table.images)
    return lambda path: write_page(page, path)
