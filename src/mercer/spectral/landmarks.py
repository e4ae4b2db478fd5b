"""Isomap's landmarks: how many, checked before any work, and which, once there is a graph."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from mercer.graph.geodesics import Geodesics
from mercer.random_state import generator_from


def landmark_count(landmarks: Any, n: int, rows: int, n_components: int) -> int | None:
    """The number of landmarks for a graph of n of the data's `rows`; None for none. Refuses what cannot be some."""
    if landmarks is None:
        return None
    if isinstance(landmarks, Integral):
        count = min(int(landmarks), n)
    else:
        given = np.asarray(landmarks)
        if given.ndim != 1 or not np.issubdtype(given.dtype, np.integer):
            raise TypeError("landmarks must be a number, or the numbers of rows: whole numbers.")
        if len(np.unique(given)) < len(given) or given.min() < 0 or given.max() >= rows:
            raise ValueError(f"landmarks must be different row numbers from 0 to {rows - 1}.")
        count = len(given)
    if count <= n_components and count < n:
        raise ValueError(
            f"{count} landmarks span {count - 1} coordinates at most, and n_components={n_components} are asked for. "
            "Take more landmarks; ten times n_components is little."
        )
    return count


def choose_landmarks(landmarks: Any, count: int, geodesics: Geodesics, rows: np.ndarray, seed: Any) -> np.ndarray:
    """(count,) row numbers of the data, `rows` being those of the graph: the given ones, or by max–min along it."""
    if isinstance(landmarks, Integral):
        return rows[geodesics.spread(count, int(generator_from(seed).integers(geodesics.n)))]
    given = np.asarray(landmarks)
    if not np.isin(given, rows).all():
        raise ValueError("Some landmarks are outside the largest component, which alone is mapped.")
    return given.astype(np.int64)
