"""Gradients of kernels: the rules of calculus against values worked out by hand, laws, and what has no gradient."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from mercer.kernels import (
    RBF,
    AdditiveChi2,
    ArcCosine,
    Chi2,
    Constant,
    Cosine,
    FunctionKernel,
    GaussianProcessKernel,
    Hamming,
    Intersection,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Precomputed,
    RationalQuadratic,
    Sigmoid,
    Spectrum,
    Tanimoto,
    VectorKernel,
)
from mercer.kernels.gradients import diagonal_gradient, gradient_sum, has_gradient, refuse_kinks
from mercer.testing import check_kernel

RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((7, 3)), RNG.standard_normal((5, 3))
SMOOTH = [
    Linear(),
    Polynomial(degree=2, gamma=0.5),
    Polynomial(degree=0, gamma=0.5),
    Sigmoid(gamma=0.3),
    RBF(gamma=0.4),
    RationalQuadratic(1.3, 0.6),
    Matern(1.5, 0.8),
    Matern(2.5, 0.8),
    Matern(1.2, 0.8),
    Matern(6.5, 0.8),
    Matern(float("inf"), 0.8),
    Cosine(),
    ArcCosine(1),
    ArcCosine(2),
    Tanimoto(),
    RBF(gamma=0.4) * Cosine() + 2.0,
    (Linear() + 1.0) ** 3,
    (Polynomial(degree=2, gamma=0.5) * RBF(gamma=0.4)).normalized() ** 2,
    (0.5 * ArcCosine(1).on([2, 0])).normalized() + Matern(1.5, 0.8).on(slice(1, None)),
    Linear().on([0, 0]),
    RBF(gamma=0.4).weighted([2.0, 0.5, 1.0]) * Linear(),
    Polynomial(degree=2, gamma=0.5).weighted([2.0, 0.5, 1.0]).normalized(),
]
KINKED = [
    Laplacian(gamma=1.0),
    Intersection(),
    Hamming(),
    Chi2(),
    AdditiveChi2(),
    Matern(0.5),
    Matern(1.0),
    ArcCosine(0),
    Spectrum(),
    Precomputed(),
    FunctionKernel(lambda A, B: A @ B.T),
    GaussianProcessKernel(None),
]


def gradients(kernel, X, Y):
    """∂k(x, y)/∂x for every pair, (m, n, d): a sum with one coefficient a row of Y."""
    A = kernel.points(Y)
    return gradient_sum(kernel, kernel.points(X, like=A), A, np.eye(len(Y)), X.shape[1])


def test_by_hand():
    x, y = np.array([[1.0, 2.0]]), np.array([[3.0, -1.0]])  # ⟨x, y⟩ = 1, ‖x − y‖² = 13, ‖x‖² = 5, ‖y‖² = 10
    assert_allclose(gradients(Linear(), x, y)[0, 0], y[0])
    assert_allclose(gradients(Polynomial(2, 0.5, 1.0), x, y)[0, 0], 2 * 0.5 * 1.5 * y[0])
    assert_allclose(gradients(RBF(0.1), x, y)[0, 0], -0.2 * np.exp(-1.3) * (x - y)[0])
    assert_allclose(gradients(Cosine(), x, y)[0, 0], y[0] / np.sqrt(50) - x[0] / np.sqrt(50) / 5)
    assert_allclose(gradients(Tanimoto(), x, y)[0, 0], (y[0] * 15 - 2 * x[0]) / 14**2)
    s = np.sqrt(3 * 13)
    assert_allclose(gradients(Matern(1.5, 1.0), x, y)[0, 0], -3 * np.exp(-s) * (x - y)[0])


@pytest.mark.parametrize("kernel", SMOOTH, ids=repr)
def test_finite_differences(kernel):
    step = 1e-5
    A = kernel.points(Y)
    for c, unit in enumerate(step * np.eye(3)):
        up, down = (kernel.tile(kernel.points(X + sign * unit, like=A), A) for sign in (1, -1))
        assert_allclose(gradients(kernel, X, Y)[:, :, c], (up - down) / (2 * step), atol=2e-8)


@pytest.mark.parametrize("kernel", SMOOTH, ids=repr)
def test_of_the_diagonal(kernel):
    step = 1e-5
    found = diagonal_gradient(kernel, kernel.points(X), 3)
    for c, unit in enumerate(step * np.eye(3)):
        up, down = (kernel.diagonal(kernel.points(X + sign * unit)) for sign in (1, -1))
        assert_allclose(found[:, c], (up - down) / (2 * step), atol=2e-7)


@given(st.integers(0, 100), st.sampled_from([RBF(0.3), Matern(2.5), RationalQuadratic()]))
def test_kernels_of_the_distance_turn_and_shift_with_the_data(seed, kernel):
    rng = np.random.default_rng(seed)
    X, Y = rng.standard_normal((4, 3)), rng.standard_normal((6, 3))
    Q, shift = np.linalg.qr(rng.standard_normal((3, 3)))[0], 5 * rng.standard_normal(3)
    assert_allclose(gradients(kernel, X @ Q + shift, Y @ Q + shift), gradients(kernel, X, Y) @ Q, atol=1e-12)


@given(st.integers(0, 100))
def test_linear_in_coefficients_and_weights(seed):
    rng = np.random.default_rng(seed)
    kernel = RBF(0.3) * Polynomial(2, 0.5) + Cosine()
    A, B = kernel.points(X), kernel.points(Y)
    coefs, weights = rng.standard_normal((5, 2)), rng.standard_normal((7, 5))
    found = gradient_sum(kernel, A, B, coefs, 3, weights)
    each = gradient_sum(kernel, A, B, np.eye(5), 3)  # (m, n, d)
    assert_allclose(found, np.einsum("abd,ab,bj->ajd", each, weights, coefs), atol=1e-12)


@pytest.mark.parametrize("kernel", [Cosine(), ArcCosine(1), ArcCosine(2), Tanimoto(), Linear().normalized()], ids=repr)
def test_rows_of_zeros_give_numbers(kernel):
    rows = np.array([[0.0, 0.0], [1.0, 2.0]])
    assert np.all(np.isfinite(gradients(kernel, rows, rows)))


def test_far_from_the_origin_digits_stay():
    far = gradients(RBF(0.3), X + 1e6, Y + 1e6)
    assert_allclose(far, gradients(RBF(0.3), X, Y), atol=1e-9)


@pytest.mark.parametrize("kernel", KINKED, ids=lambda k: type(k).__name__)
def test_kinks_are_refused_by_name(kernel):
    assert not has_gradient(kernel) and not has_gradient(2.0 * (kernel + Linear()))
    with pytest.raises(TypeError, match=r"has no gradient.*RBF.*sums, products"):
        refuse_kinks(Linear() * kernel)


def test_without_a_slope_there_is_no_gradient():
    @dataclass(repr=False)
    class Plain(VectorKernel):
        reads = "sqeuclidean"

        def profile(self, t, xp):
            return 1 / (1 + t)

    assert not has_gradient(Plain())
    check_kernel(Plain(), RNG.standard_normal((12, 2)))


def test_the_contract_notices_a_wrong_slope():
    @dataclass(repr=False)
    class Wrong(VectorKernel):
        reads = "sqeuclidean"

        def profile(self, t, xp):
            return 1 / (1 + t)

        def slope(self, t, xp):
            return -1 / (1 + t)

    assert has_gradient(Wrong())
    with pytest.raises(AssertionError, match="gradient against finite differences"):
        check_kernel(Wrong(), RNG.standard_normal((12, 2)))


def test_constant_kernels_do_not_move():
    assert not np.any(gradients(Constant(2.0), X, Y)) and gradients(Constant(2.0), X, Y).shape == (7, 5, 3)
