"""The base of all estimators: they read data of any array type and return results of the same type."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from functools import cache
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import validate_data

from mercer.backends import adopt, as_floats, is_foreign, namespace, placement
from mercer.estimators.fitted_map import offer_of_map
from mercer.kernels.discrete import as_strings
from mercer.memory import available_bytes
from mercer.numeric_input import refuse_not_numeric, sorted_columns
from mercer.planning import Alternative, Footprint, Plan, limit_of
from mercer.streams.dask_rows import DaskRows, accepts_dask, is_dask
from mercer.streams.local_driver import is_row_source, row_count, workers_of
from mercer.streams.mapped_rows import MappedRows
from mercer.streams.row_sample import rows_at
from mercer.streams.row_source import RowSource
from mercer.streams.source_landmarks import given_or_drawn
from mercer.streams.source_views import columns_named

FLOATS = (np.float64, np.float32)

_PLAIN = {int, float, str, bool, type(None)}
_REMEMBERED = 1000  # combinations of parameters: more than a search over a grid usually tries, in less than 1 MB
_accepted: set[tuple[Any, ...]] = set()


class Saved:
    """An estimator that can be saved (abstract). Its class declares the fields of its model files in `_saved`."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write this estimator, fitted or not, to a file that `mercer.load` reads. The file holds data, never code.

        The loaded estimator gives the same bits. A model fitted on tensors is saved with NumPy arrays. An existing file
        is replaced only when the new one is complete. You get a ModelFileError if a kernel, a metric or a callback is a
        function, or if model files cannot hold the class of a part.
        """
        from mercer.models.model_file import save_model  # loaded late: most programs never save

        save_model(self, path)


_OF_ROWS = {  # methods that may take and give sources of rows
    "fit",
    "fit_transform",
    "fit_predict",
    "transform",
    "transform_y",
    "predict",
    "predict_proba",
    "predict_log_proba",
    "decision_function",
    "score_samples",
    "squared_distance",
    "correlations",
    "score",
}


class Planned:
    """An estimator with `plan(X)`, which says what a fit would do and how much memory it would take (abstract).

    Methods that take sources of rows take dask arrays too, and give dask arrays for them.
    """

    def __init_subclass__(cls, **settings: Any) -> None:
        streamed = {name: vars(cls)[name] for name in _OF_ROWS & set(vars(cls))}
        super().__init_subclass__(**settings)
        for name, method in streamed.items():
            if hasattr(method, "fn"):  # scikit-learn's descriptor of a method that only some instances have
                method.fn = accepts_dask(method.fn, method.fn)
            else:
                setattr(cls, name, accepts_dask(vars(cls)[name], method))

    def plan(self, X: Any, y: Any = None) -> Plan:
        """What `fit` would do with this data: the method and why, its memory, and what to change if that is too much.

        Nothing is fitted, and nothing large is allocated. `fit` makes the same plan, and raises MemoryLimitError if
        `plan(X).fits` is False.
        """
        if is_dask(X):
            return self.plan(DaskRows(X), y)
        if is_row_source(X):
            return self._source_plan(X, y)
        X = stand_in(X)
        return self._with_alternatives(self._draft(X, y), X, y)

    def _source_plan(self, source: RowSource, y: Any = None) -> Plan:
        """The plan for rows that are streamed: the same bytes whatever their number."""
        raise TypeError(no_streaming(self))

    @abstractmethod
    def _draft(self, X: Any, y: Any = None) -> Plan:
        """The plan for data of this shape and type, without alternatives."""

    def _lighter(self, plan: Plan) -> list[dict[str, Any]]:
        """Changes of parameters that would need less memory than the plan, the smallest change first."""
        return []

    def _with_alternatives(self, plan: Plan, X: Any, y: Any = None) -> Plan:
        """The plan itself if it fits; otherwise the plan with those changes of `_lighter` that would fit."""
        if plan.fits:
            return plan
        found = []
        for change in self._lighter(plan):
            other = copy(self)
            other.set_params(**change)  # type: ignore[attr-defined]
            draft = other._draft(X, y)
            if draft.fits:
                found.append(Alternative(change, draft.needed_bytes))
        return replace(plan, alternatives=tuple(found))

    def _checked(self, plan: Plan, X: Any, y: Any = None) -> Plan:
        """The plan. Raises MemoryLimitError, which names alternatives, if it does not fit."""
        self._with_alternatives(plan, X, y).refuse()
        return plan


def stand_in(X: Any) -> Any:
    """X itself if it is an array; otherwise an array of its shape that takes no memory, for code that reads shapes.

    Data frames and integers become floats in a fit, so they are planned as float64.
    """
    if is_foreign(X) or hasattr(X, "indptr") or (type(X) is np.ndarray and X.dtype in FLOATS):
        return X
    shape = X.shape if hasattr(X, "shape") else np.asarray(X, object if _are_strings(X) else None).shape
    if not shape:
        raise ValueError(f"Expected 2D array, got {type(X).__name__} instead: a fit needs rows of samples.")
    return np.broadcast_to(np.float64(0), shape)


def no_streaming(estimator: Any) -> str:
    """Why an estimator does not take a source of rows, and what does."""
    if type(estimator)._source_plan is not Planned._source_plan:
        return (
            f"This method of {type(estimator).__name__} needs all rows in memory, and X is a source of rows. Read some "
            "of them, such as X.chunk(0)."
        )
    return (
        f"{type(estimator).__name__} needs all rows in memory, and X is a source of rows. Read some of them, such as "
        "X.chunk(0), or take an estimator that streams: PCA; KernelPCA, KernelMap, KernelDiscriminantAnalysis, "
        "KernelCCA or Kernelized with a rank; NoveltyDetector; TSNE, SNE or Isomap with landmarks."
    )


def without_names(model: Any) -> Any:
    """A fitted model that takes arrays without a warning that they lack the names of the fitted columns."""
    made = copy(model)
    made.__dict__.pop("feature_names_in_", None)
    return made


def fitted_columns(estimator: Any, source: RowSource) -> RowSource:
    """The columns of a source that an estimator was fitted to, by their names if both have names."""
    names, known = list(getattr(estimator, "feature_names_in_", ())), source.feature_names
    if names and known is not None and list(known) != names:
        missing = sorted(set(names) - set(known))
        if not missing:
            return columns_named(source, names)
        raise ValueError(  # in scikit-learn's words, which programs may look for
            "The feature names should match those that were passed during fit. The source has no column "
            f"{missing[0]!r}, which {type(estimator).__name__} was fitted to."
        )
    if source.n_features == estimator.n_features_in_:
        return source
    raise ValueError(
        f"X has {source.n_features} features, but {type(estimator).__name__} is expecting {estimator.n_features_in_} "
        "features as input."
    )


def refuse_containers(X: Any) -> None:
    """Raise TypeError for an object that holds a matrix but is not one, and name the part to pass instead."""
    kind = type(X)
    if (kind.__module__.partition(".")[0], kind.__name__) in _CONTAINERS:
        part = _CONTAINERS[kind.__module__.partition(".")[0], kind.__name__]
        raise TypeError(f"X is of the type {kind.__name__}, which is not a matrix. Pass {part} instead.")


_CONTAINERS = {  # (package, class) → what to pass; nothing is imported to recognise them
    ("anndata", "AnnData"): "X.X, or a layer of it such as X.obsm['X_pca'],",
    ("mudata", "MuData"): "the matrix of one modality, such as X['rna'].X,",
    ("polars", "LazyFrame"): "X.collect()",
}


def _are_strings(X: Any) -> bool:
    return isinstance(X, list | tuple) and bool(X) and isinstance(X[0], str)


class Estimator(Planned, Saved, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """The base of Mercer's transformers (abstract: never built itself)."""

    @property
    def _repr_html_(self) -> Callable[[], str]:
        """scikit-learn's picture of the estimator; once a map is fitted, with a line that says how to open it."""
        own = super()._repr_html_  # AttributeError if scikit-learn is told to show text
        return lambda: own() + offer_of_map(self)

    def _repr_mimebundle_(self, **settings: Any) -> dict[str, Any]:
        bundle: dict[str, Any] = super()._repr_mimebundle_(**settings)
        if "text/html" in bundle:
            bundle["text/html"] += offer_of_map(self)
        return bundle

    @classmethod
    @cache
    def _get_param_names(cls) -> list[str]:
        """scikit-learn's answer, cached: reading the constructor's signature in every fit takes 1/20 of a small one."""
        return super()._get_param_names()

    def _validate_params(self) -> None:
        """scikit-learn's check of the parameters, once per combination of values: it takes 1/20 of a small fit."""
        values = [getattr(self, name) for name in self._get_param_names()]
        kinds = tuple(map(type, values))
        if not _PLAIN.issuperset(kinds):  # arrays, kernels and estimators may change after they were checked
            super()._validate_params()
            return
        key = (type(self), kinds, tuple(values))  # with the types, since 1, 1.0 and True are equal
        if key not in _accepted:
            super()._validate_params()
            if len(_accepted) >= _REMEMBERED:
                _accepted.clear()
            _accepted.add(key)

    def _forget(self, *names: str) -> None:
        """Delete attributes that an earlier fit may have left and that the coming fit may not set."""
        for name in names:
            self.__dict__.pop(name, None)

    def _read_source(self, source: RowSource, least: int = 1) -> None:
        """Note the columns of a source that is to be fitted; ValueError for fewer than `least` rows."""
        if row_count(source) < least:
            raise ValueError(
                f"Found a source with {row_count(source)} row(s) while a minimum of {least} is required by "
                f"{type(self).__name__}."
            )
        self._forget("feature_names_in_")
        self.n_features_in_ = source.n_features
        if source.feature_names is not None:
            self.feature_names_in_ = np.asarray(source.feature_names, object)

    def _mapped(
        self,
        source: RowSource,
        columns: int,
        function: Callable[[Any], Any],
        names: list[str] | None = None,
        dtype: Any = None,
        of_tensors: bool = False,
        vector: bool = False,
    ) -> MappedRows:
        """The rows of a source as `function` maps them, computed when they are asked for.

        names : of the columns; by default those that `transform` gives
        of_tensors : whether `function` takes rows on a device as they are
        vector : whether `function` gives one number per row
        """
        names = [str(name) for name in self.get_feature_names_out()] if names is None else names
        if getattr(function, "__self__", None) is self:
            function = getattr(without_names(self), function.__name__)
        return MappedRows(fitted_columns(self, source), function, columns, names, dtype, of_tensors, vector)

    def _fit_landmarks(self, source: RowSource) -> None:
        """Fit to the landmarks of a source alone, whose numbers become `source_rows_`; all other rows are placed."""
        self._refuse_no_landmarks()
        places = given_or_drawn(source, self.landmarks, self.random_state)
        inner = copy(self)
        inner.landmarks = None
        inner.fit(rows_at(source, places))
        self.__dict__.update({name: value for name, value in vars(inner).items() if name != "landmarks"})
        self.source_rows_ = places
        if source.feature_names is not None:
            self.feature_names_in_ = np.asarray(source.feature_names, object)

    def _landmark_plan(self, source: RowSource) -> Plan:
        """The plan for the landmarks of a source, with the chunks that the other rows come in."""
        self._refuse_no_landmarks()
        given, n = self.landmarks, row_count(source)
        m = min(int(given), n) if isinstance(given, Integral) else len(given)
        inner = copy(self)
        inner.landmarks = None
        plan = inner._draft(np.broadcast_to(np.zeros((), source.dtype), (m, source.n_features)))
        chunks = 2 * max(source.lengths, default=0) * source.n_features * np.dtype(source.dtype).itemsize
        footprint = Footprint({**plan.footprint.held, "two chunks": chunks}, plan.footprint.steps)
        return replace(plan, rows=n, reason=f"a map of {m:,} landmarks: {plan.reason}", footprint=footprint)

    def _refuse_no_landmarks(self) -> None:
        if self.landmarks is None:
            raise ValueError(
                f"{type(self).__name__} makes a map of some of the rows of a source and places the others in it. Say "
                "how many: landmarks=10_000, or give row numbers, such as those of mercer.streams.landmark_places."
            )

    def _streaming_plan(self, source: RowSource, method: str, reason: str, footprint: Footprint, code: int) -> Plan:
        given = getattr(self, "memory_limit", None)
        limit = limit_of(given, available_bytes())
        workers = workers_of([source])
        reason += "" if workers is None else f", on {workers.name}"
        name, n = type(self).__name__, row_count(source)
        return Plan(name, n, method, reason, footprint, limit, given is not None, code_bytes=code)

    def _strings(self, X: Any, least: int = 1) -> np.ndarray:
        """One string per sample, (n,), for kernels of strings. Raises ValueError for fewer than `least` samples."""
        X = np.asarray(as_strings(X), dtype=object)
        if len(X) < least:
            raise ValueError(
                f"Found array with {len(X)} sample(s) while a minimum of {least} is required by {type(self).__name__}."
            )
        self.n_features_in_ = 1
        return X

    def _refuse_foreign(self, X: Any, but: Callable[[Any], bool] = lambda X: False) -> None:
        """Raise TypeError for arrays of other libraries, for a method that cannot compute with them.

        but : tells those apart that it can compute with
        """
        if is_foreign(X) and not but(X):
            raise TypeError(
                f"{type(self).__name__} reads NumPy arrays, data frames and CSR matrices, not {type(X).__name__}; "
                "convert the data first, a tensor by X.cpu().numpy()."
            )

    def _refuse_other_place(self, X: Any, here: Any) -> None:
        """Raise ValueError if X is of another array type, or on another device, than the fitted rows `here`."""
        if is_foreign(here) != is_foreign(X) or (is_foreign(X) and placement(here) != placement(X)):
            raise ValueError(
                f"{type(self).__name__} was fitted on {_place_name(here)} and now given {_place_name(X)}; "
                "convert one of them."
            )

    def _read(
        self, X: Any, *, reset: bool, accept_sparse: Any = "csr", **checks: Any
    ) -> tuple[Any, Callable[[Any], Any]]:
        """X checked and converted, and the function that gives a result the type of X.

        NumPy arrays, lists, data frames and sparse matrices go through scikit-learn's own validation, unless
        `_is_plain` shows that it is not needed. Tensors and other array-API arrays stay on their device and must obey
        the same rules.
        """
        if is_row_source(X):
            raise TypeError(no_streaming(self))
        refuse_containers(X)
        X, restore = adopt(X)
        if is_foreign(X):
            return self._check_foreign(X, reset=reset, **checks), restore
        if self._is_plain(X, reset=reset, **checks):
            self.n_features_in_ = X.shape[1]
            return X.copy(order="K") if checks.get("copy") else X, restore
        refuse_not_numeric(X)
        X = sorted_columns(X)
        checks = {"dtype": FLOATS, "accept_sparse": accept_sparse} | checks
        return validate_data(self, X, reset=reset, **checks), restore

    def _is_plain(self, X: Any, *, reset: bool, copy: bool = False, ensure_min_samples: int = 1, **others: Any) -> bool:
        """Whether X is a matrix of finite floats of the right shape, as most data is.

        scikit-learn's validation would accept it unchanged, but would take a twentieth of a small fit to do so.
        """
        if type(X) is not np.ndarray or X.dtype not in FLOATS or X.ndim != 2 or others:
            return False
        if X.shape[0] < max(1, ensure_min_samples) or X.shape[1] < 1 or hasattr(self, "feature_names_in_"):
            return False
        if not reset and X.shape[1] != getattr(self, "n_features_in_", None):
            return False
        with np.errstate(over="ignore", invalid="ignore"):
            return bool(np.isfinite(X.sum()))

    def _check_foreign(
        self,
        X: Any,
        *,
        reset: bool,
        copy: bool = False,
        ensure_min_samples: int = 1,
        ensure_min_features: int = 1,
        ensure_all_finite: bool = True,
        **_: Any,
    ) -> Any:
        xp = namespace(X)
        name = type(self).__name__
        if X.ndim != 2:
            raise ValueError(f"Expected 2D array, got {X.ndim}D array instead: {name} needs rows of samples.")
        X = as_floats(X)
        n, d = X.shape
        for count, least, what in ((n, ensure_min_samples, "sample"), (d, ensure_min_features, "feature")):
            if count < least:
                raise ValueError(
                    f"Found array with {count} {what}(s) (shape={tuple(X.shape)}) while a minimum of {least} "
                    f"is required by {name}."
                )
        if ensure_all_finite and not bool(xp.all(xp.isfinite(X))):
            raise ValueError(f"Input X contains NaN or infinity. {name} does not accept missing values.")
        if reset:
            self.n_features_in_ = d
        elif d != self.n_features_in_:
            raise ValueError(f"X has {d} features, but {name} is expecting {self.n_features_in_} features as input.")
        return xp.asarray(X, copy=True) if copy else X


def _place_name(X: Any) -> str:
    kind = f"{type(X).__module__.partition('.')[0]} arrays"
    return f"{kind} on {X.device}" if is_foreign(X) else kind
