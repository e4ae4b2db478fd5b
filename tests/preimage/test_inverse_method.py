"""What every method of going back refuses before any work."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from mercer import KernelPCA
from mercer.kernels import RBF, Cosine, Laplacian, Linear, Spectrum
from mercer.preimage import METHODS, FixedPoint, LocalMDS

RNG = np.random.default_rng(0)
X = RNG.standard_normal((50, 3)) @ np.diag([2.0, 1.0, 0.5])
NEW = RNG.standard_normal((7, 3))
OURS = ["ridge", "fixed_point", "mds"]


def model(method, k=4, **parameters):
    settings = {"kernel": "rbf", "gamma": 0.2, "fit_inverse_transform": True, "inverse_method": method}
    return KernelPCA(k, **(settings | parameters))


def round_trip(method, rows=X, new=NEW, **parameters):
    fitted = model(method, **parameters).fit(rows)
    return fitted.inverse_transform(fitted.transform(new))


@pytest.mark.parametrize("method", METHODS)
def test_no_rows_to_go_back_to(method):
    with pytest.raises(ValueError, match="Cannot fit_inverse_transform with a precomputed kernel"):
        model(method, kernel="precomputed").fit(X @ X.T)
    with pytest.raises(TypeError, match="needs vectors to go back to"):
        model(method, kernel=Spectrum()).fit(["abc", "abd", "bcd"])


@pytest.mark.parametrize("method", ["fixed_point", "mds"])
@pytest.mark.parametrize("kernel", [Laplacian(1.0), Cosine(), RBF(1.0) + Linear()], ids=repr)
def test_kernels_without_a_profile_of_distance_or_product(method, kernel):
    with pytest.raises(TypeError, match=r"function of ‖x − y‖.*ridge"):
        model(method, kernel=kernel).fit(X)
    assert np.all(np.isfinite(round_trip("ridge", kernel=kernel)))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_bad_scores(method, bad):
    fitted = model(method).fit(X)
    Z = fitted.transform(NEW)
    Z[0, 0] = bad
    with pytest.raises(ValueError, match="finite scores"):
        fitted.inverse_transform(Z)
    with pytest.raises(ValueError, match="scores of 4 components"):
        fitted.inverse_transform(Z[:, :2])
    with pytest.raises(ValueError, match="scores of 4 components"):
        fitted.inverse_transform(Z[0])
    with pytest.raises(ValueError, match="could not convert"):
        fitted.inverse_transform([["a", "b", "c", "d"]])


def test_methods_can_be_cloned_and_searched_over():
    estimator = clone(model(LocalMDS(n_neighbors=5)))
    assert estimator.get_params()["inverse_method__n_neighbors"] == 5
    for parameters in ParameterGrid({"inverse_method__n_neighbors": [3, 6]}):
        fitted = clone(estimator).set_params(**parameters).fit(X)
        assert fitted.preimage_.q == parameters["inverse_method__n_neighbors"]
    assert repr(FixedPoint(tol=1e-3)) == "FixedPoint(tol=0.001)"
