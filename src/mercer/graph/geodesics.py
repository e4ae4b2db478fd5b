"""Distances along a graph of neighbours: shortest paths from many sources, in parallel.

    Geodesics(graph).from_nodes(sources)    (m, n), from vertices
    Geodesics(graph).from_links(links)      (m, n), from points outside the graph that are linked to some vertices
    Geodesics(graph).each(links, use)       the same, a few sources at a time, without m × n numbers in memory
    Geodesics(graph).spread(count, first)   vertices, each as far as possible from those before it

Vertices are renumbered so that neighbours are near in memory, and sources are taken in that order, sixteen neighbouring
ones at once (`backends/compiled_paths.py`). Weights are divided by a power of two near their mean, so that sums of them
can neither overflow nor underflow.

Error: a path of h edges is a sum of h rounded numbers, so a distance d is right to h · ε · d, ε = 6e-8 in float32 and
1e-16 in float64; in practice the roundings cancel and it is nearer √h · ε · d.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.backends import cpu
from mercer.linalg.inner import power_of_two
from mercer.models.fields import THREADS, Mismatch, SavedRecord, one_of, sparse
from mercer.progress import phase

UNEVEN = 30  # if the longest distance is more than this many times the median, float32 would lose the shorter ones
_FAR_APART = 64  # above this n/m, sources are so far apart that one at a time is faster than sixteen together


def compiled_paths() -> Any:
    return import_module("mercer.backends.compiled_paths")


def undirected(graph: Any, dtype: Any = np.float64) -> sp.csr_array:
    """The graph with every edge in both directions, with the smaller weight if they differ. A stored zero is a weight.

    Loops and infinite weights are not edges and are left out. Raises ValueError for weights that are negative or NaN.
    """
    graph = checked(graph, dtype)
    other = sp.csr_array(graph.T)
    for part in (graph, other):
        part.sort_indices()
    merge, ptr = compiled_paths().merged_rows, np.empty(graph.shape[0] + 1, np.int64)
    both = (graph.indptr, graph.indices, graph.data, other.indptr, other.indices, other.data)
    merge(*both, ptr, np.empty(0, np.int32), np.empty(0, graph.dtype))
    indices, data = np.empty(max(ptr[-1], 1), np.int32), np.empty(max(ptr[-1], 1), graph.dtype)
    merge(*both, ptr, indices, data)
    return sp.csr_array((data[: ptr[-1]], indices[: ptr[-1]], ptr), shape=graph.shape)


def checked(graph: Any, dtype: Any = np.float64) -> sp.csr_array:
    """A square CSR array of weights ≥ 0 without duplicate entries. The input is not changed."""
    graph = sp.csr_array(graph, dtype=dtype)
    if graph.shape[0] != graph.shape[1]:
        raise ValueError(f"A graph must be a square matrix of weights, (n, n), not {graph.shape}.")
    if not graph.has_canonical_format:
        graph = graph.copy()
        graph.sum_duplicates()
    if np.isnan(graph.data).any() or (graph.data < 0).any():
        raise ValueError("The graph has weights that are negative or NaN; distances are neither.")
    return graph


def _refuse_lengths(graph: Any) -> None:
    """Raise Mismatch if a graph from a model file is unusable."""
    if not graph.shape[0] or graph.data.min(initial=0.0) < 0:
        raise Mismatch("the graph has no vertices, or edges of negative length")


class Geodesics:
    """Shortest paths in an undirected graph, prepared once for many sources.

        d(i, j) = the least Σ w over the edges of a path from i to j, or ∞ if there is no path

    graph : (n, n) sparse weights ≥ 0; an edge may be stored in one direction or in both, and stored zeros are edges
    dtype : the precision of the computation: float32, or float64, which takes twice the time
    n_jobs : threads; None is all cores

    graph : (n, n) CSR, every edge in both directions
    order : (n,), the vertex at each position of the internal numbering
    unit : the power of two by which the weights were divided

    Cost of m sources: m (|E| + n) steps of about 1.5 ns with sixteen lanes, and 16 n numbers per thread.

    >>> ring = sp.csr_array((np.ones(6), (np.arange(6), np.roll(np.arange(6), -1))), shape=(6, 6))
    >>> Geodesics(ring).from_nodes([0])
    array([[0., 1., 2., 3., 2., 1.]])
    """

    _saved = SavedRecord(
        "Geodesics",
        {"graph": sparse("n", "n", canonical=True), "dtype": one_of("float32", "float64"), "n_jobs": THREADS},
        parts=lambda paths: {"graph": paths.graph, "dtype": paths.dtype.name, "n_jobs": paths.n_jobs},
        also=lambda parts: _refuse_lengths(parts.graph),
    )

    def __init__(self, graph: Any, *, dtype: Any = np.float64, n_jobs: int | None = None) -> None:
        self.graph = graph = undirected(graph)
        self.n, self.dtype, self.n_jobs = graph.shape[0], np.dtype(dtype), n_jobs
        positive = graph.data[graph.data > 0]
        self.unit = power_of_two(float(np.mean(positive / positive.max())) * positive.max() if positive.size else 1.0)
        self.order = compiled_paths().local_order(graph.indptr, graph.indices, compiled_paths().LANES)
        self.place = np.empty(self.n, np.int32)  # of each vertex
        self.place[self.order] = np.arange(self.n, dtype=np.int32)
        self.edges = _renumbered(graph, self.order, self.place, self.unit, self.dtype)

    def from_nodes(self, sources: Any, dtype: Any = None) -> np.ndarray:
        """(m, n), the distances from the given vertices; infinity if there is no path."""
        return self.from_links(self.links_to(sources), dtype)

    def from_links(self, links: Any, dtype: Any = None) -> np.ndarray:
        """(m, n), the distances from m points, each with links (distances) to some vertices: links is (m, n) sparse.

        dtype : the precision of the answer; None means that of the computation
        """
        out = np.empty(links.shape, dtype or self.dtype)

        def use(rows: np.ndarray, distances: np.ndarray) -> None:
            out[rows] = distances.T[:, self.place] * self.unit

        self.each(links, use)
        return out

    def links_to(self, sources: Any) -> sp.csr_array:
        """Links of length zero to the given vertices, one per source."""
        sources = np.asarray(sources, np.int32).ravel()
        if sources.size and not (sources.min() >= 0 and sources.max() < self.n):
            raise IndexError(f"Sources are vertices 0 … {self.n - 1}, not {sources.min()} … {sources.max()}.")
        ptr = np.arange(len(sources) + 1)
        return sp.csr_array((np.zeros(len(sources)), sources, ptr), shape=(len(sources), self.n))

    def each(self, links: sp.csr_array, use: Callable[[np.ndarray, np.ndarray], None]) -> None:
        """Call use(rows, distances) for groups of the m points, in several threads: distances is (n, len(rows)).

        Its rows are in the internal numbering and its values in the internal unit. The next group overwrites it.
        """
        ptr, nodes, weights = _in_places(links, self.place, self.unit, self.dtype)
        by_place = np.argsort(_nearest(ptr, nodes, weights), kind="stable")
        lanes = compiled_paths().LANES if len(by_place) * _FAR_APART >= self.n else 1
        groups = [by_place[i : i + lanes] for i in range(0, len(by_place), lanes)]
        room: dict[int, _Room] = {}

        def work(rows: np.ndarray, slot: int) -> None:
            if slot not in room:
                room[slot] = _Room(self.n, lanes, self.dtype)
            seeds = np.concatenate([np.arange(ptr[row], ptr[row + 1]) for row in rows])
            lengths = np.concatenate([[0], np.cumsum(ptr[rows + 1] - ptr[rows])])
            use(rows, room[slot].run(self.edges, lengths, nodes[seeds], weights[seeds]))

        with phase("shortest paths"):
            cpu.for_each(groups, work, self.n_jobs)

    def computed_in(self, dtype: Any) -> Geodesics:
        """The same graph, prepared in another precision."""
        other = copy(self)
        other.dtype = np.dtype(dtype)
        other.edges = _renumbered(self.graph, self.order, self.place, self.unit, other.dtype)
        return other

    def is_uneven(self) -> bool:
        """Whether some distances are so long that float32 would lose the digits of the others.

        float32 keeps −½d² to 6e-8 of the largest. If an outlier is a hundred times as far away as the rest is wide, the
        rest keeps only three digits.
        """
        some = self.from_nodes(self.order[[0, self.n // 3, 2 * self.n // 3, self.n - 1]])
        return bool((some.max(axis=1) > UNEVEN * np.median(some, axis=1)).any())

    def spread(self, count: int, first: int) -> np.ndarray:
        """(count,) vertices by the max–min rule: each is the farthest from those before it.

        Every step updates the distance to the nearest chosen vertex, and visits only vertices whose distance falls. All
        steps together cost about as much as ln(count) sources.
        """
        nearest, free = np.full(self.n, np.inf, self.dtype), np.ones(self.n, bool)
        heap, place = np.empty(self.n, np.int32), np.empty(self.n, np.int32)
        chosen, zero = [int(self.place[first])], np.zeros(1, self.dtype)
        while True:
            compiled_paths().from_seeds(*self.edges, np.array(chosen[-1:], np.int32), zero, nearest, heap, place)
            free[chosen[-1]] = False  # its copies are also at distance zero, so they are chosen last
            if len(chosen) == count:
                return self.order[chosen]
            chosen.append(int(np.argmax(np.where(free, nearest, -1))))


class _Room:
    """The memory in which one thread finds the paths of a group."""

    def __init__(self, n: int, lanes: int, dtype: np.dtype) -> None:
        self.n, self.lanes = n, lanes
        self.distances = _aligned(n * lanes, dtype)
        self.heap, self.place = np.empty(n, np.int32), np.empty(n, np.int32)
        self.key = np.empty(n if lanes > 1 else 0, dtype)

    def run(self, edges: tuple, ptr: np.ndarray, nodes: np.ndarray, weights: np.ndarray) -> np.ndarray:
        if self.lanes > 1:
            compiled_paths().from_lanes(*edges, ptr, nodes, weights, self.distances, self.key, self.heap, self.place)
        else:
            self.distances[:] = np.inf
            compiled_paths().from_seeds(*edges, nodes, weights, self.distances, self.heap, self.place)
        return self.distances.reshape(self.n, self.lanes)[:, : len(ptr) - 1]


def _aligned(count: int, dtype: np.dtype) -> np.ndarray:
    """Memory aligned to a cache line, so that sixteen float32 lanes are one line."""
    room = np.empty(count * dtype.itemsize + 64, np.uint8)
    start = -room.ctypes.data % 64
    return room[start : start + count * dtype.itemsize].view(dtype)


def _renumbered(graph: sp.csr_array, order: np.ndarray, place: np.ndarray, unit: float, dtype: np.dtype) -> tuple:
    """The arrays of the graph in the internal numbering and unit."""
    lengths = np.diff(graph.indptr)[order]
    ptr = np.concatenate([[0], np.cumsum(lengths)])
    edges = np.repeat(graph.indptr[:-1][order] - ptr[:-1], lengths) + np.arange(ptr[-1])
    small = np.int32 if ptr[-1] < 2**31 else np.int64  # 32 bits while they hold every place
    return ptr.astype(small), place[graph.indices[edges]], (graph.data[edges] / unit).astype(dtype)


def _in_places(links: sp.csr_array, place: np.ndarray, unit: float, dtype: np.dtype) -> tuple:
    links = sp.csr_array(links)
    if (np.diff(links.indptr) == 0).any():
        raise ValueError("Each source needs a link to the graph, but some have none.")
    if not np.isfinite(links.data).all() or (links.data < 0).any():
        raise ValueError("Links must be finite distances ≥ 0.")
    return links.indptr.astype(np.int64), place[links.indices], (links.data / unit).astype(dtype)


def _nearest(ptr: np.ndarray, nodes: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The vertex that each source is linked to most closely, in the internal numbering."""
    rows = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))
    return nodes[np.lexsort((nodes, weights, rows))[ptr[:-1]]]
