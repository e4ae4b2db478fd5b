"""Maps with their scores, side by side: which is the best, and how far they agree with one another."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite
from typing import TYPE_CHECKING, Any

from mercer.cli.console import Console, four_digits, print_table, print_text, terminal_width
from mercer.cli.record import json_value

if TYPE_CHECKING:
    import numpy as np

    from mercer.cli.map_file import MapFile
    from mercer.tables.table import Table
    from mercer.web.page import Map


@dataclass(frozen=True)
class ScoredMap:
    """A map with a name and its scores."""

    name: str
    values: np.ndarray  # (n, k)
    axes: list[str]
    scores: list[Any]
    record: dict[str, Any] | None
    stopped: bool = False

    def drawn(self, whole_record: bool = False) -> Map:
        """The map as a page has it."""
        from mercer.cli.pages import run_shown
        from mercer.web.page import Map

        run = run_shown(self.record, whole_record)
        return Map(self.name, self.values, self.axes, json_value(self.scores) or None, run)


def scored(maps: list[MapFile], table: Table | None, console: Console, **settings: Any) -> list[ScoredMap]:
    """Maps with their scores against a table. Without a table they have none."""
    from mercer.cli.map_file import map_names
    from mercer.cli.pages import quality_report

    found = []
    for name, each in zip(map_names(maps), maps, strict=True):
        scores: list[Any] = []
        if table is not None:
            with console.working(f"scoring {name}"):
                scores = quality_report(table, each.values, **settings).scores
        found.append(ScoredMap(name, each.values, each.names, scores, each.record))
    return found


def agreement(a: ScoredMap, b: ScoredMap, neighbors: int, seed: int = 0) -> dict[str, Any]:
    """How far two maps agree. The disparity is None if all points of a map coincide."""
    from mercer.quality import neighborhood_overlap, procrustes_disparity

    k = min(neighbors, len(a.values) - 1)
    try:
        disparity = procrustes_disparity(a.values, b.values).value
    except ValueError:
        disparity = None
    overlap = neighborhood_overlap(a.values, b.values, n_neighbors=k, random_state=seed).value
    return {"maps": [a.name, b.name], "disparity": disparity, "neighbor_overlap": overlap}


def print_side_by_side(maps: list[ScoredMap], width: int | None = None) -> None:
    """Print scores as rows and maps as columns, with a star for the best of each, ties included.

    Maps that do not fit side by side into `width`, the terminal's by default, follow in tables below.
    """
    table = {m.name: {score.name: score for score in m.scores} for m in maps}
    columns: list[list[str]] = [[m.name] for m in maps]
    winners: list[list[int]] = []
    for score in maps[0].scores:
        scores = [table[m.name].get(score.name) for m in maps]
        winners.append(best_of(scores))
        for i, found in enumerate(scores):
            columns[i].append(_cell(found, i in winners[-1]))
    titles = ["score", *(score.title for score in maps[0].scores)]
    ideal = ["best", *(four_digits(score.best) for score in maps[0].scores)]
    room = (width or terminal_width() or 10**6) - max(map(len, titles)) - max(map(len, ideal)) - 4
    for place, run in enumerate(_runs([max(map(len, column)) + 2 for column in columns], room)):
        if place:
            print_text()
        shown = [titles, *(columns[i] for i in run), ideal]
        headings, *lines = [list(line) for line in zip(*shown, strict=True)]
        marks = {(r, 1 + run.index(i)): "bold green" for r, won in enumerate(winners) for i in won if i in run}
        print_table(headings, lines, marks=marks)


def _runs(widths: list[int], room: int) -> list[list[int]]:
    """Consecutive columns that fit into the room together, at least one in each run.

    >>> _runs([10, 10, 10], 25)
    [[0, 1], [2]]
    """
    runs: list[list[int]] = [[]]
    for i, width in enumerate(widths):
        if runs[-1] and sum(widths[j] for j in runs[-1]) + width > room:
            runs.append([])
        runs[-1].append(i)
    return runs


def best_of(scores: list[Any]) -> list[int]:
    """The maps whose score is nearest to the best value, to the digits shown. Empty if all maps are equally near."""
    gaps = [inf if s is None or not isfinite(s.value) else abs(s.value - s.best) for s in scores]
    least = min(gaps)
    # Four digits are shown: scores that differ by less than half of the last one look the same.
    found = [i for i, gap in enumerate(gaps) if isfinite(gap) and gap - least < 5e-5]
    return found if len(found) < len(scores) else []


def _cell(score: Any, best: bool) -> str:
    if score is None:
        return "- "
    spread = f" ± {score.error:.3f}" if score.error else ""
    return f"{four_digits(score.value)}{spread}{'*' if best else ' '}"


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
