"""The start: landmarks place all rows, exactly where the dissimilarities are distances of so few dimensions."""

import numpy as np
from scipy.spatial.distance import cdist, pdist

from mercer.embedding.dissimilarities import Dissimilarities
from mercer.embedding.landmark_start import filled, landmark_map, spread_flat_columns

RNG = np.random.default_rng(0)


def test_distances_in_the_plane_are_found_again():
    points = RNG.standard_normal((90, 2))
    given = Dissimilarities.of_matrix(cdist(points, points), np.float64, None)
    for count in (10, 90):
        X = landmark_map(given, 2, np.random.default_rng(1), landmarks=count)
        assert np.allclose(pdist(X), pdist(points), atol=1e-8)


def test_columns_that_the_data_does_not_have_are_zero_and_then_spread():
    points = RNG.standard_normal((40, 1))
    given = Dissimilarities.of_matrix(cdist(points, points), np.float64, None)
    X = landmark_map(given, 3, np.random.default_rng(1))
    spread = spread_flat_columns(np.round(X, 6), np.random.default_rng(1))
    assert np.ptp(spread, axis=0).min() > 0 and np.allclose(spread[:, 0], X[:, 0], atol=1e-6)
    assert spread_flat_columns(points, np.random.default_rng(1)) is points


def test_unknown_entries_are_means_of_the_known():
    D = np.array([[0.0, 1.0, np.nan], [1.0, 0.0, 2.0], [np.nan, 2.0, 0.0]])
    full = filled(D)
    assert np.array_equal(full, full.T) and full[0, 2] == (0.5 + 1.0) / 2
    assert filled(full) is full
