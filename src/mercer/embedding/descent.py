"""The descent: phases of steps with momentum and a gain for each coordinate. The loss is computed every few steps.

    gradient gₜ = 4 (exaggeration · pull − push / Z),   uₜ = momentum · uₜ₋₁ − rate · gain · gₜ,   Y += uₜ

A phase has its own exaggeration, rate and momentum. Every `Watch.every` steps the KL divergence of the true P is
computed for the map before the step. Callbacks see both and may end the descent. A small gradient, a KL that no longer
falls and Ctrl-C end it too. Whatever ends it, the map so far is kept.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np

from mercer.backends import is_torch, slices, to_numpy
from mercer.backends.cpu import for_each
from mercer.embedding.loss import Forces, Loss
from mercer.embedding.tensor_descent import LARGEST_RATE, Pace, advance, refuse_infinite, step
from mercer.embedding.z_order import z_order
from mercer.models.fields import FARTHEST, Mismatch, SavedRecord, floats, optional, permutation, whole

LONGEST_STEP = 5.0  # no coordinate moves further in a step, so that too high a learning rate cannot blow up the map
_FALL = 1e-5  # a KL divergence that falls by less than this share of itself counts as no progress

FINISHED, SMALL_GRADIENT, NO_PROGRESS, STOPPED, INTERRUPTED = (
    "all steps taken",
    "small gradient",
    "no progress",
    "stopped by a callback",
    "interrupted",
)

Callback = Callable[[int, float, np.ndarray], Any]  # (steps taken, KL, map) -> True to stop


@dataclass
class DescentState:
    """The positions of the points, (n, c), and their motion: enough to continue a descent later with the same bits.

    All arrays are NumPy's, or all are tensors on one device.

    order : point i here is row order[i] of the data; None means row i
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

    Y: Any
    update: Any
    gains: Any
    steps: int = 0
    order: Any = None

    @classmethod
    def at(cls, Y: Any) -> DescentState:
        if is_torch(Y):
            return cls(Y.clone(), Y.new_zeros(Y.shape), Y.new_ones(Y.shape))
        Y = np.array(Y, order="C")
        return cls(Y, np.zeros_like(Y), np.ones_like(Y))

    def rows(self) -> Any:
        """A copy of the map in the order of the data."""
        out = self.Y.clone() if is_torch(self.Y) else self.Y.copy()
        if self.order is None:
            return out
        out[self.order] = self.Y
        return out

    def on_host(self) -> DescentState:
        """The same state in NumPy arrays."""
        if not is_torch(self.Y):
            return self
        order = None if self.order is None else to_numpy(self.order)
        return DescentState(to_numpy(self.Y), to_numpy(self.update), to_numpy(self.gains), self.steps, order)

    def reorder(self) -> None:
        """Sort the points along a Z-curve through the map."""
        order = z_order(self.Y)
        new = {"Y": self.Y[order], "update": self.update[order], "gains": self.gains[order]}
        new["order"] = order if self.order is None else self.order[order]
        self.__dict__.update(new)  # in one operation, so that Ctrl-C at any moment finds a consistent map


@dataclass(frozen=True)
class Phase:
    """The steps up to number `until`, and their settings.

    patience : steps without a lower KL after which the phase ends
    least_gradient : norm of the gradient at or below which the phase ends
    """

    until: int
    exaggeration: float
    rate: float
    momentum: float
    patience: float = np.inf
    least_gradient: float = 0.0


@dataclass(frozen=True)
class Watch:
    """Who looks at the map, and when.

    every : steps between two looks at the KL divergence
    callbacks, callback_every : functions to call, and the steps between two calls. A callback with a method `is_due` is
        asked by it whether it wants to be called now, and by `sees_value` whether it looks at the KL; without a look it
        may get NaN. Neither a copy of the map nor the KL is made for those that do not want it.
    report : called with steps, KL, norm of the gradient and seconds at each look
    snapshots, taken : steps between two copies of the map, and the list that they are added to
    """

    every: int = 50
    callbacks: Sequence[Callback] = ()
    callback_every: int = 50
    snapshots: int | None = None
    report: Callable[[int, float, float, float], None] | None = None
    taken: list[tuple[int, np.ndarray]] = field(default_factory=list)


@dataclass(frozen=True)
class Reordering:
    """When the points are sorted along a Z-curve again (see `z_order`).

    Only the number of the step decides, so a descent that is interrupted and continued takes the same steps.

    least : points from which the better use of the cache repays the sort
    at : steps at which clusters form, so that the order of the data soon no longer helps
    every : steps between two sorts after that
    """

    least: int = 10_000
    at: tuple[int, ...] = (30, 100)
    every: int = 250

    def is_due(self, state: DescentState) -> bool:
        n, c = state.Y.shape
        return n >= self.least and c <= 3 and (state.steps in self.at or state.steps % self.every == 0)


REORDERING = Reordering()


