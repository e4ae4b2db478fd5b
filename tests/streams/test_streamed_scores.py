"""Scores over sources are those over arrays."""

import numpy as np
import pytest
from sklearn.metrics import r2_score

from mercer.spectral.held_out import column_correlations
from mercer.streams import ArraySource
from mercer.streams.streamed_scores import share_explained, share_of_hits, streamed_correlations

RNG = np.random.default_rng(0)
A = RNG.standard_normal((300, 3)) + 100
B = A + RNG.standard_normal((300, 3))
EPS = np.finfo(np.float64).eps


def test_correlations():
    a, b = A.copy(), B.copy()
    a[:, 2] = 1.0
    found = streamed_correlations(ArraySource(a, chunk_rows=70), ArraySource(b, chunk_rows=70))
    # Sums of 300 products about the mean of a few rows: their spread is of the size of one.
    assert np.abs(found - column_correlations(a, b)).max() <= 300 * 8 * EPS and found[2] == 0
    with pytest.raises(ValueError, match="two samples"):
        streamed_correlations(ArraySource(a[:1]), ArraySource(b[:1]))


def test_hits():
    true = RNG.integers(3, size=100)
    found = np.where(np.arange(100) < 80, true, -1)[:, None].astype(float)
    assert share_of_hits(ArraySource(found, chunk_rows=30), true) == 0.8
    assert share_of_hits(ArraySource(found, chunk_rows=30), ArraySource(true[:, None], chunk_rows=7)) == 0.8
    with pytest.raises(ValueError, match="inconsistent"):
        share_of_hits(ArraySource(found), true[1:])
    with pytest.raises(ValueError, match="one row"):
        share_of_hits(ArraySource(found[:0]), true[:0])


def test_share_explained():
    for y, z in ((A, B), (A[:, :1], B[:, :1])):
        found = share_explained(ArraySource(z, chunk_rows=70), ArraySource(y, chunk_rows=31))
        # A sum of n squares about a shift loses n roundings of the squares, whose sum is about that of the spread.
        assert abs(found - r2_score(y, z)) <= 300 * 8 * EPS
    flat = np.ones((50, 1))
    assert share_explained(ArraySource(flat), flat) == 1 and share_explained(ArraySource(flat + 1), flat) == 0
