"""Neighbours of tensors are those of the definition, on every device, and the same bits in every run."""

import numpy as np
import pytest
from by_definition import agree, data, definition

from mercer.exceptions import MemoryLimitError
from mercer.graph.nearest_neighbors import build_index

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

from scipy.spatial.distance import cdist  # noqa: E402

from mercer.graph.tensor_index import ApproximateTensorIndex, TensorIndex  # noqa: E402

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.cuda)]
METRICS = ["euclidean", "sqeuclidean", "cosine", "correlation"]


def host(found):
    """The answer as NumPy arrays, for comparisons."""
    return type(found)(found.indices.cpu().numpy(), found.distances.cpu().numpy(), found.method, found.recall)


def tensor(X, device="cpu"):
    if device == "cuda" and not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    return torch.as_tensor(X, device=device)


@pytest.fixture(autouse=True)
def by_bounds(monkeypatch):
    """Bounds and candidates, however small the problem is."""
    monkeypatch.setattr(TensorIndex, "whole_up_to", 0)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_neighbours_are_those_of_the_definition(device, metric, dtype):
    X = data(700, dtype=dtype)
    index = build_index(tensor(X, device), metric=metric)
    found = index.neighbors(8)
    assert found.indices.dtype == torch.int32 and found.indices.device.type == device
    assert found.distances.dtype == index.X.dtype and found.recall == 1 and index.method == "tiles"
    rtol = 1e-5 if dtype == np.float32 else 1e-10
    agree(host(found), cdist(X.astype(np.float64), X.astype(np.float64), metric), 8, rtol)
    again = index.neighbors(8)
    assert torch.equal(found.indices, again.indices) and torch.equal(found.distances, again.distances)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("metric", METRICS)
def test_new_rows(device, metric):
    X, Y = data(600), data(500, seed=1)
    index = build_index(tensor(X, device), metric=metric)
    agree(host(index.query(tensor(Y, device), 5)), cdist(Y, X, metric), 5, rtol=1e-10)


def test_tiles_leave_nothing_to_rounding():
    """Tight clusters far apart: float32 cannot tell the rows of one apart, and float64 decides."""
    X = data(600) * 1e-6
    X[::2] += 1000.0
    agree(host(build_index(torch.as_tensor(X)).neighbors(4)), cdist(X, X), 4, rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_copies_come_in_the_order_of_their_numbers(dtype):
    X = np.repeat(data(3, dtype=dtype), 200, axis=0)
    found = host(build_index(torch.as_tensor(X)).neighbors(5))
    np.testing.assert_array_equal(found.indices, definition(cdist(X, X), 5)[0])
    assert not found.distances.any()


def test_rows_without_direction_are_perpendicular_to_all():
    X = data(300)
    X[:40] = 0
    expected = build_index(X, metric="cosine").neighbors(6)
    found = host(build_index(torch.as_tensor(X), metric="cosine").neighbors(6))
    # The distances of a row without direction are all 1, up to rounding, so its neighbours may be any rows.
    np.testing.assert_array_equal(found.indices[40:], expected.indices[40:])
    np.testing.assert_allclose(found.distances, expected.distances, atol=1e-14)


@pytest.mark.parametrize("factor", [1e-30, 1e30, 1e200])
def test_any_scale(factor):
    X = data(300) * factor
    dtype = np.float64 if factor > 1e30 else np.float32
    expected = build_index(X.astype(dtype)).neighbors(4)
    found = host(build_index(torch.as_tensor(X.astype(dtype))).neighbors(4))
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_allclose(found.distances, expected.distances, rtol=1e-6)


def test_new_rows_far_out():
    """Each row is compared in a unit of its own size: 1e250 beside 1 would let the squares of 1 vanish."""
    X, Y = data(300), data(6, seed=1)
    Y[::2] *= 1e250
    expected, found = build_index(X).query(Y, 3), host(build_index(torch.as_tensor(X)).query(torch.as_tensor(Y), 3))
    np.testing.assert_array_equal(found.indices[1::2], expected.indices[1::2])
    np.testing.assert_allclose(found.distances, expected.distances, rtol=1e-12)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_pairs_within_a_radius(metric):
    X = data(200)
    radius = float(np.median(cdist(X, X, metric)))
    expected = build_index(X, metric=metric).within(radius)
    found = build_index(torch.as_tensor(X), metric=metric).within(radius)
    np.testing.assert_array_equal(found.crow_indices().numpy(), expected.indptr)
    np.testing.assert_array_equal(found.col_indices().numpy(), expected.indices)
    np.testing.assert_allclose(found.values().numpy(), expected.data, rtol=1e-12)


def test_what_scores_of_maps_ask():
    X = data(300)
    ours, theirs = build_index(torch.as_tensor(X)), build_index(X, method="tiles")
    rows = np.arange(0, 300, 7)
    places, distances = theirs.nearest_of(rows, 6)
    found, far = ours.nearest_of(rows, 6)
    np.testing.assert_array_equal(found.numpy(), places)
    np.testing.assert_allclose(far.numpy(), distances, rtol=1e-12)
    np.testing.assert_array_equal(ours.ranks_of(rows, found).numpy(), theirs.ranks_of(rows, places))
    np.testing.assert_allclose(ours.distances_of(rows, rows[::-1].copy()), theirs.distances_of(rows, rows[::-1]))
    np.testing.assert_allclose(ours.between(rows, rows[:3]), theirs.between(rows, rows[:3]), atol=1e-13)


def test_closest_pairs_of_labels():
    X, labels = data(400), np.random.default_rng(1).integers(0, 5, 400)
    rows = np.arange(0, 400, 3)
    expected = build_index(X, method="tiles").closest_pairs(labels, rows)
    found = build_index(torch.as_tensor(X)).closest_pairs(labels, rows)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one.numpy(), other, rtol=1e-12)


