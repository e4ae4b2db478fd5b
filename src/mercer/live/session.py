"""One browser's side of a live page: what it asked for last, the computation that answers, and what is to be sent.

A thread of the session computes. The newest settings win: `receive` puts them in place of older ones, and the running
computation ends at its next step. What is to be sent waits in one slot per kind of message, so a browser that is slow
gets the newest map and never a queue of old ones.
"""

from __future__ import annotations

import copy
import dataclasses
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.live.answers import Shown
from mercer.live.controls import Controls, Settings
from mercer.live.descent_runs import MORE_STEPS, STEPS, DescentWish
from mercer.live.live_table import LiveTable
from mercer.live.map_stages import MapFrame, MapStages, Superseded
from mercer.live.messages import encode, read_rows, without_paths
from mercer.live.method_estimators import rest_of
from mercer.live.questions import Asker
from mercer.progress import listening

_BETWEEN_PROGRESS = 0.2  # seconds
# Exceptions whose message is for the person at the slider. Others are defects, and the page says which.
_EXPECTED = (ValueError, TypeError, ArithmeticError, MemoryError, RuntimeError, np.linalg.LinAlgError)
_FARTHEST = 1e6  # that points are moved: maps are a few hundred units wide
_MOST_NUMBER = 2**53  # that a browser can count to


@dataclasses.dataclass(frozen=True)
class Wanted:
    """Settings, the number that the browser gave them, and what it wishes of a descent."""

    settings: Settings
    number: int
    descent: DescentWish | None = None


