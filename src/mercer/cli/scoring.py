"""The work of `mercer evaluate`: a table and a map of it, matched, and their scores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np

from mercer.cli.coords import Coords, read_coords
from mercer.cli.data import as_choice, common_rows, read, refuse_lengths, refuse_metric, rows_of
from mercer.cli.messages import Voice, print_json, print_table, print_text
from mercer.cli.pages import quality_report
from mercer.cli.record import digest_of, plain
from mercer.tables.table import Table


def evaluate(
    choice: dict[str, Any],
    *,
    table: str,
    coordinates: str,
    coords: tuple[str, ...],
    neighbors: int,
    sample: str,
    metric: str,
    model: str | None,
    explain: bool,
    as_json: bool,
    seed: int,
    voice: Voice,
) -> None:
    """Score one map."""
    drawn = sample_size(sample)
    refuse_metric(metric)
    found = read_coords(coordinates, coords=coords, id=choice.get("id"), label=None)
    rows, found = table_of(table, found, choice, voice, model=model)
    with voice.working("looking at neighbours"):
        report = quality_report(rows, found.values, seed=seed, neighbors=neighbors, sample=drawn, metric=metric)
    scores = report.scores
    for note in report.notes:
        voice.say(f"mercer: note: {note}")
    if as_json:
        print_json({"table": table, "coordinates": coordinates, "columns": found.names, "scores": plain(scores)})
        return
    method = f", {found.method}" if found.method else ""
    n, d = rows.X.shape
    print_text(f"{coordinates}{method}: {n:,} rows, {d:,} columns as {len(found.names)}", bold=True)
    print_scores(scores, explain=explain)


def print_scores(scores: list[Any], *, explain: bool = False) -> None:
    """A table of scores with their errors and ideals, and what they mean if that is asked for."""
    rows = [[s.title, number(s.value), error(s.error), number(s.best), f"{s.rows:,} {s.unit}", s.note] for s in scores]
    marks = {(i, 1): "bold" for i in range(len(rows))} | {(i, 5): "bright_black" for i in range(len(rows))}
    print_table(["score", "value", "± error", "best", "from", ""], rows, left=(0, 5), marks=marks)
    if explain:
        print_text()
        for score in scores:
            print_text(f"{score.title}: {score.meaning}")


def number(value: float) -> str:
    """A score: four digits after the point, or `-` where there is none."""
    return "-" if value is None or not np.isfinite(value) else f"{value:.4f}" if value % 1 else f"{value:.0f}"


def error(value: float) -> str:
    return "exact" if value == 0 else "-" if value is None or not np.isfinite(value) else f"{value:.4f}"


def sample_size(text: str) -> int | str | None:
    """What --sample means."""
    if text in ("auto", "none"):
        return None if text == "none" else text
    if text.isdigit() and int(text) > 0:
        return int(text)
    raise click.UsageError(f"--sample takes auto, none or a number of rows, not {text!r}")


def table_of(
    path: str, found: Coords, choice: dict[str, Any], voice: Voice, *, model: str | None = None
) -> tuple[Table, Coords]:
    """The table that a map is of, prepared as it was then unless options say otherwise, and the map, row by row."""
    merged = found.choice | choice
    preparation = None
    if model is None and not choice:
        model = _model_of(found, voice)
    if model is not None:
        from mercer.cli.placing import open_model, preparation_of

        preparation = preparation_of(open_model(model)[1], "preparation")
    table = read(path, as_choice(merged), voice, preparation=preparation)
    if table.ids is not None and found.ids is not None:
        mine, theirs = common_rows(table.ids, found.ids, (path, found.path))
        return rows_of(table, mine), found.rows(theirs)
    refuse_lengths(table.X.shape[0], len(found.values), (path, found.path))
    return table, found


def _model_of(found: Coords, voice: Voice) -> str | None:
    """The model that placed the rows of a map, if one did and it is still there: it knows how they were prepared."""
    record = found.record or {}
    placed = record.get("model") if record.get("verb") == "transform" else None
    if not isinstance(placed, dict):
        return None
    path = Path(str(placed.get("path")))
    if path.is_file() and digest_of(path) == placed.get("sha256"):
        return str(path)
    voice.warn(f"{path}, which placed {found.path}, is gone or has changed: the table is prepared anew (see --model)")
    return None
