"""Components and the edges that join them, against SciPy's minimum spanning tree of the components' distances."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree
from scipy.spatial.distance import cdist

from mercer.exceptions import DisconnectedGraphError
from mercer.graph.connectivity import connected, join_components, without_edges
from mercer.graph.nearest_neighbors import build_index
from mercer.graph.tile_index import TileIndex
from mercer.graph.tree_index import KDTreeIndex


def pieces(count=12, size=25, d=3, seed=0):
    rng = np.random.default_rng(seed)
    return np.vstack([c + 0.2 * rng.standard_normal((size, d)) for c in 5 * rng.standard_normal((count, d))])


def spanning_length(D, labels):
    """The length of the minimum spanning tree of the components, by the definition."""
    count = labels.max() + 1
    apart = np.array([[D[np.ix_(labels == a, labels == b)].min() for b in range(count)] for a in range(count)])
    return minimum_spanning_tree(np.triu(apart, 1)).sum()


@pytest.fixture
def large(monkeypatch):
    """What is done for large data, done for small."""
    monkeypatch.setattr(TileIndex, "compiled_above", 0)
    monkeypatch.setattr(KDTreeIndex, "boxes_above", 0)


METHODS = [("kd_tree", "euclidean"), ("tiles", "euclidean"), ("ball_tree", "euclidean"), ("approximate", "euclidean")]
METHODS += [("kd_tree", "manhattan"), ("kd_tree", "chebyshev"), ("auto", "canberra"), ("auto", "cosine")]


@pytest.mark.parametrize("method, metric", METHODS)
def test_joined_by_the_minimum_spanning_tree(method, metric, large):
    X = pieces()
    built = build_index(X, metric=metric, method=method)
    graph = built.neighbors(2).graph(len(X))
    count, labels = connected(graph)
    assert count > 5
    joined, added = join_components(built, graph, labels)
    D = cdist(X, X, "cityblock" if metric == "manhattan" else metric)
    assert len(added) == count - 1 and connected(joined)[0] == 1
    assert sum(d for _, _, d in added) == pytest.approx(spanning_length(D, labels), rel=1e-12)
    for i, j, d in added:
        assert d == pytest.approx(D[i, j], rel=1e-12) and labels[i] != labels[j]
        assert joined[i, j] == d
    assert joined.nnz == graph.nnz + len(added)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 1000), n=st.integers(2, 60), count=st.integers(1, 20), d=st.integers(1, 3))
def test_any_labels_in_a_grid_full_of_ties(seed, n, count, d):
    """Whole numbers in few places: copies across components and equal distances everywhere."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (n, d)).astype(float)
    labels = np.unique(rng.integers(0, count, n), return_inverse=True)[1]
    chain = [np.flatnonzero(labels == c) for c in range(labels.max() + 1)]
    ends = [(a, b) for rows in chain for a, b in pairwise(rows)]
    i, j = (np.array(ends, int).reshape(-1, 2)).T
    graph = sp.csr_array((np.ones(len(ends)), (i, j)), shape=(n, n))
    D = cdist(X, X)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TileIndex, "compiled_above", 0)
        patch.setattr(KDTreeIndex, "boxes_above", 0)
        for method in ("kd_tree", "tiles"):
            joined, added = join_components(build_index(X, method=method), graph, labels)
            assert len(added) == labels.max() and connected(joined)[0] == 1
            apart = np.array([[D[np.ix_(a, b)].min() for b in chain] for a in chain])
            lengths = minimum_spanning_tree(np.triu(apart + 1, 1)).sum() - labels.max()  # + 1: SciPy drops zeros
            assert sum(d for _, _, d in added) == pytest.approx(lengths, abs=1e-9)


