"""Neighbours against scikit-learn's brute force and against the formulas; laws; hard data; the promises of an index."""

import numpy as np
import pytest
import scipy.sparse as sp
from by_definition import agree, data
from scipy.spatial.distance import cdist
from sklearn.neighbors import NearestNeighbors

from mercer.graph.nearest_neighbors import build_index, choose_method
from mercer.kernels import RBF

METRICS = ["euclidean", "l2", "sqeuclidean", "cosine", "correlation", "manhattan", "chebyshev", "canberra"]


# --- against scikit-learn ------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("method", ["auto", "brute"])
def test_neighbors_are_those_of_scikit_learn(metric, method):
    X = data()
    peer = NearestNeighbors(n_neighbors=7, algorithm="brute", metric=metric).fit(X)
    distances, places = peer.kneighbors()
    found = build_index(X, metric=metric, method=method).neighbors(7)
    np.testing.assert_array_equal(found.indices, places)
    np.testing.assert_allclose(found.distances, distances, rtol=1e-12, atol=1e-14)
    assert found.indices.dtype == np.int32 and found.recall == 1.0 and found.recall_error == 0.0


@pytest.mark.parametrize("method", ["tiles", "kd_tree", "ball_tree"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_exact_method_gives_the_same(method, dtype, compiled):
    X, Y = data(dtype=dtype), data(40, seed=1, dtype=dtype)
    built = build_index(X, method=method)
    assert built.method == method and built.n == 300 and built.reason
    D = cdist(X.astype(np.float64), X.astype(np.float64))
    rtol = 1e-12 if dtype == np.float64 else 2e-7
    agree(built.neighbors(9), D, 9, rtol)
    agree(built.query(Y, 9), cdist(Y.astype(np.float64), X.astype(np.float64)), 9, rtol)
    assert built.neighbors(3).distances.dtype == dtype
    np.testing.assert_allclose(built.between([0, 5], [7, 5, 0]), D[np.ix_([0, 5], [7, 5, 0])], rtol=rtol, atol=1e-15)


@pytest.mark.parametrize("method", ["tiles", "kd_tree", "ball_tree"])
def test_within_is_scikit_learns_radius_graph(method, compiled):
    X, Y = data(), data(40, seed=1)
    peer = NearestNeighbors(radius=1.7, algorithm="brute").fit(X)
    built = build_index(X, method=method)
    for found, true in (
        (built.within(1.7), peer.radius_neighbors_graph(mode="distance")),
        (built.query_within(Y, 1.7), peer.radius_neighbors_graph(Y, mode="distance")),
    ):
        assert isinstance(found, sp.csr_array) and found.indices.dtype == np.int32 and found.has_sorted_indices
        assert found.nnz == true.nnz > 100
        np.testing.assert_allclose(found.toarray(), true.toarray(), rtol=1e-12)


@pytest.mark.parametrize("p", [1, 1.5, 3, np.inf])
def test_minkowski(p):
    X = data()
    D = cdist(X, X, "chebyshev") if p == np.inf else cdist(X, X, "minkowski", p=p)
    for method in ("auto", "kd_tree", "brute"):
        if p == np.inf and method == "brute":
            continue
        agree(build_index(X, metric="minkowski", p=p, method=method).neighbors(5), D, 5)
    agree(build_index(X, metric="minkowski", metric_params={"p": 3}).neighbors(5), cdist(X, X, "minkowski", p=3), 5)


# --- hard data -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["tiles", "kd_tree", "ball_tree", "brute"])
def test_copies_are_neighbors_and_ties_go_by_index(method, compiled):
    X = np.random.default_rng(0).integers(0, 3, (200, 3)).astype(float)
    metric = "canberra" if method == "brute" else "euclidean"
    agree(build_index(X, method=method, metric=metric).neighbors(15), cdist(X, X, metric), 15)


@pytest.mark.parametrize("method", ["tiles", "kd_tree"])
def test_constant_rows(method, compiled):
    found = build_index(np.full((700, 3), 7.0), method=method).neighbors(4)
    assert not found.distances.any()
    np.testing.assert_array_equal(found.indices[[0, 2, 699]], [[1, 2, 3, 4], [0, 1, 3, 4], [0, 1, 2, 3]])


def test_rows_without_a_direction_are_at_right_angles_to_all(compiled):
    X = data(120, 5)
    X[[3, 50]] = 0
    found = build_index(X, metric="cosine").between([3, 3], [4, 50])
    np.testing.assert_allclose(found, 1.0)
    C = X.copy()
    C[[3, 50]] = 0.1  # equal entries: nothing to correlate
    for metric, rows in (("cosine", X), ("correlation", C)):
        near = build_index(rows, metric=metric).neighbors(5)
        np.testing.assert_allclose(near.distances[[3, 50]], 1.0)
        peer = NearestNeighbors(n_neighbors=5, algorithm="brute", metric=metric).fit(np.delete(rows, [3, 50], axis=0))
        np.testing.assert_allclose(np.delete(near.distances, [3, 50], axis=0), peer.kneighbors()[0], rtol=1e-10)


@pytest.mark.parametrize("method", ["tiles", "kd_tree"])
def test_new_rows_very_far_away(method, compiled):
    X = data(300, 3)
    Y = np.array([[1e200, 0, 0], [0.5, 0.5, 0.5]])
    found = build_index(X, method=method).query(Y, 3)
    np.testing.assert_allclose(found.distances[0], 1e200)
    np.testing.assert_allclose(found.distances[1], np.sort(cdist(Y[1:], X)[0])[:3])
    near = build_index(X, method=method).query_within(Y, 0.5)
    assert near.shape == (2, 300) and near[[0]].nnz == 0 and near[[1]].nnz == np.sum(cdist(Y[1:], X) <= 0.5) > 0


def test_as_many_neighbors_as_there_are_others(compiled):
    X = data(9)
    for method in ("tiles", "kd_tree", "approximate"):
        agree(build_index(X, method=method).neighbors(8), cdist(X, X), 8)
        assert build_index(X, method=method).query(X, 9).indices.shape == (9, 9)


# --- choosing and refusing -----------------------------------------------------------------------------


def test_the_rule_of_auto():
    assert choose_method(1000, 2)[0] == "kd_tree"
    assert choose_method(70_000, 50)[0] == "tiles"
    assert choose_method(1_000_000, 50)[0] == "approximate"
    assert choose_method(1_000_000, 3)[0] == "kd_tree"
    assert choose_method(1000, 2, sparse=True)[0] == "tiles"
    assert choose_method(1000, 50, "cosine")[0] == "tiles"
    assert choose_method(1000, 2, "canberra")[0] == "brute"
    method, reason = choose_method(1000, 3, "minkowski", p=3)
    assert method == "kd_tree" and "1,000 rows" in reason
    built = build_index(data(50, 2))
    assert (built.method, built.reason) == choose_method(50, 2)


def test_bad_requests():
    X = data(30)
    with pytest.raises(ValueError, match="has 2 features, but the index was built on 6"):
        build_index(X).query(X[:, :2], 1)
    with pytest.raises(ValueError, match="Unknown metric"):
        build_index(X, metric="nearness")
    with pytest.raises(ValueError, match="Unknown method"):
        build_index(X, method="quick")
    with pytest.raises(ValueError, match="p=-1"):
        build_index(X, metric="minkowski", p=-1)
    for method in ("tiles", "approximate"):
        with pytest.raises(ValueError, match="Use 'brute'"):
            build_index(X, metric="canberra", method=method)
    for method in ("kd_tree", "ball_tree", "approximate"):
        with pytest.raises(ValueError, match="dense rows"):
            build_index(sp.csr_array(X), method=method)
    with pytest.raises(ValueError, match="Minkowski"):
        build_index(X, metric="cosine", method="kd_tree")
    with pytest.raises(ValueError, match="not valid for sparse"):
        build_index(sp.csr_array(X), metric="canberra")
    with pytest.raises(ValueError, match="negative or NaN"):
        build_index(X, metric=lambda x, y: -1.0).neighbors(2)
    with pytest.raises(ValueError, match="Use 'auto'"):
        build_index(X, metric=RBF(), method="kd_tree")
