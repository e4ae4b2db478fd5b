"""Principal component analysis: the directions of greatest variance, from one pass over tall data."""

from __future__ import annotations

import time
from collections.abc import Callable
from math import sqrt
from numbers import Integral, Real
from typing import Any, ClassVar, cast

import numpy as np
import scipy.sparse as sp
from sklearn.base import _fit_context
from sklearn.utils import assert_all_finite, check_array
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions
from sklearn.utils.validation import check_is_fitted

from mercer.amounts import amount
from mercer.backends import Array, adopt, backend_of, cpu, device_of, is_cupy, is_foreign, namespace, to_numpy
from mercer.estimators.base import Estimator, fitted_columns
from mercer.exceptions import DegenerateDataWarning, NotConvergedWarning, warn
from mercer.fit_report import Report
from mercer.footprints import axes as principal_axes
from mercer.footprints import streamed
from mercer.kernels import Linear
from mercer.linalg.covariance import (
    ONE_MATRIX_ABOVE,
    SETTLED,
    Axes,
    Chunk,
    accurate_svd,
    arpack_svd,
    axes_of_covariance,
    axes_of_svd,
    each_centred,
    randomized_svd,
    wide_dtype,
    working_dtype,
)
from mercer.memory import numbers_per_row
from mercer.models.fields import INPUT, SavedEstimator, finite, floats, if_set, instance_of, size, text, whole
from mercer.planning import MODULES, Plan
from mercer.random_state import legacy_generator_from
from mercer.spectral.intrinsic_dimension import SpikedGaussian, choose_dimension, noise_variance
from mercer.spectral.leave_one_out import LIMITS, Limits, from_gram, from_rows, from_sums
from mercer.streams.chunk_statistics import run_rows
from mercer.streams.local_driver import is_row_source, row_count
from mercer.streams.row_sample import LEFT_OUT_ROWS, rows_at, sample_places
from mercer.streams.row_source import RowSource
from mercer.streams.streamed_axes import streamed_axes, streamed_moments

_REASONS = {
    "covariance_eigh": "the rows are many and narrow, so one pass over them gives the covariance",
    "full": "the data is small, or most components are wanted",
    "randomized": "few components of a large matrix are wanted",
    "arpack": "the rows are sparse, and stay so",
}
_SPARSE_SOLVERS = ("auto", "arpack", "covariance_eigh")


