"""The point that scores name: distances to it by definition, and the samples nearest to it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import KernelPCA
from mercer.kernels import RBF, Linear, Matern, Polynomial, RationalQuadratic
from mercer.preimage import FixedPoint, LocalMDS

RNG = np.random.default_rng(0)
X = RNG.standard_normal((50, 3))
NEW = RNG.standard_normal((8, 3))
KERNELS = [
    RBF(0.3),
    RBF(20.0),
    RationalQuadratic(2.0),
    Matern(0.5, 2.0),
    Matern(1.5, 2.0),
    Matern(2.5, 2.0),
    Matern(1.2, 2.0),
    Matern(np.inf, 2.0),
    Linear(),
    Polynomial(3, 0.2, 1.0),
    Polynomial(2, 0.5, 0.0),
]


def fitted(kernel, k=4, rows=X, **parameters):
    method = FixedPoint(max_iter=parameters.pop("max_iter", 2000), tol=parameters.pop("tol", 1e-8))
    return KernelPCA(k, kernel=kernel, fit_inverse_transform=True, inverse_method=method, **parameters).fit(rows)


def error_by_definition(model, kernel, z, x, rows=X):
    """‖φ(x) − μ − Σ zⱼ wⱼ‖² from kernel values alone, wⱼ = Σᵢ (e/√γ)ᵢ (φ(xᵢ) − μ)."""
    n, H = len(rows), np.eye(len(rows)) - 1 / len(rows)
    c = np.full(n, 1 / n) + H @ (model.eigenvectors_ / np.sqrt(model.eigenvalues_)) @ z
    x = np.atleast_2d(x)
    return float(kernel(x)[0, 0] - 2 * kernel(x, rows)[0] @ c + c @ kernel(rows) @ c)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_the_error_is_the_distance_in_feature_space(kernel):
    model = fitted(kernel, k=3)
    Z = model.transform(NEW)
    expected = [error_by_definition(model, kernel, z, x) for z, x in zip(Z, X[:8], strict=True)]
    assert_allclose(model.preimage_.fitted.error(Z, X[:8]), expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("solver", ["auto", "rpcholesky"])
def test_the_error_with_features_written_out(solver):
    kernel = Polynomial(2, gamma=1.0, coef0=1.0)
    model = fitted(kernel, eigen_solver=solver)
    phi, mean = kernel.feature_map(X), kernel.feature_map(X).mean(axis=0)
    W = np.linalg.svd(phi - mean, full_matrices=False)[2][:4].T
    z = (kernel.feature_map(NEW) - mean) @ W
    z = z * np.sign((z * model.transform(NEW)).sum(axis=0))  # signs are anyone's
    W = W * np.sign(((kernel.feature_map(NEW) - mean) @ W * model.transform(NEW)).sum(axis=0))
    target = mean + z @ W.T
    assert_allclose(model.transform(NEW), z, atol=1e-6)
    expected = ((kernel.feature_map(X[:8]) - target) ** 2).sum(axis=1)
    assert_allclose(model.preimage_.fitted.error(z, X[:8]), expected, rtol=1e-6)
    assert_allclose(model.preimage_.fitted.squared_norms(z), (target**2).sum(axis=1), rtol=1e-6)


def test_neighbours_are_the_nearest_in_feature_space():
    model = KernelPCA(4, kernel=RBF(0.3), fit_inverse_transform=True, inverse_method=LocalMDS(n_neighbors=10)).fit(X)
    Z = model.transform(NEW)
    places, squares = model.preimage_.neighbors(Z, 7)
    D = np.array([model.preimage_.fitted.error(np.tile(z, (len(X), 1)), X) for z in Z])
    assert_allclose(squares, np.sort(D, axis=1)[:, :7], atol=1e-10)
    assert_allclose(np.take_along_axis(D, places, axis=1), squares, atol=1e-10)


@pytest.mark.parametrize("solver", ["auto", "rpcholesky"])
def test_the_first_components_alone_are_those_of_a_smaller_fit(solver):
    options = {"kernel": RBF(0.3), "fit_inverse_transform": True, "inverse_method": LocalMDS(), "random_state": 0}
    large, small = (KernelPCA(k, eigen_solver=solver, rank=50, **options).fit(X) for k in (5, 2))
    cut, alone = large.preimage_.fitted.truncated(2), small.preimage_.fitted
    Z = np.abs(small.transform(NEW))  # the same for either sign of a component
    sign = np.sign((cut.Z * alone.Z).sum(axis=0))
    assert_allclose(cut.Z * sign, alone.Z, atol=1e-7)
    assert_allclose(cut.error(Z * sign, NEW), alone.error(Z, NEW), rtol=1e-6)
    assert_allclose(large.way_back(X, 2)(Z * sign), small.inverse_transform(Z), atol=1e-6)
    assert large.preimage_.fitted.truncated(9) is large.preimage_.fitted
