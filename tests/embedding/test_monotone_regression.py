"""Monotone regression: the nearest rising sequence, by SciPy's and by compiled loops, with ties and unknown pairs."""

import numpy as np
import pytest
from scipy.optimize import isotonic_regression

from mercer.embedding.monotone_regression import MonotoneRegression

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("count", [1, 2, 500])
def test_without_ties_it_is_isotonic_regression_in_the_order_of_the_dissimilarities(compiled, count):
    delta, d = RNG.random(count), RNG.random(count)
    found = MonotoneRegression(delta, compiled=compiled).fit(d.copy())
    order = np.argsort(delta)
    assert np.allclose(found[order], isotonic_regression(d[order]).x, atol=1e-14)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("levels", [1, 3, 60])
def test_ties_get_one_value_and_rounding_makes_no_order(compiled, levels):
    level = RNG.integers(levels, size=400)
    delta = level + 1.0
    delta *= 1 + 1e-15 * RNG.standard_normal(400)
    d = RNG.random(400)
    found = MonotoneRegression(delta, compiled=compiled).fit(d.copy())
    present, place, counts = np.unique(level, return_inverse=True, return_counts=True)
    expected = isotonic_regression(np.bincount(place, d) / counts, weights=counts).x
    assert np.allclose(found, expected[place], atol=1e-14)
    assert len(present) <= levels


@pytest.mark.parametrize("compiled", [False, True])
def test_unknown_pairs_stay_as_they_are_and_count_for_nothing(compiled):
    delta, d = RNG.random(200), RNG.random(200)
    unknown = RNG.random(200) < 0.3
    found = MonotoneRegression(np.where(unknown, -1.0, delta), compiled=compiled).fit(d.copy())
    assert np.array_equal(found[unknown], d[unknown])
    assert np.allclose(found[~unknown], MonotoneRegression(delta[~unknown]).fit(d[~unknown]))


def test_zeros_and_sequences_that_fall_or_rise_all_the_way():
    for d in (np.zeros(50), np.arange(50.0), np.arange(50.0)[::-1]):
        compiled = MonotoneRegression(np.arange(1.0, 51), compiled=True).fit(d.copy())
        assert np.allclose(compiled, isotonic_regression(d).x)


def test_the_curve_holds_the_disparities_at_every_pair_of_few():
    delta, d = RNG.random(300), RNG.random(300)
    regression = MonotoneRegression(delta)
    found = regression.fit(d)
    order = np.argsort(delta)
    assert np.array_equal(regression.curve(), np.stack([delta[order], found[order]], axis=1))
