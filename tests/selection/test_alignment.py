"""Centred kernel-target alignment against the definition, streamed and on factors."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.datasets import make_circles, make_classification

from mercer.exceptions import DegenerateDataWarning
from mercer.kernels import RBF, Laplacian, Linear, Polynomial, Spectrum
from mercer.selection import alignment

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 4))
LABELS = np.array(["a", "b", "c"])[RNG.integers(0, 3, 60)]
H = np.eye(60) - 1 / 60
WORDS = ["banana", "bandana", "cabana", "kernel", "colonel", "channel"]


def direct(K, T):
    n = len(K)
    H = np.eye(n) - 1 / n
    K, T = H @ K @ H, H @ T @ H
    return np.sum(K * T) / np.linalg.norm(K) / np.linalg.norm(T)


def same(y):
    return (y[:, None] == y[None, :]).astype(float)


@pytest.mark.parametrize("kernel", [Linear(), RBF(0.3), Polynomial(2), Laplacian("median")], ids=repr)
def test_classes_numbers_and_many_outputs(kernel):
    K = kernel(X)
    y = X[:, 0] ** 2 + 0.1
    assert_allclose(alignment(kernel, X, LABELS), direct(K, same(LABELS)), rtol=1e-10)
    assert_allclose(alignment(kernel, X, y), direct(K, np.outer(y, y)), rtol=1e-10)
    assert_allclose(alignment(kernel, X, X[:, :2]), direct(K, X[:, :2] @ X[:, :2].T), rtol=1e-10)
    sizes = np.array([np.sum(label == LABELS) for label in LABELS])
    assert_allclose(alignment(kernel, X, LABELS, balanced=True), direct(K, same(LABELS) / sizes), rtol=1e-10)


@pytest.mark.parametrize("kernel", [Linear(), RBF(0.05), Polynomial(2)], ids=repr)
def test_a_factor_of_full_rank_is_exact(kernel):
    assert_allclose(alignment(kernel, X, LABELS, rank=60), alignment(kernel, X, LABELS), rtol=1e-6)
    assert_allclose(alignment(kernel, X, LABELS, rank="auto"), alignment(kernel, X, LABELS), atol=2e-3)


def test_one_for_the_target_itself():
    y = X @ RNG.standard_normal((4, 1))
    assert_allclose(alignment("linear", y, y[:, 0]), 1)
    assert_allclose(alignment("precomputed", same(LABELS), LABELS), 1)


@given(st.floats(1e-4, 1e4), st.integers(0, 30))
def test_between_zero_and_one_whatever_scale_and_order(scale, seed):
    rng = np.random.default_rng(seed)
    order = rng.permutation(60)
    value = alignment(RBF(0.3), X, LABELS)
    assert 0 <= value <= 1
    assert_allclose(alignment(scale * RBF(0.3) + 2.0, X[order], LABELS[order]), value, rtol=1e-8)


def test_rings_are_aligned_with_a_gaussian():
    rings, y = make_circles(200, factor=0.4, noise=0.05, random_state=0)
    assert alignment(RBF(3.0), rings, y) > 0.3 > 0.01 > alignment(Linear(), rings, y)


def test_small_classes_count_when_balanced():
    rows, y = make_classification(200, 5, weights=[0.95], n_informative=2, random_state=1)
    assert alignment("linear", rows, y) != alignment("linear", rows, y, balanced=True)
    even = np.repeat([0, 1], 100)  # of equal sizes, both are the same
    assert_allclose(alignment("linear", rows, even), alignment("linear", rows, even, balanced=True))


def test_other_kinds_of_samples():
    y = [0, 0, 0, 1, 1, 1]
    assert_allclose(alignment("spectrum", WORDS, y), direct(Spectrum()(WORDS), same(np.array(y))))
    rows = np.where(np.abs(X) > 0.7, X, 0.0)
    for kernel in (Linear(), RBF(0.3)):
        assert_allclose(alignment(kernel, sp.csr_array(rows), LABELS), alignment(kernel, rows, LABELS))
        assert_allclose(alignment(kernel, X.astype(np.float32), LABELS), alignment(kernel, X, LABELS), rtol=1e-5)
    strict = pytest.importorskip("array_api_strict")
    assert_allclose(alignment(RBF(0.3), strict.asarray(X), LABELS), alignment(RBF(0.3), X, LABELS))


def test_constant_rows_align_with_nothing():
    with pytest.warns(DegenerateDataWarning, match="does not vary"):
        assert alignment("linear", np.ones((6, 2)), [0, 1, 0, 1, 0, 1]) == 0.0
