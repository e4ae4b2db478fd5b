"""Certificates of KernelPCA, recomputed from the arrays that are returned."""

import numpy as np
import pytest

from mercer import KernelPCA
from mercer.exceptions import IndefiniteKernelWarning
from mercer.testing.spectra import rotated

RNG = np.random.default_rng(0)
SOLVERS = ["auto", "dense", "lanczos", "krylov", "arpack", "randomized", "power"]
pytestmark = pytest.mark.filterwarnings("ignore::mercer.exceptions.MercerWarning")


def centred(K):
    means = K.mean(axis=0)
    return K - means - (means[:, None] - means.mean())


def recomputed(K, model):
    """‖HKHe − γe‖ in extended precision, of what the model returns."""
    M = centred(np.asarray(K, np.longdouble))
    e, values = (np.asarray(array, np.longdouble) for array in (model.eigenvectors_, model.eigenvalues_))
    return np.sqrt(((M @ e - e * values) ** 2).sum(axis=0)).astype(np.float64)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_residuals_hold_for_the_arrays_that_are_returned(solver, dtype):
    X = RNG.standard_normal((200, 4)).astype(dtype)
    K = np.asarray(X, np.float64) @ np.asarray(X, np.float64).T + 1
    model = KernelPCA(3, kernel="precomputed", eigen_solver=solver, max_iter=500).fit(K.astype(dtype))
    K = K.astype(dtype).astype(np.float64)
    assert np.all(recomputed((K + K.T) / 2, model) <= model.residuals_)
    truth = np.linalg.eigvalsh(centred(K))
    nearest = np.abs(model.eigenvalues_.astype(np.float64)[:, None] - truth).min(axis=1)
    assert np.all(nearest <= model.eigenvalue_error_ + 200 * np.finfo(np.float64).eps * truth[-1])


@pytest.mark.parametrize("solver", ["auto", "dense", "krylov", "arpack"])
@pytest.mark.parametrize("constant", [1e4, 1e8])
def test_a_large_constant_in_the_matrix_leaves_its_rounding_in_the_bound(solver, constant):
    K = rotated(1 / np.arange(1.0, 251)) + constant
    K = (K + K.T) / 2
    model = KernelPCA(4, kernel="precomputed", eigen_solver=solver).fit(K)
    assert np.all(recomputed(K, model) <= model.residuals_)


@pytest.mark.filterwarnings("always::mercer.exceptions.MercerWarning")
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("lowest", [-0.05, -0.5, -3.0])
def test_no_solver_overlooks_a_negative_eigenvalue(solver, lowest):
    values = 1 / np.arange(1.0, 301)
    values[-1] = lowest
    model = KernelPCA(2, kernel="precomputed", eigen_solver=solver, max_iter=200)
    try:
        with pytest.warns(IndefiniteKernelWarning):
            model.fit(rotated(values))
    except ValueError as error:  # "randomized" takes the largest magnitudes, and refuses negative components
        assert solver == "randomized" and "negative eigenvalues" in str(error)


def test_a_factor_of_a_slightly_indefinite_kernel_has_no_finite_bound():
    """Not negative enough to be refused, and too negative for rounding: then tr(K − FFᵀ) bounds nothing."""
    values = np.concatenate([1 / np.arange(1.0, 61), np.zeros(40)])
    K = rotated(values)
    K[7, 7] -= 1e-6
    model = KernelPCA(3, kernel="precomputed", eigen_solver="rpcholesky", rank=100).fit(K)
    assert np.all(np.isinf(model.eigenvalue_error_)) and np.all(np.isinf(model.residuals_))
    assert np.all(np.isfinite(model.transform(K[:5])))
