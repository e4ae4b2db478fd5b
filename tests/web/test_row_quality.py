"""Scores of single rows are the terms of the scores of the map, and the neighbours are the nearest rows."""

import numpy as np
import pytest

from mercer import quality
from mercer.web import Map, NearRows, Page, page_bytes, with_neighbors


@pytest.fixture
def rows():
    return np.random.default_rng(0).standard_normal((120, 5))


def test_means_are_the_scores_of_the_map(rows):
    page = with_neighbors(Page("x", [Map("m", rows[:, :2]), Map("n", rows[:, 2:])]), rows, n_neighbors=7)
    for each, drawn in zip(page.maps, (rows[:, :2], rows[:, 2:4]), strict=True):
        for name, score in (
            ("neighbours kept", quality.neighbor_recall),
            ("trustworthiness", quality.trustworthiness),
            ("continuity", quality.continuity),
        ):
            whole = score(rows, drawn, n_neighbors=7, sample=None).value
            np.testing.assert_allclose(each.row_scores[name].mean(), whole, rtol=0, atol=120 * np.finfo(float).eps)


def test_neighbours_are_the_nearest_rows(rows):
    near = with_neighbors(Page("x", [Map("m", rows[:, :2])]), rows, n_neighbors=4).neighbors
    distances = np.linalg.norm(rows[:, None] - rows[None], axis=2)
    np.fill_diagonal(distances, np.inf)
    np.testing.assert_array_equal(near.indices, np.argsort(distances, axis=1)[:, :4])
    assert near.rows is None


def test_a_sample_has_the_scores_of_all_rows_for_its_own(rows):
    page = Page("x", [Map("m", rows[:, :2])])
    whole, some = with_neighbors(page, rows), with_neighbors(page, rows, sample=30, random_state=1)
    chosen = some.neighbors.rows
    assert len(chosen) == 30 and (np.diff(chosen) > 0).all()
    np.testing.assert_array_equal(some.neighbors.indices, whole.neighbors.indices[chosen])
    for name, values in some.maps[0].row_scores.items():
        np.testing.assert_array_equal(np.flatnonzero(~np.isnan(values)), chosen)
        np.testing.assert_array_equal(values[chosen], whole.maps[0].row_scores[name][chosen])


def test_few_rows_have_few_neighbours(rows):
    assert with_neighbors(Page("x", [Map("m", rows[:5, :2])]), rows[:5]).neighbors.indices.shape == (5, 2)
    alone = Page("x", [Map("m", rows[:2, :2])])
    assert with_neighbors(alone, rows[:2]) is alone


def test_what_does_not_fit_is_refused(rows):
    page = Page("x", [Map("m", rows[:, :2])])
    with pytest.raises(ValueError, match="must describe the same rows"):
        with_neighbors(page, rows[:50])
    with pytest.raises(ValueError, match="sample='some'"):
        with_neighbors(page, rows, sample="some")
    with pytest.raises(ValueError, match="neighbors: indices have shape"):
        page_bytes(Page("x", [Map("m", rows[:, :2])], neighbors=NearRows(np.zeros((3, 2), int))))
    with pytest.raises(ValueError, match="from 0 to 119"):
        page_bytes(Page("x", [Map("m", rows[:, :2])], neighbors=NearRows(np.full((120, 2), 120))))
    with pytest.raises(ValueError, match="the snapshot after 5 steps"):
        page_bytes(Page("x", [Map("m", rows[:, :2], snapshots=[(5, rows[:10, :2])])]))
