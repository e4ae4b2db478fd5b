"""Householder's tridiagonal form: similar to the matrix at every column, and Lanczos's projection while it grows."""

import numpy as np
import pytest

from mercer.linalg.tridiagonal import TridiagonalForm, form_pairs, selected_pairs
from mercer.testing.spectra import spectrum_problem

EPS = np.finfo(np.float64).eps
NAMES = ["even", "inverse", "graded 15", "identity", "projection", "mirrored", "zero", "scale 1e150", "scale 1e-150"]


def tridiagonal(form):
    m = form.columns
    beside = form.beside[: m - 1]
    return np.diag(form.diagonal[:m]) + np.diag(beside, 1) + np.diag(beside, -1)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n", [3, 20, 61, 200])
def test_the_whole_form_is_similar_to_the_matrix(name, n):
    problem = spectrum_problem(name, n, 2)
    form = TridiagonalForm.starting(problem.matrix, np.random.default_rng(0))
    form.reduce(n)
    assert form.columns == n and form.coupling() == 0.0
    Q, size = form.vectors(np.eye(n)), np.abs(problem.values).max() or 1.0
    np.testing.assert_allclose(Q.T @ Q, np.eye(n), atol=1e-13)
    np.testing.assert_allclose(
        Q.T @ (problem.matrix / size) @ Q, tridiagonal(form) * (form.unit / size), atol=100 * n * EPS
    )


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("m", [8, 40, 70])
def test_a_part_of_the_form_is_the_projection_and_the_coupling_is_what_leaves_it(m, order):
    """A Q = Q T + β q eₘᵀ for the first m columns; the given matrix stays as it was."""
    n = 150
    A = np.asarray(spectrum_problem("root", n, 3).matrix, order=order)
    before = A.copy()
    form = TridiagonalForm.starting(A, np.random.default_rng(0))
    form.reduce(m)
    m = form.columns
    assert m < n
    Q = form.vectors(np.eye(m))
    rest = A @ Q - Q @ tridiagonal(form)
    np.testing.assert_allclose(rest[:, :-1], 0.0, atol=100 * n * EPS)
    np.testing.assert_allclose(np.linalg.norm(rest[:, -1]), abs(form.coupling()), atol=100 * n * EPS)
    np.testing.assert_array_equal(A, before)


@pytest.mark.parametrize("name", ["inverse", "graded 6", "slightly negative", "rank deficient"])
@pytest.mark.parametrize("k", [1, 3, 20])
def test_pairs_are_as_good_as_was_asked_and_take_a_part_of_the_form(name, k):
    n, tol = 300, 1e-9
    problem = spectrum_problem(name, n, k)
    form = TridiagonalForm.starting(problem.matrix, np.random.default_rng(0))
    pairs = form_pairs(form, k, lambda values: np.full(len(values), tol))
    assert form.columns < n / 2 and pairs.products == form.columns
    np.testing.assert_allclose(pairs.values, problem.values[:k], atol=tol)
    residual = np.linalg.norm(problem.matrix @ pairs.vectors - pairs.vectors * pairs.values, axis=0)
    assert residual.max() <= tol + 100 * n * EPS
    np.testing.assert_allclose(pairs.residual, residual[-1], atol=100 * n * EPS)
    assert pairs.lowest >= problem.values[-1] - 100 * n * EPS


def test_pairs_that_need_the_whole_form_come_from_it():
    problem = spectrum_problem("semicircle", 200, 6)
    form = TridiagonalForm.starting(problem.matrix, np.random.default_rng(0))
    pairs = form_pairs(form, 6, lambda values: np.full(len(values), 1e-12))
    assert form.columns == 200
    np.testing.assert_allclose(pairs.values, problem.values[:6], atol=1e-12)


def test_selected_pairs_are_those_of_the_tridiagonal_matrix():
    rng = np.random.default_rng(0)
    diagonal, beside = rng.standard_normal(50), rng.standard_normal(50)
    count, values, vectors, trouble = selected_pairs(diagonal, beside, 45, 49)
    T = np.diag(diagonal) + np.diag(beside[:49], 1) + np.diag(beside[:49], -1)
    assert count == 5 and not trouble
    np.testing.assert_allclose(values[:5], np.linalg.eigvalsh(T)[45:], atol=1e-12)
    np.testing.assert_allclose(T @ vectors[:, :5], vectors[:, :5] * values[:5], atol=1e-12)
