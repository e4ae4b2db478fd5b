"""Residual variance, straight and along a graph."""

import numpy as np
import pytest
from sklearn.datasets import make_swiss_roll

from mercer import Isomap, quality
from mercer.exceptions import DisconnectedGraphError
from mercer.graph.geodesics import Geodesics
from mercer.graph.nearest_neighbors import build_index

RNG = np.random.default_rng(5)


def test_residual_variance_along_a_graph_is_isomaps():
    X = make_swiss_roll(300, random_state=0)[0]
    isomap = Isomap(n_neighbors=8).fit(X)
    found = quality.residual_variance(X, isomap.embedding_, n_neighbors=8)
    assert found.value == pytest.approx(isomap.residual_variance_[1], abs=1e-9)
    D = Geodesics(build_index(X).neighbors(8).graph(300)).from_nodes(np.arange(300))
    given = quality.residual_variance(D, isomap.embedding_, metric="precomputed")
    assert found.value == pytest.approx(given.value, abs=1e-10)
    straight = quality.residual_variance(X, isomap.embedding_)
    assert straight.value > 1.5 * found.value


def test_residual_variance_refuses_a_graph_in_parts():
    X = np.concatenate([RNG.standard_normal((40, 2)), RNG.standard_normal((40, 2)) + 1e3])
    with pytest.raises(DisconnectedGraphError, match="raise n_neighbors"):
        quality.residual_variance(X, X, n_neighbors=5)


def test_standard_error_along_a_graph_is_that_of_repeated_samples():
    X = make_swiss_roll(250, random_state=0)[0]
    Y = X[:, :2]
    exact = quality.residual_variance(X, Y, n_neighbors=10, sample=None)
    found = [quality.residual_variance(X, Y, n_neighbors=10, sample=50, random_state=seed) for seed in range(60)]
    values, errors = np.array([one.value for one in found]), np.array([one.error for one in found])
    assert exact.error == 0 and exact.rows == 250 * 249 // 2
    assert abs(values.mean() - exact.value) < 4 * values.std() / np.sqrt(60) + 2e-3
    assert values.std() == pytest.approx(errors.mean(), rel=0.35)


def test_the_residual_variance_of_a_map_that_knows_nothing_has_an_error():
    """R is about 0 there, and the slope of R² with it."""
    X, Y = RNG.standard_normal((150, 3)), RNG.standard_normal((150, 2))
    found = [quality.residual_variance(X, Y, sample=400, random_state=seed) for seed in range(60)]
    assert min(one.error for one in found) > 2e-3
    apart = np.array([one.value for one in found]) - quality.residual_variance(X, Y, sample=None).value
    assert np.sqrt(np.mean(apart**2)) < 2 * np.mean([one.error for one in found])
