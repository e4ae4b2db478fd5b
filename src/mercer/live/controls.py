"""What the sliders of a live page can set: methods, their parameters, and the values that each may take.

Everything that a browser asks for passes `Controls.checked`. It accepts the names and the ranges of this module and
nothing else, so that no text of a browser reaches an estimator unseen.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer.kernels.resolve import resolve_kernel
from mercer.live.isomap_graph import read_cut, written_cut
from mercer.live.live_table import LiveTable

Settings = dict[str, Any]  # {"method": "kpca", "kernel": "rbf", "gamma": 0.1, "n_components": 5}

KERNELS = (
    *("rbf", "laplacian", "matern", "rational_quadratic", "poly", "sigmoid", "cosine", "linear", "chi2"),
    "arc_cosine",
)
_WIDE = ("rbf", "laplacian", "matern", "rational_quadratic", "poly", "sigmoid", "chi2")  # kernels with a gamma
_DECADES = 3  # a slider for gamma reaches this many powers of ten to either side of its first value
EXACT_ROWS = 6_000  # up to which paths from all rows take seconds
_SAMPLE = 700  # rows that the first value of gamma is taken from: of more, distances load compiled code
ADDED = ("hidden", "placed", "joined")  # what becomes of rows that can be added
METHODS = {"kpca": "Kernel PCA", "pca": "PCA", "isomap": "Isomap", "tsne": "t-SNE", "sne": "SNE"}


@dataclass(frozen=True)
class Control:
    """One setting.

    kind : "choice", "whole" (numbers), "log" (positive numbers, on a logarithmic slider), "edges" (cut from a graph)
    first, low, high : where a slider begins and ends; by kernel, if `ranges` has the kernel that is set
    only : the values of another setting for which this one has an effect, such as {"kernel": ("poly",)}
    """

    name: str
    label: str
    kind: str
    help: str
    first: Any = None
    low: float = 0.0
    high: float = 0.0
    choices: tuple[str, ...] = ()
    ranges: Mapping[str, tuple[float, float, float]] = field(default_factory=dict)
    only: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def described(self) -> dict[str, Any]:
        """For the page, as JSON."""
        return {
            "name": self.name,
            "label": self.label,
            "kind": self.kind,
            "help": self.help,
            "first": self.first,
            "low": self.low,
            "high": self.high,
            "choices": list(self.choices),
            "ranges": {name: list(values) for name, values in self.ranges.items()},
            "only": {name: list(values) for name, values in self.only.items()},
        }


class Controls:
    """The settings that a table allows.

    >>> controls = Controls(LiveTable.of(np.random.default_rng(0).normal(size=(50, 3))))
    >>> controls.checked({"method": "isomap", "n_neighbors": 7})
    {'method': 'isomap', 'n_neighbors': 7, 'n_components': 2}
    """

    def __init__(self, table: LiveTable, first: Settings | None = None) -> None:
        self._first = first
        n, d = table.X.shape
        k = min(n - 1, 20)
        widths = _widths(table.X)
        added = () if table.more is None else (
            Control(
                "added", "added rows", "choice",
                "Placed: where the map of the other rows puts them. Joined: mapped together with them.",
                "hidden", high=table.rows - n, choices=ADDED,
            ),
        )  # fmt: skip
        few = Control("n_components", "components", "whole", "How many coordinates are computed.", min(2, k), 1, k)
        perplexity = min(30.0, max(1.5, (n - 1) / 3))
        least, most = (0 if n <= EXACT_ROWS else 50), min(n, 5_000)
        landmarks = () if n <= 50 else (
            Control(
                "landmarks", "landmarks", "whole", "Rows whose paths are computed; 0 stands for all rows.",
                0 if least == 0 else 1_000, least, most,
            ),
        )  # fmt: skip
        descent = (
            Control(
                "perplexity", "perplexity", "log", "How many neighbours of a row count.",
                perplexity, min(1.5, perplexity), max(perplexity, min(500.0, (n - 1) / 1.5)),
            ),
            Control(
                "exaggeration", "exaggeration", "log", "How much stronger rows attract each other than they should.",
                1.0, 1.0, 12.0,
            ),
        )  # fmt: skip
        methods: dict[str, tuple[Control, ...]] = {
            "kpca": (
                Control("kernel", "kernel", "choice", "Which rows count as alike.", "rbf", choices=KERNELS),
                Control(
                    "gamma", "γ", "log", "How fast likeness falls with distance. Large values look at near rows only.",
                    widths["rbf"][1], widths["rbf"][0], widths["rbf"][2], ranges=widths, only={"kernel": _WIDE},
                ),
                Control(
                    "degree", "degree", "whole", "The power of a polynomial.", 3, 1, 10, only={"kernel": ("poly",)}
                ),
                Control(
                    "n_components", "components", "whole", "How many coordinates are computed.", min(5, k), 1, k
                ),
            ),
            "pca": (Control("n_components", "components", "whole", few.help, min(2, k, d), 1, min(k, d)),),
            "isomap": (
                Control(
                    "n_neighbors", "neighbours", "whole", "Rows that each row is linked to.",
                    min(10, n - 1), 1, min(100, n - 1),
                ),
                few,
                *landmarks,
                Control("cut", "cut edges", "edges", "Edges taken out of the graph.", "", high=table.rows),
            ),
            "tsne": (
                *descent,
                Control("dof", "degrees of freedom", "log", "Below 1, clusters split further.", 1.0, 0.2, 10.0),
            ),
            "sne": descent,
        }  # fmt: skip
        self.methods = {name: (*own, *added) for name, own in methods.items()}

    def described(self) -> list[dict[str, Any]]:
        """The methods and their controls, for the page."""
        return [
            {"name": name, "title": METHODS[name], "controls": [each.described() for each in controls]}
            for name, controls in self.methods.items()
        ]

    def first(self) -> Settings:
        """What a live page begins with: what was asked for, as far as it is within the ranges."""
        if self._first is None or self._first.get("method") not in self.methods:
            return self.checked({"method": "kpca"})
        method, found = self._first["method"], {"method": self._first["method"]}
        for control in self.methods[method]:
            if control.name in self._first:
                with suppress(ValueError):
                    tried = found | {control.name: self._first[control.name]}
                    self.checked(tried)
                    found = tried
        return self.checked(found)

    def checked(self, given: Any) -> Settings:
        """The settings, complete and in order; ValueError for anything that is not one of them."""
        if not isinstance(given, Mapping):
            raise ValueError("Settings must be an object with names and values.")
        method = given.get("method")
        if not isinstance(method, str) or method not in self.methods:
            raise ValueError(f"Unknown method. Choose one of: {', '.join(self.methods)}.")
        controls = self.methods[method]
        known = {"method", *(control.name for control in controls)}
        if not known.issuperset(given):
            raise ValueError(f"{METHODS[method]} has no such setting. It has: {', '.join(sorted(known))}.")
        found: Settings = {"method": method}
        for control in controls:
            if all(found.get(name) in values for name, values in control.only.items()):
                value = _value(control, given.get(control.name), found.get("kernel"))
                if control.kind != "edges" or value:
                    found[control.name] = value
        return found


def _value(control: Control, given: Any, kernel: str | None) -> Any:
    low, first, high = control.ranges.get(kernel or "", (control.low, control.first, control.high))
    if given is None:
        return first
    if control.kind == "choice":
        if not isinstance(given, str) or given not in control.choices:
            raise ValueError(f"Unknown {control.name}. Choose one of: {', '.join(control.choices)}.")
        return given
    if control.kind == "edges":
        return written_cut(read_cut(given, round(high)))
    if isinstance(given, bool) or not isinstance(given, int | float) or not math.isfinite(given):
        raise ValueError(f"{control.name} must be a number.")
    slack = 1e-9 * abs(high)  # a browser rounds the ends of a slider
    if not low - slack <= given <= high + slack:
        raise ValueError(f"{control.name} = {given:g} must be from {low:g} to {high:g}.")
    given = min(max(given, low), high)
    return round(given) if control.kind == "whole" else float(given)


def _widths(X: Any) -> dict[str, tuple[float, float, float]]:
    """Kernel → the least, the first and the greatest gamma of its slider.

    The first is the rule that suits the kernel: of distances the median, of products 1/(columns · variance).
    """
    rows = np.sort(np.random.default_rng(0).permutation(X.shape[0])[:_SAMPLE])
    sample = X[rows]
    sample = sample.toarray() if hasattr(sample, "toarray") else sample
    found = {}
    for name in _WIDE:
        rule = "scale" if name in ("poly", "sigmoid") else "median"
        try:
            bound = resolve_kernel(name, rule).bind(sample)
            gamma = getattr(bound, "gamma", None) or 0.5 / bound.length_scale**2  # type: ignore[attr-defined]
        except (ValueError, ArithmeticError):  # such as χ² of negative numbers: the fit says what is wrong
            gamma = 1.0 / X.shape[1]
        gamma = float(f"{float(gamma):.3g}")  # a number that people can read
        found[name] = (gamma / 10**_DECADES, gamma, gamma * 10**_DECADES)
    return found
