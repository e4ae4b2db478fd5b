"""What SNE and t-SNE share: everything but the similarity of two points in the map."""

from __future__ import annotations

import sys
import time
from abc import abstractmethod
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from mercer.backends.cpu import workers
from mercer.embedding import optimize as descent
from mercer.embedding.affinities import FREE_SHARE, Affinities, affinities_of, given_affinities
from mercer.embedding.laws import Law, Perplexity
from mercer.embedding.loss import Loss
from mercer.embedding.placing import place
from mercer.embedding.repulsion import GRID_ABOVE, make_repulsion
from mercer.embedding.similarity import Similarity
from mercer.estimators.map_input import MapInput
from mercer.estimators.map_start import given, start
from mercer.exceptions import NotConvergedWarning, warn
from mercer.footprints import neighbor_map
from mercer.graph.neighbors import EXACT_FLOPS, build_index
from mercer.kernels.kernel import Kernel
from mercer.linalg.eigen import as_generator
from mercer.memory import available_bytes, numbers_per_row
from mercer.models.fields import (
    FARTHEST,
    INPUT,
    Check,
    Line,
    SavedRecord,
    booleans,
    finite,
    floats,
    instance_of,
    list_of,
    number,
    one_of,
    optional,
    tuple_of,
    whole,
)
from mercer.planning import Plan, code_bytes, limit_of

_MOMENTUM = 0.8
_LATE_MOMENTUM, _MANY = 0.9, 5000  # after the exaggeration, for so many points: a thousand steps do not settle them
_COMPARED = 1e11  # n²d up to which all pairs are compared for neighbours: a map does not hang on one in fifty of them
_REPULSION = {"auto": "auto", "barnes_hut": "auto", "grid": "grid", "exact": "exact"}


@dataclass(frozen=True)
class EmbeddingReport:
    """How a map came about: the neighbours, the repulsion, the steps, and why they ended."""

    _saved = SavedRecord("EmbeddingReport")

    neighbors: str
    recall: float
    repulsion: str
    steps: int
    ended: str
    seconds: float

    def __str__(self) -> str:
        return (
            f"neighbours: {self.neighbors} (recall {self.recall:.3f}); repulsion: {self.repulsion}; "
            f"{self.steps} steps in {self.seconds:.3g} s, {self.ended}"
        )


MAP_FIELDS: dict[str, Check | Line] = {  # what model files hold of a fitted map, whatever its similarity
    **INPUT,
    "affinities_": instance_of("Affinities", n="n"),
    "_fitted": tuple_of(instance_of("similarity"), one_of("auto", "grid", "exact")),
    "_map": instance_of("Map", n="n", c="c"),
    "_movable": optional(booleans("n")),
    "snapshots_": list_of(tuple_of(whole(), floats("n", "c"))),
    "learning_rate_": finite,
    "embedding_": floats("n", "c", most=FARTHEST),
    "kl_divergence_": number,
    "n_iter_": whole(),
    "report_": instance_of("EmbeddingReport"),
}


