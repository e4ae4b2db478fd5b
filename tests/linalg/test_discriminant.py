"""Discriminant directions against direct transcriptions, and leaving one out against leaving one out."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from mercer.kernels import RBF
from mercer.linalg.discriminant import (
    Classes,
    Directions,
    DualSpectrum,
    Penalised,
    ScatterSpectrum,
    directions,
    left_out,
    scatter,
)
from mercer.linalg.discriminant_rule import DiscriminantRule, fit_rule
from mercer.linalg.operators import Dense
from mercer.linalg.solve import factor_preconditioner, shifted_solve
from mercer.linalg.weighted import WeightedCentered

RNG = np.random.default_rng(11)
n, m, C = 60, 8, 3
F = RNG.standard_normal((n, m))
CODES = np.r_[np.arange(C), RNG.integers(0, C, n - C)]
F[np.arange(n), CODES] += 1.5
PRIORS = np.array([0.5, 0.2, 0.3])


def problems():
    share = np.bincount(CODES) / n
    return [Classes(CODES, share), Classes(CODES, PRIORS)]


@pytest.mark.parametrize("classes", problems(), ids=["shares of the data", "given shares"])
def test_directions_solve_the_generalised_eigenproblem(classes):
    means = np.stack([F[c == CODES].mean(axis=0) for c in range(C)])
    overall = classes.priors @ means
    S_B = sum(n * p * np.outer(mu - overall, mu - overall) for p, mu in zip(classes.priors, means, strict=True))
    w = classes.weights
    assert_allclose(w.sum(), n)
    S_W = (F - means[CODES]).T @ (w[:, None] * (F - means[CODES]))
    S = scatter(F, classes)
    assert_allclose(S.mean, overall, atol=1e-12)
    assert_allclose(S.total, S_W + S_B, atol=1e-10)
    assert_allclose(S.between @ S.between.T, S_B, atol=1e-10)
    mu = 3.0
    solved = Penalised(S, mu)
    found = directions(solved.M, classes)
    W = solved.P @ found.combine
    N = S_W + mu * np.eye(m)
    assert_allclose(S_B @ W, N @ W * (found.shares / (1 - found.shares)), atol=1e-8)
    assert_allclose(W.T @ N @ W / n, np.eye(C - 1), atol=1e-10)
    z = (F - S.mean) @ W
    fitted = np.stack([z[c == CODES].mean(axis=0) for c in range(C)])
    assert_allclose(found.means, fitted, atol=1e-10)
    spectrum = ScatterSpectrum(S, F - S.mean, w, n)
    assert_allclose(spectrum.P(mu), solved.P, atol=1e-10)
    assert_allclose(spectrum.M(mu), solved.M, atol=1e-10)
    assert_allclose(spectrum.room(mu), solved.room(F - S.mean, w, n), atol=1e-10)
    assert_allclose(spectrum.scores(mu, found.combine), z, atol=1e-9)
    dual = DualSpectrum(WeightedCentered(Dense(F @ F.T), w).rows(np.arange(n)), classes)
    assert_allclose(dual.M(mu), solved.M, atol=1e-9)
    assert_allclose(dual.room(mu), spectrum.room(mu), atol=1e-9)
    assert_allclose(dual.scores(mu, found.combine), z, atol=1e-8)


@pytest.mark.parametrize("classes", problems(), ids=["shares of the data", "given shares"])
def test_left_out_is_the_regression_without_that_sample(classes):
    """Ridge regression with intercept on the targets r_c, refitted without sample i, at sample i."""
    S = scatter(F, classes)
    mu, w = 2.0, classes.weights
    solved = Penalised(S, mu)
    found = directions(solved.M, classes)
    z = (F - S.mean) @ solved.P @ found.combine
    fast = left_out(z, CODES, solved.room(F - S.mean, w, n), found)
    design = np.column_stack([F, np.ones(n)])
    penalty = np.diag(np.r_[np.full(m, mu), 0.0])
    targets = found.targets[CODES]
    for i in range(0, n, 7):
        rest = np.arange(n) != i
        A = design[rest].T @ (w[rest, None] * design[rest]) + penalty
        beta = np.linalg.solve(A, design[rest].T @ (w[rest, None] * targets[rest]))
        assert_allclose(fast[i], design[i] @ beta, atol=1e-8)


@pytest.mark.parametrize("weights", [np.ones(n), Classes(CODES, PRIORS).weights])
def test_weighted_centring_is_its_definition(weights):
    K = RBF(0.1)(F)
    root = np.diag(np.sqrt(weights))
    centre = np.eye(n) - np.outer(np.ones(n), weights) / n
    direct = root @ centre @ K @ centre.T @ root
    A = WeightedCentered(Dense(K), weights)
    V = RNG.standard_normal((n, 4))
    assert_allclose(A.matmat(V), direct @ V, atol=1e-10)
    assert_allclose(A.rows(np.arange(5)), direct[:5], atol=1e-12)
    assert_allclose(A.diagonal(), np.diag(direct), atol=1e-12)
    assert_allclose(A.trace(), np.trace(direct))
    assert_allclose(A.coefficients(V), centre.T @ root @ V, atol=1e-12)


@pytest.mark.parametrize("known", [0, 10, n])
def test_conjugate_gradients_solve_with_any_preconditioner(known):
    K = RBF(0.1)(F)
    values, U = np.linalg.eigh(K)
    B = np.column_stack([RNG.standard_normal((n, 3)), np.zeros(n)])
    U, values = U[:, ::-1][:, :known], values[::-1][:known]
    start = factor_preconditioner(U * np.sqrt(values / (values + 1e-3)), np)
    solution = shifted_solve(Dense(K), B, 1e-3, tol=1e-10, precondition=start)
    assert_allclose(solution.X, np.linalg.solve(K + 1e-3 * np.eye(n), B), atol=1e-6)
    assert solution.residuals.max() <= 2e-10
    if known == n:
        assert solution.passes <= 3  # it is the inverse


def test_columns_have_tolerances_of_their_own():
    K, B, tol = RBF(0.1)(F), RNG.standard_normal((n, 4)), np.array([1e-2, 1e-10, 1e-5, 1e-2])
    solution = shifted_solve(Dense(K), B, 1e-3, tol=tol)
    believed = shifted_solve(Dense(K), B, 1e-3, tol=tol, certify=False)
    residuals = np.linalg.norm(K @ solution.X + 1e-3 * solution.X - B, axis=0) / np.linalg.norm(B, axis=0)
    assert_allclose(solution.residuals, residuals, atol=1e-12)
    assert (residuals <= 2 * tol).all()
    assert_array_equal(believed.X, solution.X)
    assert believed.passes == solution.passes - 1
    alone = [shifted_solve(Dense(K), B[:, [column]], 1e-3, tol=tol[column]) for column in range(4)]
    assert solution.passes < max(one.passes for one in alone)  # the others' spaces help
    shifted = K + 1e-3 * np.eye(n)
    exact = np.linalg.solve(shifted, B)
    for column, one in enumerate(alone):  # nearer in the norm of A + μI: the common space holds each column's own
        near, far = (found - exact[:, column] for found in (solution.X[:, column], one.X[:, 0]))
        assert near @ shifted @ near <= 1.01 * (far @ shifted @ far) + 1e-16


def test_a_common_space_takes_fewer_passes_and_bears_columns_that_are_alike():
    K, B = RBF(0.1)(F), RNG.standard_normal((n, 6))
    many = shifted_solve(Dense(K), B, 1e-3, tol=1e-8)
    assert many.passes < shifted_solve(Dense(K), B[:, :1], 1e-3, tol=1e-8).passes
    close = [B[:, 0] + e * RNG.standard_normal(n) for e in (1e-9, 1e-5, 1e-3)]
    alike = np.column_stack([B, B[:, :2], *close, 1e-200 * B[:, 2], np.zeros(n)])
    solution = shifted_solve(Dense(K), alike, 1e-3, tol=1e-8)
    assert solution.passes <= many.passes + 2 and solution.residuals.max() <= 2e-8
    assert_allclose(solution.X[:, 6:8], solution.X[:, :2], rtol=1e-6, atol=1e-6 * np.abs(solution.X[:, :2]).max())


def test_an_indefinite_matrix_ends_in_a_number():
    K = RBF(0.1)(F)
    solution = shifted_solve(Dense(-K), RNG.standard_normal((n, 2)), 1e-3, tol=1e-8, max_iter=20)
    assert np.isfinite(solution.X).all() and np.isfinite(solution.residuals).all()


def test_conjugate_gradients_say_where_they_stopped():
    K = RBF(0.1)(F)
    solution = shifted_solve(Dense(K), np.eye(n)[:, :2], 1e-8, tol=1e-12, max_iter=3)
    assert solution.residuals.max() > 1e-6 and solution.passes == 4


@settings(max_examples=25, deadline=None)
@given(st.floats(0.2, 30.0), st.integers(0, 2**32 - 1))
def test_the_temperature_recovers_a_wrong_spread(factor, seed):
    """Clouds drawn from the rule itself, its spread then understated: the temperature makes up for it."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 2, 4000)
    z = np.where(codes, 1.0, -1.0)[:, None] + np.sqrt(1.0) * rng.standard_normal((4000, 1))
    rule = DiscriminantRule(np.array([[-1.0], [1.0]]), np.array([1.0 / factor]), np.array([0.5, 0.5]))
    temperature = rule.calibrated(z, codes, np.ones(4000)).temperature
    assert temperature >= 1
    assert_allclose(temperature, max(1.0, factor), rtol=0.25)


def test_a_class_of_one_tells_nothing_of_the_spread():
    z = np.array([[0.0], [2.0], [30.0]])
    found = Directions(np.array([1.0]), np.ones((2, 1)), np.array([[1.0], [10.0]]))
    rule = fit_rule(z, np.array([0, 0, 1]), np.ones(3), found, np.array([0.6, 0.4]))
    assert_allclose(rule.means, [[1.0], [10.0]])
    assert_allclose(rule.spread, [1.0])


def test_left_out_samples_on_the_wrong_side_do_not_turn_the_rule_round():
    codes = np.arange(100) % 2
    z = np.where(codes, -0.1, 0.1)[:, None]  # each a little away from its class, as leaving out moves it
    found = Directions(np.array([0.9]), np.ones((2, 1)), np.array([[-1.0], [1.0]]))
    rule = fit_rule(z, codes, np.ones(100), found, np.array([0.5, 0.5])).calibrated(z, codes, np.ones(100))
    assert rule.means[1, 0] > 0 > rule.means[0, 0]
    odds = rule.decide(np.array([[1.0], [-1.0]]))
    assert_allclose(odds, np.log(0.5), atol=1e-2)  # and it says that it does not know
