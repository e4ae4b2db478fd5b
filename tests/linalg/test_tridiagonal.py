"""Top pairs from LAPACK's tridiagonal form."""

import numpy as np
import pytest
from scipy.linalg import eigh

from mercer.linalg.eigen import top_eigenpairs
from mercer.linalg.tridiagonal import selected_pairs, top_pairs, tridiagonal_pairs
from mercer.testing.spectra import SPECTRA, spectrum_problem

EPS = float(np.finfo(np.float64).eps)


@pytest.mark.parametrize("name", SPECTRA)
@pytest.mark.parametrize(("n", "k"), [(2, 1), (40, 3), (40, 20), (120, 17)])
def test_every_spectrum(name, n, k):
    """LAPACK is backward stable: errors and residuals stay within a few n·eps of ‖A‖. 17 of 120 are by MRRR."""
    problem = spectrum_problem(name, n, k)
    found = top_pairs(problem.matrix, k)
    unit = np.abs(problem.values).max() or 1.0
    tolerance = 10 * n * EPS
    M, values = problem.matrix / unit, found.values / unit
    np.testing.assert_allclose(values, problem.values[:k] / unit, atol=tolerance)
    assert abs(found.lowest - problem.values[-1]) <= tolerance * unit
    assert np.linalg.norm(M @ found.vectors - found.vectors * values, axis=0).max() <= tolerance
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(k), atol=tolerance)


@pytest.mark.parametrize("order", ["C", "F"])
def test_the_matrix_is_left_as_it_was(order):
    M = np.array(spectrum_problem("even", 30, 4).matrix, order=order)
    before = M.copy()
    top_pairs(M, 4)
    np.testing.assert_array_equal(M, before)


@pytest.mark.parametrize("k", [1, 5, 30])
def test_both_ways_to_solve_a_tridiagonal_matrix_agree(k):
    """A second difference has the eigenvalues 2 − 2 cos(πj/(n + 1))."""
    n = 60
    diagonal, beside = np.full(n, 2.0), np.full(n - 1, -1.0)
    truth = 2 - 2 * np.cos(np.pi * np.arange(n, 0, -1) / (n + 1))
    values, S = tridiagonal_pairs(diagonal, beside, k)
    np.testing.assert_allclose(values, truth[:k], atol=10 * n * EPS)
    count, some, vectors, trouble = selected_pairs(diagonal, np.append(beside, 0.0), n - k, n - 1)
    assert (count, trouble) == (k, 0)
    np.testing.assert_allclose(some[:k][::-1], values, atol=10 * n * EPS)
    np.testing.assert_allclose(np.abs(np.sum(vectors[:, :k][:, ::-1] * S, axis=0)), 1.0, atol=1e-9)  # gaps are 1e-3


def test_dense_knows_the_lowest_eigenvalue():
    """It comes from T itself, so the smallest negative part shows, among values of any distribution."""
    problem = spectrum_problem("slightly negative", 150, 5)
    pairs = top_eigenpairs(problem.matrix, 5, solver="dense")
    assert pairs.lowest == pytest.approx(problem.values[-1], abs=1e-12)
    np.testing.assert_allclose(pairs.values, eigh(problem.matrix, eigvals_only=True)[-5:][::-1], atol=1e-12)
