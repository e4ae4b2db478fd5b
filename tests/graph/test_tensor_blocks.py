"""Neighbours of tensors by metrics that have no tiles are those of NumPy arrays."""

import numpy as np
import pytest
from by_definition import data

from mercer.graph.nearest_neighbors import build_index
from mercer.kernels import RBF, Precomputed

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

X, Y = data(120, 4), data(30, 4, seed=1)
METRICS = ["manhattan", "chebyshev", "minkowski", RBF(0.3)]


def both(metric, **settings):
    return build_index(torch.as_tensor(X), metric=metric, **settings), build_index(X, metric=metric, **settings)


@pytest.mark.parametrize("metric", METRICS, ids=repr)
def test_neighbours_and_pairs(metric):
    ours, theirs = both(metric, p=3)
    assert ours.method == "brute"
    found = ours.neighbors(5), ours.query(torch.as_tensor(Y), 5)
    for one, other in zip(found, (theirs.neighbors(5), theirs.query(Y, 5)), strict=True):
        np.testing.assert_array_equal(one.indices.numpy(), other.indices)
        np.testing.assert_allclose(one.distances.numpy(), other.distances, rtol=1e-7)
    radius = float(found[0].distances.median()) * (1 + 1e-6)  # between two distances, whose last digits differ
    np.testing.assert_allclose(ours.within(radius).to_dense(), theirs.within(radius).toarray(), rtol=1e-7)


@pytest.mark.parametrize("metric", METRICS, ids=repr)
def test_what_scores_and_graphs_ask(metric):
    ours, theirs = both(metric, p=3)
    rows, labels = np.arange(0, 120, 5), np.random.default_rng(2).integers(0, 4, 120)
    np.testing.assert_allclose(ours.between(rows, rows[:2]), theirs.between(rows, rows[:2]), atol=1e-7)
    found, far = ours.nearest_of(rows, 3)
    distances = np.take_along_axis(theirs.between(rows, np.arange(120)), found.numpy(), axis=1)
    np.testing.assert_allclose(far, distances, rtol=1e-7)
    assert (ours.ranks_of(rows, found).numpy() == [1, 2, 3]).all()
    np.testing.assert_allclose(ours.distances_of(rows, found[:, 0]), far[:, 0])
    for one, other in zip(ours.closest_pairs(labels, rows), theirs.closest_pairs(labels, rows), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-7)
    np.testing.assert_array_equal(ours.on_host().neighbors(3).indices, theirs.neighbors(3).indices)


def test_given_distances():
    D = np.abs(X[:, :1] - X[:, 0])
    ours, theirs = (build_index(torch.as_tensor(D), metric="precomputed"), build_index(D, metric="precomputed"))
    np.testing.assert_array_equal(ours.neighbors(4).indices.numpy(), theirs.neighbors(4).indices)
    new = D[:7] + 1
    np.testing.assert_array_equal(ours.query(torch.as_tensor(new), 4).indices.numpy(), theirs.query(new, 4).indices)
    for wrong, words in [(-torch.ones(3, 3), "Negative"), (torch.ones(3, 2), "square")]:
        with pytest.raises(ValueError, match=words):
            build_index(wrong, metric="precomputed")
    with pytest.raises(ValueError, match="no rows"):
        build_index(torch.ones(3, 3), metric=Precomputed())
    with pytest.raises(ValueError, match="needs vectors"):
        build_index(torch.ones(3, 3), metric="precomputed", method="tiles")


def test_copies_come_in_the_order_of_their_numbers():
    found = build_index(torch.ones(40, 2), metric="manhattan").neighbors(3)
    np.testing.assert_array_equal(found.indices[:2].numpy(), [[1, 2, 3], [0, 2, 3]])
