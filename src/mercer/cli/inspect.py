"""`mercer inspect`: describe a table, a model, coordinates or a run.json."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from textwrap import TextWrapper
from typing import Any

import click

from mercer.amounts import amount
from mercer.cli.console import (
    Console,
    figures,
    print_json,
    print_pairs,
    print_table,
    print_text,
    spoken,
    terminal_width,
)
from mercer.cli.errors import unsuitable
from mercer.cli.methods import HIDDEN
from mercer.cli.options import json_option, reading_choice, reading_options, run_options, verb
from mercer.cli.record import fit_facts, json_value, read_record, record_beside
from mercer.cli.summary import LOW_RANK

MOST_COLUMNS = 40  # that are listed; --json has all
MOST_PAIRS = 20  # of a spectrum
_FORGOTTEN = (("seconds", 0), ("seconds", 0.0))  # model files leave out the time, so that equal models are equal files


@verb("inspect")
@click.argument("file")
@reading_options
@json_option
@run_options
def command(file: str, as_json: bool, console: Console, **options: Any) -> None:
    """\b
    Examples:
      mercer inspect table.csv
      mercer inspect model.mercer
      mercer inspect coords.csv
      mercer inspect coords.run.json --json

    Describe a file. For a table: its rows and columns, their kinds and ranges, what is missing, constant or repeated,
    and which options to give to mercer fit. For a model: its class, parameters and spectrum. For coordinates and for a
    run.json: the run that made them.
    """
    from mercer.tables.source import refuse_address

    refuse_address(file)
    if file != "-" and not Path(file).exists():
        raise unsuitable(f"{file}: the file does not exist.")
    about, show = _described(file, reading_choice(options), console)
    if as_json:
        print_json(json_value(about))
    else:
        show(about)


def _described(
    file: str, reading: dict[str, Any], console: Console
) -> tuple[dict[str, Any], Callable[[dict[str, Any]], None]]:
    """What a file holds, and the function that prints it."""
    if file.lower().endswith(".json"):
        return read_record(file), print_record
    if file.lower().endswith(".mercer") or _is_model(file):
        return model_facts(file), print_model
    from mercer.cli.table_facts import table_facts
    from mercer.tables.preparation import Choice

    record = record_beside(file)
    with console.working(f"reading {file}"):
        about = table_facts(file, Choice(**reading))
    return about | ({} if record is None else {"run": record}), print_facts


def _is_model(file: str) -> bool:
    """Whether a file begins like safetensors: the length of a JSON header, then a brace."""
    if file == "-" or not Path(file).is_file():
        return False
    with open(file, "rb") as head:
        start = head.read(9)
    longest = 10**8  # bytes of a header: the limit of safetensors itself
    return len(start) == 9 and start[8:9] == b"{" and int.from_bytes(start[:8], "little") < longest


# --- tables --------------------------------------------------------------------------------------------------


def print_facts(about: dict[str, Any]) -> None:
    from mercer.cli.table_input import source_name

    columns = about["columns"]
    missing = sum(facts["missing"] for facts in columns.values())
    print_text(
        f"{source_name(about['path'])}: {amount(about['rows'], 'row')}, {amount(len(columns), 'column')}", bold=True
    )
    print_text(f"{amount(missing, 'missing value')}, {amount(about['duplicate_rows'], 'repeated row')}")
    print_text()
    rows = [_column_line(name, facts) for name, facts in list(columns.items())[:MOST_COLUMNS]]
    print_table(["column", "kind", "missing", "distinct", "range or most common values"], rows, left=(0, 1, 4))
    if len(columns) > MOST_COLUMNS:
        print_text(f"and {amount(len(columns) - MOST_COLUMNS, 'more column')}; --json lists all")
    if "run" in about:
        print_text()
        print_record(about["run"])
    elif about["suggestions"]:
        print_text()
        print_text("Options for mercer fit:", bold=True)
        for line in about["suggestions"]:
            _print_wrapped(f"  {line}")


def _print_wrapped(text: str) -> None:
    """Print text in lines that fit the terminal. Words stay whole, so options can be copied; a pipe gets one line."""
    lines = TextWrapper(
        terminal_width() or 10**6, subsequent_indent=" " * 6, break_long_words=False, break_on_hyphens=False
    )
    for line in lines.wrap(text):
        print_text(line)


def _column_line(name: str, facts: dict[str, Any]) -> list[str]:
    if facts["kind"] == "vector":
        told = f"lists of {facts['width']:,} numbers"
    elif facts["kind"] == "date":
        told = " … ".join(facts["range"]) or "-"
    elif "commonest" in facts:
        told = ", ".join(f"{_short(value)} ({count:,})" for value, count in facts["commonest"].items())
    elif "least" not in facts:
        told = "-"
    elif facts["distinct"] == 1:
        told = f"always {figures(facts['least'])}"
    else:
        told = " … ".join(figures(facts[name]) for name in ("least", "median", "most"))
    if facts.get("infinite"):
        told += f"; {facts['infinite']:,} infinite"
    return [_short(name, 30), facts["kind"], f"{facts['missing']:,}", f"{facts['distinct']:,}", told]


def _short(text: str, most: int = 24) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 1] + "…"


# --- models --------------------------------------------------------------------------------------------------


def model_facts(path: str) -> dict[str, Any]:
    """What a model file holds."""
    from mercer.cli.transform import open_model
    from mercer.models.container import read_container

    model, notes = open_model(path)
    _, document, _ = read_container(path)
    return {
        "path": path,
        "mercer": document.get("mercer"),
        "format": document.get("format"),
        "bytes": Path(path).stat().st_size,
        "class": type(model).__name__,
        "parameters": json_value(model.get_params(deep=False)),
        "features": json_value(getattr(model, "n_features_in_", None)),
        "fit": fit_facts(model),
        "notes": notes,
    }


def print_model(about: dict[str, Any]) -> None:
    from mercer.memory import format_bytes

    size = format_bytes(about["bytes"])
    print_text(f"{about['path']}: {about['class']}, {size}, written by Mercer {about['mercer']}", bold=True)
    source = about["notes"].get("input")
    if isinstance(source, dict):
        print_text(f"fitted to {source.get('path')}: {_shape(source)}")
    print_text()
    given = {name: value for name, value in about["parameters"].items() if name not in HIDDEN - {"random_state"}}
    rows = [[name, _value(value)] for name, value in given.items() if value is not None]
    print_table(["parameter", "value"], rows, left=(0, 1))
    print_spectrum(about["fit"])


def print_spectrum(facts: dict[str, Any]) -> None:
    """Print eigenvalues with their residuals, and the single numbers of a fit."""
    from mercer.memory import format_bytes

    values = facts.get("eigenvalues") or facts.get("correlations") or facts.get("explained_variance_ratio")
    solver = facts.get("solver") or facts.get("report")
    bounded = isinstance(solver, dict) and solver.get("name") == LOW_RANK  # its residuals are bounds, told once
    columns = [
        (heading, facts[name], form)
        for heading, name, form in (
            ("eigenvalue", "eigenvalues", "{:.6g}"),
            ("correlation", "correlations", "{:.6g}"),
            ("share", "explained_variance_ratio", "{:.2%}"),
            ("residual", "residuals" if not bounded else "", "{:.1e}"),
            ("error bound", "eigenvalue_error", "{:.1e}"),
        )
        if isinstance(facts.get(name), list) and values and len(facts[name]) == len(values)
    ]
    columns = [column for column in columns if not isinstance(column[1][0], list)]
    if values:
        print_text()
        rows = [
            [str(i + 1), *(form.format(v[i]) for _, v, form in columns)] for i in range(min(len(values), MOST_PAIRS))
        ]
        print_table(["#", *(heading for heading, _, _ in columns)], rows, left=())
    known = (solver if isinstance(solver, dict) else {}) | facts
    told = {"bytes": format_bytes, "seconds": spoken}
    single = [
        [name, told.get(name, _value)(value)]
        for name, value in known.items()
        if value is not None and not isinstance(value, list | dict) and (name, value) not in _FORGOTTEN
    ]
    if single:
        print_text()
        print_table(["fact about the fit", "value"], single, left=(0, 1))


def _value(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return _short(str(value), 120)


def _shape(source: dict[str, Any]) -> str:
    """The size of a table, as a record or a model has it."""
    rows, columns = source.get("rows"), source.get("columns")
    if not isinstance(rows, int) or not isinstance(columns, int):
        return "of unknown size"
    return f"{amount(rows, 'row')}, {amount(columns, 'column')}"


# --- runs ----------------------------------------------------------------------------------------------------


def print_record(record: dict[str, Any]) -> None:
    source = record["input"]
    command = " ".join(map(str, record.get("command", [])))
    print_text(f"{record.get('verb', 'fit')}, {record['method']}: {command}", bold=True)
    lines = [
        ("input", f"{source.get('path')}: {_shape(source)}, sha256 {str(source.get('sha256'))[:12]}…"),
        ("finished", str(record.get("finished", "-")) + (" (stopped)" if record.get("stopped") else "")),
        ("time", ", ".join(f"{name} {spoken(seconds)}" for name, seconds in record.get("seconds", {}).items())),
        ("seed", str(record.get("seed", "-"))),
        ("versions", ", ".join(f"{name} {number}" for name, number in record.get("versions", {}).items())),
    ]
    lines += [
        (str(entry.get("what")), f"{entry.get('path')}, sha256 {str(entry.get('sha256'))[:12]}…")
        for entry in record["outputs"]
    ]
    given = {name: value for name, value in record["parameters"].items() if value is not None}
    lines.append(("parameters", ", ".join(f"{name}={_value(value)}" for name, value in given.items())))
    print_pairs([(name, told) for name, told in lines if told])
    if isinstance(record.get("fit"), dict):
        print_spectrum(record["fit"])
