"""Shortest paths on tensors: the distances of all vertices from many sources at once, relaxed until none falls.

A distance d(v) is replaced by the least d(u) + w(u, v) over its edges until nothing changes. Addition rounds
monotonically, so what is left is the least rounded sum along any path: the same bits in whatever order edges were
looked at, and those that Dijkstra's method finds.

Vertices are numbered by cells, the parts of the graph that are nearest to one of evenly spaced vertices. Where Triton
compiles for the device, only cells that may still change are visited (see `triton_paths`); elsewhere every edge is.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

import torch

from mercer.backends.torch import fuses

CELL = 128  # vertices of a cell at most
_LANES_FROM = 2**22  # numbers that a step over all edges holds at once, on a device without Triton
_WIDEST = 4096  # sources that are followed together: more would only take memory


def of_neighbors(indices: torch.Tensor, distances: torch.Tensor, n: int) -> tuple[torch.Tensor, ...]:
    """`undirected` for the k nearest (m, k) of each of the vertices 0 … m − 1."""
    rows = torch.arange(len(indices), device=indices.device).repeat_interleave(indices.shape[1])
    return undirected(rows, indices.reshape(-1), distances.reshape(-1), n)


def of_sparse(graph: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """`undirected` for a sparse CSR tensor (n, n)."""
    n, ptr = graph.shape[0], graph.crow_indices()
    rows = torch.arange(n, device=ptr.device).repeat_interleave(ptr.diff())
    return undirected(rows, graph.col_indices(), graph.values(), n)


def padded_links(graph: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The columns and values (m, k) of a sparse CSR tensor, k the most that a row has; missing ones are infinite."""
    ptr, columns, values = graph.crow_indices(), graph.col_indices(), graph.values()
    counts = ptr.diff()
    rows = torch.arange(len(counts), device=ptr.device).repeat_interleave(counts)
    at = rows, torch.arange(len(columns), device=ptr.device) - ptr[:-1][rows]
    shape = len(counts), max(1, int(counts.max()))
    nodes, lengths = columns.new_zeros(shape), values.new_full(shape, torch.inf)
    nodes[at], lengths[at] = columns, values
    return nodes, lengths


@dataclass(frozen=True)
class Edges:
    """The edges of an undirected graph, each in both directions, in the numbering by cells.

    ptr, nodes, weights : the edges of vertex v are those from ptr[v] to ptr[v + 1]
    order, place : (n,), the vertex at each place and the place of each vertex
    cells : (c + 1,), the places at which cells begin
    beside_ptr, beside : the other cells that share an edge with a cell
    """

    ptr: torch.Tensor
    nodes: torch.Tensor
    weights: torch.Tensor
    order: torch.Tensor
    place: torch.Tensor
    cells: torch.Tensor
    beside_ptr: torch.Tensor
    beside: torch.Tensor

    @property
    def n(self) -> int:
        return len(self.order)


