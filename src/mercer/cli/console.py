"""What the command says: data on stdout, messages and progress on stderr."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import isfinite
from textwrap import TextWrapper
from typing import Any

import click

from mercer.cli.wording import in_options
from mercer.progress import listening

FAINT, WARN = "bright_black", "yellow"


def printable(text: str) -> str:
    """Text from a file, safe to show: control characters could rewrite what is on the terminal.

    >>> printable("a\\x1b[2Jb\\tc")
    'a�[2Jb c'
    """
    return re.sub(r"[\x00-\x1f\x7f-\x9f]", "�", text.replace("\t", " "))


class Console:
    """Messages and progress on stderr. A quiet console still shows warnings."""

    def __init__(self, quiet: bool = False) -> None:
        self.quiet = quiet
        self._busy = False

    def note(self, message: str) -> None:
        """Something worth knowing that is not a problem."""
        if not self.quiet:
            tell("mercer: note:", in_options(message))

    def field(self, name: str, value: str) -> None:
        """One line of a summary, with its name in a column of its own."""
        if not self.quiet:
            tell(f"{name:<11}", value, color=FAINT, indent=12)

    def warn(self, message: str) -> None:
        _warn(message)

    @contextmanager
    def working(self, what: str, total: int | None = None) -> Iterator[Callable[..., None]]:
        """Show progress while the block runs, on a terminal only. Yields update(done, note).

        total : how many steps `update` counts. Phases that a computation names are counted without it.
        """
        # A second bar inside a first one would garble both, so only the outer one is drawn.
        if self.quiet or self._busy or not sys.stderr.isatty():
            yield lambda done=None, note="": None
            return
        self._busy = True
        try:
            with _progress_bar(what, total) as bar, listening(bar.phase):
                yield bar.step
        finally:
            self._busy = False


class ProgressLine:
    """One line of progress: what is done, its phase, how much of that is done, and how long it will still take.

    >>> line = ProgressLine("PCA", None)
    >>> line.phase("neighbours", 5, 20, ""); line.text(10.0)
    'PCA: neighbours 25%'
    >>> line.phase("Cholesky factor", 0, 0, ""); line.text(10.0)
    'PCA: Cholesky factor'
    >>> line.step(30, "KL 1.2"); line.text(10.0)
    'PCA, KL 1.2'
    """

    def __init__(self, what: str, total: int | None) -> None:
        self.what, self.total, self.note = what, total, ""
        self.name, self.share, self.started, self.first, self.counted = "", 0.0, 0.0, 0, False

    def step(self, done: int = 0, note: str = "") -> None:
        """Record a step that the caller counts."""
        if self.name or not self.started:
            self.name, self.started = "", time.monotonic()
            self.first = done
        self.share = done / self.total if self.total else 0.0
        self.note = note if not self.total else ", ".join(filter(None, [f"step {done:,} of {self.total:,}", note]))

    def phase(self, name: str, done: int, total: int, note: str) -> None:
        """Record that a named phase begins (total 0), or that one of its jobs is done. Any thread may call this."""
        if name != self.name or done == 0:
            self.name, self.started = name, time.monotonic()
            self.first = 0
        self.counted = total > 0
        self.share, self.note = done / max(1, total), note

    def left(self, now: float) -> float | None:
        """Seconds that this phase, or all steps, will still take at the speed so far; None while it is unknown."""
        begun = self.first / self.total if self.total and not self.name else 0.0
        if not self.started or self.share <= begun or now - self.started < 1:
            return None
        return (now - self.started) * (1 - self.share) / (self.share - begun)

    def text(self, now: float) -> str:
        said = f"{self.what}: {self.name}" if self.name else self.what
        said += f" {self.share:.0%}" if (self.name and self.counted) or (self.total and self.share) else ""
        left = self.left(now)
        # Fractions of a second would flicker.
        spare = "" if left is None else f"{spoken(max(1.0, round(left)))} left"
        return ", ".join(filter(None, [said, spare, self.note]))


@contextmanager
def _progress_bar(what: str, total: int | None) -> Iterator[ProgressLine]:
    from rich.console import Console as Terminal
    from rich.progress import Progress, ProgressColumn, SpinnerColumn, TimeElapsedColumn
    from rich.text import Text

    line = ProgressLine(what, total)

    class Told(ProgressColumn):
        def render(self, task: Any) -> Text:
            return Text(line.text(time.monotonic()), no_wrap=True, overflow="ellipsis")

    terminal = Terminal(stderr=True)
    with Progress(SpinnerColumn(), TimeElapsedColumn(), Told(), console=terminal, transient=True) as progress:
        progress.add_task(what, total=None)
        _live.append(progress)
        try:
            yield line
        finally:
            _live.remove(progress)


def _wants_color(stream: Any) -> bool:
    """Whether a stream is a terminal that wants colour (https://no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


_live: list[Any] = []  # the progress bar that is drawn now, if any: a message must go above it, not into its line


def tell(start: str, message: str, *, color: str | None = None, indent: int = 2) -> None:
    """Print a message on stderr, in one line. A terminal gets as many lines as it needs, with whole words.

    color : that of `start`
    indent : of the second line and those after it
    """
    width, message = _stderr_width(), printable(message)
    text = f"{start} {message}"
    if width is not None and len(text) > width > 2 * indent:
        lines = TextWrapper(width, "", " " * indent, break_long_words=False, break_on_hyphens=False).wrap(text)
        text = "\n".join(lines)  # a name that is longer than the terminal stays whole, so that it can be copied
    text = click.style(start, fg=color) + text[len(start) :]
    if _live:
        from rich.text import Text

        _live[-1].console.print(Text.from_ansi(text), soft_wrap=True)
        return
    click.echo(text, err=True, color=None if _wants_color(sys.stderr) else False)


def _stderr_width() -> int | None:
    """The columns of the terminal that stderr is, or None if it is a file or a pipe."""
    if not sys.stderr.isatty():
        return None
    try:
        return int(os.environ.get("COLUMNS") or os.get_terminal_size(sys.stderr.fileno()).columns) or None
    except (OSError, ValueError):
        return None


def _warn(message: str) -> None:
    tell("mercer: warning:", in_options(" ".join(str(message).split())), color=WARN)


@contextmanager
def one_line_warnings() -> Iterator[None]:
    """Show each warning once, on one line."""
    shown = set()

    def show(message: Any, category: type[Warning], *_: Any, **__: Any) -> None:
        # Deprecations are for those who write code, not for those who run a command.
        if str(message) not in shown and not issubclass(category, DeprecationWarning | FutureWarning):
            shown.add(str(message))
            _warn(str(message))

    with warnings.catch_warnings():
        warnings.showwarning = show
        warnings.simplefilter("always", UserWarning)
        yield


# --- data on stdout ------------------------------------------------------------------------------------------


def print_json(document: Any) -> None:
    """Print one JSON document."""
    click.echo(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False))


