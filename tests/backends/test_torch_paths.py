"""Distances on tensors are those of Dijkstra's method, to the last bit, by torch and by the kernel for cells."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.csgraph import dijkstra

from card import CARD, DEVICE, MARKS, torch
from mercer.backends import torch_paths, triton_paths

pytestmark = MARKS
N = 2000 if CARD else 40  # the interpreter takes a while for each cell
RNG = np.random.default_rng(0)


@pytest.fixture(params=["every edge", "cells"])
def way(request, monkeypatch):
    monkeypatch.setattr(torch_paths, "fuses", lambda D: request.param == "cells")
    if not CARD:
        monkeypatch.setattr(torch_paths, "CELL", 32)  # several cells, and little for the interpreter to do
        monkeypatch.setattr(triton_paths, "ROUNDS", 2)  # several launches for each cell
        monkeypatch.setattr(triton_paths, "LANES_AT_MOST", 4)


def tensor(values, dtype=torch.float64):
    return torch.as_tensor(np.asarray(values), dtype=dtype, device=DEVICE)


def sheet(n=N, k=4, seed=0):
    """Points of a square, each with edges to its nearest, (n, n) in whole sixty-fourths: sums of them do not round."""
    X = np.random.default_rng(seed).random((n, 2))
    D = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))
    near = np.argsort(D, axis=1)[:, 1 : k + 1]
    rows = np.repeat(np.arange(n), k)
    weights = np.ceil(64 * D[rows, near.ravel()]) / 64
    return sp.csr_array((weights, (rows, near.ravel())), shape=(n, n))


def edges_of(graph, dtype=torch.float64):
    graph = graph.tocoo()
    parts = (tensor(graph.coords[0], torch.int64), tensor(graph.coords[1], torch.int64), tensor(graph.data, dtype))
    return torch_paths.edges_of(*torch_paths.undirected(*parts, graph.shape[0]))


def distances(edges, sources, dtype=torch.float64):
    sources = tensor(sources, torch.int64)
    zeros = torch.zeros((len(sources), 1), dtype=dtype, device=DEVICE)
    D = torch_paths.from_links(edges, edges.place[sources][:, None], zeros)
    return D[edges.place].T.cpu().numpy()


def test_distances_are_those_of_dijkstra(way):
    graph = sheet()
    sources = [0, 7, 7, N - 1, 5]  # one twice
    np.testing.assert_array_equal(distances(edges_of(graph), sources), dijkstra(graph, directed=False, indices=sources))


def test_rounded_distances_do_not_depend_on_the_order_of_edges(way):
    graph = sheet()
    graph.data = graph.data * np.pi / 3
    found = distances(edges_of(graph, torch.float32), range(0, N, N // 4), torch.float32)
    shuffled = RNG.permutation(N)
    other = edges_of(graph[shuffled][:, shuffled], torch.float32)
    back = np.argsort(shuffled)
    again = distances(other, back[range(0, N, N // 4)], torch.float32)[:, back]
    np.testing.assert_array_equal(again, found)


def test_parts_without_a_path_are_infinitely_far(way):
    graph = sp.block_diag([sheet(40), sheet(30, seed=1)], format="csr")
    found = distances(edges_of(graph), [0, 45])
    np.testing.assert_array_equal(found, dijkstra(graph, directed=False, indices=[0, 45]))
    assert np.isinf(found[0, 40:]).all() and np.isfinite(found[0, :40]).sum() > 1


def test_a_hub_and_a_chain(way):
    star = np.zeros((50, 50))
    star[0, 1:40] = np.arange(1, 40)  # a vertex with more edges than a cell has rows
    star[np.arange(39, 49), np.arange(40, 50)] = 1.0  # and a path as long as the graph
    graph = sp.csr_array(star)
    np.testing.assert_array_equal(distances(edges_of(graph), [0, 49]), dijkstra(graph, directed=False, indices=[0, 49]))


def test_points_outside_the_graph_start_from_their_links(way):
    graph, links = sheet(), RNG.integers(0, N, (3, 2))
    lengths = np.ceil(64 * RNG.random((3, 2))) / 64
    edges = edges_of(graph)
    found = torch_paths.from_links(edges, edges.place[tensor(links, torch.int64)], tensor(lengths))[edges.place].T
    whole = dijkstra(graph, directed=False)
    expected = np.min(lengths[:, :, None] + whole[links], axis=1)
    np.testing.assert_array_equal(found.cpu().numpy(), expected)


def test_spread_takes_the_farthest_from_those_before(way):
    graph = sheet()
    graph.data = graph.data * np.pi / 3  # without ties
    edges, whole = edges_of(graph), dijkstra(graph, directed=False)
    chosen = edges.order[torch_paths.spread(edges, 4, int(edges.place[3]), torch.float64)].tolist()
    expected = [3]
    while len(expected) < 4:
        expected.append(int(whole[expected].min(axis=0).argmax()))
    assert chosen == expected


def test_undirected_takes_the_smaller_weight_and_no_loops():
    rows, columns = tensor([0, 1, 2, 2], torch.int64), tensor([1, 0, 2, 0], torch.int64)
    ptr, nodes, weights = torch_paths.undirected(rows, columns, tensor([3.0, 2.0, 1.0, torch.inf]), 3)
    assert ptr.tolist() == [0, 1, 2, 2] and nodes.tolist() == [1, 0] and weights.tolist() == [2.0, 2.0]


def test_cells_hold_every_vertex_once_and_are_small():
    edges = edges_of(sheet(1000))
    assert sorted(edges.order.tolist()) == list(range(1000))
    sizes = edges.cells.diff()
    assert int(edges.cells[0]) == 0 and int(edges.cells[-1]) == 1000 and int(sizes.min()) > 0
    assert int(sizes.max()) <= torch_paths.CELL
