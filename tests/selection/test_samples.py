"""Reading samples and targets: what is taken as classes, and what is refused."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.kernels import RBF
from mercer.selection import alignment

RNG = np.random.default_rng(0)


X = RNG.standard_normal((60, 4))


LABELS = np.array(["a", "b", "c"])[RNG.integers(0, 3, 60)]


H = np.eye(60) - 1 / 60


def direct(K, T):
    n = len(K)
    H = np.eye(n) - 1 / n
    K, T = H @ K @ H, H @ T @ H
    return np.sum(K * T) / np.linalg.norm(K) / np.linalg.norm(T)


def same(y):
    return (y[:, None] == y[None, :]).astype(float)


def test_whole_numbers_are_classes_unless_told():
    y = RNG.integers(0, 4, 60)
    K = RBF(0.3)(X)
    assert_allclose(alignment(RBF(0.3), X, y), direct(K, same(y)))
    assert_allclose(alignment(RBF(0.3), X, y, target="numbers"), direct(K, np.outer(y, y).astype(float)))


def test_many_whole_numbers_are_numbers():
    y = np.arange(60) + 3.0
    assert_allclose(alignment(RBF(0.3), X, y), alignment(RBF(0.3), X, y, target="numbers"))
    assert alignment(RBF(0.3), X, y) != alignment(RBF(0.3), X, y, target="classes")
    assert_allclose(alignment(RBF(0.3), X, y > 30), alignment(RBF(0.3), X, y > 30, target="classes"))


@pytest.mark.parametrize(
    ("y", "options", "words"),
    [
        (np.zeros(60, dtype=int), {}, "only one class"),
        (np.full(60, 0.5), {"target": "numbers"}, "constant"),
        (np.arange(59), {}, "60 samples"),
        (np.full(60, np.nan), {}, "NaN"),
        (X[:, 0], {"balanced": True}, "balanced"),
        (LABELS, {"target": "labels"}, "Unknown target 'labels'"),
        (np.zeros((60, 2, 2)), {}, "shape"),
    ],
)
def test_bad_targets(y, options, words):
    with pytest.raises(ValueError, match=words):
        alignment("rbf", X, y, **options)


@pytest.mark.parametrize(
    ("rows", "words"),
    [(np.full((60, 2), np.nan), "NaN"), (np.empty((0, 2)), "0 sample"), (np.full((60, 2), 1e200), "overflows")],
)
def test_bad_rows(rows, words):
    with pytest.raises(ValueError, match=words):
        alignment("poly", rows, LABELS[: len(rows)])


def test_a_kernel_that_is_not_square_or_not_known():
    with pytest.raises(ValueError, match="square"):
        alignment("precomputed", X, LABELS)
    with pytest.raises(ValueError, match="Unknown kernel 'gauss'"):
        alignment("gauss", X, LABELS)
