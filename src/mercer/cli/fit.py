"""`mercer fit`: find coordinates for the rows of a table. The options of a method are those of its estimator."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from mercer.cli.console import Console, amount, print_json, spoken
from mercer.cli.errors import INPUT, STOPPED, Failure
from mercer.cli.methods import AUTO, METHODS, FitMethod, choose_method
from mercer.cli.options import (
    METHOD,
    OUTPUT,
    SectionOption,
    Verb,
    inert_option,
    jobs_option,
    json_option,
    option,
    page_options,
    run_options,
    seed_option,
    table_choice,
    table_options,
    unknown,
    verb,
    with_page_columns,
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

if TYPE_CHECKING:
    from mercer.cli.fitted import FittedTable
    from mercer.tables.table import Table

FEWEST_SCORED = 4  # rows; `mercer.quality.report` refuses fewer
OUTPUTS = {"output": "coordinates", "save": "model", "report": "page"}
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
            methods = " and ".join(f"--method {method}" for method in option_owners()[name])
            return f"{name} is an option of {methods}."
        return super().no_such_option(given, known)

    def method_in(self, args: list[str], ctx: click.Context) -> str:
        """The method that the command line names. It is needed before parsing, since it decides which options exist."""
        parser = self.make_parser(ctx)
        parser.ignore_unknown_options = True
        given, _, _ = parser.parse_args(args=list(args))
        method, config = given.get("method"), given.get("config")
        if method is None:
            return AUTO if config is None else str(read_record(config)["method"])
        if method not in (*METHODS, AUTO):
            raise click.UsageError(unknown("method", method, [*METHODS, AUTO]), ctx)
        return str(method)


def method_options(name: str) -> list[click.Parameter]:
    """The options of a method, made from its estimator's parameters. --method auto has what all methods share."""
    if name == AUTO:
        return [_as_option(_ANY_METHOD, METHOD)]
    section = f"Options of {name}, the parameters of mercer.{METHODS[name].estimator}"
    return [_as_option(parameter, section) for parameter in parameters_of(name)]


