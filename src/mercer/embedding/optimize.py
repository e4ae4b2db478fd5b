"""The descent: steps with momentum and a gain for each coordinate, in phases, watched every so many steps.

    gradient gₜ = 4 (exaggeration · pull − push / Z),   uₜ = momentum · uₜ₋₁ − rate · gain · gₜ,   Y += uₜ

A phase has its own exaggeration, rate and momentum. When it is time to look, the KL divergence of the true P is taken
at the map before the step: watchers see both and may end the descent; so do a small gradient and a KL that no longer
falls. Ctrl-C ends it too. Whatever ends it, the map so far is kept.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np

from mercer.backends.cpu import for_each
from mercer.embedding.arrange import along_a_curve
from mercer.embedding.laws import runs
from mercer.embedding.loss import Forces, Loss
from mercer.models.fields import FARTHEST, Mismatch, SavedRecord, floats, optional, permutation, whole

LONGEST_STEP = 5.0  # of a coordinate at once: a rate that is too high shakes the map and does not blow it up
_MANY = 10_000  # points from which their order in memory is worth arranging
_ARRANGE_AT, _ARRANGE_EVERY = (30, 100), 250
_FALL = 1e-5  # of the KL divergence: falling by less is not falling
_LARGEST_RATE = 1e30  # in float32 a larger one times a gain overflows

FINISHED, SMALL_GRADIENT, NO_PROGRESS, STOPPED, INTERRUPTED = (
    "all steps taken",
    "small gradient",
    "no progress",
    "stopped by a callback",
    "interrupted",
)

Callback = Callable[[int, float, np.ndarray], Any]  # (steps taken, KL, map) -> True to stop


@dataclass
class Map:
    """Where the points are, (n, c), and how they move: all that a descent needs to go on later, to the bit.

    order : point i here is row order[i] of the data; None: row i
    """

    _saved = SavedRecord(
        "Map",
        {
            "Y": floats("n", "c", most=FARTHEST),
            "update": floats("n", "c", most=FARTHEST),
            "gains": floats("n", "c", most=FARTHEST),
            "steps": whole(),
            "order": optional(permutation("n")),
        },
        also=lambda parts: _refuse_mixed(parts),
    )

    Y: np.ndarray
    update: np.ndarray
    gains: np.ndarray
    steps: int = 0
    order: np.ndarray | None = None

    @classmethod
    def at(cls, Y: np.ndarray) -> Map:
        Y = np.array(Y, order="C")
        return cls(Y, np.zeros_like(Y), np.ones_like(Y))

    def rows(self) -> np.ndarray:
        """The map in the order of the data, a copy."""
        if self.order is None:
            return self.Y.copy()
        out = np.empty_like(self.Y)
        out[self.order] = self.Y
        return out

    def arrange(self) -> None:
        """The points in the order of their places."""
        order = along_a_curve(self.Y)
        new = {"Y": self.Y[order], "update": self.update[order], "gains": self.gains[order]}
        new["order"] = order if self.order is None else self.order[order]
        self.__dict__.update(new)  # all at once: Ctrl-C may come at any moment, and finds a whole map


@dataclass(frozen=True)
class Phase:
    """Steps up to number `until`, with these numbers; `patience`: steps without a lower KL before it is given up."""

    until: int
    exaggeration: float
    rate: float
    momentum: float
    patience: float = np.inf
    least_gradient: float = 0.0


@dataclass(frozen=True)
class Watch:
    """Who looks at the map, and when: `callbacks` every `callback_every` steps, `report` whenever the KL is known."""

    every: int = 50
    callbacks: Sequence[Callback] = ()
    callback_every: int = 50
    snapshots: int | None = None
    report: Callable[[int, float, float, float], None] | None = None  # steps, KL, norm of the gradient, seconds
    taken: list[tuple[int, np.ndarray]] = field(default_factory=list)


def descend(loss: Loss, state: Map, phase: Phase, watch: Watch, free: np.ndarray | None = None) -> str:
    """Take the steps of a phase on `state`, in place; why it ended. Points that are not `free` (n,) do not move."""
    best, best_at, began = np.inf, state.steps, state.steps
    started = time.perf_counter()
    try:
        loss.arrange(state.order)
        movable = _in_order(free, state)
        while state.steps < phase.until:
            if _time_to_arrange(state):
                state.arrange()
                loss.arrange(state.order)
                movable = _in_order(free, state)
            judge, call = (state.steps + 1) % watch.every == 0, _time_to_call(watch, state, began)
            forces = loss.forces(state.Y)
            value = loss.value(state.Y, forces.Z) if judge or call else np.nan
            if call and _stopped(watch, state.steps, value, state.rows()):
                return STOPPED
            norm = _step(loss, state, forces, phase, movable)
            if judge:
                _centre(state, free)
            if watch.snapshots and state.steps % watch.snapshots == 0:
                watch.taken.append((state.steps, state.rows()))
            if not judge:
                continue
            if watch.report is not None:
                watch.report(state.steps, value, norm, time.perf_counter() - started)
                started = time.perf_counter()
            if value < best - _FALL * abs(value):
                best, best_at = value, state.steps
            elif state.steps - best_at > phase.patience:
                return NO_PROGRESS
            if norm <= phase.least_gradient:
                return SMALL_GRADIENT
        if _time_to_call(watch, state, began) and _stopped(watch, state.steps, loss.value(state.Y), state.rows()):
            return STOPPED
    except KeyboardInterrupt:
        loss.arrange(state.order)  # it may have come while the loss was being put in order
        return INTERRUPTED
    return FINISHED


def _time_to_call(watch: Watch, state: Map, began: int) -> bool:
    """After so many steps; what the phase before ended with has been shown."""
    return bool(watch.callbacks) and state.steps > began and state.steps % watch.callback_every == 0


def _time_to_arrange(state: Map) -> bool:
    """While clusters form, then now and again; by the number of the step alone, so that going on changes nothing."""
    n, c = state.Y.shape
    return n >= _MANY and c <= 3 and (state.steps in _ARRANGE_AT or state.steps % _ARRANGE_EVERY == 0)


def _in_order(free: np.ndarray | None, state: Map) -> np.ndarray | None:
    return free if free is None or state.order is None else free[state.order]


def _stopped(watch: Watch, number: int, value: float, Y: np.ndarray) -> bool:
    """Whether some callback wants to stop; each is asked, and sees a map that it cannot change."""
    Y.flags.writeable = False
    answers = [callback(number, value, Y) for callback in watch.callbacks]
    return any(isinstance(answer, bool | np.bool_) and bool(answer) for answer in answers)


def _step(loss: Loss, state: Map, forces: Forces, phase: Phase, free: np.ndarray | None) -> float:
    """Move the points; the norm of the gradient."""
    norm = move(
        state,
        forces.pull,
        forces.push,
        4 * phase.exaggeration,
        np.array([4 / forces.Z]),
        phase.rate,
        phase.momentum,
        free,
        loss.n_jobs,
    )
    if not np.isfinite(norm):
        raise FloatingPointError(
            "The gradient of the map is no longer finite. Try a smaller learning_rate, or data on a smaller scale."
        )
    state.steps += 1
    return norm


def move(
    state: Map,
    pull: np.ndarray,
    push: np.ndarray,
    strength: float,
    weights: np.ndarray,
    rate: float,
    momentum: float,
    free: np.ndarray | None = None,
    n_jobs: int | None = None,
) -> float:
    """One step along −(strength · pull − weights · push), in place; the norm of the gradient."""
    kind = state.Y.dtype.type
    numbers = kind(min(rate, _LARGEST_RATE)), kind(momentum), kind(LONGEST_STEP)
    free = np.empty(0, np.bool_) if free is None else free
    weights = weights.astype(kind)
    jobs = list(runs(len(state.Y)))
    squares = np.zeros(len(jobs))

    def work(job: int, _: int) -> None:
        rows = jobs[job].start, jobs[job].stop
        squares[job] = _compiled().descend(
            state.Y, pull, push, kind(strength), weights, *numbers, free, state.update, state.gains, *rows
        )

    for_each(range(len(jobs)), work, n_jobs)
    return float(np.sqrt(squares.sum()))


def _centre(state: Map, free: np.ndarray | None) -> None:
    """The map about the origin, where its digits are finest; one with fixed points stays where it is."""
    if free is None:
        state.Y -= state.Y.mean(axis=0, dtype=np.float64).astype(state.Y.dtype)


def _compiled() -> Any:
    return import_module("mercer.backends.compiled_attraction")


def _refuse_mixed(parts: Any) -> None:
    """For a map out of a model file."""
    if not parts.Y.size or len({part.dtype for part in (parts.Y, parts.update, parts.gains)}) != 1:
        raise Mismatch("places, updates and gains must have one precision")
