"""Options that verbs share, and how their help is set out: in sections, with examples first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from mercer.cli.messages import Voice

METHOD, MAPS, TABLE, SCORES, OUTPUT, RUN = "The method", "The maps", "The table", "The scores", "Output", "The run"
_ORDER = (METHOD, MAPS, TABLE, SCORES, OUTPUT, RUN)


class Whole(click.IntRange):
    """A whole number from `least` on; that it has a range is said where it is left, not in --help."""

    name = "INT"

    def _describe_range(self) -> str:
        return ""


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
            known = [option for parameter in self.get_params(ctx) for option in parameter.opts]
            raise click.UsageError(self.no_such_option(error.option_name, known), ctx) from error

    def no_such_option(self, given: str, known: list[str]) -> str:
        from difflib import get_close_matches

        close = get_close_matches(given, known, n=3, cutoff=0.6)
        return f"there is no option {given}" + (f"; did you mean {' or '.join(close)}?" if close else "")


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
    """Several options, or one with commas, or both."""
    return tuple(word.strip() for text in given for word in text.split(",") if word.strip())


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
json_option = option("--json", "as_json", is_flag=True, section=OUTPUT, help="One JSON document on stdout.")
run_options = _together(quiet_option, debug_option)


def choice_of(context: click.Context) -> dict[str, Any]:
    """The options of the table that were given, as fields of `mercer.files.tables.Choice`."""
    names = ("label", "id", "drop", "columns", "impute", "encode", "scale", "dtype")
    return {name: context.params[name] for name in names if context.params.get(name)}
