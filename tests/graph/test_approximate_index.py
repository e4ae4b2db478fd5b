"""Neighbours in near cells: the recall is as stated, the distances are exact."""

import numpy as np
import pytest
from by_definition import agree, data
from scipy.spatial.distance import cdist

from mercer.graph.approximate_index import AIM
from mercer.graph.nearest_neighbors import build_index


def clusters(n=5000, d=12, seed=0):
    rng = np.random.default_rng(seed)
    centres = 4 * rng.standard_normal((15, d))
    return (centres[rng.integers(0, 15, n)] + rng.standard_normal((n, d))).astype(np.float32)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_the_recall_is_what_it_says(metric):
    """Within four standard errors of the recall over all rows, and near the aim; the distances found are exact."""
    X, Y = clusters(), clusters(1500, seed=0) + np.float32(0.01)
    built, exact = build_index(X, metric=metric, method="approximate"), build_index(X, metric=metric, method="tiles")
    for found, true in ((built.neighbors(10), exact.neighbors(10)), (built.query(Y, 10), exact.query(Y, 10))):
        recall = np.mean(found.distances <= true.distances[:, -1:])
        assert found.method == "approximate" and 0 < found.recall_error < 0.02
        assert abs(found.recall - recall) < 4 * found.recall_error
        assert recall > AIM - 0.03
        assert np.all(np.diff(found.distances, axis=1) >= 0)
        assert np.all(found.distances >= true.distances)
        same = found.indices == true.indices
        np.testing.assert_array_equal(found.distances[same], true.distances[same])
    rows = built.neighbors(10).indices
    assert not np.any(rows == np.arange(len(X))[:, None])
    assert all(len(np.unique(row)) == 10 for row in rows[:200])


def test_approximate_is_the_same_for_the_same_seed():
    X = clusters(3000)
    first, second = (build_index(X, method="approximate", random_state=3).neighbors(8) for _ in range(2))
    np.testing.assert_array_equal(first.indices, second.indices)
    np.testing.assert_array_equal(first.distances, second.distances)
    assert first.recall == second.recall
    assert np.mean(build_index(X, method="approximate", n_jobs=1).neighbors(8).indices >= 0) == 1


def test_approximate_with_more_neighbors_than_a_cell_holds():
    X = clusters(2000)
    found, true = build_index(X, method="approximate").neighbors(300), build_index(X, method="tiles").neighbors(300)
    assert found.indices.min() >= 0
    assert np.mean(found.distances <= true.distances[:, -1:]) > 0.95


def test_approximate_where_neighbors_are_everywhere():
    """In many dimensions without structure no few cells hold the neighbours of a row: all rows are compared."""
    X = data(3000, 60, dtype=np.float32)
    found = build_index(X, method="approximate").neighbors(5)
    assert found.method == "tiles" and found.recall == 1.0
    agree(found, cdist(X.astype(np.float64), X.astype(np.float64)), 5, 2e-7)


def test_approximate_on_copies():
    X = np.repeat(clusters(40), 50, axis=0)
    found = build_index(X, method="approximate").neighbors(20)
    assert not found.distances.any() and found.recall == 1.0
