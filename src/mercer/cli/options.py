"""Options that several verbs share, and how --help shows them: examples first, then options in sections."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable
from itertools import accumulate
from typing import Any, ClassVar

import click

from mercer.cli.console import Console

METHOD, MAPS, TABLE, SCORES, OUTPUT, RUN = "The method", "The maps", "The table", "The scores", "Output", "The run"
NAMES = "NAMES"  # what --help writes for a list of names
_ORDER = (METHOD, MAPS, TABLE, SCORES, OUTPUT, RUN)


class WholeNumber(click.ParamType):
    """A whole number within bounds. Messages name the bounds; --help does not."""

    name = "whole number"

    def __init__(self, least: int, most: int | None = None) -> None:
        self.least, self.most = least, most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            number = int(value)
        except ValueError:
            number = self.least - 1
        if number < self.least or (self.most is not None and number > self.most):
            bounds = f"of at least {self.least}" if self.most is None else f"from {self.least} to {self.most}"
            self.fail(f"{value!r} is not a whole number {bounds}.", param, ctx)
        return number


class SectionOption(click.Option):
    """An option that stands in a section of --help."""

    def __init__(self, *args: Any, section: str = RUN, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.section = section


class Verb(click.Command):
    """A command that lists its options in sections, and answers a misspelt option with the closest ones."""

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
        words = list(args)  # parsing takes them away
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            options = [parameter for parameter in self.get_params(ctx) if isinstance(parameter, click.Option)]
            known = [name for option in options for name in option.opts]
            raise click.UsageError(self.no_such_option(error.option_name, known), ctx) from error
        except click.UsageError as error:
            lists = [name for each in self.get_params(ctx) if each.metavar == NAMES for name in each.opts]
            given = next((word for word in words if word in lists), None)
            if given is None or not error.message.startswith("Got unexpected extra argument"):
                raise
            hint = f"Names in a list have commas and no blanks between them: {given} a,b."
            raise click.UsageError(f"{error.message.rstrip('.')}. {hint}", ctx) from error

    def no_such_option(self, given: str, known: list[str]) -> str:
        return f"Unknown option {given}. {did_you_mean(given, known, most=2)}".rstrip()


def did_you_mean(given: str, known: Iterable[str], most: int = 1) -> str:
    """Suggest the closest known names, if any are close.

    >>> did_you_mean("kpac", ["pca", "kpca"]), did_you_mean("umap", ["pca", "isomap"]), did_you_mean("rfb", ["rbf"])
    ('Did you mean kpca?', '', 'Did you mean rbf?')
    """
    from difflib import get_close_matches

    # Two letters swapped in rbf leave a ratio of 0.67. At the default cutoff of 0.6, umap passes for a misspelt isomap.
    near = get_close_matches(given, list(known), n=most, cutoff=0.65)
    return f"Did you mean {' or '.join(near)}?" if near else ""


def enumerated(names: Iterable[str], room: int = 64) -> str:
    """Names with commas, in up to `room` letters. Those beyond are counted, since a message has two lines.

    >>> enumerated(["isomap", "kpca", "pca"], 12), enumerated(["pca", "kpca"])
    ('isomap, kpca and 1 more', 'pca, kpca')
    """
    names = list(names)
    fit = sum(end - 2 <= room for end in accumulate(len(name) + 2 for name in names))
    return ", ".join(names[:fit]) + (f" and {len(names) - fit} more" if fit < len(names) else "")


def unknown(kind: str, given: str, known: Iterable[str]) -> str:
    """The message for a name that is not among the known ones.

    >>> unknown("method", "foo", ["pca", "kpca"])
    "Unknown method 'foo'. Choose one of: pca, kpca."
    """
    names = list(known)
    hint = did_you_mean(given, names) or f"Choose one of: {enumerated(names)}."
    return f"Unknown {kind} {given!r}. {hint}"


def option(*names: str, **settings: Any) -> Callable[[Any], Any]:
    return click.option(*names, cls=SectionOption, **settings)


def verb(name: str, cls: type[Verb] = Verb) -> Callable[[Any], Any]:
    return click.command(name, cls, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})


def _together(*decorators: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def decorate(function: Any) -> Any:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


def _split_names(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    """Names from several options, or from one with commas. A name that holds a comma stands in double quotes."""
    try:
        words = [word.strip() for line in csv.reader(given, skipinitialspace=True) for word in line]
    except csv.Error as error:
        raise click.UsageError(f"{' '.join(given)!r} is not a list of names: {error}.") from error
    return tuple(word for word in words if word)


def names_option(*names: str, **settings: Any) -> Callable[[Any], Any]:
    """An option that takes names, separated by commas or given several times."""
    return option(*names, multiple=True, callback=_split_names, metavar=NAMES, **settings)


class RowRange(click.ParamType):
    """Rows of a table: 1000 is the first thousand, 501:1000 the next five hundred, 501: all but the first."""

    name = "rows"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int | None]:
        if isinstance(value, tuple):
            return value
        first, colon, last = str(value).partition(":")
        first, last = (first or "1", last) if colon else ("1", first)
        if not (first.isdecimal() and int(first) > 0 and (not last or (last.isdecimal() and int(last) >= int(first)))):
            self.fail(f"{value!r} names no rows. Write 1000, 501:1000 or 501:, counted from 1.", param, ctx)
        if not last and not colon:
            self.fail("the number of rows is missing.", param, ctx)
        return int(first), int(last) if last else None


class Delimiter(click.ParamType):
    """A character between cells. Those that a shell makes hard to type have names."""

    name = "character"
    named: ClassVar[dict[str, str]] = {
        "tab": "\t", "\\t": "\t", "space": " ", "comma": ",", "semicolon": ";", "pipe": "|"
    }  # fmt: skip

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        found = self.named.get(str(value).lower(), str(value))
        if len(found) != 1 or not found.isascii() or found in '"\r\n':
            self.fail(
                f"{value!r} is not a single character, or one of: tab, space, comma, semicolon, pipe.", param, ctx
            )
        return found


reading_options = _together(
    option(
        "--rows",
        type=RowRange(),
        metavar="FIRST:LAST",
        section=TABLE,
        help="Read only these rows: 1000 for the first thousand, or 501:1000, counted from 1.",
    ),
    option(
        "--delimiter",
        type=Delimiter(),
        metavar="CHARACTER",
        section=TABLE,
        help="The character between the cells of a text file, or tab. By default the command finds it.",
    ),
    option(
        "--encoding",
        metavar="NAME",
        section=TABLE,
        help="Encoding of a text file: cp1252, … UTF-8 by default.",
    ),
    option(
        "--header/--no-header",
        default=None,
        section=TABLE,
        help="Whether the first row of a text file holds names. By default it does unless it holds numbers.",
    ),
    option("--sheet", metavar="NAME", section=TABLE, help="The sheet of a spreadsheet to read; the first by default."),
)
table_options = _together(
    reading_options,
    option("--label", metavar="COLUMN", section=TABLE, help="Column of classes: kept beside the rows, not fitted."),
    option("--id", metavar="COLUMN", section=TABLE, help="Column that names the rows: kept beside them, not fitted."),
    names_option("--drop", section=TABLE, help="Columns to leave out: a,b, or give the option several times."),
    names_option("--columns", section=TABLE, help="Fit these columns and no others."),
    names_option(
        "--vector", section=TABLE, help="Columns of lists, such as embeddings: fit their numbers, and no other column."
    ),
    names_option("--keep", section=TABLE, help="Columns to show on the page, and not to fit."),
    option(
        "--impute",
        type=click.Choice(["mean", "median", "zero", "drop"]),
        section=TABLE,
        help="How to fill in missing values; drop leaves out their rows.",
    ),
    option(
        "--encode",
        type=click.Choice(["onehot", "ordinal", "drop"]),
        section=TABLE,
        help="How to turn columns of text into numbers; drop leaves them out.",
    ),
    option(
        "--scale",
        type=click.Choice(["standard", "robust", "minmax"]),
        section=TABLE,
        help="Scale each column: by its deviation, by its quartiles, or to [0, 1].",
    ),
    option("--dtype", type=click.Choice(["float64", "float32"]), section=TABLE, help="float32 halves the memory."),
)


def _set_debug(context: click.Context, _: click.Parameter, value: bool) -> None:
    context.meta["mercer.debug"] = value


def _console(_: click.Context, __: click.Parameter, quiet: bool) -> Console:
    return Console(quiet)


inert_option = option(
    "--spreadsheet-safe/--no-spreadsheet-safe",
    "inert",
    default=True,
    section=OUTPUT,
    help="Whether text in a csv file that begins with = + - @ gets an apostrophe, so that no spreadsheet runs it.",
)
page_options = _together(
    names_option(
        "--page-columns",
        section=OUTPUT,
        help="Columns on the page, besides id and label; none for no others. By default those that are fitted or kept.",
    ),
    option(
        "--page-record",
        is_flag=True,
        section=OUTPUT,
        help="Put the whole record on the page, with command line, paths, machine and times.",
    ),
)
run_options = _together(
    option("--quiet", "-q", "console", is_flag=True, callback=_console, help="Print only warnings and errors."),
    option("--debug", is_flag=True, expose_value=False, callback=_set_debug, help="Show where an error came from."),
)
jobs_option = option("--jobs", "-j", type=WholeNumber(1), metavar="INT", help="Threads; all cores by default.")
device_option = option(
    "--device",
    type=click.Choice(["auto", "cuda", "cpu"]),
    default="cpu",
    show_default=True,
    metavar="NAME",
    help="Where to compute: cuda on an NVIDIA GPU, auto there if there is one and the method can, else cpu.",
)
json_option = option("--json", "as_json", is_flag=True, section=OUTPUT, help="Print one JSON document on stdout.")


def seed_option(text: str) -> Callable[[Any], Any]:
    kind = WholeNumber(0, 2**32 - 1)  # the seeds that NumPy's RandomState takes
    return option("--seed", type=kind, metavar="INT", default=0, show_default=True, help=text)


def neighbors_option(section: str = SCORES) -> Callable[[Any], Any]:
    return option(
        "--neighbors",
        "-k",
        type=WholeNumber(1),
        metavar="INT",
        default=15,
        show_default=True,
        section=section,
        help="How many neighbours the scores look at.",
    )


score_options = _together(
    neighbors_option(),
    option(
        "--sample",
        default="auto",
        show_default=True,
        metavar="auto|INT|none",
        section=SCORES,
        help="How many rows to score: none means all, auto enough for an error of 0.005.",
    ),
    option(
        "--metric",
        default="euclidean",
        show_default=True,
        metavar="NAME",
        section=SCORES,
        help="How distances between rows of the table are measured.",
    ),
)


PREPARING = ("label", "id", "drop", "columns", "vector", "keep", "impute", "encode", "scale", "dtype")
READING = ("rows", "delimiter", "encoding", "header", "sheet")


def table_choice(options: dict[str, Any]) -> dict[str, Any]:
    """The options about the table that were given, as fields of `mercer.tables.table.Choice`."""
    return {name: options[name] for name in PREPARING if options.get(name)} | reading_choice(options)


def reading_choice(options: dict[str, Any]) -> dict[str, Any]:
    """The options about how a file is read that were given. --no-header is False, which is not the same as nothing."""
    return {name: options[name] for name in READING if options.get(name) is not None}


def with_page_columns(choice: dict[str, Any], wanted: tuple[str, ...]) -> dict[str, Any]:
    """A choice that also reads the columns of --page-columns, which has no effect on what is fitted."""
    more = [name for name in wanted if name != "none"]
    return choice | {"show": tuple(dict.fromkeys([*choice.get("show", ()), *more]))} if more else choice
