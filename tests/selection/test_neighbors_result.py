"""What a diagnosis can be asked for: a table, and a graph without shortcuts."""

import numpy as np
import pytest
from sklearn.datasets import make_swiss_roll
from sklearn.neighbors import kneighbors_graph

from mercer import Isomap, diagnose_neighbors
from mercer.selection import NeighborsDiagnosis

COUNTS = [5, 8, 12, 16]


@pytest.fixture(scope="module")
def roll():
    """With noise: two edges between the sheets at 12 neighbours, none before."""
    return make_swiss_roll(1000, noise=0.5, random_state=0)


@pytest.fixture(scope="module")
def found(roll):
    return diagnose_neighbors(roll[0], COUNTS)


def test_a_graph_without_its_shortcuts_can_be_mapped(roll, found):
    X, along = roll
    graph = found.without_shortcuts(kneighbors_graph(X, 16, mode="distance"))
    isomap = Isomap(metric="precomputed", n_neighbors=None, radius=np.inf).fit(graph)
    assert isomap.residual_variance_[1] < 0.01
    assert abs(np.corrcoef(isomap.embedding_[:, 0], along)[0, 1]) > 0.97


def test_the_table_is_aligned_and_ends_with_the_reason(found):
    *lines, reason = str(found).splitlines()
    assert isinstance(found, NeighborsDiagnosis) and reason == found.reason and len(lines) == 1 + len(COUNTS)
    assert lines[0].split() == [
        "neighbors",
        "components",
        "largest",
        "residual",
        "variance",
        "shortcuts",
        "share",
        "growth",
    ]
    column = lines[0].index("shortcuts") + len("shortcuts")
    assert [int(line[:column].split()[-1]) for line in lines[1:]] == found.n_shortcuts.tolist()
    assert [line.split()[0] for line in lines if line.endswith("←")] == [str(found.recommended)]
    assert (
        f"With {found.recommended} neighbours" in reason
        and "From 12 neighbours on, 2 edges look like shortcuts" in reason
    )


X = np.random.default_rng(0).random((40, 2))
