"""`mercer transform`: place new rows with a saved model."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mercer.amounts import amount
from mercer.cli.console import Console, print_json
from mercer.cli.errors import unsuitable
from mercer.cli.methods import METHODS
from mercer.cli.options import (
    OUTPUT,
    TABLE,
    inert_option,
    json_option,
    option,
    reading_choice,
    reading_options,
    run_options,
    verb,
)
from mercer.cli.outputs import STDOUT, OutputFiles, refuse_bad_outputs, refuse_unwritable_table
from mercer.cli.record import input_entry, json_value, new_record, record_path

if TYPE_CHECKING:
    import numpy as np

    from mercer.tables.table import Preparation


TEXT_OPTIONS = ("delimiter", "encoding", "header", "sheet")  # how the fitted file was written, not the new one


@verb("transform")
@click.argument("model")
@click.argument("table")
@reading_options
@option("--second", metavar="TABLE", section=TABLE, help="For a model of kcca: new rows of its second table.")
@option("--label", metavar="COLUMN", section=TABLE, help="Column of classes to keep; by default the model's.")
@option("--id", metavar="COLUMN", section=TABLE, help="Column that names the rows; by default the model's.")
@option(
    "--output",
    "-o",
    metavar="FILE",
    default=STDOUT,
    show_default=True,
    section=OUTPUT,
    help="Coordinates, in the format of the suffix; - is csv on stdout.",
)
@inert_option
@json_option
@run_options
def command(
    model: str,
    table: str,
    second: str | None,
    label: str | None,
    id: str | None,
    output: str,
    inert: bool,
    as_json: bool,
    console: Console,
    **options: Any,
) -> None:
    """\b
    Examples:
      mercer transform map.mercer new.csv -o more.csv
      mercer transform map.mercer new.csv | head

    Find coordinates for new rows. The model file knows how the fitted rows were prepared, and new rows are prepared
    in the same way: the same columns, encoding and scaling. Ids and labels are kept.
    """
    if as_json and output == STDOUT:
        raise click.UsageError("--json and coordinates cannot both go to stdout. Name a file with -o.")
    if table.endswith(".mercer") and not model.endswith(".mercer"):
        raise click.UsageError(f"The model comes before the table: mercer transform {table} {model}.")
    inputs = [model, table, *([second] if second else [])]
    refuse_bad_outputs([output], inputs)  # a folder such as "." has no record beside it
    at = record_path(output)
    refuse_bad_outputs([] if output == STDOUT else [output, str(at)], inputs)
    refuse_unwritable_table(output)

    from mercer.cli.coordinates import write_coordinates
    from mercer.cli.table_input import source_name
    from mercer.tables.source import digest_of

    started = time.perf_counter()
    estimator, notes = open_model(model)
    if not hasattr(estimator, "transform"):
        raise unsuitable(f"A model of {type(estimator).__name__} cannot place new rows.")
    reading = reading_choice(options)
    fitted = {name: value for name, value in notes.get("choice", {}).items() if name not in ("rows", *TEXT_OPTIONS)}
    choice = fitted | {k: v for k, v in (("label", label), ("id", id)) if v} | reading
    rows = new_rows(estimator, notes, table, second, {"label": label, "id": id} | reading, choice, console)
    names: list[str] = []

    def write(path: str | Path) -> None:
        names.extend(write_coordinates(path, rows.parts, partial(_column_names, notes), inert=inert))
        for note in rows.notes:
            console.note(note)

    if output == STDOUT:
        write(STDOUT)
        return
    with OutputFiles() as files, console.working(f"placing the rows of {source_name(table)}"):
        part = files.add(output, write)
        record = new_record(
            "transform",
            method=str(notes.get("method", type(estimator).__name__.lower())),
            parameters=json_value(estimator.get_params(deep=False)),
            model={"path": model, "sha256": digest_of(Path(model))},
            input=rows.entry(),
            choice=json_value(choice),
            id=rows.id,
            label=rows.label,
            coordinates=names,
            seconds={"all": time.perf_counter() - started},
        )
        files.add_record(at, record, {"coordinates": (output, part)})
    console.field("table", f"{source_name(table)}: {amount(record['input']['rows'], 'row')}")
    console.field("model", f"{model}: {type(estimator).__name__}")
    console.field("coordinates", output)
    console.field("record", str(at))
    if as_json:
        print_json(record)


def open_model(path: str) -> tuple[Any, dict[str, Any]]:
    """The model of a file and its notes. A missing file is a fault of the input, not of the model."""
    from mercer.models.registry import load_model

    try:
        return load_model(path)
    except OSError as error:
        raise unsuitable(f"{path}: {error.strerror or error}") from error


def preparation_in(notes: dict[str, Any], name: str) -> Preparation | None:
    """The preparation that the notes of a model hold under this name."""
    from mercer.tables.table import Preparation

    return Preparation.from_dict(notes[name]) if notes.get(name) else None


@dataclass(frozen=True)
class NewRows:
    """Rows that a model places.

    parts : what stands beside them, and their coordinates, computed as they are asked for
    entry : the table as a record names it, when all parts have been read
    id, label : the names of the columns that stand beside, or None
    notes : what was noticed while parts were read
    """

    parts: Iterable[tuple[dict[str, np.ndarray], np.ndarray]]
    entry: Callable[[], dict[str, Any]]
    id: str | None
    label: str | None
    notes: list[str] = field(default_factory=list)


def new_rows(
    estimator: Any,
    notes: dict[str, Any],
    path: str,
    second: str | None,
    asked: dict[str, Any],
    choice: dict[str, Any],
    console: Console,
) -> NewRows:
    """New rows, prepared as the model's rows were: read part by part if their format allows it, else as a whole.

    asked : the options about the table that were given
    choice : those, and the choices of the fit
    """
    import numpy as np

    from mercer.cli.coordinates import carried_columns, carried_names
    from mercer.cli.table_input import match, read
    from mercer.streams.table_rows import open_new_rows
    from mercer.tables.table import Choice

    preparation = preparation_in(notes, "preparation")
    if second is None and Path(path).is_file():
        found = open_new_rows(path, Choice(**{"keep": ()} | asked), preparation)
        if found is not None:
            parts = ((beside, np.asarray(estimator.transform(X))) for beside, X in found.placed_from())
            return NewRows(parts, found.entry, found.id, found.label, found.notes)
    rows = read(path, Choice(**asked), console, preparation=preparation)
    if second is None:
        with console.working(f"placing {amount(rows.X.shape[0], 'row')}"):
            values = np.asarray(estimator.transform(rows.X))
    elif not hasattr(estimator, "transform_y"):
        raise unsuitable(f"--second is for models of kernel CCA, not of {type(estimator).__name__}.")
    else:  # the rows of two tables are matched in memory
        other = read(second, Choice(id=asked["id"]), console, preparation=preparation_in(notes, "second"))
        rows, other = match(rows, other, (path, second), console, id=asked["id"])
        values = np.hstack([estimator.transform(rows.X), estimator.transform_y(other.X)])
    id_, label = carried_names(rows, choice)
    return NewRows([(carried_columns(rows, choice), values)], lambda: input_entry(path, rows), id_, label)


def _column_names(notes: dict[str, Any], count: int) -> list[str]:
    """Names for the coordinates: those of the fit, or axis1, axis2, … for a model that was saved from Python."""
    if notes.get("coordinates"):
        return list(notes["coordinates"])[:count]
    method = METHODS.get(str(notes.get("method")))
    return method.column_names(count) if method else [f"axis{i}" for i in range(1, count + 1)]
