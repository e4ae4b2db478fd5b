"""Low-rank features of rows that are not in memory, with the error that they leave over all rows.

Landmarks come from a sample of the rows by randomly pivoted Cholesky. One pass then sums the features of all rows, and
what they leave of k(x, x): K − FFᵀ is positive semidefinite whichever rows the landmarks are, so its trace bounds the
error over all rows. Where a tolerance is asked for and not met, the rows that the pass has drawn in proportion to what
was left become further landmarks, and another pass follows.

Rounding. Features are computed in float32 for float32 rows. With ρ the largest ‖δ‖/√k(x, x) of the errors δ that
float32 was seen to make of features (float64 is the reference, on a few hundred rows of the sample), eigenvalues of FFᵀ
and its trace move by tr K · (2ρ + ρ²) at most, and sums over a run of r rows by another √r ε tr K. Both are part of the
error. If they exceed 1e-4 of the trace, float64 takes over.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.expansion import KernelExpansion
from mercer.features import (
    AUTO_LEAST,
    AUTO_RANK,
    AUTO_TOL,
    kernel_features,
    refuse_indefinite,
)
from mercer.kernels.kernel import Kernel
from mercer.linalg.lowrank import inverse_root
from mercer.streams.chunk_statistics import RUN_ROWS, ChunkWork
from mercer.streams.local_driver import row_count, total_statistics
from mercer.streams.row_maps import LandmarkFeatures, RowMap
from mercer.streams.row_sample import rows_at, sample_places
from mercer.streams.row_source import RowSource
from mercer.streams.sufficient_statistics import Draws, SufficientStatistics, seed_number

SAMPLE_PER_LANDMARK = 8  # rows of the sample per landmark: more change the bound by less than the choice of seed does
LEAST_SAMPLE = 2048
_PROBES = 256  # rows on which float32 is compared with float64
_TOLERATED = 1e-4  # of the trace: what rounding may add before float64 takes over
_MOST_PASSES = 4  # of rank="auto": each adds as many landmarks as there were


@dataclass(frozen=True)
class StreamedFeatures:
    """A map of rows into features, and its statistics over all rows.

    places : (m,), the numbers of the landmarks among all rows
    error : tr(K − FFᵀ) over all rows, with what rounding may add
    """

    features: LandmarkFeatures
    places: np.ndarray
    statistics: SufficientStatistics
    view: int = 0

    @property
    def trace(self) -> float:
        return float(self.statistics.trace[self.view])

    @property
    def rounding(self) -> float:
        """What rounding may add to the trace of K − FFᵀ and take from eigenvalues of FFᵀ."""
        return rounding_share(self.features) * self.trace

    @property
    def error(self) -> float:
        return float(self.statistics.left[self.view]) + self.rounding

    @property
    def negative(self) -> float:
        """How far K − FFᵀ was seen to be indefinite, relative to tr K."""
        return float(self.statistics.negative[self.view]) / self.trace if self.trace > 0 else 0.0

    def expansion(self, weights: np.ndarray, offset: np.ndarray) -> KernelExpansion:
        """x ↦ F(x) @ weights − offset in the precision of the rows."""
        inner = self.features.expansion
        dtype = inner.anchors.dtype
        coefs = inner.coefs.astype(np.float64) @ weights
        return KernelExpansion(inner.kernel, inner.anchors, coefs.astype(dtype), offset.astype(dtype), inner.n_jobs)


def rounding_share(features: LandmarkFeatures) -> float:
    """The share of the trace that rounding may move, once in the features and once in their eigenvalues."""
    eps = float(np.finfo(features.expansion.coefs.dtype).eps)
    return 2 * features.slack + RUN_ROWS**0.5 * eps


def sample_size(n: int, rank: int | str) -> int:
    columns = AUTO_RANK if rank == "auto" else int(rank)
    return min(n, max(LEAST_SAMPLE, SAMPLE_PER_LANDMARK * columns))


def source_sample(source: RowSource, rank: int | str, random_state: Any) -> tuple[np.ndarray, Any]:
    """The rows that a kernel is bound to and landmarks are chosen from: their numbers, and themselves."""
    places = sample_places(source, sample_size(row_count(source), rank), random_state)
    return places, rows_at(source, places)


def chosen_landmarks(
    kernel: Kernel, sample: Any, places: np.ndarray, rank: int | str, random_state: Any, n_jobs: int | None
) -> tuple[LandmarkFeatures, np.ndarray]:
    """Features on landmarks from a sample, and their numbers among all rows."""
    found = kernel_features(kernel, sample, rank=rank, random_state=random_state, n_jobs=n_jobs)
    return features_of(kernel, found.anchors, sample, n_jobs), places[found.factor.landmarks]


def features_of(kernel: Kernel, anchors: Any, sample: Any, n_jobs: int | None = None) -> LandmarkFeatures:
    """x ↦ k(x, anchors) @ coefs about its mean over the sample, in float32 if the rows are and that suffices.

    coefs coefsᵀ = (K at the anchors)⁻¹ or a little less, so that K − FFᵀ is positive semidefinite.
    """
    coefs = inverse_root(np.asarray(kernel.tile(kernel.points(anchors, np.float64)), np.float64))
    probes = sample[:: max(1, -(-sample.shape[0] // _PROBES))]
    wide = KernelExpansion(kernel, anchors, coefs, np.zeros(coefs.shape[1]), n_jobs)
    points = wide.new_points(probes)
    lengths = np.sqrt(np.maximum(np.asarray(kernel.diagonal(points), np.float64), 0.0))
    exact = wide.on_points(points)
    narrow = KernelExpansion(kernel, anchors, coefs.astype(np.float32), np.zeros(coefs.shape[1], np.float32), n_jobs)
    moved = np.linalg.norm(narrow.on_points(narrow.new_points(probes)) - exact, axis=1)
    alive = lengths > 0
    rho = 2 * float((moved[alive] / lengths[alive]).max(initial=0.0)) + 4 * float(np.finfo(np.float32).eps)
    shift = exact.mean(axis=0) if len(exact) else np.zeros(coefs.shape[1])
    slack = 2 * rho + rho**2
    if anchors.dtype == np.float32 and 2 * slack <= _TOLERATED:
        return LandmarkFeatures(narrow, shift.astype(np.float32).astype(np.float64), slack)
    finer = rho * float(np.finfo(np.float64).eps / np.finfo(np.float32).eps)
    return LandmarkFeatures(wide, shift, 2 * finer + finer**2)


def streamed_features(
    kernel: Kernel,
    source: RowSource,
    sample: tuple[np.ndarray, Any],
    *,
    rank: int | str,
    random_state: Any = None,
    n_jobs: int | None = None,
    beside: tuple[tuple[RowMap, RowSource], ...] = (),
) -> StreamedFeatures:
    """The features of all rows of a source under a bound kernel, from one pass, or a few for rank="auto".

    sample : what `source_sample` gave
    beside : further maps and their sources, whose columns follow those of the features in the statistics

    Cost of a pass: n m entries of k and 3 n m² flops for m landmarks. Memory: two chunks, 8 m² bytes three times, and a
    run of features per thread.
    """
    places, rows = sample
    features, chosen = chosen_landmarks(kernel, rows, places, rank, random_state, n_jobs)
    seed, maps, sources = seed_number(random_state), [m for m, _ in beside], [source, *(s for _, s in beside)]
    least = min(source.n_features, AUTO_LEAST)
    for number in range(_MOST_PASSES):
        most = AUTO_RANK - features.columns if rank == "auto" and number + 1 < _MOST_PASSES else 0
        draws = min(most, max(least, features.columns))
        work = ChunkWork((features, *maps), max(0, draws), (seed, number), n_jobs)
        statistics = total_statistics(work, sources, f"pass {number + 1} over the rows")
        found = StreamedFeatures(features, chosen, statistics)
        refuse_indefinite(found.negative, kernel, np.dtype(source.dtype))
        if not draws or found.error <= AUTO_TOL * _variance(statistics, features.columns):
            break
        drawn = statistics.draws[0]
        grown = None if drawn is None else next_landmarks(features, chosen, drawn, rows, (seed, number), n_jobs)
        if grown is None:
            break
        features, chosen = grown
    return found


def next_landmarks(
    features: LandmarkFeatures,
    chosen: np.ndarray,
    drawn: Draws,
    sample: Any,
    key: tuple[int, int],
    n_jobs: int | None = None,
) -> tuple[LandmarkFeatures, np.ndarray] | None:
    """Features with the drawn rows that randomly pivoted Cholesky accepts as further landmarks; None if it takes none.

    A draw is accepted with the share of its k(x, x) − ‖f(x)‖² that the ones accepted before it leave: the law of one
    pivot at a time.
    """
    index = drawn.found()
    if not len(index):
        return None
    inner = features.expansion
    wide = KernelExpansion(inner.kernel, inner.anchors, inner.coefs.astype(np.float64), np.zeros(features.columns))
    points = wide.new_points(drawn.rows[index])
    known = wide.on_points(points)
    H = np.asarray(inner.kernel.tile(points), np.float64) - known @ known.T
    diagonal = np.asarray(inner.kernel.diagonal(points), np.float64)
    noise = np.maximum(features.slack, 16 * float(np.finfo(np.float64).eps)) * diagonal
    bound, chance = H.diagonal().copy(), np.random.default_rng([*key, 2**32]).random(len(index))
    L, kept = np.zeros_like(H), []
    for i in range(len(index)):
        if H[i, i] <= noise[i] or chance[i] * bound[i] >= H[i, i]:
            continue
        L[:, i] = H[:, i] / np.sqrt(H[i, i])
        H -= np.outer(L[:, i], L[:, i])
        kept.append(i)
    if not kept:
        return None
    anchors = _stacked(inner.anchors, drawn.rows[index][kept])
    grown = features_of(inner.kernel, anchors, sample, n_jobs)
    return grown, np.concatenate([chosen, drawn.places[index][kept]])


def _stacked(first: Any, second: Any) -> Any:
    return sp.vstack([first, second], format="csr") if sp.issparse(first) else np.concatenate([first, second])


def _variance(statistics: SufficientStatistics, columns: int) -> float:
    """‖HF‖², the variance that the features hold."""
    squares = statistics.products.diagonal()[:columns] - statistics.sums[:columns] ** 2 / max(1, statistics.n)
    return float(squares.sum())
