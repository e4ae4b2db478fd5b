"""What to do with a graph of neighbours that falls apart: join its parts, keep the largest, or refuse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.exceptions import DisconnectedGraphError, DisconnectedGraphWarning, warn
from mercer.graph.connectivity import connected, join_components

WAYS = ("join", "largest", "error")


@dataclass(frozen=True)
class Connection:
    """graph : a connected one, of the rows `rows`
    labels : (n,), the component of every row before anything was done; `count` of them
    added : (i, j, distance) of each edge that was added
    """

    graph: sp.csr_array
    rows: np.ndarray
    labels: np.ndarray
    count: int
    added: list[tuple[int, int, float]]


def connect(index: Any, graph: sp.csr_array, how: str, *, measurable: bool = True) -> Connection:
    """A connected graph by the way asked for; `measurable` says whether rows of different parts have a distance."""
    count, labels = connected(graph)
    everything = np.arange(graph.shape[0])
    if count == 1:
        return Connection(graph, everything, labels, count, [])
    said = _said(count, labels)
    if how == "error":
        raise DisconnectedGraphError(
            f"{said} Raise n_neighbors or radius, or set disconnected='join' or 'largest'; mercer.diagnose_neighbors "
            "shows how the number falls."
        )
    if how == "largest":
        rows = np.flatnonzero(labels == np.bincount(labels).argmax())
        place = "placed as new points" if measurable else "left out: a sparse graph has no distance to them"
        left = graph.shape[0] - len(rows)
        warn(f"{said} The map is that of the largest; the other {left} rows are {place}.", DisconnectedGraphWarning)
        return Connection(graph[rows][:, rows], rows, labels, count, [])
    if not measurable:
        raise DisconnectedGraphError(
            f"{said} A sparse graph has no distances between them, so they cannot be joined. Set "
            "disconnected='largest' to map the largest, store more neighbours, or give all distances as a dense matrix."
        )
    graph, added = join_components(index, graph, labels)
    longest = max(distance for _, _, distance in added)
    warn(
        f"{said} They were joined by their {len(added)} shortest connections, up to {longest:.3g} long: how the parts "
        "lie to each other is a guess. Raise n_neighbors or radius, or set disconnected='largest'.",
        DisconnectedGraphWarning,
    )
    return Connection(graph, everything, labels, count, added)


def _said(count: int, labels: np.ndarray) -> str:
    sizes = np.sort(np.bincount(labels))[::-1]
    some = ", ".join(str(size) for size in sizes[:6])
    more = f" and {count - 6} more" if count > 6 else ""
    return f"The number of connected components of the neighbors graph is {count}, not 1: of {some} rows{more}."
