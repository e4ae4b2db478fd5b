"""Options that verbs share, and how their help is set out: in sections, with examples first."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable
from typing import Any

import click

from mercer.cli.messages import Voice

METHOD, MAPS, TABLE, SCORES, OUTPUT, RUN = "The method", "The maps", "The table", "The scores", "Output", "The run"
_ORDER = (METHOD, MAPS, TABLE, SCORES, OUTPUT, RUN)


class Whole(click.ParamType):
    """A whole number within bounds, which are said where they are left and not in --help."""

    name = "whole number"

    def __init__(self, least: int, most: int | None = None) -> None:
        self.least, self.most = least, most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            number = int(value)
        except ValueError:
            number = self.least - 1
        if number < self.least or (self.most is not None and number > self.most):
            bounds = f"from {self.least} on" if self.most is None else f"from {self.least} to {self.most}"
            self.fail(f"{value} is no whole number {bounds}", param, ctx)
        return number


SEED = Whole(0, 2**32 - 1)


class Sectioned(click.Option):
    """An option that stands in a section of --help."""

    def __init__(self, *args: Any, section: str = RUN, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.section = section


class Verb(click.Command):
    """A command whose options are listed in sections, and whose wrong options are met with the closest ones."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx) if isinstance(parameter, click.Option) else None
            if record is not None:
                sections.setdefault(getattr(parameter, "section", RUN), []).append(record)
        own = [title for title in sections if title not in _ORDER]
        for title in (METHOD, *own, *_ORDER[1:]):
            if title in sections:
                with formatter.section(title):
                    formatter.write_dl(sections[title])

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            options = [parameter for parameter in self.get_params(ctx) if isinstance(parameter, click.Option)]
            known = [name for option in options for name in option.opts]
            raise click.UsageError(self.no_such_option(error.option_name, known), ctx) from error

    def no_such_option(self, given: str, known: list[str]) -> str:
        close = closest(given, known, most=2)
        return f"there is no option {given}" + (f"; {close}" if close else "")


def closest(given: str, known: Iterable[str], most: int = 1) -> str:
    """A question for who nearly named something; empty where nothing is near.

    >>> closest("kpac", ["pca", "kpca"]), closest("umap", ["pca", "kpca"])
    ('did you mean kpca?', '')
    """
    from difflib import get_close_matches

    near = get_close_matches(given, list(known), n=most)
    return f"did you mean {' or '.join(near)}?" if near else ""


def option(*names: str, **settings: Any) -> Callable[[Any], Any]:
    return click.option(*names, cls=Sectioned, **settings)


def verb(name: str, cls: type[Verb] = Verb) -> Callable[[Any], Any]:
    return click.command(name, cls, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})


def _together(*decorators: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def decorate(function: Any) -> Any:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


def _words(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    """Several options, or one with commas, or both; a name that has a comma itself stands in double quotes."""
    try:
        words = [word.strip() for line in csv.reader(given, skipinitialspace=True) for word in line]
    except csv.Error as error:
        raise click.UsageError(f"{' '.join(given)!r} are no names: {error}") from error
    return tuple(word for word in words if word)


def names_option(*names: str, **settings: Any) -> Callable[[Any], Any]:
    """An option that takes names, separated by commas or given several times."""
    return option(*names, multiple=True, callback=_words, metavar="NAMES", **settings)


table_options = _together(
    option("--label", metavar="COLUMN", section=TABLE, help="Column of classes: carried along, not fitted."),
    option("--id", metavar="COLUMN", section=TABLE, help="Column of names of the rows: carried along."),
    names_option("--drop", section=TABLE, help="Columns to leave out: a,b or several times."),
    names_option("--columns", section=TABLE, help="Columns to use, and no others."),
    option(
        "--impute",
        type=click.Choice(["mean", "median", "zero", "drop"]),
        section=TABLE,
        help="What stands for missing values; drop leaves out their rows.",
    ),
    option(
        "--encode",
        type=click.Choice(["onehot", "ordinal", "drop"]),
        section=TABLE,
        help="What to make of columns of text; drop leaves them out.",
    ),
    option(
        "--scale",
        type=click.Choice(["standard", "robust", "minmax"]),
        section=TABLE,
        help="Bring columns to one scale: by deviation, by quartiles, to [0, 1].",
    ),
    option("--dtype", type=click.Choice(["float64", "float32"]), section=TABLE, help="float32 halves the memory."),
)  # fmt: skip


def _set_debug(context: click.Context, _: click.Parameter, value: bool) -> None:
    context.meta["mercer.debug"] = value


def _voice(_: click.Context, __: click.Parameter, quiet: bool) -> Voice:
    return Voice(quiet)


quiet_option = option(
    "--quiet", "-q", "voice", is_flag=True, callback=_voice, help="Say nothing but warnings and errors."
)
debug_option = option(
    "--debug", is_flag=True, expose_value=False, callback=_set_debug, help="Show where an error came from."
)
jobs_option = option("--jobs", "-j", type=Whole(1), metavar="INT", help="Threads; all cores if not given.")
json_option = option("--json", "as_json", is_flag=True, section=OUTPUT, help="One JSON document on stdout.")
run_options = _together(quiet_option, debug_option)


def seed_option(text: str) -> Callable[[Any], Any]:
    return option("--seed", type=SEED, metavar="INT", default=0, show_default=True, help=text)


def neighbors_option(section: str = SCORES) -> Callable[[Any], Any]:
    text = "How many neighbours count in the scores."
    kind = Whole(1)
    return option(
        "--neighbors", "-k", type=kind, metavar="INT", default=15, show_default=True, section=section, help=text
    )


score_options = _together(
    neighbors_option(),
    option(
        "--sample",
        default="auto",
        show_default=True,
        metavar="auto|INT|none",
        section=SCORES,
        help="Rows that are looked at: none is all of them, auto enough for an error of 0.005.",
    ),
    option(
        "--metric", default="euclidean", show_default=True, metavar="NAME", section=SCORES, help="Of the table's rows."
    ),
)


_CHOICE = ("label", "id", "drop", "columns", "impute", "encode", "scale", "dtype")


def choice_of(context: click.Context) -> dict[str, Any]:
    """The options of the table that were given, as fields of `mercer.tables.table.Choice`."""
    return {name: context.params[name] for name in _CHOICE if context.params.get(name)}


def others_of(options: dict[str, Any]) -> dict[str, Any]:
    """The options that are not of the table."""
    return {name: value for name, value in options.items() if name not in _CHOICE}
