"""What SNE and t-SNE share: everything but the similarity of two points in the map."""

from __future__ import annotations

import sys
import time
import warnings
from abc import abstractmethod
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, check_non_negative

from mercer.amounts import amount
from mercer.backends import adopt, backend_of, is_cupy, is_torch, slices, to_numpy
from mercer.backends.cpu import workers
from mercer.embedding import descent
from mercer.embedding.affinities import (
    COMPARED,
    FREE_SHARE,
    SEARCHES,
    Affinities,
    affinities_of,
    beside_tensor,
    device_matrix,
    given_affinities,
    host_matrix,
    neighbor_search,
)
from mercer.embedding.initialisation import given_map, initial_map, movable_points, spectral_scores
from mercer.embedding.loss import Loss
from mercer.embedding.placement import RATE, STEPS, TOGETHER, place
from mercer.embedding.repulsion import GRID_ABOVE, Repulsion, make_repulsion
from mercer.embedding.similarity import Similarity
from mercer.embedding.weighting import Perplexity, Weighting, weighting_of
from mercer.estimators.base import Estimator, without_names
from mercer.estimators.kernel_pca import KernelPCA
from mercer.estimators.pca import PCA
from mercer.exceptions import MercerWarning, NotConvergedWarning, warn
from mercer.fit_report import Report
from mercer.footprints import landmark_neighbor_map, neighbor_map, tensor_neighbor_map
from mercer.graph.nearest_neighbors import EXACT_FLOPS
from mercer.graph.tensor_blocks import tensors
from mercer.kernels.kernel import Kernel
from mercer.linalg.inner import power_of_two
from mercer.linalg.landmark_rows import checked_landmarks, drawn_rows
from mercer.memory import available_bytes, numbers_per_row
from mercer.models.fields import (
    FARTHEST,
    INPUT,
    Check,
    Line,
    Mismatch,
    booleans,
    finite,
    floats,
    if_set,
    instance_of,
    integers,
    list_of,
    number,
    one_of,
    optional,
    size,
    tuple_of,
    whole,
)
from mercer.planning import Plan, code_bytes, limit_of
from mercer.progress import counted
from mercer.random_state import generator_from
from mercer.streams.local_driver import is_row_source

_MOMENTUM = 0.8  # as scikit-learn has it after the early exaggeration
# Maps of _MANY points or more use this momentum after the exaggeration: with 0.8 they would not settle in time.
_LATE_MOMENTUM, _MANY = 0.9, 5000
_UNFOLDING = 100  # the first steps after the exaggeration keep 0.8: with 0.9 the map would overshoot and fold
_REPULSION = {"auto": "auto", "barnes_hut": "auto", "grid": "grid", "exact": "exact"}
# Above this many rows a low-rank factor gives the components of a kernel, because a start may be rough.
_FACTORED_ABOVE = 2048
_LEAST, _MOST = 1e-12, 1e12  # entries whose squares, and sums of these, float32 holds


MAP_FIELDS: dict[str, Check | Line] = {  # what model files hold of a fitted map, whatever its similarity
    **INPUT,
    "n_features_in_": if_set(size("d")),  # a fit to affinities alone has seen no rows
    "affinities_": instance_of("Affinities", n="n"),
    "_fitted": tuple_of(instance_of("similarity"), one_of("auto", "grid", "exact")),
    "_map": instance_of("Map", n="n", c="c"),
    "_movable": optional(booleans("n")),
    "snapshots_": list_of(tuple_of(whole(), floats("n", "c"))),
    "learning_rate_": finite,
    "embedding_": floats("rows", "c", most=FARTHEST),  # of all rows; n is the number of landmarks if there are any
    "landmarks_": if_set(optional(integers("n", below="rows", increasing=True))),
    "source_rows_": if_set(integers("n", increasing=True)),
    "kl_divergence_": number,
    "n_iter_": whole(),
    "report_": instance_of("SolverReport", "EmbeddingReport"),
}


