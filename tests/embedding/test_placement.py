"""New points: the median by hand, the least of each point's own divergence, and no influence of one on another."""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.optimize import minimize

from mercer.embedding.placement import place, weighted_median
from mercer.embedding.repulsion import make_repulsion
from mercer.embedding.similarity import Gaussian, Student

RNG = np.random.default_rng(0)
Y = (4 * RNG.standard_normal((200, 2))).astype(np.float32)


def neighbours(m=12, k=15):
    """Of m new points: the k map points nearest to a random one, with weights."""
    centres = 4 * RNG.standard_normal((m, 2))
    D = np.linalg.norm(centres[:, None] - Y[None], axis=2)
    indices = np.argsort(D, axis=1)[:, :k].astype(np.int32)
    weights = RNG.dirichlet(np.ones(k), m).astype(np.float32)
    return SimpleNamespace(indices=indices, distances=1 + np.sort(RNG.random((m, k)), axis=1)), weights


def placed(found, weights, similarity=None):
    similarity = similarity or Student(1.0)
    repulsion = make_repulsion(similarity, 2, method="exact", n=len(Y))
    return place(found, weights, Y, similarity, repulsion)


def test_weighted_median_by_hand():
    places = np.array([[0.0], [1.0], [5.0], [9.0]], np.float32)
    weights = np.array([[0.1, 0.1, 0.6, 0.2], [0.7, 0.1, 0.1, 0.1]], np.float32)
    assert_array_equal(weighted_median(np.array([[0, 1, 2, 3], [3, 2, 1, 0]]), weights, places), [[5.0], [9.0]])


def test_equal_weights_give_the_median():
    found, _ = neighbours(k=15)
    even = np.full(found.indices.shape, 1 / 15, np.float32)
    assert_array_equal(weighted_median(found.indices, even, Y), np.median(Y[found.indices], axis=1))


def test_rows_whose_neighbours_lie_in_several_places_end_lower_than_from_their_median():
    """Each row has its neighbours in three places of a wide map, so its divergence has several valleys."""
    rng = np.random.default_rng(1)
    wide = rng.uniform(-30, 30, (600, 2)).astype(np.float32)
    centres = rng.uniform(-30, 30, (100, 3, 2))
    near = np.argsort(np.linalg.norm(centres[:, :, None] - wide, axis=3), axis=2)[:, :, :5].reshape(100, 15)
    weights = rng.dirichlet(np.ones(15), 100).astype(np.float32)
    found = SimpleNamespace(indices=near.astype(np.int32), distances=np.ones((100, 15)))
    repulsion = make_repulsion(Student(1.0), 2, method="exact", n=len(wide))

    def divergences(init):
        Z = place(found, weights, wide, Student(1.0), repulsion, init=init).astype(np.float64)
        d2 = np.square(Z[:, None] - wide).sum(axis=2)
        return (weights * np.log1p(np.take_along_axis(d2, near, axis=1))).sum(axis=1) + np.log(
            (1 / (1 + d2)).sum(axis=1)
        )

    gain = divergences("median") - divergences("lowest")
    assert np.mean(gain) > 0
    assert np.mean(gain > 0.01) > 3 * np.mean(gain < -0.01)


@pytest.mark.parametrize("similarity", [Student(1.0), Gaussian()], ids=str)
def test_every_point_is_at_a_minimum_of_its_own_divergence(similarity):
    """From where it was put, another optimiser finds nothing lower nearby."""
    found, weights = neighbours()
    new = placed(found, weights, similarity)

    def divergence(y, row):
        w = similarity.weight(((y - Y.astype(np.float64)) ** 2).sum(axis=1))
        return -np.sum(weights[row] * np.log(w[found.indices[row]])) + np.log(w.sum())

    for row in range(len(new)):
        start = new[row].astype(np.float64)
        best = minimize(divergence, start, args=(row,), method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-9})
        assert divergence(start, row) <= best.fun + 5e-3


def test_one_point_does_not_know_of_the_others():
    found, weights = neighbours()
    together = placed(found, weights)
    for row in range(len(weights)):
        one = SimpleNamespace(indices=found.indices[[row]], distances=found.distances[[row]])
        assert_array_equal(placed(one, weights[[row]]), together[[row]])


def test_a_fitted_row_has_the_place_it_has():
    found, weights = neighbours()
    found.distances[3, 0] = 0
    new = placed(found, weights)
    assert_array_equal(new[3], Y[found.indices[3, 0]])
    assert_array_equal(np.delete(new, 3, axis=0), placed(*_without(found, weights, 3)))


def _without(found, weights, row):
    keep = np.arange(len(weights)) != row
    return SimpleNamespace(indices=found.indices[keep], distances=found.distances[keep]), weights[keep]
