"""The median heuristic: the typical distance between rows, and the width of a kernel that goes with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.kernels.bandwidth import sample_rows
from mercer.kernels.distances import RBF, Laplacian, Matern
from mercer.kernels.histograms import Chi2
from mercer.kernels.resolve import resolve_kernel
from mercer.kernels.vector import VectorKernel
from mercer.selection.samples import read_samples

_READERS: dict[str, VectorKernel] = {
    "euclidean": Matern(),
    "sqeuclidean": RBF(),
    "manhattan": Laplacian(),
    "chi2": Chi2(),
}


@dataclass(frozen=True)
class DistanceSummary:
    """The distribution of distances between different rows.

    median : the median over all pairs of the rows examined; if most rows coincide, over the pairs that differ
    standard_error : the standard error of the median, as an estimate for the population that the rows come from
    quartiles : (lower, upper)
    rows : how many rows were examined

    >>> from mercer.selection import distance_summary
    >>> distance_summary(np.array([[0.0], [1.0], [3.0]])).median
    2.0
    """

    median: float
    standard_error: float
    quartiles: tuple[float, float]
    rows: int


def median_distance(X: Any, *, metric: str = "euclidean") -> float:
    """The median distance between pairs of rows: median ‖xᵢ − xⱼ‖ over i < j, of up to 1000 rows spread over X.

    Cost: at most 500,000 distances, whatever n is.

    metric : "euclidean", "sqeuclidean", "manhattan" or "chi2"

    >>> median_distance([[0.0, 0.0], [3.0, 4.0], [3.0, 0.0]])
    4.0
    """
    return distance_summary(X, metric=metric).median


def median_gamma(X: Any, *, kernel: str = "rbf") -> float:
    """The gamma at which k = 1/e at the median distance: 1 / the median of the distance that the kernel reads.

    kernel : "rbf" (squared distances), "laplacian" (Manhattan) or "chi2"; `gamma="median"` of these kernels is the same

    Cost: at most 500,000 distances, whatever n is.

    >>> median_gamma([[0.0], [1.0], [3.0]])
    0.25

    `X` holds the rows, (n, d).
    """
    if kernel not in ("rbf", "laplacian", "chi2"):
        raise ValueError(f"kernel={kernel!r} has no gamma of this kind. Choose 'rbf', 'laplacian' or 'chi2'.")
    return float(resolve_kernel(kernel, gamma="median").bind(read_samples(X)).gamma)  # type: ignore[attr-defined]


def distance_summary(X: Any, *, metric: str = "euclidean") -> DistanceSummary:
    """The median distance between rows with its standard error, and the quartiles.

    The median of the pairs is a U-quantile: with gᵢ the share of rows within the median of row i and f the density of
    distances at the median, its standard error is 2 sd(g) / (f √m) for m rows (Serfling 1980). Cost: m² d, m ≤ 1000.

    >>> rows = np.random.default_rng(0).standard_normal((500, 3))
    >>> summary = distance_summary(rows)
    >>> abs(summary.median - 2.18) < 3 * summary.standard_error  # √2 · the median of χ with 3 degrees of freedom
    True

    `X` holds the rows, and `metric` is "euclidean", "sqeuclidean", "manhattan" or "chi2".
    """
    if metric not in _READERS:
        raise ValueError(f"Unknown metric {metric!r}. Choose one of: {', '.join(_READERS)}.")
    rows = sample_rows(read_samples(X))
    D = np.asarray(_READERS[metric].pairwise(rows))
    pairs = D[np.triu_indices(len(D), k=1)]
    pairs = pairs if np.median(pairs) > 0 else pairs[pairs > 0]
    if not pairs.size:
        raise ValueError("All rows are the same: there is no distance between them.")
    low, below, median, above, high = (float(q) for q in np.quantile(pairs, [0.25, 0.45, 0.5, 0.55, 0.75]))
    within = (np.sum(median >= D, axis=1) - 1) / (len(D) - 1)  # a row is within reach of itself, which is not counted
    spread = float(np.std(within)) * (above - below) / 0.1
    return DistanceSummary(median, 2 * spread / float(np.sqrt(len(D))), (low, high), len(D))
