"""Level sets: values of a component at rows of a plane through the data."""

import numpy as np
import pytest

from mercer import PCA, Isomap, KernelPCA
from mercer.live.level_sets import level_sets
from mercer.live.live_table import LiveTable


@pytest.fixture
def table():
    return LiveTable.of(np.random.default_rng(0).normal(size=(60, 4)) * [1, 2, 3, 4] + 5)


def grid(found):
    s, t = (np.linspace(*each, len(found.values)) for each in found.ranges)
    return np.meshgrid(s, t)


@pytest.mark.parametrize("model", [KernelPCA(3, kernel="rbf", gamma=0.05), PCA(3), Isomap(n_components=3)])
@pytest.mark.parametrize("base", [None, 7])
def test_values_are_those_of_the_rows_of_the_plane(table, model, base):
    Z = model.fit_transform(table.X)
    found = level_sets(table, model.transform, -Z, 2, (3, 1), base, side=6)
    s, t = grid(found)
    rows = np.repeat([table.X.mean(axis=0) if base is None else table.X[base]], 36, axis=0)
    rows[:, 3], rows[:, 1] = s.ravel(), t.ravel()
    # The map is shown mirrored, so its functions are, too. Rounding of a row moves a score by a few times itself.
    assert np.allclose(found.values.ravel(), -model.transform(rows)[:, 2], atol=1e-9)
    assert np.array_equal(found.points, table.X[:, [3, 1]])


def test_principal_components_are_linear_over_the_principal_axes(table):
    model = PCA(2)
    Z = model.fit_transform(table.X)
    for component in (0, 1):
        found = level_sets(table, model.transform, Z, component, None, side=9)
        assert np.allclose(found.values, grid(found)[component], atol=1e-9)
        assert np.allclose(np.abs(found.points), np.abs(Z), atol=1e-9)


def test_a_plane_through_a_row_contains_the_row(table):
    model = KernelPCA(2, kernel="rbf", gamma=0.05)
    Z = model.fit_transform(table.X)
    found = level_sets(table, model.transform, Z, 0, None, 11, side=41)
    (x0, x1), (y0, y1) = found.ranges
    place = (found.points[11] - [x0, y0]) / [x1 - x0, y1 - y0] * 40
    i, j = np.floor(place).astype(int)
    corners = found.values[j : j + 2, i : i + 2]
    assert corners.min() - 0.05 <= Z[11, 0] <= corners.max() + 0.05  # between the values around it


def test_what_has_no_level_sets_is_refused(table):
    model = PCA(2)
    Z = model.fit_transform(table.X)
    for component, across in ((2, None), (0, (1, 1)), (0, (0, 4))):
        with pytest.raises(ValueError):
            level_sets(table, model.transform, Z, component, across)
    line = LiveTable.of(np.arange(5.0)[:, None])
    with pytest.raises(ValueError, match="plane"):
        level_sets(line, PCA(1).fit(line.X).transform, line.X, 0, None)
