"""Kernels of counts and categories."""

import numpy as np

from mercer.kernels import (
    Hamming,
)


def test_hamming_counts_equal_coordinates():
    np.testing.assert_allclose(Hamming()([[1.0, 2, 3], [1, 5, 3]]), [[1, 2 / 3], [2 / 3, 1]])
