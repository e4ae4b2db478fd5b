"""Bounds on eigenvalues hold, and norms have no scale."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mercer.linalg.eigen_bounds import column_norms, error_bounds

RNG = np.random.default_rng(0)


def with_spectrum(values, seed=0):
    Q, _ = np.linalg.qr(np.random.default_rng(seed).standard_normal((len(values), len(values))))
    M = (Q * values) @ Q.T
    return (M + M.T) / 2


@given(seed=st.integers(0, 10**6), power=st.floats(-6, 0), known=st.booleans())
def test_error_bounds_hold_for_the_top_of_a_matrix(seed, power, known):
    """Ritz pairs of a disturbed top subspace, with and without the next Ritz value."""
    rng = np.random.default_rng(seed)
    truth = np.sort(rng.exponential(size=12))[::-1]
    M = with_spectrum(truth, seed)
    Q = np.linalg.eigh(M)[1][:, ::-1]
    V, _ = np.linalg.qr(Q[:, :4] + 10**power * rng.standard_normal((12, 4)))
    theta, S = np.linalg.eigh(V.T @ M @ V)
    theta, U = theta[::-1], (V @ S)[:, ::-1]
    residuals = np.linalg.norm(M @ U - U * theta, axis=0)
    bounds = error_bounds(theta[:3], residuals[:3], 12, rest=theta[3] if known else None)
    nearest = np.abs(truth[:, None] - theta[None, :3]).min(axis=0)
    assert np.all(nearest <= bounds + 1e-13)
    assert np.all(bounds <= residuals[:3] + 1e-13)


def test_error_bounds_are_quadratic_where_there_is_a_gap():
    bounds = error_bounds(np.array([2.0, 1.0]), np.array([1e-4, 1e-4]), 2)
    assert bounds[0] < 2e-8 and bounds[1] > 9e-5  # below the last value anything may lie
    assert error_bounds(np.array([2.0, 1.0]), np.array([1e-4, 1e-4]), 3, rest=0.5)[1] < 3e-8


def test_column_norms_at_any_scale():
    R = RNG.standard_normal((20, 3))
    for scale in (1e-300, 1e-200, 1.0, 1e200, 1e300):
        np.testing.assert_allclose(column_norms(scale * R, np), scale * np.linalg.norm(R, axis=0), rtol=1e-12)
    np.testing.assert_array_equal(column_norms(np.zeros((3, 2)), np), 0)
