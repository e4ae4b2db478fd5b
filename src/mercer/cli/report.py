"""`mercer report`: a page of maps that opens offline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from mercer.cli.console import Console, print_json
from mercer.cli.options import (
    MAPS,
    OUTPUT,
    TABLE,
    json_option,
    names_option,
    neighbors_option,
    option,
    page_options,
    run_options,
    seed_option,
    table_choice,
    table_options,
    verb,
    with_page_columns,
)
from mercer.cli.outputs import OutputFiles, refuse_bad_outputs, refuse_other_than_page
from mercer.cli.scored_maps import scored

if TYPE_CHECKING:
    import numpy as np

    from mercer.cli.map_file import MapFile
    from mercer.tables.table import Table


@verb("report")
@click.argument("coordinates", nargs=-1, required=True)
@option("--output", "-o", metavar="FILE", required=True, section=OUTPUT, help="The page, one HTML file.")
@option("--title", metavar="TEXT", section=OUTPUT, help="The title of the page.")
@option(
    "--data",
    metavar="TABLE",
    section=TABLE,
    help="The table of the maps: gives columns to colour by, images, and the quality of the maps.",
)
@names_option("--coords", section=MAPS, help="Columns that are coordinates, in files without a run.json.")
@neighbors_option(MAPS)
@table_options
@page_options
@json_option
@seed_option("Chooses the rows that are sampled for the scores.")
@run_options
def command(
    coordinates: tuple[str, ...],
    output: str,
    title: str | None,
    data: str | None,
    coords: tuple[str, ...],
    neighbors: int,
    page_columns: tuple[str, ...],
    page_record: bool,
    as_json: bool,
    seed: int,
    console: Console,
    **options: Any,
) -> None:
    """\b
    Examples:
      mercer report coords.csv -o map.html
      mercer report kpca.csv tsne.csv --data table.csv --label kind -o maps.html

    Write one HTML file with all maps, linked: pan and zoom, colour by any column, lasso, search, see the quality and
    how each map was made. It needs no network and no server. Maps are matched by id, or by order if there are no ids.
    """
    refuse_bad_outputs([output], [*coordinates, *([data] if data else [])])
    refuse_other_than_page(output)

    from mercer.cli.map_file import matched, read_map, with_table
    from mercer.cli.pages import MOST_VALUES, contents, only, page_with, title_of
    from mercer.cli.table_input import refuse_page_columns
    from mercer.web.page import write_page

    choice = table_choice(options)
    label = choice.get("label") if data is None else None
    maps = [read_map(path, coords=coords, id=choice.get("id"), label=label) for path in coordinates]
    if data is None:
        table, maps = None, matched(maps, console)
    else:
        beside = {name for found in maps for name in (*found.others, found.label)}
        wanted = tuple(name for name in page_columns if name not in beside)
        refuse_page_columns(data, wanted, choice)
        table, maps = with_table(data, maps, with_page_columns(choice, wanted), console, originals=MOST_VALUES)
    drawn = [each.drawn(page_record) for each in scored(maps, table, console, seed=seed, neighbors=neighbors)]
    columns, color_by = possible_columns(maps, table, choice.get("label") or maps[0].choice.get("label"))
    columns = {name: values for name, values in columns.items() if name not in choice.get("drop", ())}
    color_by = color_by if color_by in columns else None
    columns = only(columns, page_columns or None, color_by)
    title = title or ", ".join(title_of(path) for path in coordinates)
    with console.working("scoring rows"):
        page = page_with(title, drawn, columns, color_by, table, maps[0].ids, maps[0].id or "id")
    with OutputFiles() as files:
        size = files.add(output, lambda path: write_page(page, path)).stat().st_size
    console.field("page", f"{output} ({contents(page, size)})")
    if as_json:
        shape = {"rows": len(maps[0].values), "maps": [m.name for m in drawn], "columns": list(columns)}
        print_json({"page": output, "bytes": size, **shape})


def possible_columns(
    maps: list[MapFile], table: Table | None, label: str | None
) -> tuple[dict[str, np.ndarray], str | None]:
    """What a page can show, labels first, then columns of the files and of the table; and the one to colour by."""
    from mercer.cli.pages import columns_shown

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
