"""Tables of live pages: what is refused, and the sample of a large one."""

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.live.live_table import LiveTable
from mercer.web import page_bytes


def test_a_large_table_becomes_a_sample_that_says_so():
    X = np.arange(1000.0).reshape(-1, 2)
    table = LiveTable.of(X, np.arange(500), ids=np.arange(500), columns={"c": np.arange(500)}, most=100)
    others, table = table.more, table.first
    assert np.array_equal(np.sort(np.concatenate([others, table.X]), axis=0), X)  # all others can be added
    assert table.rows == 100 and "500 rows" in table.notes[0] and "100" in table.notes[0]
    rows = (table.X[:, 0] / 2).astype(int)
    assert np.array_equal(table.ids, rows) and np.array_equal(table.columns["label"], rows)
    assert np.array_equal(table.columns["c"], rows)


@pytest.mark.parametrize(
    ("X", "more", "message"),
    [
        (np.array([["a", "b"], ["c", "d"]]), {}, "numbers"),
        (np.zeros(5), {}, "shape"),
        (np.array([[1.0, np.nan], [0.0, 1.0]]), {}, "NaN"),
        (np.eye(3), {"y": [1, 2]}, "one value per row"),
        (np.eye(3), {"images": [None]}, "images"),
        (np.eye(3), {"image_shape": (2, 2)}, "image_shape"),
        (np.eye(3), {"more": np.eye(2)}, "columns"),
        (np.eye(3), {"more": np.full((1, 3), np.nan)}, "NaN"),
        (np.eye(3), {"more": np.zeros((5001, 3))}, "too many"),
    ],
)
def test_what_cannot_be_mapped_is_refused(X, more, message):
    with pytest.raises((ValueError, TypeError), match=message):
        LiveTable.of(X, **more)


def test_rows_to_add_have_a_place_on_the_page():
    table = LiveTable.of(
        np.eye(3), y=["a", "b", "a"], more=np.ones((2, 3)), ids=[10, 11, 12], columns={"c": [1.0, 2, 3]}
    )
    assert table.rows == 5 and table.first.rows == 3 and table.joined.X.shape == (5, 3)
    assert table.ids.tolist() == ["10", "11", "12", "added 1", "added 2"]
    assert table.columns["label"].tolist() == ["a", "b", "a", None, None]
    assert np.array_equal(table.columns["c"], [1, 2, 3, np.nan, np.nan], equal_nan=True)
    assert table.columns["rows"].tolist() == ["first"] * 3 + ["added"] * 2
    assert table.first.columns["label"].tolist() == ["a", "b", "a"] and table.joined.more is None
    assert len(page_bytes(table.first_page())) > 10_000


def test_labels_may_be_given_for_the_rows_to_add():
    table = LiveTable.of(np.eye(3), y=[0, 1, 0, 1], more=np.ones((1, 3)), images=[b"1", b"2", b"3"])
    assert table.columns["label"].tolist() == [0, 1, 0, 1] and table.images[3] is None


@pytest.mark.parametrize("X", [np.random.default_rng(0).normal(size=(20, 3)), sp.random(20, 30, 0.3, random_state=0)])
def test_the_first_page_can_be_written(X):
    assert len(page_bytes(LiveTable.of(X, ["a"] * 20).first_page())) > 10_000
