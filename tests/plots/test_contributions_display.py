"""The picture of contributions holds the largest shares."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

from mercer import KernelPCA
from mercer.selection import (
    ContributionsDisplay,
)

WINE, CULTIVAR = load_wine(return_X_y=True)


NAMES = load_wine().feature_names


WINE = scale(WINE)


def test_picture_of_contributions():
    model = KernelPCA(3, kernel="rbf", gamma="median").fit(pd.DataFrame(WINE, columns=NAMES))
    shares = model.feature_contributions(standardize=True, shares=True)
    display = ContributionsDisplay.from_estimator(model, components=(0, 2), most=5)
    order = np.argsort(-shares[[0, 2]].max(axis=0))[:5]
    assert [t.get_text() for t in display.ax_.get_yticklabels()] == [NAMES[i] for i in order]
    for bars, row in zip(display.bars_, shares[[0, 2]], strict=True):
        assert_allclose([bar.get_width() for bar in bars], row[order])
    assert [t.get_text() for t in display.legend_.get_texts()] == ["component 1", "component 3"]
    with pytest.raises(ValueError, match="no component 3"):
        ContributionsDisplay.from_estimator(model, components=(3,))
    with pytest.raises(ValueError, match="there are names for"):
        ContributionsDisplay(shares, NAMES, ["component 1"])
