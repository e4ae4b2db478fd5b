"""Classical multidimensional scaling: coordinates from distances, in closed form."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import _fit_context
from sklearn.metrics import pairwise_distances
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, check_symmetric

from mercer.backends import backend_of, is_foreign, namespace
from mercer.estimators.base import Estimator
from mercer.estimators.kernel_pca import KernelPCA
from mercer.features import answer_dtype
from mercer.fit_report import Report
from mercer.footprints import scaled_matrix
from mercer.kernels import Kernel
from mercer.kernels.metric import HalfSquaredDistance
from mercer.kernels.products import Linear
from mercer.linalg.eigen import choose_solver
from mercer.memory import available_bytes
from mercer.models.fields import INPUT, SavedEstimator, derived, floats, instance_of, samples
from mercer.planning import Plan, code_bytes, limit_of
from mercer.spectral.scaling import distance_settings, unfold_matrix

_SPECTRUM = ("eigenvalues_", "residuals_", "eigenvalue_error_", "report_")  # those of the kernel PCA that it is


class ClassicalMDS(Estimator):
    """Classical scaling: the coordinates whose distances are nearest to the given ones in the sense of −½HD²H.

    With D the matrix of distances and H = I − 11ᵀ/n, the coordinates are the top eigenvectors of −½ H D² H, each times
    the root of its eigenvalue. Euclidean distances give PCA. The method is kernel PCA with the kernel −½d², so it
    streams that matrix, certifies its eigenpairs and places new points. `sklearn.manifold.ClassicalMDS` does none of
    these.

    Parameters
    ----------
    n_components : int, default 2
    metric : str, callable or Kernel, default "euclidean"
        A name that scikit-learn's pairwise_distances knows, a function of two rows, "precomputed", or a kernel, for the
        distances in its feature space.
    metric_params : dict or None
    eigen_solver, tol, random_state, n_jobs, memory_limit
        As in KernelPCA.

    Attributes
    ----------
    embedding_ : (n, k)
    eigenvalues_, residuals_, eigenvalue_error_ : (k,)
        γ; ‖−½HD²Hv − γv‖, recomputed from the vectors that are returned; and the error bound of γ that follows.
    dissimilarity_matrix_ : (n, n)
        The distances, computed when asked for and not kept.
    kernel_pca_ : KernelPCA
        The kernel PCA of the kernel −½d², or of the linear kernel for Euclidean distances.

    Cost: that of KernelPCA, with distances in place of a kernel's entries. Distances of most other metrics do not fit
    into any Euclidean space, so some eigenvalues are negative. You get an IndefiniteKernelWarning if that matters, that
    is, if a negative eigenvalue outweighs one of the coordinates.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import PCA, ClassicalMDS
    >>> X = load_iris().data
    >>> mds = ClassicalMDS().fit(X)
    >>> bool(np.allclose(np.abs(mds.embedding_), np.abs(PCA(2).fit_transform(X))))
    True
    """

    _saved = SavedEstimator(
        "ClassicalMDS",
        {
            **INPUT,
            "_X": samples("n", "d"),
            "kernel_pca_": instance_of("KernelPCA", n="n", k="k"),
            "embedding_": floats("n", "k"),
            "eigenvalues_": derived(lambda self: self.kernel_pca_.eigenvalues_),
            "residuals_": derived(lambda self: self.kernel_pca_.residuals_),
            "eigenvalue_error_": derived(lambda self: self.kernel_pca_.eigenvalue_error_),
            "report_": derived(lambda self: self.kernel_pca_.report_),
        },
    )

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "metric": [str, callable],
        "metric_params": [dict, None],
        "eigen_solver": [StrOptions({"auto", "dense", "arpack", "krylov"})],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
        "memory_limit": [Interval(Real, 0, None, closed="neither"), str, None],
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        metric: str | Callable[..., Any] = "euclidean",
        metric_params: dict[str, Any] | None = None,
        eigen_solver: str = "auto",
        tol: float = 0,
        random_state: Any = None,
        n_jobs: int | None = None,
        memory_limit: int | float | str | None = None,
    ) -> None:
        self.n_components = n_components
        self.metric = metric
        self.metric_params = metric_params
        self.eigen_solver = eigen_solver
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.memory_limit = memory_limit

    def fit(self, X: Any, y: Any = None) -> ClassicalMDS:
        """Find coordinates of the rows of X, (n, d), or of distances (n, n) for metric="precomputed".

        A tensor is mapped on its device. For a tensor the metric is a Minkowski distance, a kernel, or "precomputed".
        """
        self.fit_transform(X)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Find coordinates and return them, (n, k)."""
        X, restore = self._read(
            X, reset=True, ensure_min_samples=2, accept_sparse=False if self._precomputed() else "csr"
        )
        self._X = X
        plan = self._checked(self._draft(X), X)
        if self._precomputed():
            self._scale_matrix(X, plan, time.perf_counter())
        else:
            self._scale_rows(X)
        self._set_spectrum()
        return restore(self.embedding_)

    def _set_spectrum(self) -> None:
        for name in _SPECTRUM:
            setattr(self, name, getattr(self.kernel_pca_, name))

    @property
    def solver_(self) -> Report:
        """Another name for `report_`."""
        return self.report_

    def _draft(self, X: Any, y: Any = None) -> Plan:
        n, k = X.shape[0], min(self.n_components, X.shape[0])
        if not self._precomputed():
            return replace(self._kernel_pca(X)._draft(X), estimator=type(self).__name__)
        solver, reason = self.eigen_solver, "asked for"
        if solver == "auto":
            solver, reason = choose_solver(n, k, numpy=not is_foreign(X))
        limit = limit_of(self.memory_limit, backend_of(X).free_bytes(X) if is_foreign(X) else available_bytes())
        given = self.memory_limit is not None
        footprint = scaled_matrix(n, k, solver)
        return Plan(type(self).__name__, n, solver, reason, footprint, limit, given, code_bytes=code_bytes(False))

    def _lighter(self, plan: Plan) -> list[dict[str, Any]]:
        return [{"eigen_solver": "krylov"}] if plan.method == "dense" else []

    def _kernel_pca(self, X: Any) -> KernelPCA:
        return KernelPCA(
            n_components=min(self.n_components, X.shape[0]),
            kernel=self._kernel(),
            memory_limit=self.memory_limit,
            copy_X=False,
            **self._given(),
        )

    def _scale_rows(self, X: Any) -> None:
        self.kernel_pca_ = self._kernel_pca(X)
        self.embedding_ = self.kernel_pca_.fit_transform(X)

    def _scale_matrix(self, D: Any, plan: Plan, started: float) -> None:
        _refuse_no_distances(D)
        D = _symmetric(D) if is_foreign(D) else check_symmetric(D, raise_exception=True)
        k, xp = min(self.n_components, len(D)), namespace(D)
        settings = distance_settings(
            k, answer_dtype(D), tol=self.tol, random_state=self.random_state, n_jobs=self.n_jobs
        )
        result = unfold_matrix(xp.astype(D, xp.float64, copy=False), plan, settings)
        self.kernel_pca_ = KernelPCA.of_scaling(result, plan, settings.tol, started, n_components=k, **self._given())
        self.embedding_ = result.embedding

    def _given(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("eigen_solver", "tol", "random_state", "n_jobs")}

    def transform(self, X: Any) -> Any:
        """Coordinates of new rows, (m, k); of distances (m, n) to the fitted ones for metric="precomputed"."""
        check_is_fitted(self)
        X, restore = self._read(X, reset=False)
        self._refuse_other_place(X, self._X)
        if self._precomputed():
            _refuse_no_distances(X)
            X = -0.5 * X * X
        return restore(self.kernel_pca_.transform(X))

    @property
    def dissimilarity_matrix_(self) -> np.ndarray:
        """The distances, (n, n), computed anew."""
        check_is_fitted(self)
        if self._precomputed():
            return self._X
        return pairwise_distances(self._X, metric=self.metric, **(self.metric_params or {}))

    def _precomputed(self) -> bool:
        return isinstance(self.metric, str) and self.metric == "precomputed"

    def _kernel(self) -> Kernel:
        """−½d², or a kernel that equals it once centred: linear for Euclidean distances, the kernel for its own."""
        params = dict(self.metric_params or {})
        if isinstance(self.metric, Kernel):
            return self.metric
        euclidean = self.metric in ("euclidean", "l2") and not params
        if euclidean or (self.metric == "minkowski" and {"p": 2, **params} == {"p": 2}):
            return Linear()
        return HalfSquaredDistance(self.metric, params)

    @property
    def _n_features_out(self) -> int:
        return self.embedding_.shape[1]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.input_tags.sparse = not self._precomputed()
        tags.input_tags.pairwise = self._precomputed()
        return tags


def _refuse_no_distances(D: Any) -> None:
    if (D < 0).any():
        raise ValueError("Precomputed distances must not be negative, but some are.")


def _symmetric(D: Any) -> Any:
    """A square tensor with ½(D + Dᵀ) for its entries, which may differ from their mirror images by rounding alone."""
    xp = namespace(D)
    if D.shape[0] != D.shape[1]:
        raise ValueError(f"array must be 2-dimensional and square. shape = {tuple(D.shape)}")
    if bool(xp.any(xp.abs(D - D.T) > 1e-10 + 1e-5 * xp.abs(D.T))):  # scikit-learn's tolerances
        raise ValueError("Array must be symmetric")
    return (D + D.T) / 2
