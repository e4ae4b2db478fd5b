"""Stress: how far the distances of a map are from dissimilarities, and in which direction to move its points.

    metric       σ(X) = Σ w (δ − d(X))²
    non-metric   σ(X) = N min Σ (d̂ − d(X))² / Σ d(X)²,   d̂ rising with δ, N pairs: N times the square of Stress-1

Both are majorized by a quadratic: X − g/m, with g half the gradient and m the curvature, never has more stress (the
Guttman transform). For equal weights m = n. With weights, V = Σ w (eᵢ − eⱼ)(eᵢ − eⱼ)ᵀ is at most twice its diagonal,
and at most n times the largest weight, so no n × n system has to be solved.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import pdist, squareform

from mercer.backends import cpu
from mercer.embedding.dissimilarities import (
    UNKNOWN,
    Dissimilarities,
    condensed_pairs,
    condensed_starts,
    square_starts,
)
from mercer.embedding.monotone_regression import MonotoneRegression

COMPILED_ABOVE = 1024  # rows: up to here NumPy needs less time for all passes than numba to load


@dataclass(frozen=True)
class Evaluation:
    """value : σ
    half_gradient : (n, c), ½∇σ
    curvature : m of the majorizing quadratic, a number or (n, 1)
    squares : what a decrease of σ is relative to: Σ w d², or N
    stress : Σ w (d̂ − d)², with d̂ = δ for metric scaling
    distances : Σ w d²
    """

    value: float
    half_gradient: np.ndarray
    curvature: Any
    squares: float
    stress: float
    distances: float


class Objective(Protocol):
    """What majorization lowers."""

    def evaluate(self, X: np.ndarray) -> Evaluation:
        """The stress of a map (n, c), float64, and its gradient."""
        ...


class MetricStress:
    """Σ w (δ − d)² (final). Cost: one visit of every pair.

    given : in units; weights : (n, n) or None; single : whether pairs are computed in float32
    """

    def __init__(
        self, given: Dissimilarities, weights: np.ndarray | None = None, *, single: bool, n_jobs: int | None = None
    ) -> None:
        self.given, self.weights, self.n_jobs = given, weights, n_jobs
        self.precision = np.float32 if single else np.float64
        self._curvature = curvature_of(given, weights)

    def evaluate(self, X: np.ndarray) -> Evaluation:
        return self._evaluate(X, self.precision, exact=False)

    def exact(self, X: np.ndarray) -> Evaluation:
        """In float64, from dissimilarities that were not rounded."""
        return self._evaluate(X, np.float64, exact=True)

    def _evaluate(self, X: np.ndarray, precision: Any, exact: bool) -> Evaluation:
        pulls, stress, squares = pair_sums(X, self.given, self.weights, precision, exact, self.n_jobs)
        return Evaluation(stress, -pulls, self._curvature, squares, stress, squares)


class MonotoneStress:
    """N times the square of Kruskal's Stress-1 (final). Cost: two visits of every pair and a regression.

    given : condensed. Its array becomes that of the disparities.
    """

    def __init__(self, given: Dissimilarities, *, single: bool, n_jobs: int | None = None) -> None:
        assert given.flat is not None
        n, self.n_jobs = given.n, n_jobs
        self.unknown, self.unit = given.unknown, given.unit
        self.precision = np.float32 if single else np.float64
        self.pairs = len(given.flat) - (0 if given.unknown is None else len(given.unknown))
        self.regression = MonotoneRegression(given.flat, compiled=n > COMPILED_ABOVE, n_jobs=n_jobs)
        self._curvature = curvature_of(given, None)
        self._absent = None if given.unknown is None else _graph(given.unknown, n)
        given.flat = None  # from here on only their order counts
        flat = np.empty(n * (n - 1) // 2, self.precision)
        self.disparities = Dissimilarities(
            n, 1.0, given.table, flat=flat, starts=condensed_starts(n), unknown=given.unknown
        )

    def evaluate(self, X: np.ndarray) -> Evaluation:
        flat = self.disparities.flat
        assert flat is not None
        pair_distances(X, flat, self.n_jobs)
        self.regression.fit(flat)
        if self.unknown is not None:
            flat[self.unknown] = UNKNOWN
        pulls, stress, squares = pair_sums(X, self.disparities, None, self.precision, False, self.n_jobs)
        if squares == 0:
            return Evaluation(float(self.pairs), np.zeros_like(X), self._curvature, float(self.pairs), 0.0, 0.0)
        share = min(stress / squares, 1.0)
        factor = self.pairs / squares
        half_gradient = factor * (-pulls - share * self._spread(X))  # of N Σ(d̂ − d)²/Σd², d̂ being the best one
        curvature = self._curvature * factor * max(1 - share, np.finfo(np.float64).eps)
        return Evaluation(self.pairs * share, half_gradient, curvature, float(self.pairs), stress, squares)

    exact = evaluate

    def normalized(self, X: np.ndarray) -> np.ndarray:
        """X, centred and scaled so that squared distances are about 1. Its stress does not depend on that."""
        X = X - X.mean(axis=0)
        size = float(np.sqrt(np.mean(X * X)))
        return X / size if size > 0 else X

    def _spread(self, X: np.ndarray) -> np.ndarray:
        """½∇ Σ d² over the known pairs."""
        n = len(X)
        all_pairs = n * (X - X.mean(axis=0))
        if self._absent is None:
            return all_pairs
        return all_pairs - (self._absent.sum(axis=1)[:, None] * X - self._absent @ X)


def pair_sums(
    X: np.ndarray,
    given: Dissimilarities,
    weights: np.ndarray | None,
    precision: Any,
    exact: bool,
    n_jobs: int | None,
) -> tuple[np.ndarray, float, float]:
    """Σⱼ w(δ/d − 1)(xᵢ − xⱼ), (n, c), Σ w(δ − d)² and Σ w d² over the known pairs, δ in units."""
    n, c = X.shape
    if n <= COMPILED_ABOVE:
        return _small_sums(X, given, weights)
    loops: Any = import_module("mercer.backends.compiled_stress")
    Y = np.ascontiguousarray((X - X.mean(axis=0)).T, dtype=precision)
    jobs = given.jobs(exact)
    slots = min(cpu.workers(n_jobs), len(jobs))
    pulls, totals = np.zeros((slots, c, n)), np.zeros((slots, 2))
    weighted, nothing = weights is not None, np.empty(0, np.float32)
    flat_weights = nothing if weights is None else weights.reshape(-1)
    weight_starts = square_starts(n)

    def work(rows: tuple[int, int], slot: int) -> None:
        block = given.read(rows, exact)
        loops.stress_rows(
            Y,
            block.first,
            block.last,
            block.flat,
            block.starts,
            block.scale,
            flat_weights,
            weight_starts[block.first : block.last],
            weighted,
            pulls[slot],
            totals[slot],
        )

    cpu.for_each(jobs, work, n_jobs)
    total = totals.sum(axis=0)
    return pulls.sum(axis=0).T, float(total[0]), float(total[1])


def pair_distances(X: np.ndarray, out: np.ndarray, n_jobs: int | None) -> None:
    """The distances of all pairs of points, condensed, into `out`."""
    n = len(X)
    if n <= COMPILED_ABOVE:
        out[...] = pdist(X)
        return
    loops: Any = import_module("mercer.backends.compiled_stress")
    Y, starts = np.ascontiguousarray((X - X.mean(axis=0)).T, dtype=out.dtype), condensed_starts(n)
    jobs = Dissimilarities(n, 1.0, _nothing, flat=out).jobs()
    cpu.for_each(jobs, lambda rows, _: loops.distance_rows(Y, *rows, starts[slice(*rows)], out), n_jobs, blas=False)


def curvature_of(given: Dissimilarities, weights: np.ndarray | None) -> Any:
    """m with V ≼ diag(m), V the Laplacian of the weights: n times the largest weight, or twice the row sums."""
    n = given.n
    if weights is None and given.unknown is None:
        return float(n)
    if weights is None:
        assert given.unknown is not None
        i, j = condensed_pairs(given.unknown, n)
        sums = (n - 1) - np.bincount(np.concatenate([i, j]), minlength=n).astype(np.float64)
        largest = 1.0
    else:
        sums, largest = weights.sum(axis=1, dtype=np.float64) - weights.diagonal(), float(weights.max())
    return float(n * largest) if n * n * largest <= 2 * sums.sum() else 2 * np.maximum(sums, 1e-300)[:, None]


def _small_sums(X: np.ndarray, given: Dissimilarities, weights: np.ndarray | None) -> tuple[np.ndarray, float, float]:
    """The same by NumPy, on condensed dissimilarities."""
    assert given.flat is not None and len(given.flat) == given.n * (given.n - 1) // 2
    delta, d = given.flat, pdist(X)
    error = delta - d
    pull = np.divide(error, d, out=np.zeros_like(d), where=d > 0)
    w = None if weights is None else squareform(weights, checks=False)
    if given.unknown is not None:
        w = np.ones_like(d) if w is None else w
        w[given.unknown] = 0.0
    wd, we = (d, error) if w is None else (w * d, w * error)
    P = squareform(pull if w is None else w * pull, checks=False)
    with cpu.one_thread():  # so small a product is slower on several
        sums = P @ np.column_stack([X, np.ones(len(X))])
    return sums[:, -1:] * X - sums[:, :-1], float(we @ error), float(wd @ d)


def _graph(places: np.ndarray, n: int) -> sp.csr_array:
    """A symmetric graph of the pairs at condensed places."""
    i, j = condensed_pairs(places, n)
    half = sp.csr_array((np.ones(len(i)), (i, j)), shape=(n, n))
    return sp.csr_array(half + half.T)


def _nothing(rows: np.ndarray, others: np.ndarray) -> np.ndarray:
    raise AssertionError("Distances of a map have no source to be read from.")
