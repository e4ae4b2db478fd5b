"""A map is drawn as its coordinates and labels say."""

import numpy as np
import pytest
from matplotlib.colors import to_hex, to_rgba
from numpy.testing import assert_allclose
from sklearn.datasets import load_digits, make_circles
from sklearn.decomposition import PCA as SklearnPCA

from mercer import PCA, KernelPCA
from mercer.plots import FEW, EmbeddingDisplay

X, RING = make_circles(120, factor=0.3, noise=0.05, random_state=0)
DIGITS = load_digits()
Y = PCA(2).fit_transform(DIGITS.data[:200])


@pytest.fixture(scope="module")
def kpca():
    return KernelPCA(4, kernel="rbf", gamma=2.0).fit(X)


def drawn(display):
    """The points of a scatter in the order in which they came."""
    order = np.random.default_rng(0).permutation(len(display.coordinates))
    return np.asarray(display.points_.get_offsets())[np.argsort(order)], np.argsort(order)


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


@pytest.mark.parametrize("kind", ["None", "NaN"])
def test_points_without_a_label_are_grey(kind):
    missing = np.arange(200) % 3 == 0
    labels = (
        np.where(missing, None, DIGITS.target[:200].astype(object))
        if kind == "None"
        else np.where(missing, np.nan, DIGITS.target[:200] / 2)
    )
    display = EmbeddingDisplay.from_coordinates(Y, labels)
    assert len(display.unknown_.get_offsets()) == missing.sum()
    assert to_hex(display.unknown_.get_facecolors()[0]) == "#c9c9c9"
    assert len(display.points_.get_offsets()) == (~missing).sum()
    assert len(display.texts_) == (10 if kind == "None" else 0)
    display._repr_png_()


def test_all_labels_missing_draws_points():
    display = EmbeddingDisplay.from_coordinates(Y, np.array([None] * 200, object))
    assert len(display.unknown_.get_offsets()) == 200 and not display.texts_


def test_many_points_are_small_and_rasterised():
    few, many = (
        EmbeddingDisplay.from_coordinates(np.random.default_rng(0).standard_normal((n, 2))) for n in (1000, 30_000)
    )
    assert many.points_.get_rasterized() and not few.points_.get_rasterized()
    assert many.size_ < 2 < few.size_
