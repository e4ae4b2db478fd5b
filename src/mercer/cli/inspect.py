"""`mercer inspect`: say what a file holds."""

from __future__ import annotations

import click

from mercer.cli.messages import Voice
from mercer.cli.options import json_option, run_options, verb


@verb("inspect")
@click.argument("file")
@json_option
@run_options
def command(file: str, as_json: bool, voice: Voice) -> None:
    """\b
    Examples:
      mercer inspect table.csv
      mercer inspect model.mercer
      mercer inspect coords.csv
      mercer inspect coords.run.json --json

    What a file holds. Of a table: rows, columns, their kinds and ranges, what is missing, constant or twice there, and
    which options to give to mercer fit. Of a model: its class, parameters and spectrum. Of coordinates and of a
    run.json: the run that made them.
    """
    from mercer.cli.inspecting import run

    run(file, as_json, voice)
