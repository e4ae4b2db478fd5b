"""Rows that are added to a map: hidden, placed where the estimator puts them, or mapped together with the others."""

import numpy as np
import pytest

from mercer import PCA, TSNE, Isomap
from mercer.live.added_rows import AddedRows
from mercer.live.controls import Controls
from mercer.live.descent_runs import DescentWish
from mercer.live.live_table import LiveTable
from mercer.live.map_stages import MapStages


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    X = 4 * rng.standard_normal((3, 4))[np.arange(150) % 3] + rng.standard_normal((150, 4))
    return LiveTable.of(X[:120], more=X[120:])


def frames(stages, **settings):
    found = []
    settings = Controls(stages.table).checked(settings)
    stages.run(settings, found.append, lambda: None, descent=DescentWish(60))
    return found


def test_a_copy_of_a_row_is_interpolated_onto_its_point(table):
    copies = LiveTable.of(table.X, more=table.X[:7])
    points = np.random.default_rng(1).normal(size=(120, 2))
    # The copy weighs 1e9 times as much as the farthest of the nearest rows.
    assert np.allclose(AddedRows(copies).interpolated(points), points[:7], atol=1e-6)


@pytest.mark.parametrize(
    "settings",
    [
        {"method": "kpca"},
        {"method": "pca"},
        {"method": "isomap"},
        {"method": "isomap", "n_neighbors": 30, "cut": "1-4"},
    ],
)
def test_placed_rows_are_where_the_estimator_puts_them(table, settings):
    frame = frames(MapStages(table), **settings, added="placed")[-1]
    signs = np.sign((frame.coordinates[:120] * np.asarray(frame.estimator.transform(table.X))).sum(axis=0))
    expected = signs * np.asarray(frame.estimator.transform(table.more))
    assert np.allclose(frame.coordinates[120:], expected, atol=1e-5 * np.abs(expected).max())


def test_placed_rows_follow_a_descent_and_end_where_transform_puts_them(table):
    found = frames(MapStages(table), method="tsne", perplexity=10, added="placed")
    assert {len(frame.coordinates) for frame in found} == {150}
    shown, model = found[-1].coordinates, found[-1].estimator
    turn = np.linalg.lstsq(model.embedding_, shown[:120], rcond=None)[0]
    expected = model.transform(table.more) @ turn
    assert np.allclose(shown[120:], expected, atol=1e-3 * np.abs(shown).max())


def test_hidden_rows_change_nothing(table):
    frame = frames(MapStages(table), method="pca")[-1]
    expected = PCA(2).fit_transform(table.X)
    assert np.allclose(np.abs(frame.coordinates[:120]), np.abs(expected), atol=1e-5)


@pytest.mark.filterwarnings("ignore::mercer.exceptions.DisconnectedGraphWarning")
@pytest.mark.parametrize("method", ["pca", "isomap"])
def test_joined_rows_are_mapped_with_the_others(table, method):
    X = np.vstack([table.X, table.more])
    expected = {"pca": PCA(2), "isomap": Isomap(n_neighbors=10)}[method].fit_transform(X)
    frame = frames(MapStages(table), method=method, added="joined")[-1]
    signs = np.sign((frame.coordinates * expected).sum(axis=0))
    assert np.allclose(frame.coordinates, signs * expected, atol=1e-4 * np.abs(expected).max())


def test_joined_rows_take_part_in_the_descent_that_is_shown(table):
    stages = MapStages(table)
    before = frames(stages, method="tsne", perplexity=10)[-1]
    after = frames(stages, method="tsne", perplexity=10, added="joined")
    assert len(after[-1].estimator.embedding_) == 150
    # The first step of all 150 rows begins at the map of the 120: their places have hardly changed.
    moved = np.linalg.norm(after[0].coordinates[:120] - before.coordinates[:120], axis=1)
    assert np.median(moved) < 0.1 * np.ptp(before.coordinates)
    whole = TSNE(perplexity=10, max_iter=0).fit(np.vstack([table.X, table.more]))
    assert np.allclose(after[-1].estimator.affinities_.P.toarray(), whole.affinities_.P.toarray())
