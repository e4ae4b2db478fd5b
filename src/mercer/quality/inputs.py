"""Reading the data, the map and the labels, and how rows are compared."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_array

from mercer.backends import adopt, as_floats, is_foreign, is_torch, namespace, to_numpy
from mercer.graph.approximate_index import ApproximateIndex
from mercer.graph.block_index import BlockIndex
from mercer.graph.host_answers import HostAnswers
from mercer.graph.nearest_neighbors import build_index
from mercer.graph.precomputed_index import GraphIndex
from mercer.graph.row_checks import FLOATS

ExactIndex = BlockIndex | HostAnswers


def data_index(X: Any, metric: Any, metric_params: dict[str, Any] | None = None) -> ExactIndex:
    """The rows of X, prepared for queries of exact neighbours and distances; those of a tensor on its device."""
    X, _ = adopt(X)
    if is_torch(X):
        return HostAnswers(build_index(as_floats(X), metric=metric, metric_params=metric_params))
    X = to_numpy(X) if is_foreign(X) else X
    if sp.issparse(X) and isinstance(metric, str) and metric == "precomputed":
        raise ValueError(
            "A sparse graph of distances does not tell how far apart the other rows are, and scores need to know. Give "
            "the full matrix of distances, or the rows themselves and a metric."
        )
    index = build_index(X, metric=metric, metric_params=metric_params)
    if isinstance(index, ApproximateIndex):
        index = index.exact
    assert isinstance(index, BlockIndex) and not isinstance(index, GraphIndex)
    return index


def rows_of(index: Any, metric: Any, rows: np.ndarray) -> ExactIndex:
    """An index of some rows of another."""
    if isinstance(metric, str) and metric == "precomputed":
        return data_index((index.X if isinstance(index, HostAnswers) else index.D)[np.ix_(rows, rows)], metric)
    return data_index(index.X[rows], metric)


def map_index(Y: Any, like: Any = None) -> ExactIndex:
    """The points of a map, Euclidean; on the device of the tensor `like`, if that is one."""
    points: Any = checked_map(Y)
    given = like if like is not None else Y
    given = adopt(given)[0] if is_foreign(given) else given
    if is_torch(given):
        points = namespace(given).asarray(points, device=given.device)
    return data_index(points, "euclidean")


def checked_map(Y: Any) -> np.ndarray:
    """A map as a dense array (n, c) of floats, finite; one column may come as (n,)."""
    Y = to_numpy(Y.toarray() if sp.issparse(Y) else Y)
    if Y.ndim == 1 and Y.dtype.kind in "fiu":
        Y = Y[:, None]
    return np.ascontiguousarray(check_array(Y, dtype=FLOATS, input_name="Y"))


def refuse_other_length(n: int, m: int, what: str = "Y") -> None:
    if n != m:
        raise ValueError(f"X has {n:,} rows and {what} has {m:,}. They must describe the same rows, in the same order.")


def checked_neighbors(k: Any, n: int) -> int:
    """A number of neighbours for which ranks are defined: 1 ≤ k < n/2."""
    if not isinstance(k, Integral) or isinstance(k, bool) or int(k) < 1:
        raise ValueError(f"n_neighbors={k!r} must be a whole number ≥ 1.")
    most = most_neighbors(n)
    if most < 1:
        raise ValueError(f"Scores by neighbours need at least 3 rows, but there are only {n}.")
    if int(k) > most:
        raise ValueError(
            f"n_neighbors={k} should be less than n_samples / 2 = {n / 2:g}: for {n} rows it can be at most {most}."
        )
    return int(k)


def most_neighbors(n: int) -> int:
    """The largest k < n/2."""
    return (n - 1) // 2


def checked_labels(labels: Any, n: int, what: str = "the map") -> np.ndarray:
    """(n,) whole numbers, one per class; −1 for a missing label (None, NaN, NaT, NA)."""
    labels = to_numpy(labels)
    if labels.shape != (n,):
        raise ValueError(f"labels have shape {labels.shape}, but {what} has {n:,} rows: give one label per row.")
    if labels.dtype.kind == "f":
        known = labels[np.isfinite(labels)]
        if np.any(known != np.floor(known)):
            raise ValueError(
                "labels are numbers on a scale, not classes: purity counts neighbours of the same class. Cut them into "
                "classes (numpy.digitize), or leave labels out."
            )
        missing = ~np.isfinite(labels)
    else:
        missing = without_label(labels)
    classes = np.full(n, -1, np.int64)
    present = labels[~missing]
    classes[~missing] = np.unique(present.astype(str) if labels.dtype.kind in "OT" else present, return_inverse=True)[1]
    return classes


def without_label(labels: np.ndarray) -> np.ndarray:
    """(n,), whether a label is missing: None, NaN, NaT or pandas' NA.

    >>> without_label(np.array(["a", None, float("nan")], object)).tolist()
    [False, True, True]
    """
    if labels.dtype.kind in "fmM":
        return np.isnan(labels)
    if labels.dtype.kind not in "OT":
        return np.zeros(len(labels), bool)
    return np.array([_is_missing(label) for label in labels], bool)


def _is_missing(label: Any) -> bool:
    try:
        return label is None or not bool(label == label)
    except TypeError:  # pandas' NA: whether it equals itself is unknown
        return True


def _is_list_of_texts(X: Any) -> bool:
    return isinstance(X, (list, tuple)) and bool(X) and isinstance(X[0], str)
