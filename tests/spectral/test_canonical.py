"""Canonical pairs solve the problem they state, and their residuals say how well."""

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import eigh

from mercer.spectral.canonical import View, canonical_pairs, top_singular_triplets

RNG = np.random.default_rng(3)
N = 120
SHARED = RNG.standard_normal((N, 2))
F = SHARED @ RNG.standard_normal((2, 5)) + RNG.standard_normal((N, 5)) + 2
G = SHARED @ RNG.standard_normal((2, 4)) + RNG.standard_normal((N, 4)) - 7
CENTRED = F - F.mean(axis=0), G - G.mean(axis=0)


def penalised(v, reg):
    C = CENTRED[v].T @ CENTRED[v] / N
    return C + reg * np.trace(C) * np.eye(len(C))


def generalised_eigenvalues(regs):
    """[0 C₁₂; C₂₁ 0] w = ρ [C₁ + λ₁I 0; 0 C₂ + λ₂I] w, ρ descending."""
    C12 = CENTRED[0].T @ CENTRED[1] / N
    A = np.block([[np.zeros((5, 5)), C12], [C12.T, np.zeros((4, 4))]])
    B = np.block([[penalised(0, regs[0]), np.zeros((5, 4))], [np.zeros((4, 5)), penalised(1, regs[1])]])
    return eigh(A, B, eigvals_only=True)[::-1]


@pytest.mark.parametrize("regs", [(0.0, 0.0), (1e-13, 1e-13), (1e-3, 1e-3), (0.5, 0.0), (0.02, 3.0)])
def test_pairs_solve_the_generalised_eigenproblem(regs):
    pairs = canonical_pairs(View(F, regs[0]), View(G, regs[1]), 4)
    assert_allclose(pairs.correlations, generalised_eigenvalues(regs)[:4], atol=1e-10)
    w, u = pairs.weights
    C12 = CENTRED[0].T @ CENTRED[1] / N
    assert_allclose(C12 @ u, penalised(0, regs[0]) @ w * pairs.correlations, atol=1e-9)
    assert_allclose(C12.T @ w, penalised(1, regs[1]) @ u * pairs.correlations, atol=1e-9)
    assert_allclose(w.T @ penalised(0, regs[0]) @ w, np.eye(4), atol=1e-9)  # scale, and uncorrelated with one another
    assert_allclose(u.T @ penalised(1, regs[1]) @ u, np.eye(4), atol=1e-9)
    assert_allclose(pairs.penalties, [reg * np.trace(penalised(v, 0)) for v, reg in enumerate(regs)])
    assert pairs.residuals.shape == (4, 2) and pairs.residuals.max() < 1e-12


def test_what_the_factor_left_out_counts_in_the_penalty():
    pairs = canonical_pairs(View(F, 0.1, left_out=12.0), View(G, 0.1), 2)
    assert_allclose(pairs.penalties[0], 0.1 * (np.trace(penalised(0, 0)) + 12.0 / N))


@pytest.mark.parametrize("reg", [0.0, 1e-6, 1e-2])
def test_float32_factors(reg):
    exact = canonical_pairs(View(F, reg), View(G, reg), 3)
    rough = canonical_pairs(View(F.astype(np.float32), reg), View(G.astype(np.float32), reg), 3)
    assert_allclose(rough.correlations, exact.correlations, atol=1e-4)


def test_columns_that_add_nothing_are_left_out():
    """With a penalty of zero C is singular here, and its null space must not be divided by."""
    twice = np.column_stack([F, F[:, :2], np.ones(N)])
    pairs = canonical_pairs(View(twice, 0.0), View(G, 0.0), 4)
    assert pairs.ranks == (5, 4)
    assert_allclose(pairs.correlations, canonical_pairs(View(F, 0.0), View(G, 0.0), 4).correlations, atol=1e-9)


