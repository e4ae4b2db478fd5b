"""The repulsive sums pair by pair, against their definition."""

from __future__ import annotations

import numpy as np
import pytest
from example_maps import SIMILARITIES, by_definition, close, points, relative
from hypothesis import given
from hypothesis import strategies as st

from mercer.embedding.repulsion import make_repulsion
from mercer.embedding.similarity import Gaussian, Student


@pytest.mark.parametrize("similarity", SIMILARITIES)
@pytest.mark.parametrize("c", [1, 2, 3, 7])
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-13), (np.float32, 3e-6)])
def test_exact_is_the_definition(similarity, c, dtype, tolerance):
    Y = points("clusters", 300, c, 20).astype(dtype)
    G, Z = make_repulsion(similarity, c, method="exact", n=300)(Y)
    pushes, weights = by_definition(similarity, Y, Y)
    assert G.dtype == dtype
    assert isinstance(Z, float)
    assert relative(G, pushes) < tolerance
    assert close(Z, weights.sum() - 300, 10 * tolerance)


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_pushes_are_the_gradient_of_the_sum_of_weights(similarity):
    """∂Z/∂yᵢ = −4 Gᵢ, by central differences."""
    Y = points("clusters", 40, 2, 6)
    repulsion = make_repulsion(similarity, 2, n=40)
    G, _ = repulsion(Y)
    for i, k in [(0, 0), (7, 1), (39, 0)]:
        step = np.zeros_like(Y)
        step[i, k] = 1e-5
        assert (repulsion(Y + step)[1] - repulsion(Y - step)[1]) / 2e-5 == pytest.approx(-4 * G[i, k], rel=1e-6)


@given(angle=st.floats(0, 6), shift=st.floats(-50, 50), seed=st.integers(0, 99))
def test_exact_turns_and_moves_with_the_map(angle, shift, seed):
    Y = points("uniform", 60, 2, 10, seed)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    repulsion = make_repulsion(Student(2), 2, n=60)
    (G, Z), (turned, Z_turned) = repulsion(Y), repulsion(Y @ turn + shift)
    np.testing.assert_allclose(turned, G @ turn, atol=1e-11)
    np.testing.assert_allclose(G.sum(axis=0), 0, atol=1e-11)  # what one pushes, another is pushed back
    assert Z_turned == pytest.approx(Z, rel=1e-11)


def test_far_apart_the_weights_are_not_lost_in_those_of_points_with_themselves():
    Y = np.array([[0.0], [1e9], [3e9]])
    assert make_repulsion(Student(), 1, n=3)(Y)[1] == pytest.approx(2 * (1 + 1 / 9 + 1 / 4) * 1e-18, rel=1e-12)


@pytest.mark.parametrize("similarity", [Gaussian(), Student(), Student(0.01)])
def test_float32_does_not_overflow(similarity):
    Y = np.array([[0, 0], [1e30, -1e30], [1, 1]], np.float32)
    G, Z = make_repulsion(similarity, 2, n=3)(Y)
    assert np.isfinite(G).all()
    assert close(Z, 2 * float(similarity.weight(np.float64(2))), 1e-6)
