"""`mercer transform`: place new rows with a saved model."""

from __future__ import annotations

from typing import Any

import click

from mercer.cli.options import OUTPUT, TABLE, json_option, option, run_options, verb


@verb("transform")
@click.argument("model")
@click.argument("table")
@option("--second", metavar="TABLE", section=TABLE, help="New rows of the other view, for a model of kcca.")
@option("--label", metavar="COLUMN", section=TABLE, help="Column to carry along; the model's own if the table has it.")
@option(
    "--id", metavar="COLUMN", section=TABLE, help="Column of names of the rows; the model's own if the table has it."
)
@option(
    "--output",
    "-o",
    metavar="FILE",
    default="-",
    show_default=True,
    section=OUTPUT,
    help="Coordinates, by suffix; - is csv on stdout.",
)
@json_option
@run_options
def command(**options: Any) -> None:
    """\b
    Examples:
      mercer transform map.mercer new.csv -o more.csv
      mercer transform map.mercer new.csv | head

    Coordinates of new rows. They are prepared as the fitted rows were: the same columns, encoding and scaling, all of
    which the model file knows. Ids and labels are carried along.
    """
    from mercer.cli.placing import run

    run(**options)
