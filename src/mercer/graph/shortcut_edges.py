"""Edges of a graph of neighbours whose ends are far apart along the rest of the data, and how much depends on them.

    shortcuts(edges, detour=5)            the numbers of the edges that look like shortcuts
    edge_loads(edges, numbers, sources)   how much of all distance runs over each of them

A shortcut is an edge that the rest of the data does not confirm: the path between its ends along trusted edges is long.
A path is *short* if it is at most `detour` times as long as the edge, or as the local spacing if that is longer, since
copies and near copies of a point have no shorter path to each other than through its neighbours. The set of trusted
edges grows in three steps:

1. The core: edges no longer than the local spacing times a factor. The spacing is the distance to the CORE-th
   neighbour, taken as the median over the neighbours of a vertex, so that an outlier or a noisy point between two
   sheets is measured by the sheets. The factor is the one at which nearly all vertices are in large parts and these are
   joined, times MARGIN, because a core that only just holds together has cracks. An edge of the core without another
   short path along the core is put back, unless it joins parts that nothing else joins. This finds a single false edge
   however short it is, and does not cut a thin ring.
2. Every edge with a short path along trusted edges is trusted too, again and again until nothing changes. The order
   does not matter: more edges never make a path longer, so there is one smallest such set.
3. Parts that are still apart are joined by the shortest edges between them (Kruskal), and step 2 is repeated.

The remaining edges are shortcuts. They never vouch for one another, so whole bundles are found. The more obvious
method, to take edges by increasing length and to set aside those that close a long loop, cuts every ring of data: the
path of the last edge of a ring is the whole ring, however dense the ring. Here step 1 closes a ring, by all its short
edges at once.

What it cannot find: several shortcuts side by side that are no longer than the local spacing, as when noise is as wide
as the gap between two sheets. The points then do not say what is near. What it finds wrongly: the edges across the only
wide gap of a thin ring, which look the same as edges between the two ends of an open curve.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from mercer.backends import cpu
from mercer.graph.geodesics import undirected
from mercer.linalg.inner import power_of_two

CORE = 8  # the neighbour whose distance is the local spacing
MARGIN = 1.4  # times the factor at which the data begins to hold together
_HOLDS, _PART = 0.95, 100  # the data holds together when 95 % of its vertices are in parts of at least 100
_MOST = 1.8  # the factor may grow by at most this much to join such parts: groups may truly lie apart
_FACTORS = 0.4 * 1.05 ** np.arange(80)  # of the spacing that are tried
_FEW = 0.01  # if a look at common neighbours accepts a smaller share of the edges, searches along paths begin
_JOBS = 64  # parts for the threads: many more than threads, so that one slow part does not decide


def _kernels() -> Any:
    return import_module("mercer.backends.compiled_shortcuts")


@dataclass(frozen=True)
class EdgeList:
    """The numbered edges of an undirected graph, sorted by (i, j).

    n : number of vertices
    i, j, length : (m,), the ends of each edge, i < j, and its length
    csr : pointers, neighbours, weights and edge numbers of a CSR matrix that stores every edge in both directions
    unit : the power of two that the weights of `csr` (not `length`) were divided by
    """

    n: int
    i: np.ndarray
    j: np.ndarray
    length: np.ndarray
    csr: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
    unit: float

    @classmethod
    def of(cls, graph: Any) -> EdgeList:
        """The edges of square sparse weights ≥ 0, stored in one direction or both; stored zeros are edges."""
        G = undirected(graph)
        n = G.shape[0]
        rows, columns = np.repeat(np.arange(n), np.diff(G.indptr)), G.indices.astype(np.int64)
        upper = rows < columns
        i, j, length = rows[upper], columns[upper], G.data[upper]
        keys = np.minimum(rows, columns) * n + np.maximum(rows, columns)
        edge_at = np.searchsorted(i * n + j, keys)
        unit = power_of_two(float(length.max(initial=0.0)))
        csr = (G.indptr.astype(np.int64), G.indices.astype(np.int32), G.data / unit, edge_at.astype(np.int64))
        return cls(n, i, j, length, csr, unit)

    def find(self, i: Any, j: Any) -> np.ndarray:
        """The numbers of the edges between i and j, i < j; −1 for a pair without an edge."""
        keys, wanted = self.i * self.n + self.j, np.asarray(i, np.int64) * self.n + np.asarray(j, np.int64)
        place = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
        return np.where(keys[place] == wanted, place, -1) if len(keys) else np.full(len(wanted), -1)

    def graph(self, keep: np.ndarray | slice = slice(None)) -> sp.csr_array:
        """The sparse matrix of some edges, each in one direction; zeros are stored."""
        entries = (self.length[keep], (self.i[keep].astype(np.int32), self.j[keep].astype(np.int32)))
        return sp.coo_array(entries, shape=(self.n, self.n)).tocsr()


def shortcuts(edges: EdgeList, *, detour: float = 5.0, n_jobs: int | None = None) -> np.ndarray:
    """The numbers of the edges that look like shortcuts, as the text at the head of this module defines them.

    Cost: a few looks at the common neighbours of each edge. For the edges that this leaves, searches among the points
    within `detour` lengths, one search for all edges of a vertex.

    >>> i, j = np.array([(a, a + step) for step in (1, 2, 3, 4) for a in range(200 - step)] + [(30, 160)]).T
    >>> strip = sp.csr_array((np.where(j - i < 5, j - i, 6.0), (i, j)), shape=(200, 200))
    >>> edges = EdgeList.of(strip)
    >>> [(int(edges.i[e]), int(edges.j[e])) for e in shortcuts(edges)]
    [(30, 160)]
    """
    if not len(edges.i):
        return np.empty(0, np.int64)
    lengths, spacing = edges.length / edges.unit, _spacing(edges)
    relative = np.divide(lengths, spacing, out=np.zeros_like(lengths), where=spacing > 0)
    factor = MARGIN * _holding(edges, relative)
    search = DetourSearch(edges, detour * np.maximum(lengths, factor * spacing), n_jobs)
    trusted = search.grown(_confirmed(search, relative <= factor))
    return np.flatnonzero(~search.grown(trusted | _joins(edges, trusted)))


def _spacing(edges: EdgeList) -> np.ndarray:
    """(m,), the local spacing at each edge, in the unit of the weights: the smaller one of its two ends."""
    ptr, nbr, weights, _ = edges.csr
    degree = np.diff(ptr)
    rows, place = np.repeat(np.arange(edges.n), degree), np.arange(len(nbr))
    nearest = np.lexsort((weights, rows))[place - ptr[rows] < CORE]
    reach = np.zeros(edges.n)
    np.maximum.at(reach, rows[nearest], weights[nearest])
    ordered = reach[nbr][np.lexsort((reach[nbr], rows))]
    middle = ordered[np.minimum(ptr[:-1] + degree // 2, len(nbr) - 1)]
    return np.minimum(middle[edges.i], middle[edges.j])


def _holding(edges: EdgeList, relative: np.ndarray) -> float:
    """The factor of the spacing at which the data holds together.

    Nearly all vertices are in large parts, and there are no more such parts than in the whole graph. The second
    condition may need long edges if groups lie apart, so it may raise the factor by at most _MOST.
    """
    part = min(_PART, edges.n // 4)
    whole = _large(_labels(edges, np.ones(len(relative), bool)), part)[1]

    def first(enough: Callable[[float, int], bool]) -> float:
        low, high = 0, len(_FACTORS) - 1
        while low < high:
            middle = (low + high) // 2
            if enough(*_large(_labels(edges, relative <= _FACTORS[middle]), part)):
                high = middle
            else:
                low = middle + 1
        return float(_FACTORS[low])

    bulk = first(lambda share, _: share >= _HOLDS)
    return min(first(lambda share, count: share >= _HOLDS and count <= whole), _MOST * bulk)


def _large(labels: np.ndarray, part: int) -> tuple[float, int]:
    """The share of vertices in parts of at least `part` vertices, and the number of these parts."""
    sizes = np.bincount(labels)
    large = sizes >= part
    return float(sizes[large].sum() / len(labels)), int(large.sum())


def _confirmed(search: DetourSearch, core: np.ndarray) -> np.ndarray:
    """The core without the edges that have no other short path along it, unless they join parts of the rest."""
    edges, firm = search.edges, core & (search.edges.length == 0)  # copies are always confirmed
    asked = np.flatnonzero(core & ~firm)
    firm[asked] = search.without(asked, core)
    labels = _labels(edges, firm)
    return firm | (core & (labels[edges.i] != labels[edges.j]))


def _joins(edges: EdgeList, trusted: np.ndarray) -> np.ndarray:
    """The shortest edges that join the parts that are still apart."""
    labels = _labels(edges, trusted).astype(np.int64)
    i, j = labels[edges.i], labels[edges.j]
    between = np.flatnonzero(i != j)
    order = between[np.argsort(edges.length[between], kind="stable")]
    taken, joins = np.zeros(len(order), bool), np.zeros(len(trusted), bool)
    _kernels().joining(order, i, j, np.arange(labels.max() + 1), taken)
    joins[order[taken]] = True
    return joins


def _labels(edges: EdgeList, keep: np.ndarray) -> np.ndarray:
    """The connected component of each vertex, by the edges that are kept."""
    ones = np.ones(np.count_nonzero(keep), np.int8)
    pattern = sp.coo_array((ones, (edges.i[keep], edges.j[keep])), shape=(edges.n, edges.n))
    return connected_components(pattern, directed=False)[1]


class DetourSearch:
    """Searches for short paths in several threads, each with its own memory."""

    def __init__(self, edges: EdgeList, limits: np.ndarray, n_jobs: int | None) -> None:
        self.edges, self.limits, self.n_jobs = edges, limits, n_jobs
        self._rooms: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    def grown(self, trusted: np.ndarray) -> np.ndarray:
        """The smallest set that holds these edges and every edge with a short path along the set."""
        trusted = trusted.copy()
        while True:
            asked = np.flatnonzero(~trusted)
            found = self.at_once(asked, trusted)
            if np.count_nonzero(found) <= _FEW * len(asked):  # the remaining edges need longer paths
                found |= self.along(asked, trusted)
                if not found.any():
                    return trusted
            trusted[asked[found]] = True

    def without(self, asked: np.ndarray, inside: np.ndarray) -> np.ndarray:
        """Whether each edge has a short path along the edges `inside`, itself left out."""
        E, out, kernel = self.edges, np.zeros(len(asked), bool), _kernels().detours_without

        def work(run: slice, slot: int) -> None:
            kernel(asked[run], E.i, E.j, self.limits, *E.csr, inside, *self._room(slot), out[run])

        cpu.for_each(_runs(len(asked)), work, self.n_jobs)
        return out

    def at_once(self, asked: np.ndarray, inside: np.ndarray) -> np.ndarray:
        """Whether each edge has a short path of two edges `inside`."""
        E, out, kernel = self.edges, np.zeros(len(asked), bool), _kernels().one_step_detours

        def work(run: slice, slot: int) -> None:
            kernel(asked[run], E.i, E.j, self.limits, *E.csr, inside, out[run])

        cpu.for_each(_runs(len(asked)), work, self.n_jobs)
        return out

    def along(self, asked: np.ndarray, inside: np.ndarray) -> np.ndarray:
        """Whether each of the edges, none of them inside, has a short path along the edges `inside`."""
        E, kernel = self.edges, _kernels().detours_from
        count = np.bincount(E.i[asked], minlength=E.n) + np.bincount(E.j[asked], minlength=E.n)
        swap = (
            count[E.j[asked]] > count[E.i[asked]]
        )  # search from the end with more edges, so that fewer searches are needed
        near, far = np.where(swap, E.j[asked], E.i[asked]), np.where(swap, E.i[asked], E.j[asked])
        order = np.argsort(near, kind="stable")
        sources, first = np.unique(near[order], return_index=True)
        starts, ends, numbers = np.append(first, len(order)), far[order], asked[order]
        found, out = np.zeros(len(order), bool), np.zeros(len(order), bool)

        def work(run: slice, slot: int) -> None:
            part = (sources[run], starts[run.start : run.stop + 1], ends, numbers)
            kernel(*part, self.limits, *E.csr, inside, *self._room(slot), found)

        cpu.for_each(_runs(len(sources)), work, self.n_jobs)
        out[order] = found
        return out

    def _room(self, slot: int) -> tuple[np.ndarray, np.ndarray]:
        if slot not in self._rooms:
            vertices = np.zeros((4, self.edges.n), np.int32)
            vertices[1] = -1
            self._rooms[slot] = np.full(self.edges.n, np.inf), vertices
        return self._rooms[slot]


def _runs(count: int) -> list[slice]:
    bounds = np.linspace(0, count, min(_JOBS, count) + 1).astype(int)
    return [slice(int(a), int(b)) for a, b in pairwise(bounds)]


@dataclass(frozen=True)
class EdgeLoads:
    """How much of all distance depends on some edges.

    share : (s,), for each edge, Σ d over sampled pairs whose shortest path runs over it, divided by Σ d over all
    together : the share of distance whose path has any of the edges
    growth : the relative growth of the mean distance without these edges, over pairs that stay connected
    """

    share: np.ndarray
    together: float
    growth: float


def edge_loads(edges: EdgeList, numbers: np.ndarray, sources: np.ndarray, *, n_jobs: int | None = None) -> EdgeLoads:
    """How much depends on the edges of the given numbers, from shortest paths between the sources and all vertices.

    Cost: two shortest-path trees per source.
    """
    kernel, threads = _kernels().path_loads, cpu.workers(n_jobs)
    ptr, nbr, weights, edge_at = edges.csr
    number = np.full(len(edges.i), -1, np.int64)
    number[numbers] = np.arange(len(numbers))
    number_at = number[edge_at]
    found, sums = np.zeros((threads, len(numbers))), np.zeros((threads, 4))
    rooms: dict[int, tuple] = {}

    def work(source: int, slot: int) -> None:
        if slot not in rooms:
            rooms[slot] = np.empty(edges.n), np.empty((4, edges.n), np.int32), np.empty((2, edges.n))
        kernel(source, ptr, nbr, weights, number_at, *rooms[slot], found[slot], sums[slot])

    cpu.for_each([int(s) for s in sources], work, n_jobs)
    total, over, before, after = sums.sum(axis=0)
    if not total > 0:
        return EdgeLoads(np.zeros(len(numbers)), 0.0, 0.0)
    growth = after / before - 1 if before > 0 else 0.0
    return EdgeLoads(found.sum(axis=0) / total, float(over / total), max(float(growth), 0.0))
