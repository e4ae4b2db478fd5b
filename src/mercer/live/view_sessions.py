"""The sessions of a widget's views. What a view says goes to its session, what the session says goes to the view.

A notebook may show one widget in several places; each is a view with settings of its own. Messages of a view come in
the kernel's main thread. A thread of this module sends what sessions have to say, as a socket's task does for a page.
"""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Callable, Mapping
from typing import Any

from mercer.live.controls import Controls, Settings
from mercer.live.live_table import LiveTable
from mercer.live.map_stages import MapFrame
from mercer.live.messages import read_text
from mercer.live.questions import Shown
from mercer.live.session import Session

MOST_VIEWS = 4  # of one widget; of more, those opened first are ended
GONE = 60.0  # seconds without taking a map after which a view has gone: a tab that is closed says nothing to a kernel
_LONGEST_NAME = 64
_turn = threading.Lock()  # all widgets of a kernel take turns

Send = Callable[[dict[str, Any], bytes | None], None]


class ViewSessions:
    """The sessions of one table, by view.

    send : called with what a view is told, and the message of its session or None
    known : settings whose map has been computed before, and the map
    gone : seconds after which a view that takes no map has gone
    """

    def __init__(
        self,
        table: LiveTable,
        controls: Controls,
        send: Send,
        known: tuple[Settings, MapFrame] | None = None,
        gone: float = GONE,
    ) -> None:
        self.table, self.controls = table, controls
        self._send, self._known, self._gone = send, known, gone
        self._sessions: dict[str, Session] = {}  # the one opened first is first
        self._lock = threading.Lock()
        self._something = threading.Event()
        self._sender: threading.Thread | None = None
        self._latest: Session | None = None

    def receive(self, told: Any) -> None:
        """Act on what a view says. What means nothing is ignored, as the page does not say it."""
        if not isinstance(told, Mapping):
            return
        view, text = told.get("view"), told.get("text")
        if not isinstance(view, str) or not 0 < len(view) <= _LONGEST_NAME:
            return
        if told.get("what") == "hello":
            self._open(view)
        elif told.get("what") == "left":
            self._end(view)
        elif isinstance(text, str):
            self._pass_on(view, text)

    @property
    def shown(self) -> Shown | None:
        """The newest map of the view that spoke last."""
        return None if self._latest is None else self._latest.shown

    def close(self) -> None:
        """End all sessions."""
        for view in list(self._sessions):
            self._end(view)

    def _open(self, view: str) -> None:
        self._end(view)
        while len(self._sessions) >= MOST_VIEWS:
            self._dismiss(next(iter(self._sessions)))
        session = Session(self.table, self.controls, self._something.set, _turn, self._known)
        with self._lock:
            self._sessions[view] = session
            if self._sender is None or not self._sender.is_alive():
                self._sender = _thread()(target=self._send_all, name="mercer-widget", daemon=True)
                self._sender.start()
        self._send({"view": view, "here": True}, None)

    def _pass_on(self, view: str, text: str) -> None:
        session = self._sessions.get(view)
        if session is None:
            self._send({"view": view, "ended": True}, None)
            return
        self._latest = session
        try:
            session.receive(read_text(text, self.table.rows))
        except ValueError:
            return

    def _end(self, view: str) -> None:
        with self._lock:
            session = self._sessions.pop(view, None)
        if session is not None:
            session.close()
            self._something.set()

    def _dismiss(self, view: str) -> None:
        self._end(view)
        self._send({"view": view, "ended": True}, None)

    def _send_all(self) -> None:
        while True:
            with self._lock:
                sessions = list(self._sessions.items())
                if not sessions:
                    self._sender = None
                    return
            self._something.clear()
            for view, session in sessions:
                while (message := session.outgoing()) is not None:
                    self._send({"view": view}, message)
                if session.kept_waiting > self._gone:
                    self._dismiss(view)
            self._something.wait(self._gone / 4)


def _thread() -> type[threading.Thread]:
    """The kind of thread that can send to the notebook: marimo's own knows which of its sessions it belongs to."""
    if "marimo" in sys.modules:
        marimo = importlib.import_module("marimo")
        if marimo.running_in_notebook():
            return marimo.Thread
    return threading.Thread
