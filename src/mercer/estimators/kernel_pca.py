"""Kernel PCA: exact to a stated tolerance, without the n × n matrix."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import _fit_context
from sklearn.exceptions import NotFittedError
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions
from sklearn.utils.validation import check_is_fitted

from mercer.backends import adopt, beside, is_foreign, namespace, to_numpy
from mercer.estimators.base import fitted_columns
from mercer.estimators.kernel_base import KERNEL_CONSTRAINTS, KernelEstimator, unbound_kernel
from mercer.exceptions import DegenerateDataWarning, warn
from mercer.expansion import Eigenfunction, KernelExpansion
from mercer.features import answer_dtype, memory_to_use
from mercer.fit_report import Report
from mercer.footprints import eigenpairs, kept_tiles
from mercer.kernels.discrete import Precomputed
from mercer.kernels.kernel_fields import bound_kernel
from mercer.kernels.metric import HalfSquaredDistance
from mercer.linalg.eigen import SMALL, choose_solver, default_tol
from mercer.linalg.krylov import SINGLE_FLOOR
from mercer.memory import format_bytes
from mercer.models.fields import (
    INPUT,
    Mismatch,
    SavedEstimator,
    derived,
    finite,
    floats,
    if_set,
    instance_of,
    integers,
    number,
    optional,
    samples,
    under,
)
from mercer.planning import Footprint, Plan
from mercer.preimage import METHODS, FittedComponents, InverseRequest, Method, resolve_method
from mercer.preimage.inverse_method import PreImage, refuse_without_rows, scores_like
from mercer.preimage.ridge import RidgeMap
from mercer.spectral.components import (
    Components,
    Settings,
    exact_components,
    factor_components,
    streamed_components,
)
from mercer.spectral.contributions import feature_contributions
from mercer.spectral.leave_one_out import LIMITS, Limits, from_factor, from_gram, from_streamed_factor
from mercer.spectral.parallel_analysis import parallel_analysis, refuse_no_columns, refuse_one_column
from mercer.spectral.scaling import Scaling
from mercer.streams.local_driver import is_row_source, row_count
from mercer.streams.row_sample import LEFT_OUT_ROWS, rows_at, sample_places
from mercer.streams.streamed_features import streamed_features


class KernelPCA(KernelEstimator):
    """Principal components in the feature space of a kernel.

        HKH e = γ e,   scores of the training points  e√γ,   of a new point  Σᵢ αᵢ k(xᵢ, x) − c

    K is the kernel matrix, H = I − 11ᵀ/n, α = e/√γ and c = αᵀK1/n. Beyond 2048 samples K is computed in tiles and not
    stored.

    Parameters
    ----------
    n_components : int, float, "parallel" or None
        The number of components, or a share of the variance between 0 and 1. "parallel" takes as many as exceed those
        of data with permuted columns (kernel parallel analysis, for vectors, on up to 1000 rows). None takes every
        component that is not zero.
    kernel : str, Kernel or callable
        A name ("linear", "poly", "rbf", …), a `mercer.kernels.Kernel`, a kernel of `sklearn.gaussian_process`, or a
        function of two rows or of two matrices.
    gamma : float, "scale", "median" or None
        For kernels given by name; None is 1/d. "scale" is 1/(d Var X), "median" 1/(the median of ‖x − y‖²). "matern"
        and "rational_quadratic" read it as length_scale = 1/√(2γ), "median" as the median distance, None as 1.
    degree : float
        The exponent, for kernels given by name that have one.
    coef0 : float
        The constant term, for kernels given by name that have one.
    kernel_params : dict or None
        Further arguments for a kernel that is a function.
    alpha : float or "loo"
        The ridge penalty of `inverse_transform`; "loo" chooses it by leave-one-out error.
    fit_inverse_transform : bool
        Whether to prepare `inverse_transform`.
    inverse_method : {"ridge", "fixed_point", "mds", "sklearn"} or an object of `mercer.preimage`
        How scores become rows: by regression, by the nearest φ(x), by distances to neighbours, or by regression with
        the numbers of scikit-learn. An object has parameters of its own: `LocalMDS(n_neighbors=20)`.
    eigen_solver : {"auto", "dense", "lanczos", "arpack", "randomized", "krylov", "power", "rpcholesky"}
        "krylov" is the block method that streams K. "lanczos" stores K and multiplies it with single vectors.
        "rpcholesky" works on a factor of rank `rank`: n·rank entries of K, for n beyond what n² allows, with the error
        bound in `eigenvalue_error_`. "auto" takes "dense" for many components, "lanczos" for few of up to 2048 samples
        or of a given matrix, else "krylov"; `plan` tells which before fitting. When "lanczos" meets a spectrum for
        which LAPACK would be faster, "auto" turns to "dense", and `solver_` says so.
    tol : float
        The largest residual ‖HKHe − γe‖ relative to γ₁; 0 is 1e-10 for float64 data and 1e-6 for float32.
    max_iter : int or None
        The largest number of passes over K (krylov, lanczos), of iterations (arpack, power).
    iterated_power : int or "auto"
        Power iterations of "randomized".
    remove_zero_eig : bool
        Drop components of zero variance.
    random_state : int, RandomState or None
        None is the seed 0: the same data gives the same bits.
    copy_X : bool
        Whether to keep a copy of X or X itself.
    n_jobs : int or None
        Threads; None is all cores.
    memory_limit : int, str or None
        Bytes that a fit may add to the process, or text such as "4GB". A fit that needs more is refused before it
        starts. None: half of the free memory, of which at most 2 GB hold tiles that are kept between passes.
    rank : int or None
        Columns of the factor of "rpcholesky"; None is 10 per component, at least 100.
    verbose : bool
        Report each pass on stderr.

    Attributes
    ----------
    eigenvalues_ : (k,), γ, descending
    eigenvectors_ : (n, k), e, the entry of largest magnitude positive
    residuals_ : (k,), ‖HKHe − γe‖, recomputed at the end. It includes what rounding may add, also that of γ and e to
        float32. For hundreds of components by "dense" it is an upper bound from random probes, about three times the
        residual, which fails once in 1e14. For "rpcholesky" it is an upper bound, and infinite if K turns out to be
        indefinite
    eigenvalue_error_ : (k,), a bound on the distance from γ to an eigenvalue of HKH
    transform_error_ : (k,), a bound on the error of a score, in the units of the scores: see Notes
    explained_variance_, explained_variance_ratio_ : (k,), γ/n, and its share of the total
    total_variance_ : float, tr(HKH)/n, exact for every solver but "rpcholesky", which gives an upper bound
    report_ : Report, what ran and why, passes over K, bytes, tolerance, seconds; `solver_` is another name for it
    kernel_ : the kernel with all its numbers; gamma_ its gamma, None if it has none
    eigenfunctions_ : tuple of callables, one per component
    null_eigenvalues_ : with n_components="parallel", the eigenvalues that components had to exceed, for n rows
    landmarks_ : (rank,), the rows with which "rpcholesky" compares new rows; None for the other solvers
    preimage_ : the map from scores back to rows, if it was asked for: a callable that also holds what it chose
    dual_coef_, X_transformed_fit_ : coefficients of the ridge regression back, and the scores of the training rows
    X_fit_, n_features_in_, feature_names_in_

    Notes
    -----
    Cost of "krylov": 5 to 10 passes of n²/2 entries of K, each a product with about k vectors. It takes 160·n·k bytes,
    and as many tiles as `memory_limit` allows. Float64 data is first solved on float32 tiles, then finished and
    certified on float64 tiles.

    `transform` of a training row differs from its row of `fit_transform` by at most `transform_error_`. The score of a
    new row differs by at most as much from ⟨φ(x) − mean, w⟩, the exact projection on the direction w = Σ αᵢ φ(xᵢ) that
    was found, if k(x, x) is no larger than for the training rows. The bound is (‖HKHe − γe‖ + rounding)/√γ, so it grows
    as eigenvalues fall. If it exceeds 1 % of √γ for a component, an `UncertainScoresWarning` names the component.
    Float32 data is mapped in float64 arithmetic if float32 would not keep that 1 %.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> X, y = make_circles(500, factor=0.3, noise=0.05, random_state=0)
    >>> kpca = KernelPCA(2, kernel="rbf", gamma=2.0).fit(X)
    >>> kpca.transform(X).shape, bool(kpca.residuals_.max() < 1e-9 * kpca.eigenvalues_[0])
    ((500, 2), True)
    """

    _saved = SavedEstimator(
        "KernelPCA",
        {
            **INPUT,
            "kernel_": bound_kernel,
            "gamma_": optional(number),
            "X_fit_": samples("n", "w"),
            "eigenvectors_": if_set(floats("n", "k")),
            "eigenvalues_": floats("k"),
            "residuals_": floats("k", infinite=True),
            "eigenvalue_error_": floats("k", infinite=True),
            "transform_error_": if_set(floats("k", infinite=True)),
            "explained_variance_": floats("k"),
            "explained_variance_ratio_": floats("k"),
            "total_variance_": finite,
            "_with_mean": instance_of("KernelExpansion", n="m", d="w", k="k+1"),
            "_mean_norm": finite,
            "expansion_": derived(lambda self: self._expansion()),
            "landmarks_": optional(integers("l")),
            "report_": under("solver_", instance_of("SolverReport")),
            "null_eigenvalues_": if_set(floats("q")),
            "X_transformed_fit_": if_set(floats("n", "k")),
            "preimage_": if_set(instance_of("preimage", d="w", k="k")),
            "dual_coef_": derived(lambda self: self.preimage_.dual_coef),
        },
        also=lambda parts: _refuse_other_rows(parts),
    )

    null_eigenvalues_: Any

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KERNEL_CONSTRAINTS,
        "n_components": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="neither"),
            StrOptions({"parallel"}),
            None,
        ],
        "alpha": [Interval(Real, 0, None, closed="left"), StrOptions({"loo"})],
        "fit_inverse_transform": ["boolean"],
        "inverse_method": [StrOptions(set(METHODS)), Method],
        "eigen_solver": [
            StrOptions({"auto", "dense", "lanczos", "arpack", "randomized", "krylov", "power", "rpcholesky"}),
        ],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "iterated_power": [Interval(Integral, 0, None, closed="left"), StrOptions({"auto"})],
        "remove_zero_eig": ["boolean"],
        "copy_X": ["boolean"],
        "rank": [Interval(Integral, 1, None, closed="left"), None],
        "verbose": ["boolean"],
    }

    def __init__(
        self,
        n_components: int | float | str | None = None,
        *,
        kernel: str | Callable[..., Any] = "linear",
        gamma: Any = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        alpha: float | str = 1.0,
        fit_inverse_transform: bool = False,
        eigen_solver: str = "auto",
        tol: float = 0,
        max_iter: int | None = None,
        iterated_power: int | str = "auto",
        remove_zero_eig: bool = False,
        random_state: Any = None,
        copy_X: bool = True,
        n_jobs: int | None = None,
        memory_limit: int | float | str | None = None,
        rank: int | None = None,
        verbose: bool = False,
        inverse_method: Any = "ridge",
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.alpha = alpha
        self.fit_inverse_transform = fit_inverse_transform
        self.eigen_solver = eigen_solver
        self.tol = tol
        self.max_iter = max_iter
        self.iterated_power = iterated_power
        self.remove_zero_eig = remove_zero_eig
        self.random_state = random_state
        self.copy_X = copy_X
        self.n_jobs = n_jobs
        self.memory_limit = memory_limit
        self.rank = rank
        self.verbose = verbose
        self.inverse_method = inverse_method

    # --- fitting ---------------------------------------------------------------------------------------

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> KernelPCA:
        """Find the components of X, (n, d), dense or CSR; strings for string kernels, K for "precomputed".

        X may also be a source of rows (`mercer.streams`): with a rank, its chunks are read once and need not fit in
        memory together. The error bound then holds over all of them, and there are no `eigenvectors_`.
        """
        if is_row_source(X):
            return self._fit_source(X)
        self._fit(X)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Find the components of X and return its scores e√γ, (n, k), without another pass.

        The scores of a source of rows are a source too. Its chunks are computed when you ask for them.
        """
        if is_row_source(X):
            return self._fit_source(X).transform(X)
        restore = self._fit(X)
        return restore(self._scores())

    def _draft(self, X: Any, y: Any = None) -> Plan:
        return self._plan(X, self._count(X.shape[0]))

    def _lighter(self, plan: Plan) -> list[dict[str, Any]]:
        if plan.later.peak > plan.footprint.peak and self.fit_inverse_transform:
            return [{"inverse_method": "mds"}, {"fit_inverse_transform": False}]
        few = [] if self.n_components == 2 else [{"n_components": 2}]
        if plan.method == "rpcholesky":
            rank = self._rank(plan.rows, self._count(plan.rows))
            return [{"rank": smaller} for smaller in (rank // 2, rank // 4, rank // 16) if smaller >= 1]
        krylov = [{"eigen_solver": "krylov"}] if plan.method == "dense" and self.n_components is not None else []
        return [*krylov, {"eigen_solver": "rpcholesky"}, {"eigen_solver": "rpcholesky", "rank": 100}, *few]

    def _fit(self, X: Any) -> Any:
        started = time.perf_counter()
        self._forget("null_eigenvalues_", "preimage_", "dual_coef_", "X_transformed_fit_")
        self._refuse_kernel()
        X, restore = self._samples(X, reset=True, copy=self.copy_X)
        draft = self._checked(self._draft(X), X)  # what does not fit is refused before the search for a width allocates
        self._bind(X)
        self._refuse_rows(X)
        k = self._wanted(X)

        def replan(k: int) -> Plan:  # code that the search for a width has loaded meanwhile is this fit's all the same
            return self._checked(self._plan(X, k, draft.code_bytes), X)

        plan = draft if k == self._count(X.shape[0]) else replan(k)
        settings = self._settings(X, k, plan.limit)
        working = self.kernel_.centered_form(X)
        if self.verbose:
            _say(str(plan))
        if plan.solver == "rpcholesky":
            found = factor_components(working, X, plan, settings)
        else:
            found = exact_components(working, X, plan, settings, replan)
        self._keep(found)
        self.report_ = Report(
            found.solver or plan.method,
            found.reason,
            found.passes,
            found.bytes,
            self._tolerance(),
            found.converged,
            time.perf_counter() - started,
        )
        if self.verbose:
            _say(str(self.report_))
        if self.fit_inverse_transform:
            self._fit_inverse(X)
        return restore

    def _source_plan(self, source: Any, y: Any = None) -> Plan:
        if self.eigen_solver not in ("auto", "rpcholesky"):
            raise ValueError(
                f"eigen_solver={self.eigen_solver!r} needs all rows in memory, and X is a source of rows. Take "
                "eigen_solver='rpcholesky' with a rank, or read the rows into an array."
            )
        return self._source_draft(source, self._source_rank(source))

    def _source_rank(self, source: Any) -> int | None:
        n, chosen = row_count(source), self.rank or (self.n_components and self.eigen_solver == "rpcholesky")
        return self._rank(n, self._count(n)) if chosen else None

    def _fit_source(self, source: Any) -> KernelPCA:
        started = time.perf_counter()
        self._forget("null_eigenvalues_", "preimage_", "dual_coef_", "X_transformed_fit_", "eigenvectors_")
        if self.fit_inverse_transform or self.n_components == "parallel":
            what = "fit_inverse_transform" if self.fit_inverse_transform else "n_components='parallel'"
            raise ValueError(
                f"{what} needs all rows in memory, and X is a source of rows. Read a sample into an array."
            )
        plan = self._source_plan(source)
        plan.refuse()
        rank = self._source_rank(source)
        assert rank is not None  # the plan refuses a source without a rank
        if self.verbose:
            _say(str(plan))
        places, sample = self._bind_source(source, rank)
        kernel = self.kernel_.centered_form(sample)
        random, jobs = self.random_state, self.n_jobs
        features = streamed_features(kernel, source, (places, sample), rank=rank, random_state=random, n_jobs=jobs)
        self.X_fit_ = features.features.expansion.anchors
        n = row_count(source)
        count = rank if self.n_components is None else self._count(n)
        settings = replace(self._settings(self.X_fit_, count, plan.limit), rank=rank)
        found = streamed_components(features, kernel, settings, plan.needed_bytes)
        self._keep(found)
        seconds = time.perf_counter() - started
        self.report_ = Report("rpcholesky", found.reason, 0, found.bytes, self._tolerance(), True, seconds)
        if self.verbose:
            _say(str(self.report_))
        return self

    def _count(self, n: int) -> int:
        """How many pairs to look for; a share of the variance, or "parallel" before fitting, is a guess."""
        if self.n_components is None:
            return n
        guess = 16  # a search that falls short goes on with more
        return min(n, int(self.n_components) if isinstance(self.n_components, Integral) else guess)

    def _refuse_kernel(self) -> None:
        """Raise if the kernel, whatever the data, cannot do what was asked for."""
        kernel = unbound_kernel(self)
        if self.fit_inverse_transform:
            refuse_without_rows(kernel)
        if self.n_components == "parallel":
            refuse_no_columns(kernel)

    def _refuse_rows(self, X: Any) -> None:
        """Raise if these rows cannot give what was asked for."""
        if self.fit_inverse_transform:
            resolve_method(self.inverse_method).check(self.kernel_, X, self._request(X, self._count(X.shape[0])))
        if self.n_components == "parallel":
            refuse_one_column(X)

    def _wanted(self, X: Any) -> int:
        """How many pairs to look for in X: as `_count` says, or by parallel analysis, which keeps its null values."""
        if self.n_components != "parallel":
            return self._count(X.shape[0])
        found = parallel_analysis(self.kernel_, X, random_state=self.random_state, n_jobs=self.n_jobs)
        self.null_eigenvalues_ = beside(found.null * (X.shape[0] / found.rows), X.data if sp.issparse(X) else X)
        if not found.n_components:
            warn(
                "No eigenvalue exceeds that of data with permuted columns: this kernel sees no dependence between the "
                "variables. One component is given.",
                DegenerateDataWarning,
            )
        return max(1, found.n_components)

    def _settings(self, X: Any, k: int, limit: int) -> Settings:
        n = self.X_fit_.shape[0]
        count = self.n_components
        share = None if isinstance(count, Integral) or not isinstance(count, Real) else float(count)
        return Settings(
            k=k,
            share=share,
            tol=self._tolerance(),
            dtype=answer_dtype(self.X_fit_),
            max_iter=self.max_iter,
            n_iter=self.iterated_power,
            rank=self._rank(n, k),
            drop_zero=self.remove_zero_eig or self.n_components is None,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
            monitor=_say_progress if self.verbose else None,
            direct=self.eigen_solver == "auto" and self._dense_fits(X, k, limit),
            may_be_indefinite=isinstance(self.kernel_, HalfSquaredDistance),
        )

    def _dense_fits(self, X: Any, k: int, limit: int) -> bool:
        """Whether LAPACK on the whole matrix stays within the limit."""
        return eigenpairs(self._workload(X, copied=self.copy_X), k, "dense", 0, 0).peak <= limit

    def _plan(self, X: Any, k: int, code: int | None = None) -> Plan:
        work, rank = self._workload(X, copied=self.copy_X), self._rank(X.shape[0], k)
        solver, reason = self.eigen_solver, "asked for"
        limit = memory_to_use(X, self.memory_limit)
        if solver == "auto":
            given = isinstance(unbound_kernel(self), Precomputed)
            solver, reason = choose_solver(work.n, k, numpy=not is_foreign(X), stored=given)
            if solver == "dense" and k < work.n // 2 and eigenpairs(work, k, "dense", 0, 0).peak > limit:
                solver, reason = "krylov", f"the dense matrix of {format_bytes(8 * work.n**2)} does not fit the limit"
        tile = work.tile_within(limit // 4)
        footprint = eigenpairs(work, k, solver, tile, rank)
        kept = 0
        if work.n > SMALL and solver not in ("dense", "lanczos", "rpcholesky"):
            # float32 tiles alone reach a coarse tolerance; a finer one is finished on float64 tiles.
            kept = kept_tiles(work.n, tile, 4 if self._tolerance_for(X) >= 2 * SINGLE_FLOOR else 8)
        fields: dict[str, Any] = {"limit": limit, "tile": tile, **({} if code is None else {"code_bytes": code})}
        if self.fit_inverse_transform:
            fields["later"] = self._way_back_footprint(X, k)
        return self._keeping(X, kept, self._plan_of(X, solver, reason, footprint, **fields))

    def _way_back_footprint(self, X: Any, k: int) -> Footprint:
        """The memory of the map back to rows, which is fitted when the components are known."""
        kernel, method = unbound_kernel(self), resolve_method(self.inverse_method)
        back = {} if X.ndim != 2 else method.parts(kernel, X, self._request(X, k))
        return Footprint(self._held_with_scores(X, k), {"fit_inverse_transform": back})

    def _held_with_scores(self, X: Any, k: int) -> dict[str, int]:
        work = self._workload(X, copied=self.copy_X)
        rows = {"a copy of the rows": work.rows if self.copy_X else 0}
        return {**rows, "vectors and scores": 2 * work.n * k * work.itemsize}

    def _rank(self, n: int, k: int) -> int:
        return min(n, self.rank or max(100, 10 * k))

    def _tolerance(self) -> float:
        return self._tolerance_for(self.X_fit_)

    def _tolerance_for(self, X: Any) -> float:
        return float(self.tol) or default_tol(answer_dtype(X))

    def _keep(self, found: Components) -> None:
        if found.vectors is not None:
            self.eigenvectors_ = found.vectors
        self.eigenvalues_ = self._like(found.values)
        self.residuals_ = self._like(found.residuals)
        self.eigenvalue_error_ = self._like(found.errors)
        self.transform_error_ = self._like(found.transform_errors)
        self.explained_variance_ = self._like(found.values / found.n)
        self.explained_variance_ratio_ = self._like(found.values / found.total if found.total > 0 else 0 * found.values)
        self.total_variance_ = found.total / found.n
        self._with_mean = found.expansion
        self._mean_norm = found.mean_norm
        self.landmarks_ = found.landmarks
        self.expansion_ = self._expansion()

    def _expansion(self) -> KernelExpansion:
        """The map to the components, without the last column, ⟨μ, φ(x)⟩."""
        return self._with_mean.columns(slice(0, self.eigenvalues_.shape[0]))

    @classmethod
    def of_scaling(cls, result: Scaling, plan: Plan, reached: float, started: float, **params: Any) -> KernelPCA:
        """The kernel PCA of the precomputed kernel −½d² behind a map by classical scaling."""
        found = result.components
        self = cls(kernel="precomputed", **params)
        self.kernel_, self.gamma_, self.X_fit_ = found.expansion.kernel, None, found.expansion.anchors
        self.n_features_in_ = self.X_fit_.shape[0]
        self._keep(found)
        seconds = time.perf_counter() - started
        self.report_ = Report(
            found.solver or plan.method,
            found.reason,
            found.passes,
            plan.needed_bytes,
            reached,
            found.converged,
            seconds,
        )
        return self

    @property
    def solver_(self) -> Report:
        """Another name for `report_`."""
        return self.report_

    def _like(self, values: np.ndarray) -> Any:
        """NumPy values as an array of the data's kind, device and precision."""
        vectors = getattr(self, "eigenvectors_", None)
        return np.asarray(values, self.X_fit_.dtype) if vectors is None else beside(values, vectors)

    # --- using the components --------------------------------------------------------------------------

    def _scores(self) -> Any:
        if not hasattr(self, "eigenvectors_"):
            raise ValueError(
                "The model was fitted to a source, whose scores are not kept. Fit to an array, or pass the source."
            )
        xp = namespace(self.eigenvectors_)
        return self.eigenvectors_ * xp.sqrt(self.eigenvalues_)

    def transform(self, X: Any) -> Any:
        """The scores of new rows, (m, k): k(x, X) α − c, in tiles."""
        check_is_fitted(self)
        if is_row_source(X):
            return self._placed_by(X, self.expansion_, self._n_features_out)
        return self._scores_of(X)

    def _scores_of(self, X: Any) -> Any:
        X, restore = self._new_samples(X)
        return restore(self.expansion_(X))

    @property
    def eigenfunctions_(self) -> tuple[Eigenfunction, ...]:
        """The components as functions: `eigenfunctions_[i](X)` is column i of `transform(X)`."""
        check_is_fitted(self)
        return tuple(self.expansion_.column(i) for i in range(self.eigenvalues_.shape[0]))

    def score(self, X: Any, y: Any = None) -> float:
        """The share of X's variance in feature space that the components keep: Σ‖z‖² / Σ‖φ̃(x)‖².

        φ̃(x) is φ(x) less the mean of the training features, so ‖φ̃(x)‖² = k(x, x) − 2 mean k(x, xᵢ) + mean k(xᵢ, xⱼ).
        At most 1, since no row is closer than zero to the components: see `squared_distance`.
        On the training data this is the sum of `explained_variance_ratio_`; on new data components that fit noise add
        little, so a grid search can compare numbers of components. It cannot compare kernels: each has its own
        feature space, and a wider kernel keeps more of a poorer one.
        """
        norms, distances, _ = self._norms_and_distances(X, "score")
        total = norms.sum()
        return float(1 - distances.sum() / total) if total > 0 else 0.0

    def squared_distance(self, X: Any) -> Any:
        """‖φ̃(x)‖² − ‖z‖², (m,): how far each row lies from the subspace of the components, squared; never below zero.

        For the linear kernel this is the squared error of the reconstruction; for others, Hoffmann's measure of novelty
        (Kernel PCA for novelty detection, 2007). φ̃ is as in `score`.
        """
        if is_row_source(X):
            check_is_fitted(self)
            return self._mapped(X, 1, self.squared_distance, ["squared distance"], vector=True)
        _, distances, restore = self._norms_and_distances(X, "squared_distance")
        return restore(self._like(distances))

    def left_out_distances(self, X: Any, *, limits: Limits = LIMITS) -> np.ndarray:
        """The squared distance of each training row from the subspace of all the others, (n,), without refits.

        X must be the rows that were fitted. Fitted rows lie nearer to the subspace than new ones, so these distances,
        not those of `squared_distance`, tell what to expect of a new row. `limits` set the sizes up to which they are
        exact. Cost: all eigenpairs up to 2000 rows, and one pass over K beyond.

        For a source of rows the method takes a sample of up to 10,000 rows, and leaves each of them out of the subspace
        of all the others. This takes one pass. The answer holds the distances of the sample.
        """
        check_is_fitted(self)
        if is_row_source(X):
            source = fitted_columns(self, X)
            places = sample_places(source, LEFT_OUT_ROWS, self.random_state)
            k, sample = int(np.sum(self.eigenvalues_ > 0)), (places, rows_at(source, places))
            if self.landmarks_ is None:
                raise ValueError("The rows that were fitted are an array: leave out its rows, not those of a source.")
            return from_streamed_factor(self.expansion_, source, self.landmarks_, k, sample, limits)
        X, _ = self._new_samples(X)
        values = to_numpy(self.eigenvalues_)
        if self.landmarks_ is not None:
            return from_factor(self.expansion_, X, self.landmarks_, int(np.sum(values > 0)), limits)
        # The kernel that was worked with: a linear one is taken about the mean.
        return from_gram(self.expansion_.kernel, X, values, to_numpy(self._scores()), self.n_jobs, limits)

    def _norms_and_distances(self, X: Any, method: str) -> Any:
        """‖φ̃(x)‖² and what the components leave of it, (m,), in float64 NumPy, and the way back to the type of X."""
        check_is_fitted(self)
        X, restore = self._new_samples(X)
        if isinstance(self.kernel_, Precomputed):
            raise ValueError(f"{method} needs k(x, x) of new points, which a precomputed kernel does not have.")
        new = self._with_mean.new_points(X)
        both = to_numpy(self._with_mean.on_points(new)).astype(np.float64)
        norms = to_numpy(self._with_mean.kernel.diagonal(new)).astype(np.float64) - 2 * both[:, -1] + self._mean_norm
        return norms, np.maximum(norms - (both[:, :-1] ** 2).sum(axis=1), 0.0), restore

    def feature_contributions(
        self, X: Any = None, *, average: bool = True, standardize: bool = False, shares: bool = False
    ) -> Any:
        """How much each input variable moves each component, by the gradient ∂zⱼ/∂x_d = Σᵢ αᵢⱼ ∂k(x, xᵢ)/∂x_d.

        X : the rows at which the gradient is taken; None means the training rows
        average : True gives the root mean square over the rows, (k, d), and False each row's gradient with its sign,
            (m, k, d)
        standardize : whether to multiply by the standard deviation of each training column, so that units drop out
        shares : whether to return squares divided by their sum over the variables, so that those of a component sum to
            one

        For Linear these are PCA's loadings. Kernels with a kink, such as Laplacian, and kernels that are not formulas
        of vectors raise TypeError. Cost: m · n entries of the kernel and 2 m n k d flops, in tiles.
        """
        check_is_fitted(self)
        if not hasattr(self, "eigenvectors_") and (X is None or standardize):
            raise ValueError(
                "The rows of the source are not kept, only its landmarks, and these vary more than most rows. Give X, "
                "such as a chunk of the source, and multiply by standard deviations yourself."
            )
        X, restore = (self.X_fit_, adopt(self.X_fit_)[1]) if X is None else self._new_samples(X)
        return restore(feature_contributions(self, X, average=average, standardize=standardize, shares=shares))

    def inverse_transform(self, X: Any) -> Any:
        """Turn scores (m, k) into rows of the input space, by `inverse_method`; rows of CSR data come back dense."""
        if not self.fit_inverse_transform:
            raise NotFittedError(
                "The fit_inverse_transform parameter was not set to True when instantiating and hence the inverse "
                "transform is not available."
            )
        check_is_fitted(self)
        X, restore = adopt(X)
        X = X if is_foreign(X) else np.asarray(X)
        self._refuse_other_place(X, self.X_fit_)
        return restore(self.preimage_(scores_like(X, self.X_transformed_fit_)))

    def _request(self, X: Any, k: int) -> InverseRequest:
        limit = max(0, memory_to_use(X, self.memory_limit) - sum(self._held_with_scores(X, k).values()))
        low_rank, given = self.eigen_solver == "rpcholesky", self.memory_limit is not None
        return InverseRequest(self.alpha, limit, low_rank, self.random_state, self.n_jobs, given)

    def way_back(self, X: Any, n_components: int) -> PreImage:
        """A map from the first `n_components` scores to rows, by `inverse_method`; X must be the rows that were fitted.

        The model does not change, so you can compare numbers of components without another fit.
        """
        check_is_fitted(self)
        fitted = FittedComponents(self.kernel_, X, self._scores(), self._with_mean, self._mean_norm)
        return resolve_method(self.inverse_method).fit(fitted.truncated(n_components), self._request(X, n_components))

    def _fit_inverse(self, X: Any) -> None:
        self.X_transformed_fit_ = self._scores()
        self.preimage_ = self.way_back(X, self.X_transformed_fit_.shape[1])
        if isinstance(self.preimage_, RidgeMap):
            self.dual_coef_ = self.preimage_.dual_coef

    # --- scikit-learn ----------------------------------------------------------------------------------

    @property
    def _n_features_out(self) -> int:
        return self.eigenvalues_.shape[0]


def _say(line: str) -> None:
    sys.stderr.write(f"KernelPCA: {line}\n")


def _say_progress(passes: int, residual: float) -> None:
    _say(f"pass {passes}, largest residual {residual:.1e}")


def _refuse_other_rows(parts: Any) -> None:
    """For a model file. With a precomputed kernel the samples have no columns, unless the matrix itself is kept."""
    width = parts.X_fit_.shape[1] if parts.X_fit_.ndim == 2 else 1
    given = isinstance(parts.kernel_, Precomputed)
    if width != parts.n_features_in_ and not (given and width == 0):
        raise Mismatch(f"X_fit_ has {width} columns, and {parts.n_features_in_} were fitted")
    rows = getattr(parts, "eigenvectors_", None)  # a fit to a stream has none, and numbers rows that it has not kept
    if (
        parts.landmarks_ is not None
        and rows is not None
        and np.any((parts.landmarks_ < 0) | (parts.landmarks_ >= len(rows)))
    ):
        raise Mismatch("landmarks_ names rows that were not fitted")
    count = parts._with_mean.coefs.shape[0]
    if parts.landmarks_ is None and count != parts.X_fit_.shape[0]:
        raise Mismatch("the expansion has other rows than the fit")
    if given and count != parts.n_features_in_:
        raise Mismatch("new rows of the kernel would have other columns than the fit has rows")
