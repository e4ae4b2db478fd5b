"""Means of samples, their errors, and how many rows reach an error."""

import numpy as np
import pytest

from mercer.quality.sampling import Growing, Mean, SamplingPlan, mean_of, needed, sampled

RNG = np.random.default_rng(2)


def test_the_mean_of_a_sample_has_the_finite_correction():
    terms = RNG.random(40)
    found = mean_of(terms, 100)
    assert found.error == pytest.approx(terms.std(ddof=1) / np.sqrt(40) * np.sqrt(0.6))
    assert mean_of(terms).error == pytest.approx(terms.std(ddof=1) / np.sqrt(40))
    assert mean_of(terms, 40).error == 0


def test_equal_terms_do_not_claim_to_be_exact():
    assert mean_of(np.ones(50), 1000).error == pytest.approx(np.sqrt(0.95) / 50)


@pytest.mark.parametrize("n", [800, 10**6, np.inf])
def test_needed_is_the_number_that_reaches_the_error(n):
    found = Mean(0.5, 0.3 / np.sqrt(100) * np.sqrt(1 - 100 / n), 100)
    m = needed(0.01, found, n) / 1.1
    assert 1.96 * 0.3 / np.sqrt(m) * np.sqrt(max(1 - m / n, 0)) == pytest.approx(0.01, rel=0.15)


def test_an_error_that_nothing_reaches_asks_for_all_without_complaint(recwarn):
    assert needed(1e-300, Mean(0.5, 0.01, 100), 5000) == 5000
    assert not recwarn.list


def test_sampling_goes_on_until_the_error_is_reached_even_after_a_lucky_pilot():
    terms = np.concatenate([np.full(500, 0.5), RNG.integers(0, 2, 99_500)])
    asked = []

    def estimate(m):
        asked.append(m)
        return mean_of(terms[:m], len(terms))

    found = sampled(estimate, SamplingPlan("auto", 0.001), len(terms))
    assert 1.96 * found.error <= 0.001 and len(asked) > 2


def test_growing_computes_nothing_twice():
    seen = []

    def compute(start, stop):
        seen.append((start, stop))
        return np.arange(start, stop)

    growing = Growing(compute)
    for m in (3, 2, 7, 7):
        assert growing.first(m).tolist() == list(range(m))
    assert seen == [(0, 3), (3, 7)]
