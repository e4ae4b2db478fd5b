"""One class that a model file may name: where it lives, what it is made of, how it is taken apart and put together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from mercer.models.checks import Check, Scope, Wrong, finite, floats, number, size, strings, text, whole, word

Parts = dict[str, Any]


@dataclass(frozen=True)
class Entry:
    """One class.

    home : "module:name"
    params : a check for each argument of the constructor; None for estimators, whose parameters may be any values
        while they are not fitted, and are held to scikit-learn's own constraints when they are
    state : a check for each attribute of a fitted one; those with a question mark need not be there
    also : what the parts must be to each other
    """

    home: str
    params: dict[str, Check] | None = None
    state: dict[str, Check] | None = None
    also: Callable[[Parts, Parts], None] | None = None
    public: bool = False

    def load(self) -> type:
        module, _, name = self.home.partition(":")
        return getattr(import_module(module), name)

    def take_apart(self, value: Any) -> tuple[Parts, Parts]:
        """Parameters and state; a class with something redundant, or built when needed, leaves it out by `_saved`."""
        own = getattr(value, "_saved", None)
        if self.params is not None:
            return (own() if own else {name: getattr(value, name) for name in self.params}), {}
        params = value.get_params(deep=False)
        if own:
            return params, own()
        made = vars(type(value)(**params))  # some of scikit-learn's constructors set more than their parameters
        return params, {name: part for name, part in vars(value).items() if name not in made}

    def check(self, params: Parts, state: Parts, scope: Scope) -> None:
        """`Wrong` where parts are missing, unknown, or not what they must be."""
        if self.params is not None:
            _check_all(self.params, params, scope)
        elif unknown := set(params) - set(self.load()._get_param_names()):  # type: ignore[attr-defined]
            raise Wrong(f"{_some(unknown)} is no parameter of it")
        rest = {name: part for name, part in state.items() if name not in _CONFIG}
        for name in set(state) & set(_CONFIG):
            _CONFIG[name](state[name], scope)
        if rest:
            _check_all(self.state or {}, rest, scope)
        if self.also is not None and (rest or self.params is not None):
            self.also(params, rest)

    def put_together(self, params: Parts, state: Parts) -> Any:
        cls: Any = self.load()
        if self.params is not None:
            return cls._restored(**params) if hasattr(cls, "_restored") else cls(**params)
        value = cls(**params)
        if set(state) - set(_CONFIG):
            value._validate_params()
        if hasattr(value, "_restore"):
            value._restore(state)
        else:
            value.__dict__.update(state)
        return value


def _check_all(checks: dict[str, Check], parts: Parts, scope: Scope) -> None:
    names = {name.rstrip("?"): check for name, check in checks.items()}
    if unknown := set(parts) - set(names):
        raise Wrong(f"it has {_some(unknown)}, which none of its kind has")
    if missing := {name for name in checks if not name.endswith("?")} - set(parts):
        raise Wrong(f"{_some(missing)} is missing")
    for name, check in names.items():
        if name in parts:
            try:
                check(parts[name], scope)
            except Wrong as wrong:
                raise Wrong(f"{name} {wrong}") from wrong


def _some(names: set[str]) -> str:
    return repr(min(names)[:60])


def _output_config(value: Any, scope: Scope) -> None:
    if not isinstance(value, dict) or set(value) - {"transform"}:
        raise Wrong("must say what transform gives")
    for kind in value.values():
        word("default", "pandas", "polars")(kind, scope)


_CONFIG: dict[str, Check] = {"_sklearn_output_config": _output_config}  # what an estimator has before it is fitted


def ours(module: str, name: str, *parts: Any, **more: Any) -> Entry:
    """A class of Mercer's."""
    return Entry(f"mercer.{module}:{name}", *parts, **more)


def numbers(*names: str) -> dict[str, Check]:
    """The same line for several numbers."""
    return dict.fromkeys(names, number)


FARTHEST = 1e12  # coordinates of a map: beyond, it has run away
READ: dict[str, Check] = {"n_features_in_": size("d"), "feature_names_in_?": strings("d")}
AXES: dict[str, Check] = {  # of a PCA, ours or scikit-learn's
    **READ,
    "n_samples_": whole(),
    "n_components_": size("k"),
    "mean_": floats("d"),
    "components_": floats("k", "d"),
    "explained_variance_": floats("k"),
    "explained_variance_ratio_": floats("k"),
    "singular_values_": floats("k"),
    "noise_variance_": finite,
    "_fit_svd_solver": text,
}