class PCA(Estimator):
    """Principal component analysis: the k orthonormal directions along which the data varies most.

        S vᵢ = λᵢ vᵢ,   S = Σ (xⱼ − μ)(xⱼ − μ)ᵀ / (n − 1),   λ₁ ≥ … ≥ λₖ,   transform(x)ᵢ = vᵢᵀ(x − μ)

    To move from scikit-learn's PCA, change the import. Tall data is read once, in chunks on all cores, without a copy.
    So you can fit a memory map that is larger than the memory. Data far from the origin keeps its digits.

    Parameters
    ----------
    n_components : int, float, "mle" or None, default=None
        How many components to keep: a number, a share of the variance in (0, 1), "mle" for Minka's estimate, or None
        for all min(n, d) (one less with "arpack").
    copy : bool, default=True
        False lets the SVD solvers centre the training data in place. "covariance_eigh" never writes to it.
    whiten : bool, default=False
        Scale the scores to unit variance.
    svd_solver : {"auto", "full", "covariance_eigh", "arpack", "randomized"}, default="auto"
        "covariance_eigh" reads X once and takes the eigenvectors of S; "full" is LAPACK's SVD of the centred
        data; "arpack" and "randomized" find only the first k. "auto" takes "covariance_eigh" when n ≥ 10 d
        and d ≤ 1000, else "full" up to 500 × 500 or when 80 % of the components are wanted, else
        "randomized"; "arpack" for sparse data. "auto" is accurate whatever it takes: variances to 1e-4 of themselves,
        or a NotConvergedWarning.
    tol : float, default=0.0
        The tolerance of "arpack".
    iterated_power : int or "auto", default="auto"
        The power iterations of "randomized". "auto" is 4 or 7, and, if residuals show that these were not enough,
        exact eigenpairs of the smaller of AAᵀ and AᵀA (A the centred data) instead.
    n_oversamples : int, default=10
        How many random vectors "randomized" draws beyond the number of components.
    power_iteration_normalizer : {"auto", "QR", "LU", "none"}, default="auto"
        How "randomized" keeps its vectors from becoming parallel between iterations.
    random_state : int, RandomState or None, default=None
        The seed of "arpack" and "randomized". None is the seed 0: the same data gives the same bits.

    Attributes
    ----------
    components_ : array of shape (n_components_, d)
        The directions vᵢ as rows; the entry of greatest absolute value of each is positive.
    explained_variance_, explained_variance_ratio_ : arrays of shape (n_components_,)
        λᵢ, and λᵢ / tr S. If nothing varies, they are zero and you get a DegenerateDataWarning.
    singular_values_ : array of shape (n_components_,)
        √((n − 1) λᵢ), the singular values of the centred data.
    residuals_ : array of shape (n_components_,)
        ‖S vᵢ − λᵢ vᵢ‖: how far each pair is from an eigenpair, and a bound on the error of λᵢ.
    mean_ : array of shape (d,)
        μ.
    noise_variance_ : float
        The mean of the discarded variances: σ² of the probabilistic model.
    n_components_, n_samples_, n_features_in_ : int
    feature_names_in_ : array of str, when X has column names
    solver_ : str
        What svd_solver="auto" chose.
    report_ : Report
        What ran and why, bytes and seconds.

    Notes
    -----
    Cost: "covariance_eigh" n d² + d³ operations and d² numbers per thread; "full" n d min(n, d) and a copy of
    X; "arpack" and "randomized" n d k an iteration and a copy of X (none when X is sparse).

    Examples
    --------
    >>> X = np.array([[2.0, 1.0], [4.0, 2.0], [6.0, 3.0], [8.0, 4.0]])
    >>> pca = PCA(n_components=1).fit(X)
    >>> pca.explained_variance_ratio_
    array([1.])
    >>> round(pca.reconstruction_error(X), 12)
    0.0
    """

    _saved = SavedEstimator(
        "PCA",
        {
            **INPUT,
            "n_samples_": whole(),
            "n_components_": size("k"),
            "mean_": floats("d"),
            "components_": floats("k", "d"),
            "explained_variance_": floats("k"),
            "explained_variance_ratio_": floats("k"),
            "singular_values_": floats("k"),
            "noise_variance_": finite,
            "_fit_svd_solver": text,
            "solver_": text,
            "report_": if_set(instance_of("SolverReport")),
            "residuals_": floats("k", infinite=True),
        },
    )

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [
            Interval(Integral, 0, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="neither"),
            StrOptions({"mle"}),
            None,
        ],
        "copy": ["boolean"],
        "whiten": ["boolean"],
        "svd_solver": [StrOptions({"auto", "full", "covariance_eigh", "arpack", "randomized"})],
        "tol": [Interval(Real, 0, None, closed="left")],
        "iterated_power": [StrOptions({"auto"}), Interval(Integral, 0, None, closed="left")],
        "n_oversamples": [Interval(Integral, 1, None, closed="left")],
        "power_iteration_normalizer": [StrOptions({"auto", "QR", "LU", "none"})],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components: int | float | str | None = None,
        *,
        copy: bool = True,
        whiten: bool = False,
        svd_solver: str = "auto",
        tol: float = 0.0,
        iterated_power: int | str = "auto",
        n_oversamples: int = 10,
        power_iteration_normalizer: str = "auto",
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.copy = copy
        self.whiten = whiten
        self.svd_solver = svd_solver
        self.tol = tol
        self.iterated_power = iterated_power
        self.n_oversamples = n_oversamples
        self.power_iteration_normalizer = power_iteration_normalizer
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Array, y: Any = None) -> PCA:
        """Find the directions; y is ignored.

        X may also be a source of rows (`mercer.streams`). Then only one chunk at a time is in memory.
        """
        if is_row_source(X):
            return self._fit_source(X)
        self._fit(X)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_transform(self, X: Array, y: Any = None) -> Array:
        """Find the directions and return the scores of X, of shape (n, n_components_); y is ignored."""
        if is_row_source(X):
            return self._fit_source(X).transform(X)
        X, restore, axes = self._fit(X)
        if axes.left is None:
            return restore(self._scores(X))
        left = axes.left[:, : self.n_components_]
        return restore(left * (sqrt(self.n_samples_ - 1) if self.whiten else self.singular_values_))

    def transform(self, X: Array) -> Array:
        """The scores vᵢᵀ(x − μ) of each row of X, of shape (n, n_components_), in chunks on all cores."""
        check_is_fitted(self)
        if is_row_source(X):
            return self._mapped(X, self.n_components_, self._scores)
        X, restore = self._data(X, reset=False)
        return restore(self._scores(X))

    def inverse_transform(self, X: Array) -> Array:
        """The points μ + Σ tᵢ vᵢ of the original space whose scores are the rows of X."""
        check_is_fitted(self)
        X, restore = adopt(X)
        if not is_foreign(X):
            X = check_array(X, input_name="X", dtype=[np.float64, np.float32], ensure_min_features=0)
        if X.shape[1] != self.n_components_:
            raise ValueError(
                f"X has {amount(X.shape[1], 'column')}, but PCA kept {amount(self.n_components_, 'component')}."
            )
        mean, components, scale = self._placed(X, "inverse_transform")
        X = namespace(X).astype(X, mean.dtype, copy=False)
        return restore((X * scale if self.whiten else X) @ components + mean)

    def reconstruction_error(self, X: Array) -> float:
        """J = (1/n) Σ ‖xᵢ − x̂ᵢ‖², with x̂ᵢ the projection of xᵢ on the components, in chunks on all cores.

        On the training data J is (n − 1)/n times the sum of the discarded variances, and no affine subspace
        of the same dimension has a smaller one.
        """
        distances, _, _ = self._squared_distances(X, "reconstruction_error")
        return float(namespace(distances).mean(distances))

    def squared_distance(self, X: Array) -> Array:
        """‖x − x̂‖² of each row, (n,), x̂ its projection on the components: the squared distance from the subspace."""
        if is_row_source(X):
            check_is_fitted(self)
            return self._mapped(X, 1, self.squared_distance, ["squared distance"], vector=True)
        distances, dtype, restore = self._squared_distances(X, "squared_distance")
        return restore(namespace(distances).astype(distances, dtype, copy=False))

    def left_out_distances(self, X: Array, *, limits: Limits = LIMITS) -> np.ndarray:
        """The squared distance of each training row from the subspace of all the others, (n,), without refits.

        X must be the rows that were fitted. `limits` set the sizes up to which the distances are exact. Cost: n d² + d³
        flops, or the cost of the n × n matrix of inner products if there are more columns than rows.

        For a source of rows the method takes a sample of up to 10,000 rows, and leaves each of them out of the subspace
        of all the others. This takes one pass. The answer holds the distances of the sample.
        """
        check_is_fitted(self)
        if is_row_source(X):
            source = fitted_columns(self, X)
            rows = rows_at(source, sample_places(source, LEFT_OUT_ROWS, self.random_state))
            return from_sums(streamed_moments(source), rows, self.n_components_, limits)
        X, _ = self._data(X, reset=False)
        n, d = X.shape
        if d <= min(n, limits.whole):
            return from_rows(X if sp.issparse(X) else to_numpy(X), self.n_components_, limits)
        values = (n - 1) * to_numpy(self.explained_variance_).astype(np.float64)
        lengths = np.sqrt(values / (n - 1)) if self.whiten else 1.0
        scores = to_numpy(self._scores(X)).astype(np.float64) * lengths
        X = X if is_foreign(X) or X.dtype.kind == "f" else X.astype(np.float64)
        return from_gram(Linear().centered_form(X), X, values, scores, None, limits)

    def _squared_distances(self, X: Array, method: str) -> tuple[Array, Any, Callable[[Array], Array]]:
        """‖x − x̂‖² in wide floats, in chunks on all cores; the dtype of results for X; the way back to its type."""
        check_is_fitted(self)
        X, restore = self._data(X, reset=False)
        mean, components, _ = self._placed(X, method)
        xp, wide = namespace(X), wide_dtype(X)
        distances = xp.empty((X.shape[0],), dtype=wide, device=mean.device)

        def fill(chunk: Chunk) -> None:
            missed = chunk.values - (chunk.values @ components.T) @ components
            distances[chunk.rows] = xp.astype(xp.vecdot(missed, missed), wide, copy=False)

        each_centred(X, mean, fill)
        return distances, mean.dtype, restore

    def get_covariance(self) -> Array:
        """The covariance of the probabilistic model, Σ (λᵢ − σ²) vᵢvᵢᵀ + σ² I, of shape (d, d)."""
        check_is_fitted(self)
        return self._model(self.components_).covariance()

    def get_precision(self) -> Array:
        """The inverse of `get_covariance()`; the pseudo-inverse when some directions have no variance."""
        check_is_fitted(self)
        return self._model(self.components_).precision()

    def score_samples(self, X: Array) -> Array:
        """The log-likelihood of each row of X under the probabilistic model, of shape (n,).

        When the model has directions of no variance, this is the density on the span of the others.
        """
        check_is_fitted(self)
        X, restore = self._data(X, reset=False)
        mean, components, _ = self._placed(X, "score_samples")
        model = self._model(components)
        logs = namespace(X).empty((X.shape[0],), dtype=mean.dtype, device=mean.device)

        def fill(chunk: Chunk) -> None:
            logs[chunk.rows] = model.log_density(chunk.values)

        each_centred(X, mean, fill)
        return restore(logs)

    def score(self, X: Array, y: Any = None) -> float:
        """The mean log-likelihood of the rows of X; y is ignored."""
        logs = self.score_samples(X)
        return float(namespace(logs).mean(logs))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        solver = getattr(self, "_fit_svd_solver", self.svd_solver)
        needs_lu = solver == "randomized" and self.power_iteration_normalizer != "QR"
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.array_api_support = solver != "arpack" and not needs_lu
        tags.input_tags.sparse = self.svd_solver in _SPARSE_SOLVERS
        return tags

    @property
    def _n_features_out(self) -> int:
        return self.components_.shape[0]

    def _data(self, X: Array, *, reset: bool) -> tuple[Array, Callable[[Array], Array]]:
        """X checked, but neither copied, converted nor searched for NaN: each chunk is, when it is read."""
        X, restore = self._read(
            X,
            reset=reset,
            dtype="numeric",
            accept_sparse=("csr", "csc"),
            ensure_all_finite=is_foreign(X) or is_cupy(X),
            ensure_min_samples=2 if reset else 1,
        )
        if sp.issparse(X):
            assert_all_finite(X, input_name="X")
            X = X.astype(working_dtype(X), copy=False)
        return X, restore

    def _fit(self, X: Array) -> tuple[Array, Callable[[Array], Array], Axes]:
        started = time.perf_counter()
        if sp.issparse(X) and self.svd_solver not in _SPARSE_SOLVERS:
            raise TypeError(
                'PCA only support sparse inputs with the "arpack" and "covariance_eigh" solvers, while '
                f'"{self.svd_solver}" was passed. TruncatedSVD is an alternative that does not centre.'
            )
        if is_foreign(X) and self.svd_solver == "arpack":
            raise ValueError("PCA with svd_solver='arpack' is not supported for Array API inputs.")
        X, restore = self._data(X, reset=True)
        plan = self._checked(self._draft(X), X)
        solver = self._fit_svd_solver = self.solver_ = plan.method
        wanted = self._wanted(X.shape, solver)
        if solver == "covariance_eigh":
            axes = axes_of_covariance(X)
        else:
            axes = axes_of_svd(X, self._svd(solver, wanted), copy=self.copy)
        self._keep(axes, wanted, X.shape)
        self._warn_of_residuals()
        seconds = time.perf_counter() - started
        self.report_ = Report(plan.method, plan.reason, bytes=plan.needed_bytes, seconds=seconds)
        return X, restore, axes

    def _source_plan(self, source: RowSource, y: Any = None) -> Plan:
        if self.svd_solver not in ("auto", "covariance_eigh"):
            raise ValueError(
                f"svd_solver={self.svd_solver!r} needs all rows in memory, and X is a source of rows. Take "
                "svd_solver='covariance_eigh', or read the rows into an array."
            )
        d, itemsize = source.n_features, np.dtype(source.dtype).itemsize
        longest, threads = max(source.lengths, default=0), cpu.workers(None)
        footprint = streamed(longest, d, d, itemsize=itemsize, threads=threads, run=run_rows(d))
        reason = f"one pass over {amount(len(source.lengths), 'chunk')} gives the covariance"
        return self._streaming_plan(source, "covariance_eigh", reason, footprint, MODULES)

    def _fit_source(self, source: RowSource) -> PCA:
        started = time.perf_counter()
        self._read_source(source, least=2)
        plan = self._source_plan(source)
        plan.refuse()
        shape = row_count(source), source.n_features
        self._fit_svd_solver = self.solver_ = plan.method
        wanted = self._wanted(shape, plan.method)
        axes = streamed_axes(source)
        self._keep(axes, wanted, shape)
        seconds = time.perf_counter() - started
        self.report_ = Report(plan.method, plan.reason, bytes=plan.needed_bytes, seconds=seconds)
        return self

    def _draft(self, X: Array, y: Any = None) -> Plan:
        (n, d), solver = X.shape, self._choose_solver(X)
        wanted = self.n_components
        k = int(wanted) if isinstance(wanted, Integral) else min(n, d)
        itemsize = 4 if working_dtype(X) == namespace(X).float32 else 8
        backend = backend_of(X)
        footprint = principal_axes(
            n,
            d,
            min(k, n, d),
            solver=solver,
            itemsize=itemsize,
            threads=backend.workers(None) if d <= ONE_MATRIX_ABOVE else 1,
            stored=numbers_per_row(X) * n if sp.issparse(X) else 0,
            copied=self.copy,
        )
        reason = "asked for" if self.svd_solver != "auto" else _REASONS[solver]
        # PCA has no memory_limit: it is refused only if the machine does not have the memory at all.
        limit = backend.free_bytes(X)
        return Plan(type(self).__name__, n, solver, reason, footprint, limit, code_bytes=MODULES)

    def _lighter(self, plan: Plan) -> list[dict[str, Any]]:
        few = [{"n_components": 10, "svd_solver": "arpack"}, {"n_components": 10, "svd_solver": "randomized"}]
        return [{"svd_solver": "covariance_eigh"}, *few]

    def _choose_solver(self, X: Array) -> str:
        n, d = X.shape
        wanted = min(n, d) if self.n_components is None else self.n_components
        if self.svd_solver != "auto":
            return self.svd_solver
        if sp.issparse(X):
            return "arpack"
        # The rule of scikit-learn's PCA: a d × d matrix for tall data, all singular vectors of small data, else chance.
        if d <= 1000 and n >= 10 * d:
            return "covariance_eigh"
        if max(n, d) <= 500 or isinstance(wanted, str):
            return "full"
        return "randomized" if 1 <= wanted < 0.8 * min(n, d) else "full"

    def _wanted(self, shape: tuple[int, int], solver: str) -> int | float | str:
        """n_components with None resolved, or a ValueError when the solver cannot give that many."""
        wanted, most = self.n_components, min(shape)
        least = 0 if solver in ("full", "covariance_eigh") else 1
        if wanted is None:
            wanted = most - 1 if solver == "arpack" else most
        if isinstance(wanted, str):
            if least:
                raise ValueError(f"n_components={wanted!r} cannot be a string with svd_solver={solver!r}")
            if shape[0] < shape[1]:
                raise ValueError("n_components='mle' is only supported if n_samples >= n_features")
            return wanted
        bounds = (
            f"min(n_samples, n_features)={most} with svd_solver={solver!r}: "
            f"X has n_samples={shape[0]} and n_features={shape[1]}."
        )
        if not least <= wanted <= most:
            raise ValueError(f"n_components={wanted} must be between {least} and {bounds}")
        if solver == "arpack" and wanted == most:
            raise ValueError(f"n_components={wanted} must be strictly less than {bounds}")
        return wanted

    def _svd(self, solver: str, wanted: Any) -> Callable[[Array], tuple[Array, Array, Array]]:
        """The function A ↦ U, s, Vᵀ of the chosen solver."""
        if solver == "full":
            return lambda A: namespace(A).linalg.svd(A, full_matrices=False)
        random = legacy_generator_from(self.random_state)
        if solver == "arpack":
            return lambda A: arpack_svd(A, wanted, self.tol, random)
        steps, normalizer = self.iterated_power, self.power_iteration_normalizer

        def projected(A: Array) -> tuple[Array, Array, Array]:
            found = randomized_svd(A, wanted, self.n_oversamples, steps, normalizer, random)
            return accurate_svd(A, found) if steps == "auto" else found

        return projected

    def _keep(self, axes: Axes, wanted: int | float | str, shape: tuple[int, int]) -> None:
        n, d = shape
        xp = namespace(axes.variances)
        variances = to_numpy(axes.variances).astype(np.float64)
        if not axes.total > 0:
            warn(
                "All rows of X are the same: nothing varies, so the components are arbitrary.",
                DegenerateDataWarning,
            )
        k = choose_dimension(wanted, variances, n)
        kept = axes.variances[:k]
        # A number that the data decides is NumPy's, as scikit-learn's is: programs that format it rely on that.
        self.n_samples_, self.n_components_ = n, k if isinstance(wanted, Integral) else cast(int, np.int64(k))
        self.mean_ = axes.mean
        self.components_ = xp.asarray(axes.directions[:k, :], copy=True)
        self.explained_variance_ = xp.asarray(kept, copy=True)
        self.explained_variance_ratio_ = kept / (axes.total or 1.0)
        self.singular_values_ = xp.sqrt(kept * (n - 1))
        self.noise_variance_ = noise_variance(variances, axes.total, k, min(n, d))
        scale = float(variances[0]) or 1.0  # squares of residuals overflow long before variances do
        missed = (axes.apply(self.components_.T) - self.components_.T * kept) / scale
        self.residuals_ = xp.sqrt(xp.vecdot(missed.T, missed.T)) * scale

    def _warn_of_residuals(self) -> None:
        """Of a solver that was left to itself; who sets the power iterations, or the tolerance, asked for as much."""
        if self.solver_ != "randomized" or self.iterated_power != "auto":
            return
        values, residuals = (to_numpy(x).astype(np.float64) for x in (self.explained_variance_, self.residuals_))
        counts = values > 1e-6 * values.max(initial=0.0)  # below, float32 leaves hardly a digit
        worst = float((residuals[counts] / values[counts]).max(initial=0.0))
        if worst > 10 * SETTLED:  # ten times: residuals_ are those of rounded vectors
            warn(
                f"Some components are not accurate: a variance may be off by {worst:.1%} (residuals_). Take fewer "
                "components, or svd_solver='full' if the data allows it.",
                NotConvergedWarning,
            )

    def _scores(self, X: Array) -> Array:
        mean, components, deviations = self._placed(X, "transform")
        xp = namespace(X)
        if sp.issparse(X):
            scores = X @ components.T - mean @ components.T
        else:
            scores = xp.empty((X.shape[0], self.n_components_), dtype=mean.dtype, device=mean.device)

            def fill(chunk: Chunk) -> None:
                scores[chunk.rows, :] = chunk.values @ components.T

            each_centred(X, mean, fill)
        if self.whiten:
            scores /= deviations
        if not bool(xp.all(xp.isfinite(scores))):
            raise ValueError(f"The values of X are too large: its scores overflow in {scores.dtype}. Rescale X.")
        return scores

    def _placed(self, X: Array, method: str) -> tuple[Array, Array, Array]:
        """The mean, the components and the standard deviations in the dtype of the result for X."""
        fitted, xp = self.mean_, namespace(X)
        if namespace(fitted) is not xp or device_of(X) != device_of(fitted):
            raise ValueError(
                f"Inputs passed to PCA.{method}() must use the same namespace and the same device as those "
                f"passed to PCA.fit(): those were {type(fitted)} on {device_of(fitted)}, these are {type(X)} "
                f"on {device_of(X)}. Move X there, or fit again on the device of X."
            )
        dtype = xp.float32 if working_dtype(X) == fitted.dtype == xp.float32 else xp.float64
        mean, components, deviations = (
            xp.astype(array, dtype, copy=False)
            for array in (fitted, self.components_, _standard_deviations(self.explained_variance_))
        )
        return mean, components, deviations

    def _model(self, components: Array) -> SpikedGaussian:
        """The probabilistic model; with whiten=True its variances are scaled as scikit-learn's are."""
        variances, noise, xp = self.explained_variance_, self.noise_variance_, namespace(components)
        excess = (variances - noise) * xp.astype(variances > noise, variances.dtype)
        with np.errstate(over="ignore"):
            along = xp.astype(noise + (excess * variances if self.whiten else excess), components.dtype)
        if not bool(xp.all(xp.isfinite(along))):
            raise ValueError("The variances of the whitened model overflow. Rescale X before fitting.")
        return SpikedGaussian(along, noise, components)


def _standard_deviations(variances: Array) -> Array:
    """√λ, at least rounding error relative to √λ₁, so that whitening divides by no zero."""
    xp = namespace(variances)
    if variances.shape[0] == 0:
        return variances
    deviations = xp.sqrt(variances)
    floor = float(deviations[0]) * float(xp.finfo(deviations.dtype).eps)
    return xp.maximum(deviations, xp.ones_like(deviations) * (floor or 1.0))
