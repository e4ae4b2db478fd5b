"""FᵀHG for tall factors F and G, H = I − 11ᵀ/n: the small matrices from which all results on features follow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer.backends import backend_of, beside, namespace, placement, to_numpy

RUN = 8192  # rows per run: enough for BLAS to run at full speed, few enough that sums move to float64 often
SHORT = 1024  # the shortest run worth a call to BLAS
ONE_MATRIX_ABOVE = 1024  # columns above which one product on all cores beats one product (and one matrix) per core
Blocks = dict[tuple[int, int], np.ndarray]


def runs_of(n: int, longest: int = RUN) -> list[slice]:
    """Split range(n) into runs of at most `longest` rows: at least four of them, unless they would be too short.

    Four runs give every thread of a small machine some work.

    >>> [run.stop - run.start for run in runs_of(5000)]
    [1250, 1250, 1250, 1250]
    """
    size = min(longest, max(SHORT, -(-n // 4)))
    return [slice(i, min(i + size, n)) for i in range(0, n, size)]


def centred_products(
    factors: Sequence[Any],
    *,
    center: bool = True,
    weights: np.ndarray | None = None,
    precision: Any = None,
    n_jobs: int | None = None,
    run: int = RUN,
    one_matrix_above: int = ONE_MATRIX_ABOVE,
) -> tuple[list[np.ndarray], Blocks]:
    """The mean of each factor's rows, and FᵢᵀHFⱼ for i ≤ j, from one pass over all of them.

    factors : (n, m₁), (n, m₂), …, in one place
    center : without it H is left out and the means are zero
    weights : (n,), summing to n: means are then weighted, and the products Σ w (f − mean)(g − mean)ᵀ
    precision : the dtype of the products over runs of rows; None takes the widest of the factors'. Runs are added up in
        float64, so the error is that of one run.
    run : rows per run
    one_matrix_above : columns above which all threads share one product, instead of one product and one sum each

    Cost: n (m₁ + m₂ + …)² flops. Memory: a run of rows of each factor and the result, per thread if it is small.

    >>> means, products = centred_products([np.array([[1.0], [3.0]]), np.array([[0.0, 1.0], [2.0, 5.0]])])
    >>> products[0, 1].tolist()
    [[2.0, 4.0]]
    """
    xp, n = namespace(factors[0]), factors[0].shape[0]
    dtype = precision or xp.result_type(*(F.dtype for F in factors))
    means = [_column_means(F, weights) if center else xp.zeros_like(F[0, :], dtype=xp.float64) for F in factors]
    small = [xp.astype(mean, dtype) for mean in means]
    widths = [F.shape[1] for F in factors]
    blocks = [(i, j) for i in range(len(factors)) for j in range(i, len(factors))]
    runs = runs_of(n, run)
    backend = backend_of(factors[0])
    roots = None if weights is None else xp.asarray(np.sqrt(weights)[:, None], dtype=dtype, **placement(factors[0]))
    threads = 1 if max(widths) > one_matrix_above else n_jobs
    slots = max(1, min(backend.workers(threads), len(runs)))
    parts: list[Blocks] = [{(i, j): np.zeros((widths[i], widths[j])) for i, j in blocks} for _ in range(slots)]

    def work(run: slice, slot: int) -> None:
        rows = [xp.astype(F[run, :], dtype, copy=False) - mean for F, mean in zip(factors, small, strict=True)]
        rows = rows if roots is None else [roots[run, :] * part for part in rows]
        for i, j in blocks:
            parts[slot][i, j] += to_numpy(rows[i].T @ rows[j])

    backend.for_each(runs, work, threads)
    for part in parts[1:]:
        for block in blocks:
            parts[0][block] += part[block]
    return [to_numpy(mean) for mean in means], parts[0]


def _column_means(F: Any, weights: np.ndarray | None) -> Any:
    xp, n = namespace(F), F.shape[0]
    if weights is None:
        return xp.sum(F, axis=0, dtype=xp.float64) / n
    w = beside(weights, F)
    return sum(xp.astype(w[run] @ F[run, :], xp.float64) for run in runs_of(n)) / n


def times(F: Any, weights: np.ndarray, mean: np.ndarray, n_jobs: int | None = None) -> Any:
    """(F − 1 meanᵀ) weights, (n, k), where F lives and in its precision."""
    W, at_mean = beside(weights, F), beside(mean @ weights, F)[None, :]
    out = namespace(F).empty((F.shape[0], W.shape[1]), dtype=F.dtype, **placement(F))

    def work(run: slice, slot: int) -> None:
        out[run, :] = F[run, :] @ W - at_mean

    backend_of(F).for_each(runs_of(F.shape[0]), work, n_jobs)
    return out
