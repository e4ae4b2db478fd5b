"""Trilateration: exact distances give exact places; other dissimilarities a minimum that no nearby place beats."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from mercer.embedding.trilateration import trilaterate

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("c", [1, 2, 3])
def test_exact_distances_give_exact_places(c):
    X, Y = RNG.standard_normal((80, c)), RNG.standard_normal((30, c))
    assert np.allclose(trilaterate(X, cdist(Y, X)), Y, atol=1e-6)


def test_points_of_the_map_stay_where_they_are():
    X = RNG.standard_normal((50, 2))
    assert np.allclose(trilaterate(X, cdist(X, X)), X, atol=1e-7)


def test_the_place_is_a_minimum():
    X = RNG.standard_normal((60, 2))
    delta = cdist(RNG.standard_normal((20, 6)), np.c_[X, RNG.standard_normal((60, 4))])
    Y = trilaterate(X, delta)

    def value(Y):
        return ((delta - cdist(Y, X)) ** 2).sum(axis=1)

    for _ in range(20):
        assert (value(Y) <= value(Y + 1e-3 * RNG.standard_normal(Y.shape)) + 1e-9).all()


def test_unknown_distances_are_left_out():
    X, Y = RNG.standard_normal((80, 2)), RNG.standard_normal((10, 2))
    delta = cdist(Y, X)
    delta[RNG.random(delta.shape) < 0.5] = np.nan
    assert np.allclose(trilaterate(X, delta), Y, atol=1e-6)
    with pytest.raises(ValueError, match="no known"):
        trilaterate(X, np.full((1, 80), np.nan))


def test_threads_and_runs_do_not_change_a_place():
    X, Y = RNG.standard_normal((300, 2)), RNG.standard_normal((2000, 2))
    whole = trilaterate(X, cdist(Y, X), n_jobs=2)
    assert np.allclose(whole[:7], trilaterate(X, cdist(Y[:7], X), n_jobs=1), atol=1e-9)
