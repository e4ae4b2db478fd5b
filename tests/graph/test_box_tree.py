"""The tree of boxes finds the closest pairs of different labels that a look at all pairs finds."""

import numpy as np
import pytest
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from mercer.graph.box_tree import BoxTree


def by_looking_at_all(X, labels, rows, p):
    """Of each label among those of `rows`, the closest pair with another label; ties by the smaller indices."""
    D = cdist(X, X, "chebyshev") if p == np.inf else cdist(X, X, "minkowski", p=p)
    D[labels[:, None] == labels[None, :]] = np.inf
    found = []
    for label in np.unique(labels[rows]):
        own = np.flatnonzero(labels == label)
        i, j = np.unravel_index(np.argmin(D[own]), D[own].shape)
        found.append((own[i], j, D[own[i], j]))
    return found


@pytest.mark.parametrize("p", [1.0, 2.0, 3.0, np.inf])
@pytest.mark.parametrize("n, d, parts", [(2, 1, 2), (17, 2, 3), (600, 3, 7)])
def test_the_closest_pairs_are_those_of_all_pairs(n, d, parts, p):
    rng = np.random.default_rng(n)
    X, labels = rng.standard_normal((n, d)), np.arange(n) % parts
    tree = BoxTree(X, cKDTree(X).indices)
    i, j, distances = tree.closest(labels, np.arange(n), p, None)
    expected = by_looking_at_all(X, labels, np.arange(n), p)
    np.testing.assert_array_equal(i, [pair[0] for pair in expected])
    np.testing.assert_array_equal(j, [pair[1] for pair in expected])
    np.testing.assert_allclose(distances, [pair[2] for pair in expected], rtol=1e-12)


def test_only_the_labels_that_are_asked_for_are_answered():
    X, labels = np.arange(9.0)[:, None] ** 1.5, np.array([0, 0, 0, 1, 1, 1, 2, 2, 2])
    tree = BoxTree(X, np.arange(9))
    i, j, _ = tree.closest(labels, np.array([7]), 2.0, 1)
    assert (i.tolist(), j.tolist()) == ([6], [5])
