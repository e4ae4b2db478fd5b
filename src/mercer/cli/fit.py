"""`mercer fit`: find coordinates for the rows of a table. The options of a method are those of its estimator."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from mercer.amounts import amount
from mercer.cli.console import Console, print_json
from mercer.cli.errors import INPUT, STOPPED, Failure
from mercer.cli.methods import AUTO, METHODS, FitMethod, choose_method
from mercer.cli.option_help import help_text
from mercer.cli.options import (
    METHOD,
    OUTPUT,
    SectionOption,
    Verb,
    device_option,
    inert_option,
    jobs_option,
    json_option,
    option,
    page_options,
    run_options,
    seed_option,
    table_options,
    unknown,
    verb,
)
from mercer.cli.outputs import (
    STDOUT,
    refuse_bad_outputs,
    refuse_other_than_model,
    refuse_other_than_page,
    refuse_unwritable_table,
)
from mercer.cli.parameters import Parameter, option_owners, parameters_of
from mercer.cli.record import json_value, read_record, record_path
from mercer.cli.request import FitRequest, is_checkpoint, request_from, resumed_method

if TYPE_CHECKING:
    from pathlib import Path

    from mercer.cli.fitted import Fitted
    from mercer.tables.table import Table

FEWEST_SCORED = 4  # rows; `mercer.quality.report` refuses fewer
_PREFIX = "param_"  # keeps an estimator's parameters apart from options of the verb that have the same name
_ANY_METHOD = Parameter("n_components", None, "int or None", "How many coordinates.")


# --- the options ---------------------------------------------------------------------------------------------


class ParameterValue(click.ParamType):
    """A value of an estimator's parameter."""

    name = "value"

    def __init__(self, parameter: Parameter) -> None:
        self.parameter = parameter

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return self.parameter.parse(value) if isinstance(value, str) else value
        except ValueError as error:
            raise click.UsageError(str(error), ctx) from error


class FitVerb(Verb):
    """`fit`, with the options of the method that --method or --config names."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta["mercer.method"] = self.method_in(args, ctx)
        return super().parse_args(ctx, args)

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        return [*super().get_params(ctx), *method_options(ctx.meta.get("mercer.method", AUTO))]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_options(ctx, formatter)
        if ctx.meta.get("mercer.method", AUTO) == AUTO:
            with formatter.section("Methods (mercer fit --method NAME --help lists the options of one)"):
                formatter.write_dl([(name, method.summary) for name, method in METHODS.items()])

    def no_such_option(self, given: str, known: list[str]) -> str:
        name = given.replace("_", "-").replace("--no-", "--")
        if name in known:
            return f"Unknown option {given}. It is spelt {name}."
        if name in option_owners():
            *others, last = option_owners()[name]
            return f"{name} is an option of --method {', '.join(others)}{' or ' if others else ''}{last}."
        return super().no_such_option(given, known)

    def method_in(self, args: list[str], ctx: click.Context) -> str:
        """The method that the command line names. It is needed before parsing, since it decides which options exist."""
        parser = self.make_parser(ctx)
        parser.ignore_unknown_options = True
        given, _, _ = parser.parse_args(args=list(args))
        method, config = given.get("method"), given.get("config")
        if method is None and config is None and given.get("resume") is not None:
            return AUTO if is_checkpoint(given["resume"]) else resumed_method(given["resume"])
        if method is None:
            return AUTO if config is None else str(read_record(config)["method"])
        if method not in (*METHODS, AUTO):
            raise click.UsageError(unknown("method", method, [*METHODS, AUTO]), ctx)
        return str(method)


def method_options(name: str) -> list[click.Parameter]:
    """The options of a method, made from its estimator's parameters. --method auto has what all methods share."""
    if name == AUTO:
        return [_as_option(_ANY_METHOD, METHOD, _ANY_METHOD.text)]
    section = f"Options of {name}, the parameters of mercer.{METHODS[name].estimator}"
    return [_as_option(parameter, section, help_text(name, parameter)) for parameter in parameters_of(name)]


def _as_option(parameter: Parameter, section: str, text: str) -> click.Parameter:
    destination = f"{_PREFIX}{parameter.name}"
    if parameter.is_flag:
        names = [f"{parameter.option}/--no-{parameter.option[2:]}", destination]
        return SectionOption(names, default=None, help=text, section=section)
    kind = ParameterValue(parameter)
    return SectionOption(
        [parameter.option, destination], type=kind, metavar=parameter.metavar, help=text, section=section
    )


