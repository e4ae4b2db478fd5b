"""What every index promises: its arguments are checked, its graphs keep zeros, its answers stay as they are."""

import numpy as np
import pytest
from by_definition import data

from mercer.exceptions import MemoryLimitError
from mercer.graph import neighbor_index
from mercer.graph.nearest_neighbors import Neighbors, build_index


def test_graphs_keep_distances_of_zero():
    X = np.array([[0.0], [0.0], [1.0], [5.0]])
    built = build_index(X)
    graph = built.neighbors(2).graph(4)
    assert graph.nnz == 8 and graph.indices.dtype == np.int32 and graph.has_sorted_indices
    within = built.within(1.0)
    assert within.nnz == 6 and np.sum(within.data == 0) == 2
    assert build_index(X).within(0.0).nnz == 2
    assert built.query_within([[0.0], [9.0]], 0.0).nnz == 2


def test_a_graph_too_large_is_refused(monkeypatch):
    monkeypatch.setattr(neighbor_index, "available_bytes", lambda: 10_000)
    for method in ("tiles", "kd_tree"):
        with pytest.raises(MemoryLimitError, match="smaller radius"):
            build_index(data(), method=method).within(100.0)
        with pytest.raises(MemoryLimitError, match="Ask for fewer"):
            build_index(data(), method=method).neighbors(200)


def test_numbers_of_neighbors_are_checked():
    built = build_index(data(10))
    words = "Expected n_neighbors < n_samples_fit, but n_neighbors = 10, n_samples_fit = 10, n_samples = 10"
    with pytest.raises(ValueError, match=words):
        built.neighbors(10)
    with pytest.raises(ValueError, match="Expected n_neighbors <= n_samples_fit, but n_neighbors = 11"):
        built.query(data(3), 11)
    with pytest.raises(ValueError, match="Expected n_neighbors > 0"):
        built.neighbors(0)
    with pytest.raises(TypeError, match="enter integer value"):
        built.neighbors(1.5)
    for radius in (-1.0, np.nan, "1"):
        with pytest.raises(ValueError, match="must be a number"):
            built.within(radius)


def test_an_answer_cannot_be_changed():
    found = Neighbors(np.zeros((1, 1), np.int32), np.zeros((1, 1)), "tiles")
    with pytest.raises(AttributeError):
        found.recall = 0.5
