"""Scores of predictions for rows that are not in memory: correlations, the share of hits, the share explained."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import column_or_1d

from mercer.backends import to_numpy
from mercer.streams.chunk_statistics import ChunkWork
from mercer.streams.local_driver import chunks, folded, is_row_source, row_count, total_statistics
from mercer.streams.opening import beside
from mercer.streams.row_maps import ShiftedRows
from mercer.streams.row_sample import middle_of
from mercer.streams.row_source import RowSource, row_starts


def streamed_correlations(first: RowSource, second: RowSource) -> np.ndarray:
    """The correlation of each column of one source with that of the other, (k,); zero if one of them is constant.

    Both sources have k columns, and chunks of the same lengths.
    """
    if row_count(first) < 2:
        raise ValueError(f"A correlation needs at least two samples; n_samples = {row_count(first)} was given.")
    shifts = [middle_of(source) for source in (first, second)]
    maps = tuple(ShiftedRows(np.zeros(first.n_features) if shift is None else shift) for shift in shifts)
    k = first.n_features
    products = total_statistics(ChunkWork(maps), [first, second], "the correlations").centred_products()
    across, squares = products[:k, k:].diagonal(), products.diagonal()
    sizes = np.sqrt(np.maximum(squares[:k], 0.0) * np.maximum(squares[k:], 0.0))
    alive = sizes > 0
    return np.clip(np.where(alive, across / np.where(alive, sizes, 1.0), 0.0), -1.0, 1.0)


def share_of_hits(predicted: RowSource, y: Any) -> float:
    """The share of rows whose predicted class, a source of one column, is that of y, an array or such a source."""
    n = _some_rows(predicted)
    labels: Any = y if is_row_source(y) else column_or_1d(to_numpy(y))
    if not is_row_source(y) and len(labels) != n:
        raise ValueError(f"X has {n:,} samples and y has {len(labels):,}: inconsistent numbers of samples.")
    if is_row_source(y) or labels.dtype.kind in "biuf":
        return sum(folded(_hits, [predicted, beside(predicted, labels)], _each(predicted))) / n
    starts = row_starts(predicted)  # text is in no source, so it is compared here
    true = (labels[starts[i] : starts[i + 1], None] for i in range(len(predicted.lengths)))
    return sum(_hits(None, i, list(both)) for i, both in enumerate(zip(chunks(predicted), true, strict=True))) / n


def _hits(state: None, number: int, views: list[Any]) -> int:
    found, true = views
    return int(np.sum(found[:, 0] == to_numpy(true)[:, 0]))


def share_explained(predicted: RowSource, y: Any) -> float:
    """R² = 1 − Σ (y − ŷ)² / Σ (y − ȳ)², its mean over the columns; a column that does not vary counts zero, or one if
    it is met exactly."""
    _some_rows(predicted)
    targets = beside(predicted, y)
    shift = middle_of(targets)
    step = _Explaining(np.zeros(targets.n_features) if shift is None else shift)
    missed, squares, sums = sum(folded(step, [predicted, targets], _each(predicted)))
    spread = squares - sums**2 / row_count(predicted)
    noise = np.finfo(np.float64).eps * squares
    left = np.where(spread > noise, missed / np.where(spread > noise, spread, 1.0), (missed > noise).astype(float))
    return float(np.mean(1 - left))


@dataclass(frozen=True)
class _Explaining:
    """The step that sums the squares of errors, the squares of deviations from the shift, and these: (3, columns)."""

    shift: np.ndarray

    def __call__(self, state: None, number: int, views: list[Any]) -> np.ndarray:
        found, true = views
        away = true - self.shift
        missed = ((true - found) ** 2).sum(axis=0, dtype=np.float64)
        return np.array([missed, (away**2).sum(axis=0), away.sum(axis=0)])


def _each(source: RowSource) -> list[list[int]]:
    """Every chunk with rows as a group of its own."""
    return [[i] for i, length in enumerate(source.lengths) if length]


def _some_rows(predicted: RowSource) -> int:
    if not row_count(predicted):
        raise ValueError("A score needs at least one row.")
    return row_count(predicted)
