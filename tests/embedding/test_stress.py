"""Stress: values and gradients are those of the definition, by NumPy and by compiled loops, and majorized."""

import numpy as np
import pytest
from scipy.optimize import isotonic_regression
from scipy.spatial.distance import pdist, squareform

from mercer.embedding.dissimilarities import Dissimilarities
from mercer.embedding.stress import COMPILED_ABOVE, MetricStress, MonotoneStress, curvature_of

RNG = np.random.default_rng(0)
SMALL, LARGE = 40, COMPILED_ABOVE + 76


def problem(n, c=2, missing=False):
    rows = np.random.default_rng(n).standard_normal((n, 5))
    D = squareform(pdist(rows))
    if missing:
        gaps = np.triu(np.random.default_rng(1).random((n, n)) < 0.3, 1)
        D[gaps | gaps.T] = np.nan
    return D, np.random.default_rng(2).standard_normal((n, c))


def by_definition(D, X, W=None):
    """Σ w(δ − d)² and half its gradient, in units."""
    d = squareform(pdist(X))
    w = np.where(np.isnan(D), 0.0, 1.0 if W is None else W)
    D = np.nan_to_num(D)
    ratio = np.divide(D, d, out=np.ones_like(d), where=d > 0)
    M = w * (1 - ratio)
    return (w * (D - d) ** 2).sum() / 2, M.sum(axis=1)[:, None] * X - M @ X, (w * d**2).sum() / 2


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [SMALL, LARGE])
def test_metric_stress(n, weighted, missing):
    D, X = problem(n, 3, missing)
    W = None
    if weighted:
        W = np.random.default_rng(3).random((n, n))
        W += W.T
    given = Dissimilarities.of_matrix(D, np.float64 if n == SMALL else None, None)
    value, gradient, squares = by_definition(D / given.unit, X, W)
    for found, tol in (
        (MetricStress(given, W, single=False).evaluate(X), 1e-12),
        (MetricStress(given, W, single=True).exact(X), 1e-12),
        # float32: each distance is right to a few units of 6e-8, and sums of a run to √512 of them
        (MetricStress(given, W, single=True).evaluate(X), 1e-5),
    ):
        assert found.value == pytest.approx(value, rel=tol) and found.squares == pytest.approx(squares, rel=tol)
        assert np.allclose(found.half_gradient, gradient, atol=tol * np.abs(gradient).max())


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("n", [SMALL, LARGE])
def test_monotone_stress_is_stress_1_and_its_gradient_the_slope(n, missing):
    D, X = problem(n, 2, missing)
    stress = MonotoneStress(Dissimilarities.of_matrix(D, np.float64, None), single=False)
    found = stress.evaluate(X)
    delta, d = squareform(D, checks=False), pdist(X)
    known = ~np.isnan(delta)
    order = np.flatnonzero(known)[np.argsort(delta[known])]
    fitted = isotonic_regression(d[order]).x
    share = ((fitted - d[order]) ** 2).sum() / (d[order] ** 2).sum()
    assert found.value == pytest.approx(known.sum() * share, rel=1e-9)
    # A central difference: wrong by h² times the third derivative, and by rounding, eps · value / h.
    direction, h = np.random.default_rng(4).standard_normal(X.shape), 1e-5
    slope = (stress.evaluate(X + h * direction).value - stress.evaluate(X - h * direction).value) / (2 * h)
    assert 2 * np.vdot(found.half_gradient, direction) == pytest.approx(slope, rel=1e-3)


@pytest.mark.parametrize("missing", [False, True])
def test_the_guttman_step_never_raises_the_stress(missing):
    D, X = problem(SMALL, 2, missing)
    W = np.random.default_rng(3).random((SMALL, SMALL)) ** 4
    given = Dissimilarities.of_matrix(D, np.float64, None)
    objectives = [MetricStress(given, single=False), MetricStress(given, W + W.T, single=False)]
    objectives.append(MonotoneStress(Dissimilarities.of_matrix(D, np.float64, None), single=False))
    for objective in objectives:
        Y = X
        for _ in range(30):
            here = objective.evaluate(Y)
            Y = Y - here.half_gradient / here.curvature
            assert objective.evaluate(Y).value <= here.value * (1 + 1e-12)


def test_the_curvature_bounds_the_laplacian_of_the_weights():
    D, _ = problem(SMALL, 2, missing=True)
    for W in (None, np.ones((SMALL, SMALL)), RNG.random((SMALL, SMALL)) ** 8):
        known = np.where(np.isnan(D), 0.0, 1.0)
        w = known if W is None else (W + W.T) / 2
        given = Dissimilarities.of_matrix(D if W is None else np.nan_to_num(D), np.float64, None)
        np.fill_diagonal(w, 0.0)
        m = np.broadcast_to(curvature_of(given, None if W is None else w), (SMALL, 1))[:, 0]
        V = np.diag(w.sum(axis=1)) - w
        assert np.linalg.eigvalsh(np.diag(m) - V).min() > -1e-9


def test_points_that_coincide_are_no_trouble():
    D, X = problem(SMALL)
    X[:3] = 0.0
    found = MetricStress(Dissimilarities.of_matrix(D, np.float64, None), single=False).evaluate(X)
    assert np.isfinite(found.half_gradient).all()
    D, X = problem(LARGE)
    X[:3] = X.mean(axis=0)
    found = MetricStress(Dissimilarities.of_matrix(D, None, None), single=True).evaluate(X)
    assert np.isfinite(found.half_gradient).all() and np.isfinite(found.value)
