"""Eigensolvers against LAPACK, and bounds that hold."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.linalg.eigen import SOLVERS, choose_solver, default_tol, top_eigenpairs
from mercer.linalg.operators import LowRank
from mercer.random_state import generator_from

RNG = np.random.default_rng(0)


def with_spectrum(values, seed=0):
    Q, _ = np.linalg.qr(np.random.default_rng(seed).standard_normal((len(values), len(values))))
    M = (Q * values) @ Q.T
    return (M + M.T) / 2


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 30),
    part=st.floats(0, 1),
    solver=st.sampled_from(["auto", "dense", "lanczos", "krylov", "arpack"]),
    positive=st.booleans(),
)
def test_random_matrices(seed, n, part, solver, positive):
    G = np.random.default_rng(seed).standard_normal((n, n))
    M = G @ G.T if positive else G + G.T
    k = 1 + int(part * (n - 1))
    pairs = top_eigenpairs(M, k, solver=solver, random_state=seed)
    truth = np.linalg.eigvalsh(M)[::-1]
    scale = np.abs(truth).max()
    np.testing.assert_allclose(pairs.values, truth[:k], atol=1e-9 * scale)
    assert np.all(np.abs(pairs.values - truth[:k]) <= pairs.errors + 1e-13 * n * scale)


@pytest.mark.parametrize("solver", ["dense", "lanczos", "krylov", "arpack", "power"])
def test_largest_algebraic_of_an_indefinite_matrix(solver):
    values = np.concatenate([[-10.0, -9.0], 0.6 ** np.arange(28)])
    pairs = top_eigenpairs(with_spectrum(values), 4, solver=solver, random_state=0)
    np.testing.assert_allclose(pairs.values, [1.0, 0.6, 0.36, 0.216], rtol=1e-7)


def test_randomized_finds_the_largest_magnitudes():
    values = np.concatenate([[-10.0, -9.0], 0.6 ** np.arange(28)])
    pairs = top_eigenpairs(with_spectrum(values), 3, solver="randomized", random_state=0)
    np.testing.assert_allclose(pairs.values, [1.0, -9.0, -10.0], rtol=1e-7)


@pytest.mark.parametrize("solver", ["auto", "arpack", "lanczos", "krylov"])
def test_more_copies_of_an_eigenvalue_than_are_asked_for(solver):
    """Lanczos finds some of them and good pairs below: what it missed must be looked for anew, not from there."""
    values = np.concatenate([np.ones(30), np.linspace(0.25, 0, 320)])
    pairs = top_eigenpairs(with_spectrum(values), 20, solver=solver)
    np.testing.assert_allclose(pairs.values, 1.0, rtol=1e-9)


@pytest.mark.parametrize("solver", ["dense", "lanczos", "krylov"])
@pytest.mark.parametrize("spread", [0.0, 1e-13, 1e-7])
def test_clustered_values(solver, spread):
    values = np.concatenate([1 - spread * np.arange(5), 0.5 ** np.arange(1, 96)])
    M = with_spectrum(values)
    pairs = top_eigenpairs(M, 6, solver=solver, random_state=0)
    np.testing.assert_allclose(pairs.values, np.sort(values)[::-1][:6], atol=1e-9)
    np.testing.assert_allclose(pairs.vectors.T @ pairs.vectors, np.eye(6), atol=1e-10)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("n", [1, 2, 5])
def test_every_pair_of_a_small_matrix(solver, n):
    M = with_spectrum(np.arange(1.0, n + 1))
    pairs = top_eigenpairs(M, n, solver=solver, random_state=0)
    np.testing.assert_allclose(pairs.values, np.arange(n, 0, -1.0), rtol=1e-9)
    assert pairs.residuals.max() < 1e-8


@pytest.mark.parametrize("solver", ["lanczos", "krylov", "arpack", "power"])
def test_tol_is_kept(solver):
    M = with_spectrum(0.97 ** np.arange(150))
    loose, tight = (top_eigenpairs(M, 3, solver=solver, tol=tol, random_state=0) for tol in (1e-3, 1e-12))
    assert tight.residuals.max() <= 2e-12 < loose.residuals.max() <= 2e-3


@pytest.mark.parametrize("solver", ["lanczos", "krylov", "power"])
def test_an_early_stop_says_how_far_it_came(solver):
    M = with_spectrum(0.97 ** np.arange(150))
    stopped = top_eigenpairs(M, 3, solver=solver, tol=1e-12, max_iter=2, random_state=0)
    recomputed = np.linalg.norm(M @ stopped.vectors - stopped.vectors * stopped.values, axis=0)
    np.testing.assert_allclose(stopped.residuals, recomputed, atol=1e-12)
    assert stopped.residuals.max() > 1e-6


def test_same_seed_same_bits():
    M = with_spectrum(0.9 ** np.arange(80))
    for solver in SOLVERS:
        a, b = (top_eigenpairs(M, 3, solver=solver, random_state=7) for _ in range(2))
        np.testing.assert_array_equal(a.vectors, b.vectors)


def test_low_rank_operator():
    F = RNG.standard_normal((60, 3))
    pairs = top_eigenpairs(LowRank(F), 5, solver="krylov", random_state=0)
    np.testing.assert_allclose(pairs.values[:3], np.linalg.eigvalsh(F.T @ F)[::-1], rtol=1e-10)
    np.testing.assert_allclose(pairs.values[3:], 0, atol=1e-9)


@pytest.mark.parametrize("solver", ["dense", "lanczos", "krylov", "randomized", "power", "arpack"])
def test_strict_arrays(solver):
    strict = pytest.importorskip("array_api_strict")
    M = with_spectrum(0.5 ** np.arange(40))
    pairs = top_eigenpairs(strict.asarray(M), 3, solver=solver, random_state=0)
    np.testing.assert_allclose(pairs.values, [1, 0.5, 0.25], rtol=1e-8)
    assert isinstance(pairs.vectors, type(strict.asarray(M)))


@pytest.mark.parametrize(("k", "solver", "match"), [(0, "auto", "k=0"), (4, "auto", "k=4"), (1, "qr", "Unknown")])
def test_bad_arguments(k, solver, match):
    with pytest.raises(ValueError, match=match):
        top_eigenpairs(np.eye(3), k, solver=solver)


@pytest.mark.parametrize(
    ("n", "k", "chosen"), [(90, 3, "dense"), (1000, 500, "dense"), (1000, 5, "lanczos"), (5000, 5, "krylov")]
)
def test_auto_can_be_asked(n, k, chosen):
    solver, reason = choose_solver(n, k)
    assert solver == chosen and str(n) in reason


def test_generators():
    assert generator_from(None).random() == generator_from(0).random()
    assert generator_from(np.random.RandomState(1)).random() == generator_from(np.random.RandomState(1)).random()
    rng = np.random.default_rng(5)
    assert generator_from(rng) is rng


# --- bounds ------------------------------------------------------------------------------------------------


def test_default_tolerances():
    assert default_tol(np.float64) == 1e-10 and default_tol(np.float32) == 1e-6
