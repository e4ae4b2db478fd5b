"""What a page is told of its settings is JSON, and says what the table allows."""

import json

import numpy as np

from mercer.live.controls import Controls
from mercer.live.live_page import live_page
from mercer.live.live_table import LiveTable


def test_settings_names_and_the_range_of_images():
    X = np.arange(40.0).reshape(10, 4)
    table = LiveTable.of(X, features=["a", "b", "c", "d"], image_shape=(2, 2))
    told = live_page(table, Controls(table, {"method": "pca", "n_components": 3}))
    assert told["first"] == {"method": "pca", "n_components": 3} and told["features"] == ["a", "b", "c", "d"]
    assert tuple(told["image"]) == (2, 2) and told["range"] == [0.0, 39.0]
    assert json.loads(json.dumps(told))["methods"][0]["name"] == "kpca"


def test_rows_that_are_no_images_have_no_range():
    table = LiveTable.of(np.eye(4))
    told = live_page(table, Controls(table))
    assert told["image"] is None and told["range"] is None
