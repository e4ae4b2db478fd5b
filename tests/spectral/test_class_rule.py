"""From coordinates to classes: the temperature and the spread that samples left out call for."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from mercer.spectral.class_rule import DiscriminantRule, fit_rule, left_out_error
from mercer.spectral.scatter import Classes, Directions


@settings(max_examples=25, deadline=None)
@given(st.floats(0.2, 30.0), st.integers(0, 2**32 - 1))
def test_the_temperature_recovers_a_wrong_spread(factor, seed):
    """Clouds drawn from the rule itself, its spread then understated: the temperature makes up for it."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 2, 4000)
    z = np.where(codes, 1.0, -1.0)[:, None] + np.sqrt(1.0) * rng.standard_normal((4000, 1))
    rule = DiscriminantRule(np.array([[-1.0], [1.0]]), np.array([1.0 / factor]), np.array([0.5, 0.5]))
    temperature = rule.calibrated(z, codes, np.ones(4000)).temperature
    assert temperature >= 1
    assert_allclose(temperature, max(1.0, factor), rtol=0.25)


def test_a_class_of_one_tells_nothing_of_the_spread():
    z = np.array([[0.0], [2.0], [30.0]])
    found = Directions(np.array([1.0]), np.ones((2, 1)), np.array([[1.0], [10.0]]))
    rule = fit_rule(z, np.array([0, 0, 1]), np.ones(3), found, np.array([0.6, 0.4]))
    assert_allclose(rule.means, [[1.0], [10.0]])
    assert_allclose(rule.spread, [1.0])


def test_no_rule_knows_the_class_of_its_only_sample_without_it():
    """Also where what is left of the sample's position points at its class, as the targets of the fit make it do."""
    z = np.r_[np.linspace(-1.2, -0.8, 10), np.linspace(0.8, 1.2, 10), 30.0][:, None]
    codes = np.r_[np.zeros(10, int), np.ones(10, int), 2]
    found = Directions(np.array([0.9]), np.ones((3, 1)), np.array([[-1.0], [1.0], [30.0]]))
    classes = Classes(codes, np.array([10, 10, 1]) / 21)
    assert classes.alone.tolist() == [False] * 20 + [True]
    assert left_out_error(z, codes, np.ones(21), found, classes.priors) == 0
    assert left_out_error(z, codes, np.ones(21), found, classes.priors, alone=classes.alone) == pytest.approx(1 / 21)
    sampled = Classes(codes, classes.priors, counts=np.array([100, 100, 7]))  # 7 rows, of which one was drawn
    assert not sampled.alone.any()


def test_left_out_samples_on_the_wrong_side_do_not_turn_the_rule_round():
    codes = np.arange(100) % 2
    z = np.where(codes, -0.1, 0.1)[:, None]  # each a little away from its class, as leaving out moves it
    found = Directions(np.array([0.9]), np.ones((2, 1)), np.array([[-1.0], [1.0]]))
    rule = fit_rule(z, codes, np.ones(100), found, np.array([0.5, 0.5])).calibrated(z, codes, np.ones(100))
    assert rule.means[1, 0] > 0 > rule.means[0, 0]
    odds = rule.decide(np.array([[1.0], [-1.0]]))
    assert_allclose(odds, np.log(0.5), atol=1e-2)  # and it says that it does not know
