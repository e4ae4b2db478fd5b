"""The sum over all pairs, by a grid or from some points."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from mercer.quality.partition import Partition

RNG = np.random.default_rng(11)


def test_the_sum_over_all_pairs_by_a_grid_and_from_some_points():
    Y = RNG.standard_normal((3000, 2))
    D2 = cdist(Y, Y, "sqeuclidean")
    Z = Partition(Y, np.random.default_rng(0))
    for s in (1e-3, 1.0, 40.0):
        exact = np.log((1 / (1 + s * s * D2)).sum() - 3000)
        assert Z(s) == pytest.approx(exact, abs=1e-3) and Z.error == 0
        assert Z.roughly(s) == pytest.approx(exact, abs=0.1)
    some = [Partition(Y, np.random.default_rng(seed), rows=1000, widest=0.0) for seed in range(20)]
    off = np.array([one(40.0) - exact for one in some])
    assert some[0].error > 0 and np.std(off) == pytest.approx(np.mean([one.error for one in some]), rel=0.5)
    assert abs(off.mean()) < np.std(off)
