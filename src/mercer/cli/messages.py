"""What the command says: messages and progress on stderr, data on stdout."""

from __future__ import annotations

import json
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click

STRONG, FAINT, GOOD, WARN = "bold", "bright_black", "green", "yellow"


def colourful(stream: Any) -> bool:
    """Whether a stream is a terminal that wants colour (https://no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def printable(text: str) -> str:
    """Text of a file as it may be shown: control characters could rewrite what a terminal shows.

    >>> printable("a\\x1b[2Jb\\tc")
    'a�[2Jb c'
    """
    return re.sub(r"[\x00-\x1f\x7f-\x9f]", "�", text.replace("\t", " "))


class Voice:
    """Says things on stderr, unless it is to be quiet; warnings are always said."""

    def __init__(self, quiet: bool = False) -> None:
        self.quiet = quiet
        self._busy = False

    def say(self, message: str, *, style: str | None = None) -> None:
        if not self.quiet:
            _echo(printable(message), style)

    def field(self, name: str, value: str) -> None:
        """A line of a summary: its name in a column of its own."""
        if not self.quiet:
            _echo(f"{click.style(f'{name:<11}', fg=FAINT)} {printable(value)}")

    def warn(self, message: str) -> None:
        _warn(message)

    @contextmanager
    def working(self, what: str, total: int | None = None) -> Iterator[Callable[..., None]]:
        """Show that something is being done, on a terminal alone; yields update(done, note)."""
        if self.quiet or self._busy or not sys.stderr.isatty():
            yield lambda done=None, note="": None
            return
        self._busy = True
        try:
            with self._progress(what, total) as update:
                yield update
        finally:
            self._busy = False

    @staticmethod
    @contextmanager
    def _progress(what: str, total: int | None) -> Iterator[Callable[..., None]]:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        bar = [BarColumn(24), TextColumn("{task.completed}/{task.total}")] if total else []
        rest = [TextColumn("[bright_black]{task.fields[note]}"), TimeElapsedColumn()]
        columns = [SpinnerColumn(), TextColumn("{task.description}"), *bar, *rest]
        if total:
            columns += [TextColumn("[bright_black]left"), TimeRemainingColumn()]
        with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
            task = progress.add_task(what, total=total, note="")
            yield lambda done=None, note="": progress.update(task, completed=done, note=note)


def _echo(message: str, style: str | None = None) -> None:
    text = click.style(message, fg=style) if style else message
    click.echo(text, err=True, color=None if colourful(sys.stderr) else False)


def _warn(message: str) -> None:
    _echo(f"mercer: {click.style('warning:', fg=WARN)} {printable(' '.join(str(message).split()))}")


@contextmanager
def one_line_warnings() -> Iterator[None]:
    """Warnings as one line each, said once."""
    said = set()

    def show(message: Any, category: type[Warning], *_: Any, **__: Any) -> None:
        if str(message) not in said and not issubclass(category, DeprecationWarning | FutureWarning):
            said.add(str(message))
            _warn(str(message))

    with warnings.catch_warnings():
        warnings.showwarning = show
        warnings.simplefilter("always", UserWarning)
        yield


# --- data on stdout ------------------------------------------------------------------------------------------


def print_json(document: Any) -> None:
    """One JSON document."""
    click.echo(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False))


def print_text(text: str = "", *, bold: bool = False) -> None:
    styled = click.style(printable(text), bold=True) if bold else printable(text)
    click.echo(styled, color=None if colourful(sys.stdout) else False)


def print_table(
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    left: Sequence[int] = (0,),
    marks: dict[tuple[int, int], str] | None = None,
) -> None:
    """An aligned table; on a terminal the heading is set off, long text wraps, and marked cells have a colour.

    left : columns that are text; the others are numbers and stand to the right
    marks : (row, column) -> style
    """
    headings, rows = [printable(cell) for cell in headings], [[printable(cell) for cell in row] for row in rows]
    if sys.stdout.isatty():
        _print_rich(headings, rows, left, marks or {})
        return
    lines = [headings, *rows] if any(headings) else list(rows)
    widths = [max(len(line[i]) for line in lines) for i in range(len(headings))]
    for line in lines:
        cells = [
            f"{cell:<{w}}" if i in left else f"{cell:>{w}}"
            for i, (cell, w) in enumerate(zip(line, widths, strict=True))
        ]
        click.echo("  ".join(cells).rstrip())


def _print_rich(headings: Any, rows: Any, left: Any, marks: dict[tuple[int, int], str]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    # Two blanks between columns, so that the scores of a map fit 80 of them.
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    table.show_header = any(headings)
    for i, heading in enumerate(headings):
        table.add_column(heading, justify="left" if i in left else "right", no_wrap=i not in left, overflow="fold")
    for r, row in enumerate(rows):
        table.add_row(*(Text(cell, style=marks.get((r, c), "")) for c, cell in enumerate(row)))
    console = Console(highlight=False)
    console.print(table, width=max(console.width, _least_width(headings, rows, left)), crop=False)


def _least_width(headings: Any, rows: Any, left: Any) -> int:
    """What a table needs at least: numbers are never cut, text may be folded to a few letters."""
    widths = [max(len(line[i]) for line in [headings, *rows]) for i in range(len(headings))]
    return sum(2 + (min(width, 12) if i in left else width) for i, width in enumerate(widths))
