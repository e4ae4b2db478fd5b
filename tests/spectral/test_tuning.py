"""Penalties and widths by leave-one-out: verdicts agree however they are computed, and searches end at a minimum."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from mercer.spectral.scatter import Classes, DualSpectrum, Penalised, ScatterSpectrum, directions, scatter
from mercer.spectral.tuning import REG_GRID, best_on_path, best_width, on_a_factor, stratified_sample, verdict, walk

RNG = np.random.default_rng(0)
F = RNG.standard_normal((90, 7)) @ RNG.standard_normal((7, 7))
CODES = (F[:, 0] > 0).astype(int) + (F[:, 1] + 0.5 * RNG.standard_normal(90) > 1)
CLASSES = Classes(CODES, np.bincount(CODES) / 90)


@pytest.mark.parametrize("reg", [1e-8, 1e-3, 1.0])
@pytest.mark.parametrize("weights", [None, RNG.uniform(0.5, 3, 90)])
def test_a_factor_its_spectrum_and_its_kernel_matrix_give_one_verdict(reg, weights):
    classes = Classes(CODES, CLASSES.priors, weights)
    S, every = scatter(F, classes), np.arange(90)
    by_factor = on_a_factor(S, F - S.mean, every, classes, S.variance)(reg)
    spectrum = ScatterSpectrum(S, F - S.mean, classes.weights, 90)
    rooted = np.sqrt(classes.weights)[:, None] * (F - S.mean)
    for other in (spectrum, DualSpectrum(rooted @ rooted.T, classes)):
        _, found, _ = best_on_path(other, S.variance, every, classes, np.array([reg]))
        assert_allclose(found, by_factor, rtol=1e-5)


def test_a_penalty_that_rounding_hides_is_never_chosen():
    S, every = scatter(F, CLASSES), np.arange(90)
    M = Penalised(S, 1e-3 * S.variance).M
    assert verdict(M, np.full(90, 1e-13), lambda combine: F[:, : combine.shape[1]], every, CLASSES, 1e-3) == (
        1.0,
        np.inf,
    )
    assert len(directions(M, CLASSES).shares) == 2


@given(st.floats(-9, 0), st.floats(-9, 0))
def test_a_walk_ends_at_the_least_penalty_of_a_single_valley(least, start):
    asked = []

    def judge(reg):
        asked.append(reg)
        return abs(np.log10(reg) - least) / 10, 0.0

    reg, (tried, errors) = walk(judge, 10.0**start)
    assert reg == REG_GRID[np.argmin(np.abs(np.log10(REG_GRID) - least))]
    assert errors[tried == reg][0] == errors.min() and len(asked) == len(tried) <= 16


@given(st.floats(-5, 5))
def test_the_best_width_of_a_single_valley(least):
    factor, (tried, errors) = best_width(lambda factor: (abs(np.log2(factor) - least) / 20, 0.0))
    assert abs(np.log2(factor) - least) <= 0.25 + 1e-9
    assert errors[tried == factor][0] == errors.min()


def test_among_equal_errors_the_search_goes_on_to_narrower_kernels():
    def flat(factor):
        return max(0.1, 0.02 * np.log2(factor)), abs(np.log2(factor) - 3)  # errors are equal up to a factor of 32

    assert best_width(flat)[0] == 8.0  # equal errors: the distance decides at once
    narrower = best_width(
        lambda factor: (0.1 + 0.001 * abs(np.log2(factor)), abs(np.log2(factor) - 3)), lambda e: 0.002
    )
    assert narrower[0] == 4.0  # 8 would lie beyond the slack


@given(st.integers(0, 50), st.integers(5, 400))
def test_a_sample_has_every_class_in_proportion(seed, size):
    codes = np.repeat([0, 1, 2], [300, 90, 4])
    found = stratified_sample(codes, size, np.random.default_rng(seed))
    counts = np.bincount(codes[found], minlength=3)
    assert len(np.unique(found)) == len(found) and np.all(counts >= 2)
    wanted = np.maximum(2, size * np.array([300, 90, 4]) // 394) if size < 394 else np.array([300, 90, 4])
    assert np.array_equal(counts, wanted)
