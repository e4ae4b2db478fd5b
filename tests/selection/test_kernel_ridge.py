"""Leave-one-out error in closed form against fits that leave one out."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.datasets import make_circles
from sklearn.kernel_ridge import KernelRidge

from mercer.exceptions import MemoryLimitError
from mercer.kernels import RBF, Linear, Polynomial, Spectrum
from mercer.selection import leave_one_out
from mercer.selection.kernel_ridge import PENALTIES

RNG = np.random.default_rng(0)
X = RNG.standard_normal((35, 3))
LABELS = np.array(["a", "b", "c"])[RNG.integers(0, 3, 35)]
NUMBERS = np.sin(2 * X[:, 0]) + 0.1 * RNG.standard_normal(35)


def top_eigenvalue(K):
    n = len(K)
    H = np.eye(n) - 1 / n
    return np.linalg.eigvalsh(H @ K @ H)[-1]


def predictions_by_refitting(K, Y, penalty):
    """Ridge regression with a free intercept, fitted n times, each without one sample."""
    n, out = len(K), np.empty_like(Y)
    for i in range(n):
        rest = np.delete(np.arange(n), i)
        mean = Y[rest].mean(axis=0)
        H = np.eye(n - 1) - 1 / (n - 1)
        inside = K[np.ix_(rest, rest)]
        dual = np.linalg.solve(H @ inside @ H + penalty * np.eye(n - 1), Y[rest] - mean)
        row = K[i, rest] - inside.mean(axis=0)
        out[i] = mean + (row - row.mean()) @ dual
    return out


@pytest.mark.parametrize("kernel", [Linear(), RBF(0.3), Polynomial(2)], ids=repr)
@pytest.mark.parametrize("relative", [1e-3, 1e-1, 10.0])
def test_numbers_against_refits(kernel, relative):
    K, Y = kernel(X), NUMBERS[:, None]
    penalty = relative * top_eigenvalue(K)
    found = leave_one_out(kernel, X, NUMBERS, penalties=[relative])
    missed = Y - predictions_by_refitting(K, Y, penalty)
    others = np.array([np.delete(NUMBERS, i).mean() for i in range(35)])
    assert_allclose(found.penalty, penalty)
    assert_allclose(found.r2, 1 - np.sum(missed**2) / np.sum((NUMBERS - others) ** 2), atol=1e-6)
    assert found.error_rate is None


def test_classes_against_refits():
    K, Y = RBF(0.3)(X), (LABELS[:, None] == np.array(["a", "b", "c"])).astype(float)
    out = predictions_by_refitting(K, Y, 0.01 * top_eigenvalue(K))
    found = leave_one_out(RBF(0.3), X, LABELS, penalties=[0.01])
    assert found.error_rate == np.mean(np.array(["a", "b", "c"])[out.argmax(axis=1)] != LABELS)
    losses = np.sum((Y - out) ** 2, axis=1)
    baseline = np.mean([np.sum((Y[i] - np.delete(Y, i, axis=0).mean(axis=0)) ** 2) for i in range(35)])
    assert_allclose(found.r2, 1 - losses.mean() / baseline, atol=1e-6)
    assert_allclose(found.standard_error, losses.std(ddof=1) / np.sqrt(35) / baseline, rtol=1e-4)


def test_the_best_penalty_is_taken():
    every = [leave_one_out(RBF(0.3), X, NUMBERS, penalties=[p]).r2 for p in PENALTIES]
    best = leave_one_out(RBF(0.3), X, NUMBERS)
    assert best.r2 == max(every)
    assert_allclose(best.penalty, PENALTIES[np.argmax(every)] * top_eigenvalue(RBF(0.3)(X)))


def test_many_outputs():
    Y = np.column_stack([NUMBERS, X[:, 1]])
    found = leave_one_out(RBF(0.3), X, Y, penalties=[0.01])
    out = predictions_by_refitting(RBF(0.3)(X), Y, 0.01 * top_eigenvalue(RBF(0.3)(X)))
    baseline = np.sum((Y - Y.mean(axis=0)) ** 2) * (35 / 34) ** 2
    assert_allclose(found.r2, 1 - np.sum((Y - out) ** 2) / baseline, atol=1e-6)


def test_it_is_honest_about_new_samples():
    rng = np.random.default_rng(7)
    rows = rng.uniform(-2, 2, (150, 1))
    y = np.sin(3 * rows[:, 0]) + 0.2 * rng.standard_normal(150)
    found = leave_one_out(RBF(2.0), rows, y)
    new = rng.uniform(-2, 2, (3000, 1))
    truth = np.sin(3 * new[:, 0]) + 0.2 * rng.standard_normal(3000)
    ridge = KernelRidge(kernel="rbf", gamma=2.0, alpha=found.penalty).fit(rows, y - y.mean())
    error = np.mean((ridge.predict(new) + y.mean() - truth) ** 2) / truth.var()
    assert abs(1 - found.r2 - error) < 3 * found.standard_error + 0.02


def test_noise_is_not_learned():
    found = leave_one_out(RBF("median"), X, RNG.standard_normal(35))
    assert found.r2 < 0.2


def test_rings():
    rings, y = make_circles(150, factor=0.4, noise=0.05, random_state=0)
    assert leave_one_out(RBF("median"), rings, y).error_rate == 0
    assert leave_one_out(Linear(), rings, y).error_rate > 0.4


@given(st.floats(1e-3, 1e3), st.integers(0, 20))
def test_scale_and_order_do_not_matter(scale, seed):
    order = np.random.default_rng(seed).permutation(35)
    one = leave_one_out(RBF(0.3), X, NUMBERS)
    other = leave_one_out(scale * RBF(0.3), X[order], 7 * NUMBERS[order] + 3)
    assert_allclose([other.r2, other.standard_error], [one.r2, one.standard_error], atol=1e-6)


def test_rank():
    exact = leave_one_out(RBF(0.05), X, NUMBERS)
    assert_allclose(leave_one_out(RBF(0.05), X, NUMBERS, rank=35).r2, exact.r2, atol=1e-4)
    assert leave_one_out(RBF(0.05), X, NUMBERS, rank=2).r2 < exact.r2


def test_other_kinds_of_samples():
    words = ["banana", "bandana", "cabana", "kernel", "colonel", "channel"]
    y = [0, 0, 0, 1, 1, 1]
    by_kernel = leave_one_out("spectrum", words, y)
    assert_allclose(leave_one_out("precomputed", Spectrum()(words), y).r2, by_kernel.r2, atol=1e-9)
    assert_allclose(leave_one_out(RBF(0.3), sp.csr_array(X), LABELS).r2, leave_one_out(RBF(0.3), X, LABELS).r2)
    single = leave_one_out(RBF(0.3), X.astype(np.float32), NUMBERS)
    assert_allclose(single.r2, leave_one_out(RBF(0.3), X, NUMBERS).r2, atol=1e-2)


def test_constant_rows_predict_the_mean():
    found = leave_one_out(RBF(1.0), np.ones((10, 2)), np.arange(10.0) + 0.5, target="numbers")
    assert_allclose(found.r2, 0, atol=1e-12)


@pytest.mark.parametrize("penalties", [[], [0.0], [-1.0], [np.nan], [np.inf]])
def test_bad_penalties(penalties):
    with pytest.raises(ValueError, match="penalties"):
        leave_one_out("rbf", X, NUMBERS, penalties=penalties)


def test_bad_input():
    with pytest.raises(ValueError, match="at least 3"):
        leave_one_out("rbf", X[:2], NUMBERS[:2])
    with pytest.raises(ValueError, match="one class"):
        leave_one_out("rbf", X, ["a"] * 35)
    with pytest.raises(ValueError, match="not positive semidefinite"):
        leave_one_out("sigmoid", 3 * X, NUMBERS)
    with pytest.raises(MemoryLimitError):
        leave_one_out("rbf", X, NUMBERS, memory_limit=1000)