def test_many_small_components_and_two_large_ones():
    """Sizes at which hierarchies of boxes are used, without any of their details changed."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.random((1500, 3)) * 100, 3, axis=0) + 0.01 * rng.random((4500, 3))
    built = build_index(X)
    graph = built.neighbors(2).graph(len(X))
    count, labels = connected(graph)
    joined, added = join_components(built, graph, labels)
    assert count > 1000 and len(added) == count - 1 and connected(joined)[0] == 1
    brute = join_components(build_index(X, method="tiles"), graph, labels)[1]
    assert sum(e[2] for e in added) == pytest.approx(sum(e[2] for e in brute), rel=1e-12)
    halves = np.vstack([rng.random((3000, 3)), rng.random((3000, 3)) + np.array([1.5, 0, 0])])
    labels = np.repeat([0, 1], 3000)
    _, [(i, j, d)] = join_components(build_index(halves), sp.csr_array((6000, 6000)), labels)
    assert d == pytest.approx(cdist(halves[:3000], halves[3000:]).min(), rel=1e-12)
    assert d == pytest.approx(np.linalg.norm(halves[i] - halves[j]), rel=1e-12)


def test_zeros_are_edges_and_infinities_are_not():
    graph = sp.csr_array((np.array([0.0, np.inf, 1.0]), (np.array([0, 1, 3]), np.array([1, 2, 4]))), shape=(5, 5))
    count, labels = connected(graph)
    assert count == 3
    np.testing.assert_array_equal(labels, [0, 0, 1, 2, 2])


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), n=st.integers(1, 40), share=st.floats(0, 0.2))
def test_components_are_scipys(seed, n, share):
    graph = sp.random(n, n, share, format="csr", random_state=seed)
    count, labels = connected(graph)
    true, other = connected_components(graph, directed=False)
    assert count == true
    np.testing.assert_array_equal(labels, other)


def test_nothing_to_join():
    X = pieces(1)
    built = build_index(X)
    graph = built.neighbors(5).graph(len(X))
    joined, added = join_components(built, graph, np.zeros(len(X), int))
    assert added == [] and (joined != graph).nnz == 0


def test_a_stored_zero_stays_and_an_edge_of_length_zero_is_added():
    X = np.array([[0.0], [0.0], [0.0], [4.0]])
    graph = sp.csr_array((np.array([0.0]), (np.array([0]), np.array([1]))), shape=(4, 4))
    joined, added = join_components(build_index(X), graph, connected(graph)[1])
    assert sorted(d for _, _, d in added) == [0.0, 4.0]
    assert joined.nnz == 3 and connected(joined)[0] == 1


def test_float32_stays_float32():
    X = pieces().astype(np.float32)
    built = build_index(X)
    graph = built.neighbors(2).graph(len(X))
    assert join_components(built, graph, connected(graph)[1])[0].dtype == np.float32


def test_a_precomputed_matrix_joins_and_a_sparse_graph_cannot():
    X = pieces()
    D = cdist(X, X)
    built = build_index(D, metric="precomputed")
    graph = built.neighbors(2).graph(len(X))
    count, labels = connected(graph)
    added = join_components(built, graph, labels)[1]
    assert sum(d for _, _, d in added) == pytest.approx(spanning_length(D, labels), rel=1e-12)
    with pytest.raises(
        DisconnectedGraphError, match=f"number of connected components of the neighbors graph is {count}"
    ):
        join_components(build_index(graph, metric="precomputed"), graph, labels)


@pytest.mark.parametrize("stored", ["one way", "both ways"])
def test_edges_taken_out_are_gone_in_both_directions_and_others_stay(stored):
    D = np.triu(cdist(pieces(2, 5), pieces(2, 5)), k=1)
    D[0, 1] = np.inf  # replaced by a stored zero below: copies of a row
    graph = sp.csr_array(D if stored == "one way" else D + D.T)
    graph.data[np.isinf(graph.data)] = 0.0
    left = without_edges(graph, [(3, 2), (4, 9), (0, 0)])
    expected = {*zip(*(part.tolist() for part in graph.tocoo().coords), strict=True)}
    expected -= {(2, 3), (3, 2), (4, 9), (9, 4)}
    assert {*zip(*(part.tolist() for part in left.tocoo().coords), strict=True)} == expected and (0, 1) in expected
    assert all(left[i, j] == graph[i, j] for i, j in expected)
    assert without_edges(graph, []).nnz == graph.nnz
