"""Steps of a map of tensors, many at a time, without a word to the host.

A `GridPlan` of the repulsion has room for the map to grow. When a run of steps is over, the host asks whether the map
has stayed within its grid. If not, the run is taken again from where it began, with more room and fewer steps. How long
runs are and how much room they get depends on the map alone, so every run of the program takes the same steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from mercer.embedding.loss import Loss

_FIRST, _LONGEST = 4, 64  # steps of the first run, and of any
_LEAST_ROOM, _MOST_ROOM = 1.1, 4.0  # a map that has settled still moves; a much larger grid would be mostly empty
_MARGIN = 1.05  # beyond the growth that is expected
LARGEST_RATE = 1e30  # a larger rate times a gain would overflow float32
_TINY = float(np.finfo(np.float32).tiny)


@dataclass
class Pace:
    """How many steps the next run takes, and how many times as wide the map may grow in it."""

    steps: int = _FIRST
    room: float = 1.25

    def was_right(self, used: float) -> None:
        """A run needed the share `used` of its room. A run of twice the steps may grow by the square."""
        grown = max(1.0, used * self.room)
        if grown**2 <= _MOST_ROOM:
            self.steps, grown = min(2 * self.steps, _LONGEST), grown**2
        self.room = min(max(_LEAST_ROOM, _MARGIN * grown), _MOST_ROOM)

    def was_too_fast(self) -> None:
        self.steps = max(1, self.steps // 4)
        self.room = min(1.5 * self.room, _MOST_ROOM)


def advance(loss: Loss, state: Any, phase: Any, free: Any, count: int, pace: Pace, longest: float) -> int:
    """Take up to `count` steps on the device. Returns how many were taken: 0 if the map needs a step with the host."""
    planned = getattr(loss.repulsion, "planned", None)
    plan = None if planned is None else planned(state.Y, pace.room)
    if plan is None:
        return 0
    taken = min(count, pace.steps)
    before = [part.clone() for part in (state.Y, state.update, state.gains)]
    squares: Any = 0.0
    for _ in range(taken):
        pull = loss.attraction(state.Y)
        push, Z = plan(state.Y)
        weight = (4 / Z.clamp(min=_TINY)).to(state.Y.dtype)
        motion = min(phase.rate, LARGEST_RATE), phase.momentum, longest
        squares = step(state, pull, push, 4 * phase.exaggeration, weight, motion, free)
    used = plan.used()
    if not used <= 1:
        for part, old in zip((state.Y, state.update, state.gains), before, strict=True):
            part.copy_(old)
        alone = taken == 1
        pace.was_too_fast()
        return 0 if alone else advance(loss, state, phase, free, count, pace, longest)
    refuse_infinite(float(squares))
    pace.was_right(used)
    state.steps += taken
    return taken


def step(
    state: Any, pull: Any, push: Any, strength: float, weights: Any, motion: tuple[float, float, float], free: Any
) -> Any:
    """One step along −(strength · pull − weights · push), in place; the squared norm of the gradient on the device.

    motion : the rate, the momentum and the longest step
    """
    arithmetic = import_module("mercer.backends.torch_maps")
    return arithmetic.step(state.Y, state.update, state.gains, pull, push, strength, weights, *motion, free)


def refuse_infinite(norm: float) -> None:
    if not np.isfinite(norm):
        raise FloatingPointError(
            "The gradient of the map is no longer finite. Try a smaller learning_rate, or data on a smaller scale."
        )
