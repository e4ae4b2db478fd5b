"""The widget of a map, for notebooks. Needs anywidget: `pip install mercer[notebook]`."""

from __future__ import annotations

from typing import Any

import anywidget
import numpy as np
import traitlets

from mercer.live.controls import Settings
from mercer.live.questions import Shown
from mercer.live.row_set import RowSet
from mercer.live.shown_map import ShownMap
from mercer.live.static_map import html_of
from mercer.live.view_sessions import ViewSessions
from mercer.web.page import page_parts, widget_script

_MOST_FALLBACK = 1_000_000  # bytes of data that a notebook keeps a second time, for readers that know no widgets


class MapWidget(anywidget.AnyWidget):
    """A map in a notebook, as `mercer.widget` makes it.

    selected : indices of the selected rows, ascending; a lasso sets it, and so can you
    height : of the widget, in pixels
    """

    _esm = widget_script()
    _about = traitlets.Unicode("").tag(sync=True)
    _block = traitlets.Bytes(b"").tag(sync=True)
    _chosen = traitlets.Unicode("").tag(sync=True)  # colours, filters and settings, as the address of a page has them
    title = traitlets.Unicode("").tag(sync=True)
    height = traitlets.Int(600).tag(sync=True)
    selected = RowSet()

    def __init__(self, shown: ShownMap, height: int = 600) -> None:
        self.rows = len(shown.page.maps[0].coordinates)
        self._map = shown
        about, block = page_parts(shown.page, live=shown.live)
        self._sessions: ViewSessions | None = None
        super().__init__(_about=about, _block=block, title=shown.page.title, height=height)
        if shown.table is not None and shown.controls is not None:
            self._sessions = ViewSessions(shown.table, shown.controls, self._tell, shown.known)
            self.on_msg(self._hear)

    @property
    def coordinates(self) -> np.ndarray:
        """The newest map, (n, k): as it was given, or as the sliders have made it."""
        shown = self._newest
        return np.asarray(self._map.page.maps[0].coordinates if shown is None else shown.frame.coordinates)  # type: ignore[union-attr]

    @property
    def settings(self) -> Settings | None:
        """The settings of the newest map; None for a map that follows no sliders."""
        if self._map.controls is None:
            return None
        return dict(self._map.controls.first() if self._newest is None else self._newest.settings)

    @property
    def estimator(self) -> Any:
        """The estimator of the newest map, fitted; None while the map has not settled."""
        if self._newest is not None:
            return self._newest.frame.estimator  # type: ignore[union-attr]
        return self._map.known[1].estimator if self._map.known is not None else None

    @property
    def _newest(self) -> Shown | None:
        shown = None if self._sessions is None else self._sessions.shown
        return None if shown is None or shown.frame is None else shown

    def close(self) -> None:
        """End the computations of the widget, and take it from the notebook."""
        if self._sessions is not None:
            self._sessions.close()
        super().close()

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        """The widget, and for readers that know no widgets the map as a page in a frame, if it is small."""
        found = super()._repr_mimebundle_(**kwargs)
        if found is None or len(self._block) > _MOST_FALLBACK:
            return found
        data, about = found
        return data | {"text/html": html_of(self._map.page, self.height)}, about

    def _tell(self, content: dict[str, Any], message: bytes | None) -> None:
        self.send(content, None if message is None else [message])

    def _hear(self, _: Any, content: Any, buffers: Any) -> None:
        if self._sessions is not None:
            self._sessions.receive(content)
