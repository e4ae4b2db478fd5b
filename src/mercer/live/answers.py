"""The answers to a page's questions about the map that it shows."""

from __future__ import annotations

import dataclasses
import math
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mercer.live.controls import METHODS, Settings
from mercer.live.cursor_rows import CursorRow, CursorRows
from mercer.live.data_gaps import DataGaps
from mercer.live.descent_runs import DescentRun
from mercer.live.group_differences import GroupDifferences, group_differences
from mercer.live.isomap_graph import GraphQuestions, read_cut
from mercer.live.level_sets import level_sets
from mercer.live.live_table import LiveTable
from mercer.live.map_stages import MapFrame
from mercer.live.settings_text import as_command, as_python
from mercer.models.model_file import save_model
from mercer.quality.inputs import ExactIndex, data_index
from mercer.web.page import NearRows, Page, page_bytes
from mercer.web.row_quality import RowQuality

Answer = tuple[dict[str, Any], dict[str, np.ndarray]]

MOST_BYTES = 256_000_000  # of a model or a page that a browser takes
MOST_EXAMINED = 50_000  # rows up to which shortcuts are looked for while someone waits
_COUNTS = range(4, 31, 2)  # numbers of neighbours that are compared
_FUNCTIONS = ("kpca", "pca", "isomap")  # methods whose coordinates mean something beyond their distances
_TOLD = 10  # variables that an answer names
_MOST_DRAWN = 20_000  # rows drawn over level sets
_NEIGHBORS = 10  # of a row, that its map is to keep
_LIVE_PAIRS = 40_000_000  # of rows that quality is measured on: all rows up to 6,300


@dataclasses.dataclass(frozen=True)
class Shown:
    """The map that a page shows.

    page_table, table : the table of all rows of the page, and that of the rows that are mapped
    settings, frame : what was asked for, and the last map, of the mapped rows
    everyone : the coordinates of all rows of the page
    runs : of a descent, that led to the map
    """

    page_table: LiveTable
    table: LiveTable
    settings: Settings
    frame: MapFrame | None
    everyone: np.ndarray | None = None
    runs: Sequence[DescentRun] = ()


