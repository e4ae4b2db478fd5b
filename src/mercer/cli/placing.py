"""The work of `mercer transform`."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from typing import Any

import click
import numpy as np

from mercer.cli.data import match, read, source_name
from mercer.cli.errors import unsuitable
from mercer.cli.fitting import carried_names, columns_of, coordinate_names
from mercer.cli.messages import Voice, print_json
from mercer.cli.outputs import STDOUT, Writing, refuse_bad_outputs, refuse_unwritable_table
from mercer.cli.record import FORMAT, VERSION, command_line, digest_of, plain, record_path, versions
from mercer.models.registry import load_model
from mercer.tables.table import Choice, Preparation, Table, write_table


def run(
    *,
    model: str,
    table: str,
    second: str | None,
    label: str | None,
    id: str | None,
    output: str,
    as_json: bool,
    voice: Voice,
) -> None:
    if as_json and output == STDOUT:
        raise click.UsageError("--json and coordinates cannot both go to stdout: name a file with -o")
    inputs = [model, table, *([second] if second else [])]
    refuse_bad_outputs([output], inputs)
    at = None if output == STDOUT else record_path(output)
    refuse_bad_outputs([output, *([str(at)] if at else [])], inputs)
    refuse_unwritable_table(output)
    started = time.perf_counter()
    estimator, notes = open_model(model)
    rows = read_new(table, notes, label=label, id=id, voice=voice)
    values, other = _placed(estimator, notes, rows, second, (table, second or ""), id, voice)
    rows = rows if other is None else other
    names = list(notes.get("coordinates") or coordinate_names(str(notes.get("method", "axis")), values.shape[1]))[
        : values.shape[1]
    ]
    choice = dict(notes.get("choice", {})) | {k: v for k, v in (("label", label), ("id", id)) if v}
    columns = columns_of(rows, names, values, choice)
    record = {
        "format": FORMAT,
        "version": VERSION,
        "verb": "transform",
        "command": command_line(),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "method": str(notes.get("method", type(estimator).__name__.lower())),
        "parameters": plain(estimator.get_params(deep=False)),
        "model": {"path": model, "sha256": digest_of(model)},
        "input": {"path": table, "sha256": rows.digest, "rows": rows.X.shape[0], "columns": rows.X.shape[1]},
        "choice": plain(choice),
        "id": carried_names(rows, choice)[0],
        "label": carried_names(rows, choice)[1],
        "coordinates": names,
        "seconds": {"all": time.perf_counter() - started},
        "versions": versions(),
        "outputs": [],
    }
    if output == STDOUT:
        write_table(STDOUT, columns)
        return
    with Writing() as files:
        part = files.add(output, lambda path: write_table(path, columns))
        record["outputs"] = [{"what": "coordinates", "path": output, "sha256": digest_of(part)}]
        text = json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        assert at is not None
        files.add(at, lambda path: path.write_text(text, encoding="utf-8"))
    voice.field("table", f"{source_name(table)}: {len(values):,} rows")
    voice.field("model", f"{model}: {type(estimator).__name__}")
    voice.field("coordinates", output)
    voice.field("record", str(at))
    if as_json:
        print_json(record)


def open_model(path: str) -> tuple[Any, dict[str, Any]]:
    """The model of a file and its notes; that it is not there is a fault of the input."""
    try:
        return load_model(path)
    except OSError as error:
        raise unsuitable(f"{path}: {error.strerror or error}") from error


def read_new(path: str, notes: dict[str, Any], *, label: str | None, id: str | None, voice: Voice) -> Table:
    """New rows, prepared as a model's rows were; the model's label and id are carried along where they are there."""
    preparation = preparation_of(notes, "preparation")
    if preparation is None:
        return read(path, Choice(label=label, id=id), voice)
    return read(path, Choice(label=label, id=id), voice, preparation=preparation)


def preparation_of(notes: dict[str, Any], name: str) -> Preparation | None:
    return Preparation.from_dict(notes[name]) if notes.get(name) else None


def _placed(
    estimator: Any,
    notes: dict[str, Any],
    rows: Table,
    second: str | None,
    names: tuple[str, str],
    id: str | None,
    voice: Voice,
) -> tuple[np.ndarray, Table | None]:
    """Coordinates, and the rows they are of where some were left out."""
    if not hasattr(estimator, "transform"):
        raise unsuitable(f"a model of {type(estimator).__name__} cannot place new rows")
    if second is None:
        with voice.working(f"placing {rows.X.shape[0]:,} rows"):
            return np.asarray(estimator.transform(rows.X)), None
    if not hasattr(estimator, "transform_y"):
        raise unsuitable(f"--second is for models of kernel CCA, not of {type(estimator).__name__}")
    other = read(second, Choice(id=id), voice, preparation=preparation_of(notes, "second"))
    rows, other = match(rows, other, names, voice)
    return np.hstack([estimator.transform(rows.X), estimator.transform_y(other.X)]), rows
