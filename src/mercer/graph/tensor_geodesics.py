"""Distances along a graph on the device that holds its edges: what `geodesics` is for NumPy arrays.

    TensorGeodesics(graph).from_nodes(sources)       (m, n), from vertices
    TensorGeodesics(graph).columns(nodes, lengths)   (n, m), from points with links, in the internal numbering and unit
    TensorGeodesics(graph).spread(count, first)      vertices, each as far as possible from those before it

Distances are the least rounded sums along paths. For edges of the same length they have the same bits as those of
`Geodesics`, on every device. Tensors in the host's own memory are left to `Geodesics`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.backends import namespace, to_numpy
from mercer.graph.geodesics import UNEVEN, Geodesics
from mercer.linalg.inner import power_of_two
from mercer.progress import phase

COMPILED = True  # whether tensors in the host's memory go to compiled loops: these follow one path at a time


def tensor_paths() -> Any:
    return import_module("mercer.backends.torch_paths")


@dataclass(frozen=True)
class TensorGraph:
    """An undirected graph on a device: the edges of vertex v are those from ptr[v] to ptr[v + 1]."""

    ptr: Any  # (n + 1,), int64
    nodes: Any  # int32
    weights: Any

    @classmethod
    def of_neighbors(cls, found: Any, n: int) -> TensorGraph:
        """The graph of the nearest neighbours of all n rows."""
        return cls(*tensor_paths().of_neighbors(found.indices, found.distances, n))

    @classmethod
    def of_sparse(cls, graph: Any) -> TensorGraph:
        """The graph of a sparse CSR tensor, (n, n)."""
        return cls(*tensor_paths().of_sparse(graph))

    @classmethod
    def of_host(cls, graph: sp.csr_array, like: Any) -> TensorGraph:
        """The graph of a SciPy matrix, beside the tensor `like`."""
        graph = sp.coo_array(graph)
        xp = namespace(like)
        parts = [xp.asarray(part, device=like.device) for part in (*graph.coords, graph.data.astype(np.float64))]
        return cls(*tensor_paths().undirected(parts[0], parts[1], xp.astype(parts[2], like.dtype), graph.shape[0]))

    @property
    def n(self) -> int:
        return self.ptr.shape[0] - 1

    @property
    def shape(self) -> tuple[int, int]:
        return self.n, self.n

    def parts(self) -> np.ndarray:
        """(n,), the connected part of each vertex."""
        return to_numpy(tensor_paths().parts_of(self.ptr, self.nodes))

    def to_scipy(self) -> sp.csr_array:
        """(n, n), every edge in both directions."""
        values = to_numpy(self.weights).astype(np.float64)
        return sp.csr_array((values, to_numpy(self.nodes), to_numpy(self.ptr)), shape=(self.n, self.n))


def padded_links(graph: Any) -> tuple[Any, Any]:
    """The columns and values (m, k) of a sparse CSR tensor, k the most that a row has; missing ones are infinite."""
    return tensor_paths().padded_links(graph)


class TensorGeodesics:
    """Shortest paths in an undirected graph on a device, prepared once for many sources.

    dtype : of the distances while they are computed
    order, place : (n,), the vertex at each place of the internal numbering, and the place of each vertex
    unit : the power of two that weights were divided by

    Cost of m sources: m n numbers, and some visits to every edge from each source: about as many as there are edges
    across a cell of `torch_paths`, where Triton compiles for the device, else as many as there are along a path.
    """

    def __init__(self, graph: TensorGraph, *, dtype: Any = np.float64) -> None:
        self.edges_on_device, self.n, self.dtype = graph, graph.n, np.dtype(dtype)
        xp = namespace(graph.weights)
        self._compiled: Geodesics | None = None
        if COMPILED and str(graph.ptr.device) == "cpu":
            self._compiled = Geodesics(self.graph, dtype=dtype)
            self.unit, self.order = self._compiled.unit, xp.arange(self.n)
            self.place = self.order
            return
        weights = xp.astype(graph.weights, xp.float64)
        positive = weights[weights > 0]
        largest = float(xp.max(positive)) if positive.shape[0] else 1.0
        self.unit = power_of_two(float(xp.mean(positive / largest)) * largest if positive.shape[0] else 1.0)
        self.edges = tensor_paths().edges_of(graph.ptr, graph.nodes, self._rounded(weights / self.unit))
        self.order, self.place = self.edges.order, self.edges.place

    def _rounded(self, values: Any) -> Any:
        xp = namespace(values)
        return xp.astype(values, getattr(xp, self.dtype.name))

    @cached_property
    def graph(self) -> sp.csr_array:
        """(n, n) CSR on the host, every edge in both directions."""
        return self.edges_on_device.to_scipy()

    def columns(self, nodes: Any, lengths: Any) -> Any:
        """(n, m), from m points with links (m, k) to vertices: rows in the internal numbering, values in its unit."""
        return self._columns(self.place[nodes], self._rounded(lengths / self.unit))

    def from_places(self, places: Any) -> Any:
        """(n, m), from the vertices at some places, in the internal numbering and unit."""
        lengths = namespace(places).zeros((places.shape[0], 1), device=places.device)
        return self._columns(places[:, None], self._rounded(lengths))

    def _columns(self, places: Any, lengths: Any) -> Any:
        if self._compiled is not None:
            return namespace(lengths).asarray(_compiled_columns(self._compiled, to_numpy(places), to_numpy(lengths)))
        with phase("shortest paths"):
            return tensor_paths().from_links(self.edges, places, lengths)

    def from_nodes(self, sources: Any, dtype: Any = None) -> Any:
        """(m, n), the distances from the given vertices; infinity if there is no path."""
        sources = namespace(self.order).asarray(sources, device=self.order.device)
        D = self.from_places(self.place[sources])[self.place, :].T * self.unit
        return D if dtype is None else namespace(D).astype(D, dtype)

    def computed_in(self, dtype: Any) -> TensorGeodesics:
        """The same graph, prepared in another precision."""
        return TensorGeodesics(self.edges_on_device, dtype=dtype)

    def is_uneven(self) -> bool:
        """As `Geodesics.is_uneven`: whether float32 would lose most distances beside a few that are far longer."""
        some = to_numpy(self.from_nodes(self.order[[0, self.n // 3, 2 * self.n // 3, self.n - 1]]))
        return bool((some.max(axis=1) > UNEVEN * np.median(some, axis=1)).any())

    def spread(self, count: int, first: int) -> np.ndarray:
        """(count,) vertices by the max–min rule: each is the farthest from those before it."""
        if self._compiled is not None:
            return self._compiled.spread(count, first)
        dtype = getattr(namespace(self.order), self.dtype.name)
        with phase("landmarks"):
            chosen = tensor_paths().spread(self.edges, count, int(self.place[first]), dtype)
        return to_numpy(self.order[chosen])

    def on_host(self) -> Geodesics:
        """The same paths of NumPy arrays, which a model file holds."""
        if self._compiled is not None:
            return self._compiled
        return Geodesics(self.graph, dtype=self.dtype)


def _compiled_columns(paths: Geodesics, nodes: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """(n, m) in the unit, from m points with links (m, k)."""
    known = np.isfinite(lengths)
    ptr = np.concatenate([[0], np.cumsum(known.sum(axis=1))])
    links = sp.csr_array((lengths[known] * paths.unit, nodes[known], ptr), shape=(len(nodes), paths.n))
    D = paths.from_links(links)
    D /= paths.unit
    return np.ascontiguousarray(D.T)
