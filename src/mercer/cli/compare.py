"""`mercer compare`: several maps of one table side by side, read from files or fitted."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mercer.amounts import amount
from mercer.cli.console import Console, print_json, print_text
from mercer.cli.errors import STOPPED, Failure
from mercer.cli.evaluate import sample_size
from mercer.cli.methods import AUTO, METHODS
from mercer.cli.options import (
    MAPS,
    OUTPUT,
    WholeNumber,
    device_option,
    jobs_option,
    json_option,
    names_option,
    option,
    page_options,
    run_options,
    score_options,
    seed_option,
    table_choice,
    table_options,
    unknown,
    verb,
    with_page_columns,
)
from mercer.cli.outputs import (
    OutputFiles,
    refuse_bad_outputs,
    refuse_other_than_page,
    refuse_unwritable_folder,
)
from mercer.cli.record import json_value, record_path
from mercer.cli.request import FitRequest
from mercer.cli.scored_maps import ScoredMap, agreement, print_agreement, print_side_by_side, scored

if TYPE_CHECKING:
    from mercer.cli.fitted import FittedTable
    from mercer.tables.table import Table

COMPARED = [name for name, method in METHODS.items() if not method.takes_second]


@verb("compare")
@click.argument("table")
@click.argument("coordinates", nargs=-1)
@names_option("--methods", "-m", section=MAPS, help=f"Fit these methods instead of reading maps: {','.join(COMPARED)}.")
@option(
    "--n-components",
    type=WholeNumber(1),
    metavar="INT",
    default=2,
    show_default=True,
    section=MAPS,
    help="With --methods: how many coordinates every map has, so that scores can be compared.",
)
@names_option("--coords", section=MAPS, help="Columns that are coordinates, in files without a run.json.")
@score_options
@table_options
@option(
    "--output",
    "-o",
    metavar="FOLDER",
    section=OUTPUT,
    help="With --methods: where to write the coordinates and run.json of each.",
)
@option("--report", metavar="FILE", section=OUTPUT, help="A page with all maps, linked.")
@page_options
@json_option
@seed_option("Seeds the methods, and chooses the rows that are sampled.")
@jobs_option
@device_option
@run_options
def command(
    table: str,
    coordinates: tuple[str, ...],
    methods: tuple[str, ...],
    n_components: int,
    coords: tuple[str, ...],
    neighbors: int,
    sample: str,
    metric: str,
    output: str | None,
    report: str | None,
    page_columns: tuple[str, ...],
    page_record: bool,
    as_json: bool,
    seed: int,
    jobs: int | None,
    device: str,
    console: Console,
    **options: Any,
) -> None:
    """\b
    Examples:
      mercer compare table.csv a.csv b.csv
      mercer compare table.csv --methods pca,kpca,tsne --label kind
      mercer compare table.csv --methods kpca,tsne -o maps --report maps.html

    Score several maps of one table and mark the best of each score. Then tell how far the maps agree with one another,
    by the Procrustes disparity of their shapes (0 means the same shape) and the share of neighbours in common.
    """
    from mercer.cli.map_file import read_map, with_table
    from mercer.cli.pages import MOST_VALUES, contents, page_of, title_of
    from mercer.cli.table_input import refuse_metric, refuse_page_columns, source_name
    from mercer.web.page import write_page

    choice = with_page_columns(table_choice(options), page_columns)
    _refuse(coordinates, methods, choice, output)
    settings = {"neighbors": neighbors, "sample": sample_size(sample), "seed": seed, "metric": metric}
    refuse_metric(metric)
    refuse_page_columns(table, page_columns, choice)
    refuse_other_than_page(report)
    _refuse_outputs(output, methods, report, [table, *coordinates])
    wrote: list[str] = []
    with OutputFiles() as files:
        if methods:
            parameters = {"n_components": n_components}
            request = FitRequest(
                table, AUTO, parameters=parameters, choice=choice, seed=seed, jobs=jobs, device=device, report=report
            )
            rows, maps, wrote = _fitted_maps(request, methods, output, settings, console, files)
        else:
            read = [read_map(path, coords=coords, id=choice.get("id")) for path in coordinates]
            rows, read = with_table(table, read, choice, console, originals=MOST_VALUES if report else 0)
            maps = scored(read, rows, console, **settings)
        if report is not None and maps:
            title = f"{title_of(table)}: {', '.join(m.name for m in maps)}"
            drawn = [m.drawn(page_record) for m in maps]
            shown = page_of(title, drawn, rows, choice.get("label"), page_columns or None)
            held = contents(shown, files.add(report, lambda part: write_page(shown, part)).stat().st_size)
    for path in wrote:
        console.field("wrote", path)
    if not maps:
        raise KeyboardInterrupt
    pairs = [agreement(a, b, neighbors, seed) for a, b in combinations(maps, 2)]
    if as_json:
        print_json({"table": table, "maps": {m.name: json_value(m.scores) for m in maps}, "agreement": pairs})
    else:
        n, d = rows.X.shape
        print_text(f"{source_name(table)}: {amount(n, 'row')}, {amount(d, 'column')}", bold=True)
        print_side_by_side(maps)
        print_agreement(pairs)
    if report is not None:
        console.field("page", f"{report} ({held})")
    if methods and (len(maps) < len(methods) or maps[-1].stopped):
        raise Failure(f"stopped; compared only {', '.join(m.name for m in maps)}", STOPPED)


def _refuse_outputs(output: str | None, methods: tuple[str, ...], report: str | None, inputs: list[str]) -> None:
    """Failure if a file of the maps, or the page, cannot be written."""
    written = [] if report is None else [report]
    if output is not None:
        refuse_unwritable_folder(Path(output))
        if Path(output).exists():  # a new folder has no file to overwrite
            maps = [Path(output) / f"{method}.csv" for method in methods]
            written = [*map(str, [*maps, *map(record_path, maps)]), *written]
    refuse_bad_outputs(written, inputs)


def _refuse(coordinates: tuple[str, ...], methods: tuple[str, ...], choice: dict[str, Any], output: str | None) -> None:
    if bool(coordinates) == bool(methods):
        raise click.UsageError("Name either files of coordinates, or methods to fit with --methods.")
    for name in methods:
        if name not in COMPARED:
            raise click.UsageError(unknown("method", name, COMPARED))
        missing = METHODS[name].missing(label=bool(choice.get("label")), second=False)
        if missing:
            raise click.UsageError(missing)
    if output is not None and not methods:
        raise click.UsageError("--output is for the maps that --methods fits.")
    if len(set(methods)) < len(methods) or len(set(coordinates)) < len(coordinates):
        raise click.UsageError("A map is named twice.")


# --- the maps ------------------------------------------------------------------------------------------------


def _fitted_maps(
    request: FitRequest,
    methods: tuple[str, ...],
    output: str | None,
    settings: dict[str, Any],
    console: Console,
    files: OutputFiles,
) -> tuple[Table, list[ScoredMap], list[str]]:
    """The table, a map by each method, and where their coordinates will appear. Ctrl-C ends with what is done."""
    from mercer.cli.pages import MOST_VALUES
    from mercer.cli.table_input import as_choice, read
    from mercer.quality.quality_report import refuse_few_rows

    rows = read(request.table, as_choice(request.choice), console, originals=MOST_VALUES if request.report else 0)
    refuse_few_rows(rows.X.shape[0])  # before a map is fitted and written
    found: list[ScoredMap] = []
    wrote: list[str] = []
    for method in methods:
        place = None if output is None else str(Path(output) / f"{method}.csv")
        asked = replace(request, method=method, output=place, report=None)
        try:
            fit, record = _fit_one(asked, rows, console, files)
            wrote += [] if place is None else [place]
            with console.working(f"scoring {fit.method.name}"):
                scores = fit.method.score(rows, fit.coordinates, **settings).scores
        except KeyboardInterrupt:
            break
        found.append(ScoredMap(fit.method.name, fit.coordinates, fit.names, scores, record, fit.stopped))
        if fit.stopped:
            break
    return rows, found, wrote


def _fit_one(
    request: FitRequest, rows: Table, console: Console, files: OutputFiles
) -> tuple[FittedTable, dict[str, Any]]:
    """Fit a method, and write its map among the files that will appear together. Returns the fit and its record."""
    from mercer.cli.fitted import fit_table

    method = METHODS[request.method]
    wanted = request.parameters["n_components"]
    given = {"n_components": method.most_components(wanted, rows)}
    if given["n_components"] < wanted:
        console.note(f"{method.title} of this table has only {amount(given['n_components'], 'component')}.")
    fit = fit_table(replace(request, parameters=given), method, "as requested", rows, None, console)
    seconds = {"fit": fit.seconds}
    record = fit.record(seconds)
    if request.output is not None:
        files.add_folder(Path(request.output).parent)
        fit.write(record, record_path(request.output), console, seconds, files)
    return fit, record
