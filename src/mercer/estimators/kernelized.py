"""Any linear method made nonlinear: the method itself, on features whose inner products are a kernel's values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, MetaEstimatorMixin, _fit_context, clone, is_classifier, is_regressor
from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.preprocessing import LabelBinarizer
from sklearn.utils import get_tags
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from mercer.backends import is_foreign, to_numpy
from mercer.estimators.base import Estimator, Planned, Saved
from mercer.estimators.kernel_base import KERNEL_CONSTRAINTS
from mercer.estimators.kernel_map import KernelMap
from mercer.fit_report import Report
from mercer.models.fields import INPUT, SavedEstimator, instance_of
from mercer.planning import Footprint, Plan
from mercer.progress import counted
from mercer.spectral.streamed_ridge import ridge_of_sums
from mercer.streams.class_codes import ClassCodes, class_codes, with_target
from mercer.streams.local_driver import is_row_source, read_ahead, shared_result
from mercer.streams.mapped_rows import MappedRows
from mercer.streams.opening import beside as side_by_side
from mercer.streams.row_maps import ClassIndicators, ShiftedRows
from mercer.streams.row_sample import middle_of
from mercer.streams.row_source import RowSource
from mercer.streams.streamed_scores import share_explained, share_of_hits

_ROUTED = (
    "fit",
    "fit_transform",
    "fit_predict",
    "predict",
    "predict_proba",
    "predict_log_proba",
    "decision_function",
    "score",
    "transform",
    "inverse_transform",
)


def _inner_has(name: str) -> Callable[[Any], bool]:
    """Whether the estimator, fitted or not, has a method; its own AttributeError tells why if it has not."""

    def check(self: Kernelized) -> bool:
        getattr(getattr(self, "estimator_", self.estimator), name)
        return True

    return check


def _computes_with_tensors(estimator: Any) -> bool:
    """Whether an estimator takes tensors where they are. Any other would fail on those of a card."""
    if isinstance(estimator, Estimator):
        return True
    return bool(get_config()["array_api_dispatch"] and get_tags(estimator).array_api_support)


def _no_chunks(kind: Any) -> str:
    """Why an estimator cannot be fitted to streamed features, and what can."""
    name = type(kind).__name__
    known = {
        "LogisticRegression": "SGDClassifier(loss='log_loss')",
        "LinearSVC": "SGDClassifier(loss='hinge')",
        "SVC": "SGDClassifier(loss='hinge')",
        "LinearRegression": "Ridge(alpha=1e-6)",
        "LinearDiscriminantAnalysis": "KernelDiscriminantAnalysis in place of Kernelized",
        "PCA": "KernelPCA in place of Kernelized",
        "KMeans": "MiniBatchKMeans",
    }
    instead = known.get(name, "Ridge, RidgeClassifier, or an estimator with partial_fit, such as SGDClassifier")
    return (
        f"{name} has no partial_fit, so it needs the features of all rows in memory, and X is a source of rows. Take "
        f"{instead}, or read some of the rows into an array."
    )


def _fit_ridge(ridge: Any, features: KernelMap, source: RowSource, y: Any) -> None:
    """Ridge regression of the targets y, in closed form."""
    targets = side_by_side(source, y)
    shift = middle_of(targets)
    sums = features.fit_beside(
        source, ((ShiftedRows(np.zeros(targets.n_features) if shift is None else shift), targets),)
    )
    m = features.n_components_
    coefs, intercepts = ridge_of_sums(sums, m, ridge.alpha, intercept=ridge.fit_intercept)
    single = targets.n_features == 1 and getattr(y, "ndim", 1) == 1
    _keep_ridge(ridge, coefs[0] if single else coefs, intercepts[0] if single else intercepts)


def _fit_ridge_classifier(ridge: Any, features: KernelMap, source: RowSource, labels: ClassCodes) -> None:
    """Ridge regression of ±1, a target per class, or one for two classes; in closed form."""
    n, C = int(labels.counts.sum()), len(labels.classes)
    if C < 2:
        raise ValueError(f"The number of classes has to be greater than one; got {C} class")
    own = np.ones(C)
    if ridge.class_weight == "balanced":
        own = n / (C * labels.counts)
    elif ridge.class_weight is not None:
        own = np.array([ridge.class_weight.get(label, 1.0) for label in labels.classes], np.float64)
    mean = float(own @ labels.counts) / n  # weights are one on average, so that the penalty is relative to their mean
    weights = None if np.all(own == 1) else tuple((own / mean).tolist())
    sums = features.fit_beside(source, ((ClassIndicators(C), labels),), weights)
    m = features.n_components_
    # The target of a class is twice its indicator less one, and the indicators of all classes sum to one.
    coefs, offsets = ridge_of_sums(sums, m, np.asarray(ridge.alpha) / mean, intercept=ridge.fit_intercept)
    coefs, offsets = 2 * coefs - coefs.sum(axis=0), 2 * offsets - offsets.sum()
    _keep_ridge(ridge, coefs[1] if C == 2 else coefs, offsets[1:] if C == 2 else offsets)
    ridge._label_binarizer = LabelBinarizer(pos_label=1, neg_label=-1).fit(labels.classes)
    if not isinstance(getattr(type(ridge), "classes_", None), property):  # newer versions of scikit-learn store them
        ridge.classes_ = labels.classes


def _keep_ridge(ridge: Any, coefs: np.ndarray, intercept: Any) -> None:
    ridge.coef_, ridge.intercept_ = coefs, intercept if ridge.fit_intercept else 0.0
    ridge.n_features_in_, ridge.n_iter_, ridge.solver_ = coefs.shape[-1], None, "cholesky"


def _fit_in_chunks(fitted: Any, features: KernelMap, source: RowSource, y: Any) -> None:
    """`partial_fit` with each chunk in turn."""
    mapped, known = features.transform(source), {}
    sources: list[RowSource] = [mapped]
    if isinstance(y, ClassCodes):
        known, sources = {"classes": y.classes}, [mapped, y]
    elif y is not None:
        sources = [mapped, side_by_side(source, y)]
    for _, (F, *targets) in counted("chunks", read_ahead(sources, range(len(mapped.lengths))), len(mapped.lengths)):
        if isinstance(y, ClassCodes):
            fitted.partial_fit(F, y.classes[targets[0][:, 0].astype(np.intp)], **known)
        elif targets:
            fitted.partial_fit(F, targets[0][:, 0] if targets[0].shape[1] == 1 else targets[0])
        else:
            fitted.partial_fit(F)


class Kernelized(Planned, Saved, MetaEstimatorMixin, BaseEstimator):
    """A linear method with a kernel: `estimator` fitted to F with F Fᵀ ≈ K in place of X.

    If a method depends on its rows only through inner products, it then works in the feature space of the kernel. Ridge
    regression becomes kernel ridge regression, PCA becomes kernel PCA, k-means becomes kernel k-means, and
    discriminants and partial least squares become their kernel forms. Methods, classes and tags are those of the
    estimator, so a kernelized classifier is a classifier.

    Parameters
    ----------
    estimator : an estimator of scikit-learn's interface
        It is cloned. It should not scale or select columns, because the single columns of F mean nothing.
    kernel, gamma, degree, coef0, kernel_params
        As in `KernelPCA`; the default width, gamma=None, is 1/d.
    rank, method, random_state, n_jobs, memory_limit
        As in `KernelMap`: rank=None for exact results up to some thousand rows, "auto" or a number beyond.

    Attributes
    ----------
    map_ : the fitted KernelMap, with `error_`, `landmarks_`, `kernel_`
    estimator_ : the fitted clone of `estimator`
    classes_, labels_ : those of `estimator_`, if it has them
    n_features_in_, feature_names_in_

    Notes
    -----
    The class has every method of `estimator` among predict, predict_proba, predict_log_proba, decision_function, score,
    score_samples, transform, inverse_transform, fit_transform, fit_predict and get_feature_names_out. They take rows of
    the input in place of rows of F. `inverse_transform` gives rows of F, because rows of F cannot be turned back into
    rows of X exactly. For tensors the features of the kernel are computed on their device. An estimator that computes
    with tensors gets them there: Mercer's own, and those of scikit-learn with `array_api_support` if
    `array_api_dispatch` is on. Any other estimator gets NumPy arrays, also in place of targets and weights that are
    tensors.

    Cost: that of `KernelMap` with m columns, and that of the estimator on n × m numbers.
    For a source of rows, Ridge and RidgeClassifier cost one pass and 9 m³ flops. An estimator with `partial_fit` costs
    a second pass.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from sklearn.linear_model import RidgeClassifier
    >>> X, y = make_circles(400, factor=0.4, noise=0.05, random_state=0)
    >>> RidgeClassifier().fit(X, y).score(X, y) < 0.7
    True
    >>> Kernelized(RidgeClassifier(), "rbf", gamma=1.0).fit(X, y).score(X, y)
    1.0
    """

    _saved = SavedEstimator(
        "Kernelized",
        {**INPUT, "map_": instance_of("KernelMap", d="d", k="k"), "estimator_": instance_of("sklearn", "PCA", d="k")},
    )

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit"])],
        **KERNEL_CONSTRAINTS,
        "rank": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"}), None],
        "method": [StrOptions({"cholesky", "fourier"})],
    }

    def __init__(
        self,
        estimator: Any,
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
        self.estimator = estimator
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

    # --- fitting ---------------------------------------------------------------------------------------

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any = None, **params: Any) -> Kernelized:
        """Fit the map to X, and the estimator to F(X), y and its other arguments, such as sample_weight.

        X may also be a source of rows (`mercer.streams`), and y an array, a source, or the name of a column of X. Ridge
        and RidgeClassifier then follow from the sums of the pass that finds the map. An estimator with `partial_fit`
        is given the chunks, one after the other, in a second pass.
        """
        if is_row_source(X):
            return self._fit_source(X, y, params)
        self._fitted_by("fit", X, y, params)
        return self

    @available_if(_inner_has("fit_transform"))
    @_fit_context(prefer_skip_nested_validation=False)
    def fit_transform(self, X: Any, y: Any = None, **params: Any) -> Any:
        """Fit, and return what the estimator's own `fit_transform` does."""
        if is_row_source(X):
            return self._fit_source(X, y, params).transform(X)
        return self._fitted_by("fit_transform", X, y, params)

    @available_if(_inner_has("fit_predict"))
    @_fit_context(prefer_skip_nested_validation=False)
    def fit_predict(self, X: Any, y: Any = None, **params: Any) -> Any:
        """Fit, and return what the estimator's own `fit_predict` does."""
        if is_row_source(X):
            return self._fit_source(X, y, params).predict(X)
        return self._fitted_by("fit_predict", X, y, params)

    @property
    def report_(self) -> Report:
        """What the fit of the map did."""
        return self.map_.report_

    def _draft(self, X: Any, y: Any = None) -> Plan:
        plan = self._new_map()._draft(X)
        own = {**plan.footprint.held, "the estimator's copy of the features": plan.footprint.held.get("factor", 0)}
        return replace(plan, estimator=type(self).__name__, footprint=Footprint(own, plan.footprint.steps))

    def _lighter(self, plan: Plan) -> list[dict[str, Any]]:
        return self._new_map()._lighter(plan)

    def _source_plan(self, source: Any, y: Any = None) -> Plan:
        return replace(self._new_map().plan(source), estimator=type(self).__name__)

    def _fit_source(self, source: RowSource, y: Any, params: dict[str, Any]) -> Kernelized:
        kind = self.estimator
        if params:
            raise ValueError(
                f"{', '.join(params)}: rows of a source have no further parameters. Read the rows into an array."
            )
        closed = isinstance(kind, Ridge | RidgeClassifier) and not getattr(kind, "positive", False)
        if not closed and not hasattr(kind, "partial_fit"):
            raise TypeError(_no_chunks(kind))
        source, y = with_target(source, y)
        if y is None and (is_classifier(kind) or is_regressor(kind)):
            raise ValueError(f"{type(kind).__name__} requires y to be passed, but the target y is None.")
        features, fitted = self._new_map(), clone(kind)
        labels = class_codes(source, y) if is_classifier(kind) else None
        if isinstance(fitted, RidgeClassifier) and labels is not None:
            _fit_ridge_classifier(fitted, features, source, labels)
        elif closed:
            _fit_ridge(fitted, features, source, y)
        else:
            _fit_in_chunks(fitted, features.fit(source), source, labels if labels is not None else y)
            fitted = shared_result(source, fitted)
        self.map_, self.estimator_ = features, fitted
        self.n_features_in_ = features.n_features_in_
        self.__dict__.pop("feature_names_in_", None)
        if hasattr(features, "feature_names_in_"):
            self.feature_names_in_ = features.feature_names_in_
        return self

    def _ask_source(self, method: str, source: RowSource, params: dict[str, Any]) -> MappedRows:
        """What a method of the estimator gives for streamed rows, as a source. One row of zeros tells its shape."""
        call = partial(getattr(self.estimator_, method), **self._routed(method, params))
        features = self.map_.transform(source)
        probe = np.asarray(call(np.zeros((1, features.n_features), features.dtype)))
        columns = 1 if probe.ndim == 1 else probe.shape[1]
        names = None
        if columns == len(getattr(self.estimator_, "classes_", ())):
            names = [str(name) for name in self.classes_]
        return MappedRows(features, call, columns, names, probe.dtype, vector=probe.ndim == 1)

    def _fitted_by(self, method: str, X: Any, y: Any, params: dict[str, Any]) -> Any:
        self.map_ = self._new_map()
        F = self.map_.fit_transform(X)
        self.n_features_in_ = self.map_.n_features_in_
        if hasattr(self.map_, "feature_names_in_"):
            self.feature_names_in_ = self.map_.feature_names_in_
        self.estimator_ = clone(self.estimator)
        return self._call(method, F, y, **params)

    def _new_map(self) -> KernelMap:
        own = self.get_params(deep=False)
        features = KernelMap(**{name: value for name, value in own.items() if name != "estimator"})
        container = _get_output_config("transform", self.estimator)["dense"]
        return features.set_output(transform=container)  # so that rows keep their index on the way through

    # --- using the estimator ---------------------------------------------------------------------------

    def _ask(self, method: str, X: Any, *more: Any, **params: Any) -> Any:
        check_is_fitted(self)
        if is_row_source(X):
            return self._ask_source(method, X, params)
        return self._call(method, self.map_.transform(X), *more, **params)

    def _call(self, method: str, F: Any, *more: Any, **params: Any) -> Any:
        """A method of the fitted estimator, for features and what else it takes."""
        if is_foreign(F) and not _computes_with_tensors(self.estimator_):
            F, more = to_numpy(F), tuple(to_numpy(part) if is_foreign(part) else part for part in more)
            params = {name: to_numpy(value) if is_foreign(value) else value for name, value in params.items()}
        return getattr(self.estimator_, method)(F, *more, **self._routed(method, params))

    @available_if(_inner_has("predict"))
    def predict(self, X: Any, **params: Any) -> Any:
        """What the estimator predicts for the rows of X."""
        return self._ask("predict", X, **params)

    @available_if(_inner_has("predict_proba"))
    def predict_proba(self, X: Any, **params: Any) -> Any:
        """The estimator's probabilities of the classes, (m, classes)."""
        return self._ask("predict_proba", X, **params)

    @available_if(_inner_has("predict_log_proba"))
    def predict_log_proba(self, X: Any, **params: Any) -> Any:
        """Their logarithms."""
        return self._ask("predict_log_proba", X, **params)

    @available_if(_inner_has("decision_function"))
    def decision_function(self, X: Any, **params: Any) -> Any:
        """The estimator's decision values for the rows of X."""
        return self._ask("decision_function", X, **params)

    @available_if(_inner_has("score_samples"))
    def score_samples(self, X: Any, **params: Any) -> Any:
        """The estimator's score of each row."""
        return self._ask("score_samples", X, **params)

    @available_if(_inner_has("score"))
    def score(self, X: Any, y: Any = None, **params: Any) -> Any:
        """The estimator's score on X and y; of a source of rows that of a classifier or a regressor."""
        if is_row_source(X):
            check_is_fitted(self)
            X, y = with_target(X, y)
            if is_classifier(self.estimator_):
                return share_of_hits(self.predict(X), y)
            if is_regressor(self.estimator_):
                return share_explained(self.predict(X), y)
            raise TypeError(
                f"{type(self.estimator_).__name__} is neither a classifier nor a regressor: score a sample."
            )
        return self._ask("score", X, *(() if y is None else (y,)), **params)

    @available_if(_inner_has("transform"))
    def transform(self, X: Any, y: Any = None, **params: Any) -> Any:
        """What the estimator makes of the rows of X; y for those that transform targets too (PLS, CCA)."""
        return self._ask("transform", X, *(() if y is None else (y,)), **params)

    @available_if(_inner_has("inverse_transform"))
    def inverse_transform(self, X: Any, *more: Any, **params: Any) -> Any:
        """The estimator's own way back: rows of F, (m, map_.n_components_), not of the input."""
        check_is_fitted(self)
        return self._call("inverse_transform", X, *more, **params)

    @available_if(_inner_has("get_feature_names_out"))
    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """The names of the columns that `transform` gives."""
        check_is_fitted(self)
        return self.estimator_.get_feature_names_out()

    @available_if(_inner_has("set_output"))
    def set_output(self, *, transform: Any = None) -> Kernelized:
        """Choose the container that `transform` gives: "default", "pandas" or "polars"."""
        self.estimator.set_output(transform=transform)
        if hasattr(self, "estimator_"):
            self.estimator_.set_output(transform=transform)  # the map stays: the estimator knows its columns
        return self

    @property
    def classes_(self) -> Any:
        return self.estimator_.classes_

    @property
    def labels_(self) -> Any:
        return self.estimator_.labels_

    # --- scikit-learn ----------------------------------------------------------------------------------

    def _routed(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """What of the further parameters goes to the estimator: all of them, unless routing was switched on."""
        if not params or not get_config()["enable_metadata_routing"]:
            return params
        return process_routing(self, method, **params).estimator[method]

    def get_metadata_routing(self) -> Any:
        """Every method asks for what the estimator's method of the same name asks for."""
        mapping = MethodMapping()
        for name in _ROUTED:
            if hasattr(self.estimator, name):
                mapping.add(caller=name, callee=name)
        return MetadataRouter(owner=self).add(estimator=self.estimator, method_mapping=mapping)

    def __sklearn_is_fitted__(self) -> Any:
        return hasattr(self, "estimator_")

    def __sklearn_tags__(self) -> Any:
        tags = get_tags(self.estimator)
        tags.input_tags = get_tags(self._new_map()).input_tags
        tags.array_api_support = False
        return tags
