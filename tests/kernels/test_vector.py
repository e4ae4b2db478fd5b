"""Each vector kernel is its formula, scikit-learn's where that has it, and refuses what it cannot be."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import gamma as gamma_function
from scipy.special import kv
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS, pairwise_kernels

from mercer.kernels import (
    RBF,
    ArcCosine,
    Chi2,
    Cosine,
    Hamming,
    Intersection,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    RationalQuadratic,
    Tanimoto,
    resolve_kernel,
)

RNG = np.random.default_rng(1)
X, Y = np.abs(RNG.standard_normal((12, 4))), np.abs(RNG.standard_normal((7, 4)))
SIGNED = RNG.standard_normal((12, 4))
GAMMA_FREE = {"linear", "cosine", "additive_chi2"}


@pytest.mark.parametrize("name", sorted(PAIRWISE_KERNEL_FUNCTIONS))
@pytest.mark.parametrize("gamma", [None, 0.37])
def test_scikit_learns_kernels(name, gamma):
    parameters = {} if name in GAMMA_FREE or gamma is None else {"gamma": gamma}
    ours = resolve_kernel(name, gamma)
    np.testing.assert_allclose(ours(X, Y), pairwise_kernels(X, Y, metric=name, **parameters), rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(ours(X), pairwise_kernels(X, metric=name, **parameters), rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("name", ["poly", "sigmoid"])
def test_degree_and_coef0_reach_named_kernels(name):
    parameters = {"gamma": 0.2, "coef0": 0.5} | ({"degree": 2} if name == "poly" else {})
    expected = pairwise_kernels(SIGNED, metric=name, **parameters)
    np.testing.assert_allclose(resolve_kernel(name, 0.2, 2, 0.5)(SIGNED), expected, rtol=1e-12)


def pairs(function, A, B):
    return np.array([[function(a, b) for b in B] for a in A])


def angle(a, b):
    return np.arccos(np.clip(a @ b / np.linalg.norm(a) / np.linalg.norm(b), -1, 1))


def bessel(a, b, nu=0.8, length=1.5):
    s = np.sqrt(2 * nu) * np.linalg.norm(a - b) / length
    return 2 ** (1 - nu) / gamma_function(nu) * s**nu * kv(nu, s)


FORMULAS = {
    "matern 1/2": (Matern(0.5, 1.5), lambda a, b: np.exp(-np.linalg.norm(a - b) / 1.5)),
    "matern 3/2": (Matern(1.5, 1.5), lambda a, b: bessel(a, b, nu=1.5)),
    "matern 5/2": (Matern(2.5, 1.5), lambda a, b: bessel(a, b, nu=2.5)),
    "matern any": (Matern(0.8, 1.5), bessel),
    "matern inf": (Matern(np.inf, 1.5), lambda a, b: np.exp(-((a - b) ** 2).sum() / 2 / 1.5**2)),
    "quadratic": (RationalQuadratic(1.5, 0.7), lambda a, b: (1 + ((a - b) ** 2).sum() / (1.4 * 1.5**2)) ** -0.7),
    "arc 0": (ArcCosine(0), lambda a, b: 1 - angle(a, b) / np.pi),
    "arc 1": (
        ArcCosine(1),
        lambda a, b: (
            np.linalg.norm(a)
            * np.linalg.norm(b)
            * (np.sin(angle(a, b)) + (np.pi - angle(a, b)) * np.cos(angle(a, b)))
            / np.pi
        ),
    ),
    "intersection": (Intersection(), lambda a, b: np.minimum(a, b).sum()),
    "tanimoto": (Tanimoto(), lambda a, b: a @ b / (a @ a + b @ b - a @ b)),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_formulas(name):
    kernel, formula = FORMULAS[name]
    np.testing.assert_allclose(kernel(X, Y), pairs(formula, X, Y), rtol=1e-10)


@pytest.mark.parametrize("order", [0, 1, 2])
def test_arc_cosine_is_an_average_over_random_ramps(order):
    """2 E[(wᵀx)₊ⁿ (wᵀy)₊ⁿ] over normal w, the definition behind the closed form."""
    W = np.random.default_rng(0).standard_normal((200_000, 2))
    A = np.array([[1.0, 0.5], [-0.3, 1.2]])
    features = np.where(A @ W.T > 0, (A @ W.T) ** order, 0.0)
    estimate = 2 * features @ features.T / W.shape[0]
    np.testing.assert_allclose(ArcCosine(order)(A), estimate, rtol=0.05)


def test_hamming_counts_equal_coordinates():
    np.testing.assert_allclose(Hamming()([[1.0, 2, 3], [1, 5, 3]]), [[1, 2 / 3], [2 / 3, 1]])


@pytest.mark.parametrize(("degree", "coef0"), [(1, 0.0), (2, 0.0), (3, 0.0), (2, 1.0), (3, 0.7)])
def test_explicit_feature_map(degree, coef0):
    kernel = Polynomial(degree, gamma=0.6, coef0=coef0)
    Phi, Psi = kernel.feature_map(SIGNED), kernel.feature_map(Y)
    np.testing.assert_allclose(Phi @ Phi.T, kernel(SIGNED), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(Phi @ Psi.T, kernel(SIGNED, Y), rtol=1e-10, atol=1e-12)
    width = {(1, 0.0): 4, (2, 0.0): 10, (3, 0.0): 20, (2, 1.0): 15, (3, 0.7): 35}[degree, coef0]
    assert Phi.shape == (12, width)


@pytest.mark.parametrize("kernel", [Polynomial(2.5), Polynomial(2, coef0=-1.0), Polynomial(0)], ids=repr)
def test_no_explicit_feature_map(kernel):
    with pytest.raises(ValueError, match="explicit map"):
        kernel.feature_map(SIGNED)


def test_feature_map_too_wide_for_memory():
    with pytest.raises(ValueError, match="columns"):
        Polynomial(9).feature_map(np.ones((1000, 60)))


@pytest.mark.parametrize(
    ("kernel", "match"),
    [
        (RBF(gamma=-1.0), "gamma"),
        (RBF(gamma=float("nan")), "gamma"),
        (RBF(gamma=float("inf")), "gamma"),
        (RBF(gamma="mean"), "gamma"),
        (Laplacian(gamma=-0.1), "gamma"),
        (Matern(nu=-1.0), "nu"),
        (Matern(length_scale=0.0), "length_scale"),
        (Matern(length_scale="mean"), "length_scale"),
        (RationalQuadratic(alpha=0.0), "alpha"),
        (RationalQuadratic(length_scale=float("inf")), "length_scale"),
        (ArcCosine(order=3), "order"),
        (Chi2(), "≥ 0"),
        (Intersection(), "≥ 0"),
    ],
    ids=repr,
)
def test_bad_parameters_and_data(kernel, match):
    with pytest.raises(ValueError, match=match):
        kernel(SIGNED)


@pytest.mark.parametrize("kernel", [Cosine(), Tanimoto(), ArcCosine(0), ArcCosine(1)], ids=repr)
def test_zero_rows_give_numbers(kernel):
    K = kernel(np.array([[0.0, 0.0], [1.0, 2.0], [0.0, 0.0]]))
    assert np.all(np.isfinite(K))
    np.testing.assert_allclose(K, K.T)


@pytest.mark.parametrize("kernel", [RBF(gamma=1.0), Matern(), Matern(0.7), RationalQuadratic(), Laplacian()], ids=repr)
@pytest.mark.parametrize("scale", [1e-200, 1e-20, 1e20, 1e200])
def test_extreme_scales_give_numbers(kernel, scale):
    K = kernel(scale * SIGNED)
    assert np.all(np.isfinite(K))
    np.testing.assert_allclose(np.diag(K), 1.0, rtol=1e-12)
    np.testing.assert_allclose(K[0, 1], 1.0 if scale < 1 else 0.0, atol=1e-6)


@pytest.mark.parametrize("kernel", [RBF(gamma=5.0), Matern(), RationalQuadratic()], ids=repr)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_two_tight_clusters_far_apart(kernel, dtype):
    """Distances inside a cluster survive a spread a million times theirs."""
    inside = np.array([[0.0, 0.0], [0.5, 0.0], [0.0, 0.25]])
    both = np.concatenate([inside, inside + 2.0**18]).astype(dtype)
    K = kernel(both)
    np.testing.assert_allclose(K[:3, :3], kernel(inside), rtol=1e-4)
    np.testing.assert_allclose(K[3:, 3:], kernel(inside), rtol=1e-4)


@pytest.mark.parametrize("kernel", [Linear(), RBF(), Cosine(), Laplacian(), Chi2(), Matern()], ids=repr)
def test_csr_matrix_and_array(kernel):
    sparse = np.where(X > 0.7, X, 0.0)
    for kind in (sp.csr_matrix, sp.csr_array, sp.coo_array):
        np.testing.assert_allclose(kernel(kind(sparse)), kernel(sparse), rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(kernel(kind(sparse), kind(Y)), kernel(sparse, Y), rtol=1e-10, atol=1e-12)


@given(
    seed=st.integers(0, 10**6),
    shift=st.floats(-100, 100),
    kernel=st.sampled_from([RBF(gamma=0.5), Matern(2.5), Laplacian(0.5), RationalQuadratic()]),
)
def test_shift_invariance(seed, shift, kernel):
    A = np.random.default_rng(seed).standard_normal((6, 3))
    np.testing.assert_allclose(kernel(A + shift), kernel(A), atol=1e-10)


@given(seed=st.integers(0, 10**6), kernel=st.sampled_from([RBF(gamma=0.5), Linear(), Cosine(), ArcCosine(1), Matern()]))
def test_rotation_invariance(seed, kernel):
    rng = np.random.default_rng(seed)
    A, Q = rng.standard_normal((6, 3)), np.linalg.qr(rng.standard_normal((3, 3)))[0]
    np.testing.assert_allclose(kernel(A @ Q), kernel(A), atol=1e-10)
