"""The classes of scikit-learn that a model file may contain: estimators inside `Kernelized`, and kernels of its
Gaussian processes.

Nothing here depends on how scikit-learn keeps a fitted estimator. `get_params` gives the parameters, and whatever else
`fit` has left is stored if it is plain data. Saving builds the estimator again from what is stored and compares the
answers of both, so a release of scikit-learn that keeps its state elsewhere is noticed when a model is saved, not when
it is needed. Reading checks the sizes of the attributes that scikit-learn documents, refuses names that would hide a
method, and asks the estimator for an answer, so a file of another release that no longer works is refused.
"""

from __future__ import annotations

import inspect
import re
import sys
import warnings
from importlib import import_module
from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from mercer.models.fields import (
    Check,
    Declaration,
    Mismatch,
    Parts,
    Scope,
    check_field,
    class_labels,
    either,
    finite,
    floats,
    instance_of,
    integers,
    list_of,
    number,
    refuse_unknown,
    require,
    size,
    sparse,
    strings,
    whole,
)

_ESTIMATORS = {
    "cluster": ("KMeans",),
    "cross_decomposition": ("CCA", "PLSCanonical", "PLSRegression"),
    "decomposition": ("PCA",),
    "discriminant_analysis": ("LinearDiscriminantAnalysis",),
    "linear_model": ("ElasticNet", "Lasso", "LinearRegression", "LogisticRegression", "Ridge", "RidgeClassifier"),
    "preprocessing": ("LabelBinarizer",),  # a part of RidgeClassifier
    "svm": ("LinearSVC", "LinearSVR"),
}
_GP_KERNELS = (
    "ConstantKernel", "DotProduct", "Exponentiation", "ExpSineSquared", "Matern", "Product", "RBF",
    "RationalQuadratic", "Sum", "WhiteKernel",
)  # fmt: skip

# Fitted attributes that scikit-learn documents, whatever the class. Compiled code relies on some of these sizes.
_ATTRIBUTES: dict[str, Check] = {
    "n_features_in_": size("d"),
    "feature_names_in_": strings("d"),
    "classes_": class_labels("classes"),
    "coef_": either(floats("d"), floats("outputs", "d"), sparse("outputs", "d")),
    "intercept_": either(finite, floats("outputs"), floats(1)),
    "priors_": floats("classes"),
    "means_": floats("classes", "d"),
    "xbar_": floats("d"),
    "scalings_": floats("d", "rank"),
    "covariance_": floats("d", "d"),
    "cluster_centers_": floats("clusters", "d"),
    "labels_": integers("n"),
    "n_components_": size("k"),
    "components_": floats("k", "d"),
    "mean_": floats("d"),
    "explained_variance_": floats("k"),
    "singular_values_": floats("k"),
    "x_weights_": floats("d", "k"),
    "x_loadings_": floats("d", "k"),
    "x_rotations_": floats("d", "k"),
    "y_weights_": floats("targets", "k"),
    "y_loadings_": floats("targets", "k"),
    "y_rotations_": floats("targets", "k"),
    "_n_threads": whole(1, 256),  # k-means starts this many threads
}
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*_|_[A-Za-z][A-Za-z0-9_]*")  # of an attribute that fit sets, or a private one
_METHODS = ("predict", "transform", "decision_function", "predict_proba", "score_samples")
_MOST = 1024  # for whole numbers with no documented meaning, unless an array is longer: some become numbers of threads


class SklearnDeclaration(Declaration):
    """A class of scikit-learn (abstract), imported when it is needed."""

    def __init__(self, family: str, module: str, name: str) -> None:
        super().__init__(f"{family}.{name}")
        self.module = f"sklearn.{module}"

    @property
    def cls(self) -> Any:
        return getattr(import_module(self.module), self.name.partition(".")[2])


