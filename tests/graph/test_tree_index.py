"""Trees decide what they can, and leave ties and far rows to whole rows of distances."""

import numpy as np
import pytest
from by_definition import agree, data
from scipy.spatial.distance import cdist

from mercer.graph.nearest_neighbors import build_index


@pytest.mark.parametrize("method", ["kd_tree", "ball_tree"])
def test_many_ties_are_decided_by_index(method):
    """On a grid most rows have many neighbours at one distance: more than the tree is asked for."""
    X = np.array([(i, j) for i in range(12) for j in range(12)], float)
    for k in (1, 4, 7):
        agree(build_index(X, method=method).neighbors(k), cdist(X, X), k)
    copies = np.repeat(data(3, 2), 40, axis=0)
    agree(build_index(copies, method=method).neighbors(5), cdist(copies, copies), 5)


@pytest.mark.parametrize("p", [1.0, 2.0, np.inf])
def test_pairs_within_a_radius_include_those_at_the_radius(p):
    X = np.array([(i, j) for i in range(5) for j in range(5)], float)
    found = build_index(X, metric="minkowski", p=p, method="kd_tree").within(1.0)
    D = cdist(X, X, "chebyshev") if p == np.inf else cdist(X, X, "minkowski", p=p)
    assert found.nnz == np.sum(D <= 1.0) - len(X)
    np.testing.assert_array_equal(found.data, 1.0)
