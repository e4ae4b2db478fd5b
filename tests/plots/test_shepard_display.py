"""Shepard's diagram counts pairs by their distances."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from numpy.testing import assert_allclose
from scipy.spatial.distance import pdist
from scipy.stats import spearmanr
from sklearn.datasets import load_digits

from mercer import PCA
from mercer.plots import (
    ShepardDisplay,
)

X, y = load_digits(return_X_y=True)


X, y = X[:200], y[:200]


Y = PCA(2).fit_transform(X)


def test_shepard_counts_pairs_by_their_distances():
    display = ShepardDisplay.from_coordinates(X, Y, bins=20)
    assert_allclose(np.sort(display.data), np.sort(pdist(X)))
    assert np.ma.filled(display.image_.get_array(), 0).sum() == 200 * 199 / 2
    assert display.correlation.value == pytest.approx(spearmanr(pdist(X), pdist(Y))[0])
    r, v = display.correlation.value, display.residual.value
    assert display.ax_.get_title() == f"rank correlation {r:.3f}, residual variance {v:.3f}"


def test_shepard_line_is_the_median_in_the_map():
    data = np.concatenate([np.full(100, 1.0), np.full(100, 3.0)])
    points = np.concatenate([np.linspace(0, 2, 100), np.full(100, 7.0)])
    display = ShepardDisplay(data, points).plot()
    assert_allclose(display.line_.get_ydata(), [1.0, 7.0])
    assert display.ax_.get_title() == ""


def test_shepard_of_a_sample_says_its_errors():
    display = ShepardDisplay.from_coordinates(X, Y, pairs=2000, random_state=1)
    assert len(display.data) == 2000 and display.correlation.error > 0
    assert display.ax_.get_title().count("±") == 2


def test_shepard_of_estimators_with_and_without_transform():
    assert ShepardDisplay.from_estimator(PCA(2).fit(X), X).data.size == 200 * 199 / 2

    class Fixed:
        embedding_ = Y

    assert_allclose(ShepardDisplay.from_estimator(Fixed(), X).points, pdist(Y), atol=1e-9)


def test_shepard_draws_constant_maps_and_given_axes_and_refuses_nonsense():
    ax = Figure().subplots()
    display = ShepardDisplay.from_coordinates(X, np.zeros((200, 2)), ax=ax)
    assert display.ax_ is ax
    display._repr_png_()
    with pytest.raises(ValueError, match="same pairs"):
        ShepardDisplay([1.0, 2.0], [1.0])
    with pytest.raises(ValueError, match="finite and not negative"):
        ShepardDisplay([1.0, np.nan], [1.0, 2.0])
    with pytest.raises(ValueError, match="X has 200 rows and Y has 3"):
        ShepardDisplay.from_coordinates(X, Y[:3])
    with pytest.raises(ValueError, match="at least 3 rows"):
        ShepardDisplay.from_coordinates(X[:2], Y[:2])
