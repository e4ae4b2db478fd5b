"""Kernel PCA: exact to a stated tolerance, without the n × n matrix."""

from __future__ import annotations

import sys
import time
import warnings
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import _fit_context
from sklearn.exceptions import NotFittedError
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions
from sklearn.utils.validation import check_is_fitted

from mercer.backends import backend_of, is_foreign, namespace, to_numpy
from mercer.estimators.base import Estimator
from mercer.estimators.planning import Plan, SolverReport, plan_fit
from mercer.exceptions import (
    AsymmetricKernelWarning,
    DegenerateDataWarning,
    IndefiniteKernelWarning,
    MemoryLimitError,
    NotConvergedWarning,
)
from mercer.expansion import Eigenfunction, KernelExpansion
from mercer.kernels import KERNEL_NAMES, Kernel, resolve_kernel
from mercer.kernels.discrete import Precomputed, as_strings, symmetric_part
from mercer.linalg.eigen import Eigenpairs, as_generator, default_tol, top_eigenpairs
from mercer.linalg.lowrank import factor_eigenpairs, rpcholesky
from mercer.linalg.operators import Centered, Dense, Gram, Operator
from mercer.memory import format_bytes
from mercer.preimage import ridge_coefs

# Below −significant · γ₁ an eigenvalue is no rounding error; below zero_at · γ₁ it is nothing but one.
_SIGNIFICANT = {64: 1e-5, 32: 5e-3}
_ZERO_AT = {64: 1e-12, 32: 2e-7}


