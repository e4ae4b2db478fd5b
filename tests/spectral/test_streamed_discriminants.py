"""Discriminants from sums are those from the array, and what leaving a row out says is exact for that row."""

import numpy as np
import pytest

from mercer import KernelDiscriminantAnalysis
from mercer.kernels import RBF
from mercer.spectral.scatter import Classes, scatter
from mercer.spectral.streamed_discriminants import scatter_of_sums
from mercer.streams import ArraySource
from mercer.streams.class_codes import class_codes
from mercer.streams.row_maps import ClassIndicators
from mercer.streams.streamed_features import streamed_features

RNG = np.random.default_rng(0)
X = RNG.standard_normal((500, 3))
Y = (X[:, 0] * X[:, 1] > 0).astype(int) + (X[:, 2] > 1)
SOURCE = ArraySource(X, chunk_rows=130)


@pytest.mark.parametrize("priors", [None, np.array([0.2, 0.3, 0.5])])
def test_the_scatter_is_that_of_the_rows(priors):
    labels = class_codes(SOURCE, Y)
    shares = labels.counts / 500 if priors is None else priors
    weights = None if priors is None else tuple(priors * 500 / labels.counts)
    first = np.arange(100), X[:100]
    found = streamed_features(RBF(0.3), SOURCE, first, rank=30, beside=((ClassIndicators(3), labels),), weights=weights)
    S = scatter_of_sums(found, Classes(Y[:100], shares, counts=labels.counts))
    F = found.features.expansion(X)
    exact = scatter(F, Classes(Y, shares))
    # Sums of n products of entries up to one in size, in float64, at weights of a few.
    room = 500 * 8 * np.finfo(np.float64).eps * max(1.0, exact.variance)
    assert np.abs(S.total - exact.total).max() <= room
    assert np.abs(S.between - exact.between).max() <= room
    assert np.abs(S.mean - exact.mean).max() <= room


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"priors": [0.2, 0.3, 0.5]},
        {"class_weight": "balanced"},
        {"class_weight": {1: 3.0}},
        {"reg": 1e-3},
        {"kernel": "linear"},  # has no width to choose
    ],
    ids=str,
)
def test_a_fit_to_a_source_is_the_fit_to_the_array(settings):
    whole = KernelDiscriminantAnalysis(rank=50, **settings).fit(X, Y)
    streamed = KernelDiscriminantAnalysis(rank=50, **settings).fit(SOURCE, Y)
    assert streamed.reg_ == whole.reg_ and streamed.loo_error_ == pytest.approx(whole.loo_error_, abs=1e-12)
    # Rounding of the features, amplified by 1/reg at most: the least penalty that these settings choose is 1e-6.
    room = 1e-8
    assert np.abs(streamed.transform(X) - whole.transform(X)).max() <= room
    assert np.abs(streamed.predict_proba(X) - whole.predict_proba(X)).max() <= room
    assert np.allclose(streamed.priors_, whole.priors_, rtol=1e-12)


def test_constant_rows_are_refused():
    with pytest.raises(ValueError, match="no variation"):
        KernelDiscriminantAnalysis(rank=5, gamma=1.0).fit(ArraySource(np.ones((50, 2))), Y[:50])
