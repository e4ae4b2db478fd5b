"""`mercer demo`: the methods at work on data that is here already."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import click

from mercer.cli.console import Console
from mercer.cli.options import OUTPUT, option, run_options, unknown, verb

DEMOS = {
    "circles": "two rings that no straight projection tells apart: kernel PCA",
    "swissroll": "a rolled-up sheet, unrolled: Isomap",
    "crowding": "ten digits with and without room: SNE and t-SNE",
    "faces": "is it a face, and whose? Eigenfaces",
    "digits": "two maps of handwritten digits, their quality, and a page",
}
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
    help="Where pictures and pages go; made if it is not there.",
)
@option("--no-page", is_flag=True, section=OUTPUT, help="Pictures alone.")
@run_options
def command(names: tuple[str, ...], output: Path, no_page: bool, console: Console) -> None:
    """\b
    Examples:
      mercer demo                     circles and digits
      mercer demo digits -o /tmp/d    one of them, pictures in /tmp/d
      mercer demo all

    \b
    circles    two rings that no straight projection tells apart: kernel PCA
    swissroll  a rolled-up sheet, unrolled: Isomap
    crowding   ten digits with and without room: SNE and t-SNE
    faces      is it a face, and whose? Eigenfaces
    digits     two maps of handwritten digits, their quality, and a page

    For each: numbers on stdout and pictures as PNG files; for the digits also a page that opens in a browser.
    """
    run(list(names) or list(SHORT), output, console, pages=not no_page)


def run(names: list[str], output: Path, console: Console, *, pages: bool = True) -> None:
    """Run the demos in `names`, "all" being each of them; those whose data is missing are left out of all."""
    from mercer.cli.demos.faces import NoFaces
    from mercer.cli.demos.stage import Stage
    from mercer.cli.errors import unsuitable
    from mercer.cli.outputs import make_folder

    make_folder(output)
    stage = Stage(output, console, pages=pages)
    wanted = list(DEMOS) if "all" in names else names
    for place, name in enumerate(wanted):
        show: Any = import_module(f"mercer.cli.demos.{name}").show
        if place:
            stage.say()
        try:
            show(stage)
        except NoFaces as error:
            if "all" not in names:
                raise unsuitable(str(error)) from error
            console.warn(str(error))
