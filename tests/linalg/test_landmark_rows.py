"""Landmarks: different rows that stand for all."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.metrics import pairwise_distances

from mercer.linalg.landmark_rows import METHODS, checked_landmarks, landmark_rows

RNG = np.random.default_rng(0)
X = RNG.standard_normal((200, 3))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_landmarks_are_different_rows_in_order_and_the_same_every_time(method, dtype):
    rows = landmark_rows(X.astype(dtype), 20, method, random_state=3)
    assert len(rows) == 20 and (np.diff(rows) > 0).all() and rows.min() >= 0 and rows.max() < 200
    assert_array_equal(rows, landmark_rows(X.astype(dtype), 20, method, random_state=3))


@pytest.mark.parametrize("method", METHODS)
def test_sparse_rows_have_the_landmarks_of_dense_ones(method):
    rows = np.where(RNG.random((150, 8)) < 0.4, RNG.standard_normal((150, 8)), 0.0)
    assert_array_equal(landmark_rows(rows, 12, method), landmark_rows(sp.csr_array(rows), 12, method))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("read", [np.asarray, np.ndarray.tolist, pd.DataFrame, sp.coo_array, sp.csc_array], ids=str)
def test_whole_numbers_lists_frames_and_every_sparse_format_are_read(read, method):
    rows = RNG.integers(-(10**6), 10**6, (60, 3))
    assert_array_equal(landmark_rows(read(rows), 7, method), landmark_rows(rows.astype(float), 7, method))


def test_what_is_not_finite_is_refused():
    with pytest.raises(ValueError, match="NaN"):
        landmark_rows(np.full((5, 2), np.nan), 3, "maxmin")


def test_farthest_first_covers_within_twice_the_best_radius():
    """Gonzalez 1985: m + 1 rows chosen farthest first lie at least r apart, so no m balls of radius below r/2 cover."""
    rows = landmark_rows(X, 15, "maxmin")
    D = pairwise_distances(X)
    covered = D[:, rows].min(axis=1).max()
    apart = D[np.ix_(rows, rows)][~np.eye(len(rows), dtype=bool)].min()
    assert apart >= covered * (1 - 1e-12)


def test_farthest_first_takes_copies_once():
    copies = np.repeat(RNG.standard_normal((7, 4)), 5, axis=0) + 1e3
    assert len(landmark_rows(copies, 20, "maxmin")) == 7


def test_pivots_leave_less_out_than_rows_at_random():
    """On clusters of very different sizes, random rows miss the small ones."""
    rows = np.vstack([RNG.standard_normal((495, 2)) * 0.01, [[10 * i, 10.0] for i in range(1, 6)]])
    assert set(range(495, 500)) <= set(landmark_rows(rows, 10, "rpcholesky", gamma=0.5))


def test_random_landmarks_are_drawn_evenly():
    """Each of 20 rows is chosen with probability 1/4; counts of 400 draws lie within 6 standard deviations."""
    counts = np.zeros(20)
    for seed in range(400):
        counts[landmark_rows(X[:20], 5, random_state=seed)] += 1
    assert abs(counts - 100).max() < 6 * np.sqrt(400 * 0.25 * 0.75)


def test_what_cannot_be_landmarks():
    with pytest.raises(ValueError, match="Unknown method 'best'"):
        landmark_rows(X, 5, "best")
    with pytest.raises(ValueError, match="positive number"):
        landmark_rows(X, 0)
    with pytest.raises(TypeError, match="whole numbers"):
        checked_landmarks([0.5], 10)
    for bad in ([1, 1], [10], [-1]):
        with pytest.raises(ValueError, match="different row numbers from 0 to 9"):
            checked_landmarks(bad, 10)
