"""F with F Fᵀ ≈ K: exact, at a rank, on new points, within its limits."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_wine
from sklearn.linear_model import LinearRegression, Ridge

from mercer import KernelCCA, KernelDiscriminantAnalysis, Kernelized, KernelMap, KernelPCA
from mercer.exceptions import IndefiniteKernelWarning, MemoryLimitError
from mercer.features import kernel_features, shortened
from mercer.kernels import RBF, AdditiveChi2, Linear, Precomputed, Sigmoid, Spectrum
from mercer.selection import alignment, hsic, leave_one_out

RNG = np.random.default_rng(5)
X, NEW = RNG.standard_normal((300, 4)), RNG.standard_normal((20, 4))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("rank", [None, "auto", 60])
def test_features_reproduce_the_kernel_within_their_error(rank, dtype):
    kernel = RBF(0.1)
    features = kernel_features(kernel, X.astype(dtype), rank=rank)
    F = features.F
    assert F.dtype == dtype
    assert np.trace(kernel(X) - F @ F.T) <= features.error * features.trace + 1e-4
    assert features.error < {None: 1e-3 if dtype == np.float32 else 1e-9, "auto": 2e-3, 60: 0.1}[rank]
    assert_allclose(features.expansion()(X.astype(dtype)), F, atol=2e-3 if dtype == np.float32 else 1e-7)
    cross = features.expansion()(NEW.astype(dtype)) @ F.T
    assert_allclose(cross, kernel(NEW, X), atol=10 * np.sqrt(features.error) + 1e-2 * (dtype == np.float32))


def test_weights_and_offset():
    features = kernel_features(RBF(0.1), X, rank=50)
    W, c = RNG.standard_normal((features.F.shape[1], 3)), RNG.standard_normal(3)
    assert_allclose(features.expansion(W, c)(NEW), features.expansion()(NEW) @ W - c, atol=1e-8)


def test_precomputed_and_strings():
    K = RBF(0.1)(X)
    given = kernel_features(Precomputed(), K, rank=None)
    assert_allclose(given.expansion()(K[:7]), given.F[:7], atol=1e-6)
    words = np.array(["banana", "bandana", "ananas", "cabana"], dtype=object)
    kernel = Spectrum().bind(words)
    F = kernel_features(kernel, words, rank=None).F
    assert_allclose(F @ F.T, kernel(words), atol=1e-8)


def test_a_rank_that_is_used_up_is_no_indefinite_kernel():
    """Rows of very different length in a few directions: the last pivots are near rounding, and no reason to warn."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((600, 120)) * 0.95 ** np.arange(120) * np.exp(2 * rng.standard_normal((600, 1)))
    with warnings.catch_warnings():
        warnings.simplefilter("error", IndefiniteKernelWarning)
        for seed in range(5):
            kernel_features(Linear().centered_form(rows), rows, rank=120, random_state=seed)
    K = RBF(0.1)(X) - 1e-8 * np.eye(300)
    K[0, 0] -= 1e-4
    with pytest.warns(IndefiniteKernelWarning, match="slightly"):
        kernel_features(Precomputed(), K, rank=None)


def test_what_cannot_be_factored_is_refused():
    with pytest.raises(ValueError, match="not positive semidefinite"):
        kernel_features(Sigmoid(gamma=1.0, coef0=-1.0), X, rank=None)
    with pytest.raises(ValueError, match="has nowhere"):
        kernel_features(AdditiveChi2(), np.abs(X), rank=20)
    with pytest.raises(MemoryLimitError, match="rank='auto'"):
        kernel_features(RBF(0.1), X, rank=None, memory_limit="1MB")
    with pytest.raises(ValueError, match="overflows"):
        kernel_features(Sigmoid(gamma=1.0), X * 1e200, rank=None)


def _halves(K):
    return (K + K.T) / 2


@pytest.mark.parametrize("K", [_halves(RBF(0.1)(X[:60])), X[:60] @ X[:60].T], ids=["full rank", "low rank"])
@pytest.mark.parametrize(
    "use",
    [
        lambda K, y: KernelMap("precomputed", rank=None).fit_transform(K),
        lambda K, y: KernelCCA(1, kernel="precomputed", reg=0.1, rank=None).fit_transform(K, K.copy())[0],
        lambda K, y: KernelDiscriminantAnalysis(kernel="precomputed").fit(K, y).predict(K),
        lambda K, y: leave_one_out("precomputed", K, y, rank=None).r2,
    ],
    ids=["map", "cca", "discriminant", "loo"],
)
def test_a_given_matrix_is_left_as_it_is(K, use):
    """Exactly symmetric, C-contiguous, float64: what LAPACK could factor in place without a copy."""
    K, before = K.copy(), K
    assert np.array_equal(K, K.T) and K.flags.c_contiguous
    y = np.sign(X[:60, 0])
    first = use(K, y)
    np.testing.assert_array_equal(K, before)
    np.testing.assert_array_equal(use(K, y), first)