def descend(
    loss: Loss,
    state: DescentState,
    phase: Phase,
    watch: Watch,
    free: np.ndarray | None = None,
    reordering: Reordering = REORDERING,
) -> str:
    """Take the steps of a phase, changing `state` in place, and return why it ended.

    free : (n,), which points may move; None for all
    """
    best, best_at, began, pace = np.inf, state.steps, state.steps, Pace()
    started = time.perf_counter()
    try:
        loss.reorder(state.order)
        movable = _in_order(free, state)
        while state.steps < phase.until:
            if reordering.is_due(state):
                state.reorder()
                loss.reorder(state.order)
                movable = _in_order(free, state)
            quiet = min(phase.until, _next_look(watch, state, reordering)) - state.steps
            if quiet and is_torch(state.Y) and advance(loss, state, phase, movable, quiet, pace, LONGEST_STEP):
                continue
            judge, called = (state.steps + 1) % watch.every == 0, _called(watch, state, began)
            forces = loss.forces(state.Y)
            value = loss.value(state.Y, forces.Z) if judge or _sees_value(called, state.steps) else np.nan
            if called and _stopped(called, state.steps, value, state.rows()):
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
        called = _called(watch, state, began)
        if called and _stopped(called, state.steps, loss.value(state.Y), state.rows()):
            return STOPPED
    except KeyboardInterrupt:
        loss.reorder(state.order)  # Ctrl-C may have come between the two reorderings
        return INTERRUPTED
    return FINISHED


def _next_look(watch: Watch, state: DescentState, reordering: Reordering) -> int:
    """How many steps may pass until the map is looked at: for the loss, a callback, a snapshot or a new order."""
    steps = state.steps
    looks = [steps - steps % watch.every + watch.every - 1]  # the loss is that of the map before this step
    if watch.callbacks:
        looks.append(-(-steps // watch.callback_every) * watch.callback_every)
    if watch.snapshots:
        looks.append(steps - steps % watch.snapshots + watch.snapshots - 1)
    looks += [at for at in reordering.at if at > steps]
    looks.append(steps - steps % reordering.every + reordering.every)
    return min(looks)


def _called(watch: Watch, state: DescentState, began: int) -> list[Callback]:
    """Those to call, every `callback_every` steps. The last state of the previous phase was already shown."""
    if state.steps <= began or state.steps % watch.callback_every:
        return []
    return [callback for callback in watch.callbacks if getattr(callback, "is_due", _always)(state.steps)]


def _sees_value(called: Sequence[Callback], steps: int) -> bool:
    """Whether one of them looks at the loss, which takes about as long to compute as the forces."""
    return any(getattr(callback, "sees_value", _always)(steps) for callback in called)


def _always(_: int) -> bool:
    return True


def _in_order(free: Any, state: DescentState) -> Any:
    return free if free is None or state.order is None else free[state.order]


def _stopped(called: Sequence[Callback], number: int, value: float, Y: Any) -> bool:
    """Whether a callback wants to stop. All of them are called, with a copy of the map that changes nothing."""
    if isinstance(Y, np.ndarray):
        Y.flags.writeable = False
    answers = [callback(number, value, Y) for callback in called]
    return any(isinstance(answer, bool | np.bool_) and bool(answer) for answer in answers)


def _step(loss: Loss, state: DescentState, forces: Forces, phase: Phase, free: Any) -> float:
    """Move the points, and return the norm of the gradient."""
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
    refuse_infinite(norm)
    state.steps += 1
    return norm


def move(
    state: DescentState,
    pull: Any,
    push: Any,
    strength: float,
    weights: Any,
    rate: float,
    momentum: float,
    free: Any = None,
    n_jobs: int | None = None,
) -> float:
    """Take one step along −(strength · pull − weights · push), in place, and return the norm of the gradient.

    weights : one number, or one per row, in an array
    """
    if is_torch(state.Y):
        per_row = state.Y.new_tensor(weights.tolist()) if isinstance(weights, np.ndarray) else weights.to(state.Y.dtype)
        motion = min(rate, LARGEST_RATE), momentum, LONGEST_STEP
        squares = step(state, pull, push, strength, per_row[:, None], motion, free)
        return float(squares.sqrt())
    kind = state.Y.dtype.type
    numbers = kind(min(rate, LARGEST_RATE)), kind(momentum), kind(LONGEST_STEP)
    free = np.empty(0, np.bool_) if free is None else free
    weights = weights.astype(kind)
    jobs = list(slices(len(state.Y)))
    squares = np.zeros(len(jobs))

    def work(job: int, _: int) -> None:
        rows = jobs[job].start, jobs[job].stop
        squares[job] = _compiled().descend(
            state.Y, pull, push, kind(strength), weights, *numbers, free, state.update, state.gains, *rows
        )

    for_each(range(len(jobs)), work, n_jobs, blas=False)
    return float(np.sqrt(squares.sum()))


def _centre(state: DescentState, free: Any) -> None:
    """Move the map back to the origin, where floats are finest. A map with fixed points stays where it is."""
    if free is None and is_torch(state.Y):
        state.Y -= state.Y.double().mean(0).to(state.Y.dtype)
    elif free is None:
        state.Y -= state.Y.mean(axis=0, dtype=np.float64).astype(state.Y.dtype)


def _compiled() -> Any:
    return import_module("mercer.backends.compiled_attraction")


def _refuse_mixed(parts: Any) -> None:
    """Raise Mismatch if the arrays of a map from a model file do not have one precision."""
    if not parts.Y.size or len({part.dtype for part in (parts.Y, parts.update, parts.gains)}) != 1:
        raise Mismatch("places, updates and gains must have one precision")