class NeighborEmbedding(Estimator):
    """A map of few dimensions that keeps neighbours together (abstract: never built itself)."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "perplexity": [Interval(Real, 0, None, closed="neither"), "array-like"],
        "early_exaggeration": [Interval(Real, 1, None, closed="left")],
        "learning_rate": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "n_iter_without_progress": [Interval(Integral, -1, None, closed="left")],
        "min_grad_norm": [Interval(Real, 0, None, closed="left")],
        "metric": [str, callable, Kernel],
        "metric_params": [dict, None],
        "init": [StrOptions({"auto", "pca", "spectral", "random"}), "array-like"],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
        "method": [StrOptions(set(_REPULSION))],
        "angle": [Interval(Real, 0, 1, closed="both")],
        "n_jobs": [None, Integral],
        "dof": [Interval(Real, 0, None, closed="neither"), None],
        "exaggeration": [Interval(Real, 0, None, closed="neither")],
        "affinities": [Weighting, Affinities, StrOptions({"precomputed"}), None],
        "fixed": ["array-like", None],
        "callbacks": [callable, list, tuple, None],
        "callback_every": [Interval(Integral, 1, None, closed="left")],
        "snapshots": [Interval(Integral, 1, None, closed="left"), None],
        "early_exaggeration_iter": [Interval(Integral, 0, None, closed="left")],
        "neighbors": [StrOptions(set(SEARCHES))],
        "landmarks": [Interval(Integral, 2, None, closed="left"), "array-like", None],
    }

    _N_ITER_CHECK = 50
    _NAME = "SNE"

    def __init__(
        self,
        n_components: int = 2,
        *,
        perplexity: Any = 30.0,
        early_exaggeration: float = 12.0,
        learning_rate: float | str = "auto",
        max_iter: int = 1000,
        n_iter_without_progress: int = 300,
        min_grad_norm: float = 1e-7,
        metric: Any = "euclidean",
        metric_params: dict[str, Any] | None = None,
        init: Any = "auto",
        verbose: int = 0,
        random_state: Any = None,
        method: str = "auto",
        angle: float = 0.5,
        n_jobs: int | None = None,
        dof: float | None = None,
        exaggeration: float = 1.0,
        affinities: Any = None,
        fixed: Any = None,
        callbacks: Any = None,
        callback_every: int = 50,
        snapshots: int | None = None,
        early_exaggeration_iter: int = 250,
        neighbors: str = "auto",
        landmarks: Any = None,
    ) -> None:
        self.n_components = n_components
        self.perplexity = perplexity
        self.early_exaggeration = early_exaggeration
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.n_iter_without_progress = n_iter_without_progress
        self.min_grad_norm = min_grad_norm
        self.metric = metric
        self.metric_params = metric_params
        self.init = init
        self.verbose = verbose
        self.random_state = random_state
        self.method = method
        self.angle = angle
        self.n_jobs = n_jobs
        self.dof = dof
        self.exaggeration = exaggeration
        self.affinities = affinities
        self.fixed = fixed
        self.callbacks = callbacks
        self.callback_every = callback_every
        self.snapshots = snapshots
        self.early_exaggeration_iter = early_exaggeration_iter
        self.neighbors = neighbors
        self.landmarks = landmarks

    @abstractmethod
    def _similarity(self) -> Similarity:
        """The similarity of two points in the map."""

    # --- fitting -------------------------------------------------------------------------------------------

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any = None, y: Any = None) -> NeighborEmbedding:
        """Find the map of X: rows (n, d), dense or CSR; strings for string kernels; distances or affinities (n, n).

        For a torch tensor or a CuPy array the fit runs on its device, and the map is an array of the same kind there.

        X may be left out if the parameter `affinities` holds those of another fit.

        X may also be a source of rows (`mercer.streams`) with `landmarks`. The map is then that of the landmarks,
        whose numbers are `source_rows_`, and `transform` places the rows of a source chunk by chunk.
        """
        self._forget("source_rows_")
        if is_row_source(X):
            self._refuse_square_source()
            self._fit_landmarks(X)
        else:
            self._fit(X)
        return self

    @_fit_context(prefer_skip_nested_validation=False)
    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Find the map of X and return it, (n, n_components), float32. For a source of rows it is a source too."""
        if is_row_source(X):
            return self.fit(X).transform(X)
        self._forget("source_rows_")
        self._fit(X)
        return adopt(X)[1](self.embedding_)

    def optimize(
        self,
        n_iter: int,
        *,
        exaggeration: float | None = None,
        learning_rate: float | str | None = None,
        momentum: float | None = None,
        callbacks: Any = None,
        callback_every: int | None = None,
    ) -> NeighborEmbedding:
        """Continue the descent for `n_iter` steps: `fit` and then `optimize` is one longer `fit`.

        exaggeration, learning_rate, callbacks, callback_every : the values for these steps; None takes the estimator's
            own
        momentum : the share of the last step that is added to the next, from 0 to 1; None is 0.8, and 0.9 for 5,000
            points or more from 100 steps after the early exaggeration on
        """
        check_is_fitted(self)
        if not isinstance(n_iter, Integral) or n_iter < 1:
            raise ValueError(f"n_iter = {n_iter!r} must be a positive number of steps.")
        if getattr(self, "landmarks_", None) is not None:  # model files of earlier versions do not have it
            raise ValueError(
                "A map with landmarks cannot be continued, because only the rows of the landmarks are kept. "
                f"Fit again with max_iter={self._map.steps + int(n_iter)}."
            )
        for name, value in (("exaggeration", exaggeration), ("learning_rate", learning_rate)):
            if not (value is None or (name == "learning_rate" and isinstance(value, str) and value == "auto")):
                _refuse_not_positive(name, value)
        if momentum is not None and not (isinstance(momentum, Real) and 0 <= float(momentum) < 1):
            raise ValueError(f"momentum = {momentum!r} must be at least 0 and less than 1, or None.")
        if callback_every is not None and not (isinstance(callback_every, Integral) and callback_every >= 1):
            raise ValueError(f"callback_every = {callback_every!r} must be a positive number of steps, or None.")
        started = time.perf_counter() - self.report_.seconds
        strength = self.exaggeration if exaggeration is None else float(exaggeration)
        rate = self.learning_rate if learning_rate is None else learning_rate
        until, early = self._map.steps + int(n_iter), self.early_exaggeration_iter
        phases = self._late_phases(until, strength, rate, momentum)
        if exaggeration is None and self._map.steps < early:  # `fit` ended within the early exaggeration
            phases.insert(
                0, self._phase(min(early, until), self.early_exaggeration, rate, early=True, momentum=momentum)
            )
        self._descend(self._loss(), phases, started, callbacks, callback_every)
        return self

    def _source_plan(self, source: Any, y: Any = None) -> Plan:
        self._refuse_square_source()
        return self._landmark_plan(source)

    def _refuse_square_source(self) -> None:
        if self._is_square() or isinstance(self.affinities, Affinities):
            raise ValueError("A source has rows, not distances or affinities of pairs of them. Take a metric of rows.")
        if self.fixed is not None or not isinstance(self.init, str):
            raise ValueError("init and fixed name positions of fitted rows, which a source does not have in memory.")

    def _draft(self, X: Any, y: Any = None) -> Plan:
        rows, P = X.shape[0], self.affinities.P if isinstance(self.affinities, Affinities) else X
        n = self._landmark_count(rows)
        if self.affinities is None or isinstance(self.affinities, Weighting):
            weighting = self._weighting()
            everyone = self.method == "exact" and isinstance(weighting, Perplexity)
            k = n - 1 if everyone else weighting.neighbors(n - 1)
        else:
            k = -(-_stored(P) // max(1, n)) if _stored(P) else n - 1
        large = n >= GRID_ABOVE.get(self.n_components, n + 1)
        grid = self.method == "grid" or (self.method != "exact" and large)
        reason = f"{k:,} neighbours per row, repulsion by {'a grid' if grid else 'all pairs'}"
        rowless = self._is_square() or isinstance(self.affinities, Affinities)
        width = 0 if rowless or X.ndim != 2 else numbers_per_row(X)
        sizes = (k, self.n_components, width, X.dtype.itemsize if width else 8, workers(self.n_jobs))
        on_device = is_torch(P)
        if on_device:
            footprint = tensor_neighbor_map(n, *sizes[:-1], tensors().tile_bytes(P))
        elif self.landmarks is None:
            footprint = neighbor_map(n, *sizes)
        else:
            footprint, reason = landmark_neighbor_map(rows, n, *sizes, TOGETHER), f"{n:,} landmarks, {reason}"
        free = backend_of(X).free_bytes(X) if on_device else available_bytes()
        limit = limit_of(None, free, FREE_SHARE)
        method = "grid" if grid else "exact"
        return Plan(type(self).__name__, rows, method, reason, footprint, limit, code_bytes=code_bytes(not on_device))

    def _lighter(self, plan: Plan) -> list[dict[str, Any]]:
        near = [{"method": "auto"}] if self.method == "exact" else []
        fewer = [{"perplexity": 10.0}, {"perplexity": 5.0}] if self.affinities is None else []
        some = [{"landmarks": m} for m in (100_000, 10_000) if m < self._landmark_count(plan.rows)]
        return [*near, *fewer, *(some if self.affinities is None and not self._is_square() else [])]

    def _fit(self, X: Any) -> None:
        started = time.perf_counter()
        self._refuse_dimensions()
        X = everything = self._rows_to_fit(X)
        self.landmarks_ = self._chosen_landmarks(X)
        seen = self.affinities.P if X is None else X
        self._checked(self._draft(seen), seen)
        if not isinstance(self.init, str):
            given_map(self.init, seen.shape[0], self.n_components)  # a bad one is refused here, before any work
        start = self._start(X)
        if self.landmarks_ is not None:
            X = self._compared(X[self.landmarks_])
            start = start if isinstance(start, str) else to_numpy(start)[self.landmarks_]
        n, c = seen.shape[0] if X is None else X.shape[0], self.n_components
        if self.affinities is None or isinstance(self.affinities, Weighting):
            self._weighting().check(n)
        free = self._free(n)
        self.affinities_ = self._affinities(X)
        self._fitted = self._similarity(), _REPULSION[self.method]
        rng = generator_from(self.random_state)
        first = initial_map(start, n, c, rng, lambda seed: self._scores(start, X, seed))
        self._map = descent.DescentState.at(self._beside_affinities(first))
        self._movable = free
        self.snapshots_: list[tuple[int, Any]] = []
        self.learning_rate_ = self._rate(self.learning_rate, n, self.early_exaggeration)
        early = min(self.early_exaggeration_iter, self.max_iter)
        phases = [
            self._phase(early, self.early_exaggeration, self.learning_rate, early=True),
            *self._late_phases(self.max_iter, self.exaggeration, self.learning_rate),
        ]
        self._descend(self._loss(), phases, started)
        if self.landmarks_ is not None:
            self._place_the_others(everything, self.landmarks_, started)

    def _descend(
        self, loss: Loss, phases: list[descent.Phase], started: float, callbacks: Any = None, every: int | None = None
    ) -> None:
        """Take the steps of the phases, and set the fitted attributes however the steps end."""
        callbacks = self.callbacks if callbacks is None else callbacks
        callbacks = callbacks if isinstance(callbacks, list | tuple) else [callbacks]
        watch = descent.Watch(
            every=self._N_ITER_CHECK,
            callbacks=[callback for callback in callbacks if callback is not None],
            callback_every=self.callback_every if every is None else int(every),
            snapshots=self.snapshots,
            report=self._say_progress if self.verbose >= 2 else None,
            taken=self.snapshots_,
        )
        movable = None if self._movable is None else self._beside_affinities(self._movable)
        ended = descent.FINISHED
        for phase in phases:
            ended = descent.descend(loss, self._map, phase, watch, movable)
            self._say_phase(phase, ended)
            if ended in (descent.STOPPED, descent.INTERRUPTED):
                break
        self.embedding_ = self._map.rows()
        self.kl_divergence_ = loss.value(self._map.Y)
        self.n_iter_ = max(self._map.steps - 1, 0)
        self.report_ = self._report(loss, ended, time.perf_counter() - started)
        self._say_end(ended)

    # --- landmarks -------------------------------------------------------------------------------------------

    def _landmark_count(self, rows: int) -> int:
        """How many rows the map is made of."""
        if self.landmarks is None:
            return rows
        return min(int(self.landmarks), rows) if isinstance(self.landmarks, Integral) else len(self.landmarks)

    def _chosen_landmarks(self, X: Any) -> np.ndarray | None:
        """The row numbers of the landmarks, (m,), increasing; None if every row takes part in the descent."""
        if self.landmarks is None:
            return None
        if self.affinities is not None and not isinstance(self.affinities, Weighting):
            raise ValueError("landmarks need rows or distances to compare the other rows with, not affinities.")
        if self.fixed is not None:
            raise ValueError("fixed points and landmarks cannot be combined. Leave one of them out.")
        if self._is_square() and sp.issparse(X):
            raise TypeError("landmarks need the distances of all pairs. Give the dense matrix, or rows.")
        if isinstance(self.landmarks, Integral):
            return drawn_rows(X.shape[0], self._landmark_count(X.shape[0]), generator_from(self.random_state))
        chosen = np.sort(checked_landmarks(self.landmarks, X.shape[0]))
        if len(chosen) < 2:
            raise ValueError(f"A map needs at least 2 landmarks, not {len(chosen)}.")
        return chosen

    def _compared(self, rows: Any) -> Any:
        """Rows as the index of the landmarks reads them: of precomputed distances, those to the landmarks."""
        return rows[:, self.landmarks_] if self._is_square() else rows

    def _place_the_others(self, X: Any, landmarks: np.ndarray, started: float) -> None:
        """Give every row that is not a landmark its place in the map of the landmarks."""
        others = np.setdiff1d(np.arange(X.shape[0]), landmarks)
        Y = self._room_for(X.shape[0])
        Y[landmarks] = self._map.rows()
        for run in counted("placing rows", slices(len(others), TOGETHER), -(-len(others) // TOGETHER)):
            Y[others[run]] = self._placed(self._compared(X[others[run]]))
        self.embedding_ = Y
        self.report_ = replace(self.report_, seconds=time.perf_counter() - started)

    def _affinities(self, X: Any) -> Affinities:
        if isinstance(self.affinities, Affinities):
            return self.affinities
        if self.affinities is not None and not isinstance(self.affinities, Weighting):
            given = given_affinities(to_numpy(X) if is_torch(X) else X, self.n_jobs)
            return replace(given, P=device_matrix(given.P, X)) if is_torch(X) else given
        weighting = self._weighting()
        weighting.check(X.shape[0])
        started = time.perf_counter()
        everyone = self.method == "exact"
        index = neighbor_search(
            X,
            self.neighbors,
            self._metric(),
            self.metric_params,
            self.n_jobs,
            self.random_state,
            exact_flops=EXACT_FLOPS if everyone else COMPARED,
        )
        self._say(
            f"Computing {X.shape[0] - 1 if everyone else weighting.neighbors(X.shape[0] - 1)} nearest neighbors..."
        )
        found = affinities_of(index, weighting, everyone=everyone, n_jobs=self.n_jobs)
        self._say(f"Computed conditional probabilities in {time.perf_counter() - started:.3f}s")
        if found.widths is not None:
            self._say(f"Mean sigma: {found.widths.mean():f}")
        return found

    def _weighting(self) -> Weighting:
        return weighting_of(self.affinities if isinstance(self.affinities, Weighting) else self.perplexity)

    def _metric(self) -> Any:
        """The metric, with column names in a kernel replaced by column numbers."""
        names = getattr(self, "feature_names_in_", ())
        return self.metric.with_names(names) if isinstance(self.metric, Kernel) else self.metric

    def _start(self, X: Any) -> Any:
        """`init`, with "auto" resolved: principal components of rows, or spectral coordinates if no rows are given."""
        if isinstance(self.init, str) and self.init == "auto":
            return "spectral" if X is None or self._is_square() else "pca"
        if isinstance(self.init, str) and self.init == "pca" and X is None:
            raise ValueError('init="pca" needs rows, but only affinities were given. Give X too, or use init="auto".')
        return self.init

    def _scores(self, start: str, X: Any, seed: int) -> np.ndarray:
        """Coordinates to begin with, (n, at most n_components): spectral ones, or principal components."""
        c = self.n_components
        if start == "spectral":
            P = self.affinities_.P
            return spectral_scores(host_matrix(P) if is_torch(P) else P, c, seed)
        if sp.issparse(X) and X.shape[1] <= 4 * c:  # the sparse solver finds fewer components than there are columns
            X = X.toarray()
        most = c if X.ndim == 1 else min(c, min(X.shape) - (1 if sp.issparse(X) else 0))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MercerWarning)  # the initialisation gives its own, if it matters
            if isinstance(self.metric, Kernel):
                solver = "rpcholesky" if X.shape[0] > _FACTORED_ABOVE else "auto"
                model: Any = KernelPCA(
                    min(c, X.shape[0]),
                    kernel=self._metric(),
                    eigen_solver=solver,
                    random_state=seed,
                    n_jobs=self.n_jobs,
                )
            elif most > 0:
                model, X = PCA(most, random_state=seed), _in_range(X)
            else:
                return np.zeros((X.shape[0], 0))
            scores = model.set_output(transform="default").fit_transform(X)
            return to_numpy(scores).astype(np.float64, copy=False)

    # --- where arrays live -----------------------------------------------------------------------------------

    def _beside_affinities(self, array: np.ndarray) -> Any:
        """An array of the host where the affinities live."""
        P = self.affinities_.P
        return beside_tensor(array, P) if is_torch(P) else array

    def _room_for(self, rows: int) -> Any:
        """An array for the positions of `rows` rows, where the map lives."""
        Y = self._map.Y
        return Y.new_empty((rows, Y.shape[1])) if is_torch(Y) else np.empty((rows, Y.shape[1]), Y.dtype)

    def _loss(self) -> Loss:
        similarity, repulsion = self._fitted[0], self._repulsion()
        return Loss(self.affinities_.P, self.affinities_.entropy, similarity, repulsion, self.n_jobs)

    def _repulsion(self) -> Repulsion:
        """The repulsion that the fit used, even if the parameters have changed since."""
        similarity, method = self._fitted
        n, c = self._map.Y.shape
        return make_repulsion(similarity, c, method=method, n=n, n_jobs=self.n_jobs)

    def _late_phases(
        self, until: int, exaggeration: float, rate: Any, momentum: float | None = None
    ) -> list[descent.Phase]:
        """The phases after the early exaggeration. They depend only on step numbers, so that a fit can be continued."""
        settled = self._phase(until, exaggeration, rate, momentum=momentum)
        unfolded = self.early_exaggeration_iter + _UNFOLDING
        if momentum is not None or settled.momentum == _MOMENTUM or self._map.steps >= unfolded:
            return [settled]
        return [self._phase(min(unfolded, until), exaggeration, rate, momentum=_MOMENTUM), settled]

    def _phase(
        self, until: int, exaggeration: float, rate: Any, early: bool = False, momentum: float | None = None
    ) -> descent.Phase:
        n = len(self._map.Y)
        return descent.Phase(
            until,
            float(exaggeration),
            self._rate(rate, n, exaggeration),
            (_MOMENTUM if early or n < _MANY else _LATE_MOMENTUM) if momentum is None else float(momentum),
            np.inf if early else self.n_iter_without_progress,
            self.min_grad_norm,
        )

    @staticmethod
    def _rate(rate: Any, n: int, exaggeration: float) -> float:
        """n / exaggeration (Linderman & Steinerberger 2019), divided by the 4 that the gradient has here."""
        return n / exaggeration / 4 if rate == "auto" else float(rate)

    # --- input -----------------------------------------------------------------------------------------------

    def _rows_to_fit(self, X: Any) -> Any:
        """X, checked; None if the affinities of another fit take its place."""
        given = self.affinities if isinstance(self.affinities, Affinities) else None
        if X is None and given is not None:
            self._forget("n_features_in_", "feature_names_in_")
            return None
        if X is None:
            raise ValueError("X is None. Give rows, or give the affinities of another fit as the parameter affinities.")
        X = self._samples(X, reset=True)
        if given is not None and is_torch(given.P) != is_torch(X):
            raise ValueError("affinities and X must both be tensors, or both arrays of the host. Move one of them.")
        if given is not None and given.P.shape[0] != X.shape[0]:
            raise ValueError(f"affinities are those of {given.P.shape[0]} rows, but X has {X.shape[0]} rows.")
        return X

    def _samples(self, X: Any, *, reset: bool) -> Any:
        """X, checked for its metric before any work."""
        self._refuse_foreign(X, but=lambda X: is_torch(X) or is_cupy(X))
        least = 2 if reset else 1
        if isinstance(self.metric, Kernel) and self.metric.accepts == "strings":
            return self._strings(X, least)
        X, _ = self._read(X, reset=reset, ensure_min_samples=least)
        if self._is_square():
            self._check_square(X, reset)
        return X

    def _check_square(self, X: Any, reset: bool) -> None:
        name, is_P = type(self).__name__, isinstance(self.affinities, str)
        how, what = ("affinities", "affinities") if is_P else ("metric", "distances")
        if reset and isinstance(self.init, str) and self.init == "pca":
            raise ValueError(f'The parameter init="pca" cannot be used with {how}="precomputed". Use init="auto".')
        if reset and X.shape[0] != X.shape[1]:
            matrix = "matrix of affinities" if is_P else "distance matrix"
            raise ValueError(f"X should be a square {matrix} (n_samples, n_samples), not {tuple(X.shape)}.")
        whom = f"{name}.fit(). With {how}='precomputed', X should contain positive {what}."
        check_non_negative(X.amin(keepdim=True).cpu().numpy() if is_torch(X) else X, whom)
        if self.method == "exact" and sp.issparse(X) and self.affinities != "precomputed":
            raise TypeError(
                f'{name} with method="exact" does not accept a sparse precomputed distance matrix: it needs the '
                'distances of all pairs. Use method="auto", or give the dense matrix.'
            )

    def _is_square(self) -> bool:
        """Whether X holds pairs of samples: distances or affinities."""
        return (isinstance(self.metric, str) and self.metric == "precomputed") or (
            isinstance(self.affinities, str) and self.affinities == "precomputed"
        )

    def _refuse_dimensions(self) -> None:
        if self.method in ("barnes_hut", "grid") and self.n_components > 3:
            raise ValueError(
                f"'n_components' should be inferior to 4 for method={self.method!r}, which lays a grid over the map; "
                f"{self.n_components} were asked for. Use method='exact'."
            )

    def _free(self, n: int) -> np.ndarray | None:
        """Which points may move, (n,); None for all."""
        if self.fixed is None:
            return None
        if isinstance(self.init, str):
            raise ValueError("fixed points need positions: give init, an array of shape (n_samples, n_components).")
        return movable_points(self.fixed, n)

    # --- new rows --------------------------------------------------------------------------------------------

    def transform(
        self,
        X: Any,
        *,
        perplexity: Any = None,
        init: Any = "lowest",
        n_iter: int = STEPS,
        learning_rate: float = RATE,
        exaggeration: float = 1.0,
    ) -> Any:
        """The positions of new rows in the map, (m, n_components). Each row is placed on its own; the map stays.

        perplexity : the perplexity of the new rows: a number, a list or a `Weighting`; None is that of the fit
        init : where they start: the weighted "median" or "mean" of their neighbours' positions, or an array (m,
            n_components). "lowest" takes the median or one of the ten nearest neighbours' positions, wherever the row's
            divergence is least.
        n_iter, learning_rate, exaggeration : the settings of the descent; n_iter=0 leaves the rows at their start

        A fitted row gets the position that it has. Cost: a search for neighbours, then n_iter steps of one gradient.

        The positions of a source of rows are a source too. Its chunks are placed when you ask for them.
        """
        check_is_fitted(self)
        if is_row_source(X):
            if not isinstance(init, str):
                raise ValueError("init names a position per row, which is an array. Take 'lowest', 'median' or 'mean'.")
            place_rows = partial(
                without_names(self).transform,
                perplexity=perplexity,
                init=init,
                n_iter=n_iter,
                learning_rate=learning_rate,
                exaggeration=exaggeration,
            )
            return self._mapped(X, self._n_features_out, place_rows, dtype=self.embedding_.dtype)
        if not isinstance(n_iter, Integral) or n_iter < 0:
            raise ValueError(f"n_iter = {n_iter!r} must be a number of steps, 0 or more.")
        for name, value in (("learning_rate", learning_rate), ("exaggeration", exaggeration)):
            _refuse_not_positive(name, value)
        if self.affinities_.index is None:
            raise ValueError(
                f"{type(self).__name__} was fitted to affinities, so new rows cannot be compared with the fitted ones. "
                "Fit to rows, or to distances with metric='precomputed'."
            )
        restore = adopt(X)[1]
        X = self._samples(X, reset=False)
        self._refuse_other_place(X, self._map.Y)
        steps = {"steps": int(n_iter), "rate": float(learning_rate), "exaggeration": float(exaggeration)}
        if not isinstance(init, str):
            init = given_map(init, X.shape[0], self._map.Y.shape[1])
        Y = self._room_for(X.shape[0])
        for run in counted("placing rows", slices(X.shape[0], TOGETHER), -(-X.shape[0] // TOGETHER)):
            start = init if isinstance(init, str) else init[run]
            Y[run] = self._placed(X[run], perplexity, init=start, **steps)
        return restore(Y)

    def _placed(self, X: Any, perplexity: Any = None, **settings: Any) -> Any:
        """The positions of rows, (m, c), in the map of the fitted rows, or of their landmarks."""
        found, weights = self.affinities_.to_new(X, perplexity)
        return place(found, weights, self._map.rows(), self._fitted[0], self._repulsion(), self.n_jobs, **settings)

    # --- messages ----------------------------------------------------------------------------------------------

    def _report(self, loss: Loss, ended: str, seconds: float) -> Report:
        index = self.affinities_.index
        neighbors = "given affinities" if index is None else f"{index.method}, {index.reason}"
        repulsion = f"{loss.repulsion.method}, {loss.repulsion.reason}"
        return Report(
            loss.repulsion.method,
            loss.repulsion.reason,
            bytes=self._plan_bytes(),
            seconds=seconds,
            neighbors=neighbors,
            recall=self.affinities_.recall,
            repulsion=repulsion,
            steps=self._map.steps,
            ended=ended,
        )

    def _plan_bytes(self) -> int:
        """Of the steps: P, in the order of the rows and of the map, and the forces."""
        P, (n, c) = self.affinities_.P, self._map.Y.shape
        k = -(-_stored(P) // max(1, n))
        if is_torch(P):
            return tensor_neighbor_map(n, k, c, 0, 8, tensors().tile_bytes(self._map.Y)).peak
        return neighbor_map(n, k, c, 0, 8, workers(self.n_jobs)).peak

    def _say(self, line: str) -> None:
        if self.verbose:
            sys.stdout.write(f"[{self._NAME}] {line}\n")  # on stdout, as scikit-learn's t-SNE does

    def _say_progress(self, steps: int, kl: float, norm: float, seconds: float) -> None:
        said = f"error = {kl:.7f}, gradient norm = {norm:.7f}"
        self._say(f"Iteration {steps}: {said} ({self._N_ITER_CHECK} iterations in {seconds:.3f}s)")

    def _say_phase(self, phase: descent.Phase, ended: str) -> None:
        steps, waited = self._map.steps, self.n_iter_without_progress
        if ended == descent.NO_PROGRESS:
            self._say(f"Iteration {steps}: did not make any progress during the last {waited} episodes. Finished.")
        elif ended == descent.SMALL_GRADIENT:
            self._say(f"Iteration {steps}: gradient at most {self.min_grad_norm:g}. Finished.")
        if phase.patience == np.inf:
            self._say(f"{steps} iterations with early exaggeration {phase.exaggeration:g}")

    def _say_end(self, ended: str) -> None:
        steps = self._map.steps
        if ended == descent.INTERRUPTED:
            warn(
                f"Interrupted after {amount(steps, 'step')}. The map so far is kept, and optimize(n_iter) continues "
                "from it.",
                NotConvergedWarning,
            )
        self._say(f"Iteration {steps}: error = {self.kl_divergence_:.7f}, KL divergence of the map that is kept")

    # --- scikit-learn --------------------------------------------------------------------------------------------

    @property
    def _n_features_out(self) -> int:
        return self.embedding_.shape[1]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_square()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags


def refuse_other_positions(parts: Any) -> None:
    """For a model file. Without landmarks the map has a position for each fitted row."""
    if getattr(parts, "landmarks_", None) is None and len(parts.embedding_) != len(parts._map.Y):
        raise Mismatch("embedding_ has other rows than the map")


def _refuse_not_positive(name: str, value: Any) -> None:
    if not isinstance(value, Real) or not 0 < float(value) < np.inf:
        raise ValueError(f"{name} = {value!r} must be a positive, finite number.")


def _stored(P: Any) -> int:
    """The entries that a sparse matrix or tensor stores; 0 for a dense one."""
    if is_torch(P):
        return len(P.values()) if P.ndim == 2 and str(P.layout) == "torch.sparse_csr" else 0
    return int(P.nnz) if hasattr(P, "indptr") else 0


def _in_range(X: Any) -> Any:
    """X, divided by a power of two if squares of its entries would overflow or vanish."""
    if is_torch(X):
        size = float(X.abs().max())
        return (
            X if size == 0 or _LEAST < size < _MOST else X / power_of_two(size, 120 if X.element_size() == 4 else 1020)
        )
    values = X.data if sp.issparse(X) else X
    size = max(-float(values.min(initial=0.0)), float(values.max(initial=0.0)))
    if size == 0 or _LEAST < size < _MOST:
        return X
    return X / X.dtype.type(power_of_two(size, 120 if X.dtype == np.float32 else 1020))
