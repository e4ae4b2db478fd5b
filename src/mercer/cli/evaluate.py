"""`mercer evaluate`: score coordinates against the table they came from."""

from __future__ import annotations

from typing import Any

import click

from mercer.cli.options import (
    MAPS,
    SCORES,
    TABLE,
    choice_of,
    json_option,
    names_option,
    option,
    others_of,
    run_options,
    score_options,
    seed_option,
    table_options,
    verb,
)


@verb("evaluate")
@click.argument("table")
@click.argument("coordinates")
@names_option("--coords", section=MAPS, help="Columns that are coordinates; those of the run.json, else all fractions.")
@score_options
@option(
    "--model",
    metavar="FILE",
    section=TABLE,
    help="Prepare the rows as this model does: for those that mercer transform placed.",
)
@table_options
@option("--explain", is_flag=True, section=SCORES, help="Say what each score means.")
@json_option
@seed_option("Of the rows that are sampled.")
@run_options
@click.pass_context
def command(context: click.Context, **options: Any) -> None:
    """\b
    Examples:
      mercer evaluate table.csv coords.csv
      mercer evaluate table.csv other_tool.csv --coords x,y --label kind
      mercer evaluate table.csv coords.csv --json | jq '.scores[0].value'

    How faithful a map is: neighbours that were lost or made up, distances, and classes, each with its standard error.
    The table is prepared as the run.json beside the coordinates says. Rows are matched by id, else by order.
    """
    from mercer.cli.scoring import evaluate

    evaluate(choice_of(context), **others_of(options))
