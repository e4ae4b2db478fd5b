"""The connected components of a graph of distances, and the shortest edges that join them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from mercer.amounts import amount
from mercer.backends import namespace, to_numpy
from mercer.exceptions import DisconnectedGraphError, DisconnectedGraphWarning, warn
from mercer.graph.neighbor_index import NeighborIndex
from mercer.graph.tensor_geodesics import TensorGraph

Edge = tuple[int, int, float]
WAYS = ("join", "largest", "error")  # what to do with a graph that is not connected


def connected(graph: Any) -> tuple[int, np.ndarray]:
    """The number of connected components, and the component of each row, (n,).

    Every stored entry is an edge in both directions, also a stored zero; +∞ is not an edge.

    >>> count, labels = connected(sp.csr_array(np.array([[0, 2.0, 0], [0, 0, 0], [0, 0, 0]])))
    >>> count, labels.tolist()
    (2, [0, 0, 1])
    """
    graph = sp.coo_array(graph)
    rows, columns = graph.coords
    edge = np.isfinite(graph.data)
    ones = np.ones(np.count_nonzero(edge), np.int8)
    pattern = sp.csr_array((ones, (rows[edge], columns[edge])), shape=graph.shape)
    count, labels = connected_components(pattern, directed=False)
    return int(count), labels


def without_edges(graph: Any, edges: Any) -> sp.csr_array:
    """Remove edges (i, j), given in either order, from an undirected graph of distances such as `Isomap.graph_`.

    Pairs that are not edges change nothing. `Isomap(cut_edges=…)` does this to its own graph. With E' the given edges,
    G = (V, E) becomes (V, E − E'). Cost: a sort of the edges.

    >>> ring = sp.csr_array(np.array([[0, 1.0, 0, 1.0], [0, 0, 1.0, 0], [0, 0, 0, 1.0], [0, 0, 0, 0]]))
    >>> without_edges(ring, [(3, 0)]).nnz
    3
    """
    graph = sp.coo_array(graph)
    ends = np.asarray(edges, np.int64).reshape(-1, 2)
    rows, columns = graph.coords
    cut = _among(rows, columns, ends) if len(rows) and len(ends) else np.zeros(len(rows), bool)
    places = (rows[~cut].astype(np.int32), columns[~cut].astype(np.int32))
    return sp.coo_array((graph.data[~cut], places), shape=graph.shape).tocsr()


def checked_edges(edges: Any, n: int) -> np.ndarray:
    """Edges as (m, 2) numbers of two different rows below n. ValueError if they are not.

    >>> checked_edges([(3, 17), (20, 4)], 30).tolist()
    [[3, 17], [20, 4]]
    """
    ends = np.asarray(edges)
    if ends.size == 0:
        return np.empty((0, 2), np.int64)
    if ends.ndim != 2 or ends.shape[1] != 2 or ends.dtype.kind not in "iu":
        raise ValueError(f"cut_edges={edges!r} must be pairs of row numbers such as [(3, 17), (20, 41)].")
    if ends.min() < 0 or ends.max() >= n or np.any(ends[:, 0] == ends[:, 1]):
        raise ValueError(f"cut_edges={edges!r} must be pairs of two different rows from 0 to {n - 1:,}.")
    return ends.astype(np.int64)


def cut_from(graph: Any, edges: np.ndarray, how: str) -> Any:
    """A graph of neighbours, one on a device too, without some edges, before `connect` looks at its parts.

    how : as for `connect`. If it is "join" and rows fall apart that were connected, DisconnectedGraphError: joining
        them again would put an edge back.
    """
    if isinstance(graph, TensorGraph):
        return TensorGraph.of_host(cut_from(graph.to_scipy(), edges, how), graph.weights)
    left = without_edges(graph, edges)
    if how != "join":
        return left
    (_, before), (_, after) = connected(graph), connected(left)
    sizes = np.bincount(after)
    largest = np.zeros(before.max() + 1, np.int64)  # piece of each part that there was
    np.maximum.at(largest, before, sizes[after])
    away = len(before) - int(largest.sum())
    if away:
        raise DisconnectedGraphError(
            f"Without the cut edges {amount(away, 'row')} would no longer be connected to the others. Cut fewer edges, "
            "raise n_neighbors, or set disconnected='largest'."
        )
    return left


def links_without(links: Any, edges: np.ndarray) -> Any:
    """Links of new rows to rows of a graph, without those that would put an edge back that was taken out.

    links : (m, n) CSR, or (columns, lengths) of tensors, each (m, k); an infinite length means no link

    A new row is taken for a copy of its nearest row, and has none of the links that were taken from that one. So rows
    of the graph keep their places, and a row beside one of them does not find the way that was closed.
    """
    if isinstance(links, tuple):
        columns, lengths = (to_numpy(part) for part in links)
        nearest = np.take_along_axis(columns, lengths.argmin(axis=1)[:, None], axis=1)
        xp = namespace(links[1])
        gone = xp.asarray(_among(nearest, columns, edges), device=links[1].device)
        return links[0], xp.where(gone, xp.full_like(links[1], float("inf")), links[1])
    m = links.shape[0]
    rows = np.repeat(np.arange(m), np.diff(links.indptr))
    first = np.lexsort((links.data, rows))[links.indptr[:-1]]
    kept = ~_among(links.indices[first][rows], links.indices, edges)
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows[kept], minlength=m))]).astype(links.indptr.dtype)
    return sp.csr_array((links.data[kept], links.indices[kept], starts), shape=links.shape)


def _among(i: np.ndarray, j: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Whether (i, j) is one of the edges, in either order."""
    n = int(max(i.max(), j.max(), edges.max())) + 1
    low, high = np.minimum(i, j).astype(np.int64), np.maximum(i, j).astype(np.int64)
    return np.isin(low * n + high, edges.min(axis=1) * n + edges.max(axis=1))


def join_components(index: NeighborIndex, graph: Any, labels: np.ndarray) -> tuple[sp.csr_array, list[Edge]]:
    """The graph plus the minimum spanning tree of its components, and the edges (i, j, distance) of that tree.

    The distance of two components is that of their closest rows. Borůvka's algorithm: every component but the largest
    finds the nearest other one, and components joined in this way are merged. It takes at most log₂ (components)
    rounds, each a search from all rows outside the largest component.
    """
    labels = np.unique(labels, return_inverse=True)[1]
    added: list[Edge] = []
    while labels.max(initial=0) > 0:
        counts = np.bincount(labels)
        rows = np.flatnonzero(labels != counts.argmax())
        found = _forest(labels, *(to_numpy(part) for part in index.closest_pairs(labels, rows)))
        added += found
        ends = np.array([(labels[i], labels[j]) for i, j, _ in found])
        merged = sp.csr_array((np.ones(len(ends), np.int8), (ends[:, 0], ends[:, 1])), shape=(len(counts),) * 2)
        labels = connected_components(merged, directed=False)[1][labels]
    return _with_edges(graph, added), added


def _forest(labels: np.ndarray, i: np.ndarray, j: np.ndarray, distances: np.ndarray) -> list[Edge]:
    """The edges by increasing length, less those that would close a cycle because both sides found them or they tie."""
    parent = np.arange(labels.max() + 1)

    def root(label: int) -> int:
        while parent[label] != label:
            parent[label] = label = parent[parent[label]]
        return label

    edges = []
    for at in np.lexsort((np.maximum(i, j), np.minimum(i, j), distances)):
        one, other = root(labels[i[at]]), root(labels[j[at]])
        if one != other:
            parent[one] = other
            edges.append((int(i[at]), int(j[at]), float(distances[at])))
    return edges


def _with_edges(graph: Any, edges: list[Edge]) -> sp.csr_array:
    """The graph with the edges added as entries. A sum of sparse matrices would drop stored zeros."""
    graph = sp.coo_array(graph)
    if not edges:
        return graph.tocsr()
    i, j, distances = (np.array(column) for column in zip(*edges, strict=True))
    rows, columns = graph.coords
    values = np.concatenate([graph.data, distances.astype(graph.dtype)])
    places = np.concatenate([rows, i]).astype(np.int32), np.concatenate([columns, j]).astype(np.int32)
    return sp.coo_array((values, places), shape=graph.shape).tocsr()


# --- what to do with a graph that falls apart -----------------------------------------------------------------


@dataclass(frozen=True)
class Connection:
    """graph : a connected one, of the rows `rows`; a CSR matrix or a TensorGraph
    labels : (n,), the component of every row before anything was done; `count` of them
    added : (i, j, distance) of each edge that was added
    """

    graph: Any
    rows: np.ndarray
    labels: np.ndarray
    count: int
    added: list[tuple[int, int, float]]


def connect(index: Any, graph: Any, how: str, *, measurable: bool = True, reach: str = "n_neighbors") -> Connection:
    """A connected graph, made in the requested way.

    measurable : whether rows of different parts have a distance
    reach : the parameter that gives the graph more edges, for messages

    A graph on a device comes back on the device. One that falls apart is joined on the host.
    """
    if isinstance(graph, TensorGraph):
        labels = graph.parts()
        if not labels.max(initial=0):
            return Connection(graph, np.arange(graph.n), labels, 1, [])
        joined = connect(index, graph.to_scipy(), how, measurable=measurable, reach=reach)
        return replace(joined, graph=TensorGraph.of_host(joined.graph, graph.weights))
    count, labels = connected(graph)
    everything = np.arange(graph.shape[0])
    if count == 1:
        return Connection(graph, everything, labels, count, [])
    said = _said(count, labels)
    if how == "error":
        raise DisconnectedGraphError(
            f"{said} Raise {reach}, or set disconnected='join' or 'largest'; mercer.diagnose_neighbors "
            "shows how the number falls."
        )
    if how == "largest":
        rows = np.flatnonzero(labels == np.bincount(labels).argmax())
        place = "placed as new points" if measurable else "left out: a sparse graph has no distance to them"
        left = graph.shape[0] - len(rows)
        rest = "row is" if left == 1 else f"{left} rows are"
        warn(f"{said} The map is that of the largest; the other {rest} {place}.", DisconnectedGraphWarning)
        return Connection(graph[rows][:, rows], rows, labels, count, [])
    if not measurable:
        raise DisconnectedGraphError(
            f"{said} A sparse graph has no distances between them, so they cannot be joined. Set "
            "disconnected='largest' to map the largest, store more neighbours, or give all distances as a dense matrix."
        )
    graph, added = join_components(index, graph, labels)
    # `added_edges_` has the rest: with the names of its options the command has two lines of 80 columns for this.
    warn(f"{said} They are joined by guess: raise {reach}.", DisconnectedGraphWarning)
    return Connection(graph, everything, labels, count, added)


def _said(count: int, labels: np.ndarray) -> str:
    sizes = np.sort(np.bincount(labels))[::-1]
    told = 3 if count <= 3 else 2
    some = ", ".join(str(size) for size in sizes[:told])
    more = f" and {count - told} more" if count > told else ""
    return f"The number of connected components of the neighbors graph is {count}: of {some} rows{more}."
