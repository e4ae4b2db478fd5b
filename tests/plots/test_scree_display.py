"""Error bars of a spectrum are its certificate."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_circles
from sklearn.decomposition import PCA as SklearnPCA

from mercer import PCA, KernelPCA
from mercer.plots import ScreeDisplay, new_figure

X, RING = make_circles(120, factor=0.3, noise=0.05, random_state=0)


@pytest.fixture(scope="module")
def kpca():
    return KernelPCA(4, kernel="rbf", gamma=2.0).fit(X)


def bars(display):
    """Centres and half-lengths of the error bars, read off the artists."""
    line, _, (segments,) = display.bars_
    ends = np.array(segments.get_segments())[:, :, 1]
    return np.asarray(line.get_ydata()), (ends[:, 1] - ends[:, 0]) / 2


@pytest.mark.parametrize("solver", ["dense", "rpcholesky"])
def test_scree_bars_are_the_certificate(solver):
    kpca = KernelPCA(4, kernel="rbf", gamma=2.0, eigen_solver=solver, rank=20).fit(X)
    values, lengths = bars(ScreeDisplay.from_estimator(kpca, log=False))
    assert_array_equal(values, kpca.eigenvalues_)
    assert_allclose(lengths, kpca.eigenvalue_error_, atol=1e-14)


def test_scree_of_pca_has_residuals_as_error_bars():
    pca = PCA(2, svd_solver="covariance_eigh").fit(X)
    display = ScreeDisplay.from_estimator(pca)
    assert_array_equal(bars(display)[0], pca.explained_variance_)
    assert_allclose(display.errors, pca.residuals_)
    assert display.ax_.get_ylabel() == "variance λ"


def test_certificate_draws_residuals_and_bounds(kpca):
    _, (left, right) = new_figure(2)
    display = ScreeDisplay.from_estimator(kpca, ax=left).plot_certificate(ax=right)
    assert_array_equal(display.bounds_.get_ydata(), kpca.eigenvalue_error_)
    assert_array_equal(display.residuals_.get_ydata(), kpca.residuals_)
    assert_array_equal(display.residuals_.get_xdata(), [1, 2, 3, 4])
    assert right.get_yscale() == "log"


def test_scree_scale_stays_readable_when_a_bar_reaches_zero():
    display = ScreeDisplay([8.0, 2.0], [1.0, 3.0]).plot()
    assert display.ax_.get_ylim()[0] == pytest.approx(2 / 3)


def test_scree_draws_a_spectrum_of_zeros():
    ScreeDisplay([0.0, 0.0], [0.0, 0.0]).plot().figure_.canvas.draw()


def test_scree_refuses_what_has_no_certificate():
    with pytest.raises(TypeError, match="PCA has no eigenvalues with errors"):
        ScreeDisplay.from_estimator(SklearnPCA(2).fit(X))
    with pytest.raises(ValueError, match="both must be"):
        ScreeDisplay([1.0, 2.0], [0.0])
