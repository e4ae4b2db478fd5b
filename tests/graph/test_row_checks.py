"""Rows that no index can be built on, and new rows that do not match."""

import numpy as np
import pytest

from mercer.graph.nearest_neighbors import build_index


@pytest.mark.parametrize(
    "X, words",
    [
        (np.empty((0, 3)), "0 sample"),
        (np.empty((3, 0)), "0 feature"),
        ([[1.0], [np.nan]], "NaN"),
        ([[1.0], [np.inf]], "infinity"),
        (np.array(["a", "b"]), "1D|convert|numeric"),
        (np.ones(4), "1D"),
    ],
)
def test_bad_rows(X, words):
    with pytest.raises(ValueError, match=words):
        build_index(X)


def test_arrays_of_other_libraries_are_refused():
    strict = pytest.importorskip("array_api_strict")
    with pytest.raises(TypeError, match="array_api_strict"):
        build_index(strict.zeros((4, 2)))
