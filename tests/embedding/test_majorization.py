"""Majorization: the stress never rises, the end is stationary, and it comes sooner than by Guttman transforms alone."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform
from sklearn.datasets import load_digits

from mercer.embedding import majorization
from mercer.embedding.dissimilarities import Dissimilarities
from mercer.embedding.majorization import majorize
from mercer.embedding.stress import MetricStress, MonotoneStress

ROWS = load_digits().data[:150]
START = np.random.default_rng(0).standard_normal((150, 2))


def objective(kind):
    given = Dissimilarities.of_matrix(squareform(pdist(ROWS)), np.float64, None)
    return MetricStress(given, single=False) if kind == "metric" else MonotoneStress(given, single=False)


@pytest.mark.parametrize("kind", ["metric", "monotone"])
def test_the_stress_of_the_map_never_rises(kind):
    stress = objective(kind)
    values = [stress.evaluate(START - START.mean(axis=0)).value]
    found = majorize(stress, START, max_iter=200, eps=1e-12, watch=lambda _, there, X: values.append(there.value))
    assert np.all(np.diff(values) < 0)
    assert found.evaluation.value == values[-1] == stress.evaluate(found.X).value


@pytest.mark.parametrize("kind", ["metric", "monotone"])
def test_the_end_is_stationary(kind):
    found = majorize(objective(kind), START, max_iter=3000, eps=1e-14)
    assert found.ended in (majorization.CONVERGED, majorization.STATIONARY)
    assert found.residual < 1e-4


def test_it_reaches_in_100_evaluations_what_guttman_transforms_do_not_in_200():
    stress = objective("metric")
    X = START - START.mean(axis=0)
    for _ in range(200):
        here = stress.evaluate(X)
        X = X - here.half_gradient / here.curvature
    assert majorize(stress, START, max_iter=100, eps=0.0).evaluation.value < stress.evaluate(X).value


def test_a_perfect_map_stays():
    points = np.random.default_rng(1).standard_normal((30, 2))
    given = Dissimilarities.of_matrix(squareform(pdist(points)), np.float64, None)
    found = majorize(MetricStress(given, single=False), points / given.unit, max_iter=50, eps=0.0)
    assert found.evaluation.value < 1e-25 and found.ended == majorization.STATIONARY


def test_a_single_step_is_a_guttman_transform():
    stress = objective("metric")
    X = START - START.mean(axis=0)
    here = stress.evaluate(X)
    assert np.allclose(majorize(stress, START, max_iter=1, eps=0.0).X, X - here.half_gradient / len(X))
