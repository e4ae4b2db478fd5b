"""A map in a notebook that runs no widgets: its page in a frame of its own."""

from __future__ import annotations

import html
from typing import Any

import numpy as np

from mercer.web.page import Page, page_bytes


def html_of(page: Page, height: int) -> str:
    """The page in a frame that has no origin: its script reaches nothing of the notebook.

    >>> from mercer.web import Map
    >>> html_of(Page("two points", [Map("PCA", np.eye(2))]), 300).startswith("<iframe")
    True
    """
    content = html.escape(page_bytes(page).decode("ascii"))
    return (
        f'<iframe title="{html.escape(page.title)}" sandbox="allow-scripts allow-downloads allow-modals" '
        f'style="width:100%;height:{int(height)}px;border:1px solid rgb(128 128 128 / 30%);border-radius:12px" '
        f'srcdoc="{content}"></iframe>'
    )


class StaticMap:
    """What `mercer.widget` gives if anywidget is not installed: the same map, without sliders and `selected`."""

    def __init__(self, page: Page, height: int = 600) -> None:
        self.page, self.height = page, height

    @property
    def coordinates(self) -> np.ndarray:
        """The map, (n, k)."""
        return np.asarray(self.page.maps[0].coordinates)

    def _repr_html_(self) -> str:
        return html_of(self.page, self.height)

    def __getattr__(self, name: str) -> Any:
        if name in ("selected", "observe", "settings", "estimator"):
            raise AttributeError(f"{name!r} needs anywidget, which is not installed: pip install 'mercer[notebook]'")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
