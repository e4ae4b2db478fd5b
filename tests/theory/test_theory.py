"""The theory, executed: each equation of docs/theory/kernel_pca.md on numbers."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from threadpoolctl import threadpool_limits

from mercer import PCA, KernelPCA
from mercer.kernels import RBF, FunctionKernel, Intersection, Polynomial
from mercer.linalg.eigen import top_eigenpairs
from mercer.linalg.gram import Gram

RNG = np.random.default_rng(0)
X, NEW = RNG.standard_normal((40, 3)), RNG.standard_normal((7, 3))


def same_up_to_signs(A, B, **tolerance):
    assert_allclose(A * np.sign((A * B).sum(axis=0)), B, **tolerance)


# --- 1. PCA in feature space ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("degree", "coef0"), [(2, 0.0), (2, 1.0), (3, 0.5)])
def test_kernel_pca_is_pca_of_the_explicit_features(degree, coef0):
    kernel = Polynomial(degree, gamma=1.0, coef0=coef0)
    ours = KernelPCA(4, kernel=kernel).fit(X)
    plain = PCA(4, svd_solver="full").fit(kernel.feature_map(X))
    same_up_to_signs(ours.transform(NEW), plain.transform(kernel.feature_map(NEW)), rtol=1e-6, atol=1e-8)
    assert_allclose(ours.explained_variance_ratio_, plain.explained_variance_ratio_, rtol=1e-9)
    assert_allclose(ours.explained_variance_ * 40 / 39, plain.explained_variance_, rtol=1e-9)  # 1/n against 1/(n − 1)


def test_linear_kernel_pca_is_pca():
    ours, plain = KernelPCA(3).fit(X), PCA(3).fit(X)
    same_up_to_signs(ours.transform(NEW), plain.transform(NEW), rtol=1e-8, atol=1e-10)


# --- 2. covariance and Gram matrix have one spectrum ----------------------------------------------------------


@given(seed=st.integers(0, 10**6), n=st.integers(2, 12), d=st.integers(1, 12))
def test_covariance_and_gram_spectra_coincide(seed, n, d):
    """TT* and T*T: the nonzero eigenvalues of ΦᵀΦ/n and ΦΦᵀ/n are the same, with their multiplicities."""
    Phi = np.random.default_rng(seed).standard_normal((n, d))
    Phi = Phi - Phi.mean(axis=0)
    covariance, gram = np.linalg.eigvalsh(Phi.T @ Phi / n)[::-1], np.linalg.eigvalsh(Phi @ Phi.T / n)[::-1]
    both = min(n, d)
    assert_allclose(covariance[:both], gram[:both], atol=1e-12)
    assert_allclose(np.concatenate([covariance[both:], gram[both:]]), 0, atol=1e-12)


def test_eigenvectors_map_onto_each_other():
    """w = Φᵀα with α = e/√γ is a unit eigenvector of the covariance, and Φw = e√γ."""
    kernel = Polynomial(2, gamma=1.0, coef0=1.0)
    Phi = kernel.feature_map(X)
    Phi = Phi - Phi.mean(axis=0)
    model = KernelPCA(3, kernel=kernel).fit(X)
    alpha = model.eigenvectors_ / np.sqrt(model.eigenvalues_)
    W = Phi.T @ alpha
    assert_allclose(W.T @ W, np.eye(3), atol=1e-9)
    assert_allclose(Phi.T @ (Phi @ W) / 40, W * model.explained_variance_, atol=1e-8)
    assert_allclose(Phi @ W, model.fit_transform(X), atol=1e-8)


# --- 3. centring ----------------------------------------------------------------------------------------------


def test_centring():
    """K − 1K − K1 + 1K1, every entry of 1 being 1/n, is HKH, and the Gram matrix of centred features."""
    kernel = Polynomial(2, gamma=1.0, coef0=1.0)
    K, Phi = kernel(X), kernel.feature_map(X)
    ones = np.full((40, 40), 1 / 40)
    H = np.eye(40) - ones
    four_terms = K - ones @ K - K @ ones + ones @ K @ ones
    Phi = Phi - Phi.mean(axis=0)
    assert_allclose(four_terms, H @ K @ H, atol=1e-10)
    assert_allclose(four_terms, Phi @ Phi.T, atol=1e-9)


# --- 4. normalisation and the offset --------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [RBF(gamma=0.3), Polynomial(3, 0.5)], ids=repr)
def test_normalisation_and_offset(kernel):
    model = KernelPCA(4, kernel=kernel).fit(X)
    K = kernel(X)
    H = np.eye(40) - 1 / 40
    alpha, c = model.expansion_.coefs, model.expansion_.offset
    assert_allclose(alpha, model.eigenvectors_ / np.sqrt(model.eigenvalues_), rtol=1e-12, atol=1e-12)
    assert_allclose(alpha.T @ H @ K @ H @ alpha, np.eye(4), atol=1e-9)  # ‖wᵢ‖ = 1, and wᵢ ⟂ wⱼ
    assert_allclose(np.linalg.norm(alpha, axis=0), 1 / np.sqrt(model.eigenvalues_), rtol=1e-10)
    assert_allclose(alpha.sum(axis=0), 0, atol=1e-9)  # e ⟂ 1: nothing of the row means of a test kernel is left
    assert_allclose(c, alpha.T @ K.sum(axis=1) / 40, rtol=1e-9, atol=1e-12)
    assert_allclose(model.transform(NEW), kernel(NEW, X) @ alpha - c, atol=1e-10)


def test_the_score_of_a_sample_differs_from_the_eigenvectors_by_the_residual():
    """(12) and (13), for vectors that are far from eigenvectors: one power iteration on a random block."""
    model = KernelPCA(3, kernel="rbf", gamma=0.3, eigen_solver="randomized", iterated_power=0).fit(X)
    e, gamma = model.eigenvectors_, model.eigenvalues_
    H = np.eye(40) - 1 / 40
    r = H @ RBF(gamma=0.3)(X) @ H @ e - e * gamma
    assert_allclose(np.linalg.norm(r, axis=0), model.residuals_, rtol=1e-6, atol=1e-12)
    apart = model.transform(X) - e * np.sqrt(gamma)
    assert_allclose(apart, r / np.sqrt(gamma), atol=1e-12)
    assert np.all(np.abs(apart).max(axis=0) <= model.transform_error_)


def test_scores_have_the_variance_of_their_eigenvalue_and_no_correlation():
    model = KernelPCA(4, kernel="rbf", gamma=0.3)
    Z = model.fit_transform(X)
    assert_allclose(Z.mean(axis=0), 0, atol=1e-12)
    assert_allclose(Z.T @ Z / 40, np.diag(model.explained_variance_), atol=1e-10)


def test_the_trace_is_the_total_variance():
    """tr HKH = Σ k(x, x) − 1ᵀK1/n = Σ‖φ(x) − mean‖², with one pass and few components."""
    kernel = Polynomial(2, gamma=1.0, coef0=1.0)
    K, Phi = kernel(X), kernel.feature_map(X)
    total = KernelPCA(1, kernel=kernel).fit(X).total_variance_
    assert_allclose(total, (np.trace(K) - K.sum() / 40) / 40, rtol=1e-12)
    assert_allclose(total, ((Phi - Phi.mean(axis=0)) ** 2).sum() / 40, rtol=1e-10)


# --- 5. the integral operator ----------------------------------------------------------------------------------


def brownian(i):
    """The eigenvalues of (Gf)(t) = ∫₀¹ min(s, t) f(s) ds."""
    return 1 / ((i - 0.5) ** 2 * math.pi**2)


@pytest.mark.parametrize("kernel", [Intersection(), FunctionKernel(lambda A, B: np.minimum(A, B.T), "matrices")])
def test_the_gram_spectrum_converges_to_the_integral_operators(kernel):
    """k(s, t) = min(s, t) on a grid of n midpoints of [0, 1]: γᵢ/n → 1/((i − ½)²π²), the error falling as 1/n²."""
    exact = brownian(np.arange(1, 5))
    errors = []
    for n in (25, 50, 100, 200):
        points = (np.arange(n) + 0.5)[:, None] / n
        values = top_eigenpairs(Gram(kernel, points), 4).values / n
        errors.append(np.abs(values - exact).max())
    ratios = np.array(errors[1:]) / np.array(errors[:-1])
    assert errors[-1] < 1e-4 and np.all(ratios < 0.3)


@threadpool_limits.wrap(limits=1)  # many small problems
def test_uniform_samples_converge_as_well():
    """Drawn at random the error falls as 1/√n, on average over draws."""
    exact = brownian(np.arange(1, 4))
    errors = {}
    for n in (20, 320):
        draws = [np.random.default_rng(seed).uniform(size=(n, 1)) for seed in range(16)]
        spectra = np.array([np.linalg.eigvalsh(Intersection()(points))[::-1][:3] / n for points in draws])
        errors[n] = np.sqrt(((spectra - exact) ** 2).mean(axis=0))
    assert np.all(errors[320] < 0.5 * errors[20])


def test_eigenvectors_converge_to_eigenfunctions():
    """√n e → √2 sin((i − ½)πt)."""
    n = 400
    t = (np.arange(n) + 0.5) / n
    vectors = top_eigenpairs(Gram(Intersection(), t[:, None]), 3).vectors
    functions = math.sqrt(2) * np.sin(np.outer(t, (np.arange(1, 4) - 0.5) * math.pi))
    same_up_to_signs(math.sqrt(n) * vectors, functions, atol=1e-3)


# --- 6. where notes slip ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("p", [2, 3, 5])
def test_the_feature_map_needs_the_root_of_the_binomial_coefficient(p):
    x, y = RNG.standard_normal(2), RNG.standard_normal(2)
    powers = np.arange(p + 1)
    binomial = np.array([math.comb(p, i) for i in powers])
    right, slip = (
        [weight * z[0] ** (p - powers) * z[1] ** powers for z in (x, y)] for weight in (np.sqrt(binomial), binomial)
    )
    assert_allclose(right[0] @ right[1], (x @ y) ** p, rtol=1e-10)
    assert abs(slip[0] @ slip[1] - (x @ y) ** p) > 1e-3 * abs((x @ y) ** p)
    assert_allclose(np.sort(np.abs(right[0])), np.sort(np.abs(Polynomial(p, 1.0, 0.0).feature_map(x[None])[0])))


def test_alpha_is_the_eigenvector_divided_by_the_root_not_by_its_inverse():
    model = KernelPCA(1, kernel="rbf", gamma=0.3).fit(X)
    H = np.eye(40) - 1 / 40
    K = H @ RBF(gamma=0.3)(X) @ H
    e, gamma = model.eigenvectors_[:, 0], model.eigenvalues_[0]
    right, slip = e / np.sqrt(gamma), e / (1 / np.sqrt(gamma))
    assert_allclose(right @ K @ right, 1.0, rtol=1e-10)
    assert_allclose(slip @ K @ slip, gamma**2, rtol=1e-10)
