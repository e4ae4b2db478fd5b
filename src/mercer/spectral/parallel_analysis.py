"""Parallel analysis: how many components are more than what independent variables would give."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.backends import backend_of, is_foreign, namespace, placement, to_numpy
from mercer.exceptions import MemoryLimitError
from mercer.features import refuse_infinite, rows_of
from mercer.kernels.kernel import Kernel
from mercer.kernels.products import Linear, LinearAbout
from mercer.kernels.shared_readings import SharedReadings, by_reading
from mercer.linalg.eigen import DENSE_BELOW, top_eigenpairs
from mercer.linalg.operators import Centered
from mercer.memory import available_bytes, format_bytes
from mercer.random_state import generator_from

MAX_ROWS = 1000  # of the data that are looked at, unless more are asked for
_FIRST = 16  # eigenvalues computed at first; more if all of them exceed their null
_TRIAL = 4  # permutations after which it is decided whether more eigenvalues, and more permutations, are needed
_COLUMNS = 256  # of a CSR matrix permuted at once


@dataclass(frozen=True)
class ParallelAnalysis:
    """The eigenvalues of HKH beside those of data whose columns were permuted, each column by itself.

        n_components = the largest k with γᵢ(HKH) > nullᵢ for all i ≤ k

    eigenvalues : (k,), those of the rows used, at least up to the first that does not exceed its null
    null : (k,), the quantile of each eigenvalue over the permutations; with 20 permutations and 0.95 it is the largest
    null_draws : (p, k), the eigenvalues of each permutation
    n_components : how many eigenvalues in succession exceed their null; zero if not even the first does
    trace : tr HKH
    rows : how many rows were used

    >>> from mercer.kernels import Linear
    >>> from mercer.selection import parallel_analysis
    >>> X = np.repeat(np.random.default_rng(0).standard_normal((200, 1)), 4, axis=1)
    >>> parallel_analysis(Linear(), X).n_components
    1
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
    dependence that the kernel sees. For Linear this is Horn's parallel analysis of the covariance. The parameters of
    the kernel stay the same. A variable of large variance raises the null, so scale the variables if their units
    differ. Beyond `max_rows` rows a random sample of them is used. Fewer rows mean a wider null, so the number of
    components is, if anything, too small. Cost: (n_permutations + 1) matrices of max_rows² entries and their first
    eigenvalues; all eigenvalues if more than the first sixteen exceed their null. Permutations run on all cores.

    References: J. L. Horn, A rationale and test for the number of factors in factor analysis (1965); K. W. Jørgensen
    and L. K. Hansen, Model selection for Gaussian kernel PCA denoising (2012).

    >>> from mercer.kernels import Linear
    >>> rng = np.random.default_rng(0)
    >>> X = np.repeat(rng.standard_normal((300, 2)), 4, axis=1) + 0.5 * rng.standard_normal((300, 8))
    >>> parallel_analysis(Linear(), X).n_components
    2

    `random_state` is a seed, a generator or None, which is the seed 0. `n_jobs` is the number of threads.
    """
    found = parallel_analyses(
        [kernel],
        X,
        n_permutations=n_permutations,
        quantile=quantile,
        max_rows=max_rows,
        random_state=random_state,
        n_jobs=n_jobs,
    )[0]
    if isinstance(found, ValueError):
        raise found
    return found


def parallel_analyses(
    kernels: Sequence[Kernel],
    X: Any,
    *,
    n_permutations: int = 20,
    quantile: float = 0.95,
    max_rows: int = MAX_ROWS,
    best_only: bool = False,
    random_state: Any = None,
    n_jobs: int | None = None,
    report: Callable[[str], None] | None = None,
) -> list[ParallelAnalysis | ValueError]:
    """`parallel_analysis` of several bound kernels on the same rows and permutations.

    Each permutation is drawn once for all kernels, and kernels of the same distances share them. A kernel that cannot
    be used on X gets the ValueError that says why. `report` is called with a line of progress, from any thread.

    best_only : leave a kernel with the first permutations once its share cannot become the largest any more. More draws
        can only raise a null, so what such a kernel gets are upper bounds of its share and its number of components.
    """
    for kernel in kernels:
        refuse_no_columns(kernel)
    refuse_one_column(X)
    if n_permutations < 1 or not 0 <= quantile <= 1:
        raise ValueError(f"n_permutations={n_permutations} must be at least 1 and quantile={quantile} between 0 and 1.")
    if X.shape[0] < 2:
        raise ValueError("Parallel analysis compares eigenvalues of samples that differ; give at least 2 rows.")
    threads = _affordable(min(X.shape[0], max_rows), min(backend_of(X).workers(n_jobs), n_permutations + 1))
    rng = generator_from(random_state)
    rows = X
    if X.shape[0] > max_rows:
        rows = rows_of(X, np.sort(rng.choice(X.shape[0], max_rows, replace=False)))
    seeds = [None, *rng.integers(2**63, size=n_permutations)]  # None: the rows as they are
    compared = [_Comparison(kernels[i], quantile, min(_FIRST, rows.shape[0])) for i in by_reading(kernels)]
    trial, rest = seeds[: 1 + _TRIAL], seeds[1 + _TRIAL :]
    _measure(compared, trial, rows, threads, report)
    contenders = compared
    while rest and contenders:
        if best_only:
            contenders = _contenders(compared, n_permutations)
        _measure(contenders, rest, rows, threads, report)
        contenders = contenders if best_only else []
    results = {id(one.kernel): one.result() for one in compared}
    return [results[id(kernel)] for kernel in kernels]


class _Comparison:
    """The first k eigenvalues of one kernel on the data, under the seed None, and on permutations, by seed (final)."""

    def __init__(self, kernel: Kernel, quantile: float, k: int) -> None:
        self.kernel, self.quantile, self.k = kernel, quantile, k
        self.seeds: list[Any] = []
        self.spectra: dict[Any, np.ndarray] = {}
        self.trace, self.n = 0.0, 0
        self.error: ValueError | None = None

    def lacks(self, seed: Any) -> bool:
        return self.error is None and seed in self.seeds and len(self.spectra.get(seed, ())) < self.k

    def measure(self, rows: SharedReadings, seed: Any) -> None:
        try:
            self.spectra[seed], trace = _spectrum(self.kernel, rows, self.k)
        except MemoryLimitError:
            raise
        except ValueError as error:
            self.error = error
        else:
            self.trace = trace if seed is None else self.trace

    def draws(self) -> np.ndarray:
        return np.array([self.spectra[seed] for seed in self.seeds if seed is not None])

    def crossing(self, null: np.ndarray) -> int | None:
        """The first place whose eigenvalue does not exceed its null; None if all do."""
        values = self.spectra[None]
        noise = 1e-10 * max(float(values[0]), 0.0)  # two zeros differ by rounding: no component
        below = np.flatnonzero(values <= null + noise)
        return int(below[0]) if below.size else None

    def widens(self, n: int) -> bool:
        """Ask for more eigenvalues if all exceed their null so far; False if these are enough, or all there are."""
        if self.error is not None or self.k == n or self.crossing(_upper(self.draws(), self.quantile)) is not None:
            return False
        self.k = _wider(self.k, n)
        return True

    def largest_share(self, p: int) -> float:
        """What the share can be at most when p permutations are drawn; infinite if the draws so far cannot tell."""
        draws = self.draws()
        # The r-th smallest of p draws is at least the r-th smallest of t of them, counted without the p − t others.
        rank = _rank(p, self.quantile) - (p - len(draws))
        return self._analysis(np.sort(draws, axis=0)[rank - 1]).share if rank >= 1 else np.inf

    def result(self) -> ParallelAnalysis | ValueError:
        return self.error or self._analysis(_upper(self.draws(), self.quantile))

    def _analysis(self, null: np.ndarray) -> ParallelAnalysis:
        values, found, n = self.spectra[None], self.crossing(null), self.n
        count = len(values) if found is None else found
        k = max(_FIRST, 2 * count)  # as many nulls again as components: enough for a picture of both
        return ParallelAnalysis(values[:k], null[:k], self.draws()[:, :k], count, self.trace, n)


def _measure(
    compared: list[_Comparison],
    seeds: list[Any],
    rows: Any,
    threads: int,
    report: Callable[[str], None] | None,
) -> None:
    """The spectra of the kernels for more seeds, as wide as they have to be."""
    backend, n = backend_of(rows), rows.shape[0]

    def work(seed: Any, slot: int) -> None:
        shared = SharedReadings(rows if seed is None else permuted_columns(rows, seed), namespace(rows).float64)
        which = [one for one in compared if one.lacks(seed)]
        for one in which:
            one.measure(shared, seed)
        if report is not None:
            report(f"eigenvalues of {len(which)} kernels on {'the data' if seed is None else 'a permutation'}")

    for one in compared:
        one.n, one.seeds = n, one.seeds + seeds
    todo = compared
    while todo:
        jobs = [seed for seed in dict.fromkeys(todo[0].seeds) if any(one.lacks(seed) for one in todo)]
        with backend.one_thread():  # BLAS too, so that the number of threads changes no bit
            backend.for_each(jobs, work, threads)
        todo = [one for one in todo if one.widens(n)]


def _contenders(compared: list[_Comparison], p: int) -> list[_Comparison]:
    """The two kernels of the largest possible shares, if these exceed the best share that is certain."""
    usable = [one for one in compared if one.error is None]
    done = [one for one in usable if len(one.seeds) == p + 1]
    best = max((one.largest_share(p) for one in done), default=0.0)
    left = [one for one in usable if len(one.seeds) <= p]
    left.sort(key=lambda one: -one.largest_share(p))
    chosen = [one for one in left[:2] if one.largest_share(p) > best or not done]
    return [one for one in compared if one in chosen]  # in the order in which readings are shared


def _wider(k: int, n: int) -> int:
    """The next number of eigenvalues to compute: twice as many, or all once LAPACK is not much slower.

    All eigenvalues of 1000 rows take LAPACK as long as the first 80 take Lanczos.
    """
    return n if 64 * k >= n else 2 * k


def _upper(draws: np.ndarray, quantile: float) -> np.ndarray:
    """The r-th smallest of p draws, r = ⌈quantile (p + 1)⌉, at most p, place by place.

    One more draw of the same kind exceeds it with a chance of 1 − r / (p + 1): with 20 draws and 0.95, of 1/21.
    """
    return np.sort(draws, axis=0)[_rank(len(draws), quantile) - 1]


def _rank(p: int, quantile: float) -> int:
    return min(p, max(1, ceil(quantile * (p + 1) - 1e-9)))  # 0.07 · 100 is 7, but for rounding


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


def _affordable(rows: int, threads: int) -> int:
    """How many threads fit into half of the free memory; MemoryLimitError if not even one does."""
    # For each thread: what the kernels share, a matrix made from it, and what a solver keeps.
    need, free = 3 * 8 * rows * rows, available_bytes()
    if need > free // 2:
        raise MemoryLimitError(
            f"Parallel analysis of {rows} rows needs {format_bytes(need)}, more than half of the {format_bytes(free)} "
            "that are free. Nothing was allocated. Try fewer max_rows."
        )
    return min(threads, free // 2 // need)


def _spectrum(kernel: Kernel, rows: SharedReadings, k: int) -> tuple[np.ndarray, float]:
    """The first k eigenvalues of HKH, and its trace."""
    kernel, X = kernel.centered_form(rows.X), rows.X
    refuse_infinite(kernel.diagonal(kernel.points(X, rows.dtype)), kernel)
    A = Centered.consuming(rows.matrix(kernel))
    if (k == A.n or A.n <= DENSE_BELOW) and not is_foreign(X):
        return np.linalg.eigvalsh(A.to_dense())[::-1][:k], A.trace()
    # Lanczos is slow to tell zeros apart. A linear kernel has many: its rank is the number of columns at most.
    low_rank = isinstance(kernel, (Linear, LinearAbout)) and X.shape[1] <= k
    return top_eigenpairs(A, k, tol=1e-8, solver="krylov" if low_rank else "auto").values, A.trace()


def permuted_columns(X: Any, seed: int) -> Any:
    """X with each column permuted by itself, where X lives; the same for the same seed."""
    rng = np.random.default_rng(int(seed))
    if sp.issparse(X):
        X = X.tocsc()
        blocks = [X[:, i : i + _COLUMNS].toarray() for i in range(0, X.shape[1], _COLUMNS)]
        return sp.hstack([sp.csr_array(rng.permuted(block, axis=0)) for block in blocks], format="csr")
    permuted = rng.permuted(to_numpy(X), axis=0)
    return namespace(X).asarray(permuted, **placement(X)) if is_foreign(X) else permuted