class Session:
    """The requests of one browser for maps of one table.

    notify : called, from any thread, when `outgoing` has something to send
    turn : a lock held during computations, so that the sessions of a process take turns
    known : settings whose map has been computed before, with that map

    The server makes one session per open page:

    >>> from mercer.live import LiveTable, Session
    >>> from mercer.live.controls import Controls
    >>> table = LiveTable.of(np.random.default_rng(0).normal(size=(50, 3)))
    >>> session = Session(table, Controls(table), notify=lambda: None)
    >>> session.receive({"type": "settings", "number": 1, "settings": {"method": "pca"}})
    >>> session.close()
    """

    def __init__(
        self,
        table: LiveTable,
        controls: Controls,
        notify: Callable[[], None],
        turn: threading.Lock | None = None,
        known: tuple[Settings, MapFrame] | None = None,
    ) -> None:
        self.table, self.controls = table, controls
        self._notify, self._turn, self._known = notify, turn or threading.Lock(), known
        self._changed = threading.Condition()
        self._wanted: Wanted | None = None
        self._questions: dict[str, dict[str, Any]] = {}
        self._out: dict[str, tuple[dict[str, Any], dict[str, np.ndarray]]] = {}
        self._untaken = 0  # the number of the map that the browser has not taken yet, 0 if it has taken all
        self._sent_at = 0.0  # when that map was sent
        self._maps = 0
        self._closed = self._stop = False
        self._told = 0.0
        self._stages = MapStages(table)
        self._current: Wanted | None = None
        self._shown = Shown(table, table.first, {}, None)
        self._asker = Asker()
        self._worker = threading.Thread(target=self._work, name="mercer-live", daemon=True)
        self._worker.start()

    # --- from the browser ------------------------------------------------------------------------------------

    def receive(self, message: dict[str, Any]) -> None:
        """Act on a message. A message that no page sends raises ValueError."""
        actions: dict[str, Callable[[dict[str, Any]], None]] = {
            "settings": self._receive_settings,
            "taken": self._receive_taken,
            "stop": self._receive_stop,
            "go": self._receive_go,
            "ask": self._receive_question,
        }
        action = actions.get(message["type"])
        if action is None:
            raise ValueError("There is no message of this type.")
        action(message)

    def _receive_settings(self, message: dict[str, Any]) -> None:
        number = _number(message.get("number"))
        try:
            settings = self.controls.checked(message.get("settings"))
        except ValueError as error:
            self._trouble(number, str(error))
            return
        self._want(Wanted(settings, number))

    def _receive_taken(self, message: dict[str, Any]) -> None:
        with self._changed:
            if _number(message.get("map")) == self._untaken:
                self._untaken = 0
        self._notify()

    def _receive_stop(self, message: dict[str, Any]) -> None:
        self._stop = True

    def _receive_go(self, message: dict[str, Any]) -> None:
        """Go on with the descent that is shown, with rows held in their places if there are any."""
        number = _number(message.get("number"))
        held = None if message.get("held") is None else read_rows(message["held"], self.table.rows)
        moved = None if message.get("moved") is None else read_rows(message["moved"], self.table.rows)
        by = _shift(message.get("by")) if moved is not None else (0.0, 0.0)
        exaggeration = message.get("exaggeration")
        if exaggeration is not None and not (
            isinstance(exaggeration, int | float) and not isinstance(exaggeration, bool) and 0 < exaggeration <= 100
        ):
            raise ValueError("exaggeration must be a number above 0 and up to 100.")
        current = self._current
        if current is None or current.settings["method"] not in ("tsne", "sne"):
            self._trouble(number, "Only maps of SNE and t-SNE can go on.")
            return
        steps = STEPS if held is not None and held.any() else MORE_STEPS
        wish = DescentWish(steps, None if exaggeration is None else float(exaggeration), held, moved, by)
        self._want(Wanted(current.settings, number, wish))

    def _receive_question(self, message: dict[str, Any]) -> None:
        what = self._asker.checked(message, self.table)
        with self._changed:
            self._questions[what] = message  # of each kind, the newest question replaces an older one
            self._changed.notify()

    def _want(self, wanted: Wanted) -> None:
        with self._changed:
            self._wanted, self._stop = wanted, False
            self._changed.notify()

    def close(self) -> None:
        """End the session, and the computation at its next step."""
        with self._changed:
            self._closed = True
            self._changed.notify()

    def join(self, seconds: float) -> bool:
        """Wait for the session's thread to end, and return whether it has."""
        self._worker.join(seconds)
        return not self._worker.is_alive()

    # --- to the browser --------------------------------------------------------------------------------------

    def outgoing(self) -> bytes | None:
        """The next message to send; None if there is nothing to send or the browser has not yet taken the last map."""
        with self._changed:
            kind = next((kind for kind in self._out if kind != "map" or not self._untaken), None)
            if kind is None:
                return None
            header, buffers = self._out.pop(kind)
            if kind == "map":
                self._untaken, self._sent_at = header["map"], time.monotonic()
        return encode(header, buffers)

    @property
    def shown(self) -> Shown:
        """The newest map, whether the browser has taken it or not."""
        return self._shown

    @property
    def kept_waiting(self) -> float:
        """For how many seconds a map has been waiting for the browser to take it."""
        with self._changed:
            return time.monotonic() - self._sent_at if self._untaken else 0.0

    def _send(self, kind: str, header: dict[str, Any], buffers: dict[str, np.ndarray] | None = None) -> None:
        with self._changed:
            if self._closed:
                return
            self._out[kind] = (header, buffers or {})
        self._notify()

    def _trouble(self, number: int, text: str) -> None:
        self._send("trouble", {"type": "trouble", "number": number, "message": text})

    # --- the computation -------------------------------------------------------------------------------------

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closed or self._wanted is not None or bool(self._questions))
                if self._closed:
                    return
            if not self._turn.acquire(blocking=False):
                self._send("working", {"type": "working", "phase": "waiting for another page", "done": 0, "total": 0})
                while not self._turn.acquire(timeout=0.2):
                    if self._closed:
                        return
            try:
                self._compute()
                self._answer()
            finally:
                self._turn.release()

    def _compute(self) -> None:
        with self._changed:
            wanted, self._wanted = self._wanted, None
        if wanted is None:
            return
        self._current = wanted
        self._send("working", {"type": "working", "number": wanted.number, "phase": "", "done": 0, "total": 0})
        if self._known is not None and wanted.settings == self._known[0] and wanted.descent is None:
            self._stages.begin_at(self._known[1], wanted.settings)
            self._show(wanted, self._known[1])
            return
        try:
            self._stages.run(
                wanted.settings,
                lambda frame: self._show(wanted, frame),
                self._check,
                descent=wanted.descent,
                stopped=lambda: self._stop,
                progress=self._progress,
            )
        except Superseded:
            pass
        except _EXPECTED as error:
            self._trouble(wanted.number, _said(error))
        except Exception as error:  # a defect must not end the page: the last good map stays
            self._trouble(wanted.number, f"{type(error).__name__}: {_said(error)} (a defect of Mercer)")

    def _check(self) -> None:
        if self._closed or self._wanted is not None:
            raise Superseded

    def _heard(self, phase: str, done: int, total: int, _: str) -> None:
        self._check()
        self._progress(phase, done, total)

    def _progress(self, phase: str, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self._told > _BETWEEN_PROGRESS:
            self._told = now
            self._send("working", {"type": "working", "phase": phase, "done": done, "total": total})

    def _show(self, wanted: Wanted, frame: MapFrame) -> None:
        self._maps += 1
        header: dict[str, Any] = {
            "type": "map",
            "map": self._maps,
            "number": wanted.number,
            "settings": wanted.settings,
            "stage": frame.stage,
            "axes": frame.axes,
            "facts": [(name, without_paths(text)) for name, text in frame.facts],
            "step": frame.step,
            "divergence": frame.divergence,
            "rest": "" if frame.estimator is None else rest_of(frame.estimator),
        }
        buffers = {"coordinates": frame.coordinates.T}
        if frame.spectrum is not None:
            buffers["spectrum"] = frame.spectrum
        if frame.errors is not None:
            buffers["errors"] = frame.errors
        self._shown = self._now_shown(wanted.settings, frame)
        self._send("map", header, buffers)
        if frame.stage == "steps":
            self._answer()

    def _now_shown(self, settings: Settings, frame: MapFrame) -> Shown:
        """What questions are about: the map of the rows that were mapped, without those that were added to it."""
        mapped = self._stages.mapped(settings)
        own = dataclasses.replace(frame, coordinates=frame.coordinates[: mapped.rows])
        runs = tuple(map(copy.copy, self._stages.runs)) if settings["method"] in ("tsne", "sne") else ()
        return Shown(self.table, mapped, settings, own, frame.coordinates, runs)

    def _answer(self) -> None:
        """Answer what has been asked. Newer settings end it: a question waits for their map, and is answered then."""
        with self._changed:
            questions, self._questions = self._questions, {}
        for what, message in questions.items():
            header: dict[str, Any] = {"type": "answer", "what": what, "id": message["id"]}
            buffers: dict[str, np.ndarray] = {}
            try:
                with listening(self._heard):
                    found, buffers = self._asker.answer(message, self._shown)
                header |= found
            except Superseded:
                with self._changed:
                    self._questions.setdefault(what, message)
                continue
            except _EXPECTED as error:
                header["trouble"] = _said(error)
            except Exception as error:
                header["trouble"] = f"{type(error).__name__}: {_said(error)} (a defect of Mercer)"
            self._send(f"answer {what}", header, buffers)


def _said(error: Exception) -> str:
    """What an error says, in one line and without paths of this machine."""
    return without_paths(" ".join(str(error).split())) or type(error).__name__


def _shift(value: Any) -> tuple[float, float]:
    """How far points are moved along the two axes of a map."""
    if not isinstance(value, list) or len(value) != 2:
        raise ValueError("A shift is a list of two numbers.")
    if any(isinstance(x, bool) or not isinstance(x, int | float) or not abs(x) <= _FARTHEST for x in value):
        raise ValueError(f"A shift is a list of two numbers of at most {_FARTHEST:g}.")
    return float(value[0]), float(value[1])


def _number(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _MOST_NUMBER:
        raise ValueError("A number of a message must be whole and not negative.")
    return value
