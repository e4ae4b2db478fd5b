"""Which steps of a descent are shown, and when their divergence is computed."""

import numpy as np

from mercer.live.descent_runs import DescentFrames


def test_a_descent_is_shown_ten_times_a_second_and_not_at_every_step():
    for seconds in (0.001, 0.005, 0.03, 0.06, 0.085):
        now, shown = [0.0], []
        frames = DescentFrames(
            lambda step, value, Y: shown.append(step),  # noqa: B023  called within this loop
            lambda: None,
            lambda: False,
            clock=lambda: now[0],  # noqa: B023
        )
        for step in range(1, round(3 / seconds)):
            now[0] += seconds
            if frames.is_due(step):
                frames(step, 1.0, np.eye(2))
        assert 30 <= len(shown) <= 60


def test_a_divergence_is_asked_for_once_in_a_while_and_told_until_the_next():
    now, shown = [0.0], []
    frames = DescentFrames(
        lambda step, value, Y: shown.append(value), lambda: None, lambda: False, 1.0, clock=lambda: now[0]
    )
    for step in range(1, 25):
        now[0] += 0.125
        if frames.is_due(step):
            frames(step, float(step) if frames.sees_value(step) else np.nan, np.eye(2))
    assert len(shown) == 24 and sorted(set(shown)) == [1.0, 9.0, 17.0]


def test_a_descent_is_checked_at_every_step_and_stops_at_once():
    asked, wish = [], []
    frames = DescentFrames(lambda *_: None, lambda: asked.append(1), lambda: bool(wish), clock=lambda: 0.0)
    assert frames.is_due(1) and not frames(1, 1.0, np.eye(2))
    assert not frames.is_due(2) and len(asked) == 2
    wish.append("stop")
    assert frames.is_due(3) and frames(3, 1.0, np.eye(2))
