"""Scores of placed rows: exact where every row is looked at, and with an error that covers the truth where not."""

import numpy as np
import pytest

from mercer import Isomap
from mercer.streams import ArraySource, placement_quality

RNG = np.random.default_rng(0)
X = RNG.standard_normal((600, 2))
SOURCE = ArraySource(X, chunk_rows=170)


class Line:
    """A map that keeps the first column: its neighbours are known."""

    def __init__(self, chosen):
        from mercer.graph.nearest_neighbors import build_index

        self.source_rows_, self.index_ = chosen, build_index(X[chosen])
        self.embedding_ = X[chosen][:, :1]

    def transform(self, rows):
        return rows[:, :1]


def truth(chosen, rows, k):
    L = X[chosen]
    data = np.argsort(((X[rows][:, None] - L) ** 2).sum(axis=2), axis=1)[:, :k]
    line = np.argsort(np.abs(X[rows][:, :1] - L[:, 0]), axis=1)[:, :k]
    return np.mean([np.isin(a, b).mean() for a, b in zip(data, line, strict=True)])


def test_looking_at_every_row_gives_the_recall_itself():
    chosen = np.sort(RNG.choice(600, 100, replace=False))
    found = placement_quality(Line(chosen), SOURCE, n_neighbors=5, sample=600)
    others = np.setdiff1d(np.arange(600), chosen)
    assert found.placed.value == pytest.approx(truth(chosen, others, 5), abs=1e-12)
    assert found.placed.error == 0 and found.placed.rows == 500 and found.landmarks.rows == 100


def test_a_sample_has_an_error_that_covers_the_truth():
    chosen = np.sort(RNG.choice(600, 100, replace=False))
    others = np.setdiff1d(np.arange(600), chosen)
    found = placement_quality(Line(chosen), SOURCE, n_neighbors=5, sample=100, random_state=1)
    # Six standard errors: a normal mean is farther away once in 5e8 times.
    assert found.placed.error > 0 and abs(found.placed.value - truth(chosen, others, 5)) <= 6 * found.placed.error


def test_a_map_that_keeps_all_distances_loses_nothing():
    class Same(Line):
        def __init__(self, chosen):
            super().__init__(chosen)
            self.embedding_ = X[chosen]

        def transform(self, rows):
            return rows

    found = placement_quality(Same(np.arange(0, 600, 3)), SOURCE)
    assert found.placed.value == found.landmarks.value == 1.0 and "placed rows" in str(found)


def test_what_cannot_be_scored_is_refused():
    with pytest.raises(ValueError, match="less than the 20 landmarks"):
        placement_quality(Line(np.arange(20)), SOURCE, n_neighbors=20)
    small = Isomap(landmarks=50).fit(ArraySource(X[:50]))
    with pytest.raises(ValueError, match="none was placed"):
        placement_quality(small, ArraySource(X[:50]))
