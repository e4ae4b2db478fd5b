"""Neighbours, ranks and distances of some rows, against the whole table of distances in float64."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from mercer.graph.nearest_neighbors import build_index
from mercer.kernels import RBF

RNG = np.random.default_rng(0)


def true_ranks(D, rows, others):
    D = D[rows].copy()
    D[np.arange(len(rows)), rows] = np.inf
    limits = np.take_along_axis(D, others, axis=1)
    return 1 + (D[:, None, :] < limits[:, :, None]).sum(axis=2)


def clusters(n, d, dtype):
    """Tight clusters far apart: float32 tiles decide little here."""
    centres = 1e3 * RNG.standard_normal((7, d))
    return (centres[RNG.integers(0, 7, n)] + 1e-2 * RNG.standard_normal((n, d))).astype(dtype)


DATA = {
    "plain": lambda: RNG.standard_normal((2300, 12)),
    "float32": lambda: RNG.standard_normal((2300, 12)).astype(np.float32),
    "clusters": lambda: clusters(2300, 5, np.float64),
    "float32 clusters": lambda: clusters(2300, 5, np.float32),
    "whole numbers": lambda: RNG.integers(0, 3, (2300, 4)).astype(float),
    "far out": lambda: np.concatenate([RNG.standard_normal((2299, 3)), [[1e9, 0, 0]]]),
    "small scale": lambda: 1e-160 * RNG.standard_normal((2300, 4)),
    "few": lambda: RNG.standard_normal((40, 4)),
}


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("spread", ["near", "anywhere"])
def test_ranks_are_counts_of_nearer_rows(name, spread):
    X = DATA[name]()
    n = len(X)
    rows = RNG.permutation(n)[: min(n, 300)]
    index = build_index(X, method="tiles")
    D = cdist(X.astype(float) / np.abs(X).max(), X.astype(float) / np.abs(X).max(), "sqeuclidean")
    if spread == "near":
        others = index.nearest_of(rows, 6)[0].astype(int)
    else:
        others = (rows[:, None] + 1 + np.argsort(RNG.random((len(rows), n - 1)), axis=1)[:, :6]) % n
    assert_array_equal(index.ranks_of(rows, others), true_ranks(D, rows, others))


@pytest.mark.parametrize("method", ["tiles", "kd_tree"])
@pytest.mark.parametrize("n", [60, 2500])
def test_nearest_are_those_of_the_whole_index(method, n):
    X = RNG.standard_normal((n, 3))
    index = build_index(X, method=method)
    whole, rows = index.neighbors(5), RNG.permutation(n)[:50]
    places, distances = index.nearest_of(rows, 5)
    assert_array_equal(places, whole.indices[rows])
    assert_allclose(distances, whole.distances[rows], rtol=1e-12)


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "correlation", "manhattan", "sqeuclidean", RBF(gamma=0.3)])
@pytest.mark.parametrize("sparse", [False, True])
def test_pairs_of_any_metric(metric, sparse):
    X = RNG.standard_normal((50, 6)) * (RNG.random((50, 6)) < 0.6)
    X[3] = 0
    X[3, 0] = 1
    given = sp.csr_array(X) if sparse else X
    index = build_index(given, metric=metric)
    i, j = RNG.integers(0, 50, (2, 200))
    assert_allclose(index.distances_of(i, j), index.between(np.arange(50), np.arange(50))[i, j], atol=1e-7)


def test_a_sparse_large_table_has_the_ranks_of_the_dense_one():
    X = RNG.standard_normal((2000, 30)) * (RNG.random((2000, 30)) < 0.3)
    rows = np.arange(0, 2000, 7)
    others = RNG.integers(0, 2000, (len(rows), 4))
    others[others == rows[:, None]] = 1
    dense, sparse = build_index(X, method="tiles"), build_index(sp.csr_array(X))
    assert_array_equal(sparse.ranks_of(rows, others), dense.ranks_of(rows, others))


def test_copies_share_the_best_rank():
    X = np.repeat([[0.0], [1.0], [5.0]], [1, 3, 2], axis=0)
    index = build_index(X)
    assert_array_equal(index.ranks_of(np.array([0]), np.array([[1, 2, 3, 4, 5]])), [[1, 1, 1, 4, 4]])
