"""Any linear method made nonlinear: the method itself, on features whose inner products are a kernel's values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar

from sklearn import get_config
from sklearn.base import BaseEstimator, MetaEstimatorMixin, _fit_context, clone
from sklearn.utils import get_tags
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from mercer.estimators.base import Planned, Saved
from mercer.estimators.kernel_base import KERNEL_CONSTRAINTS
from mercer.estimators.kernel_map import KernelMap
from mercer.fit_report import Report
from mercer.models.fields import INPUT, SavedEstimator, instance_of
from mercer.planning import Footprint, Plan

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
    """Whether the estimator, fitted or not, has a method; its own AttributeError tells why where it has not."""

    def check(self: Kernelized) -> bool:
        getattr(getattr(self, "estimator_", self.estimator), name)
        return True

    return check


class Kernelized(Planned, Saved, MetaEstimatorMixin, BaseEstimator):
    """A linear method with a kernel: `estimator` fitted to F with F Fᵀ ≈ K in place of X.

    A method that sees its rows through inner products alone does then what it would do in the feature space of the
    kernel: ridge regression becomes kernel ridge regression, PCA kernel PCA, k-means kernel k-means, discriminants and
    partial least squares their kernel forms. Methods, classes and tags are those of the estimator: a kernelized
    classifier is a classifier.

    Parameters
    ----------
    estimator : an estimator of scikit-learn's interface
        It is cloned. It should not scale or select columns: those of F mean nothing one by one.
    kernel, gamma, degree, coef0, kernel_params
        As in `KernelPCA`; the default width, gamma=None, is 1/d.
    rank, method, random_state, n_jobs, memory_limit
        As in `KernelMap`: rank=None for exact results up to some thousand rows, "auto" or a number beyond.

    Attributes
    ----------
    map_ : the fitted KernelMap, with `error_`, `landmarks_`, `kernel_`
    estimator_ : the fitted clone of `estimator`
    classes_, labels_ : those of `estimator_`, where it has them
    n_features_in_, feature_names_in_

    Notes
    -----
    Every method of `estimator` among predict, predict_proba, predict_log_proba, decision_function, score,
    score_samples, transform, inverse_transform, fit_transform, fit_predict and get_feature_names_out is here too, and
    takes rows of the input where it took rows of F. `inverse_transform` gives rows of F: from there no exact way leads
    back.

    Cost: that of `KernelMap` with m columns, and that of the estimator on n × m numbers.

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
        """Fit the map to X, and the estimator to F(X), y and what else it takes, such as sample_weight."""
        self._fitted_by("fit", X, y, params)
        return self

    @available_if(_inner_has("fit_transform"))
    @_fit_context(prefer_skip_nested_validation=False)
    def fit_transform(self, X: Any, y: Any = None, **params: Any) -> Any:
        """Fit, and return what the estimator's own `fit_transform` does."""
        return self._fitted_by("fit_transform", X, y, params)

    @available_if(_inner_has("fit_predict"))
    @_fit_context(prefer_skip_nested_validation=False)
    def fit_predict(self, X: Any, y: Any = None, **params: Any) -> Any:
        """Fit, and return what the estimator's own `fit_predict` does."""
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

    def _fitted_by(self, method: str, X: Any, y: Any, params: dict[str, Any]) -> Any:
        self.map_ = self._new_map()
        F = self.map_.fit_transform(X)
        self.n_features_in_ = self.map_.n_features_in_
        if hasattr(self.map_, "feature_names_in_"):
            self.feature_names_in_ = self.map_.feature_names_in_
        self.estimator_ = clone(self.estimator)
        return getattr(self.estimator_, method)(F, y, **self._routed(method, params))

    def _new_map(self) -> KernelMap:
        own = self.get_params(deep=False)
        features = KernelMap(**{name: value for name, value in own.items() if name != "estimator"})
        container = _get_output_config("transform", self.estimator)["dense"]
        return features.set_output(transform=container)  # so that rows keep their index on the way through

    # --- using the estimator ---------------------------------------------------------------------------

    def _ask(self, method: str, X: Any, *more: Any, **params: Any) -> Any:
        check_is_fitted(self)
        return getattr(self.estimator_, method)(self.map_.transform(X), *more, **self._routed(method, params))

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
        """The estimator's score on X and y."""
        return self._ask("score", X, *(() if y is None else (y,)), **params)

    @available_if(_inner_has("transform"))
    def transform(self, X: Any, y: Any = None, **params: Any) -> Any:
        """What the estimator makes of the rows of X; y for those that transform targets too (PLS, CCA)."""
        return self._ask("transform", X, *(() if y is None else (y,)), **params)

    @available_if(_inner_has("inverse_transform"))
    def inverse_transform(self, X: Any, *more: Any, **params: Any) -> Any:
        """The estimator's own way back: rows of F, (m, map_.n_components_), not of the input."""
        check_is_fitted(self)
        return self.estimator_.inverse_transform(X, *more, **self._routed("inverse_transform", params))

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
