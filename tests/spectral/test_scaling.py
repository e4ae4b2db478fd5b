"""From distances to coordinates: known configurations come back, in any unit, exactly or by landmarks."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from mercer.graph.geodesics import Geodesics
from mercer.spectral.scaling import (
    choose_landmarks,
    distance_settings,
    landmark_count,
    plan_unfolding,
    refuse_units,
    unfold,
    unfold_landmarks,
    unfold_matrix,
)

POINTS = np.random.default_rng(0).standard_normal((30, 2)) @ np.diag([3.0, 1.0])


def complete_graph(X):
    """Every pair is an edge, so that distances along the graph are the distances themselves."""
    D = cdist(X, X)
    rows, columns = np.nonzero(~np.eye(len(X), dtype=bool))
    return Geodesics(sp.csr_array((D[rows, columns], (rows, columns)), D.shape))


def settings(k=2):
    return distance_settings(k, np.float64)


@pytest.mark.parametrize("scale", [1e-100, 1.0, 1e100])
def test_a_matrix_of_distances_gives_the_points_back(scale):
    D = cdist(POINTS, POINTS)
    found = unfold_matrix(D * scale, plan_unfolding(30, 2), settings())
    np.testing.assert_allclose(cdist(found.embedding / scale, found.embedding / scale), D, rtol=1e-9, atol=1e-12)
    # The root of a difference of squares, so that eps becomes its root.
    assert found.left_over / scale**2 <= 1e-7 * float(np.sum(found.components.values / scale**2))


def test_all_distances_along_a_graph_give_the_points_back():
    geodesics = complete_graph(POINTS)
    found = unfold(geodesics, plan_unfolding(30, 2), settings())
    rounding = 10 * np.finfo(geodesics.dtype).eps * cdist(POINTS, POINTS).max()
    np.testing.assert_allclose(cdist(found.embedding, found.embedding), cdist(POINTS, POINTS), atol=rounding)
    assert found.residual_variance[1] < 1e-6 < found.residual_variance[0]


def test_landmarks_place_the_other_points_where_they_are():
    """In a plane three landmarks and more fix every point, whichever they are."""
    geodesics, plan = complete_graph(POINTS), plan_unfolding(30, 2, landmarks=6)
    landmarks = choose_landmarks(6, 6, geodesics, np.arange(30), 0)
    found = unfold_landmarks(geodesics, landmarks, plan, settings())
    np.testing.assert_allclose(cdist(found.embedding, found.embedding), cdist(POINTS, POINTS), atol=1e-4)


def test_numbers_of_landmarks():
    assert landmark_count(None, 10, 10, 2) is None
    assert landmark_count(50, 10, 10, 2) == 10
    assert landmark_count([1, 5, 7], 10, 10, 2) == 3
    for bad, words in (
        ([1, 1, 2, 3], "different row numbers"),
        ([0, 99, 1, 2], "from 0 to 9"),
        (2, "no more than 1 coordinate"),
    ):
        with pytest.raises(ValueError, match=words):
            landmark_count(bad, 10, 10, 2)
    with pytest.raises(TypeError, match="whole numbers"):
        landmark_count([0.5, 1.5], 10, 10, 2)


def test_units_whose_squares_overflow_are_refused():
    refuse_units(1e100)
    for unit in (1e-200, 1e200):
        with pytest.raises(ValueError, match="leave the range of float64"):
            refuse_units(unit)
    for unit in (1e-30, 1e30):
        refuse_units(unit)
        with pytest.raises(ValueError, match="leave the range of float32"):
            refuse_units(unit, np.float32)
