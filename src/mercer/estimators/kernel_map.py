"""The samples as vectors whose inner products are the kernel's values."""

from __future__ import annotations

import time
from collections.abc import Callable
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from mercer.amounts import amount
from mercer.backends import namespace, placement
from mercer.estimators.kernel_base import KERNEL_CONSTRAINTS, KernelEstimator
from mercer.exceptions import DegenerateDataWarning, warn
from mercer.expansion import KernelExpansion
from mercer.features import kernel_features, most_columns, rows_of
from mercer.fit_report import Report
from mercer.footprints import factor, fourier_features
from mercer.kernels.kernel_fields import bound_kernel
from mercer.linalg.lowrank import FourierFeatures, orthogonal_random_features
from mercer.models.fields import (
    INPUT,
    Mismatch,
    SavedEstimator,
    either,
    if_set,
    instance_of,
    integers,
    number,
    optional,
    samples,
    size,
)
from mercer.planning import Plan
from mercer.random_state import generator_from
from mercer.streams.chunk_statistics import ChunkWork
from mercer.streams.local_driver import is_row_source, total_statistics
from mercer.streams.row_maps import RowMap, ShiftedRows
from mercer.streams.row_source import RowSource
from mercer.streams.streamed_features import LEAST_SAMPLE, SAMPLE_PER_LANDMARK, StreamedFeatures, streamed_features
from mercer.streams.sufficient_statistics import SufficientStatistics

AUTO_FOURIER = 1000  # columns of method="fourier" with rank="auto": an error of about 0.03 at most on entries up to 1


