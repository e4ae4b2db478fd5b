"""`mercer explore`: a page whose map follows its sliders, served to this machine's browser."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mercer.cli.console import Console
from mercer.cli.errors import unsuitable
from mercer.cli.options import WholeNumber, option, run_options, table_choice, table_options, verb
from mercer.memory import amount

if TYPE_CHECKING:
    from mercer.live.live_table import LiveTable

SERVER = "Server"
BUILT_IN = ("digits",)  # tables that come with scikit-learn, to try the page with


@verb("explore")
@click.argument("table")
@table_options
@option(
    "--model",
    type=click.Path(exists=True, dir_okay=False),
    metavar="FILE",
    section=SERVER,
    help="Prepare the table as the rows of this saved model were, and begin with its settings.",
)
@option("--host", default="127.0.0.1", show_default=True, section=SERVER, help="Where to listen; others need --token.")
@option("--port", type=WholeNumber(0, 65535), default=0, section=SERVER, metavar="INT", help="A free port by default.")
@option(
    "--token",
    metavar="TEXT",
    section=SERVER,
    help="What the first address must contain, at least 16 characters; random by default.",
)
@option(
    "--name",
    "names",
    multiple=True,
    metavar="NAME",
    section=SERVER,
    help="Another name by which browsers may call the server, with --host.",
)
@option(
    "--idle",
    type=WholeNumber(1),
    default=30,
    show_default=True,
    metavar="MINUTES",
    section=SERVER,
    help="End the server when no page has been open for this long.",
)
@option("--no-browser", is_flag=True, section=SERVER, help="Print the address without opening it.")
@run_options
def command(
    table: str,
    model: str | None,
    host: str,
    port: int,
    token: str | None,
    names: tuple[str, ...],
    idle: int,
    no_browser: bool,
    console: Console,
    **options: Any,
) -> None:
    """\b
    Examples:
      mercer explore table.csv --label kind
      mercer explore digits                        1,797 images that come with scikit-learn
      mercer explore kpca.mercer                   a saved kernel PCA and its rows
      mercer explore table.csv --model map.mercer

    Open a page on which sliders for kernel, width, neighbours and perplexity move the map. It needs the extra
    explore: pip install 'mercer[explore]'. Only this machine can open the page, and only with the printed address.
    Ctrl-C ends it.
    """
    from mercer.live.launch import serve
    from mercer.live.server import LiveServer

    rows, settings = _table(table, model, table_choice(options), console)
    for note in rows.notes:
        console.note(note)
    try:
        server = LiveServer(rows, host=host, port=port, token=token, names=names, idle=60.0 * idle, first=settings)
    except ImportError as error:
        raise click.UsageError(str(error)) from error
    if server.is_open:
        console.warn(f"{host} opens the page to other machines: whoever has the token can read the table.")
    console.field("table", f"{rows.title}: {amount(rows.rows, 'row')}, {amount(rows.X.shape[1], 'column')}")
    click.echo(server.address)
    sys.stdout.flush()  # who reads it from a pipe must not wait for the end of the server
    serve(server, open_browser=not no_browser, wait=True, say=False)


def _table(path: str, model: str | None, choice: dict[str, Any], console: Console) -> tuple[LiveTable, Any]:
    """The rows of a file, a built-in table or a saved model, and the settings to begin with, if they are known."""
    if path in BUILT_IN and not Path(path).exists():
        return _digits(), None
    if model is None and path.lower().endswith(".mercer"):
        return _rows_of_model(path)
    return _rows_of_table(path, model, choice, console)


def _digits() -> LiveTable:
    from sklearn.datasets import load_digits

    from mercer.live.live_table import LiveTable
    from mercer.tables.images import thumbnail_of_array

    X, y = load_digits(return_X_y=True)
    images = [thumbnail_of_array(pixels) for pixels in (255 - 255 * X.reshape(-1, 8, 8) / 16).astype("uint8")]
    columns = {"digit": y.astype(str)}
    return LiveTable.of(X, title="digits", columns=columns, label="digit", images=images, image_shape=(8, 8))


def _rows_of_model(path: str) -> tuple[LiveTable, Any]:
    from mercer.cli.transform import open_model
    from mercer.live.launch import settings_of
    from mercer.live.live_table import LiveTable

    estimator, _ = open_model(path)
    rows = getattr(estimator, "X_fit_", None)
    if rows is None or getattr(rows, "ndim", 1) != 2 or getattr(estimator, "kernel", None) == "precomputed":
        raise unsuitable(
            f"A model of {type(estimator).__name__} does not keep its rows. Name their table as well: "
            f"mercer explore TABLE --model {path}"
        )
    features = [str(name) for name in getattr(estimator, "feature_names_in_", ())]
    return LiveTable.of(rows, title=Path(path).name, features=features), settings_of(estimator)


def _rows_of_table(path: str, model: str | None, choice: dict[str, Any], console: Console) -> tuple[LiveTable, Any]:
    from mercer.cli.pages import MOST_VALUES, columns_shown, label_name, title_of
    from mercer.cli.table_input import as_choice, read, refuse_no_rows
    from mercer.cli.transform import open_model, preparation_in
    from mercer.live.launch import settings_of
    from mercer.live.live_table import LiveTable

    settings = preparation = None
    if model is not None:
        estimator, notes = open_model(model)
        settings, preparation = settings_of(estimator), preparation_in(notes, "preparation")
    table = read(path, as_choice(choice), console, preparation=preparation, originals=MOST_VALUES)
    refuse_no_rows(table)
    label = choice.get("label")
    shape = getattr(table.preparation, "image", None)
    return (
        LiveTable.of(
            table.X,
            ids=table.ids,
            columns=columns_shown(table, label),
            label=label_name(table, label) if table.labels is not None else None,
            images=table.images,
            title=title_of(path),
            features=table.features,
            image_shape=(shape[1], shape[0]) if shape and shape[2] == 1 else None,
        ),
        settings,
    )
