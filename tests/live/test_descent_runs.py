"""How many steps of a descent lie between two maps."""

from mercer.live.descent_runs import FramePace


def test_the_pace_finds_how_many_steps_lie_between_two_maps():
    now = [0.0]
    pace = FramePace(clock=lambda: now[0])
    for _ in range(10):  # a step takes 5 ms, so ten of them lie between two of twelve maps per second
        while not pace.is_wrong() and now[0] < 1e3:
            now[0] += 0.005 * pace.every
        if now[0] >= 1e3:
            break
        pace.correct()
    assert 9 <= pace.every <= 27
