"""The work of `mercer compare`: maps read or fitted, scored side by side, and held against one another."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import click
import numpy as np

from mercer.cli.coords import map_names, matched, read_coords
from mercer.cli.data import as_choice, read, refuse_metric, source_name
from mercer.cli.errors import STOPPED, Failure
from mercer.cli.fitting import fit_table, record_of, refuse_no_rows, write
from mercer.cli.messages import Voice, print_json, print_table, print_text
from mercer.cli.methods import METHODS
from mercer.cli.options import closest
from mercer.cli.outputs import Writing, make_folder, refuse_bad_outputs, refuse_other_than_page
from mercer.cli.pages import quality_report, title_of, writer
from mercer.cli.record import plain, record_path
from mercer.cli.request import Request
from mercer.cli.scoring import number, sample_size, table_of
from mercer.quality import neighborhood_overlap, procrustes_disparity
from mercer.tables.table import Table
from mercer.web.page import Map


@dataclass(frozen=True)
class Scored:
    """A map with a name and its scores."""

    name: str
    values: np.ndarray  # (n, k)
    axes: list[str]
    scores: list[Any]
    record: dict[str, Any] | None
    stopped: bool = False


def run(
    choice: dict[str, Any],
    *,
    table: str,
    coordinates: tuple[str, ...],
    methods: tuple[str, ...],
    coords: tuple[str, ...],
    neighbors: int,
    sample: str,
    metric: str,
    output: str | None,
    report: str | None,
    as_json: bool,
    seed: int,
    jobs: int | None,
    voice: Voice,
) -> None:
    _refuse(coordinates, methods, choice, output)
    settings = {"neighbors": neighbors, "sample": sample_size(sample), "seed": seed, "metric": metric}
    refuse_metric(metric)
    refuse_other_than_page(report)
    written = [] if output is None else [str(path) for path in _places(output, methods)]
    if output is not None:
        make_folder(Path(output))
    refuse_bad_outputs([*written, *([report] if report else [])], [table, *coordinates])
    if methods:
        request = Request(table, "auto", choice=choice, seed=seed, jobs=jobs)
        rows, maps = _fitted(request, methods, output, settings, voice)
    else:
        rows, maps = _read(table, coordinates, coords, choice, settings, voice)
    pairs = [agreement(a, b, neighbors, seed) for a, b in combinations(maps, 2)]
    if report is not None:
        drawn = [Map(m.name, m.values, m.axes, plain(m.scores), m.record) for m in maps]
        title = f"{title_of(table)}: {', '.join(m.name for m in maps)}"
        with Writing() as files:
            files.add(report, writer(title, drawn, rows, choice.get("label")))
    if as_json:
        print_json({"table": table, "maps": {m.name: plain(m.scores) for m in maps}, "agreement": pairs})
    else:
        n, d = rows.X.shape
        print_text(f"{source_name(table)}: {n:,} rows, {d:,} columns", bold=True)
        print_side_by_side(maps)
        print_agreement(pairs)
    if report is not None:
        voice.field("page", report)
    if methods and (len(maps) < len(methods) or maps[-1].stopped):
        raise Failure(f"stopped; compared are {', '.join(m.name for m in maps)}", STOPPED)


def _refuse(coordinates: tuple[str, ...], methods: tuple[str, ...], choice: dict[str, Any], output: str | None) -> None:
    if bool(coordinates) == bool(methods):
        raise click.UsageError("name files of coordinates, or methods to fit with --methods, and not both")
    unknown = [method for method in methods if method not in METHODS or method == "kcca"]
    if unknown:
        fit = [name for name in METHODS if name != "kcca"]
        raise click.UsageError(f"--methods {unknown[0]}: {closest(unknown[0], fit) or 'there are ' + ', '.join(fit)}")
    if "kda" in methods and not choice.get("label"):
        raise click.UsageError("kda separates classes: name their column with --label")
    if output is not None and not methods:
        raise click.UsageError("--output is for the maps that --methods fits")
    if len(set(methods)) < len(methods) or len(set(coordinates)) < len(coordinates):
        raise click.UsageError("a map is named twice")


def _places(folder: str, methods: tuple[str, ...]) -> list[Path]:
    """The files that the maps of these methods are written to, with their records."""
    maps = [Path(folder) / f"{method}.csv" for method in methods]
    return [*maps, *map(record_path, maps)]


def _fitted(
    request: Request, methods: tuple[str, ...], output: str | None, settings: dict[str, Any], voice: Voice
) -> tuple[Table, list[Scored]]:
    """A map by each method. Ctrl-C ends with those that are there."""
    rows = read(request.table, as_choice(request.choice), voice)
    refuse_no_rows(rows)
    found: list[Scored] = []
    for method in methods:
        place = None if output is None else str(Path(output) / f"{method}.csv")
        try:
            found.append(_fit_one(replace(request, method=method, output=place), rows, settings, voice))
        except KeyboardInterrupt:
            if not found:
                raise
            break
        if found[-1].stopped:
            break
    return rows, found


def _fit_one(request: Request, rows: Table, settings: dict[str, Any], voice: Voice) -> Scored:
    fit = fit_table(request.method, "asked for", rows, None, {}, voice, seed=request.seed, jobs=request.jobs)
    seconds = {"fit": fit.seconds}
    record = record_of(request, fit, seconds)
    if request.output is not None:
        write(request, fit, record, record_path(request.output), voice, seconds)
        voice.field("wrote", request.output)
    with voice.working(f"scoring {request.method}"):
        scores = quality_report(rows, fit.coordinates, **settings).scores
    return Scored(request.method, fit.coordinates, fit.names, scores, record, fit.stopped)


def _read(
    path: str,
    files: tuple[str, ...],
    coords: tuple[str, ...],
    choice: dict[str, Any],
    settings: dict[str, Any],
    voice: Voice,
) -> tuple[Table, list[Scored]]:
    maps = matched([read_coords(file, coords=coords, id=choice.get("id")) for file in files])
    rows, first = table_of(path, maps[0], choice, voice)
    maps = matched([first, *maps[1:]])
    found = []
    for name, map_ in zip(map_names(maps), maps, strict=True):
        with voice.working(f"scoring {name}"):
            scores = quality_report(rows, map_.values, **settings).scores
        found.append(Scored(name, map_.values, map_.names, scores, map_.record))
    return rows, found


# --- agreement -----------------------------------------------------------------------------------------------


def agreement(a: Scored, b: Scored, neighbors: int, seed: int = 0) -> dict[str, Any]:
    """How far two maps are the same: their shapes, and their neighbours."""
    k = min(neighbors, len(a.values) - 1)
    overlap = neighborhood_overlap(a.values, b.values, n_neighbors=k, random_state=seed)
    return {
        "maps": [a.name, b.name],
        "disparity": _disparity(a.values, b.values),
        "neighbor_overlap": overlap.value,
    }


def _disparity(A: np.ndarray, B: np.ndarray) -> float | None:
    """The Procrustes disparity, or None if all points of a map coincide."""
    try:
        return procrustes_disparity(A, B).value
    except ValueError:
        return None


# --- what is printed -----------------------------------------------------------------------------------------


def print_side_by_side(maps: list[Scored]) -> None:
    """Scores as rows and maps as columns; a star for the best of each, ties included."""
    names = [score.name for score in maps[0].scores]
    table = {m.name: {score.name: score for score in m.scores} for m in maps}
    lines, marks = [], dict[tuple[int, int], str]()
    for r, name in enumerate(names):
        scores: list[Any] = [table[m.name].get(name) for m in maps]
        best = best_of(scores)
        lines.append(
            [scores[0].title, *(_cell(score, i in best) for i, score in enumerate(scores)), number(scores[0].best)]
        )
        marks |= {(r, i + 1): "bold green" for i in best}
    print_table(["score", *(m.name for m in maps), "best"], lines, marks=marks)


def best_of(scores: list[Any]) -> list[int]:
    """The maps whose score is nearest to its ideal, within rounding of what is shown; none where all are the same."""
    gaps = [np.inf if s is None or not np.isfinite(s.value) else abs(s.value - s.best) for s in scores]
    least = min(gaps)
    found = [i for i, gap in enumerate(gaps) if np.isfinite(gap) and gap - least < 5e-5]
    return found if len(found) < len(scores) else []


def _cell(score: Any, best: bool) -> str:
    if score is None:
        return "- "
    doubt = f" ± {score.error:.3f}" if score.error else ""
    return f"{number(score.value)}{doubt}{'*' if best else ' '}"


def print_agreement(pairs: list[dict[str, Any]]) -> None:
    if pairs:
        print_text()
        rows = [
            [
                " – ".join(p["maps"]),
                "-" if p["disparity"] is None else f"{p['disparity']:.4f}",
                f"{p['neighbor_overlap']:.4f}",
            ]
            for p in pairs
        ]
        print_table(["maps", "Procrustes disparity", "shared neighbours"], rows)
