"""`mercer evaluate`: score coordinates against the table they came from."""

from __future__ import annotations

from typing import Any

import click

from mercer.amounts import amount
from mercer.cli.console import Console, four_digits, print_json, print_table, print_text
from mercer.cli.options import (
    MAPS,
    SCORES,
    TABLE,
    json_option,
    names_option,
    option,
    run_options,
    score_options,
    seed_option,
    table_choice,
    table_options,
    verb,
)
from mercer.cli.record import json_value


@verb("evaluate")
@click.argument("table")
@click.argument("coordinates")
@names_option(
    "--coords",
    section=MAPS,
    help="Columns that are coordinates; by default those of the run.json, or all columns of fractions.",
)
@score_options
@option(
    "--model",
    metavar="FILE",
    section=TABLE,
    help="Prepare the rows as this model does, for coordinates from mercer transform.",
)
@table_options
@option("--explain", is_flag=True, section=SCORES, help="Say what each score means.")
@json_option
@seed_option("Chooses the rows that are sampled.")
@run_options
def command(
    table: str,
    coordinates: str,
    coords: tuple[str, ...],
    neighbors: int,
    sample: str,
    metric: str,
    model: str | None,
    explain: bool,
    as_json: bool,
    seed: int,
    console: Console,
    **options: Any,
) -> None:
    """\b
    Examples:
      mercer evaluate table.csv coords.csv
      mercer evaluate table.csv other_tool.csv --coords x,y --label kind
      mercer evaluate table.csv coords.csv --json | jq '.scores[0].value'

    Tell how faithful a map is: which neighbours it lost or made up, what it did to distances and classes, each score
    with its standard error. The table is prepared as the run.json beside the coordinates says. Rows are matched by
    id, or by order if there are no ids.
    """
    from mercer.cli.map_file import read_map, with_table
    from mercer.cli.pages import quality_report
    from mercer.cli.table_input import refuse_metric

    choice, size = table_choice(options), sample_size(sample)
    refuse_metric(metric)
    found = read_map(coordinates, coords=coords, id=choice.get("id"), label=None)
    rows, (found,) = with_table(table, [found], choice, console, model=model)
    with console.working("scoring the map"):
        report = quality_report(rows, found.values, seed=seed, neighbors=neighbors, sample=size, metric=metric)
    for note in report.notes:
        console.note(note)
    if as_json:
        print_json(
            {"table": table, "coordinates": coordinates, "columns": found.names, "scores": json_value(report.scores)}
        )
        return
    method = f", {found.method}" if found.method else ""
    n, d = rows.X.shape
    print_text(f"{coordinates}{method}: {amount(n, 'row')}, {amount(d, 'column')} as {len(found.names)}", bold=True)
    print_scores(report.scores, explain=explain)


def sample_size(text: str) -> int | str | None:
    """What --sample means, as `mercer.quality` takes it."""
    if text in ("auto", "none"):
        return None if text == "none" else text
    if text.isdigit() and int(text) > 0:
        return int(text)
    raise click.UsageError(f"--sample takes auto, none or a number of rows, not {text!r}.")


def print_scores(scores: list[Any], *, explain: bool = False) -> None:
    """Print scores with their errors and their best values, and on request what they mean."""
    rows = [
        [s.title, four_digits(s.value), _error(s.error), four_digits(s.best), f"{s.rows:,} {s.unit}", s.note]
        for s in scores
    ]
    marks = {(i, 1): "bold" for i in range(len(rows))} | {(i, 5): "bright_black" for i in range(len(rows))}
    print_table(["score", "value", "± error", "best", "from", ""], rows, left=(0, 5), marks=marks)
    if explain:
        print_text()
        for score in scores:
            print_text(f"{score.title}: {score.meaning}")


def _error(value: float | None) -> str:
    return "exact" if value == 0 else "-" if value is None else f"{value:.4f}"
