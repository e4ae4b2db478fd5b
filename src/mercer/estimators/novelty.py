"""Novelty: how far a row lies from the subspace that the others span, and a threshold beyond which it is new."""

from __future__ import annotations

import sys
from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, OutlierMixin, _fit_context, clone
from sklearn.utils import get_tags
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from mercer.backends import namespace
from mercer.estimators.base import Planned, Saved, fitted_columns, stand_in
from mercer.estimators.kernel_base import unbound_kernel
from mercer.estimators.kernel_pca import KernelPCA
from mercer.estimators.pca import PCA
from mercer.exceptions import DegenerateDataWarning, warn
from mercer.features import workload_of
from mercer.fit_report import Report
from mercer.footprints import left_out_rows
from mercer.kernels.discrete import Precomputed
from mercer.models.fields import INPUT, SavedEstimator, finite, floats, instance_of
from mercer.planning import Footprint, Plan
from mercer.spectral.leave_one_out import LIMITS
from mercer.streams.local_driver import is_row_source, row_count
from mercer.streams.mapped_rows import MappedRows

AUTO_CONTAMINATION = 0.05  # the share of false alarms that tests of a hypothesis are used to
EXACT_ROWS = 1000  # up to this many rows the default subspace is exact, which takes a fraction of a second
RANK = 500  # of the default's factor for more rows; in measurements more landmarks changed no ranking of rows


