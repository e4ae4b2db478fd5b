"""Low-rank factors: what they leave out is positive, as large as they say, and drawn by the right law."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2
from threadpoolctl import threadpool_limits

from mercer.kernels import RBF, Laplacian, Linear, Matern, RationalQuadratic, Sigmoid
from mercer.linalg.gram import Gram
from mercer.linalg.lowrank import factor_spectrum, nystroem, orthogonal_random_features, rpcholesky
from mercer.linalg.operators import Dense

RNG = np.random.default_rng(0)
X = RNG.standard_normal((150, 3))
K = RBF(gamma=0.5)(X)


def test_what_is_left_is_positive_and_its_trace_is_the_error():
    for rank in (1, 7, 40, 100):
        factor = rpcholesky(Gram(RBF(gamma=0.5), X, tile=64), rank, np.random.default_rng(rank))
        left = K - factor.F @ factor.F.T
        assert factor.F.shape == (150, rank) and len(set(factor.landmarks)) == rank
        assert np.linalg.eigvalsh(left)[0] > -1e-10
        np.testing.assert_allclose(factor.error, np.trace(left), rtol=1e-6, atol=1e-10)
        np.testing.assert_allclose(left[factor.landmarks], 0, atol=1e-9)


@given(seed=st.integers(0, 10**6), rank=st.integers(1, 25), kind=st.sampled_from(["rbf", "laplacian", "linear"]))
def test_eigenvalues_are_bounded_by_the_error(seed, rank, kind):
    """0 ≤ γᵢ(HKH) − γᵢ(HFFᵀH) ≤ tr(K − FFᵀ)."""
    rng = np.random.default_rng(seed)
    data = rng.standard_normal((25, 3))
    M = {"rbf": RBF(gamma=0.5), "laplacian": Laplacian(0.5), "linear": Linear()}[kind](data)
    factor = rpcholesky(Dense(M), rank, rng)
    H = np.eye(25) - 1 / 25
    gap = np.linalg.eigvalsh(H @ M @ H) - np.linalg.eigvalsh(H @ factor.F @ factor.F.T @ H)
    room = 1e-11 * np.trace(M)
    assert np.all(gap >= -room) and np.all(gap <= factor.error + room)


@pytest.mark.parametrize("precision", [np.float64, np.float32])
def test_new_points_through_the_coefficients(precision):
    factor = rpcholesky(Gram(RBF(gamma=0.5), X), 30, np.random.default_rng(0), dtype=precision)
    again = RBF(gamma=0.5)(X, X[factor.landmarks]) @ factor.coefs
    np.testing.assert_allclose(again, factor.F, atol=1e-8 if precision == np.float64 else 1e-2)


def sequential_pivots(M, rank, rng):
    """Randomly pivoted Cholesky, one pivot at a time: the law that blocks must follow."""
    left, pivots = M.copy(), []
    for _ in range(rank):
        weights = np.maximum(np.diag(left), 0)
        p = int(rng.choice(len(M), p=weights / weights.sum()))
        left = left - np.outer(left[p], left[p]) / left[p, p]
        left[p] = left[:, p] = 0
        pivots.append(p)
    return tuple(pivots)


def law_of_pivots(M, rank):
    """The exact chance of every sequence of pivots."""
    chances = {(): (1.0, M)}
    for _ in range(rank):
        grown = {}
        for pivots, (chance, left) in chances.items():
            weights = np.maximum(np.diag(left), 0)
            for p in np.flatnonzero(weights > 1e-12):
                rest = left - np.outer(left[p], left[p]) / left[p, p]
                rest[p] = rest[:, p] = 0
                grown[*pivots, int(p)] = (chance * weights[p] / weights.sum(), rest)
        chances = grown
    return {pivots: chance for pivots, (chance, _) in chances.items()}


@pytest.mark.parametrize("sampler", ["blocks", "sequential"])
@threadpool_limits.wrap(limits=1)  # threads for 5 × 5 matrices only get into each other's way
def test_the_law_of_pivots(sampler):
    """A chi-square test of ordered pairs of pivots on a 5 × 5 matrix with two close points."""
    points = np.array([[0.0], [0.1], [1.0], [2.0], [4.0]])
    M = RBF(gamma=0.7)(points) * np.outer(s := np.array([1.0, 1.5, 1.0, 0.7, 1.0]), s)
    law, draws = law_of_pivots(M, 2), 2000
    rng = np.random.default_rng(42)
    counts = dict.fromkeys(law, 0)
    for _ in range(draws):
        if sampler == "blocks":
            pivots = tuple(int(p) for p in rpcholesky(Dense(M), 2, rng).landmarks)
        else:
            pivots = sequential_pivots(M, 2, rng)
        counts[pivots] += 1
    statistic = sum((counts[p] - draws * law[p]) ** 2 / (draws * law[p]) for p in law)
    assert statistic < chi2.ppf(0.999, len(law) - 1)


def test_it_stops_at_the_tolerance_and_at_the_rank_of_the_matrix():
    wide = RNG.standard_normal((150, 4))
    factor = rpcholesky(Dense(wide @ wide.T), 60, np.random.default_rng(0))
    assert factor.F.shape[1] == 4 and factor.error < 1e-9 * np.trace(wide @ wide.T)
    loose = rpcholesky(Dense(K), 150, np.random.default_rng(0), tol=0.1)
    assert loose.F.shape[1] < 150 and loose.error <= 0.1 * np.trace(K) + 1e-6


def test_duplicated_rows_take_one_pivot():
    twice = np.repeat(X[:20], 3, axis=0)
    factor = rpcholesky(Gram(RBF(gamma=0.5), twice), 60, np.random.default_rng(0))
    assert factor.F.shape[1] <= 20 and factor.error < 1e-8


def test_near_optimal_rank():
    values = np.linalg.eigvalsh(K)[::-1]
    error = np.mean([rpcholesky(Dense(K), 30, np.random.default_rng(s)).error for s in range(5)])
    assert values[30:].sum() <= error <= 3 * values[25:].sum()


@pytest.mark.parametrize("M", [Sigmoid(gamma=1.0, coef0=-1.0)(X), -K, np.zeros((6, 6)), np.diag([1.0, -1.0, 0, 2])])
def test_matrices_that_are_not_positive_do_not_crash(M):
    factor = rpcholesky(Dense(M), 20, np.random.default_rng(0))
    assert np.all(np.isfinite(factor.F)) and np.isfinite(factor.error)


def test_same_seed_same_bits():
    a, b = (rpcholesky(Gram(RBF(gamma=0.5), X), 20, np.random.default_rng(3)).F for _ in range(2))
    np.testing.assert_array_equal(a, b)


# --- Nyström -----------------------------------------------------------------------------------------------


def test_nystroem_with_every_landmark_is_the_matrix():
    factor = nystroem(Dense(K), np.arange(150))
    np.testing.assert_allclose(factor.F @ factor.F.T, K, atol=1e-6)
    assert factor.error < 1e-6 * np.trace(K)


def test_nystroem_is_the_projection_on_its_landmarks():
    S = np.array([5, 90, 17, 17])
    factor = nystroem(Gram(RBF(gamma=0.5), X), S)
    C = K[:, [5, 17, 90]]
    expected = C @ np.linalg.solve(C[[5, 17, 90]], C.T)
    np.testing.assert_allclose(factor.F @ factor.F.T, expected, atol=1e-10)
    np.testing.assert_allclose(factor.error, np.trace(K - expected), rtol=1e-9)
    np.testing.assert_allclose(RBF(gamma=0.5)(X, X[factor.landmarks]) @ factor.coefs, factor.F, atol=1e-10)


def test_nystroem_with_coinciding_landmarks():
    twice = np.concatenate([X[:10], X[:10]])
    factor = nystroem(Gram(RBF(gamma=0.5), twice), np.arange(20))
    np.testing.assert_allclose(factor.F @ factor.F.T, RBF(gamma=0.5)(twice), atol=1e-5)


@pytest.mark.parametrize("landmarks", [[], [-1], [150]])
def test_bad_landmarks(landmarks):
    with pytest.raises(ValueError, match="Landmarks"):
        nystroem(Dense(K), landmarks)


# --- random features ---------------------------------------------------------------------------------------

SHIFT_INVARIANT = [RBF(gamma=0.5), Matern(0.5, 1.5), Matern(2.5, 1.5), Matern(np.inf), RationalQuadratic(1.2, 0.8)]


@pytest.mark.parametrize("kernel", SHIFT_INVARIANT, ids=repr)
def test_random_features_are_unbiased(kernel):
    few = X[:6]
    draws = [orthogonal_random_features(kernel, few, 12, np.random.default_rng(s))(few) for s in range(1500)]
    estimates = np.array([phi @ phi.T for phi in draws])
    spread = estimates.std(axis=0) / np.sqrt(len(draws))
    z = (estimates.mean(axis=0) - kernel(few))[np.triu_indices(6, 1)] / spread[np.triu_indices(6, 1)]
    assert np.abs(z).max() < 4.5


def test_the_error_of_random_features_is_the_error():
    features = orthogonal_random_features(RBF(gamma=0.5), X, 200, np.random.default_rng(0), pairs=10**5)
    phi = features(X)
    truth = np.sqrt(np.mean((phi @ phi.T - K)[np.triu_indices(150, 1)] ** 2))
    np.testing.assert_allclose(features.error, truth, rtol=1e-10)
    sampled = orthogonal_random_features(RBF(gamma=0.5), X, 200, np.random.default_rng(0), pairs=500)
    phi = sampled(X)
    truth = np.sqrt(np.mean((phi @ phi.T - K)[np.triu_indices(150, 1)] ** 2))
    assert abs(sampled.error - truth) < 5 * sampled.error_se + 0.1 * truth


def test_more_features_have_less_error():
    errors = [orthogonal_random_features(RBF(gamma=0.5), X, m, np.random.default_rng(0)).error for m in (20, 2000)]
    assert errors[1] < errors[0] / 5


def test_kernels_without_a_spectral_density():
    with pytest.raises(TypeError, match="spectral density"):
        orthogonal_random_features(Linear(), X, 10, np.random.default_rng(0))


# --- the spectrum of a factor ------------------------------------------------------------------------------


@pytest.mark.parametrize("center", [True, False])
def test_factor_spectrum(center):
    F = RNG.standard_normal((150, 6)) + 2.0
    H = np.eye(150) - (1 / 150 if center else 0)
    spectrum = factor_spectrum(F, center=center)
    np.testing.assert_allclose(spectrum.values, np.linalg.eigvalsh(H @ F @ F.T @ H)[::-1][:6], rtol=1e-10)
    V = spectrum.vectors(F, 4)
    np.testing.assert_allclose(V.T @ V, np.eye(4), atol=1e-10)
    np.testing.assert_allclose(H @ F @ F.T @ H @ V, V * spectrum.values[:4], atol=1e-9)


def test_few_frequencies_of_wide_rows_are_orthogonal_and_cheap():
    """2000 columns: a square matrix of that side takes 32 MB, four frequencies take 64 kB."""
    wide = np.random.default_rng(0).standard_normal((6, 2000))
    tracemalloc.start()
    features = orthogonal_random_features(RBF(gamma=1e-4), wide, 8, np.random.default_rng(0))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4e6
    lengths = np.linalg.norm(features.omega, axis=1)
    np.testing.assert_allclose(features.omega @ features.omega.T, np.diag(lengths**2), atol=1e-12 * lengths.max() ** 2)


@pytest.mark.parametrize("asked, given", [(1, 2), (2, 2), (7, 6), (9, 8), (40, 40)])
def test_columns_come_in_pairs_and_never_above_what_was_asked_for(asked, given):
    features = orthogonal_random_features(RBF(gamma=0.5), X, asked, np.random.default_rng(0))
    assert features(X).shape[1] == given
    d = X.shape[1]
    for start in range(0, len(features.omega), d):
        block = features.omega[start : start + d]
        np.testing.assert_allclose(block @ block.T, np.diag(np.sum(block**2, axis=1)), atol=1e-10)


def indefinite(n, below, seed=0):
    """A matrix of rank three, less `below` in a direction that spreads over all rows."""
    Q = np.linalg.qr(np.random.default_rng(seed).standard_normal((n, 4)))[0]
    return (Q * [3.0, 2.0, 1.0, -below]) @ Q.T


@pytest.mark.parametrize("below", [1e-9, 1e-4, 0.3])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_a_bound_that_may_not_hold_is_void(below, rank):
    """With all of the positive part in F, little is left on the diagonal of K − FFᵀ, and `below` in its norm."""
    K = indefinite(80, below)
    factor = rpcholesky(Dense(K), rank, np.random.default_rng(0))
    assert factor.negative > 0 or np.linalg.norm(K - factor.F @ factor.F.T, 2) <= factor.error
    if rank == 3:
        assert factor.negative > 0


def test_a_matrix_without_a_positive_diagonal_has_no_bound():
    K = np.ones((6, 6)) - np.eye(6)
    for M in (K, -np.eye(6)):
        assert rpcholesky(Dense(M), 3, np.random.default_rng(0)).negative > 0
    assert rpcholesky(Dense(np.zeros((6, 6))), 3, np.random.default_rng(0)).negative == 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("seed", range(5))
def test_the_bound_of_a_semidefinite_matrix_is_not_void(seed, dtype):
    """Where one vector is left, ‖Eᵢ‖² = Eᵢᵢ tr E, and only rounding could say otherwise."""
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((60, 60)))[0]
    for values in (np.r_[1.0, np.zeros(59)], np.r_[np.ones(20), np.zeros(40)]):
        K = ((Q * values) @ Q.T).astype(dtype)
        for rank in (1, 10, 19, 60):
            factor = rpcholesky(Dense((K + K.T) / 2), rank, rng)
            assert factor.negative == 0
