"""The row that a place stands for: right where a map can be inverted, and told apart from empty space."""

import numpy as np
import pytest

from mercer.live.cursor_rows import CursorRows
from mercer.live.data_gaps import DataGaps
from mercer.live.live_table import LiveTable
from mercer.live.map_stages import MapFrame, MapStages


def settled(table, settings):
    found = []
    MapStages(table).run(settings, found.append, lambda: None)
    return found[-1]


def mirrored(frame):
    from dataclasses import replace

    return replace(frame, coordinates=-frame.coordinates)


@pytest.fixture
def flat():
    """Rows in a plane of five dimensions: two principal components lose nothing."""
    rng = np.random.default_rng(0)
    return LiveTable.of(rng.normal(size=(120, 2)) @ rng.normal(size=(2, 5)) + 3)


@pytest.mark.parametrize("turn", [lambda frame: frame, mirrored])
def test_principal_components_are_inverted(flat, turn):
    frame = turn(settled(flat, {"method": "pca", "n_components": 2}))
    rows = CursorRows(DataGaps(flat), frame)
    for row in (0, 7, 50):
        found = rows(frame.coordinates[row].astype(float))
        assert found.how == "inverse" and found.nearest == row
        assert np.allclose(found.values, flat.X[row], atol=1e-4)  # the map is in float32


@pytest.mark.parametrize("turn", [lambda frame: frame, mirrored])
def test_pre_images_of_the_rows_are_near_the_rows(table, turn):
    settings = {"method": "kpca", "kernel": "rbf", "gamma": 0.02, "n_components": 5}
    frame = turn(settled(table, settings))
    rows = CursorRows(DataGaps(table), frame)
    found = np.array([rows(place.astype(float)).values for place in frame.coordinates])
    assert rows.how == "pre-image"
    # Regression on five components explains most of what the mean leaves; the wrong signs would explain nothing.
    assert np.mean((found - table.X) ** 2) < 0.5 * np.mean((table.X - table.X.mean(axis=0)) ** 2)


def test_other_maps_are_interpolated(table):
    points = table.X[:, :2]
    rows = CursorRows(DataGaps(table), MapFrame(points, ["a", "b"], "steps", []))
    for row in (0, 100):
        found = rows(points[row])
        assert found.how == "interpolated" and np.array_equal(found.values, table.X[row])
        assert found.nearest == row and found.gap == pytest.approx(0, abs=1e-6)


def test_empty_space_is_far_from_the_rows():
    X = np.vstack([np.zeros((50, 2)), np.full((50, 2), 100.0)]) + np.random.default_rng(0).normal(size=(100, 2))
    table = LiveTable.of(X)
    rows = CursorRows(DataGaps(table), settled(table, {"method": "pca", "n_components": 2}))
    assert rows(np.array([0.0, 0.0])).gap > 20


def test_a_place_between_the_clusters_of_a_map_is_empty_though_its_row_is_like_the_others():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2))
    points = rng.normal(size=(100, 2)) + np.repeat([[0.0, 0.0], [100.0, 0.0]], 50, axis=0)
    rows = CursorRows(DataGaps(LiveTable.of(X)), MapFrame(points, ["a", "b"], "steps", []))
    distances = np.linalg.norm(points[:, None] - points, axis=2)
    tenth = np.median(np.sort(distances, axis=1)[:, 10])
    place = np.array([50.0, 0.0])
    found = rows(place)
    assert found.gap == pytest.approx(np.linalg.norm(points - place, axis=1).min() / tenth) and found.gap > 20
    assert DataGaps(LiveTable.of(X))(found.values)[1] < 3  # the mean of rows of a cluster
    assert rows(points[7]).gap == 0


def test_a_path_between_two_rows_of_a_flat_map_is_a_straight_line_of_the_data(flat):
    frame = settled(flat, {"method": "pca", "n_components": 2})
    places, rows = CursorRows(DataGaps(flat), frame).path(3, 40, 5)
    assert np.allclose(places[[0, -1]], frame.coordinates[[3, 40]])
    share = np.linspace(0, 1, 5)[:, None]
    expected = (1 - share) * flat.X[3] + share * flat.X[40]
    assert np.allclose([row.values for row in rows], expected, atol=1e-4)  # the map is in float32
    assert rows[0].nearest == 3 and rows[-1].nearest == 40


def test_places_of_another_map_are_refused(flat):
    rows = CursorRows(DataGaps(flat), settled(flat, {"method": "pca", "n_components": 2}))
    for place in (np.zeros(3), np.array([np.nan, 0.0])):
        with pytest.raises(ValueError, match="coordinates"):
            rows(place)
