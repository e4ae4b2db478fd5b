"""Discriminant directions against direct transcriptions, and leaving one out against leaving one out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.linalg.operators import Dense
from mercer.linalg.weighted import WeightedCentered
from mercer.spectral.scatter import (
    Classes,
    DualSpectrum,
    Penalised,
    ScatterSpectrum,
    directions,
    left_out,
    scatter,
)

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
