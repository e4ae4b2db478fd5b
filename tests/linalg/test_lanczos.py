"""Thick-restart Lanczos on the suite of spectra: right for every one, and quick to see when LAPACK is better."""

import numpy as np
import pytest

from mercer.linalg.eigen import top_eigenpairs
from mercer.linalg.lanczos import KrylovSpace, direct_cost, lanczos, largest_basis
from mercer.linalg.operators import Centered, Dense
from mercer.testing.spectra import SPECTRA, rotated, spectrum_problem

EPS = np.finfo(np.float64).eps


def solve(M, k, tol=1e-10, **options):
    options = {"max_products": 20 * len(M), "rng": np.random.default_rng(0), **options}
    return lanczos(Dense(M), k, allowed=lambda values: np.full(k, tol * np.abs(values).max()), **options)


@pytest.mark.parametrize("name", SPECTRA)
@pytest.mark.parametrize("k", [2, 10])
def test_every_spectrum(name, k):
    """Values to a tenth of the tolerance's room, residuals to the tolerance, vectors orthonormal; copies are found."""
    n, tol = 150, 1e-10
    problem = spectrum_problem(name, n, k)
    found = solve(problem.matrix, k, tol)
    size = np.abs(problem.values).max()
    rounding = 100 * n * EPS * size  # of the matrix as it was made, and of products with it
    assert found.converged and not found.given_up
    np.testing.assert_allclose(found.values, problem.values[:k], rtol=0, atol=tol * size + rounding)
    unit = size or 1.0
    residual = problem.matrix / unit @ found.vectors - found.vectors * (found.values / unit)
    assert np.linalg.norm(residual, axis=0).max() <= (tol * size + rounding) / unit
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(k), atol=1e-12)
    assert found.lowest >= problem.values[-1] - rounding


@pytest.mark.parametrize("k", [1, 3, 39])
def test_the_space_may_fill_all_dimensions(k):
    M = spectrum_problem("flat", 40, k).matrix
    np.testing.assert_allclose(solve(M, k).values, np.linspace(1.0, 0.9, 40)[:k], atol=1e-12)


def test_a_krylov_space_is_orthonormal_and_knows_its_projection_after_a_restart():
    problem = spectrum_problem("flat", 200, 5)
    space = KrylovSpace(lambda v: problem.matrix @ v, 200, 60, np.random.default_rng(0))
    space.begin()
    space.extend(60)
    values, S, residuals = space.ritz()
    vectors = space.vectors(S[:, :20])
    true = np.linalg.norm(vectors @ problem.matrix - values[:20, None] * vectors, axis=1)
    np.testing.assert_allclose(residuals[:20], true, atol=1e-13)
    space.shrink(values[:20], S[:, :20])
    space.extend(45)
    V = space.basis[:45]
    np.testing.assert_allclose(V @ V.T, np.eye(45), atol=1e-12)
    upper = np.triu(V @ problem.matrix @ V.T)
    np.testing.assert_allclose(np.triu(space.T[:45, :45]), upper, atol=1e-12)


@pytest.mark.parametrize("name", ["inverse", "root", "mirrored", "graded 15", "scale 1e-14"])
@pytest.mark.parametrize("k", [1, 4, 15])
def test_a_glance_and_a_selection_agree_with_all_ritz_pairs(name, k):
    """Of one start, T is tridiagonal: a part of its eigenpairs is the part of them all, vectors up to their sign."""
    problem = spectrum_problem(name, 120, k)
    space = KrylovSpace(lambda v: problem.matrix @ v, 120, 60, np.random.default_rng(0))
    space.begin()
    space.extend(50)
    assert space.tridiagonal
    values, S, residuals = space.ritz()
    rounding = 50 * 120 * EPS * np.abs(values).max()
    glanced, residual = space.glance(k)
    np.testing.assert_allclose(glanced, values, rtol=0, atol=rounding)
    np.testing.assert_allclose(residual, residuals[k - 1], rtol=0, atol=rounding)
    some, vectors, rests = space.ritz(k)
    np.testing.assert_allclose(some, values[:k], rtol=0, atol=rounding)
    np.testing.assert_allclose(rests, residuals[:k], rtol=0, atol=rounding)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(k), atol=1e-12)
    T = np.triu(space.T[:50, :50]) + np.triu(space.T[:50, :50], 1).T
    np.testing.assert_allclose(T @ vectors, vectors * some, rtol=0, atol=rounding)
    space.shrink(values[:20], S[:, :20])
    assert not space.tridiagonal