class KernelPCA(Estimator):
    """Principal components in the feature space of a kernel.

    With K the kernel matrix, H = I − 11ᵀ/n and HKH e = γ e, the scores of the training points are e√γ and those of a
    new point Σᵢ αᵢ k(xᵢ, x) − c, α = e/√γ, c = αᵀK1/n. HKH is never formed: K is visited in tiles.

    Parameters
    ----------
    n_components : int, float or None
        How many; a share of the variance between 0 and 1; None keeps every component that is not zero.
    kernel : str, Kernel or callable
        A name ("linear", "poly", "rbf", …), a `mercer.kernels.Kernel`, a kernel of `sklearn.gaussian_process`, or a
        function of two rows or of two matrices.
    gamma : float, "scale", "median" or None
        For kernels given by name; None is 1/d. "scale" is 1/(d Var X), "median" 1/(the median of ‖x − y‖²).
    degree, coef0, kernel_params
        For kernels given by name; `kernel_params` go to a function.
    alpha, fit_inverse_transform
        The ridge penalty of `inverse_transform`, and whether to fit it.
    eigen_solver : {"auto", "dense", "arpack", "randomized", "krylov", "power", "rpcholesky"}
        "krylov" is the certified block method that streams K. "rpcholesky" works on a factor of rank `rank`: n·rank
        entries of K, for n beyond what n² allows, with the error bound in `eigenvalue_error_`. "auto" takes "dense"
        for small n or many components, else "krylov"; `plan` tells which before fitting.
    tol : float
        The largest residual ‖HKHe − γe‖ relative to γ₁; 0 is 1e-10 for float64 data and 1e-6 for float32.
    max_iter : int or None
        The largest number of passes over K (krylov), of iterations (arpack, power).
    iterated_power : int or "auto"
        Power iterations of "randomized".
    remove_zero_eig : bool
        Drop components of zero variance.
    random_state : int, RandomState, Generator or None
        None is a fixed seed: the same data gives the same bits.
    copy_X : bool
        Whether to keep a copy of X or X itself.
    n_jobs : int or None
        Threads; None is all cores.
    memory_limit : int, str or None
        Bytes, or text such as "4GB"; None is half of what is free. A fit that needs more is refused before it starts.
    rank : int or None
        Columns of the factor of "rpcholesky"; None is 10 per component, at least 100.
    verbose : bool
        Report each pass on stderr.

    Attributes
    ----------
    eigenvalues_ : (k,), γ, descending
    eigenvectors_ : (n, k), e, the entry of largest magnitude positive
    residuals_ : (k,), ‖HKHe − γe‖, recomputed at the end (for "rpcholesky" an upper bound)
    eigenvalue_error_ : (k,), a bound on the distance from γ to an eigenvalue of HKH
    explained_variance_, explained_variance_ratio_ : (k,), γ/n, and its share of the total
    total_variance_ : float, tr(HKH)/n, exact for every solver but "rpcholesky", which gives an upper bound
    solver_ : SolverReport, what ran and why, passes, bytes, seconds
    kernel_ : the kernel with all its numbers; gamma_ its gamma
    eigenfunctions_ : tuple of callables, one a component
    dual_coef_, X_transformed_fit_ : of the ridge regression back, where it was asked for
    X_fit_, n_features_in_, feature_names_in_

    Notes
    -----
    Cost of "krylov": 5 to 10 passes of n²/2 entries of K, each a product with about k vectors; memory 16·n·5k bytes
    and as many tiles as `memory_limit` allows. Float64 data is first solved on float32 tiles, then finished and
    certified on float64 ones.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> X, y = make_circles(500, factor=0.3, noise=0.05, random_state=0)
    >>> kpca = KernelPCA(2, kernel="rbf", gamma=2.0).fit(X)
    >>> kpca.transform(X).shape, bool(kpca.residuals_.max() < 1e-9 * kpca.eigenvalues_[0])
    ((500, 2), True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="neither"),
            None,
        ],
        "kernel": [StrOptions(set(KERNEL_NAMES)), callable],
        "gamma": [Interval(Real, 0, None, closed="left"), StrOptions({"scale", "median"}), None],
        "degree": [Interval(Real, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "kernel_params": [dict, None],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "fit_inverse_transform": ["boolean"],
        "eigen_solver": [
            StrOptions({"auto", "dense", "arpack", "randomized", "krylov", "power", "rpcholesky"}),
        ],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "iterated_power": [Interval(Integral, 0, None, closed="left"), StrOptions({"auto"})],
        "remove_zero_eig": ["boolean"],
        "random_state": ["random_state"],
        "copy_X": ["boolean"],
        "n_jobs": [None, Integral],
        "memory_limit": [Interval(Real, 0, None, closed="neither"), str, None],
        "rank": [Interval(Integral, 1, None, closed="left"), None],
        "verbose": ["boolean"],
    }

    def __init__(
        self,
        n_components=None,
        *,
        kernel="linear",
        gamma=None,
        degree=3,
        coef0=1,
        kernel_params=None,
        alpha=1.0,
        fit_inverse_transform=False,
        eigen_solver="auto",
        tol=0,
        max_iter=None,
        iterated_power="auto",
        remove_zero_eig=False,
        random_state=None,
        copy_X=True,
        n_jobs=None,
        memory_limit=None,
        rank=None,
        verbose=False,
    ):
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

    # --- fitting ---------------------------------------------------------------------------------------

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Find the components of X, (n, d), dense or CSR; strings for string kernels, K for "precomputed"."""
        self._fit(X)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_transform(self, X, y=None):
        """Find the components of X and return its scores e√γ, (n, k), without another pass."""
        restore = self._fit(X)
        return restore(self._scores())

    def plan(self, X) -> Plan:
        """What `fit(X)` would do: the solver and why, the memory it needs and the tiles it may keep."""
        X = X if hasattr(X, "shape") else np.asarray(X)
        return self._plan(X, self._count(X.shape[0]))

    def _fit(self, X):
        if self.fit_inverse_transform and isinstance(self._named_kernel(1), Precomputed):
            raise ValueError("Cannot fit_inverse_transform with a precomputed kernel.")
        started = time.perf_counter()
        X, restore = self._samples(X, reset=True)
        self.kernel_ = self._named_kernel(self.n_features_in_).bind(X)
        self.gamma_ = getattr(
            self.kernel_, "gamma", 1 / self.n_features_in_ if self.gamma is None else self.gamma
        )
        self.X_fit_ = X
        plan = self._plan(X, self._count(_length(X)))
        self._announce(plan)
        if plan.solver == "rpcholesky":
            self._fit_factor(X)
        else:
            self._fit_operator(X, plan)
        self._report(plan, started)
        if self.fit_inverse_transform:
            self._fit_inverse(X)
        return restore

    def _named_kernel(self, d: int) -> Kernel:
        gamma = 1.0 / d if self.gamma is None else self.gamma
        return resolve_kernel(self.kernel, gamma, self.degree, self.coef0, self.kernel_params)

    def _samples(self, X, *, reset: bool):
        """The samples, checked as their kernel wants them, and the way back to their type."""
        kernel = self._named_kernel(1) if reset else self.kernel_
        if kernel.accepts != "strings":
            X, restore = self._read(X, reset=reset, copy=reset and self.copy_X)
            if reset and isinstance(kernel, Precomputed) and X.shape[0] != X.shape[1]:
                raise ValueError(
                    f"Precomputed metric requires shape (n_samples, n_samples); a square matrix, not {X.shape}."
                )
            return X, restore
        X = np.asarray(as_strings(X), dtype=object)
        if not len(X):
            raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required by KernelPCA.")
        self.n_features_in_ = 1
        return X, lambda result: result

    def _count(self, n: int) -> int:
        """How many pairs to look for; a share of the variance starts with a guess."""
        if self.n_components is None:
            return n
        if isinstance(self.n_components, Integral):
            return min(n, int(self.n_components))
        return min(n, 16)

    def _plan(self, X, k: int) -> Plan:
        n = _length(X)
        numeric = getattr(X, "ndim", 1) == 2
        backend = backend_of(X) if numeric else backend_of(np.empty(0))
        itemsize = 4 if numeric and X.dtype == namespace(X).float32 else 8
        return plan_fit(
            n,
            X.shape[1] if numeric else 1,
            k,
            itemsize,
            solver=self.eigen_solver,
            rank=self._rank(n, k),
            limit=self.memory_limit,
            free=backend.free_bytes(X),
            threads=backend.workers(self.n_jobs),
        )

    def _rank(self, n: int, k: int) -> int:
        return min(n, self.rank or max(100, 10 * k))

    def _fit_operator(self, X, plan: Plan) -> None:
        A = Centered(self._operator(X, plan))
        pairs = self._solve(A, plan)
        self._checked_convergence(pairs)
        self._keep(pairs.values, pairs.vectors, pairs.residuals, pairs.errors, A)
        centred = pairs.operator if isinstance(pairs.operator, Centered) else A
        n = _length(X)
        self.total_variance_ = centred.trace() / n
        self._set_ratios()
        xp, values = namespace(self.eigenvectors_), to_numpy(self.eigenvalues_).astype(np.float64)
        scale = np.where(values > 0, 1 / np.sqrt(np.where(values > 0, values, 1.0)), 0.0)
        alphas = self.eigenvectors_ * self._like(scale)
        sums = centred.row_sums() / n  # what every sample has with the mean: K1/n
        offset = xp.astype(xp.sum(xp.astype(alphas, sums.dtype) * sums[:, None], axis=0), alphas.dtype)
        self._expand(X, alphas, offset, xp.full((n,), 1.0 / n, dtype=alphas.dtype, **_place(alphas)))
        self._mean_norm = float(xp.sum(sums)) / n
        self._passes, self._bytes = pairs.passes, plan.needed_bytes + A.kept_bytes
        self._solver, self._reason = pairs.solver, plan.reason

    def _operator(self, X, plan: Plan) -> Operator:
        if isinstance(self.kernel_, Precomputed):
            return Dense(_symmetric(self.kernel_.points(X).rows))
        gram = Gram(self.kernel_, X, keep_bytes=plan.keep_bytes, keep_from=1, n_jobs=self.n_jobs)
        diagonal = gram.diagonal()
        if not bool(gram.xp.all(gram.xp.isfinite(diagonal))):
            raise ValueError(
                f"{self.kernel_!r} overflows on this data: k(x, x) is infinite for some rows. Scale the data "
                "(sklearn.preprocessing.StandardScaler) or lower gamma, degree or coef0."
            )
        if gram.n <= 2 * gram.backend.TILE or plan.solver == "dense":
            return Dense(gram.xp.astype(gram.to_dense(), gram.dtype, copy=False))
        return gram

    def _solve(self, A: Operator, plan: Plan) -> Eigenpairs:
        k, n = self._count(A.n), A.n
        share = self.n_components if not isinstance(self.n_components, (Integral, type(None))) else None
        while True:
            pairs = top_eigenpairs(
                A,
                k,
                solver=plan.solver,
                tol=self._tolerance(),
                max_iter=self.max_iter,
                n_iter=self.iterated_power,
                random_state=self.random_state,
                monitor=self._progress if self.verbose else None,
            )
            if share is None:
                return pairs
            centred = pairs.operator if isinstance(pairs.operator, Centered) else A
            total = centred.trace()  # type: ignore[attr-defined]
            reached = np.cumsum(np.maximum(pairs.values, 0)) / total if total > 0 else np.ones(k)
            enough = int(np.searchsorted(reached, share, side="right")) + 1
            if enough <= k or k == n:
                return _first(pairs, min(enough, k))
            k = min(n, 2 * k)
            plan = self._plan(self.X_fit_, k)

    def _tolerance(self) -> float:
        return float(self.tol) or default_tol(np.float32 if self._bits() == 32 else np.float64)

    def _bits(self) -> int:
        X = self.X_fit_
        return 32 if getattr(X, "ndim", 1) == 2 and X.dtype == namespace(X).float32 else 64

    def _fit_factor(self, X) -> None:
        """Work on a randomly pivoted Cholesky factor: everything from F, and the error from tr(K − FFᵀ)."""
        n, k = _length(X), self._count(_length(X))
        rng = as_generator(self.random_state)
        if isinstance(self.kernel_, Precomputed):
            A: Operator = Dense(_symmetric(X))
        else:
            A = Gram(self.kernel_, X, n_jobs=self.n_jobs)
        factor = rpcholesky(A, self._rank(n, k), rng, dtype=A.xp.float32 if self._bits() == 32 else None)
        k = min(k, factor.F.shape[1])
        values, vectors, W, mean = factor_eigenpairs(factor.F, factor.F.shape[1])
        kept = float(values.sum())
        if not isinstance(self.n_components, (Integral, type(None))):
            share = np.cumsum(values) / (kept + factor.error) if kept > 0 else np.ones(len(values))
            k = min(len(values), int(np.searchsorted(share, self.n_components, side="right")) + 1)
        bound = np.full(k, factor.error)
        self._keep(values[:k], vectors[:, :k], bound, bound.copy(), A)
        k = len(self.eigenvalues_)
        self.total_variance_ = (kept + factor.error) / n
        self._set_ratios()
        xp = A.xp
        signs = self._signs[:k]
        coefs = factor.coefs @ (W[:, :k] * np.sqrt(values[:k]) * signs)
        offset = mean @ (W[:, :k] * np.sqrt(values[:k]) * signs)
        anchors = (
            X[factor.landmarks]
            if not is_foreign(X)
            else xp.take(X, xp.asarray(factor.landmarks, **_place(X)), 0)
        )
        if isinstance(self.kernel_, Precomputed):
            anchors, coefs = X, _scatter(coefs, factor.landmarks, n)
            mean_coefs = _scatter((factor.coefs @ mean)[:, None], factor.landmarks, n)[:, 0]
        else:
            mean_coefs = factor.coefs @ mean
        self._expand(anchors, self._like(coefs), self._like(offset), self._like(mean_coefs))
        self._mean_norm = float(mean @ mean)
        self._passes, self._bytes = (
            0,
            A.kept_bytes + factor.F.shape[0] * factor.F.shape[1] * self._bits() // 8,
        )
        self._solver, self._reason = (
            "rpcholesky",
            f"rank {factor.F.shape[1]}, tr(K − FFᵀ) = {factor.error:.3g}",
        )

    def _keep(self, values, vectors, residuals, errors, A: Operator) -> None:
        """Set the spectral attributes: signs fixed, rounding errors at zero, the dtype that came in."""
        values = self._cleaned(np.asarray(values, np.float64), A)
        keep = np.arange(len(values))
        if self.remove_zero_eig or self.n_components is None:
            keep = np.flatnonzero(values > 0)
        xp = namespace(vectors)
        vectors = xp.take(vectors, xp.asarray(keep, **_place(vectors)), axis=1)
        largest = xp.argmax(xp.abs(vectors), axis=0)
        picked = to_numpy(xp.take_along_axis(vectors, largest[None, :], axis=0))[0]
        self._signs = np.where(picked < 0, -1.0, 1.0)
        dtype = xp.float32 if self._bits() == 32 else xp.float64
        self.eigenvectors_ = xp.astype(
            vectors * xp.asarray(self._signs, dtype=vectors.dtype, **_place(vectors)), dtype
        )
        self.eigenvalues_ = self._like(values[keep])
        self.residuals_ = self._like(np.asarray(residuals)[keep])
        self.eigenvalue_error_ = self._like(np.asarray(errors)[keep])
        self.explained_variance_ = self.eigenvalues_ / A.n

    def _cleaned(self, values: np.ndarray, A: Operator) -> np.ndarray:
        top, bits = values.max(initial=0.0), self._bits()
        lowest = values.min(initial=0.0)
        if lowest < -_SIGNIFICANT[bits] * max(top, 0.0) and lowest < 0:
            raise ValueError(
                "There are significant negative eigenvalues "
                f"({-lowest / top if top > 0 else np.inf:.2g} of the largest): {self.kernel_!r} is no positive "
                f"semidefinite kernel on this data, and {len(values)} components reach into its negative part. Ask for "
                "fewer components, or take another kernel or eigen_solver."
            )
        values = np.where(values > _ZERO_AT[bits] * top, values, 0.0)
        if top <= 0 and A.n > 1:
            warnings.warn(
                "The data has no variation in feature space: every eigenvalue is zero. Constant or underflowing data, "
                "or a gamma that makes all points alike, does that.",
                DegenerateDataWarning,
                stacklevel=2,
            )
        return values

    def _set_ratios(self) -> None:
        total = self.total_variance_
        ratios = to_numpy(self.explained_variance_).astype(np.float64) / total if total > 0 else 0.0
        self.explained_variance_ratio_ = self._like(
            np.broadcast_to(ratios, (self.eigenvalues_.shape[0],)).copy()
        )

    def _expand(self, anchors, coefs, offset, mean_coefs) -> None:
        xp = namespace(coefs)
        wide = xp.concat([coefs, mean_coefs[:, None]], axis=1)
        zero = xp.zeros((1,), dtype=offset.dtype, **_place(offset))
        self._wide = KernelExpansion(self.kernel_, anchors, wide, xp.concat([offset, zero]), self.n_jobs)
        self.expansion_ = KernelExpansion(self.kernel_, anchors, coefs, offset, self.n_jobs)

    def _like(self, values: np.ndarray):
        """NumPy values as an array of the data's kind, device and precision."""
        dtype = np.float32 if self._bits() == 32 else np.float64
        if not is_foreign(self.X_fit_):
            return np.asarray(values, dtype)
        xp = namespace(self.X_fit_)
        return xp.asarray(
            values, dtype=xp.float32 if self._bits() == 32 else xp.float64, **_place(self.X_fit_)
        )

    def _checked_convergence(self, pairs: Eigenpairs) -> None:
        top = np.abs(pairs.values).max(initial=0.0)
        worst = pairs.residuals.max(initial=0.0)
        exact = pairs.solver in (
            "dense",
            "randomized",
        )  # these have no tolerance to miss: residuals tell how good
        self._converged = exact or worst <= max(self._tolerance(), 1e-14) * top
        if not self._converged:
            warnings.warn(
                f"{pairs.solver} stopped after {pairs.passes} passes with a residual of {worst / top:.1e} of the "
                f"largest eigenvalue, above tol = {self._tolerance():.1e}. See residuals_; raise max_iter or tol.",
                NotConvergedWarning,
                stacklevel=2,
            )
        if pairs.lowest < -_SIGNIFICANT[self._bits()] * max(top, 0.0):
            warnings.warn(
                f"{self.kernel_!r} has negative eigenvalues on this data (at least {pairs.lowest:.3g}, the largest is "
                f"{top:.3g}): it is no inner product. The components are those of the largest eigenvalues; shares of "
                "variance are relative to a trace that the negative ones lower.",
                IndefiniteKernelWarning,
                stacklevel=2,
            )

    def _report(self, plan: Plan, started: float) -> None:
        self.solver_ = SolverReport(
            name=self._solver,
            reason=self._reason,
            passes=self._passes,
            bytes=self._bytes,
            tol=self._tolerance(),
            converged=getattr(self, "_converged", True),
            seconds=time.perf_counter() - started,
        )
        if self.verbose:
            sys.stderr.write(f"KernelPCA: {self.solver_}\n")

    def _announce(self, plan: Plan) -> None:
        if self.verbose and plan.needed_bytes + plan.keep_bytes > 10**9:
            sys.stderr.write(
                f"KernelPCA: up to {format_bytes(plan.needed_bytes + plan.keep_bytes)} ({plan})\n"
            )

    def _progress(self, passes: int, residual: float) -> None:
        sys.stderr.write(f"KernelPCA: pass {passes}, largest residual {residual:.1e}\n")

    # --- using the components --------------------------------------------------------------------------

    def _scores(self):
        xp = namespace(self.eigenvectors_)
        return self.eigenvectors_ * xp.sqrt(self.eigenvalues_)

    def transform(self, X):
        """The scores of new rows, (m, k): k(x, X) α − c, in tiles."""
        check_is_fitted(self)
        X, restore = self._samples(X, reset=False)
        return restore(self.expansion_(self._in_fit_dtype(X)))

    def _in_fit_dtype(self, X):
        if getattr(X, "ndim", 1) != 2 or X.dtype == self.X_fit_.dtype:
            return X
        return namespace(X).astype(X, self.X_fit_.dtype) if is_foreign(X) else X.astype(self.X_fit_.dtype)

    @property
    def eigenfunctions_(self) -> tuple[Eigenfunction, ...]:
        """The components as functions: `eigenfunctions_[i](X)` is column i of `transform(X)`."""
        check_is_fitted(self)
        return tuple(self.expansion_.column(i) for i in range(self.eigenvalues_.shape[0]))

    def score(self, X, y=None) -> float:
        """The share of X's variance in feature space that the components keep: Σ‖z‖² / Σ‖φ̃(x)‖², at most 1.

        φ̃(x) is φ(x) less the mean of the training features, so ‖φ̃(x)‖² = k(x, x) − 2 mean k(x, xᵢ) + mean k(xᵢ, xⱼ).
        On the training data this is the sum of `explained_variance_ratio_`; on new data it falls where components fit
        noise, so a grid search can compare kernels' widths and numbers of components.
        """
        check_is_fitted(self)
        X = self._in_fit_dtype(self._samples(X, reset=False)[0])
        if isinstance(self.kernel_, Precomputed):
            raise ValueError("score needs k(x, x) of new points, which a precomputed kernel does not have.")
        new = self._wide.new_points(X)
        both = to_numpy(self._wide.on_points(new)).astype(np.float64)
        norms = to_numpy(self.kernel_.diagonal(new)).astype(np.float64) - 2 * both[:, -1] + self._mean_norm
        total = norms.sum()
        return float((both[:, :-1] ** 2).sum() / total) if total > 0 else 0.0

    def _fit_inverse(self, X) -> None:
        if getattr(X, "ndim", 1) != 2 or (not is_foreign(X) and hasattr(X, "tocsr")):
            raise NotImplementedError("Inverse transform not implemented for sparse matrices!")
        n = _length(X)
        limit = self._plan(X, 1).limit
        if 2 * 8 * n * n > limit:
            raise MemoryLimitError(
                f"fit_inverse_transform on {n} samples needs {format_bytes(16 * n * n)}, more than the limit of "
                f"{format_bytes(limit)}. Nothing was allocated. Fit it on a sample of the rows, or raise memory_limit."
            )
        self.X_transformed_fit_ = self._scores()
        self._inverse_kernel = self._back_kernel(X)
        self.dual_coef_ = ridge_coefs(self._inverse_kernel, self.X_transformed_fit_, X, self.alpha)

    def _back_kernel(self, X) -> Kernel:
        """The kernel of the regression back, on scores: the same formula with the gamma that the fit resolved."""
        gamma = self.gamma_ if isinstance(self.gamma_, Real) else None
        kernel = resolve_kernel(self.kernel, gamma, self.degree, self.coef0, self.kernel_params)
        return kernel.bind(self.X_transformed_fit_)

    def inverse_transform(self, X):
        """Rows of the input space whose scores are near X, by ridge regression of the data on the scores."""
        if not self.fit_inverse_transform:
            raise NotFittedError(
                "The fit_inverse_transform parameter was not set to True when instantiating and hence the inverse "
                "transform is not available."
            )
        check_is_fitted(self)
        X = X if is_foreign(X) else np.asarray(X, dtype=self.X_transformed_fit_.dtype)
        zero = namespace(self.dual_coef_).zeros_like(self.dual_coef_[0, :])
        back = KernelExpansion(
            self._inverse_kernel, self.X_transformed_fit_, self.dual_coef_, zero, self.n_jobs
        )
        return back(X)

    # --- scikit-learn ----------------------------------------------------------------------------------

    @property
    def _n_features_out(self) -> int:
        return self.eigenvalues_.shape[0]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.input_tags.pairwise = self.kernel == "precomputed" or isinstance(self.kernel, Precomputed)
        return tags


def _length(X) -> int:
    return X.shape[0]


def _place(X) -> dict[str, Any]:
    return {"device": X.device} if is_foreign(X) else {}


def _first(pairs: Eigenpairs, k: int) -> Eigenpairs:
    return Eigenpairs(
        pairs.values[:k],
        pairs.vectors[:, :k],
        pairs.residuals[:k],
        pairs.errors[:k],
        pairs.passes,
        pairs.solver,
        pairs.reason,
        pairs.operator,
        pairs.lowest,
    )


def _scatter(rows: np.ndarray, places: np.ndarray, n: int) -> np.ndarray:
    out = np.zeros((n, rows.shape[1]))
    out[places] = rows
    return out


def _symmetric(K):
    K, skew = symmetric_part(K)
    if skew > 1e-6:
        warnings.warn(
            f"The precomputed kernel differs from its transpose by {skew:.1e} of its largest entry after centring; "
            "(K + Kᵀ)/2 is used.",
            AsymmetricKernelWarning,
            stacklevel=2,
        )
    return K
