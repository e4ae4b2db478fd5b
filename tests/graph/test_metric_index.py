"""Distances of any metric, of functions and of kernels."""

import numpy as np
import pytest
from by_definition import agree, data, definition
from scipy.spatial.distance import cdist

from mercer.graph.nearest_neighbors import build_index
from mercer.kernels import RBF
from mercer.kernels.discrete import Spectrum


def test_metrics_with_parameters_and_functions():
    X = data(80)
    V = X.var(axis=0, ddof=1)
    agree(build_index(X, metric="seuclidean").neighbors(4), cdist(X, X, "seuclidean", V=V), 4)
    VI = np.linalg.inv(np.cov(X.T))
    agree(build_index(X, metric="mahalanobis").neighbors(4), cdist(X, X, "mahalanobis", VI=VI), 4, 1e-9)
    w = np.arange(1.0, 7.0)
    weighted = build_index(X, metric="minkowski", metric_params={"w": w})
    agree(weighted.neighbors(4), cdist(X, X, "minkowski", p=2, w=w), 4)
    agree(build_index(X, metric=lambda x, y: np.abs(x - y).sum()).neighbors(4), cdist(X, X, "cityblock"), 4)
    bits = X > 0.3
    agree(build_index(bits, metric="jaccard").neighbors(4), cdist(bits, bits, "jaccard"), 4)
    places = np.random.default_rng(0).uniform(-1, 1, (60, 2))
    built = build_index(places, metric="haversine")
    assert built.method == "ball_tree"
    a, b = places[:, None, :], places[None, :, :]
    half = np.sin((a - b) / 2) ** 2
    D = 2 * np.arcsin(np.sqrt(half[..., 0] + np.cos(a[..., 0]) * np.cos(b[..., 0]) * half[..., 1]))
    agree(built.neighbors(4), D, 4, 1e-9)


@pytest.mark.parametrize("kernel", [RBF(gamma="median"), RBF(gamma=0.3) + 0.5 * RBF(gamma=3.0)])
def test_the_distance_of_a_kernel(kernel):
    X, Y = data(70), data(20, seed=3)
    K, cross = kernel.bind(X)(X), kernel.bind(X)(Y, X)
    D = np.sqrt(np.maximum(np.diag(K)[:, None] + np.diag(K)[None, :] - 2 * K, 0))
    built = build_index(X, metric=kernel)
    np.testing.assert_allclose(built.neighbors(6).distances, definition(D, 6)[1], rtol=1e-7)
    own = np.diag(kernel.bind(X)(Y))
    between = np.sqrt(np.maximum(own[:, None] + np.diag(K)[None, :] - 2 * cross, 0))
    np.testing.assert_allclose(built.query(Y, 6).distances, definition(between, 6)[1], rtol=1e-7)
    np.testing.assert_allclose(built.between([1, 2], [3, 4, 5]), D[np.ix_([1, 2], [3, 4, 5])], rtol=1e-7)


def test_strings():
    words = ["abab", "abba", "bbbb", "aaba", "abab"]
    built = build_index(words, metric=Spectrum(2))
    K = Spectrum(2)(words)
    D = np.sqrt(np.diag(K)[:, None] + np.diag(K)[None, :] - 2 * K)
    agree(built.neighbors(3), D, 3)
    assert built.query(["abab"], 2).indices.tolist() == [[0, 4]]
    with pytest.raises(TypeError, match="one string per sample"):
        built.query([1.0], 1)
