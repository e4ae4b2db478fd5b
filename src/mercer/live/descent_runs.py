"""What a person does to a descent, how it went, and how many of its steps lie between two maps that are shown."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable

import numpy as np

from mercer.live.controls import Settings

STEPS, MORE_STEPS, EARLY = 1000, 500, 250  # of a descent; of one that goes on; exaggerated ones
_FRAME_SECONDS = 0.08  # between two maps of a descent: twelve per second
_LOOKED_AT = 3  # intervals between maps that say whether there are too many


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


class FramePace:
    """How many steps of a descent lie between two maps, so that about twelve maps are shown per second.

    Computing the divergence of a map takes about as long as a step, so more maps would slow the descent. `least` is
    the smallest number of steps, however slow they are.
    """

    def __init__(self, least: int = 1, clock: Callable[[], float] = time.perf_counter) -> None:
        self.every, self._least, self._clock = least, least, clock
        self._seconds: list[float] = []
        self._last: float | None = None

    def is_wrong(self) -> bool:
        """To be called at each map: whether the last ones came far too often or too seldom."""
        now = self._clock()
        if self._last is not None:
            self._seconds = [*self._seconds[-_LOOKED_AT:], now - self._last]
        self._last = now
        return len(self._seconds) >= _LOOKED_AT and self._wanted() != self.every

    def correct(self) -> None:
        """Take the number of steps that would have been right."""
        if self._seconds:
            self.every = self._wanted()
        self._seconds, self._last = [], None

    def _wanted(self) -> int:
        share = _FRAME_SECONDS / max(float(np.median(self._seconds)), 1e-6)
        if 0.6 < share < 1.7:
            return self.every
        return int(np.clip(round(self.every * share), self._least, 50))
