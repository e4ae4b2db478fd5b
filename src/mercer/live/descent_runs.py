"""What a person does to a descent, how it went, and which of its steps are shown."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable

import numpy as np

from mercer.live.controls import Settings

STEPS, MORE_STEPS, EARLY = 1000, 500, 250  # of a descent; of one that goes on; exaggerated ones
_FRAME_SECONDS = 0.075  # between two maps of a descent, if a step takes less


@dataclasses.dataclass(frozen=True)
class DescentWish:
    """What a person does to a descent: how many steps are still to come, and which rows are held where they are."""

    steps: int = STEPS
    exaggeration: float | None = None
    held: np.ndarray | None = None
    moved: np.ndarray | None = None
    by: tuple[float, float] = (0.0, 0.0)


@dataclasses.dataclass
class DescentRun:
    """A descent as it went: what it takes to repeat it.

    settings, wish : what was asked for
    warm : whether it began at the map before, and not at principal components
    steps : that were shown
    by : the shift of `wish.moved`, in the coordinates of the estimator, which may be turned on the page
    """

    settings: Settings
    wish: DescentWish
    warm: bool
    steps: int = 0
    by: tuple[float, float] = (0.0, 0.0)


class DescentFrames:
    """Shows a descent ten times per second or a little more often: the callback of an estimator.

    A map costs its copy. Its divergence costs about as much as a step, so large maps tell it once in a while.

    show : called with the number of the step, the newest divergence and the map
    check : called at every step, and may end the descent by an error
    stopped : whether the descent is to end where it is
    between : seconds between two divergences
    """

    def __init__(
        self,
        show: Callable[[int, float, np.ndarray], None],
        check: Callable[[], None],
        stopped: Callable[[], bool],
        between: float = 0.0,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._show, self._check, self._stopped, self._between, self._clock = show, check, stopped, between, clock
        self._shown_at = self._judged_at = -math.inf
        self._stepped_at = clock()
        self._divergence = math.nan

    def is_due(self, _: int) -> bool:
        """Whether to show this step: one step more would be too late."""
        self._check()
        now = self._clock()
        step, self._stepped_at = now - self._stepped_at, now
        return now - self._shown_at + step > _FRAME_SECONDS or self._stopped()

    def sees_value(self, _: int) -> bool:
        """Whether to compute the divergence of this step."""
        return self._clock() - self._judged_at >= self._between

    def __call__(self, step: int, divergence: float, Y: np.ndarray) -> bool:
        self._shown_at = self._clock()
        if math.isfinite(divergence):
            self._divergence, self._judged_at = divergence, self._shown_at
        self._show(step, self._divergence, Y)
        return self._stopped()
