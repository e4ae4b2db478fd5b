"""What a page can ask about the map that it shows, besides another map."""

from __future__ import annotations

import dataclasses
import math
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from mercer.live.controls import METHODS, Settings
from mercer.live.cursor_rows import CursorRows
from mercer.live.group_differences import group_differences
from mercer.live.live_table import LiveTable
from mercer.live.map_stages import MapFrame
from mercer.live.messages import read_rows
from mercer.live.settings_text import as_command, as_python
from mercer.web.page import page_bytes

Answer = tuple[dict[str, Any], dict[str, np.ndarray]]

MOST_BYTES = 256_000_000  # of a model or a page that a browser takes
_MOST_COORDINATES = 64  # of a place
_TOLD = 10  # variables that an answer names


@dataclasses.dataclass(frozen=True)
class Shown:
    """The map that a page shows: of which table and settings, and its last frame."""

    table: LiveTable
    settings: Settings
    frame: MapFrame | None


class Asker:
    """Answers the questions of one page, and keeps what the next answer can use."""

    def __init__(self) -> None:
        self._answers: dict[str, Callable[[dict[str, Any], Shown], Answer]] = {
            "text": self._text,
            "model": self._model,
            "page": self._page,
            "cursor": self._cursor,
            "groups": self._groups,
        }
        self._rows: tuple[MapFrame, CursorRows] | None = None

    def checked(self, message: dict[str, Any], table: LiveTable) -> str:
        """The kind of the question; ValueError if there is no such question."""
        what, number = message.get("what"), message.get("id")
        if not isinstance(what, str) or what not in self._answers:
            raise ValueError("There is no such question.")
        if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < 2**53:
            raise ValueError("A question needs a number of its own.")
        if what == "cursor":
            _place(message)
        if what == "groups":
            _masks(message, table)
        return what

    def answer(self, message: dict[str, Any], shown: Shown) -> Answer:
        """The header and the arrays of an answer. ValueError says why there is none."""
        if shown.frame is None:
            raise ValueError("There is no map yet.")
        return self._answers[message["what"]](message, shown)

    def _text(self, message: dict[str, Any], shown: Shown) -> Answer:
        settings, table = shown.settings, shown.table
        return {"python": as_python(settings, table), "command": as_command(settings, table)}, {}

    def _model(self, message: dict[str, Any], shown: Shown) -> Answer:
        frame = _settled(shown)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.mercer"
            frame.estimator.save(path)
            return _file(path.read_bytes())

    def _page(self, message: dict[str, Any], shown: Shown) -> Answer:
        frame = _settled(shown)
        run = {"method": shown.settings["method"], "parameters": shown.settings, **dict(frame.facts)}
        page = shown.table.page(METHODS[shown.settings["method"]], frame.coordinates, frame.axes, run)
        return _file(page_bytes(page))

    def _cursor(self, message: dict[str, Any], shown: Shown) -> Answer:
        frame = shown.frame
        assert frame is not None
        if self._rows is None or self._rows[0] is not frame:
            self._rows = (frame, CursorRows(shown.table, frame))
        found = self._rows[1](_place(message))
        names = _names(shown.table, len(found.values))
        spread = shown.table.X.std(axis=0) if len(found.values) <= 1000 else np.ones(len(found.values))
        unusual = np.abs(found.values - shown.table.X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
        told = np.sort(np.argsort(-unusual, kind="stable")[:_TOLD])
        header = {
            "how": found.how,
            "gap": _number(found.gap),
            "nearest": found.nearest,
            "values": [[names[j], _number(found.values[j])] for j in told],
        }
        image = {"row": found.values} if shown.table.image_shape else {}
        return header, image

    def _groups(self, message: dict[str, Any], shown: Shown) -> Answer:
        first, second = _masks(message, shown.table)
        found = group_differences(shown.table, first, second)
        names = _names(shown.table, len(found.contributions))
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
        images = {"first": found.means[0], "second": found.means[1]} if shown.table.image_shape else {}
        return header, images


def _settled(shown: Shown) -> MapFrame:
    if shown.frame is None or shown.frame.estimator is None:
        raise ValueError("The map has not settled yet. Wait for it, or press Stop.")
    return shown.frame


def _file(content: bytes) -> Answer:
    if len(content) > MOST_BYTES:
        raise ValueError("It is too large for a browser. Use the command under “As code” instead.")
    return {}, {"file": np.frombuffer(content, np.uint8)}


def _place(message: dict[str, Any]) -> np.ndarray:
    place = message.get("place")
    if not isinstance(place, list) or not 1 <= len(place) <= _MOST_COORDINATES:
        raise ValueError("A place is a list of coordinates.")
    if any(isinstance(x, bool) or not isinstance(x, int | float) or not math.isfinite(x) for x in place):
        raise ValueError("A place is a list of coordinates.")
    return np.array(place, np.float64)


def _masks(message: dict[str, Any], table: LiveTable) -> tuple[np.ndarray, np.ndarray]:
    """The two groups; without a second one, all other rows."""
    first = read_rows(message.get("first"), table.rows)
    second = ~first if message.get("second") is None else read_rows(message["second"], table.rows)
    return first, second


def _names(table: LiveTable, d: int) -> list[str]:
    return [str(name) for name in table.features] if len(table.features) == d else [f"x{j + 1}" for j in range(d)]


def _number(value: float) -> float | None:
    """A number of JSON, None for NaN and infinity."""
    return float(value) if math.isfinite(value) else None
