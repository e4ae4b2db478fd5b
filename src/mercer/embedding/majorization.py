"""Lowering stress: Guttman transforms, hastened by the curvature that past steps have shown.

The Guttman transform X − g/m never raises the stress, but it creeps: near a minimum each step leaves most of the way.
Limited-memory BFGS takes the same quadratic as its first guess of the curvature and corrects it by the last ten steps.
A trial that does not lower the stress is shortened. After two failures a Guttman transform follows, so the stress of
the map that is kept never rises. Each trial costs one evaluation: one pass gives both the stress and the gradient.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mercer.embedding.stress import Evaluation, Objective

_MEMORY = 10  # steps that are remembered; 5 to 20 make little difference
_ARMIJO = 1e-4  # share of the decrease that the gradient promises which a trial must reach
_SHORTENINGS = 2  # of a trial that failed, before a Guttman transform takes its place
_LONGEST = 10.0  # Guttman steps: where the stress hardly curves, the last step alone would promise far too much
_CALM = 2  # consecutive small decreases that end the steps: a single one can be a short step by chance

CONVERGED, EXHAUSTED, STATIONARY = "converged", "reached max_iter", "at the limit of rounding"
STOPPED, INTERRUPTED = "stopped by a callback", "interrupted"

Memory = deque[tuple[np.ndarray, np.ndarray, float]]  # steps, changes of the gradient, their inner products
Watcher = Callable[[int, Evaluation, np.ndarray], bool | None]


@dataclass
class Descent:
    """X : (n, c); evaluation : there; steps : trials taken; ended : why they ended"""

    X: np.ndarray
    evaluation: Evaluation
    steps: int
    ended: str

    @property
    def residual(self) -> float:
        """‖g/m‖ / ‖X‖: how far one more Guttman transform would move the map, relative to its size."""
        size = float(np.linalg.norm(self.X - self.X.mean(axis=0)))
        step = np.linalg.norm(self.evaluation.half_gradient / self.evaluation.curvature)
        return float(step) / size if size > 0 else 0.0


def majorize(
    objective: Objective, X: np.ndarray, *, max_iter: int, eps: float, watch: Watcher | None = None
) -> Descent:
    """Lower the stress from X on, (n, c) float64, by at most `max_iter` evaluations.

    The steps end when two decreases in a row are below eps times Σd², or when rounding hides any decrease.
    """
    X = X - X.mean(axis=0)
    state = Descent(X, objective.evaluate(X), 0, EXHAUSTED)
    memory: Memory = deque(maxlen=_MEMORY)
    calm, shortened, step = 0, 0, -_hastened(memory, state.evaluation)
    try:
        while state.steps < max_iter:
            here = state.evaluation
            trial = state.X + step
            there = objective.evaluate(trial)
            state.steps += 1
            promised = 2 * float(np.vdot(here.half_gradient, step))
            if not (there.value < here.value and there.value <= here.value + _ARMIJO * promised):
                if not memory or not here.half_gradient.any():  # even a Guttman transform gains nothing
                    state.ended = STATIONARY
                    break
                shortened += 1
                if shortened <= _SHORTENINGS and promised < 0:
                    step = _shortened(step, promised, there.value - here.value)
                else:
                    memory.clear()
                    step = -_hastened(memory, here)
                continue
            _remember(memory, step, there.half_gradient - here.half_gradient, there.curvature)
            calm = calm + 1 if here.value - there.value < eps * there.squares else 0
            state.X, state.evaluation = trial, there
            shortened, step = 0, -_hastened(memory, there)
            if watch is not None and watch(state.steps, there, trial):
                state.ended = STOPPED
                break
            if calm >= _CALM:
                state.ended = CONVERGED
                break
    except KeyboardInterrupt:
        state.ended = INTERRUPTED
    return state


def _shortened(step: np.ndarray, promised: float, rise: float) -> np.ndarray:
    """The step to the minimum of the parabola through both values and the slope, a tenth to a half as long."""
    return float(np.clip(-promised / (2 * (rise - promised)), 0.1, 0.5)) * step


def _hastened(memory: Memory, here: Evaluation) -> np.ndarray:
    """An approximate inverse Hessian times the gradient; the Guttman step g/m where nothing is remembered."""
    q = here.half_gradient.copy()
    shares = []
    for s, y, inner in reversed(memory):
        share = float(np.vdot(s, q)) / inner
        q -= share * y
        shares.append(share)
    q /= here.curvature
    if memory:
        _, y, inner = memory[-1]
        q *= min(inner / float(np.vdot(y, y / here.curvature)), _LONGEST)
    for (s, y, inner), share in zip(memory, reversed(shares), strict=True):
        q += (share - float(np.vdot(y, q)) / inner) * s
    return q


def _remember(memory: Memory, step: np.ndarray, change: np.ndarray, curvature: float) -> None:
    """Keep a step and the change of gradient along it, if the stress curves upwards there."""
    inner = float(np.vdot(step, change))
    if inner > 1e-10 * float(np.vdot(step, curvature * step)):  # a smaller curvature would be a guess from rounding
        memory.append((step, change, inner))
