"""`mercer fit`: the options, those of the method included. The work is in `fitting`."""

from __future__ import annotations

from typing import Any

import click
from click.core import ParameterSource

from mercer.cli.methods import METHODS
from mercer.cli.options import (
    METHOD,
    OUTPUT,
    Sectioned,
    Verb,
    choice_of,
    closest,
    jobs_option,
    json_option,
    option,
    run_options,
    seed_option,
    table_options,
    verb,
)
from mercer.cli.parameters import Parameter, owners, parameters_of

AUTO = "auto"
_ANY = Parameter("n_components", None, "int or None", "How many coordinates.")


class Word(click.ParamType):
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
        ctx.meta["mercer.method"] = self._method(ctx, args)
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
            return f"there is no option {given}; it is {name}"
        if name in owners():
            methods = " and ".join(f"--method {method}" for method in owners()[name])
            return f"{name} is an option of {methods}"
        return super().no_such_option(given, known)

    @staticmethod
    def _method(ctx: click.Context, args: list[str]) -> str:
        """Which method the words of the command line mean, before they are parsed."""
        method = _after(args, "--method", "-m")
        if method is None:
            config = _after(args, "--config", "-c")
            if config is None:
                return AUTO
            from mercer.cli.record import read_record

            return str(read_record(config)["method"])
        if method not in (*METHODS, AUTO):
            hint = closest(method, METHODS) or f"there are {', '.join(METHODS)} and {AUTO}"
            raise click.UsageError(f"--method {method} is none: {hint}", ctx)
        return method


def _after(args: list[str], long: str, short: str) -> str | None:
    """The value that follows an option, the last one if it is given twice."""
    found = None
    for place, word in enumerate(args):
        if word == "--":
            break
        if word in (long, short):
            found = args[place + 1] if place + 1 < len(args) else None
        elif word.startswith(f"{long}="):
            found = word.partition("=")[2]
        elif word.startswith(short) and not word.startswith("--") and len(word) > 2:
            found = word[2:].removeprefix("=")
    return found


def method_options(method: str) -> list[click.Parameter]:
    """The options of a method, made of its estimator's parameters."""
    section = METHOD if method == AUTO else f"Options of {method}, the parameters of mercer.{METHODS[method].estimator}"
    found = (_ANY,) if method == AUTO else parameters_of(method)
    return [_as_option(parameter, section) for parameter in found]


def _as_option(parameter: Parameter, section: str) -> click.Parameter:
    destination = f"param_{parameter.name}"
    text = parameter.text.replace("None", "none").replace("`", "")
    if parameter.default is not None:
        shown = str(parameter.default).lower() if parameter.is_flag else f"{parameter.default}"
        text = f"{text}  [default: {shown}]"
    if parameter.is_flag:
        names = [f"{parameter.option}/--no-{parameter.option[2:]}", destination]
        return Sectioned(names, default=None, help=text, section=section)
    return Sectioned(
        [parameter.option, destination], type=Word(parameter), metavar=parameter.metavar, help=text, section=section
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
    help="What to fit; auto takes kernel PCA up to 20,000 rows, PCA beyond, kernel CCA with --second.",
)
@option(
    "--second",
    metavar="TABLE",
    section=METHOD,
    help="The other view of the same rows, for kcca: matched by --id, or by order.",
)
@table_options
@option(
    "--output",
    "-o",
    metavar="FILE",
    section=OUTPUT,
    help="Coordinates, by suffix: csv, parquet, npy …; - is csv on stdout, the default where no file is named.",
)
@option("--save", metavar="FILE", section=OUTPUT, help="The fitted model, for mercer transform and mercer.load.")
@option("--report", metavar="FILE", section=OUTPUT, help="A page with the map and its quality that opens offline.")
@json_option
@seed_option("Same seed, same data, same machine: the same bytes.")
@jobs_option
@option("--config", "-c", metavar="RUN.JSON", help="Do again what a run.json says; options given besides win.")
@option("--strict", is_flag=True, help="With --config: fail if the data is not the same as then.")
@option(
    "--dry-run", is_flag=True, help="Say what would be done, and the memory and time it would take. Nothing is written."
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

    Find coordinates of the rows of a table: a csv or tsv (also .gz), parquet, arrow, npy, npz or h5ad file, a folder
    of images, or - for csv on stdin. Beside the output a run.json says all there is to know to do it again.
    """
    from mercer.cli.fitting import run
    from mercer.cli.request import Request

    request = Request.of(context, given_parameters(context), choice_of(context), options)
    context.exit(run(request, options["voice"], as_json=options["as_json"], dry=options["dry_run"]))


def given_parameters(context: click.Context) -> dict[str, Any]:
    """The parameters of the estimator that were given on the command line; none is a value."""
    prefix = "param_"
    return {
        name.removeprefix(prefix): value
        for name, value in context.params.items()
        if name.startswith(prefix) and context.get_parameter_source(name) == ParameterSource.COMMANDLINE
    }
