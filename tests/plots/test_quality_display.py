"""Marks are scores, with intervals."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_digits

from mercer import PCA, TSNE, quality
from mercer.plots import (
    QualityDisplay,
    new_figure,
)

X, y = load_digits(return_X_y=True)


X, y = X[:200], y[:200]


Y = PCA(2).fit_transform(X)


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
    with pytest.raises(ValueError, match="needs 2 axes"):
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
