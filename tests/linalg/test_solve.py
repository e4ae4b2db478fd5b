"""Block conjugate gradients: residuals are what they say, whatever the preconditioner."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.kernels import RBF
from mercer.linalg.operators import Dense
from mercer.linalg.solve import factor_preconditioner, refined_solve, shifted_solve

RNG = np.random.default_rng(11)


n, m, C = 60, 8, 3


F = RNG.standard_normal((n, m))


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


@pytest.mark.parametrize("noise", [0.0, 1e-5, 1e-4])
def test_corrections_from_a_nearby_matrix_reach_the_tolerance_on_the_true_one(noise):
    K, B, mu = RBF(0.1)(F), RNG.standard_normal((n, 3)), 1e-3
    E = RNG.standard_normal((n, n))
    E = noise * (E + E.T) / np.linalg.norm(E + E.T, 2)  # of norm μ/10 at most: corrections contract by a ninth
    nearby = Dense(K + E)
    start = shifted_solve(nearby, B, mu, tol=1e-3).X
    solution = refined_solve(Dense(K), nearby, B, mu, start, tol=1e-8, reach=1e-3)
    residuals = np.linalg.norm(K @ solution.X + mu * solution.X - B, axis=0) / np.linalg.norm(B, axis=0)
    assert residuals.max() <= 1e-8
    assert_allclose(solution.residuals, residuals, atol=1e-12)


def test_corrections_that_do_not_help_are_not_kept():
    K, B = RBF(0.1)(F), RNG.standard_normal((n, 2))
    start = np.zeros_like(B)
    solution = refined_solve(Dense(K), Dense(0 * K), B, 1e-3, start, tol=1e-8, reach=1e-3)  # another matrix altogether
    residuals = np.linalg.norm(K @ solution.X + 1e-3 * solution.X - B, axis=0) / np.linalg.norm(B, axis=0)
    assert_allclose(solution.residuals, residuals, atol=1e-9)
    assert residuals.max() <= 1 and solution.passes < 10


def test_a_quadratic_form_has_twice_the_digits_of_the_solution():
    K, B, mu = RBF(0.1)(F), np.linalg.qr(RNG.standard_normal((n, 3)))[0], 1e-3
    exact = B.T @ np.linalg.solve(K + mu * np.eye(n), B)
    solution = shifted_solve(Dense(K), B, mu, tol=1e-3)
    assert np.linalg.norm(solution.product(B) - exact, 2) <= 1.01 * np.sum(solution.residuals**2) / mu
    assert_allclose(solution.left, B - K @ solution.X - mu * solution.X, atol=1e-12)
