"""Pictures of a diagnosis of neighbours hold its numbers."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import make_swiss_roll

from mercer import diagnose_neighbors
from mercer.plots import (
    NeighborsDisplay,
    ShortcutsDisplay,
)


def test_displays_of_neighbours_are_here_and_where_they_were():
    from mercer import selection

    assert selection.NeighborsDisplay is NeighborsDisplay and selection.ShortcutsDisplay is ShortcutsDisplay


COUNTS = [5, 8, 12, 16]


@pytest.fixture(scope="module")
def roll():
    """With noise: two edges between the sheets at 12 neighbours, none before."""
    return make_swiss_roll(1000, noise=0.5, random_state=0)


@pytest.fixture(scope="module")
def found(roll):
    return diagnose_neighbors(roll[0], COUNTS)


def two_squares(gap):
    rng = np.random.default_rng(0)
    return np.concatenate([rng.random((150, 2)), rng.random((90, 2)) + np.array([1 + gap, 0])])


def test_the_picture_holds_the_numbers(found):
    display = found.plot()
    assert_allclose(display.points_.get_offsets(), np.column_stack([COUNTS, found.residual_variance]))
    assert_allclose([bar.get_height() for bar in display.bars_], found.share)
    assert [int(text.get_text()) for text in display.texts_] == found.n_shortcuts[2:].tolist()
    assert all(mark.get_xdata()[0] == found.recommended for mark in display.marks_)
    with pytest.raises(ValueError, match="needs two axes"):
        found.plot(ax=display.axes_[:1])
    apart = diagnose_neighbors(two_squares(3.0), [4, 8]).plot()
    assert [text.get_text() for text in apart.texts_] == ["2 parts", "2"]


def test_shortcuts_are_drawn_over_the_data(roll, found):
    X, along = roll
    display = found.plot_shortcuts(X[:, [0, 2]], along, n_neighbors=12)
    table = found.shortcuts[2]
    segments = np.array(display.lines_.get_segments())
    assert_allclose(segments, np.stack([X[table.i][:, [0, 2]], X[table.j][:, [0, 2]]], axis=1))
    with pytest.raises(ValueError, match=r"must have shape \(n, 2\)"):
        found.plot_shortcuts(X)
    with pytest.raises(ValueError, match="7 neighbours were not examined; these were: 5, 8, 12, 16"):
        found.plot_shortcuts(X[:, :2], n_neighbors=7)


X = np.random.default_rng(0).random((40, 2))
