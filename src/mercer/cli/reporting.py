"""The work of `mercer report`: maps of the same rows and their table on one page."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.cli.coords import Coords, map_names, matched, read_coords
from mercer.cli.messages import Voice, print_json
from mercer.cli.outputs import Writing, refuse_bad_outputs, refuse_other_than_page
from mercer.cli.pages import columns_shown, quality_of, say_page, title_of
from mercer.cli.scoring import table_of
from mercer.tables.table import Table
from mercer.web.page import Map, Page, write_page


def run(
    choice: dict[str, Any],
    *,
    coordinates: tuple[str, ...],
    output: str,
    title: str | None,
    data: str | None,
    coords: tuple[str, ...],
    neighbors: int,
    as_json: bool,
    seed: int,
    voice: Voice,
) -> None:
    refuse_bad_outputs([output], [*coordinates, *([data] if data else [])])
    refuse_other_than_page(output)
    label = choice.get("label") if data is None else None
    maps = matched([read_coords(path, coords=coords, id=choice.get("id"), label=label) for path in coordinates])
    table = None
    if data is not None:
        table, first = table_of(data, maps[0], choice, voice)
        maps = matched([first, *maps[1:]])
    drawn = []
    for name, found in zip(map_names(maps), maps, strict=True):
        with voice.working(f"scoring {name}"):
            quality = None if table is None else quality_of(table, found.values, seed=seed, neighbors=neighbors)
        drawn.append(Map(name, found.values, found.names, quality, found.record))
    columns, colour = columns_of_page(maps, table, choice.get("label") or maps[0].choice.get("label"))
    ids = table.ids if table is not None and table.ids is not None else maps[0].ids
    images = None if table is None else table.images
    page = Page(title or ", ".join(title_of(path) for path in coordinates), drawn, ids, columns, colour, images)
    sizes = []
    with Writing() as files:
        files.add(output, lambda path: sizes.append(write_page(page, path)))
    say_page(output, sizes[0], voice)
    if as_json:
        shape = {"rows": len(maps[0].values), "maps": [m.name for m in drawn], "columns": list(columns)}
        print_json({"page": output, "bytes": sizes[0], **shape})


def columns_of_page(
    maps: list[Coords], table: Table | None, label: str | None
) -> tuple[dict[str, np.ndarray], str | None]:
    """The columns to show, labels first, then those of the files and of the table; and what to colour by."""
    columns: dict[str, np.ndarray] = {}
    for found in maps:
        if found.labels is not None and found.label is not None:
            columns.setdefault(found.label, found.labels)
    for found in maps:
        for name, column in found.others.items():
            columns.setdefault(name, column)
    if table is not None:
        columns = columns_shown(table, label) | columns
    if label in columns:
        columns = {label: columns[label]} | columns
    return columns, label if label in columns else next(iter(columns), None) if maps[0].label else None
