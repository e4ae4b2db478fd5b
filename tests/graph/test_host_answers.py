"""An index of tensors answers the questions of scores in NumPy arrays, as the index of the same arrays does."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.graph.host_answers import HostAnswers
from mercer.graph.nearest_neighbors import build_index

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
X = np.random.default_rng(0).standard_normal((50, 3))
ROWS, OTHERS = np.array([4, 0, 31]), np.array([[1, 2], [5, 9], [0, 49]])


def test_answers_are_those_of_arrays():
    there, here = HostAnswers(build_index(torch.as_tensor(X, device=DEVICE))), build_index(X, method="tiles")
    assert there.n == 50
    for found, expected in zip(there.nearest_of(ROWS, 5), here.nearest_of(ROWS, 5), strict=True):
        assert isinstance(found, np.ndarray)
        assert_allclose(found, expected, rtol=1e-12)
    assert_array_equal(there.ranks_of(ROWS, OTHERS), here.ranks_of(ROWS, OTHERS))
    assert_allclose(there.distances_of(ROWS, OTHERS[:, 0]), here.distances_of(ROWS, OTHERS[:, 0]), rtol=1e-12)
    assert_allclose(there.between(ROWS, ROWS), here.between(ROWS, ROWS), rtol=1e-12, atol=1e-12)
    assert_array_equal(there.neighbors(3).indices, here.neighbors(3).indices)
    labels = np.repeat([0, 1], 25)
    for found, expected in zip(
        there.closest_pairs(labels, np.arange(25)), here.closest_pairs(labels, np.arange(25)), strict=True
    ):
        assert_allclose(found, expected, rtol=1e-12)
