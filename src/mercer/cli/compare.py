"""`mercer compare`: several maps of one table side by side."""

from __future__ import annotations

from typing import Any

import click

from mercer.cli.options import (
    MAPS,
    OUTPUT,
    choice_of,
    jobs_option,
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


@verb("compare")
@click.argument("table")
@click.argument("coordinates", nargs=-1)
@names_option("--methods", "-m", section=MAPS, help="Fit these instead of reading maps: pca,kpca,isomap,sne,tsne,kda.")
@names_option("--coords", section=MAPS, help="Columns that are coordinates, in files without a run.json.")
@score_options
@table_options
@option(
    "--output",
    "-o",
    metavar="FOLDER",
    section=OUTPUT,
    help="With --methods: where the coordinates of each go, with a run.json.",
)
@option("--report", metavar="FILE", section=OUTPUT, help="A page with all maps, linked.")
@json_option
@seed_option("Of the methods, and of the rows that are sampled.")
@jobs_option
@run_options
@click.pass_context
def command(context: click.Context, **options: Any) -> None:
    """\b
    Examples:
      mercer compare table.csv a.csv b.csv
      mercer compare table.csv --methods pca,kpca,tsne --label kind
      mercer compare table.csv --methods kpca,tsne -o maps --report maps.html

    Scores of several maps of one table, the best of each marked, and how far the maps agree with one another: the
    Procrustes disparity of their shapes (0 is the same shape) and the share of neighbours that two maps have in common.
    """
    from mercer.cli.comparing import run

    run(choice_of(context), **others_of(options))
