"""FixedPoint: the target is P, the answer a minimum of ‖φ(x) − P‖², and no step makes it worse."""

import warnings
from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import approx_fprime, minimize
from sklearn.decomposition import PCA

from mercer import KernelPCA
from mercer.exceptions import NotConvergedWarning
from mercer.kernels import RBF, Linear, Matern, Polynomial, RationalQuadratic, Sigmoid, VectorKernel
from mercer.preimage import FixedPoint
from mercer.preimage.anchor_frame import AnchorFrame
from mercer.preimage.fixed_point import _Search

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


@dataclass(repr=False)
class Cauchy(VectorKernel):
    """A kernel of a user's, which knows no slope."""

    reads = "sqeuclidean"

    def profile(self, d2, xp):
        return 1 / (1 + 0.5 * d2)


def fitted(kernel, k=4, rows=X, **parameters):
    method = FixedPoint(max_iter=parameters.pop("max_iter", 2000), tol=parameters.pop("tol", 1e-8))
    return KernelPCA(k, kernel=kernel, fit_inverse_transform=True, inverse_method=method, **parameters).fit(rows)


def error_by_definition(model, kernel, z, x, rows=X):
    """‖φ(x) − μ − Σ zⱼ wⱼ‖² from kernel values alone, wⱼ = Σᵢ (e/√γ)ᵢ (φ(xᵢ) − μ)."""
    n, H = len(rows), np.eye(len(rows)) - 1 / len(rows)
    c = np.full(n, 1 / n) + H @ (model.eigenvectors_ / np.sqrt(model.eigenvalues_)) @ z
    x = np.atleast_2d(x)
    return float(kernel(x)[0, 0] - 2 * kernel(x, rows)[0] @ c + c @ kernel(rows) @ c)


# --- the target --------------------------------------------------------------------------------------------


# --- the minimum -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [*KERNELS, Cauchy()], ids=repr)
def test_the_answer_is_no_worse_than_the_start_and_its_gradient_vanishes(kernel):
    model = fitted(kernel, k=3)
    Z = model.transform(np.vstack([NEW, X[:8]]))
    answer = model.preimage_.solve(Z)
    assert np.all(answer.error <= answer.start_error * (1 + 1e-12)) and np.all(answer.converged)
    assert_allclose(answer.error, model.preimage_.fitted.error(Z, answer.X), rtol=1e-6, atol=1e-9)
    if isinstance(kernel, Matern) and kernel.nu == 0.5:
        return  # a cusp at every sample: the minimum may be one, and the gradient does not vanish there
    for z, x in zip(Z[:4], answer.X, strict=False):
        slope = approx_fprime(x, lambda x, z=z: error_by_definition(model, kernel, z, x), 1e-6)
        around = approx_fprime(x + 0.3, lambda x, z=z: error_by_definition(model, kernel, z, x), 1e-6)
        assert np.abs(slope).max() < 1e-3 * max(1.0, np.abs(around).max())


@pytest.mark.parametrize("kernel", [RBF(0.3), Matern(1.5, 2.0), Polynomial(3, 0.2, 1.0)], ids=repr)
def test_a_general_minimiser_finds_no_better_from_there(kernel):
    model = fitted(kernel)
    Z = model.transform(NEW)
    answer = model.preimage_.solve(Z)
    for z, x, error in zip(Z, answer.X, answer.error, strict=True):
        found = minimize(lambda x, z=z: error_by_definition(model, kernel, z, x), x)
        assert error <= found.fun + 1e-7


@pytest.mark.parametrize("kernel", [RBF(0.3), RBF(5.0), RBF(20.0), RationalQuadratic(2.0)], ids=repr)
def test_every_row_converges_whatever_the_last_bits_are(kernel):
    """Scores of new rows lie in flat valleys, where the plain fixed point creeps until rounding hides its progress."""
    rng, eps = np.random.default_rng(1), np.finfo(np.float64).eps
    for _ in range(10):
        rows = X * (1 + eps * rng.integers(-1, 2, X.shape))
        model = fitted(kernel, k=3, rows=rows, max_iter=100)
        assert model.preimage_.solve(model.transform(np.vstack([NEW, rows[:8]]))).converged.all()


def test_all_components_bring_the_training_rows_back():
    model = fitted(RBF(1.0), k=None)
    assert_allclose(model.inverse_transform(model.transform(X)), X, atol=1e-5)


@pytest.mark.parametrize("rows", [X, X + 1e4], ids=["near", "far"])
def test_a_linear_kernel_is_pca(rows):
    model, plain = fitted(Linear(), k=2, rows=rows), PCA(2).fit(rows)
    new = NEW + rows[0]
    assert_allclose(
        model.inverse_transform(model.transform(new)), plain.inverse_transform(plain.transform(new)), atol=1e-8
    )
    assert model.preimage_.solve(model.transform(new)).n_iter.max() <= 2


