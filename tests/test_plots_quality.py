"""Displays of quality, of pre-images and of many or missing labels: the artists hold the numbers."""

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import pdist
from scipy.stats import spearmanr
from sklearn.datasets import load_digits

from mercer import PCA, TSNE, KernelPCA, quality
from mercer.plots import (
    EmbeddingDisplay,
    NeighborsDisplay,
    PreimageDisplay,
    QualityDisplay,
    ShepardDisplay,
    ShortcutsDisplay,
    new_figure,
)
from mercer.plots.label_placement import settled

RNG = np.random.default_rng(0)
X, y = load_digits(return_X_y=True)
X, y = X[:200], y[:200]
Y = PCA(2).fit_transform(X)


# --- Shepard ---------------------------------------------------------------------------------------------------


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
    with pytest.raises(ValueError, match="from 3 rows on"):
        ShepardDisplay.from_coordinates(X[:2], Y[:2])


# --- scores ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def reports():
    other = TSNE(random_state=0, max_iter=250, perplexity=10).fit_transform(X)
    return {
        "PCA": quality.report(X, Y, labels=y, sample=80, perplexity=10),
        "t-SNE": quality.report(X, other, sample=80, perplexity=10),
    }


def test_quality_marks_are_scores_with_intervals(reports):
    display = QualityDisplay.from_reports(reports)
    assert len(display.axes_) == 2 and display.lines_[1] == ["residual_variance", "kl_divergence"]
    for panel, names in enumerate(display.lines_):
        for map_, report in reports.items():
            line, _, (segments,) = display.bars_[panel][map_]
            shown = [report[name] for name in names if name in report]
            assert_allclose(line.get_xdata(), [score.value for score in shown])
            ends = np.array(segments.get_segments())[:, :, 0]
            assert_allclose((ends[:, 1] - ends[:, 0]) / 2, [1.96 * score.error for score in shown])
    ticks = [text.get_text() for text in display.axes_[1].get_yticklabels()]
    assert ticks == ["residual variance", "KL divergence"]
    assert [text.get_text() for text in display.legend_.get_texts()] == ["PCA", "t-SNE"]
    places = display.bars_[0]["PCA"][0].get_ydata(), display.bars_[0]["t-SNE"][0].get_ydata()
    assert not np.isin(places[0], places[1]).any()  # no mark over another


def test_quality_of_one_map_needs_no_legend_and_takes_axes(reports):
    _, axes = new_figure(2)
    display = QualityDisplay.from_report(reports["PCA"], "PCA", ax=axes)
    assert display.axes_ == axes and display.legend_ is None
    display._repr_png_()
    with pytest.raises(ValueError, match="2 axes are needed"):
        QualityDisplay.from_report(reports["PCA"], ax=axes[0])
    with pytest.raises(ValueError, match="nothing to draw"):
        QualityDisplay({})
    only = QualityDisplay({"map": [reports["PCA"]["continuity"]]}).plot()
    assert len(only.axes_) == 1


@pytest.mark.filterwarnings("error")
def test_quality_of_many_maps_with_odd_names_names_all():
    names = ["_hidden", r"$\bad{$", *(f"a long name of map number {k}, and so on" for k in range(8))]
    score = quality.Score("trustworthiness", 0.9, 0.01, 10, 1.0, "")
    display = QualityDisplay({name: [score] for name in names}).plot()
    texts = display.legend_.get_texts()
    assert len(texts) == 10 and texts[0].get_text().strip() == "_hidden"
    display._repr_png_()
    edges = [text.get_window_extent() for text in texts]
    width = display.figure_.bbox.width
    assert all(edge.x0 >= 0 and edge.x1 <= width for edge in edges)
    places = sorted(float(bar[0].get_ydata()[0]) for bar in display.bars_[0].values())
    inches = np.diff(places).min() * display.axes_[0].get_window_extent().height / display.figure_.dpi / 1.1
    assert inches > 0.05  # a mark is 0.08 high


# --- pre-images ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [PCA(8), KernelPCA(8, kernel="rbf", gamma=1e-3, fit_inverse_transform=True)])
def test_preimages_are_what_comes_back(model):
    model.fit(X)
    noisy = X[:5] + RNG.standard_normal((5, 64))
    display = PreimageDisplay.from_estimator(model, X[:5], noisy=noisy)
    assert list(display.images) == ["original", "noisy", "pre-image"]
    back = model.inverse_transform(model.transform(noisy)).reshape(5, 8, 8)
    assert_allclose(display.images["pre-image"], back)
    mosaic = np.ma.filled(display.image_.get_array(), np.nan)
    assert mosaic.shape == (3 * 8 + 2, 5 * 8 + 4)
    assert_allclose(mosaic[18:26, 9:17], back[1])
    assert np.isnan(mosaic[8]).all() and np.isnan(mosaic[:, 8]).all()
    assert display.image_.get_clim() == (X[:5].min(), X[:5].max())
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == list(display.images)


