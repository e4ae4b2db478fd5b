"""Distances of points from the subspace of the others: against refits, and by the laws they must obey."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from mercer.spectral.downdate import exact_distances, lumped_distances


def refitted(P, k):
    """The definition: a mean and an SVD of the others, for every point."""
    out = np.empty(len(P))
    for i, point in enumerate(P):
        others = np.delete(P, i, axis=0)
        _, s, Vt = np.linalg.svd(others - others.mean(axis=0), full_matrices=False)
        V = Vt[:k][s[:k] > 1e-10 * max(s[0], 1e-300)]
        y = point - others.mean(axis=0)
        out[i] = y @ y - ((V @ y) ** 2).sum()
    return out


def coordinates(P):
    """All eigenvalues of the scatter that are not zero, and the coordinates along their vectors."""
    U, s, _ = np.linalg.svd(P - P.mean(axis=0), full_matrices=False)
    alive = s > 1e-12 * s[0]
    return s[alive] ** 2, U[:, alive] * s[alive]


def lumped(P, k):
    values, scores = coordinates(P)
    rest = scores[:, k:] ** 2
    return lumped_distances(values[:k], scores[:, :k], rest.sum(axis=1), rest @ values[k:], len(P))


def in_sample(P, k):
    return (coordinates(P)[1][:, k:] ** 2).sum(axis=1)


def cloud(n, d, decay, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d)) * decay ** np.arange(d)


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(5, 25),
    d=st.integers(1, 30),
    k=st.integers(0, 12),
    decay=st.sampled_from([0.5, 0.8, 1.0]),
)
def test_exact_distances_are_those_of_refits(seed, n, d, k, decay):
    P = cloud(n, d, decay, seed)
    truth = refitted(P, min(k, n - 2))
    values, scores = coordinates(P)
    size = ((n / (n - 1) * scores) ** 2).sum(axis=1)
    assert_allclose(exact_distances(values, scores, k, n), truth, atol=1e-8 * size.max())


@pytest.mark.parametrize("k", [0, 1, 4])
def test_points_that_are_there_twice(k):
    P = np.repeat(cloud(8, 5, 0.7), 2, axis=0)
    values, scores = coordinates(P)
    assert_allclose(exact_distances(values, scores, k, 16), refitted(P, k), atol=1e-10)


def test_equal_eigenvalues():
    """Corners of a simplex: every eigenvalue is the same, and so is every distance."""
    P = np.eye(7)
    values, scores = coordinates(P)
    assert_allclose(exact_distances(values, scores, 3, 7), 7 / 6, atol=1e-12)
    assert_allclose(lumped(P, 3), 7 / 6, atol=1e-12)


def test_a_point_at_the_mean_stays_there():
    P = np.vstack([cloud(9, 4, 0.8), np.zeros(4)])
    P[-1] = P[:-1].mean(axis=0)
    values, scores = coordinates(P)
    assert exact_distances(values, scores, 2, 10)[-1] < 1e-20
    assert lumped(P, 2)[-1] < 1e-20


def test_an_outlier_that_pulled_the_subspace_to_itself():
    """In the sample it lies on the subspace; without itself it is nearly as far as it was put."""
    P = cloud(40, 6, 0.9)
    P[0] += 1000 * np.eye(6)[5]
    truth = refitted(P, 2)[0]
    assert in_sample(P, 2)[0] < 1 < 900_000 < truth
    assert exact_distances(*coordinates(P), 2, 40)[0] == pytest.approx(truth, rel=1e-7)
    assert 0.5 * truth < lumped(P, 2)[0] < truth


def test_all_components_of_more_features_than_points():
    """Where every direction is kept, a point holds one of them alone: the distance is 1 / (K⁺)ᵢᵢ."""
    P = cloud(12, 30, 0.95)
    values, scores = coordinates(P)
    K = (P - P.mean(axis=0)) @ (P - P.mean(axis=0)).T
    truth = 1 / np.linalg.pinv(K, rcond=1e-10).diagonal()
    for k in (11, 12, 40):
        assert_allclose(exact_distances(values, scores, k, 12), truth, rtol=1e-8)
    assert_allclose(lumped(P, 11), truth, rtol=1e-8)
    assert_allclose(refitted(P, 10), truth, rtol=1e-8)


def test_all_components_of_few_features_leave_nothing():
    values, scores = coordinates(cloud(50, 3, 0.8))
    assert_array_equal(exact_distances(values, scores, 3, 50), np.zeros(50))
    assert_array_equal(lumped_distances(values, scores, np.zeros(50), np.zeros(50), 50), np.zeros(50))


@given(seed=st.integers(0, 10**6), n=st.integers(6, 30), k=st.integers(0, 4))
def test_lumped_is_exact_where_one_direction_is_not_kept(seed, n, k):
    P = cloud(n, k + 1, 0.7, seed)
    assert_allclose(lumped(P, k), refitted(P, k), rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize(("n", "d", "k", "decay"), [(60, 20, 5, 0.8), (100, 200, 20, 0.97), (200, 50, 10, 0.9)])
def test_lumped_removes_most_of_the_bias(n, d, k, decay):
    P = cloud(n, d, decay)
    truth, found, naive = refitted(P, k), lumped(P, k), in_sample(P, k)
    assert naive.mean() < 0.9 * truth.mean()
    assert abs(found.mean() - truth.mean()) < 0.25 * (truth.mean() - naive.mean())
    assert np.median(np.abs(found - truth)) < 0.06 * truth.mean()


@given(seed=st.integers(0, 10**6), power=st.floats(-60, 60))
def test_scale_law(seed, power):
    P, s = cloud(15, 6, 0.8, seed), 10**power
    for distances in (lumped, lambda P, k: exact_distances(*coordinates(P), k, len(P))):
        assert_allclose(distances(s * P, 2), s**2 * distances(P, 2), rtol=1e-6)


@given(seed=st.integers(0, 10**6))
def test_rows_are_judged_one_by_one(seed):
    values, scores = coordinates(cloud(20, 8, 0.8))
    order = np.random.default_rng(seed).permutation(20)[:7]
    assert_allclose(
        exact_distances(values, scores[order], 3, 20), exact_distances(values, scores, 3, 20)[order], rtol=1e-9
    )


def test_one_point_has_no_others():
    assert_array_equal(exact_distances(np.zeros(0), np.zeros((1, 0)), 0, 1), [0.0])
    assert_array_equal(lumped_distances(np.zeros(0), np.zeros((1, 0)), np.zeros(1), np.zeros(1), 1), [0.0])


@pytest.mark.parametrize(("k", "gap"), [(40, 1e-3), (40, 1e-9), (25, 0.0)])
def test_many_components_and_a_narrow_gap_after_the_last(k, gap):
    """A narrow gap makes the subspace as uncertain as ε / gap, and refits have no more digits than that."""
    rng = np.random.default_rng(0)
    Q = rng.standard_normal((90, 60))
    lengths = np.linspace(3.0, 1.0, 60)
    lengths[k] = lengths[k - 1] * (1 - gap)
    U, _, Vt = np.linalg.svd(Q - Q.mean(axis=0), full_matrices=False)
    P = (U * lengths) @ Vt
    found = exact_distances(*coordinates(P), k, 90)
    assert_allclose(found, refitted(P, k), rtol=1e-9 + (1e-14 / gap if gap else 1e-9))