def print_text(text: str = "", *, bold: bool = False) -> None:
    styled = click.style(printable(text), bold=True) if bold else printable(text)
    click.echo(styled, color=None if _wants_color(sys.stdout) else False)


def print_pairs(pairs: Sequence[tuple[str, str]]) -> None:
    """Print names and their values in two columns."""
    print_table(["", ""], [list(pair) for pair in pairs], left=(0, 1))


def print_table(
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    left: Sequence[int] = (0,),
    marks: dict[tuple[int, int], str] | None = None,
) -> None:
    """Print an aligned table. On a terminal the heading stands out, long text wraps, and marked cells have a style.

    If the terminal is too narrow even for wrapped text, each row becomes a block with one line per column.

    left : the columns of text; the others hold numbers and are aligned on the right
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
    from rich.console import Console as Terminal
    from rich.table import Table
    from rich.text import Text

    terminal = Terminal(highlight=False)
    if len(headings) > 2 and _least_width(headings, rows, left) > terminal.width:
        for row in rows:
            terminal.print(Text(row[0], style="bold"))
            lines = [[f"  {name}", cell] for name, cell in zip(headings[1:], row[1:], strict=True)]
            _print_rich(["", ""], lines, (0, 1), {})
        return
    # Two blanks between columns: the widest table, the scores of a map, then fits into 80 columns.
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    table.show_header = any(headings)
    # rich would take away the blank that stands where other numbers have a star
    for i in set(range(len(headings))) - set(left):
        width = max(len(line[i]) for line in [headings, *rows])
        headings[i] = f"{headings[i]:>{width}}"
        rows = [[*row[:i], f"{row[i]:>{width}}", *row[i + 1 :]] for row in rows]
    for i, heading in enumerate(headings):
        table.add_column(heading, no_wrap=i not in left, overflow="fold")
    for r, row in enumerate(rows):
        table.add_row(*(Text(cell, style=marks.get((r, c), "")) for c, cell in enumerate(row)))
    terminal.print(table)


def _least_width(headings: Any, rows: Any, left: Any) -> int:
    """The narrowest a table can be: numbers and names are never cut, and other text may fold down to 12 letters."""
    widths = [max(len(line[i]) for line in [headings, *rows]) for i in range(len(headings))]
    return sum(2 + (min(width, 12) if i in left and i else width) for i, width in enumerate(widths))


def spoken(seconds: float) -> str:
    """Seconds as people say them.

    >>> spoken(0.0834), spoken(7.44), spoken(150), spoken(3900)
    ('0.083 s', '7.4 s', '2 min 30 s', '1 h 5 min')
    """
    if seconds < 59.5:  # what rounds to 60 s is a minute; less than a millisecond is the clock's own noise
        return f"{seconds:.2g} s" if seconds >= 0.001 else "0.001 s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours:,} h {minutes} min" if minutes else f"{hours:,} h"


def terminal_width() -> int | None:
    """The columns of the terminal that stdout is, or None if it is a file or a pipe."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def figures(value: float) -> str:
    """A number with four figures, or with all of its digits if it is whole.

    >>> figures(30292.0), figures(30292.4), figures(0.000123456), figures(20240131.0), figures(1.5e9 + 0.5)
    ('30292', '30292', '0.0001235', '20240131', '1.5e+09')
    """
    if value == round(value) and abs(value) < 1e15:  # beyond, a float64 does not hold every whole number
        return f"{value:.0f}"
    return f"{value:.0f}" if 1e4 <= abs(value) < 1e7 else f"{value:.4g}"


def four_digits(value: float | None) -> str:
    """A score for people: four digits after the point; `-` stands for a score that is missing.

    >>> four_digits(0.95), four_digits(1.0), four_digits(None)
    ('0.9500', '1', '-')
    """
    return "-" if value is None or not isfinite(value) else f"{value:.4f}" if value % 1 else f"{value:.0f}"
