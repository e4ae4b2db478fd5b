"""Complete Cholesky: exact where a factor exists, and a word where there is none."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.kernels import RBF, Linear
from mercer.linalg.cholesky import complete_cholesky

RNG = np.random.default_rng(3)


@pytest.mark.parametrize(("kernel", "d", "rank"), [(RBF(0.5), 30, 120), (Linear(), 7, 7), (RBF(0.01), 1, None)])
def test_the_factor_is_the_matrix(kernel, d, rank):
    K = kernel(RNG.standard_normal((120, d)))
    factor = complete_cholesky(K.copy(), RNG)
    assert_allclose(factor.F @ factor.F.T, K, atol=1e-11 * K.max())
    assert_allclose(K[:, factor.landmarks] @ factor.coefs, factor.F, atol=1e-6)
    assert rank is None or factor.F.shape[1] == rank
    assert factor.negative == 0 and factor.error <= 1e-9 * np.trace(K)


def test_an_indefinite_matrix_is_noticed():
    Q = np.linalg.qr(RNG.standard_normal((50, 50)))[0]
    spectrum = np.r_[-0.3, np.linspace(0.5, 1, 49)]
    assert complete_cholesky((Q * spectrum) @ Q.T, RNG).negative > 1e-3
    assert complete_cholesky(np.array([[0.0, 1.0], [1.0, 0.0]]), RNG).negative > 0.1


def test_zero_has_an_empty_factor():
    factor = complete_cholesky(np.zeros((4, 4)), RNG)
    assert factor.F.shape == (4, 0) and factor.negative == 0