def test_a_graph_of_neighbours():
    X = data(100)
    found = build_index(torch.as_tensor(X)).neighbors(4).graph(100)
    expected = build_index(X).neighbors(4).graph(100)
    np.testing.assert_allclose(found.to_dense().numpy(), expected.toarray(), rtol=1e-12)


# --- cells ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("device", DEVICES)
def test_cells_find_nearly_all_and_say_how_many(device):
    X = data(2000, 8, dtype=np.float32)
    index = build_index(tensor(X, device), method="approximate")
    found, true = index.neighbors(10), build_index(X).neighbors(10)
    share = np.mean([np.isin(a, b).mean() for a, b in zip(found.indices.cpu().numpy(), true.indices, strict=True)])
    # The recall is a mean over 200 rows: five standard errors, and a little for a share near 1, which has a small one.
    assert abs(found.recall - share) <= 5 * found.recall_error + 0.01 and share > 0.9
    right = found.indices.cpu().numpy() == true.indices
    np.testing.assert_allclose(found.distances.cpu().numpy()[right], true.distances[right], rtol=1e-6)
    again = build_index(tensor(X, device), method="approximate").neighbors(10)
    assert torch.equal(found.indices, again.indices) and torch.equal(found.distances, again.distances)


def test_cells_for_new_rows():
    X, Y = data(1500, 5), data(500, 5, seed=1)
    index = ApproximateTensorIndex(torch.as_tensor(X), "euclidean", None, "")
    found, true = index.query(torch.as_tensor(Y), 5), build_index(X).query(Y, 5)
    share = np.mean([np.isin(a, b).mean() for a, b in zip(found.indices.numpy(), true.indices, strict=True)])
    assert found.method == "approximate" and abs(found.recall - share) <= 5 * found.recall_error + 0.01


def test_cells_that_hold_too_few_are_searched_further():
    """Clusters of 30 rows, of which one cell suffices, and one of 3 rows: these are compared with all others."""
    rng = np.random.default_rng(0)
    X = np.repeat(1000 * rng.standard_normal((30, 3)), 30, axis=0)[:-27] + rng.standard_normal((873, 3))
    index = ApproximateTensorIndex(torch.as_tensor(X), "euclidean", None, "", cells=200)
    index.most_cells = 1.0
    found, true = host(index.neighbors(20)), build_index(X).neighbors(20)
    assert (found.indices >= 0).all() and found.method == "approximate"
    np.testing.assert_array_equal(found.indices[-3:, :2], true.indices[-3:, :2])


