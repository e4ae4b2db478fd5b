"""Ridge regression from sums is that of the rows."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from mercer.spectral.streamed_ridge import ridge_of_sums
from mercer.streams import SufficientStatistics

RNG = np.random.default_rng(0)
F = RNG.standard_normal((200, 5)) + 3
Y = F @ RNG.standard_normal((5, 2)) + RNG.standard_normal((200, 2)) - 7


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("alpha", [1e-3, 1.0, np.array([0.1, 50.0])], ids=str)
def test_it_solves_the_normal_equations(intercept, alpha):
    sums = SufficientStatistics.of(np.hstack([F, Y]), RNG.standard_normal(7))
    coefs, intercepts = ridge_of_sums(sums, 5, alpha, intercept=intercept)
    exact = Ridge(alpha, fit_intercept=intercept).fit(F, Y)
    # The condition of FᵀF is below 1e4 here, about any shift.
    room = 1e4 * 200 * np.finfo(np.float64).eps * 10
    assert np.abs(coefs - exact.coef_).max() <= room
    assert np.abs(intercepts - exact.intercept_).max() <= room


def test_directions_without_variance_get_no_weight():
    twice = np.hstack([F, F, Y])
    coefs, _ = ridge_of_sums(SufficientStatistics.of(twice, twice[0]), 10, 0.0)
    plain, _ = ridge_of_sums(SufficientStatistics.of(np.hstack([F, Y]), twice[0, 5:]), 5, 0.0)
    assert np.isfinite(coefs).all()
    # The least-norm solution shares the weights among both copies; λ below the floor is rounding of size m ε λ₁.
    assert np.abs(coefs[:, :5] + coefs[:, 5:] - plain).max() <= 1e-8