class NeighborEmbedding(MapInput):
    """A map of few dimensions that keeps neighbours together (abstract: never built itself)."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "perplexity": [Interval(Real, 0, None, closed="neither"), "array-like"],
        "early_exaggeration": [Interval(Real, 1, None, closed="left")],
        "learning_rate": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "n_iter_without_progress": [Interval(Integral, -1, None, closed="left")],
        "min_grad_norm": [Interval(Real, 0, None, closed="left")],
        "metric": [str, callable, Kernel],
        "metric_params": [dict, None],
        "init": [StrOptions({"pca", "random"}), np.ndarray],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
        "method": [StrOptions(set(_REPULSION))],
        "angle": [Interval(Real, 0, 1, closed="both")],
        "n_jobs": [None, Integral],
        "exaggeration": [Interval(Real, 0, None, closed="neither")],
        "affinities": [Law, StrOptions({"precomputed"}), None],
        "fixed": ["array-like", None],
        "callbacks": [callable, list, tuple, None],
        "callback_every": [Interval(Integral, 1, None, closed="left")],
        "snapshots": [Interval(Integral, 1, None, closed="left"), None],
    }

    _EXPLORATION_MAX_ITER = 250
    _N_ITER_CHECK = 50
    _NAME = "SNE"

    # --- fitting -------------------------------------------------------------------------------------------

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y=None):
        """Find the map of X, (n, d), dense or CSR; strings for string kernels; distances or affinities (n, n)."""
        self._fit(X)
        return self

    @_fit_context(prefer_skip_nested_validation=False)
    def fit_transform(self, X, y=None):
        """Find the map of X and return it, (n, n_components), float32."""
        self._fit(X)
        return self.embedding_

    def optimize(self, n_iter, *, exaggeration=None, learning_rate=None):
        """Go on for `n_iter` steps from where the descent is: `fit` and then `optimize` is one longer `fit`.

        exaggeration, learning_rate : for these steps; None is what the estimator was given
        """
        check_is_fitted(self)
        if not isinstance(n_iter, Integral) or n_iter < 1:
            raise ValueError(f"n_iter = {n_iter!r} must be a positive number of steps.")
        for name, value in (("exaggeration", exaggeration), ("learning_rate", learning_rate)):
            if not (value is None or (name == "learning_rate" and isinstance(value, str) and value == "auto")):
                _refuse_not_positive(name, value)
        started = time.perf_counter() - self.report_.seconds
        strength = self.exaggeration if exaggeration is None else float(exaggeration)
        rate = self.learning_rate if learning_rate is None else learning_rate
        until, early = self._map.steps + int(n_iter), self._EXPLORATION_MAX_ITER
        phases = [self._phase(until, strength, rate)]
        if exaggeration is None and self._map.steps < early:  # the first phase is finished first
            phases.insert(0, self._phase(min(early, until), self.early_exaggeration, rate, early=True))
        self._descend(self._loss(), phases, started)
        return self

    def _draft(self, X, y=None) -> Plan:
        n, law = X.shape[0], self._law()
        everyone = self.method == "exact" and isinstance(law, Perplexity)
        given = self.affinities is not None and not isinstance(self.affinities, Law)
        k = n - 1 if everyone or given else law.neighbors(n - 1)
        if given and hasattr(X, "indptr"):
            k = -(-X.nnz // max(1, n))
        large = n >= GRID_ABOVE.get(self.n_components, n + 1)
        grid = self.method == "grid" or (self.method != "exact" and large)
        reason = f"{k:,} neighbours per row, repulsion by {'a grid' if grid else 'all pairs'}"
        width = 0 if self._square() or X.ndim != 2 else numbers_per_row(X)
        footprint = neighbor_map(n, k, self.n_components, width, X.dtype.itemsize if width else 8, workers(self.n_jobs))
        limit = limit_of(None, available_bytes(), FREE_SHARE)
        method = "grid" if grid else "exact"
        return Plan(type(self).__name__, n, method, reason, footprint, limit, code_bytes=code_bytes(True))

    def _lighter(self, plan: Plan) -> list[dict[str, Any]]:
        near = [{"method": "auto"}] if self.method == "exact" else []
        fewer = [{"perplexity": 10.0}, {"perplexity": 5.0}] if self.affinities is None else []
        return [*near, *fewer]

    def _fit(self, X) -> None:
        started = time.perf_counter()
        self._refuse_dimensions()
        X = self._samples(X, reset=True)
        n, c = X.shape[0], self.n_components
        if self.affinities is None or isinstance(self.affinities, Law):
            self._law().refuse(n)
        self._checked(self._draft(X), X)
        free = self._free(n)  # refused before the work, if it must be
        if not isinstance(self.init, str):
            given(self.init, n, c)
        self.affinities_ = self._affinities(X)
        self._fitted = self._similarity(), _REPULSION[self.method]
        rng = as_generator(self.random_state)
        self._map = descent.Map.at(start(X, self.init, c, self.metric, rng, self.n_jobs))
        self._movable = free
        self.snapshots_: list[tuple[int, np.ndarray]] = []
        self.learning_rate_ = self._rate(self.learning_rate, n, self.early_exaggeration)
        early = min(self._EXPLORATION_MAX_ITER, self.max_iter)
        phases = [
            self._phase(early, self.early_exaggeration, self.learning_rate, early=True),
            self._phase(self.max_iter, self.exaggeration, self.learning_rate),
        ]
        self._descend(self._loss(), phases, started)

    def _descend(self, loss: Loss, phases: list[descent.Phase], started: float) -> None:
        """Take the steps of the phases, and set what is known of the map, whatever ends them."""
        callbacks = self.callbacks if isinstance(self.callbacks, list | tuple) else [self.callbacks]
        watch = descent.Watch(
            every=self._N_ITER_CHECK,
            callbacks=[callback for callback in callbacks if callback is not None],
            callback_every=self.callback_every,
            snapshots=self.snapshots,
            report=self._say_progress if self.verbose >= 2 else None,
            taken=self.snapshots_,
        )
        ended = descent.FINISHED
        for phase in phases:
            ended = descent.descend(loss, self._map, phase, watch, self._movable)
            self._say_phase(phase, ended)
            if ended in (descent.STOPPED, descent.INTERRUPTED):
                break
        self.embedding_ = self._map.rows()
        self.kl_divergence_ = loss.value(self._map.Y)
        self.n_iter_ = max(self._map.steps - 1, 0)
        self.report_ = self._report(loss, ended, time.perf_counter() - started)
        self._say_end(ended)

    def _affinities(self, X: Any) -> Affinities:
        if self.affinities is not None and not isinstance(self.affinities, Law):
            return given_affinities(X, self.n_jobs)
        law = self._law()
        law.refuse(X.shape[0])
        started = time.perf_counter()
        everyone = self.method == "exact"
        index = build_index(
            X,
            metric=self.metric,
            metric_params=self.metric_params,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
            exact_flops=EXACT_FLOPS if everyone else _COMPARED,
        )
        self._say(f"Computing {X.shape[0] - 1 if everyone else law.neighbors(X.shape[0] - 1)} nearest neighbors...")
        found = affinities_of(index, law, everyone=everyone, n_jobs=self.n_jobs)
        self._say(f"Computed conditional probabilities in {time.perf_counter() - started:.3f}s")
        if found.widths is not None:
            self._say(f"Mean sigma: {found.widths.mean():f}")
        return found

    def _law(self) -> Law:
        if isinstance(self.affinities, Law):
            return self.affinities
        if isinstance(self.perplexity, Real):
            return Perplexity((float(self.perplexity),))
        values = np.asarray(self.perplexity)
        if values.ndim != 1 or values.dtype.kind not in "iuf":
            raise ValueError(f"perplexity = {self.perplexity!r} must be a number or a list of numbers.")
        return Perplexity(tuple(values.tolist()))

    def _loss(self) -> Loss:
        similarity, repulsion = self._fitted[0], self._repulsion()
        return Loss(self.affinities_.P, self.affinities_.entropy, similarity, repulsion, self.n_jobs)

    def _repulsion(self) -> Any:
        """As at the fit, whatever the parameters are now."""
        similarity, method = self._fitted
        n, c = self._map.Y.shape
        return make_repulsion(similarity, c, method=method, n=n, n_jobs=self.n_jobs)

    @abstractmethod
    def _similarity(self) -> Similarity:
        """Of two points in the map."""

    def _phase(self, until: int, exaggeration: float, rate: Any, early: bool = False) -> descent.Phase:
        n = len(self._map.Y)
        return descent.Phase(
            until,
            float(exaggeration),
            self._rate(rate, n, exaggeration),
            _MOMENTUM if early or n < _MANY else _LATE_MOMENTUM,
            np.inf if early else self.n_iter_without_progress,
            self.min_grad_norm,
        )

    @staticmethod
    def _rate(rate: Any, n: int, exaggeration: float) -> float:
        """n / exaggeration (Linderman & Steinerberger 2019), over the 4 that the gradient has here."""
        return n / exaggeration / 4 if rate == "auto" else float(rate)

    # --- new rows --------------------------------------------------------------------------------------------

    def transform(self, X):
        """The places of new rows in the map, (m, n_components): each on its own, the map as it is.

        A row that was fitted gets the place it has. Cost: a search for neighbours, then 100 steps of one gradient.
        """
        check_is_fitted(self)
        if self.affinities_.index is None:
            raise ValueError(
                f"{type(self).__name__} was fitted to affinities, so new rows cannot be compared with the old ones. "
                "Fit to rows, or to distances with metric='precomputed'."
            )
        X = self._samples(X, reset=False)
        found, weights = self.affinities_.to_new(X)
        return place(found, weights, self.embedding_, self._fitted[0], self._repulsion(), self.n_jobs)

    # --- what is said ------------------------------------------------------------------------------------------

    def _report(self, loss: Loss, ended: str, seconds: float) -> EmbeddingReport:
        index = self.affinities_.index
        neighbors = "given affinities" if index is None else f"{index.method}, {index.reason}"
        repulsion = f"{loss.repulsion.method}, {loss.repulsion.reason}"
        return EmbeddingReport(neighbors, self.affinities_.recall, repulsion, self._map.steps, ended, seconds)

    def _say(self, line: str) -> None:
        if self.verbose:
            sys.stdout.write(f"[{self._NAME}] {line}\n")  # where scikit-learn's t-SNE says it

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
                f"Interrupted after {steps} steps: the map so far is kept, and optimize(n_iter) goes on from it.",
                NotConvergedWarning,
            )
        self._say(f"Iteration {steps}: error = {self.kl_divergence_:.7f}, KL divergence of the map that is kept")

    # --- scikit-learn --------------------------------------------------------------------------------------------

    @property
    def _n_features_out(self) -> int:
        return self.embedding_.shape[1]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._square()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags


def _refuse_not_positive(name: str, value: Any) -> None:
    if not isinstance(value, Real) or not 0 < float(value) < np.inf:
        raise ValueError(f"{name} = {value!r} must be a positive, finite number, or None for what the estimator has.")
