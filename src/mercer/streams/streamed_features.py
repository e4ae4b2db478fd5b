"""Low-rank features of rows that are not in memory, with the error that they leave over all rows.

Landmarks come from a sample of the rows by randomly pivoted Cholesky. One pass then sums the features of all rows, and
what they leave of k(x, x): K − FFᵀ is positive semidefinite whichever rows the landmarks are, so its trace bounds the
error over all rows. If a tolerance is asked for and not met, the rows that the pass has drawn in proportion to what
was left become further landmarks, and another pass follows.

Rounding. Features are computed in float32 for float32 rows. With ρ the largest ‖δ‖/√k(x, x) of the errors δ that
float32 was seen to make of features (float64 is the reference, on a few hundred rows of the sample), eigenvalues of FFᵀ
and its trace move by tr K · (2ρ + ρ²) at most, and sums over a run of r rows by another √r ε tr K. Both are part of the
error. If they exceed 1e-4 of the trace, float64 takes over.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.backends import on_device, to_numpy
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
from mercer.streams.chunk_statistics import ChunkWork, run_rows
from mercer.streams.local_driver import row_count, total_statistics
from mercer.streams.row_maps import LandmarkFeatures, RowMap
from mercer.streams.row_sample import rows_at, sample_places
from mercer.streams.row_source import RowSource, device_of_rows
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
    view, start : their number among the maps of the statistics, and that of their first column
    error : tr(K − FFᵀ) over all rows, with what rounding may add
    """

    features: LandmarkFeatures
    places: np.ndarray
    statistics: SufficientStatistics
    view: int = 0
    start: int = 0

    @property
    def columns(self) -> slice:
        """Where the statistics have the columns of these features."""
        return slice(self.start, self.start + self.features.columns)

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
    longest = run_rows(1, on_device=features.device is not None)
    return 2 * features.slack + longest**0.5 * eps


def sample_size(n: int, rank: int | str) -> int:
    columns = AUTO_RANK if rank == "auto" else int(rank)
    return min(n, max(LEAST_SAMPLE, SAMPLE_PER_LANDMARK * columns))


def source_sample(source: RowSource, rank: int | str, random_state: Any) -> tuple[np.ndarray, Any]:
    """The rows that a kernel is bound to and landmarks are chosen from: their numbers, and themselves."""
    places = sample_places(source, sample_size(row_count(source), rank), random_state)
    return places, rows_at(source, places)


def chosen_landmarks(
    kernel: Kernel,
    sample: Any,
    places: np.ndarray,
    rank: int | str,
    random_state: Any,
    n_jobs: int | None,
    device: Any = None,
) -> tuple[LandmarkFeatures, np.ndarray]:
    """Features on landmarks from a sample, and their numbers among all rows."""
    found = kernel_features(kernel, sample, rank=rank, random_state=random_state, n_jobs=n_jobs)
    return features_of(kernel, found.anchors, sample, n_jobs, device), places[found.factor.landmarks]