def _as_option(parameter: Parameter, section: str) -> click.Parameter:
    destination = f"{_PREFIX}{parameter.name}"
    text = parameter.text.replace("None", "none").replace("`", "")
    if parameter.default is not None:
        shown = str(parameter.default).lower() if parameter.is_flag else f"{parameter.default}"
        text = f"{text}  [default: {shown}]"
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
@option(
    "--config",
    "-c",
    metavar="RUN.JSON",
    help="Repeat the run of a run.json: its input and parameters. Other options override it. Name the outputs.",
)
@option("--recorded-outputs", is_flag=True, help="With --config: write to the files that the run.json names.")
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
      mercer fit --config coords.run.json -o again.csv
      mercer fit table.csv --drop date,note --scale standard | head

    Find coordinates for the rows of a table: a csv or tsv (also .gz), parquet, arrow, npy, npz or h5ad file, a folder
    of images, or - for csv on stdin. A run.json beside the output records all that is needed to repeat the run.
    """
    request = request_from(context, options)
    context.exit(run(request, options["console"], as_document=options["as_json"], dry=options["dry_run"]))


def given_parameters(context: click.Context) -> dict[str, Any]:
    """The parameters of the estimator that the command line gives; none is a value, too."""
    return {
        name.removeprefix(_PREFIX): value
        for name, value in context.params.items()
        if name.startswith(_PREFIX) and context.get_parameter_source(name) == ParameterSource.COMMANDLINE
    }


# --- what is asked for ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FitRequest:
    """What a fit was asked for.

    parameters : those of the estimator that differ from the command's defaults
    choice : fields of `mercer.tables.table.Choice`
    inert : whether text that a spreadsheet would run is made harmless in a csv file
    page_columns, page_record : what goes into the page; None stands for what is fitted or kept
    expected : "table" and "second" -> the sha256 that the input of a recorded run had
    """

    table: str
    method: str
    second: str | None = None
    parameters: dict[str, Any] = field(default_factory=dict)
    choice: dict[str, Any] = field(default_factory=dict)
    seed: int = 0
    jobs: int | None = None
    output: str | None = None
    save: str | None = None
    report: str | None = None
    page_columns: tuple[str, ...] | None = None
    page_record: bool = False
    inert: bool = True
    expected: dict[str, str] = field(default_factory=dict)
    strict: bool = False

    @property
    def inputs(self) -> list[str]:
        return [path for path in (self.table, self.second) if path is not None]

    @property
    def files(self) -> dict[str, str]:
        """What is written -> its path."""
        return {what: getattr(self, name) for name, what in OUTPUTS.items() if getattr(self, name) is not None}


def request_from(context: click.Context, options: dict[str, Any]) -> FitRequest:
    """The request of a command line. What it does not say comes from the run.json of --config, if there is one."""
    parameters = given_parameters(context)
    given = {
        name: options[name]
        for name in ("table", "second", "method", "seed", "jobs", "output", "save", "report", "strict")
        if context.get_parameter_source(name) == ParameterSource.COMMANDLINE
    }
    recorded = _recorded(options["config"], given) if options["config"] else {}
    if "table" not in given and "table" not in recorded:
        raise click.UsageError("A table is needed: a file, or - for csv on stdin.", context)
    if not options["recorded_outputs"] or any(name in given for name in OUTPUTS):
        recorded = {name: value for name, value in recorded.items() if name not in OUTPUTS}
    merged = {"method": options["method"], "seed": options["seed"]} | recorded | given
    merged["parameters"] = recorded.get("parameters", {}) | parameters
    if merged["method"] in METHODS:
        merged["parameters"] = METHODS[merged["method"]].consistent(merged["parameters"], parameters)
    merged["choice"] = with_page_columns(recorded.get("choice", {}) | table_choice(options), options["page_columns"])
    merged |= {"page_columns": options["page_columns"] or None, "page_record": options["page_record"]}
    merged["inert"] = options["inert"]
    if not any(merged.get(name) for name in OUTPUTS):
        merged["output"] = STDOUT
    request = FitRequest(**merged)
    _refuse(request, options["as_json"] and not options["dry_run"], context)
    return request


def _recorded(config: str, given: dict[str, Any]) -> dict[str, Any]:
    """The fields of a request that a run.json has."""
    record = read_record(config)
    if record.get("verb", "fit") != "fit":
        raise click.UsageError(f"{config} is the record of mercer {record['verb']}, not of a fit.")
    found = {
        "method": record["method"],
        "seed": record.get("seed", 0),
        "jobs": record.get("jobs"),
        "choice": {
            name: tuple(value) if isinstance(value, list) else value for name, value in record["choice"].items()
        },
        "table": _located(record["input"]["path"], config),
        "expected": {},
    }
    if given.get("method", found["method"]) == found["method"]:
        found["parameters"] = record["parameters"]
    for entry, name in ((record["input"], "table"), (record.get("second"), "second")):
        if entry:
            found[name] = _located(entry["path"], config)
            found["expected"][name] = entry["sha256"]
    places = {what: name for name, what in OUTPUTS.items()}
    found |= {places[entry["what"]]: entry["path"] for entry in record["outputs"] if entry["what"] in places}
    return found


def _located(path: str, config: str) -> str:
    """A recorded path: relative to this folder, or else to the folder of the record."""
    beside = Path(config).parent / path
    return str(beside) if path != STDOUT and not Path(path).exists() and beside.exists() else path


def _refuse(request: FitRequest, prints_record: bool, context: click.Context) -> None:
    method = METHODS.get(request.method)
    if method is not None:
        if request.second is not None and not method.takes_second:
            names = ", ".join(name for name, other in METHODS.items() if other.takes_second)
            raise click.UsageError(f"--second is for --method {names}, not for {request.method}.", context)
        missing = method.missing(label=bool(request.choice.get("label")), second=request.second is not None)
        if missing:
            raise click.UsageError(missing, context)
    for name in ("save", "report"):
        if getattr(request, name) == STDOUT:
            raise click.UsageError(f"--{name} needs the name of a file; only coordinates can go to stdout.", context)
    if prints_record and request.output == STDOUT:
        raise click.UsageError("--json and coordinates cannot both go to stdout. Name a file with -o.", context)
    if request.table == STDOUT and (request.second == STDOUT or sys.stdin.isatty()):
        raise click.UsageError("- reads one csv table from stdin. Pipe it in, or name a file.", context)


# --- the work ------------------------------------------------------------------------------------------------


def run(request: FitRequest, console: Console, *, as_document: bool = False, dry: bool = False) -> int:
    """Do what is asked. Returns the exit status."""
    started = time.perf_counter()
    named = [path for path in request.files.values() if path != STDOUT]
    refuse_bad_outputs(named, request.inputs)
    record_at = record_path(named[0]) if named else None
    written = [*named, *([str(record_at)] if record_at else [])]
    refuse_bad_outputs(written, request.inputs)
    refuse_unwritable_table(request.output or STDOUT)
    refuse_other_than_page(request.report)
    refuse_other_than_model(request.save)
    _refuse_parameters(request)

    from mercer.cli.fitted import carried_columns, fit_table
    from mercer.cli.table_input import refuse_no_rows

    table, second = _read_tables(request, console)
    refuse_no_rows(table)
    refuse_unwritable_table(request.output or STDOUT, carried_columns(table, request.choice))
    method, why = _method_for(request, table)
    seconds = {"read": time.perf_counter() - started}
    if dry:
        from mercer.cli.dry_run import tell_plan

        tell_plan(request, method, why, table, second, written, as_document)
        return 0
    fit = fit_table(method, why, table, second, request.parameters, console, seed=request.seed, jobs=request.jobs)
    seconds["fit"] = fit.seconds
    record = fit.record(request, seconds)
    if request.report is not None:
        record |= _scores(fit, request.seed, console)
    files = fit.write(request, record, record_at, console, seconds)
    _summarize(fit, request, files | ({"record": str(record_at)} if record_at else {}), console)
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
    from mercer.cli.table_input import as_choice, match, read, read_second

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
    if request.strict:
        raise Failure(message, INPUT)
    console.warn(message)


def _method_for(request: FitRequest, table: Table) -> tuple[FitMethod, str]:
    """The method and why it was chosen."""
    if request.method != AUTO:
        return METHODS[request.method], "as requested"
    return choose_method(table.X.shape[0], second=request.second is not None)


def _scores(fit: FittedTable, seed: int, console: Console) -> dict[str, Any]:
    """The quality of the map, for the record. Ctrl-C only skips the scores: the map took longer, and is kept."""
    if fit.table.X.shape[0] < FEWEST_SCORED:
        console.note(f"A map of fewer than {FEWEST_SCORED} rows has no scores.")
        return {}
    try:
        with console.working("scoring the map"):
            return {"quality": json_value(fit.method.score(fit.table, fit.coordinates, seed=seed).scores)}
    except KeyboardInterrupt:
        console.warn("Stopped while scoring the map: the page has no scores.")
        return {"stopped": True}


def _summarize(fit: FittedTable, request: FitRequest, files: dict[str, str], console: Console) -> None:
    """Tell what was done, in a few lines on stderr."""
    from mercer.cli.summary import doubt
    from mercer.cli.table_input import source_name

    n, d = fit.table.X.shape
    console.field("table", f"{source_name(request.table)}: {amount(n, 'row')}, {amount(d, 'column')}")
    console.field("method", f"{fit.method.title}: {fit.why}")
    for name, value in fit.method.summarize(fit.estimator):
        console.field(name, value)
    console.field("time", spoken(fit.seconds))
    if (warning := doubt(fit.estimator)) is not None:
        console.warn(warning)
    for what, path in files.items():
        console.field(what, path)
