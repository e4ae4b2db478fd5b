"""`mercer`: the verbs and how they fail. Nothing heavy is imported here, so that --help is there at once."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click


class OneLineErrors(click.Group):
    """A group whose failures are one line on stderr: exit status 2 for wrong usage, 1 for everything else."""

    def main(self, *args: Any, standalone_mode: bool = True, **extra: Any) -> Any:
        run: Any = super().main
        if not standalone_mode:
            return run(*args, standalone_mode=False, **extra)
        try:
            status = run(*args, standalone_mode=False, **extra)
        except click.ClickException as error:
            fail(error.format_message(), error.exit_code)
        except click.Abort:
            fail("stopped", 1)
        except (OSError, ValueError, MemoryError) as error:
            fail(str(error) or type(error).__name__, 1)
        sys.exit(status if isinstance(status, int) else 0)


def fail(message: str, status: int) -> None:
    """Say what went wrong in one line and leave."""
    click.echo(f"mercer: {' '.join(message.split())}", err=True)
    sys.exit(status)


@click.group(cls=OneLineErrors, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="mercer", message="mercer %(version)s")
@click.pass_context
def main(context: click.Context) -> None:
    """\b
    Examples:
      mercer demo                         kernel PCA on two data sets, pictures in ./demo
      mercer demo circles --output out    one of them, pictures in ./out

    Kernel PCA and its family: exact to a stated tolerance, without the n × n matrix.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@main.command(short_help="Kernel PCA on two rings and on handwritten digits.")
@click.argument("name", type=click.Choice(["circles", "digits", "all"]), default="all")
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path),
    default=Path("demo"),
    show_default=True,
    metavar="DIR",
    help="Folder for the pictures; made if it is not there.",
)
@click.option("--quiet", "-q", is_flag=True, help="Write the pictures and print nothing.")
def demo(name: str, output: Path, quiet: bool) -> None:
    """\b
    Examples:
      mercer demo                     both data sets
      mercer demo digits -o /tmp/d    scikit-learn's handwritten digits, pictures in /tmp/d

    Kernel PCA on two concentric rings, which no straight projection can tell apart, and on handwritten digits.

    For each: the eigenvalues with their certificate as a table on stdout, and pictures as PNG files.
    """
    from mercer.cli.demo import run

    run(["circles", "digits"] if name == "all" else [name], output, quiet=quiet)
