"""Level sets are values of the eigenfunctions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import make_circles

from mercer import KernelPCA
from mercer.plots import ContourDisplay, new_figure

X, RING = make_circles(120, factor=0.3, noise=0.05, random_state=0)


@pytest.fixture(scope="module")
def kpca():
    return KernelPCA(4, kernel="rbf", gamma=2.0).fit(X)


def test_contours_are_values_of_the_eigenfunctions(kpca):
    display = ContourDisplay.from_estimator(kpca, X, RING, components=(0, 3), resolution=15)
    assert len(display.axes_) == len(display.lines_) == 2
    for i, j in ((0, 0), (3, 11), (14, 2)):
        place = np.array([[display.x[j], display.y[i]]])
        assert_allclose(display.values[:, i, j], [kpca.eigenfunctions_[c](place)[0] for c in (0, 3)], atol=1e-12)


def test_contour_levels_are_symmetric_about_a_thick_zero(kpca):
    display = ContourDisplay.from_estimator(kpca, X, components=(1,), resolution=15, levels=7)
    levels, widths = display.lines_[0].levels, np.broadcast_to(display.lines_[0].get_linewidths(), (7,))
    assert_allclose(levels, -levels[::-1], atol=1e-12)
    assert np.argmin(np.abs(levels)) == np.argmax(widths)


def test_contours_take_axes_of_your_own(kpca):
    _, axes = new_figure(2)
    assert ContourDisplay.from_estimator(kpca, X, components=(0, 1), ax=axes, resolution=9).axes_ == axes
    assert ContourDisplay.from_estimator(kpca, X, components=(0,), ax=axes[0], resolution=9).axes_ == axes[:1]


def test_contours_refuse_what_is_not_a_plane_or_not_there(kpca):
    with pytest.raises(ValueError, match="2 columns, not shape"):
        ContourDisplay.from_estimator(kpca, np.ones((5, 3)))
    with pytest.raises(ValueError, match="only 4 components"):
        ContourDisplay.from_estimator(kpca, X, components=(4,))
    with pytest.raises(ValueError, match="functions need 2 axes"):
        ContourDisplay.from_estimator(kpca, X, components=(0, 1), ax=new_figure()[1], resolution=9)
