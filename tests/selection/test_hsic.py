"""HSIC: both estimators against their definitions, the null by enumeration, and a test that keeps its level."""

from itertools import permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.exceptions import MemoryLimitError
from mercer.kernels import RBF, Linear, Polynomial, Spectrum
from mercer.linalg.inner import operator_products
from mercer.linalg.operators import Dense
from mercer.selection import hsic
from mercer.selection.hsic import permutation_moments

RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((40, 3)), RNG.standard_normal((40, 2))
PAIRS = [(RBF(0.3), RBF(0.5)), (Linear(), Polynomial(2)), (RBF("median") + 5.0, Linear())]


def biased(K, L):
    n = len(K)
    H = np.eye(n) - 1 / n
    return np.trace(K @ H @ L @ H) / n**2


def unbiased(K, L):
    n = len(K)
    K, L = K - np.diag(np.diagonal(K)), L - np.diag(np.diagonal(L))
    last = K.sum() * L.sum() / (n - 1) / (n - 2) - 2 * np.sum(K @ L) / (n - 2)
    return (np.trace(K @ L) + last) / (n * (n - 3))


@pytest.mark.parametrize(("k", "l"), PAIRS, ids=repr)
def test_estimators_are_their_definitions(k, l):
    K, L = k(X), l(Y)
    assert_allclose(hsic(k, X, l, Y, estimator="biased", test=None).value, biased(K, L), rtol=1e-9)
    assert_allclose(hsic(k, X, l, Y, test=None).value, unbiased(K, L), rtol=1e-9, atol=1e-12)


def test_factors_of_full_rank_are_exact():
    for estimator in ("biased", "unbiased"):
        exact = hsic(RBF(0.1), X, RBF(0.2), Y, estimator=estimator)
        factors = hsic(RBF(0.1), X, RBF(0.2), Y, estimator=estimator, rank=40)
        assert_allclose([factors.value, factors.p_value], [exact.value, exact.p_value], rtol=1e-5)


def test_moments_over_all_permutations():
    """All 720 pairings of six samples have the mean and the variance that the formula says."""
    rng = np.random.default_rng(3)
    K, L = RBF(0.3)(rng.standard_normal((6, 2))), Polynomial(2)(rng.exponential(size=(6, 2)))
    H = np.eye(6) - 1 / 6
    A, B = H @ K @ H, H @ L @ H
    values = [np.sum(A * B[np.ix_(p, p)]) for p in permutations(range(6))]
    products = operator_products([Dense(K), Dense(L)])
    assert_allclose(
        np.prod(products.scales) * np.array(permutation_moments(products)),
        [np.mean(values), np.std(values)],
        rtol=1e-10,
    )


def test_the_unbiased_value_is_zero_on_average():
    rng = np.random.default_rng(4)
    found = [
        hsic(RBF(0.5), rng.standard_normal((20, 1)), RBF(0.5), rng.standard_normal((20, 1)), test=None).value
        for _ in range(400)
    ]
    assert abs(np.mean(found)) < 3 * np.std(found) / 20
    assert hsic(RBF(0.5), X, RBF(0.5), Y, estimator="biased").value > 0


def test_levels_of_the_gamma_test():
    rng = np.random.default_rng(5)
    p = [
        hsic(RBF("median"), rng.standard_normal((40, 2)), RBF("median"), rng.exponential(size=(40, 1))).p_value
        for _ in range(400)
    ]
    for level in (0.05, 0.2, 0.5):  # the binomial's own deviation is 0.011, 0.02, 0.025
        assert abs(np.mean(np.array(p) <= level) - level) < 4 * np.sqrt(level * (1 - level) / 400)


def test_gamma_and_permutations_agree():
    rng = np.random.default_rng(6)
    for _ in range(3):
        x = rng.standard_normal((50, 1))
        y = 0.35 * x + rng.standard_normal((50, 1))
        gamma = hsic(RBF(0.5), x, RBF(0.5), y).p_value
        for rank in (None, "auto"):
            drawn = hsic(RBF(0.5), x, RBF(0.5), y, test="permutation", n_permutations=2000, rank=rank).p_value
            assert abs(drawn - gamma) < 0.015 + 4 * np.sqrt(gamma * (1 - gamma) / 2000)


def test_dependence_without_correlation_is_found():
    x = RNG.uniform(-1, 1, (150, 1))
    y = x**2 + 0.05 * RNG.standard_normal((150, 1))
    assert hsic("rbf", x, "rbf", y).p_value < 1e-6
    assert hsic("linear", x, "linear", y).p_value > 0.01
    assert hsic("rbf", x, "rbf", y, test="permutation", n_permutations=99).p_value == 0.01


def test_order_of_pairs_and_sides_does_not_matter():
    one = hsic(RBF(0.3), X, RBF(0.5), Y)
    order = RNG.permutation(40)
    for other in (hsic(RBF(0.5), Y, RBF(0.3), X), hsic(RBF(0.3), X[order], RBF(0.5), Y[order])):
        assert_allclose([other.value, other.p_value], [one.value, one.p_value], rtol=1e-9)


def test_the_seed_fixes_the_permutations():
    runs = [hsic("rbf", X, "rbf", Y, test="permutation", n_permutations=50).p_value for _ in range(2)]
    assert runs[0] == runs[1]


def test_strings_with_numbers_and_a_given_matrix():
    words = ["banana", "bandana", "cabana", "kernel", "colonel", "channel"]
    lengths = np.array([[float(len(w))] for w in words])
    found = hsic("spectrum", words, "linear", lengths, test=None).value
    assert_allclose(found, unbiased(Spectrum()(words), lengths @ lengths.T))
    assert_allclose(hsic("precomputed", Spectrum()(words), "linear", lengths, test=None).value, found)


def test_constant_samples_depend_on_nothing():
    found = hsic("rbf", np.ones((10, 2)), "rbf", Y[:10])
    assert abs(found.value) < 1e-12 and found.p_value == 1.0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"estimator": "best"}, "Unknown estimator 'best'"),
        ({"test": "t"}, "Unknown test 't'"),
        ({"test": "permutation", "n_permutations": 0}, "n_permutations=0"),
    ],
)
def test_bad_settings(options, words):
    with pytest.raises(ValueError, match=words):
        hsic("rbf", X, "rbf", Y, **options)


def test_bad_samples():
    with pytest.raises(ValueError, match="in pairs"):
        hsic("rbf", X, "rbf", Y[:-1])
    with pytest.raises(ValueError, match="at least 4"):
        hsic("rbf", X[:3], "rbf", Y[:3])
    with pytest.raises(ValueError, match="NaN"):
        hsic("rbf", X, "rbf", np.full((40, 1), np.nan))
    with pytest.raises(MemoryLimitError, match="test='gamma'"):
        hsic("rbf", X, "rbf", Y, test="permutation", memory_limit=1000)
