"""`mercer transform`: place new rows with a saved model."""

from __future__ import annotations

import time
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
from mercer.cli.record import input_entry, json_value, new_record, record_path, write_record

if TYPE_CHECKING:
    import numpy as np

    from mercer.streams.table_rows import TableRows, TextRows
    from mercer.tables.table import Preparation, Table


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
    refuse_bad_outputs([output], inputs)
    at = record_path(output)
    refuse_bad_outputs([] if output == STDOUT else [output, str(at)], inputs)
    refuse_unwritable_table(output)

    from mercer.cli.fitted import carried_names, map_columns
    from mercer.cli.streamed import write_in_parts
    from mercer.cli.table_input import source_name
    from mercer.tables.source import digest_of
    from mercer.tables.table import write_table

    started = time.perf_counter()
    estimator, notes = open_model(model)
    reading = reading_choice(options)
    asked = {"label": label, "id": id} | reading
    parts = _in_parts(table, notes, asked, second)
    if parts is None:
        rows = _read_new(table, notes, asked, console)
        rows, values = _placed(estimator, notes, rows, second, (table, second or ""), id, console)
    else:
        _refuse_no_transform(estimator)
    fitted = {name: value for name, value in notes.get("choice", {}).items() if name not in ("rows", *TEXT_OPTIONS)}
    choice = fitted | {k: v for k, v in (("label", label), ("id", id)) if v} | reading
    names: list[str] = []

    def write(path: str | Path) -> None:
        safe = inert and path != STDOUT
        if parts is not None:
            names.extend(write_in_parts(path, estimator, parts, partial(_column_names, notes), inert=safe))
            return
        names.extend(_column_names(notes, values.shape[1]))
        write_table(path, map_columns(rows, names, values, choice), inert=safe)

    if output == STDOUT:
        write(STDOUT)
        _tell_notes(parts, console)
        return
    with OutputFiles() as files, console.working(f"placing the rows of {source_name(table)}"):
        part = files.add(output, write)
        _tell_notes(parts, console)
        id_, label_ = carried_names(rows, choice) if parts is None else (parts.id, parts.label)
        entry = input_entry(table, rows) if parts is None else parts.entry()
        count = len(values) if parts is None else parts.rows
        record = new_record(
            "transform",
            method=str(notes.get("method", type(estimator).__name__.lower())),
            parameters=json_value(estimator.get_params(deep=False)),
            model={"path": model, "sha256": digest_of(Path(model))},
            input=entry,
            choice=json_value(choice),
            id=id_,
            label=label_,
            coordinates=names,
            seconds={"all": time.perf_counter() - started},
        )
        record["outputs"] = [{"what": "coordinates", "path": output, "sha256": digest_of(part)}]
        files.add(at, lambda path: write_record(record, path))
    console.field("table", f"{source_name(table)}: {amount(count, 'row')}")
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


def _read_new(path: str, notes: dict[str, Any], asked: dict[str, Any], console: Console) -> Table:
    """New rows, prepared as the model's rows were. Its label and id are kept if the new table has them."""
    from mercer.cli.table_input import read
    from mercer.tables.table import Choice

    return read(path, Choice(**asked), console, preparation=preparation_in(notes, "preparation"))


def _in_parts(
    path: str, notes: dict[str, Any], asked: dict[str, Any], second: str | None
) -> TableRows | TextRows | None:
    """The new rows, read part by part if their format allows it. Two tables are matched row by row, in memory."""
    from mercer.streams.table_rows import open_new_rows
    from mercer.tables.table import Choice

    if second is not None or not Path(path).is_file():
        return None
    return open_new_rows(path, Choice(**{"keep": ()} | asked), preparation_in(notes, "preparation"))


def _tell_notes(parts: TableRows | TextRows | None, console: Console) -> None:
    """What was noticed while the parts of a table were read."""
    for note in [] if parts is None else parts.notes:
        console.note(note)


def _refuse_no_transform(estimator: Any) -> None:
    if not hasattr(estimator, "transform"):
        raise unsuitable(f"A model of {type(estimator).__name__} cannot place new rows.")


def _placed(
    estimator: Any,
    notes: dict[str, Any],
    rows: Table,
    second: str | None,
    names: tuple[str, str],
    id: str | None,
    console: Console,
) -> tuple[Table, np.ndarray]:
    """The rows that were placed, and their coordinates."""
    import numpy as np

    _refuse_no_transform(estimator)
    if second is None:
        with console.working(f"placing {amount(rows.X.shape[0], 'row')}"):
            return rows, np.asarray(estimator.transform(rows.X))
    if not hasattr(estimator, "transform_y"):
        raise unsuitable(f"--second is for models of kernel CCA, not of {type(estimator).__name__}.")
    from mercer.cli.table_input import match, read
    from mercer.tables.table import Choice

    other = read(second, Choice(id=id), console, preparation=preparation_in(notes, "second"))
    rows, other = match(rows, other, names, console, id=id)
    return rows, np.hstack([estimator.transform(rows.X), estimator.transform_y(other.X)])


def _column_names(notes: dict[str, Any], count: int) -> list[str]:
    """Names for the coordinates: those of the fit, or axis1, axis2, … for a model that was saved from Python."""
    if notes.get("coordinates"):
        return list(notes["coordinates"])[:count]
    method = METHODS.get(str(notes.get("method")))
    return method.column_names(count) if method else [f"axis{i}" for i in range(1, count + 1)]
