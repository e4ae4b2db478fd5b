"""The rational step: how far it misses one and zero, and that it projects."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.spectral.step_function import StepFunction


@pytest.mark.parametrize("gap", [1.0, 1e-1, 1e-3, 1e-5, 1e-7])
def test_it_is_one_above_the_gap_and_zero_below(gap):
    """To 1e-14 by theory; the middle of the gap is rounded, which moves ends that are `gap` away by ε / gap of that."""
    step = StepFunction.across(1.0, 1.0 + gap, reach=2.0)
    away = np.geomspace(gap / 2, 2.0, 2001)
    rounding = 1e-13 + 32 * np.finfo(float).eps / gap
    assert_allclose(step(step.middle + away), 1.0, atol=rounding)
    assert_allclose(step(step.middle - away), 0.0, atol=rounding)


def test_it_rises_within_the_gap():
    step = StepFunction.across(0.0, 1.0, reach=5.0)
    assert step(np.array([0.5]))[0] == pytest.approx(0.5, abs=1e-15)
    assert np.all(np.diff(step(np.linspace(0.0, 1.0, 101))) > 0)


def test_a_wider_gap_takes_fewer_poles():
    narrow, wide = (StepFunction.across(1.0, 1.0 + gap, reach=1.0) for gap in (1e-6, 1.0))
    assert len(wide.poles) < len(narrow.poles) < 64


def test_of_a_matrix_it_is_the_projector_onto_the_leading_vectors():
    rng = np.random.default_rng(0)
    values, Q = np.r_[np.linspace(3, 2, 5), np.linspace(1.9, 0, 15)], np.linalg.qr(rng.standard_normal((20, 20)))[0]
    B = Q @ np.diag(values) @ Q.T
    step = StepFunction.across(1.9, 2.0, reach=2.0)
    away, terms = B - step.middle * np.eye(20), zip(step.weights, step.poles, strict=True)
    halves = [w * away @ np.linalg.inv(away @ away + tau**2 * np.eye(20)) for w, tau in terms]
    assert_allclose(0.5 * np.eye(20) + 0.5 * sum(halves), Q[:, :5] @ Q[:, :5].T, atol=1e-12)
