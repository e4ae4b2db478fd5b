"""Parallel analysis: how many components are more than what independent variables would give."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.backends import is_foreign, namespace, placement, to_numpy
from mercer.exceptions import MemoryLimitError
from mercer.features import refuse_overflow, rows_of
from mercer.kernels.kernel import Kernel
from mercer.linalg.eigen import DENSE_BELOW, top_eigenpairs
from mercer.linalg.gram import Gram
from mercer.linalg.operators import Centered
from mercer.memory import available_bytes, format_bytes
from mercer.random_state import generator_from

MAX_ROWS = 1000  # of the data that are looked at, unless more are asked for
_FIRST = 16  # eigenvalues computed at first; doubled until one falls below its null
_COLUMNS = 256  # of a CSR matrix permuted at once


@dataclass(frozen=True)
class ParallelAnalysis:
    """The eigenvalues of HKH beside those of data whose columns were permuted, each column by itself.

    eigenvalues : (k,), of the rows looked at, as far as the first that does not exceed its null at least
    null : (k,), the quantile of the null's eigenvalues, place by place; with 20 permutations and 0.95 the largest
    null_draws : (p, k), those of each permutation
    n_components : how many eigenvalues in succession exceed their null; zero where not even the first does
    trace : tr HKH
    rows : how many rows were looked at
    """

    eigenvalues: np.ndarray
    null: np.ndarray
    null_draws: np.ndarray
    n_components: int
    trace: float
    rows: int

    @property
    def share(self) -> float:
        """Σ (γᵢ − nullᵢ) over the components kept, relative to tr HKH: the share of variance above the null."""
        above = (self.eigenvalues - self.null)[: self.n_components]
        return float(above.sum() / self.trace) if self.trace > 0 else 0.0


def parallel_analysis(
    kernel: Kernel,
    X: Any,
    *,
    n_permutations: int = 20,
    quantile: float = 0.95,
    max_rows: int = MAX_ROWS,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> ParallelAnalysis:
    """Kernel parallel analysis of the rows X, (n, d), under a bound kernel.

        q = the number of leading i with γᵢ(HKH) > the quantile of γᵢ(HK'H), K' of X with each column permuted

    Permuting keeps every variable's distribution and breaks all dependence between them, so what exceeds the null is
    dependence that the kernel sees. For Linear this is Horn's parallel analysis of the covariance. The kernel keeps its
    numbers. A variable of large variance raises the null, so scale the variables where their units differ. Beyond
    `max_rows` rows a random sample of them is looked at: fewer rows, a wider null and so, if anything, fewer
    components. Cost: (n_permutations + 1) matrices of max_rows² entries and their first eigenvalues.

    References: J. L. Horn, A rationale and test for the number of factors in factor analysis (1965); K. W. Jørgensen
    and L. K. Hansen, Model selection for Gaussian kernel PCA denoising (2012).

    >>> from mercer.kernels import Linear
    >>> rng = np.random.default_rng(0)
    >>> X = np.repeat(rng.standard_normal((300, 2)), 4, axis=1) + 0.5 * rng.standard_normal((300, 8))
    >>> parallel_analysis(Linear(), X).n_components
    2
    """
    refuse_no_columns(kernel)
    refuse_one_column(X)
    if n_permutations < 1 or not 0 <= quantile <= 1:
        raise ValueError(f"n_permutations={n_permutations} must be at least 1 and quantile={quantile} between 0 and 1.")
    if X.shape[0] < 2:
        raise ValueError("Parallel analysis compares eigenvalues of samples that differ; give at least 2 rows.")
    _refuse_large(min(X.shape[0], max_rows))
    rng = generator_from(random_state)
    rows = X
    if X.shape[0] > max_rows:
        rows = rows_of(X, np.sort(rng.choice(X.shape[0], max_rows, replace=False)))
    seeds = rng.integers(2**63, size=n_permutations)
    k = min(_FIRST, rows.shape[0])
    while True:
        values, trace = _spectrum(kernel, rows, k, n_jobs)
        draws = np.array([_spectrum(kernel, permuted_columns(rows, seed), k, n_jobs)[0] for seed in seeds])
        null = _upper(draws, quantile)
        noise = 1e-10 * max(float(values[0]), 0.0)  # two zeros differ by rounding: no component
        below = np.flatnonzero(values <= null + noise)
        if below.size or k == rows.shape[0]:
            count = int(below[0]) if below.size else k
            return ParallelAnalysis(values, null, draws, count, trace, rows.shape[0])
        k = min(2 * k, rows.shape[0])


def _upper(draws: np.ndarray, quantile: float) -> np.ndarray:
    """The r-th smallest of p draws, r = ⌈quantile (p + 1)⌉, at most p, place by place.

    One more draw of the same kind exceeds it with a chance of 1 − r / (p + 1): with 20 draws and 0.95, of 1/21.
    """
    p = len(draws)
    r = min(p, max(1, ceil(quantile * (p + 1) - 1e-9)))
    return np.sort(draws, axis=0)[r - 1]


def refuse_no_columns(kernel: Kernel) -> None:
    if kernel.accepts != "vectors":
        raise TypeError(
            f"Parallel analysis permutes the columns of vectors, and {kernel!r} takes none: give a number of "
            "components or a share of the variance instead."
        )


def refuse_one_column(X: Any) -> None:
    if X.shape[1] < 2:
        raise ValueError(
            f"X has {X.shape[1]} feature(s): parallel analysis looks for dependence between columns, and there is no "
            "other. Give a number of components or a share of the variance, or another criterion for kernels."
        )


def _refuse_large(rows: int) -> None:
    need, free = 3 * 8 * rows * rows, available_bytes()  # a matrix, its rows on the way, and what a solver keeps
    if need > free // 2:
        raise MemoryLimitError(
            f"Parallel analysis of {rows} rows needs {format_bytes(need)}, more than half of the {format_bytes(free)} "
            "that are free. Nothing was allocated. Try fewer max_rows."
        )


def _spectrum(kernel: Kernel, rows: Any, k: int, n_jobs: int | None) -> tuple[np.ndarray, float]:
    gram = Gram(kernel.centered_form(rows), rows, precision=namespace(rows).float64, n_jobs=n_jobs)
    refuse_overflow(gram, kernel)
    A = Centered.consuming(gram.to_dense())
    # Lanczos is slow to tell zeros apart, and there are many where a kernel of few columns has that small a rank.
    solver = "dense" if A.n <= DENSE_BELOW else "krylov" if rows.shape[1] <= k else "auto"
    return top_eigenpairs(A, k, tol=1e-8, solver=solver).values, A.trace()


def permuted_columns(X: Any, seed: int) -> Any:
    """X with each column permuted by itself, where X lives; the same for the same seed."""
    rng = np.random.default_rng(int(seed))
    if sp.issparse(X):
        X = X.tocsc()
        blocks = [X[:, i : i + _COLUMNS].toarray() for i in range(0, X.shape[1], _COLUMNS)]
        return sp.hstack([sp.csr_array(rng.permuted(block, axis=0)) for block in blocks], format="csr")
    permuted = rng.permuted(to_numpy(X), axis=0)
    return namespace(X).asarray(permuted, **placement(X)) if is_foreign(X) else permuted
