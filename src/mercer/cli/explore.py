"""`mercer explore`: a page whose map follows its sliders, served to this machine's browser."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mercer.amounts import amount
from mercer.cli.console import Console
from mercer.cli.errors import unsuitable
from mercer.cli.options import WholeNumber, option, run_options, table_choice, table_options, verb

if TYPE_CHECKING:
    import numpy as np

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
@option(
    "--add",
    type=click.Path(exists=True),
    metavar="TABLE",
    section=SERVER,
    help="Another table with the same columns, whose rows can be added to the map: placed in it, or mapped with it.",
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
    add: str | None,
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
      mercer explore table.csv --add new.csv       rows that can be added to the map

    Open a page on which sliders for kernel, width, neighbours and perplexity move the map. It needs the extra
    explore: pip install 'mercer[explore]'. Only this machine can open the page, and only with the printed address.
    Ctrl-C ends it.
    """
    from mercer.live.launch import serve
    from mercer.live.server import LiveServer

    rows, settings = _table(table, model, add, table_choice(options), console)
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


def _table(
    path: str, model: str | None, add: str | None, choice: dict[str, Any], console: Console
) -> tuple[LiveTable, Any]:
    """The rows of a file, a built-in table or a saved model, and the settings to begin with, if they are known."""
    built_in = path in BUILT_IN and not Path(path).exists()
    if add is not None and (built_in or (model is None and path.lower().endswith(".mercer"))):
        raise click.UsageError("--add needs a table in a file: its rows are prepared as those of the first are.")
    if built_in:
        return _digits(), None
    if model is None and path.lower().endswith(".mercer"):
        return _rows_of_model(path)
    return _rows_of_table(path, model, add, choice, console)


def _digits() -> LiveTable:
    from sklearn.datasets import load_digits

    from mercer.live.live_table import LiveTable
    from mercer.tables.images import thumbnail_of_array

    X, y = load_digits(return_X_y=True)
    images = [thumbnail_of_array(pixels) for pixels in (255 - 255 * X.reshape(-1, 8, 8) / 16).astype("uint8")]
    columns = {"digit": y.astype(str)}
    table = LiveTable.of(X, title="digits", columns=columns, label="digit", images=images, image_shape=(8, 8))
    return replace(table, origin="from sklearn.datasets import load_digits\nX = load_digits().data")


def _rows_of_model(path: str) -> tuple[LiveTable, Any]:
    from mercer.cli.transform import open_model
    from mercer.live.launch import settings_of
    from mercer.live.live_table import LiveTable

    estimator, notes = open_model(path)
    rows = getattr(estimator, "X_fit_", None)
    if rows is None or getattr(rows, "ndim", 1) != 2 or getattr(estimator, "kernel", None) == "precomputed":
        raise unsuitable(
            f"A model of {type(estimator).__name__} does not keep its rows. Name their table as well: "
            f"mercer explore TABLE --model {path}"
        )
    features = [str(name) for name in getattr(estimator, "feature_names_in_", ())]
    found = LiveTable.of(rows, title=Path(path).name, features=features)
    return replace(found, model_notes=_prepared(notes)), settings_of(estimator)


def _prepared(notes: dict[str, Any]) -> dict[str, Any]:
    """What the notes of a model say about how its rows were read and prepared."""
    return {name: notes[name] for name in ("choice", "preparation") if name in notes}


def _rows_of_table(
    path: str, model: str | None, add: str | None, choice: dict[str, Any], console: Console
) -> tuple[LiveTable, Any]:
    import numpy as np

    from mercer.cli.pages import MOST_VALUES, columns_shown, label_name, title_of
    from mercer.cli.record import json_value
    from mercer.cli.table_input import as_choice, read, refuse_no_rows
    from mercer.cli.transform import open_model, preparation_in
    from mercer.live.launch import settings_of
    from mercer.live.live_table import LiveTable

    settings = preparation = None
    notes: dict[str, Any] = {"choice": json_value(choice)}
    if model is not None:
        estimator, notes = open_model(model)
        settings, preparation = settings_of(estimator), preparation_in(notes, "preparation")
    asked = as_choice(choice)
    table = read(path, asked, console, preparation=preparation, originals=MOST_VALUES)
    refuse_no_rows(table)
    label = choice.get("label")
    shape = getattr(table.preparation, "image", None)
    columns, ids, images, more = columns_shown(table, label), table.ids, table.images, None
    if add is not None:
        kept = {"keep": choice["keep"]} if "keep" in choice else {}
        others = read(add, as_choice(kept), console, preparation=table.preparation, originals=MOST_VALUES)
        more = others.X
        columns = _stacked(columns, columns_shown(others, label), others.X.shape[0])
        ids = ids if ids is None or others.ids is None else np.concatenate([ids, others.ids])
        images = images if images is None or others.images is None else [*images, *others.images]
    found = LiveTable.of(
        table.X,
        ids=ids,
        columns=columns,
        label=label_name(table, label) if table.labels is not None else None,
        images=images,
        title=title_of(path),
        features=table.features,
        image_shape=(shape[1], shape[0]) if shape and shape[2] == 1 else None,
        more=more,
    )
    found = replace(found, model_notes=_prepared(notes | {"preparation": table.preparation.to_dict()}))
    # A page tells no paths: what it gives is to be run in the folder of the table.
    name, other = title_of(path), title_of(add) if add is not None else None
    if model is None and path != "-":
        words, more_words = (name, *words_of(choice)), (other,) if other else ()
        found = replace(found, words=words, more_words=more_words, origin=_origin(name, other, choice) + found.origin)
    return found, settings


def _stacked(columns: dict[str, np.ndarray], others: dict[str, np.ndarray], count: int) -> dict[str, np.ndarray]:
    """The columns of two tables one below the other, without values where the second does not have a column."""
    import numpy as np

    from mercer.live.live_table import filled

    stacked = {}
    for name, values in columns.items():
        below = others.get(name)
        same = below is not None and (below.dtype.kind in "OUT") == (values.dtype.kind in "OUT")
        stacked[name] = np.concatenate([values, below]) if same else filled(values, len(values) + count)
    return stacked


def words_of(choice: dict[str, Any]) -> list[str]:
    """The options of `mercer fit` that read a table as this choice does.

    >>> words_of({"label": "kind", "drop": ("a", "b, c"), "header": False, "rows": (1, None)})
    ['--label', 'kind', '--drop', 'a', '--drop', '"b, c"', '--no-header', '--rows', '1:']
    """
    words: list[str] = []
    for name, value in choice.items():
        if name == "header":
            words.append("--header" if value else "--no-header")
        elif name == "rows":
            words += ["--rows", f"{value[0]}:{'' if value[1] is None else value[1]}"]
        elif isinstance(value, tuple):
            words += [word for each in value for word in (f"--{name}", f'"{each}"' if "," in each else each)]
        else:
            words += [f"--{name}", {"\t": "tab"}.get(value, str(value))]
    return words


def _origin(name: str, other: str | None, choice: dict[str, Any]) -> str:
    """Lines of Python that read the tables."""
    given = ", ".join(f"{key}={value!r}" for key, value in choice.items())
    lines = [
        "from mercer.tables import Choice, read_table",
        f"table = read_table({name!r}, Choice({given}))",
        "X = table.X",
    ]
    if other is not None:
        lines.append(f"X_more = read_table({other!r}, preparation=table.preparation).X")
    return "\n".join(lines) + "\n"
