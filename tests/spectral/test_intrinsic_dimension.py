"""How many dimensions a spectrum has, and the Gaussian that its leading part describes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal

from mercer.spectral.intrinsic_dimension import SpikedGaussian, choose_dimension, infer_dimension, noise_variance

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("true", [1, 3, 6])
def test_the_evidence_finds_the_dimension_of_a_low_rank_signal_in_noise(true):
    X = RNG.standard_normal((500, true)) @ RNG.standard_normal((true, 8)) * 3 + 0.3 * RNG.standard_normal((500, 8))
    assert infer_dimension(np.linalg.eigvalsh(np.cov(X.T))[::-1], 500) == true


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_share_takes_the_fewest_components_that_exceed_it(share):
    variances = np.sort(RNG.uniform(size=9))[::-1]
    k = choose_dimension(share, variances, 50)
    held = np.cumsum(variances) / variances.sum()
    assert held[k - 1] > share and (k == 1 or held[k - 2] <= share)


def test_the_noise_is_the_mean_of_what_was_not_kept():
    variances = np.array([4.0, 2.0, 1.0, 0.5])
    from_all = noise_variance(variances, variances.sum(), 2, 4)
    from_the_total = noise_variance(variances[:2], variances.sum(), 2, 4)
    assert from_all == from_the_total == 0.75
    assert noise_variance(variances, variances.sum(), 4, 4) == 0.0


def test_the_gaussian_of_a_subspace_is_scipys():
    V = np.linalg.qr(RNG.standard_normal((5, 2)))[0].T
    model, rows = SpikedGaussian(np.array([3.0, 2.0]), 0.5, V), RNG.standard_normal((7, 5))
    C = model.covariance()
    assert_allclose(C @ model.precision(), np.eye(5), atol=1e-13)
    assert_allclose(model.log_density(rows), multivariate_normal(np.zeros(5), C).logpdf(rows), rtol=1e-12)
