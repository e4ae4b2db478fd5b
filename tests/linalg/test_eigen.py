"""Eigensolvers against LAPACK, and bounds that hold."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import eigh

from mercer.linalg.eigen import MANY, SOLVERS, choose_solver, default_tol, top_eigenpairs
from mercer.linalg.operators import Centered, LowRank
from mercer.random_state import generator_from
from mercer.testing.spectra import SPECTRA, rotated

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


@pytest.mark.parametrize("name", ["flat", "graded 15", "repeated", "rank deficient", "one negative", "zero"])
@pytest.mark.parametrize("k", [MANY + 1, 320])
def test_random_probes_bound_every_residual(name, k):
    """The bound is ‖Gᵀr‖ over a low quantile; no χ² of 48 is above 200 in 1e19, so it is at most √(200/5.74) ‖r‖."""
    n, values = 320, SPECTRA[name](320, 10)
    M = rotated(values)
    pairs = top_eigenpairs(M, k, solver="dense")
    M, V = M.astype(np.longdouble), pairs.vectors.astype(np.longdouble)
    residuals = np.sqrt(((M @ V - V * pairs.values) ** 2).sum(axis=0)).astype(np.float64)
    rounding = 8 * n**0.5 * np.finfo(np.float64).eps * np.abs(values).max()
    assert np.all(residuals <= pairs.residuals)
    assert np.all(pairs.residuals <= (200 / 5.74) ** 0.5 * (residuals + rounding))
    np.testing.assert_allclose(pairs.values, np.sort(values)[::-1][:k], atol=rounding)


def test_probes_see_vectors_that_are_wrong(monkeypatch):
    """Columns turned by 1e-6 after LAPACK: each bound must be as large as the damage."""
    values = np.linspace(1.0, 2.0, 320)
    M, turned = rotated(values), 1e-6 * np.random.default_rng(1).standard_normal((320, 320)) / 320**0.5

    def slightly_wrong(*args, **options):
        found, vectors = eigh(*args, **options)
        return found, vectors + turned

    monkeypatch.setattr("mercer.linalg.eigen.eigh", slightly_wrong)
    pairs = top_eigenpairs(M, 320, solver="dense")
    true = np.linalg.norm(M @ pairs.vectors - pairs.vectors * pairs.values, axis=0)
    assert true.min() > 1e-8 and np.all(true <= pairs.residuals)


def test_a_matrix_that_may_be_spent_gives_the_same_pairs():
    A = np.random.default_rng(0).standard_normal((300, 300))
    kept, spent = (Centered.consuming(A + A.T) for _ in range(2))
    first, second = (top_eigenpairs(M, 300, spend=spend) for M, spend in ((kept, False), (spent, True)))
    np.testing.assert_array_equal(first.values, second.values)
    np.testing.assert_array_equal(first.vectors, second.vectors)
    np.testing.assert_array_equal(first.residuals, second.residuals)
    assert kept.matmat(first.vectors).shape == (300, 300)
    with pytest.raises(RuntimeError, match="given away"):
        spent.matmat(second.vectors)


@pytest.mark.parametrize("solver", ["arpack", "randomized"])
@pytest.mark.parametrize("seed", range(4))
def test_a_negative_value_of_a_hundredth_of_the_largest_is_seen(solver, seed):
    """Beside 399 others, whatever the start. Twelve steps of Lanczos missed it for every second start."""
    values = np.append(1 / np.arange(1.0, 400), -0.011)
    pairs = top_eigenpairs(np.diag(values), 1, solver=solver, random_state=seed)
    assert -0.011 * (1 + 1e-9) < pairs.lowest < -0.005