def features_of(
    kernel: Kernel, anchors: Any, sample: Any, n_jobs: int | None = None, device: Any = None
) -> LandmarkFeatures:
    """x ↦ k(x, anchors) @ coefs about its mean over the sample, in float32 if the rows are and that suffices.

    device : where the rows are, if they are tensors. What float32 does to features is measured there.

    coefs coefsᵀ = (K at the anchors)⁻¹ or a little less, so that K − FFᵀ is positive semidefinite.
    """
    coefs = inverse_root(np.asarray(kernel.tile(kernel.points(anchors, np.float64)), np.float64))
    probes = sample[:: max(1, -(-sample.shape[0] // _PROBES))]
    wide = KernelExpansion(kernel, anchors, coefs, np.zeros(coefs.shape[1]), n_jobs)
    points = wide.new_points(probes)
    lengths = np.sqrt(np.maximum(np.asarray(kernel.diagonal(points), np.float64), 0.0))
    exact = wide.on_points(points)
    narrow = KernelExpansion(kernel, anchors, coefs.astype(np.float32), np.zeros(coefs.shape[1], np.float32), n_jobs)
    tried = narrow if device is None else narrow.on_device(device)
    seen = tried.on_points(tried.new_points(probes if device is None else on_device(probes, device)))
    moved = np.linalg.norm(to_numpy(seen) - exact, axis=1)
    alive = lengths > 0
    rho = 2 * float((moved[alive] / lengths[alive]).max(initial=0.0)) + 4 * float(np.finfo(np.float32).eps)
    shift = exact.mean(axis=0) if len(exact) else np.zeros(coefs.shape[1])
    slack = 2 * rho + rho**2
    if anchors.dtype == np.float32 and 2 * slack <= _TOLERATED:
        return LandmarkFeatures(narrow, shift.astype(np.float32).astype(np.float64), slack, device)
    finer = rho * float(np.finfo(np.float64).eps / np.finfo(np.float32).eps)
    return LandmarkFeatures(wide, shift, 2 * finer + finer**2, device)


@dataclass(frozen=True)
class KernelView:
    """Rows under a bound kernel, and the sample that landmarks come from: numbers of rows, and rows."""

    kernel: Kernel
    source: RowSource
    sample: tuple[np.ndarray, Any]

    @property
    def device(self) -> Any:
        return device_of_rows(self.source)


def streamed_features(
    kernel: Kernel,
    source: RowSource,
    sample: tuple[np.ndarray, Any],
    *,
    rank: int | str,
    random_state: Any = None,
    n_jobs: int | None = None,
    beside: tuple[tuple[RowMap, RowSource], ...] = (),
    weights: tuple[float, ...] | None = None,
) -> StreamedFeatures:
    """The features of all rows of a source under a bound kernel: `features_of_views` with a single view."""
    view = KernelView(kernel, source, sample)
    return features_of_views(
        [view], rank=rank, random_state=random_state, n_jobs=n_jobs, beside=beside, weights=weights
    )[0]


def features_of_views(
    views: Sequence[KernelView],
    *,
    rank: int | str,
    random_state: Any = None,
    n_jobs: int | None = None,
    beside: tuple[tuple[RowMap, RowSource], ...] = (),
    weights: tuple[float, ...] | None = None,
) -> list[StreamedFeatures]:
    """The features of each view with the statistics of all, from one pass, or a few for rank="auto".

    beside : further maps and their sources, whose columns follow those of the features in the statistics
    weights : what a row of each class counts, if the last of the maps has the classes (`ChunkWork`)

    Cost of a pass: n m entries of k, n m² flops for a view's features and n m² for all products of m columns. Memory:
    two chunks, 8 m² bytes three times, and a run of features per thread.
    """
    seed, maps, sources = seed_number(random_state), [m for m, _ in beside], [view.source for view in views]
    sources += [source for _, source in beside]
    held = [
        chosen_landmarks(view.kernel, view.sample[1], view.sample[0], rank, random_state, n_jobs, view.device)
        for view in views
    ]
    for number in range(_MOST_PASSES):
        grows = rank == "auto" and number + 1 < _MOST_PASSES
        wanted = [_wanted(view, features) if grows else 0 for view, (features, _) in zip(views, held, strict=True)]
        work = ChunkWork((*(features for features, _ in held), *maps), max(wanted), (seed, number), n_jobs, weights)
        statistics = total_statistics(work, sources, f"pass {number + 1} over the rows")
        starts = np.cumsum([0, *(features.columns for features, _ in held)]).tolist()
        found = [StreamedFeatures(*each, statistics, v, starts[v]) for v, each in enumerate(held)]
        for view, each in zip(views, found, strict=True):
            refuse_indefinite(each.negative, view.kernel, np.dtype(view.source.dtype))
        grown = [
            _with_draws(view, each, b, (seed, number)) if b else None
            for view, each, b in zip(views, found, wanted, strict=True)
        ]
        if not any(grown):
            break
        held = [new or old for new, old in zip(grown, held, strict=True)]
    return found


def _wanted(view: KernelView, features: LandmarkFeatures) -> int:
    """Draws for rank="auto": as many as there are landmarks, within bounds."""
    least = min(view.source.n_features, AUTO_LEAST)
    return max(0, min(AUTO_RANK - features.columns, max(least, features.columns)))


def _with_draws(
    view: KernelView, found: StreamedFeatures, b: int, key: tuple[int, int]
) -> tuple[LandmarkFeatures, np.ndarray] | None:
    """More landmarks, if the features leave out too much and rows were drawn."""
    drawn = found.statistics.draws[found.view]
    if drawn is None or found.error <= AUTO_TOL * _variance(found):
        return None
    drawn = Draws(drawn.clocks[:b], drawn.places[:b], drawn.rows[:b])
    return next_landmarks(found.features, found.places, drawn, view.sample[1], key, found.features.expansion.n_jobs)


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
    grown = features_of(inner.kernel, anchors, sample, n_jobs, features.device)
    return grown, np.concatenate([chosen, drawn.places[index][kept]])


def _stacked(first: Any, second: Any) -> Any:
    return sp.vstack([first, second], format="csr") if sp.issparse(first) else np.concatenate([first, second])


def _variance(found: StreamedFeatures) -> float:
    """‖HF‖², the variance that the features hold."""
    sums, own = found.statistics, found.columns
    return float((sums.products.diagonal()[own] - sums.sums[own] ** 2 / max(1, sums.n)).sum())
