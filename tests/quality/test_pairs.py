"""Shepard correlation, residual variance and triplets: against their definitions, and their standard errors."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist, pdist
from scipy.stats import pearsonr, spearmanr
from sklearn.datasets import make_swiss_roll

from mercer import Isomap, quality
from mercer.exceptions import DisconnectedGraphError, MemoryLimitError
from mercer.graph.geodesics import Geodesics
from mercer.graph.neighbors import build_index
from mercer.quality import pairs
from mercer.quality.correlation import pearson, spearman

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


def test_residual_variance_along_a_graph_is_isomaps():
    X = make_swiss_roll(300, random_state=0)[0]
    isomap = Isomap(n_neighbors=8).fit(X)
    found = quality.residual_variance(X, isomap.embedding_, n_neighbors=8)
    assert found.value == pytest.approx(isomap.residual_variance_[1], abs=1e-9)
    D = Geodesics(build_index(X).neighbors(8).graph(300)).from_nodes(np.arange(300))
    given = quality.residual_variance(D, isomap.embedding_, metric="precomputed")
    assert found.value == pytest.approx(given.value, abs=1e-10)
    straight = quality.residual_variance(X, isomap.embedding_)
    assert straight.value > 1.5 * found.value


def test_residual_variance_refuses_a_graph_in_parts():
    X = np.concatenate([RNG.standard_normal((40, 2)), RNG.standard_normal((40, 2)) + 1e3])
    with pytest.raises(DisconnectedGraphError, match="raise n_neighbors"):
        quality.residual_variance(X, X, n_neighbors=5)


# --- samples ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("score", SCORES)
def test_standard_errors_are_those_of_repeated_samples(score):
    X, Y = rows_and_map(200)
    exact = score(X, Y, sample=None).value
    found = [score(X, Y, sample=1500, random_state=seed) for seed in range(100)]
    values, errors = np.array([one.value for one in found]), np.array([one.error for one in found])
    assert abs(values.mean() - exact) < 4 * values.std() / 10 + 2e-3  # R² has a bias of 1/m
    assert values.std() == pytest.approx(errors.mean(), rel=0.25)


def test_standard_error_along_a_graph_is_that_of_repeated_samples():
    X = make_swiss_roll(250, random_state=0)[0]
    Y = X[:, :2]
    exact = quality.residual_variance(X, Y, n_neighbors=10, sample=None)
    found = [quality.residual_variance(X, Y, n_neighbors=10, sample=50, random_state=seed) for seed in range(60)]
    values, errors = np.array([one.value for one in found]), np.array([one.error for one in found])
    assert exact.error == 0 and exact.rows == 250 * 249 // 2
    assert abs(values.mean() - exact.value) < 4 * values.std() / np.sqrt(60) + 2e-3
    assert values.std() == pytest.approx(errors.mean(), rel=0.35)


@pytest.mark.parametrize("score", SCORES)
def test_auto_reaches_the_error_asked_for(score, monkeypatch):
    monkeypatch.setattr(pairs, "PILOT", 500)
    X, Y = rows_and_map(2500)
    found = score(X, Y, error=0.02)
    assert 500 <= found.rows < 10**5 and 0 < 1.96 * found.error <= 0.02
    assert score(X, Y, error=0.02) == found != score(X, Y, error=0.02, random_state=7)
    more = score(X, Y, sample=200_000)
    assert abs(found.value - more.value) < 4 * found.error


@pytest.mark.parametrize("measure, peer", [(pearson, pearsonr), (spearman, spearmanr)])
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("rho", [0.0, 0.6, 0.95])
def test_errors_of_correlations(measure, peer, ties, rho):
    """The standard error is the spread of r over samples, for skewed numbers, with ties or without."""

    def draw(m):
        x = RNG.standard_normal(m)
        y = rho * x + np.sqrt(1 - rho**2) * RNG.standard_normal(m)
        x, y = np.exp(0.4 * x), np.exp(0.5 * y)
        return (np.round(2 * x), np.round(3 * y)) if ties else (x, y)

    found = [(measure(x, y), peer(x, y)[0]) for x, y in (draw(800) for _ in range(150))]
    assert_allclose([one.value for one, _ in found], [true for _, true in found], atol=1e-12)
    spread = np.std([one.value for one, _ in found])
    assert np.median([one.error for one, _ in found]) == pytest.approx(spread, rel=0.3)


def test_random_triplets_are_of_three_different_rows_all_alike():
    n, seen = 5, []
    rng = np.random.default_rng(0)

    class Index:
        pass

    real = pairs.distances_of
    try:
        pairs.distances_of = lambda index, i, j: seen.append((i.copy(), j.copy())) or np.zeros(len(i))
        index = Index()
        index.n = n
        pairs._random_triplets(index, index, rng, 60_000)
    finally:
        pairs.distances_of = real
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


def test_the_residual_variance_of_a_map_that_knows_nothing_has_an_error():
    """R is about 0 there, and the slope of R² with it."""
    X, Y = RNG.standard_normal((150, 3)), RNG.standard_normal((150, 2))
    found = [quality.residual_variance(X, Y, sample=400, random_state=seed) for seed in range(60)]
    assert min(one.error for one in found) > 2e-3
    apart = np.array([one.value for one in found]) - quality.residual_variance(X, Y, sample=None).value
    assert np.sqrt(np.mean(apart**2)) < 2 * np.mean([one.error for one in found])


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