@given(seed=st.integers(0, 10**6), gamma=st.sampled_from([0.1, 1.0, 30.0, 1e4]), k=st.integers(1, 12))
def test_never_worse_and_never_nan(seed, gamma, k):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((15, 2))
    model = fitted(RBF(gamma), k=k, rows=rows, max_iter=50)
    Z = np.vstack(
        [model.transform(rng.standard_normal((5, 2))), 10 * rng.standard_normal((5, model.eigenvalues_.size))]
    )
    answer = model.preimage_.solve(Z)
    assert np.all(np.isfinite(answer.X)) and np.all(answer.error <= answer.start_error + 1e-8)
    best_row = [model.preimage_.fitted.error(np.tile(z, (15, 1)), rows).min() for z in Z]
    assert_allclose(answer.start_error, best_row, rtol=1e-6, atol=1e-9)


def test_where_the_weights_cancel_the_plain_iteration_is_lost_and_this_one_is_not():
    """P = φ(0) − 0.999 φ(1), begun half way: x ← Σ uᵢaᵢ/Σuᵢ as printed leaps to about −999 and stays there."""
    kernel, anchors = RBF(1.0), np.array([[0.0], [1.0]])
    frame = AnchorFrame(kernel, kernel.points(anchors), anchors.mean(axis=0), 0.5)
    C = np.array([[1.0, -0.999]])

    def value(x):
        return float(-(C * np.exp(-((x - anchors.T) ** 2))).sum())

    weights = C * np.exp(-((0.5 - anchors.T) ** 2))
    plain = float((weights @ anchors / weights.sum()).item())
    assert plain < -900 and value(plain) > value(0.5)
    search = _Search(frame, C, frame.inward(np.array([[0.5]])))
    search.run(500, 1e-9)
    found = float(frame.outward(search.U).item())
    best = minimize(lambda x: value(x[0]), [-0.5], tol=1e-12)
    assert search.converged.all() and found == pytest.approx(best.x[0], abs=1e-5) and value(found) < value(0.5)


def test_a_start_from_the_regression_is_no_worse_than_either():
    parameters = {"kernel": "rbf", "gamma": 0.3, "fit_inverse_transform": True, "alpha": "loo"}
    ridge = KernelPCA(4, **parameters).fit(X)
    model = KernelPCA(4, **parameters, inverse_method=FixedPoint(start="ridge")).fit(X)
    Z = model.transform(NEW)
    answer = model.preimage_.solve(Z)
    assert np.all(answer.start_error <= model.preimage_.fitted.error(Z, ridge.inverse_transform(Z)) + 1e-9)
    assert np.all(answer.error <= answer.start_error + 1e-12)


# --- where it runs -----------------------------------------------------------------------------------------


def test_tiles_change_nothing():
    model = fitted(RBF(0.3))
    Z = model.transform(X)
    assert_allclose(model.preimage_(Z, tile_entries=120), model.inverse_transform(Z), atol=1e-9)


def test_on_landmarks_it_is_nearly_the_exact_one():
    exact, rough = fitted(RBF(0.1), k=3), fitted(RBF(0.1), k=3, eigen_solver="rpcholesky", rank=45)
    there = rough.inverse_transform(rough.transform(NEW))
    assert_allclose(there, exact.inverse_transform(exact.transform(NEW)), atol=0.02)


@pytest.mark.parametrize("kernel", [RBF(0.3), Linear(), Matern(1.5, 2.0)], ids=repr)
def test_csr_rows(kernel):
    dense, sparse = fitted(kernel, k=3), fitted(kernel, k=3, rows=sp.csr_array(X))  # a linear kernel has no more
    back = sparse.inverse_transform(dense.transform(NEW))
    signs = np.sign((dense.eigenvectors_ * sparse.eigenvectors_).sum(axis=0))
    assert isinstance(back, np.ndarray) and np.all(signs == 1)
    assert_allclose(back, dense.inverse_transform(dense.transform(NEW)), atol=1e-5)


# --- what it says ------------------------------------------------------------------------------------------


def test_too_few_steps_are_a_named_warning():
    model = fitted(RBF(0.3), max_iter=1)
    with pytest.warns(NotConvergedWarning, match="8 of 8 rows in 1 step"):
        rows = model.inverse_transform(model.transform(NEW))
    assert np.all(np.isfinite(rows))


@pytest.mark.parametrize("bad", [{"max_iter": 0}, {"tol": 0.0}, {"tol": 2}, {"start": "anywhere"}])
def test_bad_parameters(bad):
    model = KernelPCA(2, kernel="rbf", fit_inverse_transform=True, inverse_method=FixedPoint(**bad))
    with pytest.raises(ValueError, match=next(iter(bad))):
        model.fit(X)


def test_an_indefinite_kernel_gives_finite_rows():
    model = fitted(Sigmoid(0.1, 0.0), k=2)
    assert np.all(np.isfinite(model.inverse_transform(model.transform(NEW))))


def test_the_last_step_counts():
    model = fitted(Linear(), k=2, max_iter=1)
    Z = model.transform(NEW)
    with warnings.catch_warnings():
        warnings.simplefilter("error", NotConvergedWarning)
        back = model.inverse_transform(Z)
    answer = model.preimage_.solve(Z)
    assert answer.converged.all() and np.all(answer.n_iter == 1)
    reference = PCA(2).fit(X)
    np.testing.assert_allclose(back, reference.inverse_transform(reference.transform(NEW)), atol=1e-12)