@verb("fit", cls=FitVerb)
@click.argument("table", required=False)
@option(
    "--method",
    "-m",
    type=click.Choice([AUTO, *METHODS]),
    default=AUTO,
    show_default=True,
    section=METHOD,
    metavar="NAME",
    help="What to fit. auto takes kernel PCA up to 20,000 rows, PCA beyond, kernel CCA with --second.",
)
@option(
    "--second",
    metavar="TABLE",
    section=METHOD,
    help="For kcca: another table with the same rows, matched by --id or by order.",
)
@table_options
@option(
    "--output",
    "-o",
    metavar="FILE",
    section=OUTPUT,
    help="Coordinates, in the format of the suffix: csv, parquet, npy, … - is csv on stdout, the default if no file "
    "is named.",
)
@option("--save", metavar="FILE", section=OUTPUT, help="The fitted model, for mercer transform and mercer.load.")
@option("--report", metavar="FILE", section=OUTPUT, help="A page with the map and its quality that opens offline.")
@inert_option
@page_options
@json_option
@seed_option("The same seed, data and machine give the same bytes.")
@jobs_option
@device_option
@option(
    "--config",
    "-c",
    metavar="RUN.JSON",
    help="Repeat the run of a run.json: its input and parameters. Other options override it. Name the outputs.",
)
@option("--recorded-outputs", is_flag=True, help="With --config: write to the files that the run.json names.")
@option(
    "--resume",
    metavar="FILE",
    help="Continue a saved map of SNE or t-SNE, up to --max-iter steps in all; or repeat the command of a streamed fit "
    "that was interrupted, and continue from its checkpoint.",
)
@option(
    "--stream/--no-stream",
    default=None,
    help="Whether to read the table part by part. By default the command does if the table and the fit do not fit in "
    "memory.",
)
@option(
    "--cluster",
    metavar="ADDRESS",
    help="Have the workers of a dask cluster compute the parts of a streamed table: tcp://HOST:PORT, or local:4 for "
    "four processes of this machine.",
)
@option("--strict", is_flag=True, help="With --config: fail if the data has changed.")
@option(
    "--dry-run", is_flag=True, help="Tell what would be done, and the memory and work it would take. Write nothing."
)
@run_options
@click.pass_context
def command(context: click.Context, **options: Any) -> None:
    """\b
    Examples:
      mercer fit table.csv --label kind -o coords.csv --report map.html
      mercer fit table.csv --method tsne --perplexity 50 -o map.csv --save map.mercer
      mercer fit words.csv --second pictures.csv --id name -o both.csv
      mercer fit big.parquet --method kpca --dry-run
      mercer fit huge.parquet --method kpca --rank 2000 -o map.parquet --cluster local:4
      mercer fit --config coords.run.json -o again.csv
      mercer fit --resume map.mercer --max-iter 2000 -o map.csv --save map.mercer
      mercer fit table.csv --drop date,note --scale standard | head
      mercer fit words.parquet --vector embedding --id word -m tsne --report map.html

    Find coordinates for the rows of a table: a csv, tsv or jsonl (also .gz), parquet, arrow, npy, npz, h5ad or xlsx
    file, a folder of images, a pipe, or - for stdin. A run.json beside the output records all that is needed to repeat
    the run.
    """
    request = request_from(context, options, given_parameters(context))
    context.exit(run(request, options["console"], as_document=options["as_json"], dry=options["dry_run"]))


def given_parameters(context: click.Context) -> dict[str, Any]:
    """The estimator's parameters that the command line gives. An explicit `none` counts as given."""
    return {
        name.removeprefix(_PREFIX): value
        for name, value in context.params.items()
        if name.startswith(_PREFIX) and context.get_parameter_source(name) == ParameterSource.COMMANDLINE
    }


# --- the work ------------------------------------------------------------------------------------------------