def test_preimages_without_noise_of_other_shapes_and_in_colour():
    display = PreimageDisplay.from_estimator(PCA(3).fit(X), X[:2], shape=(4, 16))
    assert list(display.images) == ["original", "pre-image"] and display.images["original"].shape == (2, 4, 16)
    colour = PreimageDisplay({"row": RNG.random((2, 3, 4, 3))}).plot(ax=Figure().subplots())
    assert colour.image_.get_array().shape == (3, 9, 3)
    assert_array_equal(np.asarray(colour.image_.get_array())[:, 4], np.ones((3, 3)))
    colour._repr_png_()


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: PreimageDisplay.from_estimator(PCA(2).fit(X), X, shape=(3, 3)), "9 numbers, and X has 64"),
        (lambda: PreimageDisplay.from_estimator(PCA(2).fit(X[:, :60]), X[:, :60]), "make no square"),
        (lambda: PreimageDisplay.from_estimator(PCA(2).fit(X), X[:3], noisy=X[:2]), "noisy has shape"),
        (lambda: PreimageDisplay.from_estimator(PCA(2).fit(X), X[0]), "an image a row"),
        (lambda: PreimageDisplay({"a": np.zeros((2, 3, 3)), "b": np.zeros((1, 3, 3))}), "one size"),
        (lambda: PreimageDisplay({"a": np.zeros((2, 3))}), "height, width"),
        (lambda: PreimageDisplay({}), "nothing to draw"),
    ],
)
def test_preimages_refuse_what_is_no_image(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_preimages_need_a_way_back():
    with pytest.raises(TypeError, match="has no inverse_transform"):
        PreimageDisplay.from_estimator(TSNE(), X)


# --- labels ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["None", "NaN"])
def test_points_without_a_label_are_grey(kind):
    missing = np.arange(200) % 3 == 0
    labels = np.where(missing, None, y.astype(object)) if kind == "None" else np.where(missing, np.nan, y / 2)
    display = EmbeddingDisplay.from_coordinates(Y, labels)
    assert len(display.unknown_.get_offsets()) == missing.sum()
    assert to_hex(display.unknown_.get_facecolors()[0]) == "#c9c9c9"
    assert len(display.points_.get_offsets()) == (~missing).sum()
    assert len(display.texts_) == (10 if kind == "None" else 0)
    display._repr_png_()


def test_all_labels_missing_draws_points():
    display = EmbeddingDisplay.from_coordinates(Y, np.array([None] * 200, object))
    assert len(display.unknown_.get_offsets()) == 200 and not display.texts_


def test_many_long_names_leave_the_points_to_be_seen():
    labels = np.array([f"a class with a very long name, number {i}" for i in range(50)])[np.arange(200) % 50]
    display = EmbeddingDisplay.from_coordinates(Y, labels)
    assert 1 <= len(display.texts_) <= 30
    assert all(len(text.get_text()) <= 22 and "…" in text.get_text() for text in display.texts_)
    assert len({text.get_text() for text in display.texts_}) == len(display.texts_)
    assert len(display.ax_.texts) == len(display.texts_)
    legend = EmbeddingDisplay.from_coordinates(Y, labels, key="legend").legend_
    assert legend.get_texts()[-1].get_text() == "… 20 more"


def test_names_do_not_cover_each_other():
    Z = np.concatenate([RNG.standard_normal((100, 2)), RNG.standard_normal((100, 2)) + 0.01])
    display = EmbeddingDisplay.from_coordinates(Z, np.arange(200) % 8)
    display.figure_.canvas.draw()
    boxes = [text.get_bbox_patch().get_window_extent() for text in display.texts_]
    assert len(boxes) == 8
    for i, box in enumerate(boxes):
        assert not any(box.shrunk(0.95, 0.95).overlaps(other.shrunk(0.95, 0.95)) for other in boxes[:i])


def test_boxes_settle_within_bounds():
    halves = np.full((6, 2), [4.0, 1.0])
    moved = settled(np.zeros((6, 2)), halves, np.array([[-20.0, -20.0], [20.0, 20.0]]))
    for i in range(6):
        for j in range(i):
            assert (np.abs(moved[i] - moved[j]) >= halves[0] * 2 - 1e-6).any()
    assert (np.abs(moved) <= 20 - halves).all()
    assert_array_equal(settled(np.array([[0.0, 0.0], [9.0, 9.0]]), np.ones((2, 2))), [[0, 0], [9, 9]])


def test_many_points_are_small_and_rasterised():
    few, many = (EmbeddingDisplay.from_coordinates(RNG.standard_normal((n, 2))) for n in (1000, 30_000))
    assert many.points_.get_rasterized() and not few.points_.get_rasterized()
    assert many.size_ < 2 < few.size_


def test_displays_of_neighbours_are_here_and_where_they_were():
    from mercer import selection

    assert selection.NeighborsDisplay is NeighborsDisplay and selection.ShortcutsDisplay is ShortcutsDisplay
