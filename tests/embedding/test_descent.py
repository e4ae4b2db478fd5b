"""The descent: its step by hand, what ends it, what does not move, and going on to the bit."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.embedding import descent
from mercer.embedding.affinities import affinities_of
from mercer.embedding.descent import DescentState, Phase, Reordering, Watch, descend
from mercer.embedding.loss import Loss
from mercer.embedding.repulsion import make_repulsion
from mercer.embedding.similarity import Gaussian, Student
from mercer.embedding.weighting import Perplexity
from mercer.graph.nearest_neighbors import build_index

RNG = np.random.default_rng(0)
X = np.vstack([RNG.standard_normal((60, 5)), RNG.standard_normal((60, 5)) + 6])
START = 1e-4 * RNG.standard_normal((120, 2))
AFFINITIES = affinities_of(build_index(X), Perplexity((10.0,)))


def loss(similarity=None, c=2):
    similarity = similarity or Student(1.0)
    repulsion = make_repulsion(similarity, c, method="exact", n=120)
    return Loss(AFFINITIES.P, AFFINITIES.entropy, similarity, repulsion)


def phase(until=100, exaggeration=4.0, rate=30.0, **more):
    return Phase(until, exaggeration, rate, 0.8, **more)


def by_hand(objective, Y, steps, exaggeration, rate, momentum):
    """Gains as van der Maaten's code has them, in NumPy."""
    update, gains = np.zeros_like(Y), np.ones_like(Y)
    for _ in range(steps):
        gradient = objective.gradient(Y, exaggeration)
        opposed = (gradient > 0) != (update > 0)
        gains = np.where(opposed, gains + 0.2, np.maximum(gains * 0.8, 0.01))
        update = np.clip(momentum * update - rate * gains * gradient, -descent.LONGEST_STEP, descent.LONGEST_STEP)
        Y = Y + update
    return Y


@pytest.mark.parametrize("similarity", [Student(1.0), Gaussian()], ids=str)
def test_steps_by_hand(similarity):
    state = DescentState.at(START)
    assert descend(loss(similarity), state, phase(40), Watch()) == descent.FINISHED
    assert state.steps == 40
    assert_allclose(state.Y, by_hand(loss(similarity), START, 40, 4.0, 30.0, 0.8), rtol=1e-6)


def test_going_on_is_one_longer_descent():
    whole, parts = DescentState.at(START), DescentState.at(START)
    descend(loss(), whole, phase(90), Watch())
    for until in (30, 31, 90):
        descend(loss(), parts, phase(until), Watch())
    assert_array_equal(whole.Y, parts.Y)


def test_the_value_falls():
    state, seen = DescentState.at(START.astype(np.float32)), []
    watch = Watch(every=25, report=lambda steps, value, norm, seconds: seen.append((steps, value)))
    descend(loss(), state, phase(400, 1.0), watch)
    assert [steps for steps, _ in seen] == list(range(25, 401, 25))
    values = [value for _, value in seen]
    assert values[-1] < 0.8 * values[0] and values[-1] == min(values)


def test_fixed_points_stay_to_the_bit():
    free = np.arange(120) % 3 > 0
    state = DescentState.at(START)
    descend(loss(), state, phase(), Watch(), free)
    assert_array_equal(state.Y[~free], START[~free])
    assert np.all(np.any(state.Y[free] != START[free], axis=1))


def test_a_map_without_fixed_points_is_centred_and_one_with_them_is_not():
    state = DescentState.at(START + 7)
    descend(loss(), state, phase(50), Watch())
    assert_allclose(state.Y.mean(axis=0), 0, atol=1e-12)
    state = DescentState.at(START + 7)
    descend(loss(), state, phase(50), Watch(), np.arange(120) > 0)
    assert_array_equal(state.Y[0], START[0] + 7)


def test_callbacks_see_the_map_and_may_end_it():
    seen = []

    def look(steps, value, Y):
        with pytest.raises(ValueError, match="read-only"):
            Y[0] = 0
        seen.append((steps, value, Y.copy()))
        return steps == 30

    state = DescentState.at(START)
    assert descend(loss(), state, phase(), Watch(callbacks=[look], callback_every=10)) == descent.STOPPED
    assert [steps for steps, _, _ in seen] == [10, 20, 30]
    assert_array_equal(state.Y, seen[-1][2])
    assert_allclose(loss().value(state.Y), seen[-1][1], rtol=1e-12)


