"""Where a map begins: scaled components, noise, or what is given."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.embedding.initialisation import SCALE, given_map, initial_map, movable_points
from mercer.exceptions import DegenerateDataWarning

SCORES = np.random.default_rng(1).standard_normal((400, 2)) * [50.0, 3.0]


def begin(init, c=2, scores=SCORES, seed=0):
    return initial_map(init, len(scores), c, np.random.default_rng(seed), lambda _: scores)


def test_components_keep_their_proportions_on_a_small_scale():
    Y = begin("pca")
    assert_allclose(np.std(Y[:, 0]), SCALE, rtol=1e-2)
    for axis in (0, 1):
        assert np.corrcoef(Y[:, axis], SCORES[:, axis])[0, 1] > 0.98


def test_components_that_are_missing_are_noise():
    Y = begin("pca", c=3)
    assert 0 < np.std(Y[:, 2]) < 0.02 * SCALE


def test_equal_rows_begin_apart():
    Y = begin("pca", scores=np.repeat(SCORES[:40], 10, axis=0))
    assert len(np.unique(Y, axis=0)) == 400


def test_rows_that_do_not_vary_begin_at_random_with_a_warning():
    with pytest.warns(DegenerateDataWarning, match="begins at random"):
        Y = begin("pca", scores=np.zeros((400, 2)))
    assert_array_equal(Y, begin("random"))
    assert_allclose(np.std(Y), SCALE, rtol=0.1)


def test_given_positions_are_copied():
    given = SCORES.copy()
    Y = given_map(given, 400, 2)
    assert_array_equal(Y, SCORES.astype(np.float32))
    Y[:] = 0
    assert_array_equal(given, SCORES)


@pytest.mark.parametrize(("fixed", "held"), [([1, -1], [1, 4]), ([True, False, True, False, False], [0, 2]), ([], [])])
def test_points_that_may_not_move(fixed, held):
    fixed = np.asarray(fixed, int if fixed == [] else None)
    assert_array_equal(np.flatnonzero(~movable_points(fixed, 5)), held)
