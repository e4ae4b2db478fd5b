"""What the parts of an object must be to each other, where sizes with names do not say it: see `models_classes`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.models.checks import Scope, Wrong, a, number

Parts = dict[str, Any]
_WIDTHS = ("gamma", "length_scale")
_METRIC_NUMBERS = ("p", "V", "VI", "w")


def bound(value: Any, scope: Scope) -> None:
    """A kernel with all its numbers."""
    a("kernel")(value, scope)
    for kernel in _inside(value):
        for name in _WIDTHS:
            if hasattr(kernel, name):
                try:
                    number(getattr(kernel, name), scope)
                except Wrong as wrong:
                    raise Wrong(f"has a {name} that {wrong}") from wrong


def _inside(kernel: Any) -> Iterator[Any]:
    """A kernel and those that it is made of."""
    yield kernel
    if is_dataclass(kernel):
        for field in fields(kernel):
            part = getattr(kernel, field.name)
            if hasattr(part, "tile"):
                yield from _inside(part)


def expansion_fits(params: Parts, state: Parts) -> None:
    """Kernels of strings compare strings, kernels of vectors vectors of the coefficients' precision."""
    samples = params["anchors"] if "anchors" in params else params["X"]
    coefs = params.get("coefs")
    is_text = samples.dtype.kind == "O"
    for kernel in _inside(params["kernel"]):
        if (kernel.accepts == "strings") != is_text:
            raise Wrong("the kernel and the samples do not go together")
        if type(kernel).__name__ == "HalfSquaredDistance":
            _refuse_metric(kernel.params, samples.shape[1])
        shift = getattr(kernel, "shift", None)
        if shift is not None and params["kernel"] is kernel and len(shift) != samples.shape[1]:
            raise Wrong("the kernel's shift is not as wide as the samples")
    if coefs is not None and not is_text and coefs.dtype != samples.dtype:
        raise Wrong(f"samples of {samples.dtype} have coefficients of {coefs.dtype}")


def kernel_pca_fits(params: Parts, state: Parts) -> None:
    """Rows are as wide as the data, but for a kernel that is given: there none may be kept."""
    X, kernel = state["X_fit_"], state["kernel_"]
    width = X.shape[1] if X.ndim == 2 else 1
    if width != state["n_features_in_"] and not (type(kernel).__name__ == "Precomputed" and width == 0):
        raise Wrong(f"X_fit_ has {width} columns, and {state['n_features_in_']} were fitted")
    count = len(state["_with_mean"].coefs)
    if state["landmarks_"] is None and count != X.shape[0]:
        raise Wrong("the expansion has other rows than the fit")
    if type(kernel).__name__ == "Precomputed" and count != state["n_features_in_"]:
        raise Wrong("new rows of the kernel would have other columns than the fit has rows")


def isomap_fits(params: Parts, state: Parts) -> None:
    """Landmarks are fitted rows; the coefficients are those of the landmarks, or of all fitted rows."""
    landmarks, rows = state["landmarks_"], state["fitted_rows_"]
    if landmarks is not None and not np.isin(landmarks, rows).all():
        raise Wrong("landmarks_ has rows that were not fitted")
    if len(state["kernel_pca_"].X_fit_) != len(rows if landmarks is None else landmarks):
        raise Wrong("kernel_pca_ has other rows than the graph")
    if params.get("metric") == "precomputed" and state["_X"].shape[0] != state["n_features_in_"]:
        raise Wrong("distances that are given are square")
    if len(state["embedding_"]) not in (len(rows), state["_X"].shape[0]):
        raise Wrong("embedding_ has other rows than the data")
    if sp.csgraph.connected_components(state["_geodesics"].graph, directed=False)[0] != 1:
        raise Wrong("the graph is not connected")


def affinities_fit(params: Parts, state: Parts) -> None:
    """New rows need an index and a law, or neither is there; probabilities are not negative."""
    if (params["index"] is None) != (params["law"] is None):
        raise Wrong("an index comes with a law")
    if params["P"].dtype != np.float32 or params["P"].data.min(initial=0.0) < 0:
        raise Wrong("P holds no probabilities")


def metric_fits(params: Parts, state: Parts) -> None:
    _refuse_metric(params["params"], params["X"].shape[1])


def _refuse_metric(params: Any, width: int) -> None:
    """SciPy's compiled distances read variances and weights as wide as the rows, whatever they were given."""
    if not isinstance(params, dict) or set(params) - set(_METRIC_NUMBERS):
        raise Wrong(f"a metric has no parameters but {', '.join(_METRIC_NUMBERS)}")
    for name, value in params.items():
        shape = {"p": (), "V": (width,), "w": (width,), "VI": (width, width)}[name]
        given = np.asarray(value)
        if given.shape != shape or given.dtype.kind not in "fiu" or not np.isfinite(given).all():
            raise Wrong(f"{name} of a metric on {width} columns must be numbers of the shape {shape}")


def cells_fit(params: Parts, state: Parts) -> None:
    """Each cell knows all cells, from the nearest on."""
    count, nearest = len(params["centres"]), params["nearest"]
    good = isinstance(nearest, np.ndarray) and nearest.shape == (count, count) and nearest.dtype.kind in "iu"
    if not good or not np.array_equal(np.sort(nearest, axis=1), np.tile(np.arange(count), (count, 1))):
        raise Wrong("nearest must name every cell in every row")


def graph_fits(params: Parts, state: Parts) -> None:
    """Lengths of edges are not negative, and there is a vertex."""
    graph = params["graph"]
    if not graph.shape[0] or graph.data.min(initial=0.0) < 0:
        raise Wrong("the graph has no vertices, or edges of negative length")


def map_fits(params: Parts, state: Parts) -> None:
    """Places and what moves them are of one precision."""
    parts = [params[name] for name in ("Y", "update", "gains")]
    if not parts[0].size or len({part.dtype for part in parts}) != 1:
        raise Wrong("places, updates and gains do not go together")


def fourier_fits(params: Parts, state: Parts) -> None:
    omega = getattr(state["_map"], "omega", None)
    if omega is not None and 2 * len(omega) != state["n_components_"]:
        raise Wrong("n_components_ is not the number of sines and cosines")


def profiled(params: Parts, state: Parts) -> None:
    """The search goes down a slope, and distances are turned round: k must be a profile of ‖x − y‖ or ⟨x, y⟩."""
    used = [params["fitted"].kernel, params["fitted"].expansion.kernel]
    if "inverse" in params:
        used.append(params["inverse"].kernel)
    if not all(getattr(kernel, "reads", "") in ("sqeuclidean", "euclidean", "dot") for kernel in used):
        raise Wrong("the kernel is no function of a distance or of an inner product")
    if params.get("q", 1) > len(params["fitted"].Z):
        raise Wrong(f"there are no {params['q']} neighbours")


def classifier_fits(params: Parts, state: Parts) -> None:
    """A row of coefficients for each class, or one for two."""
    classes = state["classes_"] if "classes_" in state else state["_label_binarizer"].classes_
    rows = 1 if state["coef_"].ndim == 1 else len(state["coef_"])
    if len(classes) != (2 if rows == 1 else rows) or np.size(state["intercept_"]) != rows:
        raise Wrong(f"there are {len(classes)} classes and {rows} rows of coefficients")
