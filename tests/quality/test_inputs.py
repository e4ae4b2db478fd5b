"""Reading data, maps and labels: one answer for every form of the same rows, and refusals that say what to do."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from mercer.quality.inputs import checked_labels, checked_map, checked_neighbors, data_index, most_neighbors, rows_of

X = np.random.default_rng(0).standard_normal((40, 3))


def test_a_map_may_come_as_a_column_a_list_or_a_sparse_matrix():
    assert checked_map(X[:, 0]).shape == (40, 1)
    assert_array_equal(checked_map(X.tolist()), X)
    assert_array_equal(checked_map(sp.csr_matrix(X)), X)
    with pytest.raises(ValueError, match="NaN"):
        checked_map(np.full((3, 2), np.nan))


def test_rows_of_an_index_are_those_of_the_data():
    rows = np.array([3, 17, 4])
    D = np.linalg.norm(X[:, None] - X, axis=2)
    for data, metric in ((X, "euclidean"), (D, "precomputed")):
        part = rows_of(data_index(data, metric), metric, rows)
        assert part.n == 3
        assert_array_equal(part.neighbors(2).indices, data_index(X[rows], "euclidean").neighbors(2).indices)


def test_a_sparse_graph_is_refused_because_scores_need_all_distances():
    with pytest.raises(ValueError, match="sparse graph of distances"):
        data_index(sp.csr_matrix(np.eye(4)), "precomputed")


@pytest.mark.parametrize("n", [3, 4, 5, 100, 101])
def test_ranks_are_defined_below_half_of_the_rows(n):
    most = most_neighbors(n)
    assert most < n / 2 <= most + 1
    assert checked_neighbors(most, n) == most
    for k in (0, most + 1, 1.5, True):
        with pytest.raises(ValueError, match="n_neighbors="):
            checked_neighbors(k, n)


def test_labels_become_numbers_and_missing_ones_minus_one():
    for labels in (["b", None, "a", "b"], [2.0, np.nan, 1.0, 2.0], np.array(["b", None, "a", "b"], object)):
        assert_array_equal(checked_labels(np.asarray(labels), 4), [1, -1, 0, 1])
    with pytest.raises(ValueError, match="on a scale"):
        checked_labels(np.array([0.5, 1.0]), 2)
    with pytest.raises(ValueError, match=r"shape \(2,\)"):
        checked_labels([1, 2], 3)
