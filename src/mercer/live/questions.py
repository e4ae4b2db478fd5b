"""What a page can ask about the map that it shows, besides another map."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.live.controls import Settings
from mercer.live.live_table import LiveTable
from mercer.live.map_stages import MapFrame
from mercer.live.settings_text import as_command, as_python

Answer = tuple[dict[str, Any], dict[str, np.ndarray]]


@dataclasses.dataclass(frozen=True)
class Shown:
    """The map that a page shows: of which table and settings, the last frame, and its points as they were turned."""

    table: LiveTable
    settings: Settings
    frame: MapFrame | None
    coordinates: np.ndarray | None


class Asker:
    """Answers the questions of one page, and keeps what the next answer can use."""

    def __init__(self) -> None:
        self._answers: dict[str, Callable[[dict[str, Any], Shown], Answer]] = {"text": self._text}

    def checked(self, message: dict[str, Any], table: LiveTable) -> str:
        """The kind of the question; ValueError if there is no such question."""
        what, number = message.get("what"), message.get("id")
        if not isinstance(what, str) or what not in self._answers:
            raise ValueError("There is no such question.")
        if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < 2**53:
            raise ValueError("A question needs a number of its own.")
        return what

    def answer(self, message: dict[str, Any], shown: Shown) -> Answer:
        """The header and the arrays of an answer. ValueError says why there is none."""
        if shown.frame is None:
            raise ValueError("There is no map yet.")
        return self._answers[message["what"]](message, shown)

    def _text(self, message: dict[str, Any], shown: Shown) -> Answer:
        return {
            "python": as_python(shown.settings, shown.table),
            "command": as_command(shown.settings, shown.table),
        }, {}