def undirected(
    rows: torch.Tensor, columns: torch.Tensor, values: torch.Tensor, n: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """(ptr, nodes, weights) of the graph with every edge in both directions, with the smaller weight if they differ.

    Loops and infinite weights are not edges and are left out.
    """
    known = (rows != columns) & torch.isfinite(values)
    rows, columns, values = rows[known].long(), columns[known].long(), values[known]
    keys = torch.cat([rows * n + columns, columns * n + rows])
    keys, where = torch.unique(keys, return_inverse=True)
    weights = torch.full((len(keys),), torch.inf, dtype=values.dtype, device=values.device)
    weights.scatter_reduce_(0, where, torch.cat([values, values]), "amin")
    return _starts(keys // n, n), (keys % n).int(), weights


def parts_of(ptr: torch.Tensor, nodes: torch.Tensor) -> torch.Tensor:
    """(n,), the connected part of each vertex of an undirected graph, numbered by their first vertices."""
    n, device = len(ptr) - 1, ptr.device
    rows, nodes = torch.repeat_interleave(torch.arange(n, device=device), ptr.diff()), nodes.long()
    least = torch.arange(n, device=device)  # the smallest vertex that is known to be connected
    while True:
        found = least.scatter_reduce(0, rows, least[nodes], "amin")
        found = found.scatter_reduce(0, least, found, "amin")  # what a vertex learned, its present least one learns
        found = found[found]
        if torch.equal(found, least):
            return torch.unique(least, return_inverse=True)[1]
        least = found


def edges_of(ptr: torch.Tensor, nodes: torch.Tensor, weights: torch.Tensor) -> Edges:
    """The edges of an undirected graph, renumbered by cells."""
    n, device = len(ptr) - 1, ptr.device
    cell = _cells(ptr, nodes.long())
    order = torch.argsort(cell, stable=True)
    place = torch.empty_like(order)
    place[order] = torch.arange(n, device=device)
    lengths = ptr.diff()[order]
    starts = torch.cat([ptr.new_zeros(1), lengths.cumsum(0)])
    at = torch.repeat_interleave(ptr[:-1][order] - starts[:-1], lengths) + torch.arange(len(nodes), device=device)
    nodes, weights = place[nodes[at].long()], weights[at].contiguous()
    cells, number = _cut(cell[order])
    owner = torch.repeat_interleave(number, lengths)
    count = len(cells) - 1
    pairs = torch.unique((owner * count + number[nodes])[owner != number[nodes]])
    beside_ptr = _starts(pairs // count, count)
    small = [part.int() for part in (nodes, cells, beside_ptr, pairs % count)]
    return Edges(starts, small[0], weights, order, place, small[1], small[2], small[3])


def relax(edges: Edges, D: torch.Tensor, changed: torch.Tensor) -> None:
    """Let the distances D, (n, m), fall to those along shortest paths, in place.

    changed : places at which some distance was set, or fell, since the last call
    """
    if fuses(D):
        import_module("mercer.backends.triton_paths").relax(edges, D, changed)
    else:
        relax_all(edges, D)


def from_links(edges: Edges, nodes: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """(n, m), the distances of all places from m points with links (m, k) to some places; infinity without a path."""
    n, m = edges.n, len(nodes)
    D = torch.full((n, m), torch.inf, dtype=lengths.dtype, device=lengths.device)
    for start in range(0, m, _WIDEST):
        run = slice(start, min(start + _WIDEST, m))
        part = D if m <= _WIDEST else torch.full_like(D[:, run], torch.inf, memory_format=torch.contiguous_format)
        lanes = torch.arange(run.stop - run.start, device=D.device)[:, None].expand(-1, nodes.shape[1])
        part.view(-1).scatter_reduce_(
            0, (nodes[run].long() * part.shape[1] + lanes).reshape(-1), lengths[run].reshape(-1), "amin"
        )
        relax(edges, part, nodes[run].reshape(-1))
        if part is not D:
            D[:, run] = part
    return D


def spread(edges: Edges, count: int, first: int, dtype: torch.dtype) -> torch.Tensor:
    """(count,) places by the max–min rule: each is the farthest from those before it."""
    nearest = torch.full((edges.n, 1), torch.inf, dtype=dtype, device=edges.ptr.device)
    free = torch.ones(edges.n, dtype=torch.bool, device=edges.ptr.device)
    chosen = torch.full((count,), first, device=edges.ptr.device)
    for i in range(count):
        if i:
            chosen[i] = torch.where(free, nearest[:, 0], -1).argmax()
        nearest[chosen[i]] = 0
        free[chosen[i]] = False  # its copies are also at distance zero, so they are chosen last
        if i < count - 1:
            relax(edges, nearest, chosen[i : i + 1])
    return chosen


def _starts(sorted_rows: torch.Tensor, n: int) -> torch.Tensor:
    """Where the runs of 0 … n − 1 begin in sorted numbers, and the end."""
    return torch.searchsorted(sorted_rows, torch.arange(n + 1, device=sorted_rows.device))


def _cells(ptr: torch.Tensor, nodes: torch.Tensor) -> torch.Tensor:
    """(n,), the cell of each vertex: the nearest of some evenly spaced ones, by the number of edges between them."""
    n, device = len(ptr) - 1, ptr.device
    rows = torch.repeat_interleave(torch.arange(n, device=device), ptr.diff())
    far = torch.iinfo(torch.int64).max // 2
    seeds = torch.arange(0, n, CELL // 2, device=device)
    cell = torch.full((n,), far, device=device)
    cell[seeds] = torch.arange(len(seeds), device=device)
    while True:
        reached = cell < far
        near = torch.where(reached[nodes], cell[nodes], far)
        found = torch.full_like(cell, far).scatter_reduce_(0, rows, near, "amin")
        grown = torch.where(reached, cell, found)
        if torch.equal(grown, cell):
            return torch.where(reached, cell, len(seeds))  # parts without an evenly spaced vertex
        cell = grown


def _cut(cell: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Where cells begin in sorted numbers of cells, large ones cut to CELL vertices; and the new number of each."""
    n, device = len(cell), cell.device
    starts = torch.searchsorted(cell, cell)
    inside = torch.arange(n, device=device) - starts
    begins = inside % CELL == 0
    return torch.cat([torch.nonzero(begins)[:, 0], torch.tensor([n], device=device)]), begins.long().cumsum(0) - 1


def relax_all(edges: Edges, D: torch.Tensor) -> None:
    """Every edge in every step: for devices without Triton."""
    rows = torch.repeat_interleave(torch.arange(edges.n, device=D.device), edges.ptr.diff())
    nodes, weights = edges.nodes.long(), edges.weights[:, None]
    lanes = max(1, _LANES_FROM // max(1, len(nodes)))
    for start in range(0, D.shape[1], lanes):
        part = D[:, start : start + lanes].contiguous()
        while True:
            fallen = part.scatter_reduce(0, rows[:, None].expand(-1, part.shape[1]), part[nodes] + weights, "amin")
            if torch.equal(fallen, part):
                break
            part = fallen
        D[:, start : start + lanes] = part
