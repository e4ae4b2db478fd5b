"""Statistics merge as sums do, and their draws have the law of randomly pivoted Cholesky's first pivot."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import chi2

from mercer.streams.sufficient_statistics import Draws, SufficientStatistics, draw_rows, seed_number

EPS = np.finfo(np.float64).eps
RNG = np.random.default_rng(0)
X = RNG.standard_normal((90, 4)) + 1e6
SHIFT = X[:10].mean(axis=0)


def parts(*cuts):
    edges = [0, *cuts, len(X)]
    return [SufficientStatistics.of(X[a:b], SHIFT) for a, b in pairwise(edges)]


def test_merging_is_associative_to_rounding_and_gives_mean_and_scatter():
    a, b, c = parts(7, 50)
    left, right = a.merge(b).merge(c), a.merge(b.merge(c))
    # A sum of n terms in any order is within n ε of the sum of their absolute values.
    room = len(X) * EPS * (np.abs(X - SHIFT).T @ np.abs(X - SHIFT))
    assert np.all(np.abs(left.products - right.products) <= room)
    assert np.abs(left.mean - X.mean(axis=0)).max() <= 4 * EPS * 1e6
    H = X - SHIFT - (X - SHIFT).mean(axis=0)
    assert np.all(np.abs(left.centred_products() - H.T @ H) <= 4 * room)
    assert left.n == right.n == len(X)


def test_statistics_about_other_shifts_are_refused():
    with pytest.raises(ValueError, match="different shifts"):
        parts()[0].merge(SufficientStatistics.of(X, SHIFT + 1))


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_arrays_and_pickles_give_the_same_statistics(make):
    rows = make(np.round(X[:6] - 1e6))
    draws = draw_rows(rows, np.arange(6.0), 3, 10, (0, 0, 0, 0))
    whole = SufficientStatistics(*list(vars(parts()[0]).values())[:8], (draws, None))
    for same in (SufficientStatistics.from_arrays(whole.to_arrays()), pickle.loads(pickle.dumps(whole))):
        assert np.array_equal(same.products, whole.products) and same.n == whole.n and same.draws[1] is None
        assert np.array_equal(same.draws[0].places, draws.places) and np.array_equal(same.draws[0].clocks, draws.clocks)
        assert abs(same.draws[0].rows - draws.rows).max() == 0


def test_the_first_clock_over_chunks_draws_in_proportion_over_all_rows():
    left, b = np.array([0.0, 1, 2, 5, 0, 4, 8, 1, 3]), 4000
    rows = np.arange(9.0)[:, None]
    edges = [0, 2, 2, 6, 9]  # one chunk is empty
    drawn = None
    for i, (a, z) in enumerate(pairwise(edges)):
        part = draw_rows(rows[a:z], left[a:z], b, a, (seed_number(0), 0, 0, i))
        drawn = part if drawn is None else drawn.merge(part)
    counts, expected = np.bincount(drawn.places, minlength=9), b * left / left.sum()
    assert np.array_equal(drawn.rows[:, 0], drawn.places)
    assert counts[[0, 4]].sum() == 0
    seen = expected > 0
    statistic = ((counts - expected)[seen] ** 2 / expected[seen]).sum()
    assert statistic < chi2(seen.sum() - 1).isf(1e-6)  # a seed that is fixed: it fails only if the law is wrong


def test_draws_depend_on_the_key_alone_and_merge_in_any_order():
    first, second = (draw_rows(X[:9], np.ones(9), 50, start, (1, 0, 0, start)) for start in (0, 9))
    again = draw_rows(X[:9], np.ones(9), 50, 0, (1, 0, 0, 0))
    assert np.array_equal(first.places, again.places)
    assert np.array_equal(first.merge(second).places, second.merge(first).places)


def test_nothing_left_draws_nothing():
    none = draw_rows(X[:3], np.zeros(3), 5, 0, (0, 0, 0, 0))
    assert not len(none.found())
    some = draw_rows(X[:3], np.array([0.0, 1.0, 0.0]), 5, 0, (0, 0, 0, 1))
    assert none.merge(some).found().tolist() == [0] and set(some.places) == {1}
    assert isinstance(none.merge(some), Draws)