def test_large_data_is_searched_by_cells():
    X = torch.as_tensor(data(2000, 4))
    assert build_index(X, exact_flops=1e6).method == "approximate"
    assert build_index(X, exact_flops=1e9).method == "tiles"


# --- what is refused ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.int32])
def test_other_numbers_are_converted(dtype):
    X = torch.as_tensor(data(60) * 8).to(dtype)
    found = build_index(X).neighbors(3)
    assert found.distances.dtype == (torch.float64 if dtype == torch.int32 else torch.float32)
    expected = build_index(X.double().numpy()).neighbors(3)
    np.testing.assert_allclose(found.distances.numpy(), expected.distances, rtol=1e-6)


def test_gradients_are_left_out():
    X = torch.as_tensor(data(60)).requires_grad_()
    assert not build_index(X).neighbors(3).distances.requires_grad


def test_bad_tensors():
    for X, words in [
        (torch.empty(0, 3), "0 sample"),
        (torch.ones(4), "2D"),
        (torch.tensor([[1.0], [torch.nan]]), "NaN"),
        (torch.ones(3, 2, dtype=torch.complex64), "real"),
        (torch.eye(3).to_sparse_csr(), "dense"),
    ]:
        with pytest.raises(ValueError, match=words):
            build_index(X)
    index = build_index(torch.ones(5, 2))
    with pytest.raises(ValueError, match="features"):
        index.query(torch.ones(2, 3), 1)
    with pytest.raises(TypeError, match="tensor"):
        index.query(np.ones((2, 2)), 1)
    with pytest.raises(ValueError, match="Tensors are not compared"):
        build_index(torch.ones(5, 2), metric="braycurtis")
    with pytest.raises(ValueError, match="not for tensors"):
        build_index(torch.ones(5, 2), method="kd_tree")


@pytest.mark.cuda
def test_two_devices():
    with pytest.raises(ValueError, match="on cpu"):
        build_index(tensor(np.ones((5, 2)), "cuda")).query(torch.ones(2, 2), 1)


def test_an_answer_that_does_not_fit(monkeypatch):
    monkeypatch.setattr("mercer.backends.torch.free_bytes", lambda X: 1000)
    with pytest.raises(MemoryLimitError, match="free on cpu"):
        build_index(torch.as_tensor(data(100))).neighbors(5)


@pytest.mark.parametrize("method", ["tiles", "approximate"])
def test_the_index_of_the_host_is_the_same(method):
    X = data(500, dtype=np.float32)
    index = build_index(torch.as_tensor(X), method=method)
    ours, theirs = host(index.neighbors(4)), index.on_host().neighbors(4)
    same = ours.indices == theirs.indices  # all, but for neighbours that only one of the searches by cells finds
    np.testing.assert_allclose(ours.distances[same], theirs.distances[same], rtol=1e-6)
    assert index.on_host().method == method and same.mean() > (0.99 if method == "tiles" else 0.5)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("spread", [1.0, 1e-3, 0.0])
def test_ranks_by_bounds_are_those_of_all_distances(monkeypatch, spread, device):
    """Also if most pairs are undecided: clusters far from each other, and copies of a few rows."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (80, 3)) * 1e3 + spread * rng.standard_normal((80, 3))
    index = TensorIndex(tensor(X, device))
    rows = np.arange(0, 80, 5)
    others = (rows[:, None] + rng.integers(1, 80, (16, 4))) % 80
    squares = cdist(X[rows], X) ** 2
    squares[np.arange(16), rows] = np.inf
    expected = 1 + (squares[:, None, :] < np.take_along_axis(squares, others, axis=1)[:, :, None]).sum(axis=2)
    for whole in (2**20, 0):
        monkeypatch.setattr(TensorIndex, "whole_up_to", whole)
        np.testing.assert_array_equal(index.ranks_of(rows, others).cpu().numpy(), expected)