def test_a_view_that_does_not_vary_has_no_pairs():
    for reg in (0.0, 0.1):
        pairs = canonical_pairs(View(np.full((N, 2), 0.1), reg, trace=0.02 * N), View(G, reg), 3)
        assert len(pairs.correlations) == 0 and pairs.variances[0] == 0.0 and pairs.ranks[0] == 0
        assert pairs.weights[0].shape == (2, 0) and pairs.weights[1].shape == (4, 0)


def test_no_more_pairs_than_directions():
    assert len(canonical_pairs(View(F, 0.1), View(G[:, :1], 0.1), 3).correlations) == 1


@given(seed=st.integers(0, 10**6))
def test_invariance_under_linear_maps_without_a_penalty(seed):
    rng = np.random.default_rng(seed)
    A, B = rng.standard_normal((5, 5)) + 3 * np.eye(5), rng.standard_normal((4, 4)) + 3 * np.eye(4)
    moved = canonical_pairs(View(F @ A + rng.standard_normal(5), 0.0), View(G @ B, 0.0), 3)
    assert_allclose(moved.correlations, canonical_pairs(View(F, 0.0), View(G, 0.0), 3).correlations, atol=1e-7)


@given(seed=st.integers(0, 10**6), power=st.floats(-60, 60))
def test_rotations_and_scales_change_nothing_with_a_penalty(seed, power):
    """The penalty is relative to the variance, so units do not matter."""
    Q = np.linalg.qr(np.random.default_rng(seed).standard_normal((5, 5)))[0]
    moved = canonical_pairs(View(10**power * F @ Q, 0.1), View(G, 0.1), 3)
    assert_allclose(moved.correlations, canonical_pairs(View(F, 0.1), View(G, 0.1), 3).correlations, rtol=1e-9)


# --- singular triplets ---------------------------------------------------------------------------------------


def matrix(values, m1=420, m2=350):
    rng = np.random.default_rng(0)
    U, V = (np.linalg.qr(rng.standard_normal((m, len(values))))[0] for m in (m1, m2))
    return U * values @ V.T


@pytest.mark.parametrize("k", [1, 5, 40, 100])
@pytest.mark.parametrize("turned", [False, True])
def test_triplets_are_those_of_the_whole_decomposition(k, turned):
    T = matrix(0.97 ** np.arange(350))
    T = T.T if turned else T
    rho, U, V = top_singular_triplets(T, k)
    assert_allclose(rho, 0.97 ** np.arange(k), rtol=1e-10)
    assert_allclose(T @ V, U * rho, atol=1e-8)
    assert_allclose(T.T @ U, V * rho, atol=1e-8)
    assert_allclose(U.T @ U, np.eye(k), atol=1e-10)


def test_many_equal_values():
    """As reg=0 makes them: a method that starts from one vector sees one of each."""
    T = matrix(np.r_[np.ones(30), np.linspace(0.5, 0, 320)])
    rho, _, V = top_singular_triplets(T, 20)
    assert_allclose(rho, 1.0, rtol=1e-9)
    assert_allclose(V.T @ V, np.eye(20), atol=1e-9)


def test_lapack_takes_over_where_residuals_are_too_large():
    steep = 10.0 ** -np.arange(0, 8.75, 0.025)
    T = matrix(steep)
    usual, searched, whole = (
        top_singular_triplets(T, 40, **options)[0] for options in ({}, {"good": np.inf}, {"good": 0})
    )
    assert_array_equal(usual, searched)
    assert_array_equal(whole, scipy.linalg.svd(T, full_matrices=False)[1][:40])
    assert_allclose(usual, steep[:40], rtol=1e-8)
    assert_allclose(whole, steep[:40], rtol=1e-12)


def test_nothing_is_asked_for():
    rho, U, V = top_singular_triplets(np.zeros((5, 0)), 0)
    assert rho.shape == (0,) and U.shape == (5, 0) and V.shape == (0, 0)