def test_auto_holds_the_variance_wherever_the_origin_is():
    """Far from the origin nearly all of tr K is the mean, and a thousandth of it may be all of the variance."""
    rows = X[:60] + 50
    y = rows @ [1.0, 2.0, 3.0, 4.0]
    plain = Ridge(1e-3).fit(rows, y).score(rows, y)
    assert_allclose(Kernelized(Ridge(1e-3), "linear").fit(rows, y).score(rows, y), plain, rtol=1e-6)
    assert_allclose(leave_one_out("linear", rows, y, rank="auto").r2, leave_one_out("linear", rows, y).r2, rtol=1e-6)
    assert_allclose(alignment("linear", rows, y, rank="auto"), alignment("linear", rows, y), rtol=1e-6)
    far = kernel_features(Precomputed(), rows @ rows.T, rank="auto")
    variance = np.sum((rows - rows.mean(axis=0)) ** 2)
    assert far.factor.error <= 2e-3 * variance < 1e-3 * far.trace


def test_auto_keeps_columns_of_small_scale():
    rows, y = load_wine(return_X_y=True)  # one column has nearly all of the variance
    plain = LinearRegression().fit(rows, y).score(rows, y)
    assert_allclose(Kernelized(LinearRegression(), "linear").fit(rows, y).score(rows, y), plain, rtol=1e-6)


@pytest.mark.parametrize(
    "use",
    [
        lambda K, new, y: KernelMap("precomputed", rank=20).fit(K).transform(new),
        lambda K, new, y: KernelMap("precomputed", rank=None).fit(K).transform(new),
        lambda K, new, y: KernelCCA(1, kernel="precomputed", reg=0.1).fit(K, K).transform(new),
        lambda K, new, y: KernelDiscriminantAnalysis(kernel="precomputed").fit(K, y).transform(new),
        lambda K, new, y: KernelDiscriminantAnalysis(kernel="precomputed", rank=20).fit(K, y).transform(new),
        lambda K, new, y: KernelPCA(3, kernel="precomputed", eigen_solver="rpcholesky").fit(K).transform(new),
        lambda K, new, y: leave_one_out("precomputed", K, y).r2,
        lambda K, new, y: alignment("precomputed", K, y, rank=20),
        lambda K, new, y: hsic("precomputed", K, "precomputed", K, rank=20).value,
    ],
    ids=["map", "whole map", "cca", "discriminant", "discriminant at a rank", "pca", "loo", "alignment", "hsic"],
)
def test_a_sparse_precomputed_matrix_is_the_same_matrix(use):
    K, y = RBF(2.0)(X[:60]), np.sign(X[:60, 0])
    K[K < 1e-9] = 0.0
    for form in (sp.csr_matrix, sp.csr_array):
        np.testing.assert_allclose(use(form(K), form(K[:7]), y), use(K, K[:7], y), atol=1e-10)


@pytest.mark.parametrize("gamma", [1e-3, 0.1, 10.0])
@pytest.mark.parametrize("n", [300, 1100])  # below and above the size up to which the whole matrix is factored
def test_auto_holds_all_but_a_thousandth_of_the_variance_in_few_columns(n, gamma):
    X = np.random.default_rng(0).standard_normal((n, 3))
    kernel = RBF(gamma)
    found = kernel_features(kernel, X, rank="auto")
    K = kernel(X)
    H = np.eye(n) - 1 / n
    left = np.trace(K) - np.sum(found.F**2)
    assert found.F.shape[1] >= 3 and -1e-8 <= left <= found.factor.error
    assert left <= 1.001e-3 * np.trace(H @ K @ H) + 1e-8 * n
    assert np.linalg.norm(K - found.F @ found.F.T, 2) <= found.factor.error
    assert_allclose(found.expansion()(X), found.F, atol=1e-6)


def test_a_shortened_factor_is_the_first_columns_that_suffice():
    X = np.random.default_rng(0).standard_normal((200, 4))
    whole = kernel_features(RBF(0.05), X, rank=None).factor
    rough, fine = (shortened(whole, 200.0, tol, 0) for tol in (0.1, 1e-4))
    assert 0 < rough.F.shape[1] < fine.F.shape[1] < whole.F.shape[1]
    assert_array_equal(rough.F, whole.F[:, : rough.F.shape[1]])
    assert shortened(whole, 200.0, 0.1, 50).F.shape[1] == 50
    assert shortened(whole, 200.0, 0.0, 0) is whole
