"""Neighbours against scikit-learn's brute force and against the formulas; laws; hard data; the promises of an index."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.neighbors import KNeighborsTransformer, NearestNeighbors

from mercer.exceptions import MemoryLimitError
from mercer.graph import neighbor_index
from mercer.graph.approximate_index import AIM
from mercer.graph.nearest_neighbors import Neighbors, build_index, choose_method
from mercer.graph.tile_index import TileIndex
from mercer.kernels import RBF
from mercer.kernels.discrete import Spectrum

METRICS = ["euclidean", "l2", "sqeuclidean", "cosine", "correlation", "manhattan", "chebyshev", "canberra"]


@pytest.fixture
def compiled(monkeypatch):
    """Tiles however small the problem is."""
    monkeypatch.setattr(TileIndex, "compiled_above", 0)


def data(n=300, d=6, seed=0, dtype=np.float64):
    return np.random.default_rng(seed).standard_normal((n, d)).astype(dtype)


def definition(D, k):
    """The k smallest of each row by distance, then index; the row itself left out where D is square."""
    D = np.array(D, np.float64)
    if D.shape[0] == D.shape[1]:
        np.fill_diagonal(D, np.inf)
    order = np.lexsort((np.broadcast_to(np.arange(D.shape[1]), D.shape), D), axis=1)[:, :k]
    return order, np.take_along_axis(D, order, axis=1)


def agree(found, D, k, rtol=1e-12):
    places, distances = definition(D, k)
    np.testing.assert_array_equal(found.indices, places)
    np.testing.assert_allclose(found.distances, distances, rtol=rtol, atol=1e-15)


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


def test_metrics_with_parameters_and_functions():
    X = data(80)
    V = X.var(axis=0, ddof=1)
    agree(build_index(X, metric="seuclidean").neighbors(4), cdist(X, X, "seuclidean", V=V), 4)
    VI = np.linalg.inv(np.cov(X.T))
    agree(build_index(X, metric="mahalanobis").neighbors(4), cdist(X, X, "mahalanobis", VI=VI), 4, 1e-9)
    w = np.arange(1.0, 7.0)
    weighted = build_index(X, metric="minkowski", metric_params={"w": w})
    agree(weighted.neighbors(4), cdist(X, X, "minkowski", p=2, w=w), 4)
    agree(build_index(X, metric=lambda x, y: np.abs(x - y).sum()).neighbors(4), cdist(X, X, "cityblock"), 4)
    bits = X > 0.3
    agree(build_index(bits, metric="jaccard").neighbors(4), cdist(bits, bits, "jaccard"), 4)
    places = np.random.default_rng(0).uniform(-1, 1, (60, 2))
    built = build_index(places, metric="haversine")
    assert built.method == "ball_tree"
    a, b = places[:, None, :], places[None, :, :]
    half = np.sin((a - b) / 2) ** 2
    D = 2 * np.arcsin(np.sqrt(half[..., 0] + np.cos(a[..., 0]) * np.cos(b[..., 0]) * half[..., 1]))
    agree(built.neighbors(4), D, 4, 1e-9)


# --- hard data -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1e-150, 1e-12, 1.0, 1e150])
@pytest.mark.parametrize("shift", [0.0, 1e6, -3e9])
def test_tiles_know_no_scale_and_no_origin(scale, shift, compiled):
    """Neighbours and distances are those of the numbers as they are stored, wherever they lie."""
    X = (data(300, 5) + shift) * scale
    unit = 2.0 ** np.floor(np.log2(scale))
    D = cdist(X / unit, X / unit) * unit
    for method in ("tiles", "kd_tree"):
        agree(build_index(X, method=method).neighbors(6), D, 6)


def test_tiles_in_float32_far_from_the_origin(compiled):
    X = (data(400, 8) * 0.01 + 1000).astype(np.float32)
    agree(build_index(X, method="tiles").neighbors(5), cdist(X.astype(np.float64), X.astype(np.float64)), 5, 2e-7)


def test_tiles_where_float32_leaves_everything_open(compiled):
    """Two tight clusters far apart, and one row farther still: tiles go to float64, or pairs go one by one."""
    X = data(600, 4) * 1e-6
    X[300:] += 1e3
    X[0] = 1e9  # from here the rows of a cluster are equally far, to rounding
    found, (places, distances) = build_index(X, method="tiles").neighbors(6), definition(cdist(X, X), 6)
    np.testing.assert_array_equal(found.indices[1:], places[1:])
    np.testing.assert_allclose(found.distances, distances, rtol=1e-12)


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


# --- laws ----------------------------------------------------------------------------------------------


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 1000), exponent=st.integers(-300, 300), k=st.integers(1, 20))
def test_laws_of_tiles(seed, exponent, k):
    """Permuted rows have permuted neighbours, rotated rows the same, and a power of two multiplies distances alone."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((90, 4))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TileIndex, "compiled_above", 0)
        found = build_index(X, method="tiles").neighbors(k)
        order = rng.permutation(90)
        permuted = build_index(X[order], method="tiles").neighbors(k)
        np.testing.assert_array_equal(order[permuted.indices], found.indices[order])
        np.testing.assert_array_equal(permuted.distances, found.distances[order])
        scaled = build_index(X * 2.0**exponent, method="tiles").neighbors(k)
        np.testing.assert_array_equal(scaled.indices, found.indices)
        np.testing.assert_array_equal(scaled.distances, found.distances * 2.0**exponent)
        rotation = np.linalg.qr(rng.standard_normal((4, 4)))[0]
        turned = build_index(X @ rotation, method="tiles").neighbors(k)
        np.testing.assert_allclose(turned.distances, found.distances, rtol=1e-12)


