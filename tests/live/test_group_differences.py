"""What separates two groups: the variables that differ, and an error that chance explains if none does."""

import numpy as np
import pytest

from mercer.live.group_differences import group_differences
from mercer.live.live_table import LiveTable


@pytest.fixture
def rows():
    return np.random.default_rng(0).normal(size=(160, 4)) * [1, 100, 1, 1e-3] + [0, 5, 0, 1]


HALF = np.arange(160) < 80


def test_the_variable_that_differs_comes_first_whatever_its_unit(rows):
    for j in range(4):
        X = rows.copy()
        X[HALF, j] += 5 * X[:, j].std()
        found = group_differences(LiveTable.of(X), HALF, ~HALF)
        assert found.variables[0] == j and found.error < 0.1 and found.differences[j] > 3
        assert found.contributions.sum() == pytest.approx(1) and found.contributions[j] > 0.5
        assert np.allclose(found.means, [X[HALF].mean(axis=0), X[~HALF].mean(axis=0)])


def test_a_ring_around_a_cloud_is_told_apart_though_the_means_agree():
    rng = np.random.default_rng(1)
    angles = rng.uniform(0, 2 * np.pi, 80)
    ring = 5 * np.column_stack([np.cos(angles), np.sin(angles)])
    X = np.vstack([ring, np.zeros((80, 2))]) + rng.normal(size=(160, 2)) / 3
    assert group_differences(LiveTable.of(X), HALF, ~HALF).error < 0.05


def test_groups_that_do_not_differ_are_told_apart_by_chance_alone(rows):
    found = group_differences(LiveTable.of(rows), HALF, ~HALF)
    # The error of guessing is binomial with 160 trials; five deviations are never seen.
    assert abs(found.error - 0.5) < 5 * 0.5 / np.sqrt(160) and found.chance == 0.5


def test_groups_that_cannot_be_compared_are_refused(rows):
    table = LiveTable.of(rows)
    with pytest.raises(ValueError, match="in common"):
        group_differences(table, HALF, HALF)
    with pytest.raises(ValueError, match="at least"):
        group_differences(table, np.arange(160) < 1, np.arange(160) > 5)


def test_a_wide_table_is_ordered_by_means():
    X = np.random.default_rng(0).normal(size=(60, 400))
    X[:30, 123] += 10
    found = group_differences(LiveTable.of(X), np.arange(60) < 30, np.arange(60) >= 30)
    assert found.variables[0] == 123 and np.isnan(found.contributions).all()


def test_a_variable_that_is_constant_in_each_group_is_infinitely_apart():
    X = np.random.default_rng(0).normal(size=(40, 3))
    half = np.arange(40) < 20
    X[:, 1], X[:, 2] = half, 7.0
    found = group_differences(LiveTable.of(X), half, ~half)
    assert found.differences[1] == np.inf and found.differences[2] == 0


def test_the_direction_orders_all_rows_and_leads_from_one_group_to_the_other(rows):
    X = rows.copy()
    X[HALF, 2] += 8
    found = group_differences(LiveTable.of(X), np.arange(160) < 40, np.arange(160) >= 120)
    scores = found.scores
    assert scores.shape == (160,) and scores[HALF].min() > scores[~HALF].max()  # rows of neither group, too
    assert found.along.shape == (7, 4)
    # Rows of the first group are at 0 of the way and those of the second at 1, on average, which is how it is defined.
    for share, rows_of in ((0.0, X[:40]), (1.0, X[120:])):
        assert found.reached(rows_of).mean() == pytest.approx(share, abs=1e-9)
    assert found.along[0, 2] - found.along[-1, 2] > 5  # what differs changes on the way
    unchanged = np.abs(found.along[0] - found.along[-1])[[0, 1, 3]] / X[:, [0, 1, 3]].std(axis=0)
    assert unchanged.max() < 1


def test_rows_along_the_direction_are_means_of_rows(rows):
    X = rows.copy()
    X[HALF, 2] += 8
    along = group_differences(LiveTable.of(X), HALF, ~HALF).along
    assert np.all(along >= X.min(axis=0)) and np.all(along <= X.max(axis=0))
