"""Runs of steps without the host are single steps with it."""

import numpy as np
import pytest

from mercer.embedding.affinities import Affinities
from mercer.embedding.descent import DescentState, Phase, Reordering, Watch, descend
from mercer.embedding.loss import Loss
from mercer.embedding.repulsion import make_repulsion
from mercer.embedding.similarity import Student
from mercer.embedding.tensor_descent import Pace, advance

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

ROWS = torch.as_tensor(np.random.default_rng(0).standard_normal((250, 5)))
PHASE = Phase(40, 4.0, 20.0, 0.8)


@pytest.fixture(scope="module")
def affinities():
    return Affinities.of(ROWS, 15.0)


def loss_of(affinities):
    repulsion = make_repulsion(Student(), 2, n=250, method="grid")
    return Loss(affinities.P, affinities.entropy, Student(), repulsion)


def start(scale=1.0):
    Y = np.random.default_rng(1).standard_normal((250, 2)).astype(np.float32)
    return DescentState.at(torch.as_tensor(scale * Y))


def test_a_run_is_the_steps_one_by_one(affinities):
    """The grids have other corners, which changes the forces within the accuracy of a grid."""
    together, alone = start(), start()
    pace = Pace(steps=3, room=2.0)
    assert advance(loss_of(affinities), together, PHASE, None, 3, pace, 5.0) == 3 == together.steps
    for _ in range(3):
        assert advance(loss_of(affinities), alone, PHASE, None, 1, Pace(steps=1, room=2.0), 5.0) == 1
    moved = float((together.Y - start().Y).norm())
    assert float((together.Y - alone.Y).norm()) < 1e-3 * moved


def test_a_run_that_leaves_its_grid_is_taken_again(affinities):
    """Nothing of the steps in too small a grid remains."""
    wild = Phase(40, 1.0, 2000.0, 0.8)
    state, pace = start(0.01), Pace(steps=4, room=1.1)
    taken = advance(loss_of(affinities), state, wild, None, 4, pace, 5.0)
    assert taken < 4 and pace.steps < 4
    other = start(0.01)
    if taken:
        advance(loss_of(affinities), other, wild, None, taken, Pace(steps=taken, room=4.0), 5.0)
    assert float((state.Y - other.Y).norm()) <= 1e-2 * float((other.Y - start(0.01).Y).norm() + 1e-9)


def test_held_points_stay(affinities):
    state, free = start(), torch.arange(250) % 2 == 0
    advance(loss_of(affinities), state, PHASE, free, 3, Pace(), 5.0)
    assert torch.equal(state.Y[~free], start().Y[~free]) and not torch.equal(state.Y[free], start().Y[free])


def test_the_steps_between_looks_are_all_taken(affinities):
    """However callbacks, snapshots, the loss and sorting fall, each sees the number of steps that it asked for."""
    seen, reports = [], []
    watch = Watch(
        every=10,
        callbacks=[lambda steps, kl, Y: seen.append((steps, kl, Y.shape))],
        callback_every=7,
        snapshots=9,
        report=lambda steps, kl, norm, seconds: reports.append((steps, kl, norm)),
    )
    state = start()
    assert descend(loss_of(affinities), state, PHASE, watch, reordering=Reordering(10, (5,), 13)) == "all steps taken"
    assert state.steps == 40 and [steps for steps, *_ in seen] == [7, 14, 21, 28, 35]
    assert [steps for steps, _ in watch.taken] == [9, 18, 27, 36] and [r[0] for r in reports] == [10, 20, 30, 40]
    assert all(np.isfinite(r).all() for r in reports) and isinstance(watch.taken[0][1], torch.Tensor)
    np.testing.assert_array_equal(np.sort(state.order.numpy()), np.arange(250))


def test_a_gradient_that_is_not_finite_is_told(affinities):
    state = start()
    state.Y[0] = torch.inf
    with pytest.raises((FloatingPointError, ValueError), match=r"finite|run away"):
        descend(loss_of(affinities), state, PHASE, Watch())
