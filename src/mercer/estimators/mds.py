"""Metric and non-metric multidimensional scaling: a map whose distances follow given dissimilarities."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Hidden, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from mercer.amounts import amount
from mercer.backends.cpu import workers
from mercer.embedding import majorization
from mercer.embedding.dissimilarities import Dissimilarities, refuse_bad_matrix
from mercer.embedding.landmark_start import LANDMARKS, filled, landmark_map, spread_flat_columns
from mercer.embedding.majorization import Descent, majorize
from mercer.embedding.stress import COMPILED_ABOVE, Evaluation, MetricStress, MonotoneStress
from mercer.embedding.trilateration import trilaterate
from mercer.estimators.base import Estimator
from mercer.estimators.classical_mds import ClassicalMDS
from mercer.estimators.pca import PCA
from mercer.exceptions import MercerWarning, NotConvergedWarning, warn
from mercer.fit_report import Report
from mercer.footprints import stress_map
from mercer.graph.connectivity import connected
from mercer.graph.nearest_neighbors import build_index
from mercer.kernels import Kernel
from mercer.linalg.eigen import SMALL
from mercer.memory import available_bytes
from mercer.models.fields import (
    INPUT,
    SavedEstimator,
    floats,
    if_set,
    instance_of,
    number,
    optional,
    whole,
)
from mercer.planning import Plan, code_bytes, limit_of
from mercer.random_state import generator_from, legacy_generator_from

_SINGLE_FROM = 1e-9  # from this eps on, pairs are float32: their rounding changes the stress by less than eps · Σd²
_EUCLIDEAN = ("euclidean", "l2")


class MDS(Estimator):
    """Multidimensional scaling: the map whose distances are nearest to the given dissimilarities.

        metric       σ(X) = Σ_{i<j} w_ij (δ_ij − ‖x_i − x_j‖)² → min
        non-metric   Stress-1(X)² = min Σ (d̂_ij − ‖x_i − x_j‖)² / Σ ‖x_i − x_j‖² → min,   d̂ rising with δ

    The class replaces scikit-learn's MDS. It takes a fraction of the steps, each on all cores and without n × n copies,
    and it also places new rows. The curvature of past steps (L-BFGS) speeds up the Guttman transforms (SMACOF). The
    stress of the map never rises.

    Parameters
    ----------
    n_components : int, default=2
        Dimensions of the map.
    metric_mds : bool, default=True
        False means non-metric scaling, in which only the order of the dissimilarities counts. Equal dissimilarities get
        equal disparities.
    n_init : int, default=1
        The number of starts. The map with the least stress is kept. With init="classical_mds" the first start is
        classical scaling, and the others are random.
    init : {"classical_mds", "random"}, default="classical_mds"
        Where the points start. Beyond 2048 rows, classical scaling uses 500 landmarks, except for Euclidean rows, whose
        classical scaling is PCA. scikit-learn's default is "random" up to version 1.9.
    max_iter : int, default=300
        The largest number of steps per start. A step visits all pairs once.
    verbose : int, default=0
        1 reports how each start ended, and 2 also reports the stress after each step.
    eps : float, default=1e-6
        A start ends when two steps in a row lower the stress by less than eps times the sum of squared distances.
    n_jobs : int, default=None
        Threads; None is all cores.
    random_state : int, RandomState or None, default=None
        The seed of random starts. None is the seed 0: the same data gives the same bits.
    dissimilarity : {"euclidean", "precomputed"}
        What `metric` was called up to scikit-learn 1.7. Use `metric`.
    metric : str, callable or Kernel, default="euclidean"
        A name that scikit-learn knows, a function of two rows, a `mercer.kernels.Kernel` (the distance in its feature
        space), or "precomputed": X holds dissimilarities, (n, n), symmetric.
    metric_params : dict, default=None
        Further arguments of the metric.
    normalized_stress : bool or "auto", default="auto"
        Whether `stress_` is Stress-1, √(Σ w(d̂ − d)² / Σ w d²), instead of the sum Σ w(d̂ − d)². "auto" is True for
        non-metric scaling.
    allow_missing : bool, default=False
        Whether precomputed dissimilarities may be NaN. A NaN marks an unknown pair, and the stress leaves it out.
    callbacks : callable, default=None
        Called as callback(steps, stress, embedding) after each step. Here the stress is Σ w(d̂ − d)². A callback that
        returns True ends the fit and keeps the map.
    memory_limit : int, float or str, default=None
        Bytes that the fit may take, or text such as "2GB". If the dissimilarities of rows do not fit, every step
        computes them again.

    Attributes
    ----------
    embedding_ : (n, n_components)
        The map, centred. Non-metric maps are scaled so that the mean square of the disparities is 1.
    stress_ : float
        The stress of `embedding_`, computed in float64. For non-metric scaling the disparities are those of the map
        itself.
    residual_ : float
        ‖X − Γ(X)‖ / ‖X‖ with Γ the Guttman transform: how far one more plain step would move the map. 0 is stationary.
    n_iter_ : int
        The number of steps of the start that was kept.
    disparity_curve_ : (q, 2)
        δ and d̂ at up to 2048 pairs, in the order of δ. For non-metric scaling only.
    dissimilarity_matrix_ : (n, n)
        Computed when it is asked for, unless it was given.
    report_ : what ran, how many steps, and why they ended

    Notes
    -----
    Cost of a step: n²/2 distances of the map. Memory: 2n² bytes for rows (float32 from 1024 rows on, float64 for eps
    below 1e-9), none beside the matrix itself for precomputed dissimilarities, 8n² for non-metric scaling and 12.5n²
    while the pairs are sorted. Ctrl-C keeps the map so far.

    References
    ----------
    Kruskal (1964), Nonmetric multidimensional scaling. De Leeuw & Mair (2009), Multidimensional scaling using
    majorization: SMACOF in R. Borg & Groenen (2005), Modern multidimensional scaling.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X = load_iris().data
    >>> mds = MDS().fit(X)
    >>> mds.embedding_.shape, mds.transform(X[:3] + 0.01).shape
    ((150, 2), (3, 2))
    """

    _saved = SavedEstimator(
        "MDS",
        {
            **INPUT,
            "embedding_": floats("n", "k"),
            "stress_": number,
            "residual_": number,
            "n_iter_": whole(),
            "disparity_curve_": if_set(floats("q", 2)),
            "report_": instance_of("SolverReport"),
            "_index": optional(instance_of("index", n="n")),
            "_given": optional(floats("n", "n", infinite=True)),
        },
    )

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "metric_mds": ["boolean"],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "init": [StrOptions({"classical_mds", "random"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "verbose": ["verbose"],
        "eps": [Interval(Real, 0, None, closed="left")],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
        "dissimilarity": [StrOptions({"euclidean", "precomputed"}), Hidden(StrOptions({"deprecated"}))],
        "metric": [str, callable, Kernel, Hidden("boolean")],
        "metric_params": [dict, None],
        "normalized_stress": ["boolean", StrOptions({"auto"})],
        "allow_missing": ["boolean"],
        "callbacks": [callable, None],
        "memory_limit": [Interval(Real, 0, None, closed="neither"), str, None],
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        metric_mds: bool = True,
        n_init: int = 1,
        init: Any = "classical_mds",
        max_iter: int = 300,
        verbose: int = 0,
        eps: float = 1e-6,
        n_jobs: int | None = None,
        random_state: Any = None,
        dissimilarity: str = "deprecated",
        metric: str | Callable[..., Any] = "euclidean",
        metric_params: dict[str, Any] | None = None,
        normalized_stress: bool | str = "auto",
        allow_missing: bool = False,
        callbacks: Any = None,
        memory_limit: int | float | str | None = None,
    ) -> None:
        self.n_components = n_components
        self.metric_mds = metric_mds
        self.n_init = n_init
        self.init = init
        self.max_iter = max_iter
        self.verbose = verbose
        self.eps = eps
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.dissimilarity = dissimilarity
        self.metric = metric
        self.metric_params = metric_params
        self.normalized_stress = normalized_stress
        self.allow_missing = allow_missing
        self.callbacks = callbacks
        self.memory_limit = memory_limit

    # --- fitting -------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, init: Any = None, weights: Any = None) -> MDS:
        """Find the map of X: rows (n, d), dense or CSR, or dissimilarities (n, n) for metric="precomputed".

        init : (n, c), where the points start; it takes the place of the parameter `init`
        weights : (n, n), symmetric and not negative: how much each pair counts; 0 leaves a pair out. For metric scaling
            only
        """
        self.fit_transform(X, init=init, weights=weights)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_transform(self, X: Any, y: Any = None, init: Any = None, weights: Any = None) -> Any:
        """Find the map of X and return it, (n, n_components)."""
        started = time.perf_counter()
        self._warn_of_old_names()
        X = self._samples(X)
        n = X.shape[0]
        start = None if init is None else _given_start(init, n)
        weights = self._checked_weights(weights, n)
        plan = self._checked(self._draft(X), X)
        self._forget("disparity_curve_")
        given = self._dissimilarities(X, plan)
        given.refuse_unconnected()
        dtype = np.float32 if getattr(X, "dtype", None) == np.float32 else np.float64
        best = self._best(X, given, start, weights)
        self.report_ = Report(
            plan.method,
            plan.reason,
            passes=best.steps + 1,
            bytes=plan.peak_bytes,
            tol=float(self.eps),
            converged=best.ended in (majorization.CONVERGED, majorization.STATIONARY),
            steps=best.steps,
            ended=best.ended,
            seconds=time.perf_counter() - started,
        )
        self.embedding_: np.ndarray = self.embedding_.astype(dtype, copy=False)
        self._warn_of_the_end(best)
        return self.embedding_

    def _best(self, X: Any, given: Dissimilarities, start: np.ndarray | None, weights: np.ndarray | None) -> Descent:
        """The map with the least stress of all starts. Sets the attributes that describe it."""
        single, n, c = self._single(given.n), given.n, self.n_components
        starts = self._starts(X, given, start)
        metric_stress = MetricStress(given, weights, single=single, n_jobs=self.n_jobs)
        objective: Any = metric_stress
        if not self._is_metric():
            # The first step of each start is a metric one, because the order of random distances means nothing.
            firsts = [_guttman(metric_stress, first) for first in starts]
            objective = MonotoneStress(given, single=single, n_jobs=self.n_jobs)
            starts = [objective.normalized(first) for first in firsts]
        best: Descent | None = None
        for number_, first in enumerate(starts):
            found = majorize(objective, first, max_iter=self.max_iter, eps=self.eps, watch=self._watch(given.unit))
            if self.verbose:
                self._say(f"Start {number_ + 1}: {found.ended} after {amount(found.steps, 'step')}.")
            if best is None or found.evaluation.value < best.evaluation.value:
                best = found
            if found.ended in (majorization.INTERRUPTED, majorization.STOPPED):
                break
        assert best is not None and best.X.shape == (n, c if start is None else start.shape[1])
        self._set_map(objective, best, given.unit)
        return best

    def _set_map(self, objective: Any, best: Descent, unit: float) -> None:
        final = objective.exact(best.X)
        if self._is_metric():
            scale = unit
        else:
            disparities = max(final.distances - final.stress, 0.0)  # Σd̂², since d̂ is the projection of d
            scale = float(np.sqrt(objective.pairs / disparities)) if disparities > 0 else 1.0
            self.disparity_curve_ = objective.regression.curve() * [unit, scale]
        self.embedding_ = best.X * scale
        self.n_iter_, self.residual_ = best.steps, best.residual
        stress, distances = final.stress * scale**2, final.distances * scale**2
        if self._is_normalized():
            self.stress_ = float(np.sqrt(stress / distances)) if distances > 0 else 0.0
        else:
            self.stress_ = float(stress)

    def _samples(self, X: Any) -> Any:
        """X, checked; `_index` or `_given` is set to what new rows are compared with."""
        self._refuse_foreign(X)
        metric = self._metric()
        self._index: Any = None
        self._given: Any = None
        if isinstance(metric, Kernel) and metric.accepts == "strings":
            return self._strings(X, 2)
        if not self._precomputed():
            X, _ = self._read(X, reset=True, ensure_min_samples=2)
            if X.shape[0] == X.shape[1]:
                warn(
                    "The provided input is a square matrix. Its rows are taken as samples and its columns as features. "
                    "If it holds dissimilarities, set metric='precomputed'.",
                    UserWarning,
                )
            return X
        X, _ = self._read(X, reset=True, ensure_min_samples=2, accept_sparse=False, ensure_all_finite=False)
        refuse_bad_matrix(X, missing=self.allow_missing)
        return X

    def _dissimilarities(self, X: Any, plan: Plan) -> Dissimilarities:
        keep = {0: None, 4: np.float32, 8: np.float64}[self._pair_bytes(X, plan.limit)]
        if self._precomputed():
            self._given = X
            condensed = len(X) <= COMPILED_ABOVE or not self._is_metric()
            return Dissimilarities.of_matrix(X, np.float64 if condensed else None, self.n_jobs)
        self._index = build_index(
            X, metric=self._metric(), metric_params=self.metric_params, method="brute", n_jobs=self.n_jobs
        )
        return Dissimilarities.of_rows(self._index, keep if self._is_metric() else np.float64, self.n_jobs)

    def _starts(self, X: Any, given: Dissimilarities, start: np.ndarray | None) -> list[np.ndarray]:
        """Where each start begins, in units."""
        n, c = given.n, self.n_components
        if start is not None:
            if self.n_init != 1:
                warn(
                    f"Explicit initial positions passed: performing only one init of the MDS instead of {self.n_init}.",
                    UserWarning,
                )
            return [start / given.unit]
        rng = legacy_generator_from(self.random_state)
        classical = [self._classical(X, given)] if self.init == "classical_mds" else []
        return classical + [rng.uniform(size=n * c).reshape(n, c) for _ in range(self.n_init - len(classical))]

    def _classical(self, X: Any, given: Dissimilarities) -> np.ndarray:
        """Classical scaling in units, (n, c): of all rows up to 2048, and beyond that PCA or landmarks."""
        n, c = given.n, self.n_components
        rng = generator_from(self.random_state)
        metric = self._metric()
        found = np.zeros((n, c))
        with warnings.catch_warnings():
            # Warnings about directions that the data does not have: for a start they do not matter.
            warnings.simplefilter("ignore", MercerWarning)
            if n <= SMALL:
                settings = {"random_state": self.random_state, "n_jobs": self.n_jobs}
                if self._precomputed():
                    scaling = ClassicalMDS(min(c, n), metric="precomputed", **settings)
                    coordinates = scaling.fit_transform(filled(np.asarray(X, np.float64)))
                else:
                    scaling = ClassicalMDS(min(c, n), metric=metric, metric_params=self.metric_params, **settings)
                    coordinates = scaling.fit_transform(X)
            elif self._is_euclidean():
                coordinates = PCA(min(c, *X.shape), random_state=self.random_state).fit_transform(X)
            else:
                coordinates = landmark_map(given, c, rng)
        found[:, : coordinates.shape[1]] = coordinates
        # In units first: noise for columns that are all zero must be near the data's scale, however small that is.
        return spread_flat_columns(found / given.unit, rng)

    def _watch(self, unit: float) -> Any:
        if self.verbose < 2 and self.callbacks is None:
            return None

        def watch(steps: int, evaluation: Evaluation, X: np.ndarray) -> bool:
            stress = evaluation.stress * unit**2
            if self.verbose >= 2:
                self._say(f"Iteration {steps}, stress {stress:.4f}")
            return self.callbacks is not None and self.callbacks(steps, stress, X * unit) is True

        return watch

    # --- what the parameters mean ----------------------------------------------------------------------------

    def _warn_of_old_names(self) -> None:
        if self.dissimilarity != "deprecated":
            if not isinstance(self.metric, bool) and self.metric != "euclidean":
                raise ValueError("You provided both `dissimilarity` and `metric`. Please use only `metric`.")
            warn("The `dissimilarity` parameter is deprecated. Use `metric` instead.", FutureWarning)
        if isinstance(self.metric, bool):
            warn(
                f"Use metric_mds={self.metric} instead of metric={self.metric}. `metric` says how rows are compared.",
                FutureWarning,
            )

    def _metric(self) -> Any:
        if self.dissimilarity != "deprecated":
            return self.dissimilarity
        return "euclidean" if isinstance(self.metric, bool) else self.metric

    def _is_metric(self) -> bool:
        return bool(self.metric if isinstance(self.metric, bool) else self.metric_mds)

    def _is_normalized(self) -> bool:
        if isinstance(self.normalized_stress, str):
            return not self._is_metric()
        return bool(self.normalized_stress)

    def _is_euclidean(self) -> bool:
        metric = self._metric()
        return isinstance(metric, str) and metric in _EUCLIDEAN and not self.metric_params

    def _precomputed(self) -> bool:
        metric = self._metric()
        return isinstance(metric, str) and metric == "precomputed"

    def _single(self, n: int) -> bool:
        return n > COMPILED_ABOVE and self.eps >= _SINGLE_FROM

    def _checked_weights(self, weights: Any, n: int) -> np.ndarray | None:
        if weights is None:
            return None
        if not self._is_metric():
            raise ValueError(
                "Non-metric scaling does not accept weights. To leave pairs out, set their dissimilarities to NaN, "
                "with metric='precomputed' and allow_missing=True."
            )
        weights = np.ascontiguousarray(weights, dtype=np.float64)
        if weights.shape != (n, n):
            raise ValueError(f"weights must be of shape ({n}, {n}), one for each pair of rows, not {weights.shape}.")
        if not np.isfinite(weights).all() or (weights < 0).any() or not np.allclose(weights, weights.T):
            raise ValueError("weights must be finite, symmetric and not negative.")
        _refuse_unlinked(weights)
        return weights

    # --- memory ----------------------------------------------------------------------------------------------

    def _pair_bytes(self, X: Any, limit: int) -> int:
        """The bytes kept per pair; 0 if pairs are read from the given matrix or computed in every step."""
        n = X.shape[0]
        wanted = 4 if self._single(n) else 8
        if not self._is_metric():
            return wanted
        if self._precomputed():
            return (X.dtype.itemsize if self.allow_missing else 0) if n > COMPILED_ABOVE else 8
        kept = self._footprint(n, wanted).peak + code_bytes(n > COMPILED_ABOVE)
        return wanted if n <= COMPILED_ABOVE or kept <= limit else 0

    def _footprint(self, n: int, pair_bytes: int) -> Any:
        return stress_map(
            n,
            self.n_components,
            pair_bytes=pair_bytes,
            monotone=not self._is_metric(),
            threads=workers(self.n_jobs),
            scaled=self._scaled(n),
            given=self._precomputed(),
        )

    def _scaled(self, n: int) -> int:
        """How many rows the start places by classical scaling."""
        if self.init != "classical_mds" or (n > SMALL and self._is_euclidean()):
            return 0
        return n if n <= SMALL else LANDMARKS

    def _draft(self, X: Any, y: Any = None) -> Plan:
        n = X.shape[0]
        limit = limit_of(self.memory_limit, available_bytes())
        kept = self._pair_bytes(X, limit)
        where = f"kept in float{8 * kept}" if kept else "computed in every step"
        if self._precomputed() and not kept:
            where = "read from the given matrix"
        reason = f"dissimilarities {where}" if self._is_metric() else "dissimilarities are sorted once"
        return Plan(
            type(self).__name__,
            n,
            "majorization",
            reason,
            self._footprint(n, kept),
            limit,
            self.memory_limit is not None,
            code_bytes=code_bytes(n > COMPILED_ABOVE),
        )

    def _lighter(self, plan: Plan) -> list[dict[str, Any]]:
        return [] if self._is_metric() else [{"metric_mds": True}]

    # --- new rows --------------------------------------------------------------------------------------------

    def transform(self, X: Any) -> Any:
        """Place new rows in the map by their dissimilarities to all fitted rows; returns (m, n_components).

        X : rows (m, d), or dissimilarities (m, n) to the fitted rows for metric="precomputed"

        A place minimises Σ (d̂ᵢ − ‖y − xᵢ‖)² while the map stays. Fitted rows of a converged map keep their places.
        Cost: m n dissimilarities, and about ten visits of them.
        """
        check_is_fitted(self)
        self._refuse_foreign(X)
        if self._index is None:
            checks = {"ensure_all_finite": "allow-nan"} if self.allow_missing else {}
            X, _ = self._read(X, reset=False, accept_sparse=False, **checks)
            if (X < 0).any():
                raise ValueError("Dissimilarities must not be negative, but some are.")
        elif not (isinstance(self._metric(), Kernel) and self._metric().accepts == "strings"):
            X, _ = self._read(X, reset=False)
        rows = X if self._index is None else self._index.read_rows(X)
        m, n = len(rows) if not sp.issparse(rows) else rows.shape[0], len(self.embedding_)
        out = np.empty((m, self.embedding_.shape[1]), self.embedding_.dtype)
        run = max(1, 2**21 // n)  # new rows whose dissimilarities are in memory together: 16 MB
        for first in range(0, m, run):
            part = slice(first, min(first + run, m))
            delta = rows[part] if self._index is None else self._index.distance_block(rows, part)
            out[part] = trilaterate(self.embedding_, self._disparities(delta), self.n_jobs)
        return out

    def _disparities(self, delta: np.ndarray) -> np.ndarray:
        """The map distances that dissimilarities stand for: themselves, or values of the monotone curve."""
        if not hasattr(self, "disparity_curve_"):
            return delta
        return np.interp(delta, *self.disparity_curve_.T.astype(np.float64))

    @property
    def dissimilarity_matrix_(self) -> np.ndarray:
        """The dissimilarities, (n, n), computed anew unless they were given."""
        check_is_fitted(self)
        if self._index is None:
            return self._given
        D = self._index.distance_block(None, slice(0, len(self.embedding_)))
        np.fill_diagonal(D, 0.0)
        return D

    # --- messages ----------------------------------------------------------------------------------------------

    def _say(self, line: str) -> None:
        sys.stdout.write(f"[MDS] {line}\n")  # on stdout, as scikit-learn's does

    def _warn_of_the_end(self, best: Descent) -> None:
        if best.ended == majorization.INTERRUPTED:
            warn(f"Interrupted after {amount(best.steps, 'step')}. The map so far is kept.", NotConvergedWarning)
        elif best.ended == majorization.EXHAUSTED:
            warn(
                f"The stress still falls after max_iter={self.max_iter} steps. The map so far is kept: its residual_ "
                f"is {best.residual:.1e}. Raise max_iter or eps.",
                NotConvergedWarning,
            )

    # --- scikit-learn --------------------------------------------------------------------------------------------

    @property
    def solver_(self) -> Report:
        """Another name for `report_`."""
        return self.report_

    @property
    def _n_features_out(self) -> int:
        return self.embedding_.shape[1]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed()
        tags.input_tags.sparse = not self._precomputed()
        tags.input_tags.allow_nan = self._precomputed() and self.allow_missing
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def smacof(
    dissimilarities: Any,
    *,
    metric: bool = True,
    n_components: Any = 2,
    init: Any = None,
    n_init: Any = 1,
    n_jobs: Any = None,
    max_iter: Any = 300,
    verbose: Any = 0,
    eps: Any = 1e-6,
    random_state: Any = None,
    return_n_iter: bool = False,
    normalized_stress: Any = "auto",
) -> Any:
    """The map of dissimilarities (n, n) and its stress, in the form of scikit-learn's `smacof`.

        stress = Σ_{i<j} (δᵢⱼ − ‖yᵢ − yⱼ‖)² → min

    The parameters are those of `MDS`. `metric` is its `metric_mds`, and starts are random unless `init`, (n, c), is
    given. Cost: n²/2 distances per step.

    >>> points, stress = smacof(np.array([[0.0, 3.0, 4.0], [3.0, 0.0, 5.0], [4.0, 5.0, 0.0]]), eps=1e-15)
    >>> points.shape, bool(stress < 1e-9)
    ((3, 2), True)

    `n_components`, `n_init`, `n_jobs`, `max_iter`, `verbose`, `random_state` and `normalized_stress` are as in `MDS`;
    with `return_n_iter` the function also returns the number of steps.
    """
    model = MDS(
        n_components,
        metric_mds=metric,
        n_init=n_init,
        init="random",
        max_iter=max_iter,
        verbose=verbose,
        eps=eps,
        n_jobs=n_jobs,
        random_state=random_state,
        metric="precomputed",
        normalized_stress=normalized_stress,
    )
    found = model.fit_transform(dissimilarities, init=init)
    return (found, model.stress_, model.n_iter_) if return_n_iter else (found, model.stress_)


def _guttman(objective: MetricStress, X: np.ndarray) -> np.ndarray:
    """One Guttman transform of metric scaling."""
    X = X - X.mean(axis=0)
    here = objective.evaluate(X)
    return X - here.half_gradient / here.curvature


def _given_start(init: Any, n: int) -> np.ndarray:
    start = np.array(init, dtype=np.float64)
    if start.ndim != 2 or start.shape[0] != n or not start.shape[1]:
        raise ValueError(
            f"init matrix should be of shape ({n}, n_components), one point for each row, not {start.shape}."
        )
    if not np.isfinite(start).all():
        raise ValueError("init has entries that are infinite or NaN.")
    return start


def _refuse_unlinked(weights: np.ndarray) -> None:
    count, _ = connected(sp.csr_array(weights > 0))
    if count > 1:
        raise ValueError(
            f"Pairs with a positive weight connect the rows into {count:,} separate parts. How the parts lie to each "
            "other is unknown. Give a positive weight to some pair between them."
        )
