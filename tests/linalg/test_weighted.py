"""Weighted centring is its definition."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.kernels import RBF
from mercer.linalg.operators import Dense
from mercer.linalg.weighted import WeightedCentered
from mercer.spectral.scatter import (
    Classes,
)

RNG = np.random.default_rng(11)


n, m, C = 60, 8, 3


F = RNG.standard_normal((n, m))


CODES = np.r_[np.arange(C), RNG.integers(0, C, n - C)]


PRIORS = np.array([0.5, 0.2, 0.3])


@pytest.mark.parametrize("weights", [np.ones(n), Classes(CODES, PRIORS).weights])
def test_weighted_centring_is_its_definition(weights):
    K = RBF(0.1)(F)
    root = np.diag(np.sqrt(weights))
    centre = np.eye(n) - np.outer(np.ones(n), weights) / n
    direct = root @ centre @ K @ centre.T @ root
    A = WeightedCentered(Dense(K), weights)
    V = RNG.standard_normal((n, 4))
    assert_allclose(A.matmat(V), direct @ V, atol=1e-10)
    assert_allclose(A.rows(np.arange(5)), direct[:5], atol=1e-12)
    assert_allclose(A.diagonal(), np.diag(direct), atol=1e-12)
    assert_allclose(A.trace(), np.trace(direct))
    assert_allclose(A.coefficients(V), centre.T @ root @ V, atol=1e-12)