class KernelMap(KernelEstimator):
    """Vectors F(x) with ⟨F(x), F(y)⟩ ≈ k(x, y), which turn a method for vectors into a method with a kernel.

        F Fᵀ ≈ K,    F(x) = k(x, landmarks) @ coefs                      method="cholesky"
        F(x) = √(2/m) (cos ωⱼᵀx, sin ωⱼᵀx),  ω from k's spectral density  method="fourier"

    Parameters
    ----------
    kernel, gamma, degree, coef0, kernel_params
        As in `KernelPCA`.
    rank : int, "auto" or None
        The largest number of columns. None is exact: K is formed, and F Fᵀ = K up to rounding. "auto" takes as many
        columns as it needs to leave out no more than a thousandth of the variance tr HKH, at least as many as X has (up
        to 256), and 2000 at most; with "fourier" it takes 1000. With "fourier" the number is even, because each cosine
        has its sine: an odd rank gives one column less, and 1 gives 2.
    method : {"cholesky", "fourier"}
        "cholesky" takes columns of K by (randomly) pivoted Cholesky: near the best that a rank allows, with a bound.
        "fourier" computes no entry of K: it draws orthogonal random features for RBF, Matern and RationalQuadratic. Use
        it if n is so large, or a stream so long, that landmarks cost too much. Its error falls as 1/√rank.
    random_state, n_jobs, memory_limit
        As in `KernelPCA`.

    Attributes
    ----------
    error_ : float
        "cholesky": tr(K − FFᵀ)/tr K, the share of the trace left out. "fourier": the root mean square of ⟨F(x), F(y)⟩ −
        k(x, y) over sampled pairs of training rows.
    error_se_ : float
        The standard error of `error_` for "fourier"; 0 for "cholesky", whose error is exact.
    landmarks_ : (m,), the training rows that new ones are compared with, by number; None for "fourier"
    n_components_ : int, the columns of F
    report_ : Report, what ran and why, bytes and seconds
    kernel_, gamma_ : the kernel with all its numbers
    X_fit_ : the landmarks themselves (for a precomputed kernel, K; for "fourier", one row)
    n_features_in_, feature_names_in_

    Notes
    -----
    Cost of a fit: n²/2 entries of K and n³/3 operations for rank=None; n · m entries and n · m² operations for rank=m;
    n · m · d + m · d · min(m, d) operations for "fourier". Transforming a row takes m entries of k and m² operations,
    or m · d operations for "fourier".

    References: Chen, Epperly, Tropp & Webber, *Randomly pivoted Cholesky* (2025); Yu et al., *Orthogonal random
    features* (2016); Rahimi & Recht, *Random features for large-scale kernel machines* (2007).

    Examples
    --------
    >>> from mercer.kernels import RBF
    >>> X = np.random.default_rng(0).standard_normal((500, 3))
    >>> features = KernelMap("rbf", gamma=0.1)
    >>> F = features.fit_transform(X)
    >>> F.shape[1] < 100, bool(np.abs(F @ F.T - RBF(0.1)(X)).max() < 0.1), features.error_ <= 1e-3
    (True, True, True)
    """

    _saved = SavedEstimator(
        "KernelMap",
        {
            **INPUT,
            "kernel_": bound_kernel,
            "gamma_": optional(number),
            "X_fit_": samples("m", "d"),
            "error_": number,
            "error_se_": number,
            "landmarks_": optional(integers("l")),
            "_map": either(
                instance_of("KernelExpansion", n="m", d="d", k="k"), instance_of("FourierFeatures", d="d", h="h")
            ),
            "n_components_": size("k"),
            "report_": if_set(instance_of("SolverReport")),
        },
        also=lambda parts: _refuse_other_count(parts),
    )

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KERNEL_CONSTRAINTS,
        "rank": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"}), None],
        "method": [StrOptions({"cholesky", "fourier"})],
    }

    landmarks_: np.ndarray | None
    _map: KernelExpansion | FourierFeatures

    def __init__(
        self,
        kernel: str | Callable[..., Any] = "rbf",
        *,
        gamma: Any = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        rank: int | str = "auto",
        method: str = "cholesky",
        random_state: Any = None,
        n_jobs: int | None = None,
        memory_limit: int | float | str | None = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.rank = rank
        self.method = method
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.memory_limit = memory_limit

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> KernelMap:
        """Find the map from the rows of X, dense or CSR; strings for string kernels, K for "precomputed".

        X may also be a source of rows (`mercer.streams`) if rank is not None. Then `error_` covers all its rows.
        """
        if is_row_source(X):
            self._fit_source(X)
        else:
            self._fit(X)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Find the map and return F of the rows of X, (n, m), as the factorisation computed it."""
        if is_row_source(X):
            self._fit_source(X)
            return self.transform(X)
        F, restore = self._fit(X)
        return restore(F)

    def transform(self, X: Any) -> Any:
        """F of new rows, (n, m)."""
        check_is_fitted(self)
        if is_row_source(X):
            return self._mapped(X, self.n_components_, self._features_of_rows)
        X, restore = self._new_samples(X)
        return restore(self._map(X))

    def _features_of_rows(self, rows: Any) -> Any:
        """The features of a chunk, which its source has checked."""
        return self._map(self._in_fit_dtype(rows))

    def _draft(self, X: Any, y: Any = None) -> Plan:
        work = self._workload(X)
        if self.method == "fourier":
            count = AUTO_FOURIER if self.rank in ("auto", None) else int(self.rank)
            return self._plan_of(
                X, "fourier", f"{count} random features", fourier_features(work, count), compiled=False
            )
        if self.rank is None:
            return self._plan_of(X, "cholesky", "rank=None forms and factors all of K", factor(work, None))
        columns = most_columns(X.shape[0], self.rank)
        reason = f"at most {amount(columns, 'column')}, as rank={self.rank!r} asks"
        return self._plan_of(X, "cholesky", reason, factor(work, columns))

    def _lighter(self, plan: Plan) -> list[dict[str, Any]]:
        return [{"rank": rank} for rank in ("auto", 500, 100) if rank != self.rank]

    def _source_plan(self, source: Any, y: Any = None) -> Plan:
        return self._source_draft(source, self.rank)

    def fit_beside(
        self,
        source: RowSource,
        beside: tuple[tuple[RowMap, RowSource], ...] = (),
        weights: tuple[float, ...] | None = None,
    ) -> SufficientStatistics:
        """Fit to a source of rows, and return the sums of a pass over F and over the maps beside it.

        beside : maps and their sources, in the chunks of the source
        weights : how much a row of each class counts, if the last map holds the classes
        """
        found = self._fit_source(source, beside, weights)
        if found is not None:
            return found.statistics
        features = self.transform(source)  # random features have their pass to themselves
        own = ShiftedRows(np.zeros(self.n_components_))
        work = ChunkWork((own, *(each for each, _ in beside)), n_jobs=self.n_jobs, weights=weights)
        return total_statistics(work, [features, *(rows for _, rows in beside)], "features of all rows")

    def _fit_source(
        self, source: RowSource, beside: tuple[tuple[RowMap, RowSource], ...] = (), weights: Any = None
    ) -> StreamedFeatures | None:
        started, found = time.perf_counter(), None
        plan = self._source_plan(source)
        plan.refuse()
        rank = self.rank
        if self.method == "fourier":
            _, sample = self._bind_source(source, LEAST_SAMPLE // SAMPLE_PER_LANDMARK, least=1)
            self.n_components_ = self._fit_fourier(sample).shape[1]
            reason = f"{self.n_components_} random features, their error measured on {sample.shape[0]} rows"
        else:
            sample = self._bind_source(source, rank, least=1)
            random, jobs = self.random_state, self.n_jobs
            found = streamed_features(
                self.kernel_,
                source,
                sample,
                rank=rank,
                random_state=random,
                n_jobs=jobs,
                beside=beside,
                weights=weights,
            )
            self.error_, self.error_se_ = found.error / found.trace if found.trace > 0 else 0.0, 0.0
            self.landmarks_, self.X_fit_ = found.places, found.features.expansion.anchors
            m = found.features.columns
            self._map, self.n_components_ = found.expansion(np.eye(m), np.zeros(m)), m
            reason = f"{m} columns leave out {self.error_:.2g} of tr K over all {found.statistics.n:,} rows"
        seconds = time.perf_counter() - started
        self.report_ = Report(self.method, reason, bytes=plan.needed_bytes, seconds=seconds)
        return found

    def _fit(self, X: Any) -> Any:
        started = time.perf_counter()
        X, restore = self._samples(X, reset=True)
        plan = self._checked(self._draft(X), X)
        self._bind(X)
        F = self._fit_fourier(X) if self.method == "fourier" else self._fit_cholesky(X, plan.limit)
        self.n_components_ = F.shape[1]
        seconds = time.perf_counter() - started
        reason = (
            plan.reason if self.method == "fourier" else f"{F.shape[1]} columns leave out {self.error_:.2g} of tr K"
        )
        self.report_ = Report(plan.method, reason, bytes=plan.needed_bytes, seconds=seconds)
        return F, restore

    def _fit_cholesky(self, X: Any, limit: int) -> Any:
        features = kernel_features(
            self.kernel_,
            X,
            rank=self.rank,
            memory_limit=limit,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
        )
        self.error_, self.error_se_ = float(features.error), 0.0
        self.landmarks_ = features.factor.landmarks
        self.X_fit_ = features.anchors
        self._map = features.expansion()
        return features.F if features.F.shape[1] else self._fit_nothing(X, features.F)

    def _fit_nothing(self, X: Any, F: Any) -> Any:
        """k is zero on all of X, so one column of zeros has F Fᵀ = K, and methods have a column to read."""
        warn(
            f"{self.kernel_!r} is zero between all rows: every one is mapped to zero.",
            DegenerateDataWarning,
        )
        xp, place = namespace(F), placement(F)
        zero = xp.zeros((1, 1), dtype=F.dtype, **place)
        self.X_fit_ = rows_of(X, np.zeros(1, np.int64))
        self._map = KernelExpansion(self.kernel_, self.X_fit_, zero, zero[0, :], self.n_jobs)
        return xp.zeros((X.shape[0], 1), dtype=F.dtype, **place)

    def _fit_fourier(self, X: Any) -> Any:
        if self.rank is None:
            raise ValueError(
                "rank=None asks for F Fᵀ = K, which no number of random features gives. Give a number, or 'auto', or "
                "take method='cholesky'."
            )
        count = AUTO_FOURIER if self.rank == "auto" else int(self.rank)
        if not hasattr(self.kernel_, "frequencies"):
            raise TypeError(
                f"method='fourier' needs a kernel with a spectral density (RBF, Matern, RationalQuadratic), and "
                f"{self.kernel_!r} has none here. Take method='cholesky'."
            )
        features = orthogonal_random_features(self.kernel_, X, count, generator_from(self.random_state))
        self.error_, self.error_se_ = features.error, features.error_se
        self.landmarks_, self.X_fit_ = None, rows_of(X, np.zeros(1, np.int64))
        self._map = features
        return features(X)

    @property
    def _n_features_out(self) -> int:
        return self.n_components_


def _refuse_other_count(parts: Any) -> None:
    """For a model file: Fourier features are sines and cosines in pairs."""
    omega = getattr(parts._map, "omega", None)
    if omega is not None and 2 * len(omega) != parts.n_components_:
        raise Mismatch("n_components_ is not the number of sines and cosines")
