"""Gaps: distances to the nearest row, in units of those that rows usually have."""

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.live.data_gaps import DataGaps
from mercer.live.live_table import LiveTable


def test_a_gap_is_the_distance_to_the_nearest_row_over_the_usual_one():
    X = np.random.default_rng(0).normal(size=(200, 3))
    gaps = DataGaps(LiveTable.of(X))
    distances = np.linalg.norm(X[:, None] - X, axis=2)
    np.fill_diagonal(distances, np.inf)
    usual = np.median(distances.min(axis=1))
    for place in ([0.0, 0.0, 0.0], [5.0, 5.0, 5.0]):
        to_rows = np.linalg.norm(X - place, axis=1)
        nearest, gap = gaps(np.array(place))
        assert nearest == to_rows.argmin() and gap == pytest.approx(to_rows.min() / usual)


def test_copies_alone_have_no_gap():
    assert DataGaps(LiveTable.of(np.ones((5, 2))))(np.array([9.0, 9.0]))[1] == 0


def test_a_sparse_table_is_refused():
    with pytest.raises(ValueError, match="sparse"):
        DataGaps(LiveTable.of(sp.eye_array(4, format="csr")))
