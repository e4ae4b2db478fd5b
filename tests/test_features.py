"""F with F Fᵀ ≈ K: exact, at a rank, on new points, within its limits."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.exceptions import IndefiniteKernelWarning, MemoryLimitError
from mercer.features import kernel_features
from mercer.kernels import RBF, AdditiveChi2, Linear, Precomputed, Sigmoid, Spectrum

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
