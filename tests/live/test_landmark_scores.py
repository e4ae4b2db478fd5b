"""Scores on landmarks: exact if all rows are landmarks, otherwise eigenvalues too small by at most their bound."""

import numpy as np
import pytest

from mercer import KernelPCA
from mercer.kernels import RBF, Polynomial
from mercer.live.landmark_scores import LandmarkScores


@pytest.fixture
def rows():
    return np.random.default_rng(0).normal(size=(150, 3)).astype(np.float32)


@pytest.mark.parametrize("kernel", [RBF(gamma=0.3), Polynomial(degree=2, gamma=0.5)])
def test_all_rows_as_landmarks_give_kernel_pca(rows, kernel):
    answer = LandmarkScores(rows, 150)(kernel, 3)
    exact = KernelPCA(3, kernel=kernel, eigen_solver="dense").fit(rows.astype(np.float64))
    # The matrix is computed in float32: an entry is off by a few eps of the largest, n of them in a row.
    eps = 50 * np.finfo(np.float32).eps * len(rows)
    assert np.allclose(answer.values, exact.eigenvalues_, rtol=eps)
    assert np.isclose(answer.total, 150 * exact.total_variance_, rtol=eps)


def test_eigenvalues_are_too_small_by_at_most_the_bound(rows):
    exact = KernelPCA(4, kernel=RBF(gamma=0.3), eigen_solver="dense").fit(rows.astype(np.float64))
    for landmarks in (5, 20, 60):
        answer = LandmarkScores(rows, landmarks)(RBF(gamma=0.3), 4)
        slack = 1e-3 * exact.eigenvalues_[0]  # float32
        assert np.all(answer.values <= exact.eigenvalues_ + slack)
        assert np.all(exact.eigenvalues_ <= answer.values + answer.bound + slack)
        assert answer.total >= 150 * exact.total_variance_ - slack
        assert np.allclose((answer.scores**2).sum(axis=0), answer.values, rtol=1e-2)
