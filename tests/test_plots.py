"""Displays: the artists hold the numbers, figures need no pyplot, and wrong input is refused in words."""

import subprocess
import sys

import numpy as np
import pytest
from matplotlib.colors import to_hex, to_rgba
from matplotlib.figure import Figure
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_circles
from sklearn.decomposition import PCA as SklearnPCA

from mercer import PCA, KernelPCA
from mercer.plots import FEW, MANY, ContourDisplay, EmbeddingDisplay, ScreeDisplay, new_figure, palette

X, RING = make_circles(120, factor=0.3, noise=0.05, random_state=0)


@pytest.fixture(scope="module")
def kpca():
    return KernelPCA(4, kernel="rbf", gamma=2.0).fit(X)


def drawn(display):
    """The points of a scatter in the order in which they came."""
    order = np.random.default_rng(0).permutation(len(display.coordinates))
    return np.asarray(display.points_.get_offsets())[np.argsort(order)], np.argsort(order)


# --- the embedding -----------------------------------------------------------------------------------------


def test_embedding_draws_the_scores_and_names_their_shares(kpca):
    display = EmbeddingDisplay.from_estimator(kpca, X, RING, components=(0, 2))
    assert_allclose(drawn(display)[0], kpca.transform(X)[:, [0, 2]])
    share = 100 * kpca.explained_variance_ratio_[2]
    assert display.ax_.get_ylabel() == f"component 3  ({share:.3g} % of variance)"


def test_embedding_names_classes_at_their_medians_in_their_colours():
    rng = np.random.default_rng(1)
    Z, labels = rng.standard_normal((60, 2)), np.repeat(["cat", "dog", "eel"], 20)
    Z[20:40] += 9
    Z[40:] -= 9
    display = EmbeddingDisplay.from_coordinates(Z, labels)
    assert [text.get_text() for text in display.texts_] == ["cat", "dog", "eel"]
    for i, text in enumerate(display.texts_):
        assert_allclose(text.get_position(), np.median(Z[20 * i : 20 * i + 20], axis=0))
        assert to_hex(text.get_bbox_patch().get_edgecolor()) == FEW[i].lower()
    points, back = drawn(display)
    assert_allclose(points, Z)
    assert_allclose(display.points_.get_facecolors()[back][:20, :3], [to_rgba(FEW[0])[:3]] * 20)


def test_embedding_key_can_be_a_legend_or_nothing():
    legend = EmbeddingDisplay.from_coordinates(X, RING, key="legend")
    assert [text.get_text() for text in legend.legend_.get_texts()] == ["0", "1"] and not legend.texts_
    bare = EmbeddingDisplay.from_coordinates(X, RING, key=None)
    assert bare.legend_ is None and not bare.texts_


def test_embedding_of_numbers_on_a_scale_has_a_colour_bar():
    values = np.linspace(0, 1, len(X))
    display = EmbeddingDisplay.from_coordinates(X, values)
    assert display.colorbar_ is not None
    assert_allclose(display.points_.get_array()[drawn(display)[1]], values)


def test_names_from_the_data_are_no_formulas():
    labels = np.where(RING > 0, r"$\bad{$", "_from $5 to $9")
    for key in ("medians", "legend"):
        display = EmbeddingDisplay.from_coordinates(X, labels, key=key)
        assert display._repr_png_().startswith(b"\x89PNG")
        texts = display.texts_ if key == "medians" else display.legend_.get_texts()
        assert sorted(text.get_text() for text in texts) == [r" _from \$5 to \$9", r"\$\bad{\$"]


def test_embedding_takes_lists():
    display = EmbeddingDisplay([[0.0, 1.0], [2.0, 3.0]], ["a", None]).plot()
    assert len(display.points_.get_offsets()) == 1


def test_embedding_without_labels_and_of_any_estimator():
    assert EmbeddingDisplay.from_coordinates(X).colorbar_ is None
    display = EmbeddingDisplay.from_estimator(SklearnPCA(2).fit(X), X)
    assert_allclose(drawn(display)[0], SklearnPCA(2).fit_transform(X))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"Z": X[:, :1]}, "need 2 columns"),
        ({"Z": X[:, 0]}, "need 2 columns"),
        ({"Z": X, "labels": RING[:-1]}, "there are 120 points"),
        ({"Z": X, "labels": RING, "key": "somewhere"}, "key='somewhere'"),
        ({"Z": np.where(np.arange(len(X))[:, None] == 3, np.nan, X)}, "1 of 120 points have NaN .* row 3"),
    ],
)
def test_embedding_refuses_what_does_not_fit(given, message):
    with pytest.raises(ValueError, match=message):
        EmbeddingDisplay.from_coordinates(**given)


# --- the spectrum ------------------------------------------------------------------------------------------


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
    with pytest.raises(ValueError, match="do not match"):
        ScreeDisplay([1.0, 2.0], [0.0])


# --- eigenfunctions ----------------------------------------------------------------------------------------


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
    with pytest.raises(ValueError, match="There are 4 components"):
        ContourDisplay.from_estimator(kpca, X, components=(4,))
    with pytest.raises(ValueError, match="as many axes"):
        ContourDisplay.from_estimator(kpca, X, components=(0, 1), ax=new_figure()[1], resolution=9)


# --- what they share ---------------------------------------------------------------------------------------


def test_displays_draw_into_given_axes_and_without_pyplot(kpca):
    code = (
        "import sys, numpy; from mercer.plots import EmbeddingDisplay as E;"
        "E.from_coordinates(numpy.eye(2))._repr_png_(); sys.exit('matplotlib.pyplot' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0
    ax = Figure().subplots()
    assert EmbeddingDisplay.from_estimator(kpca, X, ax=ax).ax_ is ax
    assert ScreeDisplay.from_estimator(kpca, ax=ax).figure_ is ax.figure


def test_import_mercer_does_not_import_matplotlib():
    code = "import sys, mercer; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0


@pytest.mark.parametrize("count", [1, 5, 6, 10, 11, 30])
def test_palette_gives_as_many_different_colours_as_asked(count):
    colours = palette(count)
    assert len(set(colours)) == len(colours) == count
    assert all(to_hex(colour) == colour.lower() for colour in colours)
    assert len(set(FEW)) == 5 and len(set(MANY)) == 10


def test_a_notebook_gets_a_png(kpca):
    assert ScreeDisplay.from_estimator(kpca)._repr_png_().startswith(b"\x89PNG")