def run(request: FitRequest, console: Console, *, as_document: bool = False, dry: bool = False) -> int:
    """Do what is asked. Returns the exit status."""
    started = time.perf_counter()
    named = [path for path in request.files.values() if path != STDOUT]
    refuse_bad_outputs(named, request.inputs)  # a folder such as "." has no record beside it
    record_at = record_path(named[0]) if named else None
    written = [*named, *([str(record_at)] if record_at else [])]
    refuse_bad_outputs(written, request.inputs)
    refuse_unwritable_table(request.output or STDOUT)
    refuse_other_than_page(request.report)
    refuse_other_than_model(request.save)
    with console.working("starting"):
        _refuse_parameters(request)

    from mercer.cli.coordinates import carried_columns
    from mercer.cli.fitted import fit_table, resume_fit
    from mercer.cli.streamed import fit_in_parts, how_to_stream
    from mercer.cli.table_input import refuse_no_rows

    if (streaming := how_to_stream(request)) is not None:
        if dry:
            from mercer.cli.dry_run import tell_streamed_plan

            tell_streamed_plan(request, streaming, written, as_document)
            return 0
        with fit_in_parts(request, streaming, record_at, console) as (parts, seconds):
            return _finish(parts, record_at, seconds, console, as_document)
    table, second = _read_tables(request, console)
    refuse_no_rows(table)
    refuse_unwritable_table(request.output or STDOUT, carried_columns(table, request.choice))
    method, why = _method_for(request, table)
    seconds = {"read": time.perf_counter() - started}
    if dry:
        from mercer.cli.dry_run import tell_plan

        tell_plan(request, method, why, table, second, written, as_document)
        return 0
    if request.resume is not None:
        fit = resume_fit(request, method, table, console)
    else:
        fit = fit_table(request, method, why, table, second, console)
    return _finish(fit, record_at, seconds, console, as_document)


def _finish(fit: Fitted, record_at: Path | None, seconds: dict[str, float], console: Console, as_document: bool) -> int:
    """Score, record, write and summarize a fit. Returns the exit status."""
    request = fit.request
    seconds["fit"] = fit.seconds
    wanted = request.parameters.get("n_components")
    if isinstance(wanted, int) and wanted > fit.components:
        console.note(f"{fit.method.title} of this table has only {amount(fit.components, 'component')}.")
    record = fit.record(seconds)
    if request.report is not None:
        record |= _scores(fit, request.seed, console)
    files = fit.write(record, record_at, console, seconds)
    fit.summarize(files | ({"record": str(record_at)} if record_at else {}), console)
    if as_document:
        print_json(record)
    return STOPPED if record["stopped"] else 0


def _refuse_parameters(request: FitRequest) -> None:
    """Fail for parameters that the estimator refuses, before a large table is read."""
    if request.method == AUTO:
        return
    from mercer.cli.table_input import refuse_metric

    estimator = METHODS[request.method].build(request.parameters, seed=request.seed, jobs=request.jobs)
    estimator._validate_params()  # scikit-learn's own check, which fit would make after the table has been read
    refuse_metric(getattr(estimator, "metric", None))


def _read_tables(request: FitRequest, console: Console) -> tuple[Table, Table | None]:
    from mercer.cli.pages import MOST_VALUES
    from mercer.cli.table_input import as_choice, match, read, read_second, refuse_page_columns

    refuse_page_columns(request.table, request.page_columns or (), request.choice)
    choice = as_choice(request.choice)
    table = read(request.table, choice, console, originals=MOST_VALUES if request.report else 0)
    _compare_digest(request, "table", table, console)
    if request.second is None:
        return table, None
    second = read_second(request.second, choice, console)
    _compare_digest(request, "second", second, console)
    return match(table, second, (request.table, request.second), console, id=choice.id)


def _compare_digest(request: FitRequest, name: str, table: Table, console: Console) -> None:
    expected = request.expected.get(name)
    if expected is None or expected == table.digest:
        return
    message = f"{getattr(request, name)} is not the data of the recorded run: its sha256 has changed."
    if request.resume is not None:
        message = f"{getattr(request, name)} is not the table that {request.resume} was fitted to: its sha256 differs."
    if request.strict or request.resume is not None:  # a map can only go on with its own rows
        raise Failure(message, INPUT)
    console.warn(message)


def _method_for(request: FitRequest, table: Table) -> tuple[FitMethod, str]:
    """The method and why it was chosen."""
    if request.method != AUTO:
        return METHODS[request.method], "as requested"
    return choose_method(table.X.shape[0], second=request.second is not None)


def _scores(fit: Fitted, seed: int, console: Console) -> dict[str, Any]:
    """The quality of the map, for the record. Ctrl-C only skips the scores: the map took longer, and is kept."""
    from mercer.cli.fitted import FittedTable

    assert isinstance(fit, FittedTable)  # a page holds all rows: `how_to_stream` has refused others
    if fit.table.X.shape[0] < FEWEST_SCORED:
        console.note(f"A map of fewer than {FEWEST_SCORED} rows has no scores.")
        return {}
    try:
        with console.working("scoring the map"):
            return {"quality": json_value(fit.method.score(fit.table, fit.coordinates, seed=seed).scores)}
    except KeyboardInterrupt:
        console.warn("Stopped while scoring the map: the page has no scores.")
        return {"stopped": True}
