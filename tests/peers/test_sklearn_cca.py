"""With linear kernels and no penalty KernelCCA is scikit-learn's CCA."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.cross_decomposition import CCA
from sklearn.datasets import load_linnerud

from mercer import KernelCCA


def synthetic():
    rng = np.random.default_rng(0)
    shared = rng.standard_normal((300, 3))
    X = (shared @ rng.standard_normal((3, 6)) + rng.standard_normal((300, 6))) * [1, 10, 1e3, 1e-2, 1, 1] + 50
    return X, shared @ rng.standard_normal((3, 4)) + 2 * rng.standard_normal((300, 4))


@pytest.mark.parametrize("data", [synthetic(), load_linnerud(return_X_y=True)], ids=["synthetic", "linnerud"])
@pytest.mark.parametrize("reg", [0.0, 1e-14])
def test_linear_and_unpenalised_is_cca(data, reg):
    X, Y = data
    model = KernelCCA(3, kernel="linear", reg=reg).fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer = CCA(3, max_iter=100_000, tol=1e-15).fit(X, Y)
    first, second = peer.transform(X, Y)
    theirs = np.array([np.corrcoef(first[:, i], second[:, i])[0, 1] for i in range(3)])
    assert_allclose(model.training_correlations_, theirs, atol=1e-6)
    for mine, other in ((model.x_scores_, first), (model.y_scores_, second)):
        agreement = [abs(np.corrcoef(mine[:, i], other[:, i])[0, 1]) for i in range(3)]
        assert_allclose(agreement, 1.0, atol=1e-6)
