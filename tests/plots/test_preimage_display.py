"""Images are what comes back from a few components."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits

from mercer import PCA, TSNE, KernelPCA
from mercer.plots import (
    PreimageDisplay,
)

RNG = np.random.default_rng(0)


X, y = load_digits(return_X_y=True)


X, y = X[:200], y[:200]


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
        (lambda: PreimageDisplay.from_estimator(PCA(2).fit(X), X, shape=(3, 3)), "9 pixels, but the rows of X have 64"),
        (lambda: PreimageDisplay.from_estimator(PCA(2).fit(X[:, :60]), X[:, :60]), "do not form a square"),
        (lambda: PreimageDisplay.from_estimator(PCA(2).fit(X), X[:3], noisy=X[:2]), "noisy has shape"),
        (lambda: PreimageDisplay.from_estimator(PCA(2).fit(X), X[0]), "one image per row"),
        (lambda: PreimageDisplay({"a": np.zeros((2, 3, 3)), "b": np.zeros((1, 3, 3))}), "same size"),
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
