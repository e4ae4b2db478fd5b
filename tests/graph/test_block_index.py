"""Whole rows of distances: neighbours, ranks and single pairs by definition."""

import numpy as np
import pytest
from by_definition import data, definition
from scipy.spatial.distance import cdist

from mercer.graph.block_index import smallest
from mercer.graph.nearest_neighbors import build_index


@pytest.mark.parametrize("k", [1, 3, 8])
def test_the_smallest_come_in_order_and_ties_by_column(k):
    D = np.random.default_rng(0).integers(0, 4, (40, 8)).astype(float)
    columns, values = smallest(D, k)
    order = np.lexsort((np.broadcast_to(np.arange(8), D.shape), D), axis=1)[:, :k]
    np.testing.assert_array_equal(columns, order)
    np.testing.assert_array_equal(values, np.take_along_axis(D, order, axis=1))


@pytest.mark.parametrize("method, metric", [("brute", "canberra"), ("tiles", "euclidean"), ("kd_tree", "euclidean")])
def test_the_questions_of_scores(method, metric, compiled):
    """Neighbours of some rows, ranks of some pairs and their distances, from the matrix of all distances."""
    X = data(120, 3)
    D = cdist(X, X, metric)
    built, rows = build_index(X, method=method, metric=metric), np.array([3, 119, 0])
    places, distances = built.nearest_of(rows, 5)
    expected = definition(D, 5)
    np.testing.assert_array_equal(places, expected[0][rows])
    np.testing.assert_allclose(distances, expected[1][rows], rtol=1e-12)
    others = np.array([[1, 2], [3, 4], [60, 61]])
    nearer = (D[rows][:, None, :] < np.take_along_axis(D[rows], others, axis=1)[:, :, None]).sum(axis=2)
    np.testing.assert_array_equal(built.ranks_of(rows, others), nearer)  # D counts the row itself, a rank starts at 1
    np.testing.assert_allclose(built.distances_of(rows, others[:, 0]), D[rows, others[:, 0]], rtol=1e-12)
