"""`mercer`: the group of verbs, loaded when they are called, so that --help is there at once."""

from __future__ import annotations

import errno
import io
import os
import sys
from contextlib import suppress
from importlib import import_module
from typing import Any

import click

from mercer.cli.completion import install_completion
from mercer.cli.console import one_line_warnings, tell
from mercer.cli.errors import EXIT_CODES, Failure, explain
from mercer.cli.options import unknown

VERBS = {
    "fit": "Find coordinates for the rows of a table.",
    "transform": "Place new rows with a saved model.",
    "inspect": "Describe a table, a model, coordinates or a run.json.",
    "evaluate": "Score coordinates against the table they came from.",
    "compare": "Score several maps side by side, or fit several methods.",
    "report": "Make a page of maps that opens offline.",
    "explore": "Open a page whose map follows its sliders.",
    "demo": "Show the methods at work on built-in data.",
}


class Verbs(click.Group):
    """A group that loads a verb when it is called, and reports every failure in one line on stderr."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return import_module(f"mercer.cli.{cmd_name}").command if cmd_name in VERBS else None

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[Any, Any, list[str]]:
        if args[0] not in VERBS:
            raise click.UsageError(unknown("verb", args[0], VERBS), ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Verbs"):
            formatter.write_dl(list(VERBS.items()))

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with one_line_warnings():
                return super().invoke(ctx)
        except (click.exceptions.Exit, click.ClickException, SystemExit):
            raise
        except BaseException as error:
            if ctx.meta.get("mercer.debug"):
                raise
            raise explain(error) from error

    def main(self, *args: Any, standalone_mode: bool = True, **extra: Any) -> Any:
        run: Any = super().main
        if not standalone_mode:
            return run(*args, standalone_mode=False, **extra)
        sys.stdin = sys.stdin or open(os.devnull)  # noqa: SIM115  closed by `<&-`: a table on it is empty
        sys.stdout = sys.stdout or ClosedStdout()
        if hasattr(sys.stdout, "reconfigure"):
            sys.stdout.reconfigure(errors="replace")  # a terminal that cannot show γ shows a question mark
            sys.stderr.reconfigure(errors="replace")  # type: ignore[union-attr]
        try:
            status = run(*args, standalone_mode=False, **extra)
            sys.stdout.flush()
        except (click.ClickException, click.Abort, KeyboardInterrupt, OSError) as error:
            leave(explain(error))
        sys.exit(status if isinstance(status, int) else 0)


def leave(failure: Failure) -> None:
    """Print the message of a failure on one line and exit with its status."""
    if failure.message:
        tell("mercer:", " ".join(failure.message.split()))
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        # Python flushes stdout at exit. A closed pipe or a full disk would make that a traceback.
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(failure.exit_code)


class ClosedStdout(io.StringIO):
    """Stands for a stdout that was closed by `>&-`, and refuses what is printed there."""

    def write(self, text: str) -> int:
        raise self._closed()

    @property
    def buffer(self) -> Any:
        """Where coordinates would be written."""
        raise self._closed()

    def _closed(self) -> OSError:
        return OSError(errno.EBADF, "it is closed; name a file with -o", "stdout")


@click.group(
    cls=Verbs,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=EXIT_CODES,
)
@click.version_option(package_name="mercer", message="mercer %(version)s")
@click.option(
    "--install-completion",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=install_completion,
    help="Have bash, zsh or fish complete verbs and options.",
)
@click.pass_context
def main(context: click.Context) -> None:
    """\b
    Examples:
      mercer fit table.csv --label kind -o coords.csv --report map.html
      mercer fit table.csv --method tsne -o map.csv --save map.mercer
      mercer transform map.mercer new.csv -o more.csv
      mercer evaluate table.csv coords.csv
      mercer compare table.csv --methods pca,kpca,tsne --report map.html
      mercer inspect table.csv
      mercer explore table.csv --label kind
      mercer demo digits

    Turn a table into coordinates, with scores of their quality and a page to look at: PCA, kernel PCA, kernel
    discriminants, kernel CCA, Isomap, MDS, SNE and t-SNE, exact to a stated tolerance, without the n × n matrix.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
