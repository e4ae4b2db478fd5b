"""`mercer demo`: the methods at work on built-in data."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import click

from mercer.cli.console import Console
from mercer.cli.errors import unsuitable
from mercer.cli.options import OUTPUT, option, run_options, unknown, verb
from mercer.cli.outputs import make_folder

DEMOS = ("circles", "swissroll", "crowding", "faces", "digits")
SHORT = ("circles", "digits")


def _known(context: click.Context, _: click.Parameter, names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        if name not in (*DEMOS, "all"):
            raise click.UsageError(unknown("demo", name, [*DEMOS, "all"]), context)
    return names


@verb("demo")
@click.argument("names", nargs=-1, callback=_known, metavar="[NAME]...")
@option(
    "--output",
    "-o",
    type=click.Path(path_type=Path),
    default=Path("demo"),
    show_default=True,
    metavar="FOLDER",
    section=OUTPUT,
    help="Folder for pictures and pages, made if it does not exist.",
)
@option("--no-page", is_flag=True, section=OUTPUT, help="Write pictures only.")
@run_options
def command(names: tuple[str, ...], output: Path, no_page: bool, console: Console) -> None:
    """\b
    Examples:
      mercer demo                     circles and digits
      mercer demo digits -o /tmp/d    one demo, with its files in /tmp/d
      mercer demo all

    \b
    circles    two rings that no straight projection tells apart: kernel PCA
    swissroll  a rolled-up sheet, unrolled: Isomap
    crowding   ten digits with and without room: SNE and t-SNE
    faces      is it a face, and whose? Eigenfaces
    digits     two maps of handwritten digits, their quality, and a page

    Each demo prints numbers on stdout and writes pictures as PNG files. The digits also make a page for a browser.
    """
    make_folder(output)

    from mercer.cli.demos.stage import MissingData, Stage

    stage = Stage(output, console, pages=not no_page)
    for place, name in enumerate(DEMOS if "all" in names else names or SHORT):
        if place:
            stage.say()
        try:
            import_module(f"mercer.cli.demos.{name}").show(stage)
        except MissingData as error:
            # A demo that was asked for by name fails without its data; among all of them it is only left out.
            if "all" not in names:
                raise unsuitable(str(error)) from error
            console.warn(str(error))
