"""What the page of a live map is told besides its rows: the settings there are, and what it can draw."""

from __future__ import annotations

from typing import Any

from mercer.live.controls import Controls
from mercer.live.live_table import LiveTable


def live_page(table: LiveTable, controls: Controls) -> dict[str, Any]:
    """The `live` part of `mercer.web.page_bytes`.

    >>> import numpy as np
    >>> table = LiveTable.of(np.eye(4))
    >>> sorted(live_page(table, Controls(table)))
    ['features', 'first', 'image', 'methods', 'notes', 'range']
    """
    return {
        "methods": controls.described(),
        "first": controls.first(),
        "notes": list(table.notes),
        "features": [str(name) for name in table.features],
        "image": table.image_shape,
        "range": table.image_shape and [float(table.X.min()), float(table.X.max())],
    }