class SklearnEstimator(SklearnDeclaration):
    """An estimator of scikit-learn, by the data that its fit left."""

    advice: ClassVar[str] = (
        "Save its features alone, `model.map_.save(path)`, and fit the estimator again to `map_.transform(X)` after "
        "loading them."
    )

    def take_apart(self, value: Any) -> tuple[Parts, Parts]:
        params = value.get_params(deep=False)
        made = vars(type(value)(**params))  # some constructors set more than their parameters
        return params, {name: part for name, part in vars(value).items() if name not in made}

    def check(self, params: Parts, state: Parts, scope: Scope) -> None:
        refuse_unknown(self.cls, params)
        longest = max((max(part.shape, default=0) for part in state.values() if hasattr(part, "shape")), default=0)
        for name, part in state.items():
            good = _NAME.fullmatch(name) is not None and not _is_method(self.cls, name)
            require(good, f"{name[:60]!r} is not an attribute that a fit sets")
            _refuse_odd(part, max(_MOST, longest), name)
        for name, check in _ATTRIBUTES.items():
            if name in state:
                check_field(name, check, state[name], scope)
        _refuse_other_classes(state)

    def put_together(self, params: Parts, state: Parts) -> Any:
        value = self._assembled(params, state)
        for name, answer in _answers(value, state).items():
            if isinstance(answer, Exception) and not isinstance(answer, (ValueError, NotImplementedError)):
                raise Mismatch(f"this version of scikit-learn cannot use it: {name} fails with {answer!r}")
        return value

    def verify(self, value: Any, params: Parts, state: Parts) -> None:
        before, after = _answers(value, state), _answers(self._assembled(params, state), state)
        for name, answer in before.items():
            same = type(answer) is type(after[name])
            if not same or (isinstance(answer, np.ndarray) and not np.array_equal(answer, after[name], equal_nan=True)):
                raise Mismatch(f"{name} of one restored from its parameters and attributes answers differently")

    def _assembled(self, params: Parts, state: Parts) -> Any:
        value = self.cls(**params)
        for name, part in state.items():
            if not isinstance(inspect.getattr_static(self.cls, name, None), property):  # a property computes its value
                setattr(value, name, part)
        return value


class SklearnKernel(SklearnDeclaration):
    """A kernel of scikit-learn's Gaussian processes, by its parameters."""

    def take_apart(self, value: Any) -> tuple[Parts, Parts]:
        return value.get_params(deep=False), {}

    def check(self, params: Parts, state: Parts, scope: Scope) -> None:
        refuse_unknown(self.cls, params)
        require(not state, "it has a fitted state, and its kind has none")
        for name, part in params.items():
            if not name.endswith("_bounds"):
                check_field(name, _GP_PARAMETERS.get(name, number), part, scope)

    def put_together(self, params: Parts, state: Parts) -> Any:
        return self.cls(**params)


_GP_PARAMETERS: dict[str, Check] = {
    **dict.fromkeys(("k1", "k2", "kernel"), instance_of("gp")),
    "length_scale": either(finite, floats("l"), list_of(finite)),
}
SKLEARN: dict[str, SklearnDeclaration] = {
    each.name: each
    for each in (
        *(SklearnEstimator("sklearn", module, name) for module, names in _ESTIMATORS.items() for name in names),
        *(SklearnKernel("gp", "gaussian_process.kernels", name) for name in _GP_KERNELS),
    )
}
ESTIMATOR_NAMES = sorted({name for names in _ESTIMATORS.values() for name in names} - {"LabelBinarizer"})


def sklearn_declaration(value: Any) -> SklearnDeclaration | None:
    """The declaration of an object of scikit-learn's; None for others. Nothing is imported."""
    for family in ("sklearn", "gp"):
        found = SKLEARN.get(f"{family}.{type(value).__name__}")
        if found is not None and getattr(sys.modules.get(found.module), type(value).__name__, None) is type(value):
            return found
    return None


def _is_method(cls: type, name: str) -> bool:
    found = inspect.getattr_static(cls, name, None)
    return found is not None and not isinstance(found, property)


def _refuse_odd(part: Any, most: int, name: str) -> None:
    """Refuse a private whole number, at any depth, that is larger than every size."""
    for entry in part.values() if isinstance(part, dict) else part if isinstance(part, (list, tuple)) else ():
        _refuse_odd(entry, most, name)
    large = isinstance(part, Integral) and name.startswith("_") and abs(int(part)) > most
    require(not large, f"{name} is larger than every size that it could be")


def _refuse_other_classes(state: Parts) -> None:
    """A linear classifier has one row of coefficients per class, or one for two classes."""
    if {"classes_", "coef_", "intercept_"} <= set(state) and np.ndim(state["coef_"]) == 2:
        classes, rows = len(state["classes_"]), state["coef_"].shape[0]
        if classes != (2 if rows == 1 else rows) or np.size(state["intercept_"]) != rows:
            raise Mismatch(f"there are {classes} classes and {rows} rows of coefficients")


def _answers(value: Any, state: Parts) -> dict[str, Any]:
    """What the methods of an estimator answer on three rows: an array, or the exception."""
    d = state.get("n_features_in_")
    if not isinstance(d, int):
        return {}
    tables = (part for part in state.values() if isinstance(part, np.ndarray) and part.ndim == 2)
    dtype = next((part.dtype for part in tables if part.dtype.kind == "f"), np.dtype(np.float64))
    rows = np.array([np.zeros(d), np.ones(d), np.linspace(-1, 1, d)], dtype)
    found: dict[str, Any] = {}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for name in _METHODS:
            if hasattr(value, name):
                try:
                    answer = getattr(value, name)(rows)
                    found[name] = np.asarray(answer[0] if isinstance(answer, tuple) else answer)
                except Exception as error:
                    found[name] = error
    return found
