"""Where a map begins: scaled components, noise, or what is given."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from mercer import TSNE
from mercer.embedding.initialisation import SCALE, given_map, initial_map, movable_points, spectral_scores
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


def ring(n):
    """A graph of n vertices in a circle."""
    i = np.arange(n)
    return sp.csr_array((np.ones(2 * n), (np.r_[i, i], np.r_[(i + 1) % n, (i - 1) % n])), shape=(n, n))


def test_the_slowest_directions_of_a_ring_are_its_circle():
    """Eigenvectors of a circulant matrix are waves; the slowest two are cos and sin once round."""
    n, turn = 60, 2 * np.pi * np.arange(60) / 60
    scores = spectral_scores(ring(n), 2, seed=0)
    waves = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    rest = scores - waves @ np.linalg.lstsq(waves, scores, rcond=None)[0]
    assert np.linalg.norm(rest) < 1e-2 * np.linalg.norm(scores)


def test_parts_of_a_graph_begin_apart_and_lonely_rows_at_the_origin():
    parts = sp.block_diag([ring(20), ring(20), sp.csr_array((1, 1))], format="csr")
    scores = spectral_scores(parts, 1, seed=0)[:, 0]
    assert np.ptp(scores[:20]) < 0.05 * abs(scores[:20].mean() - scores[20:40].mean())
    assert scores[40] == 0


@pytest.mark.parametrize("n", [2, 3, 5])
def test_few_rows_have_few_directions(n):
    scores = spectral_scores(sp.csr_array(np.ones((n, n)) - np.eye(n)), 3, seed=0)
    assert scores.shape == (n, min(3, n - 1)) and np.isfinite(scores).all()


def test_a_spectral_start_of_many_dimensions_and_few_rows():
    rows = np.random.default_rng(0).standard_normal((110, 30))
    start = TSNE(20, init="spectral", perplexity=5, max_iter=0).fit_transform(rows)
    assert start.shape == (110, 20) and np.isfinite(start).all()
