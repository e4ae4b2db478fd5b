"""The reason that comes with the recommended number of neighbours says what is wrong."""

import numpy as np
import pytest
from sklearn.datasets import make_swiss_roll

from mercer import diagnose_neighbors

COUNTS = [5, 8, 12, 16]


@pytest.fixture(scope="module")
def roll():
    """With noise: two edges between the sheets at 12 neighbours, none before."""
    return make_swiss_roll(1000, noise=0.5, random_state=0)


@pytest.fixture(scope="module")
def found(roll):
    return diagnose_neighbors(roll[0], COUNTS)


def test_where_no_number_is_right_the_reason_says_so():
    """A roll with few points, two of them far out: what holds the strays links the sheets too."""
    X, _ = make_swiss_roll(400, random_state=1)
    far = np.array([[60.0, 10, 0], [60.5, 10, 0], [60.0, 10.5, 0], [60.2, 10.2, 0.3], [60.4, 10.4, 0], [60.1, 10, 0.5]])
    far = np.concatenate([far, far + np.array([0.1, 0.2, 0.3])])
    found = diagnose_neighbors(np.concatenate([X, far]), [6, 8, 12, 14])
    assert (found.components[found.n_shortcuts == 0] > 1).all() and (found.n_shortcuts[found.components == 1] > 0).all()
    assert "both in one piece and without shortcuts. 6 neighbours do the least harm: there are 2 parts" in found.reason
    assert found.n_shortcuts[found.at(found.recommended)] == 0  # strays do less harm than links between sheets
    linked = diagnose_neighbors(np.concatenate([X, far]), [12, 14])
    assert linked.recommended == 12 and f"distances are {linked.growth[0]:.1%} longer" in linked.reason
    assert "without_shortcuts" in linked.reason


def test_data_of_many_dimensions_is_said_to_be_so():
    X = np.random.default_rng(0).standard_normal((300, 12))
    found = diagnose_neighbors(X, [10, 20], n_components=1)
    assert found.n_shortcuts.sum() == 0 and found.residual_variance[0] > 0.2
    assert "1 coordinate does not keep" in found.reason


X = np.random.default_rng(0).random((40, 2))
