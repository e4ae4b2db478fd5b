"""The order of map points in memory: near in the order is near in the map, and P follows."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from mercer.embedding.z_order import reordered, z_order

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("c", [1, 2, 3])
def test_near_in_the_order_is_near_in_the_map(c):
    Y = RNG.standard_normal((4000, c)).astype(np.float32)
    order = z_order(Y)
    assert_array_equal(np.sort(order), np.arange(4000))
    steps = np.linalg.norm(np.diff(Y[order], axis=0), axis=1).mean()
    assert steps < 0.2 * np.linalg.norm(np.diff(Y, axis=0), axis=1).mean()
    assert_array_equal(z_order(np.zeros((5, c))), np.arange(5))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_reordered_affinities_are_the_same_matrix(n_jobs):
    P = sp.random_array((300, 300), density=0.05, rng=RNG, dtype=np.float32, format="csr")
    order = RNG.permutation(300)
    assert_array_equal(reordered(P, order, n_jobs).toarray(), P.toarray()[np.ix_(order, order)])
