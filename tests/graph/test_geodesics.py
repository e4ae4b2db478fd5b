"""Shortest paths are those of SciPy, for every kind of graph, source, precision and number of threads."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import shortest_path
from sklearn.neighbors import kneighbors_graph

from mercer.graph.geodesics import Geodesics, undirected


def cloud_graph(n=300, d=3, k=6, seed=0):
    X = np.random.default_rng(seed).standard_normal((n, d))
    return sp.csr_array(kneighbors_graph(X, k, mode="distance"))


def reference(graph):
    return shortest_path(graph, method="D", directed=False)


@pytest.mark.parametrize(("dtype", "tol"), [(np.float64, 1e-14), (np.float32, 1e-6)])
@pytest.mark.parametrize("seed", [0, 1])
def test_all_distances_are_scipys(dtype, tol, seed):
    graph = cloud_graph(seed=seed)
    expected = reference(graph)
    finite = np.isfinite(expected)
    D = Geodesics(graph, dtype=dtype).from_nodes(np.arange(300))
    assert D.dtype == dtype
    assert np.array_equal(np.isfinite(D), finite)
    assert np.abs(D - expected)[finite].max() < tol * expected[finite].max()


def test_one_source_at_a_time_and_sixteen_at_once_agree():
    graph = cloud_graph(2000, k=8)
    geodesics = Geodesics(graph)
    many = geodesics.from_nodes(np.arange(2000))  # lanes
    few = geodesics.from_nodes([5, 1500, 77])  # a heap
    assert np.allclose(few, many[[5, 1500, 77]], rtol=1e-14, atol=0)


def test_a_link_is_an_edge_to_a_point_outside():
    graph = cloud_graph(400)
    rng = np.random.default_rng(1)
    links = sp.random_array((50, 400), density=0.01, rng=rng, format="lil")
    links[np.arange(50), rng.integers(400, size=50)] = 0.3
    links = sp.csr_array(links)
    larger = sp.block_array([[graph, links.T], [links, None]], format="csr")
    expected = reference(larger)[400:, :400]
    through = shortest_path(graph, method="D", directed=False)
    direct = np.array([np.min(links[[i]].data[:, None] + through[links[[i]].indices], axis=0) for i in range(50)])
    D = Geodesics(graph).from_links(links)
    assert np.allclose(D, direct)
    assert (expected - 1e-12 <= D).all()  # where every new point is in the graph, they help one another


@st.composite
def random_graphs(draw):
    n = draw(st.integers(1, 40))
    count = draw(st.integers(0, 4 * n))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    # Round weights make ties, zero weights copies, huge ones edges far beyond the ring of buckets.
    weights = rng.choice([0.0, 1.0, 1.0, 2.0, 0.5, 1e-3, 1e4], size=count) * rng.choice([1.0, rng.random() + 0.1])
    return n, rng.integers(n, size=count), rng.integers(n, size=count), weights


@settings(max_examples=150, deadline=None)
@given(random_graphs())
def test_any_graph_with_stored_zeros_and_edges_in_one_direction(parts):
    n, i, j, w = parts
    dense = np.full((n, n), np.inf)
    for a, b, weight in zip(i, j, w, strict=True):
        dense[a, b] = dense[b, a] = min(dense[a, b], weight)
    np.fill_diagonal(dense, 0)
    for middle in range(n):  # Floyd and Warshall
        dense = np.minimum(dense, dense[:, [middle]] + dense[[middle], :])
    first = {}  # scipy adds doubled entries up; ours come from a dictionary of minima
    for a, b, weight in zip(i, j, w, strict=True):
        first[a, b] = min(weight, first.get((a, b), np.inf))
    rows, columns = ([key[side] for key in first] for side in (0, 1))
    graph = sp.csr_array((np.array(list(first.values()), float), (rows, columns)), shape=(n, n))
    assert np.allclose(Geodesics(graph).from_nodes(np.arange(n)), dense, rtol=1e-12, atol=0)


def test_renumbering_the_vertices_renumbers_the_distances():
    graph, p = cloud_graph(), np.random.default_rng(3).permutation(300)
    D = Geodesics(graph).from_nodes(np.arange(300))
    assert np.allclose(Geodesics(graph[p][:, p]).from_nodes(np.arange(300)), D[np.ix_(p, p)], rtol=1e-14, atol=0)


@pytest.mark.parametrize("scale", [1e-150, 1e-30, 1e30, 1e150])
def test_units_do_not_matter(scale):
    graph = cloud_graph()
    D = Geodesics(graph).from_nodes(np.arange(300))
    assert np.allclose(Geodesics(graph * scale).from_nodes(np.arange(300)) / scale, D, rtol=1e-13, atol=0)
    single = Geodesics(graph * scale, dtype=np.float32)
    assert np.isfinite(single.edges[2]).all() and (single.edges[2] > 0).all()


def test_the_number_of_threads_changes_no_bit():
    graph = cloud_graph(1000)
    one, two = (Geodesics(graph, dtype=np.float32, n_jobs=jobs).from_nodes(np.arange(1000)) for jobs in (1, 2))
    assert np.array_equal(one, two)


def test_undirected_takes_the_smaller_weight_and_leaves_out_what_is_no_edge():
    graph = sp.csr_array(([3.0, 1.0, np.inf, 0.0, 5.0], ([0, 1, 0, 2, 1], [1, 0, 2, 1, 1])), shape=(3, 3))
    both = undirected(graph).tocoo()
    assert {(int(i), int(j)): w for i, j, w in zip(*both.coords, both.data, strict=True)} == {
        (0, 1): 1.0,
        (1, 0): 1.0,
        (1, 2): 0.0,
        (2, 1): 0.0,
    }


@pytest.mark.parametrize("bad", [-1.0, np.nan])
def test_weights_that_are_no_distances_are_refused(bad):
    with pytest.raises(ValueError, match="negative or NaN"):
        Geodesics(sp.csr_array(([1.0, bad], ([0, 1], [1, 2])), shape=(3, 3)))


def test_bad_sources_and_links_are_refused():
    geodesics = Geodesics(cloud_graph(50))
    with pytest.raises(IndexError, match="vertices 0 … 49"):
        geodesics.from_nodes([50])
    with pytest.raises(ValueError, match="needs a link"):
        geodesics.from_links(sp.csr_array((2, 50)))
    with pytest.raises(ValueError, match="finite distances"):
        geodesics.from_links(sp.csr_array(([-1.0], ([0], [3])), shape=(1, 50)))
    with pytest.raises(ValueError, match="square"):
        Geodesics(sp.csr_array((2, 3)))


def test_a_graph_without_edges_keeps_everyone_apart():
    D = Geodesics(sp.csr_array((4, 4))).from_nodes([0, 1])
    assert np.array_equal(D == 0, np.eye(4, dtype=bool)[:2]) and np.isinf(D[D > 0]).all()


def test_spread_takes_the_farthest_vertex_each_time():
    graph = cloud_graph(500, d=2, k=10)
    D = reference(graph)
    expected = [3]
    for _ in range(19):
        nearest = D[expected].min(axis=0)
        expected.append(int(nearest.argmax()))
    assert Geodesics(graph).spread(20, 3).tolist() == expected


def test_spread_takes_every_vertex_once_even_copies():
    graph = sp.csr_array((np.zeros(9), (np.arange(9), np.arange(1, 10))), shape=(10, 10))
    assert sorted(Geodesics(graph).spread(10, 4).tolist()) == list(range(10))
