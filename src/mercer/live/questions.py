"""What a page can ask about the map that it shows, besides another map: which questions there are, and their form."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mercer.live.answers import Answer, Answers, Shown
from mercer.live.live_table import LiveTable
from mercer.live.messages import read_rows
from mercer.web.row_quality import SCORES

_MOST_COORDINATES = 64  # of a place
_MOST_STEPS = 25  # of a path
_MOST_NEAR = 50  # neighbours of a row

Fields = dict[str, Any]


class Asker:
    """Answers the questions of one page."""

    def __init__(self) -> None:
        self._answers = Answers()
        self._kinds: Mapping[str, tuple[Callable[[dict[str, Any], LiveTable], Fields], Callable[..., Answer]]] = {
            "text": (_nothing, self._answers.text),
            "model": (_nothing, self._answers.model),
            "page": (_nothing, self._answers.page),
            "cursor": (_place, self._answers.cursor),
            "path": (_path, self._answers.path),
            "groups": (_masks, self._answers.groups),
            "levels": (_levels, self._answers.levels),
            "graph": (_nothing, self._answers.graph),
            "diagnosis": (_nothing, self._answers.diagnosis),
            "quality": (_score, self._answers.quality),
            "near": (_near, self._answers.near),
        }

    def checked(self, message: dict[str, Any], table: LiveTable) -> str:
        """The kind of the question; ValueError if there is no such question."""
        what, number = message.get("what"), message.get("id")
        if not isinstance(what, str) or what not in self._kinds:
            raise ValueError("There is no such question.")
        if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < 2**53:
            raise ValueError("A question needs a number of its own.")
        self._kinds[what][0](message, table)
        return what

    def answer(self, message: dict[str, Any], shown: Shown) -> Answer:
        """The header and the arrays of an answer. ValueError says why it cannot be answered."""
        if shown.frame is None:
            raise ValueError("There is no map yet.")
        read, answered = self._kinds[message["what"]]
        return answered(shown, **read(message, shown.page_table))


# --- the fields of each question ---------------------------------------------------------------------------------


def _nothing(message: dict[str, Any], table: LiveTable) -> Fields:
    return {}


def _place(message: dict[str, Any], table: LiveTable) -> Fields:
    place = message.get("place")
    if not isinstance(place, list) or not 1 <= len(place) <= _MOST_COORDINATES:
        raise ValueError("A place is a list of coordinates.")
    if any(isinstance(x, bool) or not isinstance(x, int | float) or not math.isfinite(x) for x in place):
        raise ValueError("A place is a list of coordinates.")
    return {"place": np.array(place, np.float64)}


def _path(message: dict[str, Any], table: LiveTable) -> Fields:
    return {
        "start": _whole(message, "start", 0, table.rows - 1),
        "end": _whole(message, "end", 0, table.rows - 1),
        "count": _whole(message, "count", 2, _MOST_STEPS),
    }


def _masks(message: dict[str, Any], table: LiveTable) -> Fields:
    """The two groups; without a second one, all other rows."""
    first = read_rows(message.get("first"), table.rows)
    second = ~first if message.get("second") is None else read_rows(message["second"], table.rows)
    return {"first": first, "second": second}


def _levels(message: dict[str, Any], table: LiveTable) -> Fields:
    across = message.get("across")
    if across is not None:
        if not isinstance(across, list) or len(across) != 2:
            raise ValueError("A plane is spanned by two columns, or by the principal axes (null).")
        d = table.X.shape[1]
        across = tuple(_whole({"column": j}, "column", 0, d - 1) for j in across)
    base = None if message.get("base") is None else _whole(message, "base", 0, table.rows - 1)
    return {"component": _whole(message, "component", 0, _MOST_COORDINATES), "across": across, "base": base}


def _score(message: dict[str, Any], table: LiveTable) -> Fields:
    if not isinstance(message.get("score"), str) or message["score"] not in SCORES:
        raise ValueError(f"Unknown score. Choose one of: {', '.join(SCORES)}.")
    return {"score": message["score"]}


def _near(message: dict[str, Any], table: LiveTable) -> Fields:
    return {"row": _whole(message, "row", 0, table.rows - 1), "count": _whole(message, "count", 1, _MOST_NEAR)}


def _whole(message: dict[str, Any], name: str, low: int, high: int) -> int:
    value = message.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ValueError(f"{name} must be a whole number from {low} to {high:,}.")
    return value
