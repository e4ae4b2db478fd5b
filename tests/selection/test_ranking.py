"""A ranking as a table, a frame, text and names."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

from mercer import KernelPCA
from mercer.exceptions import DegenerateDataWarning
from mercer.kernels import RBF, Linear
from mercer.selection import (
    select_kernel,
)

WINE, CULTIVAR = load_wine(return_X_y=True)


WINE = scale(WINE)


@pytest.fixture(scope="module")
def selection():
    return select_kernel(WINE, CULTIVAR, ["linear", ("rbf", {"gamma": 0.04}), ("laplacian", {"gamma": 0.06})])


def test_table_frame_and_text(selection):
    frame = selection.to_frame()
    assert list(frame.columns) == ["kernel", "score", "standard_error", "error_rate", "penalty", "object"]
    assert frame["object"][0] is selection.best and list(frame["kernel"]) == list(selection.scores)
    lines = str(selection).splitlines()
    assert lines[0] == "loo: leave-one-out R² of kernel ridge regression" and len(lines) == 5
    assert lines[2].startswith(selection.ranking[0].name) and f"{selection.score:.4f}" in lines[2]
    assert repr(selection) == str(selection)


def test_names_tell_kernels_apart():
    kernels = [RBF(0.5), RBF(0.5001), RBF(0.5 + 1e-12), RBF(2.0), Linear(), Linear()]
    found = select_kernel(WINE, CULTIVAR, kernels, criterion="alignment")
    assert len(found.scores) == 6 == len(set(found.table()["kernel"]))
    of = {repr(entry.kernel): name for entry, name in zip(found.ranking, found.names, strict=True)}
    assert of["RBF(gamma=0.5001)"] == "RBF(gamma=0.5001)" and of["RBF(gamma=2.0)"] == "RBF(gamma=2)"
    assert {"Linear()", "Linear() (2)", "RBF(gamma=0.500000000001)"} <= set(found.scores)
    assert [t.get_text() for t in found.plot().ax_.get_yticklabels()] == found.names


def test_it_can_be_kept(selection):
    again = pickle.loads(pickle.dumps(selection))
    assert str(again) == str(selection) and again.best == selection.best
    assert repr(clone(selection.best)) == repr(selection.best)


def test_no_component_above_the_null_still_fits():
    noise = np.random.default_rng(0).standard_normal((100, 3))
    with pytest.warns(DegenerateDataWarning, match="parallel score above zero"):
        found = select_kernel(noise, candidates=["linear"])
    assert found.ranking[0].n_components == 0 and found.n_components == 1
    with pytest.warns(DegenerateDataWarning):
        KernelPCA("parallel").fit(noise)