@pytest.mark.parametrize("rows, columns", [(1, 1), (7, 64), (64, 7), (1000, 1000)])
def test_the_size_of_tiles_changes_nothing(rows, columns, compiled, monkeypatch):
    X = data(150)
    found = build_index(X, method="tiles").neighbors(10)
    graph = build_index(X, method="tiles").within(1.5)
    monkeypatch.setattr(TileIndex, "tile", (rows, columns))
    other = build_index(X, method="tiles").neighbors(10)
    np.testing.assert_array_equal(other.indices, found.indices)
    np.testing.assert_array_equal(other.distances, found.distances)
    assert (abs(build_index(X, method="tiles").within(1.5) - graph)).nnz == 0


def test_float64_tiles_give_the_same_as_float32_tiles(compiled, monkeypatch):
    X = data(400)
    found = build_index(X, method="tiles").neighbors(10)
    monkeypatch.setattr(TileIndex, "precision", np.float64)
    other = build_index(X, method="tiles").neighbors(10)
    np.testing.assert_array_equal(other.indices, found.indices)
    np.testing.assert_array_equal(other.distances, found.distances)


# --- sparse rows, kernels, strings ---------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "correlation", "manhattan"])
@pytest.mark.parametrize("density", [0.01, 0.2])
def test_sparse_rows(metric, density):
    X = sp.random(150, 60, density, format="csr", random_state=0, dtype=np.float64)
    X = sp.csr_array(X + sp.csr_array((np.ones(150), (np.arange(150), np.arange(150) % 60)), X.shape))
    dense = X.toarray()
    built = build_index(X, metric=metric)
    _, distances = definition(cdist(dense, dense, "cityblock" if metric == "manhattan" else metric), 5)
    found = built.neighbors(5)
    np.testing.assert_allclose(found.distances, distances, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(built.query(X[:7], 6).distances[:, 0], 0, atol=1e-12)
    np.testing.assert_allclose(built.query(dense[:7], 6).distances, built.query(X[:7], 6).distances, atol=1e-12)
    np.testing.assert_allclose(built.between([1, 2], [3]).ravel(), np.diag(built.between([1, 2], [3, 3])))
    near = np.sum((D := built.between(np.arange(150), np.arange(150))) <= distances[:, 2].mean()) - 150
    assert built.within(distances[:, 2].mean()).nnz == near + np.sum(np.diag(D) > distances[:, 2].mean())


@pytest.mark.parametrize("kernel", [RBF(gamma="median"), RBF(gamma=0.3) + 0.5 * RBF(gamma=3.0)])
def test_the_distance_of_a_kernel(kernel):
    X, Y = data(70), data(20, seed=3)
    K, cross = kernel.bind(X)(X), kernel.bind(X)(Y, X)
    D = np.sqrt(np.maximum(np.diag(K)[:, None] + np.diag(K)[None, :] - 2 * K, 0))
    built = build_index(X, metric=kernel)
    np.testing.assert_allclose(built.neighbors(6).distances, definition(D, 6)[1], rtol=1e-7)
    own = np.diag(kernel.bind(X)(Y))
    between = np.sqrt(np.maximum(own[:, None] + np.diag(K)[None, :] - 2 * cross, 0))
    np.testing.assert_allclose(built.query(Y, 6).distances, definition(between, 6)[1], rtol=1e-7)
    np.testing.assert_allclose(built.between([1, 2], [3, 4, 5]), D[np.ix_([1, 2], [3, 4, 5])], rtol=1e-7)


def test_strings():
    words = ["abab", "abba", "bbbb", "aaba", "abab"]
    built = build_index(words, metric=Spectrum(2))
    K = Spectrum(2)(words)
    D = np.sqrt(np.diag(K)[:, None] + np.diag(K)[None, :] - 2 * K)
    agree(built.neighbors(3), D, 3)
    assert built.query(["abab"], 2).indices.tolist() == [[0, 4]]
    with pytest.raises(TypeError, match="one string per sample"):
        built.query([1.0], 1)


# --- precomputed ---------------------------------------------------------------------------------------


def test_a_matrix_of_distances():
    X = data(60)
    D = cdist(X, X)
    built = build_index(D, metric="precomputed")
    agree(built.neighbors(5), D, 5)
    agree(built.query(D[:10], 5), D[:10], 5)
    assert (abs(built.within(2.0) - build_index(X).within(2.0)) > 1e-12).nnz == 0
    for bad, words in ((D[:, :5], "square"), (-D, "Negative"), (np.full((4, 4), np.nan), "NaN")):
        with pytest.raises(ValueError, match=words):
            build_index(bad, metric="precomputed")
    with pytest.raises(ValueError, match="a column for each of the 60 rows"):
        built.query(D[:, :5], 2)


def test_a_graph_of_distances_from_a_transformer():
    X = data(60)
    X[1] = X[0]  # a stored zero that is a neighbour, beside the stored zeros of the diagonal
    transformer = KNeighborsTransformer(n_neighbors=8).fit(X)
    graph = transformer.transform(X)
    built = build_index(graph, metric="precomputed")
    exact = build_index(X).neighbors(5)
    np.testing.assert_allclose(built.neighbors(5).distances, exact.distances, rtol=1e-12, atol=1e-12)
    assert built.neighbors(5).indices[0, 0] == 1 and built.neighbors(5).indices[1, 0] == 0
    Y = data(9, seed=2)
    np.testing.assert_allclose(built.query(transformer.transform(Y), 5).distances, build_index(X).query(Y, 5).distances)
    with pytest.raises(ValueError, match="9 neighbors per sample are required, but some samples have only 8"):
        built.neighbors(9)
    dense = built.between([0, 1], [1, 0])
    np.testing.assert_array_equal(dense, 0)
    far = int(np.setdiff1d(np.arange(60), built.graph.indices[: built.graph.indptr[1]])[0])
    assert built.between([0], [far])[0, 0] == np.inf


def test_infinity_in_a_graph_is_no_edge():
    graph = sp.csr_array(np.array([[0, 1, np.inf], [1, 0, 2], [3, 2, 0.0]]))
    built = build_index(graph, metric="precomputed")
    assert built.within(np.inf).nnz == 5
    with pytest.raises(ValueError, match="some samples have only 1"):
        built.neighbors(2)
    for bad in (np.nan, -1.0):
        broken = graph.copy()
        broken.data[0] = bad
        with pytest.raises(ValueError, match=r"NaN|Negative"):
            build_index(broken, metric="precomputed")


# --- graphs --------------------------------------------------------------------------------------------


def test_graphs_keep_distances_of_zero():
    X = np.array([[0.0], [0.0], [1.0], [5.0]])
    built = build_index(X)
    graph = built.neighbors(2).graph(4)
    assert graph.nnz == 8 and graph.indices.dtype == np.int32 and graph.has_sorted_indices
    within = built.within(1.0)
    assert within.nnz == 6 and np.sum(within.data == 0) == 2
    assert build_index(X).within(0.0).nnz == 2
    assert built.query_within([[0.0], [9.0]], 0.0).nnz == 2


def test_a_graph_too_large_is_refused(monkeypatch):
    monkeypatch.setattr(neighbor_index, "available_bytes", lambda: 10_000)
    for method in ("tiles", "kd_tree"):
        with pytest.raises(MemoryLimitError, match="smaller radius"):
            build_index(data(), method=method).within(100.0)
        with pytest.raises(MemoryLimitError, match="Ask for fewer"):
            build_index(data(), method=method).neighbors(200)


# --- approximate ---------------------------------------------------------------------------------------


def clusters(n=5000, d=12, seed=0):
    rng = np.random.default_rng(seed)
    centres = 4 * rng.standard_normal((15, d))
    return (centres[rng.integers(0, 15, n)] + rng.standard_normal((n, d))).astype(np.float32)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_the_recall_is_what_it_says(metric):
    """Within four standard errors of the recall over all rows, and near the aim; the distances found are exact."""
    X, Y = clusters(), clusters(1500, seed=0) + np.float32(0.01)
    built, exact = build_index(X, metric=metric, method="approximate"), build_index(X, metric=metric, method="tiles")
    for found, true in ((built.neighbors(10), exact.neighbors(10)), (built.query(Y, 10), exact.query(Y, 10))):
        recall = np.mean(found.distances <= true.distances[:, -1:])
        assert found.method == "approximate" and 0 < found.recall_error < 0.02
        assert abs(found.recall - recall) < 4 * found.recall_error
        assert recall > AIM - 0.03
        assert np.all(np.diff(found.distances, axis=1) >= 0)
        assert np.all(found.distances >= true.distances)
        same = found.indices == true.indices
        np.testing.assert_array_equal(found.distances[same], true.distances[same])
    rows = built.neighbors(10).indices
    assert not np.any(rows == np.arange(len(X))[:, None])
    assert all(len(np.unique(row)) == 10 for row in rows[:200])


def test_approximate_is_the_same_for_the_same_seed():
    X = clusters(3000)
    first, second = (build_index(X, method="approximate", random_state=3).neighbors(8) for _ in range(2))
    np.testing.assert_array_equal(first.indices, second.indices)
    np.testing.assert_array_equal(first.distances, second.distances)
    assert first.recall == second.recall
    assert np.mean(build_index(X, method="approximate", n_jobs=1).neighbors(8).indices >= 0) == 1


def test_approximate_with_more_neighbors_than_a_cell_holds():
    X = clusters(2000)
    found, true = build_index(X, method="approximate").neighbors(300), build_index(X, method="tiles").neighbors(300)
    assert found.indices.min() >= 0
    assert np.mean(found.distances <= true.distances[:, -1:]) > 0.95


def test_approximate_where_neighbors_are_everywhere():
    """In many dimensions without structure no few cells hold the neighbours of a row: all rows are compared."""
    X = data(3000, 60, dtype=np.float32)
    found = build_index(X, method="approximate").neighbors(5)
    assert found.method == "tiles" and found.recall == 1.0
    agree(found, cdist(X.astype(np.float64), X.astype(np.float64)), 5, 2e-7)


def test_approximate_on_copies():
    X = np.repeat(clusters(40), 50, axis=0)
    found = build_index(X, method="approximate").neighbors(20)
    assert not found.distances.any() and found.recall == 1.0


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


def test_numbers_of_neighbors_are_checked():
    built = build_index(data(10))
    words = "Expected n_neighbors < n_samples_fit, but n_neighbors = 10, n_samples_fit = 10, n_samples = 10"
    with pytest.raises(ValueError, match=words):
        built.neighbors(10)
    with pytest.raises(ValueError, match="Expected n_neighbors <= n_samples_fit, but n_neighbors = 11"):
        built.query(data(3), 11)
    with pytest.raises(ValueError, match="Expected n_neighbors > 0"):
        built.neighbors(0)
    with pytest.raises(TypeError, match="enter integer value"):
        built.neighbors(1.5)
    for radius in (-1.0, np.nan, "1"):
        with pytest.raises(ValueError, match="must be a number"):
            built.within(radius)


@pytest.mark.parametrize(
    "X, words",
    [
        (np.empty((0, 3)), "0 sample"),
        (np.empty((3, 0)), "0 feature"),
        ([[1.0], [np.nan]], "NaN"),
        ([[1.0], [np.inf]], "infinity"),
        (np.array(["a", "b"]), "1D|convert|numeric"),
        (np.ones(4), "1D"),
    ],
)
def test_bad_rows(X, words):
    with pytest.raises(ValueError, match=words):
        build_index(X)


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


@pytest.mark.torch
def test_tensors_are_refused():
    torch = pytest.importorskip("torch")
    with pytest.raises(TypeError, match="torch"):
        build_index(torch.zeros(4, 2))


def test_an_answer_cannot_be_changed():
    found = Neighbors(np.zeros((1, 1), np.int32), np.zeros((1, 1)), "tiles")
    with pytest.raises(AttributeError):
        found.recall = 0.5
