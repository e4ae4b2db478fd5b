"""Tables of live pages: what is refused, and the sample of a large one."""

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.live.live_table import LiveTable
from mercer.web import page_bytes


def test_a_large_table_becomes_a_sample_that_says_so():
    X = np.arange(1000.0).reshape(-1, 2)
    table = LiveTable.of(X, np.arange(500), ids=np.arange(500), columns={"c": np.arange(500)}, most=100)
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
    ],
)
def test_what_cannot_be_mapped_is_refused(X, more, message):
    with pytest.raises((ValueError, TypeError), match=message):
        LiveTable.of(X, **more)


@pytest.mark.parametrize("X", [np.random.default_rng(0).normal(size=(20, 3)), sp.random(20, 30, 0.3, random_state=0)])
def test_the_first_page_can_be_written(X):
    assert len(page_bytes(LiveTable.of(X, ["a"] * 20).first_page())) > 10_000
