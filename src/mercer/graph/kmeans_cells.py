"""Rows divided into cells by k-means, so that near rows are contiguous in a few cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.backends import backend_of
from mercer.models.fields import Mismatch, SavedRecord, anything, floats, offsets, permutation

_ROUNDS = 8  # of Lloyd's algorithm: cells must be compact, not optimal
_SAMPLE = 64  # rows per cell from which the centres are found
_RUN = 1024  # rows whose distances to all centres a thread holds at once


@dataclass(frozen=True)
class KMeansCells:
    """n rows in c cells.

    centres : (c, d)
    order : (n,), the rows sorted by cell
    starts : (c + 1,), where each cell begins in `order`
    nearest : (c, c), for each cell all cells by increasing distance, itself first
    """

    _saved = SavedRecord(
        "Cells",
        {"centres": floats("c", "d"), "order": permutation("n"), "starts": offsets("c", "n"), "nearest": anything},
        also=lambda parts: _refuse_ranking(parts.nearest, len(parts.centres)),
    )

    centres: np.ndarray
    order: np.ndarray
    starts: np.ndarray
    nearest: np.ndarray

    @property
    def of_row(self) -> np.ndarray:
        """The cell of each row, (n,)."""
        labels = np.empty(len(self.order), np.int64)
        labels[self.order] = np.repeat(np.arange(len(self.centres)), np.diff(self.starts))
        return labels

    def run(self, cell: int) -> slice:
        return slice(int(self.starts[cell]), int(self.starts[cell + 1]))


def divide(rows: np.ndarray, count: int, rng: np.random.Generator, n_jobs: int | None = None) -> KMeansCells:
    """Divide the rows into at most `count` cells. Cost: n · count · d, and a little more for the sample."""
    sample = rows[np.sort(rng.choice(len(rows), min(len(rows), _SAMPLE * count), replace=False))]
    centres = sample[rng.choice(len(sample), count, replace=False)]
    for _ in range(_ROUNDS):
        labels = nearest_centre(sample, centres, n_jobs)
        centres = _means(sample, labels, centres, rng)
    labels = nearest_centre(rows, centres, n_jobs)
    used, labels = np.unique(labels, return_inverse=True)  # drop cells without rows
    order = np.argsort(labels, kind="stable").astype(np.int32)
    starts = np.concatenate([[0], np.cumsum(np.bincount(labels))])
    return KMeansCells(centres[used], order, starts, _ranking(centres[used]))


def nearest_centre(rows: Any, centres: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
    """The nearest centre of each row, (n,)."""
    half = np.einsum("ij,ij->i", centres, centres) / 2
    labels = np.empty(len(rows), np.int64)

    def work(run: slice, slot: int) -> None:
        scores = rows[run] @ centres.T
        scores -= half
        labels[run] = scores.argmax(axis=1)

    runs = [slice(start, start + _RUN) for start in range(0, len(rows), _RUN)]
    backend_of(centres).for_each(runs, work, n_jobs)
    return labels


def _means(rows: np.ndarray, labels: np.ndarray, old: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The mean of each cell. A cell that has lost all its rows starts again at a random row."""
    order = np.argsort(labels, kind="stable")
    counts = np.bincount(labels, minlength=len(old))
    filled = np.flatnonzero(counts)
    sums = np.add.reduceat(rows[order], np.cumsum(counts)[filled] - counts[filled], axis=0, dtype=np.float64)
    new = rows[rng.choice(len(rows), len(old), replace=False)].copy()
    new[filled] = sums / counts[filled, None]
    return new


def _ranking(centres: np.ndarray) -> np.ndarray:
    """For each cell, all cells by increasing distance; ties by number, itself always first."""
    norms = np.einsum("ij,ij->i", centres, centres)
    D = norms[None, :] - 2 * centres @ centres.T
    np.fill_diagonal(D, -np.inf)
    return np.argsort(D, axis=1, kind="stable").astype(np.int32)


def _refuse_ranking(nearest: Any, count: int) -> None:
    """Each row of `nearest` must name every cell once: compiled code follows these numbers."""
    good = isinstance(nearest, np.ndarray) and nearest.shape == (count, count) and nearest.dtype.kind in "iu"
    if not good or not np.array_equal(np.sort(nearest, axis=1), np.tile(np.arange(count), (count, 1))):
        raise Mismatch("nearest must name every cell in every row")