class Answers:
    """Finds answers, and keeps what the next answer can use."""

    def __init__(self) -> None:
        self._table: LiveTable | None = None
        self._gaps: DataGaps | None = None
        self._index: ExactIndex | None = None
        self._quality: RowQuality | None = None
        self._graphs: GraphQuestions | None = None
        self._rows: tuple[MapFrame, CursorRows] | None = None

    # --- what is taken along ---------------------------------------------------------------------------------

    def text(self, shown: Shown) -> Answer:
        command, note = as_command(shown.settings, shown.page_table, shown.runs)
        return {"python": as_python(shown.settings, shown.page_table, shown.runs), "command": command, "note": note}, {}

    def model(self, shown: Shown) -> Answer:
        frame = _settled(shown)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.mercer"
            save_model(frame.estimator, path, {"method": shown.settings["method"], **shown.page_table.model_notes})
            return _file(path.read_bytes())

    def page(self, shown: Shown) -> Answer:
        frame = _settled(shown)
        run = {"method": shown.settings["method"], "parameters": shown.settings, **dict(frame.facts)}
        hidden = shown.settings.get("added") == "hidden"
        table = shown.table if hidden else shown.page_table
        everyone = frame.coordinates if hidden or shown.everyone is None else shown.everyone
        page = table.page(METHODS[shown.settings["method"]], everyone, frame.axes, run)
        return _file(page_bytes(self._with_quality(page, shown)))

    def _with_quality(self, page: Page, shown: Shown) -> Page:
        """The page with the nearest rows in the data and the quality of each row, which it could not compute itself."""
        if shown.table.rows < 3 or shown.frame is None:
            return page
        quality = self._row_quality(shown)
        missing = len(page.maps[0].coordinates) - shown.table.rows
        scores = {
            name: np.concatenate([values, np.full(missing, np.nan)])
            for name, values in quality.scores(shown.frame.coordinates).items()
        }
        near = NearRows(quality.near.indices, quality.rows) if missing else quality.near
        maps = [dataclasses.replace(page.maps[0], row_scores=scores)]
        return dataclasses.replace(page, maps=maps, neighbors=near)

    # --- places of the map ---------------------------------------------------------------------------------

    def cursor(self, shown: Shown, place: np.ndarray) -> Answer:
        found = self._cursor_rows(shown)(place)
        names = _names(shown.table, len(found.values))
        spread = shown.table.spread if len(found.values) <= 1000 else np.ones(len(found.values))
        unusual = np.abs(found.values - shown.table.middle) / np.where(spread > 0, spread, 1.0)
        told = np.sort(np.argsort(-unusual, kind="stable")[:_TOLD])
        header = _of_row(found) | {"values": [[names[j], _number(found.values[j])] for j in told]}
        return header, {"row": found.values} if shown.table.image_shape else {}

    def path(self, shown: Shown, start: int, end: int, count: int) -> Answer:
        if max(start, end) >= shown.table.rows:
            raise ValueError("An added row is not part of the map that the path runs through.")
        places, rows = self._cursor_rows(shown).path(start, end, count)
        header, buffers = _strip(shown.table, np.array([row.values for row in rows]), [_of_row(row) for row in rows])
        return header | {"start": start, "end": end}, buffers | {"places": places.T}

    def levels(self, shown: Shown, component: int, across: tuple[int, int] | None, base: int | None) -> Answer:
        frame = _settled(shown)
        if shown.settings["method"] not in _FUNCTIONS:
            raise ValueError(
                "The coordinates of this map are no functions of the data. Those of kernel PCA, PCA and Isomap are."
            )
        if base is not None and base >= shown.table.rows:
            base = None  # an added row that is not mapped
        shape = frame.coordinates.astype(np.float64)
        found = level_sets(shown.table, frame.estimator.transform, shape, component, across, base)
        stride = -(-len(found.points) // _MOST_DRAWN)
        names = ["principal axis 1", "principal axis 2"]
        if across is not None:
            every = _names(shown.table, shown.table.X.shape[1])
            names = [every[j] for j in across]
        header = {
            "component": component,
            "axis": frame.axes[component],
            "names": names,
            "ranges": [list(each) for each in found.ranges],
            "side": len(found.values),
            "stride": stride,
        }
        return header, {"values": found.values, "points": found.points[::stride].T}

    # --- groups of rows --------------------------------------------------------------------------------------

    def groups(self, shown: Shown, first: np.ndarray, second: np.ndarray) -> Answer:
        hidden = shown.settings.get("added") == "hidden"
        table = shown.table if hidden else shown.page_table.joined
        found = group_differences(table, first[: table.rows], second[: table.rows])
        scores = np.full(shown.page_table.rows, np.nan)
        scores[: table.rows] = found.scores
        names = _names(table, len(found.contributions))
        rows, steps = self._along(shown, table, (first, second), found)
        strip, buffers = _strip(table, rows, steps)
        header = {
            "loo_error": _number(found.error),
            "loo_error_se": _number(found.error_se),
            "chance": _number(found.chance),
            "rows": list(found.rows),
            "variables": [
                [
                    names[j],
                    _number(found.contributions[j]),
                    _number(found.differences[j]),
                    _number(found.means[0, j]),
                    _number(found.means[1, j]),
                ]
                for j in found.variables[:_TOLD]
            ],
        }
        images = {"first": found.means[0], "second": found.means[1]} if table.image_shape else {}
        strip["reached"] = [_number(share) for share in found.reached(rows)]
        return header | strip, images | buffers | {"scores": scores}

    def _along(
        self, shown: Shown, table: LiveTable, groups: tuple[np.ndarray, np.ndarray], found: GroupDifferences
    ) -> tuple[np.ndarray, list[dict[str, Any]]]:
        """Rows along the direction between two groups, and what is told of each of them."""
        if not isinstance(table.X, np.ndarray):
            return found.along, [{"how": "interpolated"} for _ in found.along]
        inverted = self._cursor_rows(shown)
        if inverted.how == "interpolated" or shown.everyone is None:
            gaps = DataGaps(table)
            return found.along, [_of_row(CursorRow(row, "interpolated", *gaps(row))) for row in found.along]
        start, end = (shown.everyone[: table.rows][group[: table.rows]].mean(axis=0, dtype=float) for group in groups)
        rows = [inverted(start + share * (end - start)) for share in found.shares]
        return np.array([row.values for row in rows]), [_of_row(row) for row in rows]

    # --- the graph of neighbours -----------------------------------------------------------------------------

    def graph(self, shown: Shown) -> Answer:
        frame = _settled(shown)
        if shown.settings["method"] != "isomap":
            raise ValueError("Only maps of Isomap have a graph.")
        _refuse_too_many(shown.table.rows)
        cut = read_cut(shown.settings.get("cut", ""), shown.table.rows)
        found = self._graph_questions(shown).graph(frame.estimator, shown.settings["n_neighbors"], cut)
        suspected = found.suspected
        header = {
            "count": found.count,
            "cut": [list(pair) for pair in cut],
            "suspected": [
                [int(edge.i), int(edge.j), _number(edge.length), _number(edge.detour), _number(edge.share)]
                for edge in suspected
            ],
        }
        return header, {"edges": found.edges.T.astype(np.float32)}  # row numbers below 2²⁴ are exact in float32

    def diagnosis(self, shown: Shown) -> Answer:
        n = shown.table.rows
        _refuse_too_many(n)
        current = [shown.settings["n_neighbors"]] if shown.settings["method"] == "isomap" else []
        found = self._graph_questions(shown).diagnosis([k for k in {*_COUNTS, *current} if k < n])
        columns = zip(
            found.n_neighbors.tolist(),
            found.components.tolist(),
            found.residual_variance.tolist(),
            found.n_shortcuts.tolist(),
            found.share.tolist(),
            strict=True,
        )
        return {
            "graphs": [[k, parts, _number(left), cuts, _number(share)] for k, parts, left, cuts, share in columns],
            "recommended": found.recommended,
            "reason": found.reason,
        }, {}

    # --- how good the map is ---------------------------------------------------------------------------------

    def quality(self, shown: Shown, score: str) -> Answer:
        frame, quality = shown.frame, self._row_quality(shown)
        assert frame is not None
        scores = quality.scores(frame.coordinates, [score])[score]
        full = np.full(shown.page_table.rows, np.nan)
        full[: len(scores)] = scores
        header = {"score": score, "mean": _number(float(np.nanmean(scores))), "k": quality.k, "of": len(quality.rows)}
        return header, {"scores": full}

    def near(self, shown: Shown, row: int, count: int) -> Answer:
        if row >= shown.table.rows:
            raise ValueError("An added row has no neighbours in the map.")
        found, _ = self._data_index(shown).nearest_of(np.array([row]), min(count, shown.table.rows - 1))
        return {"row": row, "near": np.asarray(found)[0].tolist()}, {}

    # --- what is kept ----------------------------------------------------------------------------------------

    def _turn_to(self, table: LiveTable) -> None:
        if table is not self._table:
            self._table, self._gaps, self._index, self._quality, self._graphs = table, None, None, None, None

    def _cursor_rows(self, shown: Shown) -> CursorRows:
        self._turn_to(shown.table)
        assert shown.frame is not None
        if self._gaps is None:
            self._gaps = DataGaps(shown.table)
        if self._rows is None or self._rows[0] is not shown.frame:
            self._rows = (shown.frame, CursorRows(self._gaps, shown.frame))
        return self._rows[1]

    def _data_index(self, shown: Shown) -> ExactIndex:
        self._turn_to(shown.table)
        if self._index is None:
            self._index = data_index(shown.table.X, "euclidean")
        return self._index

    def _row_quality(self, shown: Shown) -> RowQuality:
        data = self._data_index(shown)
        if self._quality is None:
            if data.n < 3:
                raise ValueError("Quality by neighbours needs at least 3 rows.")
            self._quality = RowQuality(data, n_neighbors=_NEIGHBORS, most_pairs=_LIVE_PAIRS)
        return self._quality

    def _graph_questions(self, shown: Shown) -> GraphQuestions:
        self._turn_to(shown.table)
        if self._graphs is None:
            self._graphs = GraphQuestions(shown.table.X)
        return self._graphs


# --- parts of answers --------------------------------------------------------------------------------------------


def _settled(shown: Shown) -> MapFrame:
    if shown.frame is None or shown.frame.estimator is None:
        raise ValueError("The map has not settled yet. Wait for it, or press Stop.")
    return shown.frame


def _refuse_too_many(rows: int) -> None:
    if rows > MOST_EXAMINED:
        raise ValueError(
            f"Looking for shortcuts among {rows:,} rows takes minutes. mercer.diagnose_neighbors(X) does it in Python."
        )


def _file(content: bytes) -> Answer:
    if len(content) > MOST_BYTES:
        raise ValueError("It is too large for a browser. Use the command under “As code” instead.")
    return {}, {"file": np.frombuffer(content, np.uint8)}


def _of_row(found: CursorRow) -> dict[str, Any]:
    return {"how": found.how, "gap": _number(found.gap), "nearest": found.nearest}


def _strip(table: LiveTable, rows: np.ndarray, steps: list[dict[str, Any]]) -> Answer:
    """Rows of data one after the other: as images, or the variables that change most, in their deviations."""
    names, X = _names(table, rows.shape[1]), table.X
    spread = table.spread if isinstance(X, np.ndarray) else np.ones(rows.shape[1])
    changes = np.ptp(rows, axis=0) / np.where(spread > 0, spread, np.inf)
    told = np.argsort(-changes, kind="stable")[:_TOLD]
    header = {
        "steps": [{**step, "gap": _number(step.get("gap", math.nan))} for step in steps],
        "changes": [[names[j], [_number(value) for value in rows[:, j]]] for j in told],
    }
    return header, {"strip": rows} if table.image_shape else {}


def _names(table: LiveTable, d: int) -> list[str]:
    return [str(name) for name in table.features] if len(table.features) == d else [f"x{j + 1}" for j in range(d)]


def _number(value: Any) -> float | None:
    """A number of JSON, None for NaN and infinity."""
    return float(value) if value is not None and math.isfinite(value) else None