class NoveltyDetector(Planned, Saved, OutlierMixin, MetaEstimatorMixin, BaseEstimator):
    """A detector of novelties: a row is new if it lies far from the subspace of a PCA or a KernelPCA.

        distance(x) = ‖φ̃(x)‖² − ‖z‖²,    new if distance(x) > threshold_

    φ̃(x) is x, or its image under the kernel, minus the mean of the training rows, and z holds its scores. For PCA this
    is the squared distance from "face space", and for a kernel it is Hoffmann's measure of novelty. The threshold is a
    quantile of the distances that the training rows have if each is left out in turn, computed without refits. Their
    plain distances would be too small, because the subspace was fitted to them.

    Parameters
    ----------
    estimator : mercer.PCA, mercer.KernelPCA or None
        The subspace. None means KernelPCA(0.5, kernel="laplacian", gamma="columns"), with a factor of rank 500 beyond
        1000 rows. That kernel suits tables: all columns count equally, whatever their units, and a single extreme value
        does not dominate the others.
    verbose : bool, default False
        Say on standard error what is being done.
    contamination : float in (0, 0.5] or "auto"
        The share of training rows that are beyond the threshold when left out. This is also about the share of false
        alarms among new rows like them. "auto" means 0.05.

    Attributes
    ----------
    estimator_ : the fitted clone of `estimator`
    left_out_distances_ : (n,), the distance of each training row from the subspace of the others; of a sample, if the
        rows were streamed
    threshold_ : float, the distance beyond which a row is new
    offset_ : float, −threshold_: decision_function = score_samples − offset_
    n_features_in_, feature_names_in_

    Notes
    -----
    `fit_predict` judges each training row by its distance when it is left out. So exactly the share `contamination` of
    the rows is called new. `predict` treats its rows as new rows. Training rows are nearer, so fewer are called new.

    Cost of the threshold: one eigendecomposition of up to 2000 rows (for PCA, features), and then the distances are
    exact. Beyond that it takes one more pass over K and is an estimate (see `mercer.spectral.downdate`): in
    measurements single distances were off by up to 12 to 24 % of the largest, and the threshold, a quantile of them
    all, by 2 to 3 %. With eigen_solver="rpcholesky": n · rank entries of K and n · rank² operations.

    References: Turk & Pentland, *Face recognition using eigenfaces* (1991); Hoffmann, *Kernel PCA for novelty
    detection* (2007).

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> X, _ = make_circles(300, factor=0.99, noise=0.05, random_state=0)
    >>> detector = NoveltyDetector(KernelPCA(20, kernel="rbf", gamma=2.0)).fit(X)
    >>> detector.predict([[1.0, 0.0], [0.0, 0.0], [2.0, 0.0]])  # on the ring, in its middle, outside
    array([ 1, -1, -1])
    """

    _saved = SavedEstimator(
        "NoveltyDetector",
        {
            **INPUT,
            "estimator_": instance_of("PCA", "KernelPCA", d="d"),
            "left_out_distances_": floats("n"),
            "threshold_": finite,
            "offset_": finite,
        },
    )

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit", "squared_distance"]), None],
        "contamination": [Interval(Real, 0, 0.5, closed="right"), StrOptions({"auto"})],
        "verbose": ["boolean"],
    }

    def __init__(self, estimator: Any = None, *, contamination: float | str = "auto", verbose: bool = False) -> None:
        self.estimator = estimator
        self.contamination = contamination
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any = None) -> NoveltyDetector:
        """Find the subspace of the rows of X, and the threshold; y is ignored.

        X may also be a source of rows (`mercer.streams`). One pass finds the subspace, and another one the threshold:
        the quantile of the distances of a sample of 10,000 rows, each from the subspace of all the others.
        """
        if is_row_source(X):
            n, model = row_count(X), self._subspace(row_count(X), streamed=True)
            self._source_plan(X).refuse()
        else:
            rows = stand_in(X)
            n, model = rows.shape[0], self._subspace(rows.shape[0])
            self._checked(self._draft(rows), rows)
        self._say(f"subspace of {n} rows by {type(model).__name__}")
        self.estimator_ = clone(model).fit(X)
        self.n_features_in_ = self.estimator_.n_features_in_
        if hasattr(self.estimator_, "feature_names_in_"):
            self.feature_names_in_ = self.estimator_.feature_names_in_
        self._say("distances of the rows, each left out in turn")
        self.left_out_distances_ = self.estimator_.left_out_distances(X)
        share = AUTO_CONTAMINATION if self.contamination == "auto" else float(self.contamination)
        found, rounding = float(np.quantile(self.left_out_distances_, 1 - share)), _rounding(self.estimator_)
        self.threshold_ = max(found, rounding)
        self.offset_ = -self.threshold_
        if found <= rounding:
            warn(
                "The components reproduce the training rows fully, so no distance is left to tell new rows by. Keep "
                "fewer components.",
                DegenerateDataWarning,
            )
        return self

    @property
    def report_(self) -> Report:
        """What the fit of the subspace did."""
        return self.estimator_.report_

    def _draft(self, X: Any, y: Any = None) -> Plan:
        model = self._subspace(X.shape[0])
        plan = model._draft(X)
        own = Footprint({}, {"leaving rows out": _left_out_footprint(model, X).parts})
        later = max(plan.later, own, key=lambda footprint: footprint.peak)
        return replace(plan, estimator=type(self).__name__, later=later)

    def _source_plan(self, source: Any, y: Any = None) -> Plan:
        return replace(self._subspace(row_count(source), streamed=True).plan(source), estimator=type(self).__name__)

    def _lighter(self, plan: Plan) -> list[dict[str, Any]]:
        model = self._subspace(plan.rows)
        return [{"estimator": clone(model).set_params(**change)} for change in model._lighter(plan)]

    def _say(self, line: str) -> None:
        if self.verbose:
            sys.stderr.write(f"NoveltyDetector: {line}\n")

    def _subspace(self, n: int, streamed: bool = False) -> PCA | KernelPCA:
        """The model to be fitted to n rows."""
        model = _default_subspace(n, streamed) if self.estimator is None else self.estimator
        if not isinstance(model, (PCA, KernelPCA)):
            raise TypeError(
                f"NoveltyDetector needs a mercer.PCA or a mercer.KernelPCA, not {type(model).__module__}."
                f"{type(model).__name__}: only these can leave a row out without a refit."
            )
        if isinstance(model, KernelPCA) and (model.kernel == "precomputed" or isinstance(model.kernel, Precomputed)):
            raise ValueError(
                "NoveltyDetector needs k(x, x) of new rows, which a precomputed kernel does not have. Give the rows "
                "and the kernel, as a mercer.kernels.Kernel or as a function."
            )
        return model

    def score_samples(self, X: Any) -> Any:
        """The opposite of each row's squared distance from the subspace, (m,): higher is more normal.

        For a source of rows this method, `decision_function` and `predict` return a source of one column.
        """
        check_is_fitted(self)
        if is_row_source(X):
            return MappedRows(fitted_columns(self, X), self.score_samples, 1, ["score"], vector=True)
        return -self.estimator_.squared_distance(X)

    def decision_function(self, X: Any) -> Any:
        """score_samples(X) − offset_, (m,): below zero for rows that are new."""
        if is_row_source(X):
            check_is_fitted(self)
            return MappedRows(fitted_columns(self, X), self.decision_function, 1, ["decision"], vector=True)
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> Any:
        """−1 for rows that are new, 1 for the others, (m,)."""
        if is_row_source(X):
            check_is_fitted(self)
            return MappedRows(fitted_columns(self, X), self.predict, 1, ["class"], np.int64, vector=True)
        return _signs(self.decision_function(X))

    def fit_predict(self, X: Any, y: Any = None) -> Any:
        """−1 for rows of X that are far from the subspace of all the others, 1 for the rest, (n,)."""
        if is_row_source(X):
            raise TypeError(
                "The rows of a source are not left out one by one, only a sample of them is. Take fit(X).predict(X)."
            )
        self.fit(X)
        return _signs(self.threshold_ - self.left_out_distances_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(KernelPCA() if self.estimator is None else self.estimator)
        tags.input_tags.sparse = inner.input_tags.sparse
        return tags


def _default_subspace(n: int, streamed: bool = False) -> KernelPCA:
    solver: dict[str, Any] = {} if n <= EXACT_ROWS and not streamed else {"eigen_solver": "rpcholesky", "rank": RANK}
    return KernelPCA(0.5, kernel="laplacian", gamma="columns", **solver)


def _rounding(model: PCA | KernelPCA) -> float:
    """The largest squared distance that rounding alone can give to rows on the subspace."""
    variances = model.explained_variance_
    xp = namespace(variances)
    total = model.total_variance_ if isinstance(model, KernelPCA) else float(xp.sum(variances))
    return 64 * float(xp.finfo(variances.dtype).eps) * total


def _signs(decision: Any) -> Any:
    xp = namespace(decision)
    return 2 * xp.astype(decision >= 0, xp.int64) - 1


def _left_out_footprint(model: PCA | KernelPCA, X: Any) -> Footprint:
    """The memory of `left_out_distances` for rows such as X."""
    kernel = unbound_kernel(model) if isinstance(model, KernelPCA) else None
    work = workload_of(X, getattr(model, "n_jobs", None), kernel)
    if isinstance(model, PCA) and work.d <= min(work.n, LIMITS.whole):
        step = min(work.n, max(1, LIMITS.block_entries // max(1, work.d)))
        blocks = {"blocks of rows, scores and roots": 10 * 8 * step * work.d}
        return Footprint({}, {"rows": {**blocks, "covariance": 5 * 8 * work.d**2}})
    k = model.n_components if isinstance(model.n_components, int) else 16
    return left_out_rows(work, k, LIMITS.whole, LIMITS.block_entries)
