"""Canonical pairs from two Cholesky factors are those of the definition, with honest residuals."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import KernelCCA
from mercer.exceptions import NotConvergedWarning
from mercer.kernels import RBF
from mercer.spectral.whole_canonical import Smoother, whole_pairs

RNG = np.random.default_rng(0)
T = RNG.uniform(-3, 3, 120)
X = np.c_[np.cos(T), np.sin(T)] + 0.2 * RNG.standard_normal((120, 2))
Y = np.c_[np.sin(2 * T), RNG.standard_normal(120)]


def explicit(K, reg):
    """R = K̃(K̃ + μI)⁻¹ as a matrix."""
    n = len(K)
    H = np.eye(n) - 1 / n
    centred = H @ K @ H
    mu = reg * np.trace(centred)
    return centred @ np.linalg.inv(centred + mu * np.eye(n))


def root(R):
    values, vectors = np.linalg.eigh(R)
    return vectors * np.sqrt(np.maximum(values, 0)) @ vectors.T


def sides(regs, gamma=1.0):
    rng = np.random.default_rng(0)
    return [Smoother(RBF(gamma)(view), reg, rng) for view, reg in zip((X, Y), regs, strict=True)]


@pytest.mark.parametrize("regs", [(1e-3, 1e-3), (1e-6, 1e-2), (10.0, 1.0)])
@pytest.mark.parametrize("k", [1, 5])
def test_pairs_are_the_singular_triplets_of_the_two_smoothers(regs, k):
    R = [explicit(RBF(1.0)(view), reg) for view, reg in zip((X, Y), regs, strict=True)]
    true = np.linalg.svd(root(R[0]) @ root(R[1]))[1][:k]
    found = whole_pairs(*sides(regs), k, np.random.default_rng(1))
    digits = 1e-14 / min(regs)  # R is computed from a matrix of condition number 1/reg
    assert_allclose(found.correlations, true, atol=1e-11 + digits)
    first, second = found.scores
    assert_allclose(R[0] @ second, first * found.correlations, atol=1e-7 + 100 * digits)
    assert_allclose(R[1] @ first, second * found.correlations, atol=1e-7 + 100 * digits)
    assert_allclose(first.T @ second / 120, np.diag(found.correlations), atol=1e-8 + 100 * digits)


@pytest.mark.parametrize("steps", [1, 2, 40])
def test_residuals_bound_the_error_of_the_correlations_however_early_the_search_stops(steps, recwarn):
    """Each ρ that is returned has a singular value of T within its residual."""
    R = [explicit(RBF(1.0)(view), 1e-3) for view in (X, Y)]
    all_values = np.linalg.svd(root(R[0]) @ root(R[1]))[1]
    found = whole_pairs(*sides((1e-3, 1e-3)), 3, np.random.default_rng(1), steps=steps)
    away = np.abs(all_values[:, None] - found.correlations).min(axis=0)
    assert np.all(away <= found.residuals.max(axis=1))
    assert bool([w for w in recwarn if w.category is NotConvergedWarning]) == (steps < 3)


def test_coefficients_and_offsets_give_the_scores():
    found = whole_pairs(*sides((1e-3, 1e-3)), 3, np.random.default_rng(1))
    for view, scores, coefs, offset in zip((X, Y), found.scores, found.coefs, found.offsets, strict=True):
        assert_allclose(RBF(1.0)(view) @ coefs - offset, scores, atol=1e-9)
        assert_allclose(coefs.sum(axis=0), 0, atol=1e-10)


def test_a_restarted_search_finds_the_same_pairs():
    """Narrow kernels have a flat spectrum, which takes more than one search space."""
    found = whole_pairs(*sides((0.1, 0.1), gamma=300.0), 4, np.random.default_rng(1))
    R = [explicit(RBF(300.0)(view), 0.1) for view in (X, Y)]
    assert_allclose(found.correlations, np.linalg.svd(root(R[0]) @ root(R[1]))[1][:4], atol=1e-9)


def test_a_constant_view_has_no_pairs():
    rng = np.random.default_rng(0)
    flat = Smoother(np.ones((120, 120)), 1e-3, rng)
    assert flat.variance == 0.0
    assert len(whole_pairs(flat, Smoother(RBF(1.0)(X), 1e-3, rng), 2, rng).correlations) == 0


@pytest.mark.parametrize("below", [1e-4, 1e-3, 1.0])
def test_an_eigenvalue_below_zero_is_noticed(below):
    """By the factor if it lies below −μ, by Lanczos if not: here μ is 1e-3 of the trace."""
    turn = np.linalg.qr(RNG.standard_normal((120, 120)))[0]
    values = 0.9 ** np.arange(120)
    values[-1] = -below * values.sum()
    rng = np.random.default_rng(0)
    assert Smoother(turn * values @ turn.T, 1e-3, rng).negative > 0.1 * min(below, 1e-3)
    assert Smoother(turn * np.abs(values) @ turn.T, 1e-3, rng).negative == 0.0


# --- through the estimator -------------------------------------------------------------------------------

LONG = RNG.uniform(-3, 3, 530)
LEFT = np.c_[np.cos(LONG), np.sin(LONG), RNG.standard_normal((530, 3))]
RIGHT = np.c_[np.sin(2 * LONG), RNG.standard_normal((530, 3))]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_whole_matrices_give_the_pairs_of_their_complete_factors(dtype):
    left, right = LEFT.astype(dtype), RIGHT.astype(dtype)
    whole = KernelCCA(3, gamma="median").fit(left, right)
    factored = KernelCCA(3, gamma="median", rank=530).fit(left, right)
    assert "Cholesky" in whole.report_.reason and whole.report_.name == "whole matrices"
    close = 1e-10 if dtype == np.float64 else 2e-5
    assert_allclose(whole.correlations_, factored.correlations_, atol=close)
    assert whole.x_scores_.dtype == whole.transform(left).dtype == dtype
    for ours, other in zip(whole.transform(left, right), factored.transform(left, right), strict=True):
        assert_allclose(np.abs(ours), np.abs(other), atol=1e-6 if dtype == np.float64 else 0.02)
    assert_allclose(whole.transform(left), whole.x_scores_, atol=1e-9 if dtype == np.float64 else 1e-3)


def test_matrices_of_low_rank_are_factored_instead():
    flat = KernelCCA(2, kernel="linear").fit(LEFT, RIGHT)
    assert flat.rank_ == (5, 4) and "factors of 5 and 4 columns" in flat.report_.reason
    mixed = KernelCCA(2, kernel="linear", kernel_y="rbf").fit(LEFT, RIGHT)  # one view alone: both are whole
    assert mixed.rank_ == (530, 530)
    other = KernelCCA(2, kernel="linear", kernel_y="rbf", rank=530).fit(LEFT, RIGHT)
    assert_allclose(mixed.correlations_, other.correlations_, atol=1e-10)


def test_progress_is_reported_on_request(capsys):
    KernelCCA(1, gamma="median", verbose=True).fit(LEFT, RIGHT)
    told = capsys.readouterr().err
    assert "KernelCCA: pass 1, largest residual" in told and "whole matrices" in told
    KernelCCA(1, gamma="median").fit(LEFT, RIGHT)
    assert capsys.readouterr().err == ""


def test_an_indefinite_matrix_is_refused():
    K = RBF(0.5)(LEFT)
    vector = np.linalg.eigh(K)[1][:, 0]
    K -= 30 * np.outer(vector, vector)
    with pytest.raises(ValueError, match="not positive semidefinite"):
        KernelCCA(1, kernel="precomputed", kernel_y="rbf").fit(K, RIGHT)
