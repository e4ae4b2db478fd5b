"""Trustworthiness, continuity, recall and purity: against their definitions, scikit-learn, and the laws they obey."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist
from sklearn.manifold import trustworthiness as sklearn_trustworthiness

from mercer import quality
from mercer.kernels import Spectrum

BOTH = [quality.trustworthiness, quality.continuity, quality.neighbor_recall]
RNG = np.random.default_rng(3)


def rows_and_map(n=200, d=6, dtype=np.float64):
    X = RNG.standard_normal((n, d)).astype(dtype)
    return X, (X[:, :2] + 0.3 * RNG.standard_normal((n, 2))).astype(dtype)


def by_definition(X, Y, k):
    """Trustworthiness, continuity and recall, a line a line of the definition."""
    n = len(X)
    DX, DY = cdist(X, X), cdist(Y, Y)
    trust = cont = recall = 0.0
    for i in range(n):
        near = [j for j in np.lexsort((np.arange(n), DX[i])) if j != i]
        close = [j for j in np.lexsort((np.arange(n), DY[i])) if j != i]
        for j in close[:k]:
            rank = 1 + sum(DX[i, l] < DX[i, j] for l in range(n) if l != i)
            trust += max(0, rank - k)
        for j in near[:k]:
            rank = 1 + sum(DY[i, l] < DY[i, j] for l in range(n) if l != i)
            cont += max(0, rank - k)
        recall += len(set(near[:k]) & set(close[:k])) / k
    factor = 2 / (n * k * (2 * n - 3 * k - 1))
    return 1 - factor * trust, 1 - factor * cont, recall / n


@pytest.mark.parametrize("k", [1, 5, 19])
def test_the_definitions(k):
    X, Y = rows_and_map(40)
    found = [score(X, Y, n_neighbors=k).value for score in BOTH]
    assert_allclose(found, by_definition(X, Y, k), atol=1e-14)


def test_the_definitions_with_ties_everywhere():
    X = RNG.integers(0, 3, (36, 2)).astype(float)
    Y = RNG.integers(0, 3, (36, 2)).astype(float)
    found = [score(X, Y, n_neighbors=4).value for score in BOTH]
    assert_allclose(found, by_definition(X, Y, 4), atol=1e-14)


@pytest.mark.parametrize("n, d, k", [(50, 3, 5), (300, 20, 15), (1500, 10, 30)])
def test_scikit_learn_agrees(n, d, k):
    X, Y = rows_and_map(n, d)
    assert quality.trustworthiness(X, Y, n_neighbors=k).value == pytest.approx(
        sklearn_trustworthiness(X, Y, n_neighbors=k), abs=1e-12
    )
    assert quality.continuity(X, Y, n_neighbors=k).value == pytest.approx(
        sklearn_trustworthiness(Y, X, n_neighbors=k), abs=1e-12
    )


@pytest.mark.parametrize("metric", ["cosine", "manhattan", "chebyshev"])
def test_scikit_learn_agrees_by_other_metrics(metric):
    X, Y = rows_and_map(150)
    expected = sklearn_trustworthiness(X, Y, n_neighbors=7, metric=metric)
    assert quality.trustworthiness(X, Y, n_neighbors=7, metric=metric).value == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("score", BOTH)
def test_dense_sparse_and_precomputed_say_the_same(score):
    X, Y = rows_and_map(120)
    X[RNG.random(X.shape) < 0.5] = 0
    expected = score(X, Y, n_neighbors=6).value
    assert score(sp.csr_array(X), Y, n_neighbors=6).value == pytest.approx(expected, abs=1e-12)
    assert score(cdist(X, X), Y, n_neighbors=6, metric="precomputed").value == pytest.approx(expected, abs=1e-12)


def test_strings_by_a_kernel():
    texts = ["".join(RNG.choice(list("abc"), 8)) for _ in range(30)]
    Y = RNG.standard_normal((30, 2))  # any map will do
    found = quality.trustworthiness(texts, Y, n_neighbors=3, metric=Spectrum(2))
    assert 0 <= found.value <= 1


@pytest.mark.parametrize("score", BOTH)
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_shifts_rotations_scales_and_orders_of_rows_change_nothing(score, seed):
    rng = np.random.default_rng(seed)
    X, Y = rng.standard_normal((40, 4)), rng.standard_normal((40, 2))
    turn = np.linalg.qr(rng.standard_normal((2, 2)))[0]
    order = rng.permutation(40)
    expected = score(X, Y, n_neighbors=5).value
    assert 0 <= expected <= 1
    assert score(7 * X + 3, 0.1 * Y @ turn - 5, n_neighbors=5).value == pytest.approx(expected, abs=1e-12)
    assert score(X[order], Y[order], n_neighbors=5).value == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("score", BOTH)
@pytest.mark.parametrize("kind", ["plain", "copies", "constant"])
def test_a_map_that_is_its_data_is_perfect_whatever_the_ties(score, kind):
    X = {"plain": RNG.standard_normal((60, 3)), "copies": RNG.integers(0, 2, (60, 3)), "constant": np.ones((60, 2))}[
        kind
    ].astype(float)
    assert score(X, X, n_neighbors=8).value == 1.0


@pytest.mark.parametrize("score", BOTH)
def test_a_constant_map_stays_in_bounds(score):
    assert 0 <= score(RNG.standard_normal((60, 3)), np.zeros((60, 2)), n_neighbors=8).value <= 1


def test_the_worst_map_gets_zero():
    """With k = 1, and the nearest in the map always the farthest in the data."""
    Y = np.array([[0.0], [1.0], [2.0], [10.0]])  # nearest: 1, 0, 1, 2
    D = np.array([[0, 9, 1, 2], [9, 0, 1, 2], [1, 9, 0, 2], [1, 2, 9, 0]], float)
    assert quality.trustworthiness(D, Y, n_neighbors=1, metric="precomputed").value == pytest.approx(0, abs=1e-15)


def test_float32_stays_near_float64():
    X, Y = rows_and_map(300, dtype=np.float32)
    for score in BOTH:
        wide = score(X.astype(float), Y.astype(float), n_neighbors=9).value
        assert score(X, Y, n_neighbors=9).value == pytest.approx(wide, abs=1e-12)


# --- samples -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("score", BOTH)
def test_a_sample_of_all_rows_is_exact(score):
    X, Y = rows_and_map(80)
    whole, all_ = score(X, Y, n_neighbors=5, sample=None), score(X, Y, n_neighbors=5, sample=80)
    assert whole == all_ and whole.error == 0 and whole.rows == 80


@pytest.mark.parametrize("score", BOTH)
def test_standard_errors_are_those_of_repeated_samples(score):
    X, Y = rows_and_map(400)
    exact = score(X, Y, n_neighbors=10, sample=None).value
    found = [score(X, Y, n_neighbors=10, sample=60, random_state=seed) for seed in range(80)]
    values, errors = np.array([one.value for one in found]), np.array([one.error for one in found])
    assert abs(values.mean() - exact) < 4 * values.std() / np.sqrt(80)
    assert values.std() == pytest.approx(errors.mean(), rel=0.3)
    inside = np.abs(values - exact) <= 1.96 * errors
    assert inside.mean() > 0.85


def test_auto_reaches_the_error_asked_for_and_same_seed_is_same_bits():
    X, Y = rows_and_map(6000, 4)
    first, again, other = (quality.neighbor_recall(X, Y, error=0.01, random_state=seed) for seed in (None, None, 1))
    assert first == again != other
    assert 500 <= first.rows < 6000 and 0 < 1.96 * first.error <= 0.01
    exact = quality.neighbor_recall(X, Y, sample=None)
    assert exact.error == 0 and abs(first.value - exact.value) < 4 * first.error
    low, high = first.interval
    assert high - low == pytest.approx(2 * 1.96 * first.error)


# --- purity --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("labels", [RNG.integers(0, 3, 90), RNG.choice(["x", "y"], 90), RNG.integers(0, 3, 90) * 1.0])
def test_purity_is_the_share_of_neighbours_of_the_same_class(labels):
    Y = RNG.standard_normal((90, 2))
    D = cdist(Y, Y)
    np.fill_diagonal(D, np.inf)
    near = np.argsort(D, axis=1)[:, :7]
    expected = np.mean(labels[near] == labels[:, None])
    assert quality.class_purity(Y, labels, n_neighbors=7).value == pytest.approx(expected, abs=1e-14)


def test_rows_without_a_label_are_left_out():
    Y, labels = RNG.standard_normal((60, 2)), RNG.choice(np.array(["x", "y", None], object), 60)
    known = np.array([label is not None for label in labels])
    expected = quality.class_purity(Y[known], labels[known].astype(str), n_neighbors=4)
    assert quality.class_purity(Y, labels, n_neighbors=4) == expected
    D = cdist(Y, Y)
    assert quality.class_purity(D, labels, n_neighbors=4, metric="precomputed").value == expected.value


def test_chance_is_what_random_maps_get():
    labels = np.repeat([0, 1], [150, 50])
    found = [quality.class_purity(RNG.standard_normal((200, 2)), labels, n_neighbors=10) for _ in range(30)]
    assert found[0].note == "chance: 0.623"
    assert np.mean([one.value for one in found]) == pytest.approx(0.623, abs=0.02)


# --- wrong input -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("score", BOTH)
@pytest.mark.parametrize(
    "change, message",
    [
        ({"Y": np.zeros((9, 2))}, "X has 30 rows and Y has 9"),
        ({"Y": np.full((30, 2), np.nan)}, "Y contains NaN"),
        ({"X": np.full((30, 2), np.inf)}, "infinity"),
        ({"n_neighbors": 15}, "for 30 rows it can be at most 14"),
        ({"n_neighbors": 0}, "n_neighbors=0 must be a whole number"),
        ({"n_neighbors": 2.5}, "n_neighbors=2.5"),
        ({"sample": 1}, "sample=1 must be"),
        ({"sample": "some"}, "sample='some'"),
        ({"error": 0}, "error=0 must be"),
        ({"metric": "no such"}, "Unknown metric"),
        ({"X": sp.eye_array(30, format="csr"), "metric": "precomputed"}, "full matrix of distances"),
        ({"X": np.zeros((1, 2)), "Y": np.zeros((1, 2))}, "at least 3 rows"),
        ({"X": np.zeros((0, 2)), "Y": np.zeros((0, 2))}, "minimum of 1"),
        ({"Y": np.array(["a"] * 30)}, "Expected 2D array|could not convert"),
    ],
)
def test_wrong_input_is_refused_in_words(score, change, message):
    given = {"X": np.arange(60.0).reshape(30, 2), "Y": np.arange(60.0).reshape(30, 2), "n_neighbors": 3}
    given |= change
    X, Y = given.pop("X"), given.pop("Y")
    with pytest.raises(ValueError, match=message):
        score(X, Y, **given)


def test_purity_refuses_numbers_on_a_scale_and_wrong_lengths():
    Y = RNG.standard_normal((30, 2))
    with pytest.raises(ValueError, match="numbers on a scale"):
        quality.class_purity(Y, RNG.standard_normal(30))
    with pytest.raises(ValueError, match="one label per row"):
        quality.class_purity(Y, np.zeros(29, int))
    with pytest.raises(ValueError, match="0 of the 30 rows have a label"):
        quality.class_purity(Y, np.array([None] * 30, object))
