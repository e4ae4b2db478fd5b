"""Shortcuts: planted ones are found and nothing else; what hangs on an edge is what brute force counts."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse.csgraph import shortest_path
from scipy.spatial import cKDTree
from sklearn.datasets import make_swiss_roll

from mercer.graph.geodesics import Geodesics
from mercer.graph.shortcut_edges import DetourSearch, EdgeList, edge_loads, shortcuts


def graph_of(X, k):
    distances, indices = cKDTree(X).query(X, k + 1)
    rows = np.repeat(np.arange(len(X)), k)
    return sp.csr_array((distances[:, 1:].ravel(), (rows, indices[:, 1:].ravel())), shape=(len(X),) * 2)


def with_edges(graph, *added):
    graph = graph.tolil()
    for i, j, length in added:
        graph[i, j] = length
    return graph.tocsr()


def found_in(graph, **settings):
    edges = EdgeList.of(graph)
    return {(int(edges.i[e]), int(edges.j[e])) for e in shortcuts(edges, **settings)}


def strip(n=600, seed=0, length=30):
    """A strip, long along the first axis, and its rows from left to right."""
    X = np.random.default_rng(seed).random((n, 2)) * [length, 1.5]
    return X[np.argsort(X[:, 0])]


def arc_length(t):
    """Along the swiss roll."""
    return (t * np.sqrt(1 + t * t) + np.arcsinh(t)) / 2


# --- planted -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [1e-6, 0.05, 0.5, 2.0])
def test_a_planted_edge_is_found_alone_however_short_it_is(length):
    graph = graph_of(strip(), 10)
    assert found_in(graph) == set()
    assert found_in(with_edges(graph, (40, 560, length))) == {(40, 560)}


def test_an_edge_along_the_data_is_no_shortcut():
    X = strip()
    far = float(np.linalg.norm(X[100] - X[200]))
    assert found_in(with_edges(graph_of(X, 10), (100, 200, far))) == set()


def test_several_edges_do_not_vouch_for_one_another():
    """A bundle from one patch to another: every edge of it has a short way over the others."""
    X = strip()
    left, right = np.arange(60, 72), np.arange(500, 512)
    planted = [(int(a), int(b), 1.0 + 0.01 * i) for i, a in enumerate(left) for b in right[i % 3 :: 3]]
    assert len(planted) > 40
    assert found_in(with_edges(graph_of(X, 10), *planted)) == {(a, b) for a, b, _ in planted}


def test_a_stepping_stone_between_two_sheets_is_cut_from_one_of_them():
    """Two long sides of a hairpin, 2 apart, and a point halfway: its edges to one side stay, those to the other go."""
    rng = np.random.default_rng(1)
    s = np.sort(rng.uniform(0, 42.0 + np.pi, 900))
    bend = np.clip(s - 21, 0, np.pi)
    x = np.where(s < 21, 21 - s, np.where(s > 21 + np.pi, s - 21 - np.pi, 0)) - np.sin(bend)
    X = np.column_stack([x, np.cos(bend), rng.random(900)])
    X = np.concatenate([X, [[15.0, 0.0, 0.5]]])
    graph = graph_of(X, 12)
    upper, row = X[:, 1] > 0, graph[[900], :]
    linked, nearest = row.indices, row.indices[row.data.argmin()]
    assert upper[linked].any() and not upper[linked].all()
    assert found_in(graph) == {(int(v), 900) for v in linked if upper[v] != upper[nearest]}


@pytest.mark.parametrize(("n", "noise", "k"), [(1000, 0.0, 30), (1000, 0.5, 12), (1000, 0.5, 30), (2000, 0.5, 24)])
def test_shortcuts_of_a_swiss_roll_are_all_found_and_no_others(n, noise, k):
    X, t = make_swiss_roll(n, noise=noise, random_state=0)
    edges, along = EdgeList.of(graph_of(X, k)), arc_length(t)
    apart = np.abs(along[edges.i] - along[edges.j])
    truth = np.flatnonzero(apart > 3 * np.maximum(edges.length, 1.5))
    assert len(truth) > 0 or n == 2000
    assert_array_equal(shortcuts(edges), truth)


# --- nothing to find ---------------------------------------------------------------------------------------


def clean(name, n, rng):
    angle, height = rng.uniform(0, 2 * np.pi, n), np.arccos(rng.uniform(-1, 1, n))
    even = 2 * np.pi * (np.arange(n) + rng.uniform(-0.4, 0.4, n)) / n
    ring = np.column_stack([np.cos(angle), np.sin(angle)])
    turned = np.column_stack([np.cos(angle) * np.sin(height), np.sin(angle) * np.sin(height), np.cos(height)])
    shapes = {
        "square": lambda: rng.random((n, 2)),
        "circle": lambda: np.column_stack([np.cos(even), np.sin(even)]),
        "annulus": lambda: ring * np.sqrt(rng.uniform(0.4, 1, n))[:, None],
        "knot": lambda: np.column_stack(
            [np.sin(angle) + 2 * np.sin(2 * angle), np.cos(angle) - 2 * np.cos(2 * angle), -np.sin(3 * angle)]
        ),
        "sphere": lambda: turned,
        "ball of noise": lambda: rng.standard_normal((n, 5)),
        "two groups": lambda: rng.standard_normal((n, 3)) + 8 * (np.arange(n) % 2)[:, None],
        "copies": lambda: np.repeat(rng.random((n // 2, 2)), 2, axis=0),
        "near copies": lambda: np.repeat(rng.random((n // 2, 2)), 2, axis=0) + 1e-9 * rng.random((n, 2)),
        "roll": lambda: make_swiss_roll(3 * n, random_state=0)[0],
    }
    return shapes[name]()


@pytest.mark.parametrize(
    "name",
    ["square", "circle", "annulus", "knot", "sphere", "ball of noise", "two groups", "copies", "near copies", "roll"],
)
@pytest.mark.parametrize("seed", [0, 1])
def test_clean_data_has_no_shortcuts(name, seed):
    X = clean(name, 800, np.random.default_rng(seed))
    k = 24 if "copies" in name else 15  # of which half are somewhere else
    assert found_in(graph_of(X, k)) == set()


def test_a_thin_ring_is_not_cut():
    """Two neighbours each, once round: the way between the ends of every edge is all the rest of the ring."""
    n = 50
    ring = sp.csr_array((np.ones(n), (np.arange(n), np.roll(np.arange(n), -1))), shape=(n, n))
    assert found_in(ring) == set()


def test_graphs_of_nothing():
    assert len(shortcuts(EdgeList.of(sp.csr_array((4, 4))))) == 0
    assert found_in(sp.csr_array((np.zeros(2), ([0, 1], [1, 2])), shape=(3, 3))) == set()


# --- laws --------------------------------------------------------------------------------------------------


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 1000), power=st.integers(-200, 200))
def test_order_and_units_change_nothing(seed, power):
    rng = np.random.default_rng(seed)
    graph = with_edges(graph_of(strip(300, seed % 5, 20), 8), (20, 280, 0.7), (150, 60, 0.2))
    order = rng.permutation(300)
    expected = found_in(graph)
    assert {(20, 280), (60, 150)} <= expected
    back = {tuple(sorted((int(order[i]), int(order[j])))) for i, j in found_in(graph[order][:, order] * 2.0**power)}
    assert back == expected


def test_one_thread_or_two_find_the_same():
    X, _ = make_swiss_roll(800, noise=0.5, random_state=1)
    edges = EdgeList.of(graph_of(X, 20))
    assert_array_equal(shortcuts(edges, n_jobs=1), shortcuts(edges, n_jobs=2))


def test_a_larger_detour_leaves_fewer():
    X, _ = make_swiss_roll(800, noise=0.5, random_state=1)
    edges = EdgeList.of(graph_of(X, 20))
    counts = [len(shortcuts(edges, detour=detour)) for detour in (3, 5, 10, 100)]
    assert counts == sorted(counts, reverse=True) and counts[0] > 0 and counts[-1] == 0


def test_edges_and_their_numbers():
    graph = sp.csr_array((np.array([3.0, 0.0, 5.0]), ([2, 0, 3], [0, 1, 1])), shape=(4, 4))
    edges = EdgeList.of(graph)
    assert list(zip(edges.i, edges.j, edges.length, strict=True)) == [(0, 1, 0.0), (0, 2, 3.0), (1, 3, 5.0)]
    assert_array_equal(edges.find([0, 1, 0], [2, 2, 1]), [1, -1, 0])
    assert_allclose(edges.graph([1, 2]).toarray()[[0, 1], [2, 3]], [3, 5])


# --- what hangs on them ------------------------------------------------------------------------------------


def brute_loads(edges, numbers, sources):
    """By following every path, found by relaxing all edges until nothing changes."""
    n, ways = edges.n, [*zip(edges.i, edges.j, edges.length, range(len(edges.i)), strict=True)]
    ways += [(j, i, w, e) for i, j, w, e in ways]

    def paths(source, allowed):
        best = {source: (0.0, ())}
        for _ in range(n):
            for i, j, w, e in ways:
                if i in best and e in allowed and best[i][0] + w < best.get(j, (np.inf,))[0] - 1e-12:
                    best[j] = best[i][0] + w, (*best[i][1], e)
        return best

    everything = set(range(len(edges.i)))
    total = over = before = after = 0.0
    on = dict.fromkeys(numbers, 0.0)
    for source in sources:
        with_, without = paths(source, everything), paths(source, everything - set(numbers))
        for v, (d, path) in with_.items():
            total += d
            over += d * bool(set(path) & set(numbers))
            for e in set(path) & set(numbers):
                on[e] += d
            if v in without:
                before, after = before + d, after + without[v][0]
    return np.array([on[e] for e in numbers]) / total, over / total, after / before - 1


@pytest.mark.parametrize("seed", range(4))
def test_loads_are_those_of_every_path_counted(seed):
    rng = np.random.default_rng(seed)
    n = 24
    dense = np.triu(np.where(rng.random((n, n)) < 0.15, rng.uniform(0.5, 2, (n, n)), 0), 1)
    edges = EdgeList.of(sp.csr_array(dense))
    numbers = np.sort(rng.choice(len(edges.i), 6, replace=False))
    sources = rng.choice(n, 7, replace=False)
    found = edge_loads(edges, numbers, sources)
    share, together, growth = brute_loads(edges, numbers.tolist(), sources.tolist())
    assert_allclose(found.share, share, rtol=1e-12)
    assert_allclose([found.together, found.growth], [together, growth], rtol=1e-10, atol=1e-14)


def test_everything_hangs_on_a_bridge():
    """Two groups and one edge between them: each pair across runs over it, and without it none is connected."""
    n, m = 12, 5
    dense = np.zeros((n, n))
    dense[:m, :m] = dense[m:, m:] = 1
    dense[2, 8] = 7.0
    edges = EdgeList.of(sp.csr_array(np.triu(dense, 1)))
    bridge = edges.find([2], [8])
    D = Geodesics(edges.graph()).from_nodes(np.arange(n))
    across = D[:m, m:].sum() * 2
    found = edge_loads(edges, bridge, np.arange(n))
    assert_allclose([found.share[0], found.together], across / D.sum())
    assert found.growth == 0


def test_loads_of_no_edges_and_of_copies():
    edges = EdgeList.of(sp.csr_array((np.zeros(2), ([0, 1], [1, 2])), shape=(3, 3)))
    found = edge_loads(edges, np.array([0]), np.array([0, 1, 2]))
    assert_array_equal(found.share, [0.0])
    assert (found.together, found.growth) == (0.0, 0.0)
    assert len(edge_loads(edges, np.empty(0, np.int64), np.array([0])).share) == 0


@pytest.mark.parametrize(("seed", "degree"), [(0, 3), (1, 5), (2, 9)])
def test_short_ways_round_are_those_of_every_path(seed, degree):
    """Sparse graphs need ways of two and of many steps, dense ones of one. Weights in eighths add up exactly."""
    rng = np.random.default_rng(seed)
    n = 60
    weights = np.triu(np.where(rng.random((n, n)) < degree / n, rng.integers(1, 9, (n, n)) / 8, 0.0), 1)
    edges = EdgeList.of(sp.csr_array(weights))
    m = len(edges.i)
    limits = rng.integers(1, 40, m) / 8 / edges.unit
    search, inside = DetourSearch(edges, limits, 1), rng.random(m) < 0.8
    numbers = np.arange(m)

    def ways(keep):
        return shortest_path(edges.graph(keep), directed=False) / edges.unit

    around = [ways(inside & (numbers != e))[edges.i[e], edges.j[e]] for e in numbers]
    assert_array_equal(search.without(numbers, inside), np.array(around) <= limits)
    outside = np.flatnonzero(~inside)
    along = ways(inside)[edges.i[outside], edges.j[outside]]
    assert_array_equal(search.along(outside, inside), along <= limits[outside])
