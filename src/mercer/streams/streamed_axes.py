"""The principal axes of rows that are not in memory."""

from __future__ import annotations

import numpy as np

from mercer.linalg.covariance import Axes, Moments, axes_of_moments, check_scale
from mercer.streams.chunk_statistics import ChunkWork
from mercer.streams.local_driver import total_statistics
from mercer.streams.row_maps import ShiftedRows
from mercer.streams.row_sample import middle_of
from mercer.streams.row_source import RowSource
from mercer.streams.sufficient_statistics import SufficientStatistics


def streamed_axes(source: RowSource, n_jobs: int | None = None) -> Axes:
    """All eigenpairs of the sample covariance from one pass over the rows.

    Cost: n d² flops. Memory: two chunks, a run of rows per thread, and 8 d² bytes four times.
    """
    sums = streamed_moments(source, n_jobs)
    covariance = sums.centred_products() / (sums.n - 1)
    check_scale(float(np.trace(covariance)), source.dtype, lambda: not sums.products.any())
    return axes_of_moments(Moments(sums.mean, covariance), np.dtype(source.dtype))


def streamed_moments(source: RowSource, n_jobs: int | None = None) -> SufficientStatistics:
    """The mean and the products of all rows, from one pass."""
    shift = middle_of(source)
    work = ChunkWork((ShiftedRows(np.zeros(source.n_features) if shift is None else shift),), n_jobs=n_jobs)
    return total_statistics(work, [source], "the covariance of all rows")
