"""Shepard correlation, residual variance and triplets: against their definitions, and their standard errors."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist, pdist
from scipy.stats import pearsonr, spearmanr

from mercer import quality
from mercer.exceptions import MemoryLimitError
from mercer.quality import pairs

RNG = np.random.default_rng(5)
SCORES = [quality.shepard_correlation, quality.residual_variance, quality.triplet_accuracy]


def rows_and_map(n):
    X = RNG.standard_normal((n, 5))
    return X, X[:, :2] + 0.5 * RNG.standard_normal((n, 2))


def triplets_by_definition(DX, DY):
    n, kept, total = len(DX), 0.0, 0
    for i in range(n):
        for j in range(n):
            for l in range(j):
                if i in (j, l):
                    continue
                a, b = np.sign(DX[i, j] - DX[i, l]), np.sign(DY[i, j] - DY[i, l])
                kept += 1.0 if a == b else 0.5 if 0 in (a, b) else 0.0
                total += 1
    return kept / total


@pytest.mark.parametrize("kind", ["plain", "ties"])
def test_the_definitions(kind):
    X, Y = rows_and_map(24) if kind == "plain" else RNG.integers(0, 3, (2, 24, 2)).astype(float)
    DX, DY = cdist(X, X), cdist(Y, Y)
    assert quality.shepard_correlation(X, Y).value == pytest.approx(spearmanr(pdist(X), pdist(Y))[0], abs=1e-12)
    straight = quality.shepard_correlation(X, Y, kind="pearson").value
    assert straight == pytest.approx(pearsonr(pdist(X), pdist(Y))[0], abs=1e-12)
    expected = 1 - np.corrcoef(DX.ravel(), DY.ravel())[0, 1] ** 2
    assert quality.residual_variance(X, Y).value == pytest.approx(expected, abs=1e-12)
    assert quality.residual_variance(X, Y, sample=None).value == pytest.approx(expected, abs=1e-12)
    assert quality.triplet_accuracy(X, Y).value == pytest.approx(triplets_by_definition(DX, DY), abs=1e-12)


@pytest.mark.parametrize("score", SCORES)
def test_dense_sparse_and_precomputed_say_the_same(score):
    X, Y = rows_and_map(50)
    X[RNG.random(X.shape) < 0.4] = 0
    expected = score(X, Y).value
    assert score(sp.csr_array(X), Y).value == pytest.approx(expected, abs=1e-9)
    assert score(cdist(X, X), Y, metric="precomputed").value == pytest.approx(expected, abs=1e-9)


# --- samples ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("score", SCORES)
def test_standard_errors_are_those_of_repeated_samples(score):
    X, Y = rows_and_map(200)
    exact = score(X, Y, sample=None).value
    found = [score(X, Y, sample=1500, random_state=seed) for seed in range(100)]
    values, errors = np.array([one.value for one in found]), np.array([one.error for one in found])
    assert abs(values.mean() - exact) < 4 * values.std() / 10 + 2e-3  # R² has a bias of 1/m
    assert values.std() == pytest.approx(errors.mean(), rel=0.25)


@pytest.mark.parametrize("score", SCORES)
def test_auto_reaches_the_error_asked_for(score, monkeypatch):
    monkeypatch.setattr(pairs, "PILOT", 500)
    X, Y = rows_and_map(2500)
    found = score(X, Y, error=0.02)
    assert 500 <= found.rows < 10**5 and 0 < 1.96 * found.error <= 0.02
    assert score(X, Y, error=0.02) == found != score(X, Y, error=0.02, random_state=7)
    more = score(X, Y, sample=200_000)
    assert abs(found.value - more.value) < 4 * found.error


def test_random_triplets_are_of_three_different_rows_all_alike():
    n, seen = 5, []
    rng = np.random.default_rng(0)

    class Index:
        def distances_of(self, i, j):
            seen.append((i.copy(), j.copy()))
            return np.zeros(len(i))

    index = Index()
    index.n = n
    pairs._random_triplets(index, index, rng, 60_000)
    (i, j), (_, l) = seen[:2]
    assert not np.any((i == j) | (i == l) | (j == l))
    counts = np.bincount(i * 25 + j * 5 + l, minlength=125)
    assert np.count_nonzero(counts) == 60
    assert_allclose(counts[counts > 0], 1000, rtol=0.15)


# --- edges -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("score", SCORES)
def test_a_sample_of_a_perfect_map_does_not_claim_to_be_exact(score):
    X = RNG.standard_normal((200, 3))
    found = score(X, 3 * X, sample=1000)
    assert abs(found.value - found.best) < 1e-12
    assert 0.5e-3 < found.error < 3e-3


def test_pairs_are_counted_once():
    X, Y = rows_and_map(40)
    for given in ({}, {"sample": None}, {"sample": None, "n_neighbors": 12}):
        assert quality.residual_variance(X, Y, **given).rows == 40 * 39 // 2
    assert quality.residual_variance(X, Y, n_neighbors=12, sample=10).rows == 10 * 39 - 45


def test_constant_maps_know_nothing():
    X = RNG.standard_normal((30, 3))
    assert quality.shepard_correlation(X, np.zeros((30, 2))).value == 0
    assert quality.residual_variance(X, np.zeros((30, 2))).value == 1
    assert quality.residual_variance(X, np.zeros((30, 2)), sample=None).value == 1
    assert quality.triplet_accuracy(X, np.zeros((30, 2))).value == 0.5


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_huge_and_tiny_scales(scale):
    X, Y = rows_and_map(40)
    for score in SCORES:
        assert score(scale * X, Y).value == pytest.approx(score(X, Y).value, abs=1e-9)
        assert score(X, scale * Y).value == pytest.approx(score(X, Y).value, abs=1e-9)


@pytest.mark.parametrize("score", SCORES)
def test_wrong_input_is_refused_in_words(score):
    X = RNG.standard_normal((30, 3))
    with pytest.raises(ValueError, match="X has 30 rows and Y has 29"):
        score(X, X[:29])
    with pytest.raises(ValueError, match="from 3 rows on, and there are 2"):
        score(X[:2], X[:2])
    with pytest.raises(ValueError, match="there is 1"):
        score(X[:1], X[:1])
    with pytest.raises(ValueError, match="sample=-4"):
        score(X, X, sample=-4)


def test_all_pairs_of_many_rows_are_refused_before_they_are_made(monkeypatch):
    monkeypatch.setattr(pairs, "available_bytes", lambda: 10**5)
    with pytest.raises(MemoryLimitError, match="sample='auto'"):
        quality.shepard_correlation(RNG.standard_normal((100, 2)), RNG.standard_normal((100, 2)), sample=None)


def test_an_unknown_kind_is_refused():
    with pytest.raises(ValueError, match="kind='kendall' must be one of 'spearman', 'pearson'"):
        quality.shepard_correlation(np.eye(5), np.eye(5), kind="kendall")
