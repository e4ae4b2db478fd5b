"""`mercer report`: a page of maps that opens offline."""

from __future__ import annotations

from typing import Any

import click

from mercer.cli.options import (
    MAPS,
    OUTPUT,
    TABLE,
    choice_of,
    json_option,
    names_option,
    neighbors_option,
    option,
    others_of,
    run_options,
    seed_option,
    table_options,
    verb,
)


@verb("report")
@click.argument("coordinates", nargs=-1, required=True)
@option("--output", "-o", metavar="FILE", required=True, section=OUTPUT, help="The page, one html file.")
@option("--title", metavar="TEXT", section=OUTPUT, help="Of the page.")
@option(
    "--data",
    metavar="TABLE",
    section=TABLE,
    help="The table the maps are of: its columns to colour by, its images, and the quality of the maps.",
)
@names_option("--coords", section=MAPS, help="Columns that are coordinates, in files without a run.json.")
@neighbors_option(MAPS)
@table_options
@json_option
@seed_option("Of the rows that are sampled for the quality.")
@run_options
@click.pass_context
def command(context: click.Context, **options: Any) -> None:
    """\b
    Examples:
      mercer report coords.csv -o map.html
      mercer report kpca.csv tsne.csv --data table.csv --label kind -o maps.html

    One html file with all maps, linked: pan and zoom, colour by any column, lasso, search, the quality and how each map
    was made. It needs no network and no server. Maps are matched by id, else by order.
    """
    from mercer.cli.reporting import run

    run(choice_of(context), **others_of(options))
