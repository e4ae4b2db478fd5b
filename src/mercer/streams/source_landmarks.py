"""Which rows of a source stand for all: the landmarks of a map in which all other rows are placed."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from mercer.linalg.landmark_rows import checked_landmarks, landmark_rows
from mercer.streams.local_driver import row_count
from mercer.streams.row_sample import rows_at, sample_places
from mercer.streams.row_source import RowSource

_PER_LANDMARK = 8  # rows of the sample per landmark, as for the landmarks of a kernel matrix


def landmark_places(
    source: RowSource,
    m: int,
    method: str = "random",
    *,
    kernel: Any = "rbf",
    gamma: Any = "median",
    random_state: Any = None,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Choose m rows of a source that stand for all; returns their numbers in increasing order, for `landmarks=`.

    "maxmin" takes as the next landmark the row x with the largest min ‖x − landmark‖ over those chosen so far.
    "rpcholesky" draws it in proportion to the diagonal of K − FFᵀ. "random" draws every set of m rows with the same
    probability, and reads no row. Cost of the other two: the chunks that hold a sample of 8 m rows, and what
    `landmark_rows` takes for it.

    method : "random": every set of m rows is as likely as any other. "maxmin" and "rpcholesky" choose, as
        `mercer.selection.landmark_rows` does, from a random sample of 8 m rows, which has to fit in memory
    kernel, gamma : the kernel of "rpcholesky"

    >>> from mercer.streams import ArraySource
    >>> landmark_places(ArraySource(np.array([[0.0], [0.1], [0.2], [5.0]])), 2, "maxmin")
    array([0, 3])

    `random_state` is a seed, a generator or None, which is the seed 0. `n_jobs` is the number of threads.
    """
    if not isinstance(m, Integral) or m < 1:
        raise ValueError(f"m = {m!r} must be a positive number of landmarks.")
    if method == "random":
        return sample_places(source, int(m), random_state)
    places = sample_places(source, _PER_LANDMARK * int(m), random_state)
    chosen = landmark_rows(
        rows_at(source, places), m, method, kernel=kernel, gamma=gamma, random_state=random_state, n_jobs=n_jobs
    )
    return places[chosen]


def given_or_drawn(source: RowSource, landmarks: Any, random_state: Any) -> np.ndarray:
    """The places of the landmarks that the parameter `landmarks` of a map asks for: a number, or row numbers."""
    if isinstance(landmarks, Integral):
        return landmark_places(source, int(landmarks), random_state=random_state)
    return np.sort(checked_landmarks(landmarks, row_count(source)))