@pytest.mark.parametrize("name", ["semicircle", "clusters 1e-9"])
def test_auto_turns_to_lapack_where_that_is_cheaper_and_says_so(name):
    problem = spectrum_problem(name, 400, 5)
    pairs = top_eigenpairs(problem.matrix, 5)
    assert pairs.solver == "dense" and "LAPACK costs less" in pairs.reason
    assert pairs.passes < direct_cost(400, 5)
    np.testing.assert_allclose(pairs.values, problem.values[:5], atol=1e-12)
    asked = top_eigenpairs(problem.matrix, 5, solver="lanczos")
    assert asked.solver == "lanczos" and asked.residuals.max() <= 1e-10


@pytest.mark.parametrize("n", [200, 620])
@pytest.mark.parametrize("seed", range(20))
def test_a_copy_of_the_first_value_is_found_whatever_the_start(n, seed):
    """Values 1, 1, 0.9, 0.45, …: one start sees one of the first two, and would give 0.9 as the second."""
    values = np.append([1.0, 1.0], 0.9 / np.arange(1, n - 1))
    found = top_eigenpairs(rotated(values), 2, random_state=seed)
    np.testing.assert_allclose(found.values, 1.0, atol=1e-10)


@pytest.mark.parametrize("n", [300, 620])
@pytest.mark.parametrize("seed", range(6))
def test_many_copies_are_all_found(n, seed):
    """Fifty-three copies, fifty wanted: pairs with small residuals are no answer while copies may be missing."""
    problem = spectrum_problem("repeated", n, 50)
    found = top_eigenpairs(problem.matrix, 50, random_state=seed)
    np.testing.assert_allclose(found.values, 1.0, atol=1e-10)


@pytest.mark.parametrize("name", ["inverse", "graded 15", "rank deficient", "mirrored", "scale 1e-150"])
def test_auto_stays_with_lanczos_where_few_products_are_enough(name):
    pairs = top_eigenpairs(spectrum_problem(name, 400, 5).matrix, 5)
    assert pairs.solver == "lanczos" and pairs.passes < 100


def test_max_products_is_kept():
    problem = spectrum_problem("flat", 300, 3)
    A = Dense(problem.matrix)
    options = {"allowed": lambda values: np.full(3, 1e-12), "rng": np.random.default_rng(0)}
    found = lanczos(A, 3, max_products=40, **options)
    assert A.passes == 40 and not found.converged and not found.given_up


def test_an_operator_that_is_not_stored():
    problem = spectrum_problem("inverse", 200, 4)
    centred = Centered(Dense(problem.matrix))
    pairs = top_eigenpairs(centred, 4, solver="lanczos")
    truth = np.linalg.eigvalsh(centred.to_dense())[::-1][:4]
    np.testing.assert_allclose(pairs.values, truth, atol=1e-10)


@pytest.mark.parametrize(("n", "k"), [(3, 2), (300, 10), (2500, 50), (100_000, 2)])
def test_a_basis_has_room_for_the_pairs_and_no_more_than_there_are_rows(n, k):
    assert k < largest_basis(n, k) <= n


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_a_quick_end_still_looks_for_negative_values(seed):
    """1/i² has its largest value after a dozen products; a few more are made before an answer stands."""
    values = np.append(1 / np.arange(1.0, 150) ** 2, -0.0105)
    pairs = top_eigenpairs(np.diag(values), 1, solver="lanczos", random_state=seed)
    assert pairs.passes >= 20 or pairs.lowest < -0.01
    assert -0.0105 * (1 + 1e-9) < pairs.lowest < -0.005
