"""The suite of spectra has the eigenvalues that it names."""

import numpy as np
import pytest

from mercer.testing.spectra import KERNELS, SPECTRA, kernel_problem, rotated, spectrum_problem

EPS = np.finfo(np.float64).eps


@pytest.mark.parametrize("name", SPECTRA)
@pytest.mark.parametrize(("n", "k"), [(60, 2), (61, 10)])
def test_the_matrix_has_its_eigenvalues(name, n, k):
    problem = spectrum_problem(name, n, k)
    assert len(problem.values) == n and np.all(np.diff(problem.values) <= 0)
    np.testing.assert_array_equal(problem.matrix, problem.matrix.T)
    truth = np.linalg.eigvalsh(problem.matrix)[::-1]
    np.testing.assert_allclose(truth, problem.values, rtol=0, atol=30 * n * EPS * np.abs(problem.values).max())


def test_eigenvectors_are_spread_over_all_coordinates():
    M = rotated(np.eye(1, 400)[0], seed=3)  # of rank one: the squares of an eigenvector lie on the diagonal
    assert np.diagonal(M).max() < 0.05


def test_there_are_enough_of_them():
    assert len(SPECTRA) >= 20 and len(KERNELS) >= 10


@pytest.mark.parametrize("name", KERNELS)
def test_kernel_matrices_are_positive_semidefinite_and_of_any_size(name):
    for n in (50, 700):
        problem = kernel_problem(name, n)
        assert problem.X.shape[0] == n and np.isfinite(problem.X).all()
    K = problem.kernel.tile(problem.kernel.points(problem.X))
    values = np.linalg.eigvalsh(K)
    assert values[0] >= -100 * len(K) * EPS * values[-1]
