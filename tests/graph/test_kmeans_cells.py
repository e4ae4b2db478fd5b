"""Cells hold every row once, each row is in the cell of its nearest centre, and cells are ranked by distance."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from mercer.graph.kmeans_cells import divide, nearest_centre


@pytest.mark.parametrize("n, d, count", [(5, 2, 1), (200, 3, 14), (2500, 8, 50)])
def test_cells_are_those_of_the_nearest_centres(n, d, count):
    rows = np.random.default_rng(n).standard_normal((n, d))
    cells = divide(rows, count, np.random.default_rng(0))
    D = cdist(rows, cells.centres)
    np.testing.assert_array_equal(cells.of_row, D.argmin(axis=1))
    np.testing.assert_array_equal(np.sort(cells.order), np.arange(n))
    assert np.all(np.diff(cells.starts) > 0)  # no cell is empty
    for cell in range(len(cells.centres)):
        assert np.all(cells.of_row[cells.order[cells.run(cell)]] == cell)
    np.testing.assert_array_equal(cells.nearest[:, 0], np.arange(len(cells.centres)))
    ranked = np.take_along_axis(cdist(cells.centres, cells.centres), cells.nearest.astype(int), axis=1)
    assert np.all(np.diff(ranked, axis=1) >= -1e-12)


def test_copies_fill_one_cell():
    cells = divide(np.ones((50, 2)), 7, np.random.default_rng(0))
    assert len(cells.centres) == 1 and cells.starts.tolist() == [0, 50]


def test_the_nearest_centre_is_the_same_on_any_number_of_threads():
    rng = np.random.default_rng(0)
    rows, centres = rng.standard_normal((3000, 4)), rng.standard_normal((30, 4))
    np.testing.assert_array_equal(nearest_centre(rows, centres, 1), nearest_centre(rows, centres, 2))
