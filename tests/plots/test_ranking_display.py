"""The picture of a ranking holds its scores."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

from mercer.selection import (
    select_kernel,
)

WINE, CULTIVAR = load_wine(return_X_y=True)


WINE = scale(WINE)


@pytest.fixture(scope="module")
def selection():
    return select_kernel(WINE, CULTIVAR, ["linear", ("rbf", {"gamma": 0.04}), ("laplacian", {"gamma": 0.06})])


def test_picture(selection):
    display = selection.plot()
    assert [t.get_text() for t in display.ax_.get_yticklabels()] == list(selection.scores)
    points = np.asarray(display.points_.get_offsets())
    assert_allclose(points[:, 0], list(selection.scores.values()))
    assert_array_equal(points[:, 1], [0, 1, 2])
    first = display.bars_.get_segments()[0]
    assert_allclose(first[1, 0] - first[0, 0], 2 * selection.ranking[0].standard_error)
    assert display._repr_png_().startswith(b"\x89PNG") and not display.texts_


def test_picture_with_numbers_of_components():
    found = select_kernel(WINE, candidates=["linear", "rbf"], n_permutations=3)
    first, second = (entry.n_components for entry in found.ranking)
    assert first != second
    assert [text.get_text() for text in found.plot().texts_] == [f"{first} components", str(second)]
