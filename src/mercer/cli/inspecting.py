"""The work of `mercer inspect`: which kind of file it is, and what it says."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import numpy as np

from mercer.cli.data import source_name
from mercer.cli.errors import unsuitable
from mercer.cli.messages import Voice, print_json, print_table, print_text
from mercer.cli.parameters import HIDDEN
from mercer.cli.record import facts_of, plain, read_record, record_beside
from mercer.memory import format_bytes

MOST_COLUMNS = 40  # of a wide table that are listed
MOST_PAIRS = 20  # of a spectrum


def run(file: str, as_json: bool, voice: Voice) -> None:
    if file != "-" and not Path(file).exists():
        raise unsuitable(f"{file}: there is no such file")
    name = file.lower()
    if name.endswith(".json"):
        document = read_record(file)
        _show(document, as_json, lambda: print_record(document))
    elif name.endswith(".mercer") or _is_model(file):
        about = model_facts(file)
        _show(about, as_json, lambda: print_model(file, about))
    else:
        record = record_beside(file)
        with voice.working(f"reading {file}"):
            about = table_facts(file)
        if record is not None:
            about["run"] = record
        _show(about, as_json, lambda: print_facts(about))


def _show(document: Any, as_json: bool, show: Any) -> None:
    if as_json:
        print_json(plain(document))
    else:
        show()


def _is_model(file: str) -> bool:
    """A safetensors file begins with the length of its JSON header and a brace."""
    if file == "-" or not Path(file).is_file():
        return False
    with open(file, "rb") as head:
        start = head.read(9)
    return len(start) == 9 and start[8:9] == b"{" and int.from_bytes(start[:8], "little") < 10**8


# --- tables --------------------------------------------------------------------------------------------------


def table_facts(path: str) -> dict[str, Any]:
    """What a table holds, column by column, and what to do about it."""
    from mercer.tables.table import read_columns

    columns = read_columns(path)
    n = len(next(iter(columns.values()))) if columns else 0
    described = {name: column_facts(values) for name, values in columns.items()}
    return {
        "path": path,
        "rows": n,
        "columns": described,
        "duplicate_rows": duplicates(columns, n),
        "suggestions": suggestions(described, n),
    }


def column_facts(values: np.ndarray) -> dict[str, Any]:
    """Kind, missing values, range or the commonest values of a column."""
    if values.dtype.kind in "iufb":
        numbers = values.astype(np.float64)
        missing = ~np.isfinite(numbers)
        known = numbers[~missing]
        whole = bool(known.size) and bool(np.all(known == np.floor(known)))
        facts: dict[str, Any] = {"kind": "yes/no" if values.dtype.kind == "b" else "whole" if whole else "number"}
        distinct = int(np.unique(known).size)
        if known.size:
            facts |= {"least": float(known.min()), "median": float(np.median(known)), "most": float(known.max())}
            facts |= {"deviation": float(known.std())}
    else:
        missing = np.array([value is None or value == "" or value != value for value in values.tolist()], bool)
        texts = np.array([str(value) for value in values[~missing].tolist()], dtype=object)
        names, counts = np.unique(texts.astype(str), return_counts=True) if texts.size else (np.array([]), np.array([]))
        order = np.argsort(-counts, kind="stable")[:3]
        distinct = len(names)
        facts = {"kind": "text", "commonest": {str(names[i]): int(counts[i]) for i in order}}
    return facts | {"missing": int(missing.sum()), "distinct": distinct}


def duplicates(columns: dict[str, np.ndarray], n: int) -> int:
    """Rows that are the same as an earlier one, by a hash of their values."""
    if not columns or not n:
        return 0
    hashes = np.zeros(n, np.uint64)
    for values in columns.values():
        if values.dtype.kind in "iufb":
            own = np.nan_to_num(values.astype(np.float64) + 0.0, nan=1e300).view(np.uint64)
        else:
            own = np.array([hash(str(value)) & 0xFFFFFFFFFFFFFFFF for value in values.tolist()], np.uint64)
        hashes = (hashes ^ own) * np.uint64(0x9E3779B97F4A7C15)
        hashes ^= hashes >> np.uint64(29)
    return n - len(np.unique(hashes))


def suggestions(columns: dict[str, dict[str, Any]], n: int) -> list[str]:
    """Options of `mercer fit` that this table asks for."""
    text = [name for name, facts in columns.items() if facts["kind"] == "text"]
    missing = [name for name, facts in columns.items() if facts["missing"] and facts["kind"] != "text"]
    constant = [name for name, facts in columns.items() if facts["distinct"] <= 1] if n > 1 else []
    names = [name for name in text if columns[name]["distinct"] == n > 1]
    classes = [
        name
        for name, facts in columns.items()
        if name not in names
        and 1 < facts["distinct"] <= max(2, min(50, n // 4))
        and facts["kind"] in ("text", "whole", "yes/no")
    ]
    others = [name for name in text if name not in names]
    spread = [facts["deviation"] for facts in columns.values() if facts.get("deviation")]
    found = []
    if names:
        found.append(f"--id {shlex.quote(names[0])}: its values are all different")
    named = [name for name in classes if name.lower() in ("label", "target", "class", "kind", "species", "y", "digit")]
    guess = named or [name for name in classes if name in text]
    if guess:
        found.append(f"--label {shlex.quote(guess[0])}: {columns[guess[0]]['distinct']} different values")
        others = [name for name in others if name != guess[0]]
    if others:
        found.append(f"--encode onehot, or --drop {typed(*others)}: text is no number")
    if missing:
        found.append(
            f"--impute median: values are missing in {', '.join(missing[:4])}{' …' if len(missing) > 4 else ''}"
        )
    if 0 < len(constant) < len(columns):
        found.append(f"--drop {typed(*constant)}: {'they are' if len(constant) > 1 else 'it is'} constant")
    if spread and max(spread) > 100 * sorted(spread)[(len(spread) - 1) // 2]:
        found.append("--scale standard: a column varies a hundred times as much as most, and would be all that counts")
    return found


def typed(*names: str) -> str:
    """Names of columns as --drop takes them, typed in a shell; the first of them where they are many.

    >>> typed("a", "b"), typed("petal width"), typed(*"abcdefghi")
    ('a,b', "'petal width'", 'a,b,c,d,e,f,… (9 columns)')
    """
    many = len(names) > 8
    quoted = [f'"{name}"' if "," in name else name for name in names[: 6 if many else None]]
    text = shlex.quote(",".join(quoted))
    return f"{text},… ({len(names):,} columns)" if many else text


def print_facts(about: dict[str, Any]) -> None:
    columns = about["columns"]
    missing = sum(facts["missing"] for facts in columns.values())
    print_text(f"{source_name(about['path'])}: {about['rows']:,} rows, {len(columns):,} columns", bold=True)
    print_text(f"{missing:,} values missing, {about['duplicate_rows']:,} rows a copy of an earlier one")
    print_text()
    rows = [_column_line(name, facts) for name, facts in list(columns.items())[:MOST_COLUMNS]]
    print_table(["column", "kind", "missing", "distinct", "range or commonest values"], rows, left=(0, 1, 4))
    if len(columns) > MOST_COLUMNS:
        print_text(f"and {len(columns) - MOST_COLUMNS:,} columns more; --json has all")
    if "run" in about:
        print_text()
        print_record(about["run"])
    elif about["suggestions"]:
        print_text()
        print_text("For mercer fit:", bold=True)
        for line in about["suggestions"]:
            print_text(f"  {line}")


def _column_line(name: str, facts: dict[str, Any]) -> list[str]:
    if facts["kind"] == "text":
        told = ", ".join(f"{_short(value)} ({count:,})" for value, count in facts["commonest"].items())
    elif "least" not in facts:
        told = "-"
    elif facts["distinct"] == 1:
        told = f"always {facts['least']:.6g}"
    else:
        told = f"{facts['least']:.4g} … {facts['median']:.4g} … {facts['most']:.4g}"
    return [_short(name, 30), facts["kind"], f"{facts['missing']:,}", f"{facts['distinct']:,}", told]


def _short(text: str, most: int = 24) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 1] + "…"


# --- models --------------------------------------------------------------------------------------------------


def model_facts(path: str) -> dict[str, Any]:
    """What a model file holds."""
    from mercer.cli.placing import open_model
    from mercer.models.container import read_container

    model, notes = open_model(path)
    _, document, _ = read_container(path)
    return {
        "path": path,
        "mercer": document.get("mercer"),
        "format": document.get("format"),
        "bytes": Path(path).stat().st_size,
        "class": type(model).__name__,
        "parameters": plain(model.get_params(deep=False)),
        "features": plain(getattr(model, "n_features_in_", None)),
        "fit": facts_of(model),
        "notes": notes,
    }


def print_model(path: str, about: dict[str, Any]) -> None:
    print_text(
        f"{path}: {about['class']}, {format_bytes(about['bytes'])}, written by Mercer {about['mercer']}", bold=True
    )
    source = about["notes"].get("input")
    if isinstance(source, dict):
        print_text(f"fitted to {source.get('path')}: {source.get('rows')} rows, {source.get('columns')} columns")
    print_text()
    given = {name: value for name, value in about["parameters"].items() if name not in HIDDEN - {"random_state"}}
    rows = [[name, _value(value)] for name, value in given.items() if value is not None]
    print_table(["parameter", "value"], rows, left=(0, 1))
    print_spectrum(about["fit"])


def print_spectrum(facts: dict[str, Any]) -> None:
    """Eigenvalues with their residuals, and the single numbers of a fit."""
    values = facts.get("eigenvalues") or facts.get("correlations") or facts.get("explained_variance_ratio")
    columns = [
        (heading, facts[name], form)
        for heading, name, form in (
            ("eigenvalue", "eigenvalues", "{:.6g}"),
            ("correlation", "correlations", "{:.6g}"),
            ("share", "explained_variance_ratio", "{:.2%}"),
            ("residual", "residuals", "{:.1e}"),
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
    solver = facts.get("solver") or facts.get("report")
    known = (solver if isinstance(solver, dict) else {}) | facts
    single = [[name, _value(value)] for name, value in known.items() if not isinstance(value, list | dict)]
    if single:
        print_text()
        print_table(["known of the fit", "value"], single, left=(0, 1))


def _value(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return _short(str(value), 120)


# --- runs ----------------------------------------------------------------------------------------------------


def print_record(record: dict[str, Any]) -> None:
    source = record["input"]
    shape = f"{source.get('rows')} rows, {source.get('columns')} columns"
    command = " ".join(map(str, record.get("command", [])))
    print_text(f"{record.get('verb', 'fit')}, {record['method']}: {command}", bold=True)
    lines = [
        ("input", f"{source.get('path')}: {shape}, sha256 {str(source.get('sha256'))[:12]}…"),
        ("finished", str(record.get("finished", "-")) + (" (stopped)" if record.get("stopped") else "")),
        ("time", ", ".join(f"{name} {seconds:.2g} s" for name, seconds in record.get("seconds", {}).items())),
        ("seed", str(record.get("seed", "-"))),
        ("versions", ", ".join(f"{name} {number}" for name, number in record.get("versions", {}).items())),
    ]
    lines += [
        (str(entry.get("what")), f"{entry.get('path')}, sha256 {str(entry.get('sha256'))[:12]}…")
        for entry in record["outputs"]
    ]
    given = {name: value for name, value in record["parameters"].items() if value is not None}
    lines.append(("parameters", ", ".join(f"{name}={_value(value)}" for name, value in given.items())))
    print_table(["", ""], [[name, told] for name, told in lines if told], left=(0, 1))
    if isinstance(record.get("fit"), dict):
        print_spectrum(record["fit"])
