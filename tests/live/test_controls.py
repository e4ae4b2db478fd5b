"""Settings: what is completed, and what is refused."""

import math

import numpy as np
import pytest

from mercer.live.controls import KERNELS, METHODS, Controls
from mercer.live.live_table import LiveTable


@pytest.fixture
def controls(table):
    return Controls(table)


@pytest.mark.parametrize("method", METHODS)
def test_the_settings_to_begin_with_are_settings(controls, method):
    settings = controls.checked({"method": method})
    assert controls.checked(settings) == settings


@pytest.mark.parametrize("kernel", KERNELS)
def test_every_kernel_has_what_it_needs_and_nothing_else(controls, kernel):
    settings = controls.checked({"method": "kpca", "kernel": kernel})
    assert ("degree" in settings) == (kernel == "poly")
    assert ("gamma" in settings) == (kernel not in ("cosine", "linear", "arc_cosine"))


@pytest.mark.parametrize(
    "given",
    [
        None,
        [],
        "kpca",
        {},
        {"method": "umap"},
        {"method": ["kpca"]},
        {"method": "kpca", "kernel": "__import__('os')"},
        {"method": "kpca", "kernel": ["rbf"]},
        {"method": "kpca", "gamma": "median"},
        {"method": "kpca", "gamma": -1.0},
        {"method": "kpca", "gamma": math.inf},
        {"method": "kpca", "gamma": math.nan},
        {"method": "kpca", "gamma": True},
        {"method": "kpca", "gamma": 1e300},
        {"method": "kpca", "n_components": 10**9},
        {"method": "kpca", "eigen_solver": "dense"},
        {"method": "kpca", "perplexity": 30},
        {"method": "isomap", "n_neighbors": 0},
        {"method": "isomap", "n_neighbors": {}},
        {"method": "isomap", "cut": [[1, 2]]},
        {"method": "isomap", "cut": "1-9999999"},
        {"method": "isomap", "cut": "__import__('os')"},
        {"method": "pca", "cut": "1-2"},
        {"method": "pca", "added": "placed"},
        {"method": "tsne", "callbacks": "print"},
        {"method": "tsne", "perplexity": 1e6},
    ],
)
def test_everything_else_is_refused(controls, given):
    with pytest.raises(ValueError):
        controls.checked(given)


@pytest.mark.parametrize("shape", [(2, 1), (3, 2), (5, 1), (40, 1)])
def test_small_tables_have_sliders_that_begin_within_their_ends(shape):
    controls = Controls(LiveTable.of(np.random.default_rng(0).normal(size=shape)))
    for method in controls.described():
        for control in method["controls"]:
            if control["kind"] in ("whole", "log"):
                assert control["low"] <= control["first"] <= control["high"], (method["name"], control)


def test_a_first_setting_out_of_range_is_left_out(table):
    first = {"method": "isomap", "n_neighbors": 7, "n_components": 10**6, "unknown": 1}
    found = Controls(table, first).first()
    assert found["n_neighbors"] == 7 and found["n_components"] == 2 and "unknown" not in found
    assert Controls(table, {"method": "no such"}).first()["method"] == "kpca"


def test_cut_edges_are_in_order_and_none_is_no_setting(controls):
    found = controls.checked({"method": "isomap", "cut": "9-3 1-2"})
    assert found["cut"] == "1-2 3-9" and "cut" not in controls.checked({"method": "isomap", "cut": ""})


def test_rows_that_can_be_added_are_a_setting_of_every_method():
    controls = Controls(LiveTable.of(np.eye(6), more=np.eye(6)[:2]))
    for method in METHODS:
        assert controls.checked({"method": method})["added"] == "hidden"
        assert controls.checked({"method": method, "added": "joined"})["added"] == "joined"
    with pytest.raises(ValueError):
        controls.checked({"method": "pca", "added": "everywhere"})
