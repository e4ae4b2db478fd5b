"""A tree of boxes around points: finds the closest pairs of different labels in few dimensions."""

from __future__ import annotations

from importlib import import_module

import numpy as np

from mercer.backends import backend_of
from mercer.graph.neighbor_index import closest_of_each

_LEAF = 16  # points of the smallest boxes
_JOB = 4096  # points of a job


class BoxTree:
    """A tree of boxes over points in the order of a KD-tree (final). Memory: 2 n d / 16 numbers.

    points : (n, d), float64
    order : (n,), an order in which near points are close together
    """

    def __init__(self, points: np.ndarray, order: np.ndarray) -> None:
        self.points, self.order = points[order], np.asarray(order, np.int64)
        self.low = _levels(self.points, np.minimum, np.inf)
        self.high = _levels(self.points, np.maximum, -np.inf)

    def closest(
        self, labels: np.ndarray, rows: np.ndarray, p: float, n_jobs: int | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """For each label of `rows`, the closest pair (i, j) with a row of another label, and its distance."""
        compiled, backend = import_module("mercer.backends.compiled_box_tree"), backend_of(labels)
        labels = np.asarray(labels, np.int64)
        sorted_labels = labels[self.order]
        asked = np.flatnonzero(np.isin(sorted_labels, labels[rows]))
        count = labels.max() + 1
        spans = _levels(sorted_labels, np.minimum, count), _levels(sorted_labels, np.maximum, -1)
        jobs = [asked[start : start + _JOB] for start in range(0, len(asked), _JOB)]
        found = [
            (np.full(count, np.inf), np.full(count, -1), np.full(count, -1)) for _ in range(backend.workers(n_jobs))
        ]

        def work(job: np.ndarray, slot: int) -> None:
            given = self.points, sorted_labels, self.order, self.low, self.high, *spans
            compiled.closest(*given, _LEAF, float(p), job, *found[slot])

        backend.for_each(jobs, work, n_jobs)
        powers, i, j = (np.concatenate(column) for column in zip(*found, strict=True))
        known = i >= 0
        distances = powers[known] if p == np.inf else powers[known] ** (1 / p)
        return closest_of_each(labels, i[known], j[known], distances)


def _levels(values: np.ndarray, reduce: np.ufunc, nothing: float) -> np.ndarray:
    """The least (or greatest) value in each box, root first. Boxes beyond the last point are empty."""
    leaves = reduce.reduceat(values, np.arange(0, len(values), _LEAF), axis=0)
    width = 1 << int(np.ceil(np.log2(len(leaves)))) if len(leaves) > 1 else 1
    levels = [np.full((width, *values.shape[1:]), nothing, leaves.dtype)]
    levels[0][: len(leaves)] = leaves
    while len(levels[-1]) > 1:
        levels.append(reduce(levels[-1][::2], levels[-1][1::2]))
    return np.concatenate(levels[::-1])
