"""Names in a map leave the points to be seen and do not cover each other."""

import numpy as np
from numpy.testing import assert_array_equal
from sklearn.datasets import load_digits

from mercer import PCA
from mercer.plots import (
    EmbeddingDisplay,
)
from mercer.plots.label_placement import settled

RNG = np.random.default_rng(0)


X, y = load_digits(return_X_y=True)


X, y = X[:200], y[:200]


Y = PCA(2).fit_transform(X)


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