def test_a_callback_may_choose_its_steps_and_whether_it_sees_the_loss():
    class Choosy:
        def __init__(self):
            self.seen = []

        def is_due(self, steps):
            return steps in (3, 10, 11)

        def sees_value(self, steps):
            return steps == 10

        def __call__(self, steps, value, Y):
            self.seen.append((steps, np.isfinite(value)))

    choosy, every, plain = Choosy(), [], DescentState.at(START)
    state = DescentState.at(START)
    descend(loss(), state, phase(12), Watch(callbacks=[choosy], callback_every=1))
    descend(loss(), plain, phase(12), Watch())
    assert choosy.seen == [(3, False), (10, True), (11, False)] and np.array_equal(state.Y, plain.Y)
    # Beside a callback that always looks, it sees the loss too.
    choosy.seen.clear()
    both = [choosy, lambda steps, value, Y: every.append(value)]
    descend(loss(), DescentState.at(START), phase(5), Watch(callbacks=both, callback_every=1))
    assert choosy.seen == [(3, True)] and len(every) == 5 and np.all(np.isfinite(every))


def test_every_callback_is_asked_and_only_true_stops():
    asked = []
    watch = Watch(callbacks=[lambda *_: True, lambda *_: asked.append(1)], callback_every=10)
    descend(loss(), DescentState.at(START), phase(), watch)
    assert asked == [1]
    assert descend(
        loss(), DescentState.at(START), phase(20), Watch(callbacks=[lambda *_: "go on"], callback_every=5)
    ) == (descent.FINISHED)


def test_snapshots():
    state, watch = DescentState.at(START), Watch(snapshots=20)
    descend(loss(), state, phase(50), watch)
    assert [steps for steps, _ in watch.taken] == [20, 40]
    shorter = DescentState.at(START)
    descend(loss(), shorter, phase(20), Watch())
    assert_array_equal(watch.taken[0][1], shorter.Y)


def test_a_small_gradient_ends_it():
    state = DescentState.at(np.zeros((120, 2)))
    assert descend(loss(), state, phase(), Watch(every=10)) == descent.SMALL_GRADIENT
    assert state.steps == 10
    assert_array_equal(state.Y, 0)


def test_no_progress_ends_it():
    """A rate far too high shakes the map: the value goes up and down, and patience runs out."""
    state = DescentState.at(START)
    ended = descend(loss(), state, phase(1000, 1.0, 1e8, patience=50), Watch(every=10))
    assert ended == descent.NO_PROGRESS and state.steps < 1000
    assert np.all(np.isfinite(state.Y))


@pytest.mark.parametrize("rate", [1e8, 1e37, 1e300])
def test_no_rate_makes_the_map_infinite(rate):
    state = DescentState.at(START.astype(np.float32))
    descend(loss(), state, phase(60, 1.0, rate), Watch())
    assert np.all(np.isfinite(state.Y))
    assert np.abs(state.Y).max() <= 60 * descent.LONGEST_STEP + 1


def test_interrupting_keeps_the_map_so_far():
    def press(steps, value, Y):
        raise KeyboardInterrupt

    state, same = DescentState.at(START), DescentState.at(START)
    ended = descend(loss(), state, phase(), Watch(callbacks=[press], callback_every=37))
    descend(loss(), same, phase(37), Watch())
    assert ended == descent.INTERRUPTED and state.steps == 37
    assert_array_equal(state.Y, same.Y)


def test_a_gradient_that_is_no_number_is_an_error():
    objective = loss()
    objective.repulsion = lambda Y: (np.full_like(Y, np.nan), 1.0)
    with pytest.raises(FloatingPointError, match="learning_rate"):
        descend(objective, DescentState.at(START), phase(), Watch())


# --- the order in memory ---------------------------------------------------------------------------------------


def test_reordering_changes_where_points_stand_in_memory_and_nothing_else():
    """Gradients agree to rounding in every order, and rows() gives the map in the order of the data."""
    plain = DescentState.at(START)
    descend(loss(), plain, phase(8), Watch())
    often = Reordering(least=10, at=(0, 3))
    free = np.arange(120) % 4 > 0
    moved, seen = DescentState.at(START), []
    watch = Watch(callbacks=[lambda steps, value, Y: seen.append((value, Y))], callback_every=7, snapshots=5)
    descend(loss(), moved, phase(8), watch, reordering=often)
    assert not np.array_equal(moved.order, np.arange(120))
    assert_allclose(moved.rows(), plain.Y, rtol=1e-6, atol=1e-12)
    assert_allclose(loss().value(seen[0][1]), seen[0][0], rtol=1e-9)
    held = DescentState.at(START)
    descend(loss(), held, phase(8), Watch(), free, often)
    assert_array_equal(held.rows()[~free], START[~free])


def test_going_on_with_an_order_is_one_longer_descent():
    small = Reordering(least=10)
    whole, parts = DescentState.at(START), DescentState.at(START)
    descend(loss(), whole, phase(90), Watch(), reordering=small)
    for until in (10, 30, 45, 90):
        descend(loss(), parts, phase(until), Watch(), reordering=small)
    assert_array_equal(whole.rows(), parts.rows())
