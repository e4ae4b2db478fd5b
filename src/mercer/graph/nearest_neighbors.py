"""Nearest neighbours by any metric: one index, exact or with a measured recall, and the rule that chooses the method.

tiles        Euclidean, cosine and correlation: products of matrices; pairs that rounding leaves undecided, exactly
kd_tree      Minkowski distances in few dimensions
ball_tree    the other true metrics of scikit-learn
brute        tiles if the metric has them, otherwise scikit-learn's distances, a block at a time
approximate  Euclidean, cosine and correlation in very large data, with the recall measured
precomputed  distances that the user gives

The index of a tensor computes on the tensor's device, and its answers are tensors there.
"""

from __future__ import annotations

from typing import Any

import scipy.sparse as sp
from sklearn.neighbors import VALID_METRICS, VALID_METRICS_SPARSE

from mercer.amounts import amount
from mercer.backends import is_torch
from mercer.graph.approximate_index import ApproximateIndex
from mercer.graph.metric_index import KernelIndex, MetricIndex
from mercer.graph.neighbor_index import NeighborIndex, Neighbors
from mercer.graph.precomputed_index import GraphIndex, MatrixIndex
from mercer.graph.row_checks import check_rows, refuse_foreign
from mercer.graph.tensor_blocks import TensorKernelIndex, TensorMatrixIndex, TensorMetricIndex, tensors
from mercer.graph.tensor_index import ApproximateTensorIndex, TensorIndex
from mercer.graph.tile_index import METRICS as TILED
from mercer.graph.tile_index import TileIndex
from mercer.graph.tree_index import BallTreeIndex, KDTreeIndex
from mercer.kernels import Kernel

__all__ = ["METHODS", "NeighborIndex", "Neighbors", "build_index", "choose_method"]

METHODS = ("auto", "tiles", "kd_tree", "ball_tree", "brute", "approximate")
EXACT_FLOPS = 2.5e12  # n²d up to which all pairs are compared: about half a minute on one core
_CARD = 50  # a card compares this many times as many pairs as a few cores do in the same time
_TREE_WIDTH_ELSE = 15  # columns up to which a tree beats all pairs for a metric without tiles
_POWERS = {"euclidean": 2.0, "l2": 2.0, "manhattan": 1.0, "l1": 1.0, "cityblock": 1.0, "chebyshev": float("inf")}


def choose_method(
    n: int,
    d: int,
    metric: Any = "euclidean",
    *,
    p: float = 2,
    sparse: bool = False,
    weighted: bool = False,
    exact_flops: float = EXACT_FLOPS,
) -> tuple[str, str]:
    """The method that "auto" takes for n rows of d columns, and why. It compares all pairs up to n²d = exact_flops.

    >>> choose_method(100_000, 3)[0], choose_method(10_000, 50)[0], choose_method(10_000, 50, "braycurtis")[0]
    ('kd_tree', 'tiles', 'brute')
    """
    metric, p = _canonical(metric, p, weighted)
    shape = f"{amount(n, 'row')} of {amount(d, 'column')}"
    if metric in TILED and (metric == "sqeuclidean" or metric not in _POWERS or sparse or d > _tree_width(n)):
        if n * n * d > exact_flops and not sparse:
            return "approximate", f"all pairs of {shape} would take too long; the recall is measured"
        return "tiles", f"products of matrices are fastest for {shape}, and exact"
    if metric in (*_POWERS, "minkowski") and p >= 1 and d <= _TREE_WIDTH_ELSE and not sparse and not weighted:
        return "kd_tree", f"a tree is fastest for {shape}, and exact"
    if metric == "haversine":
        return "ball_tree", "distances on a sphere need a ball tree"
    return "brute", f"the metric {metric!r} is computed for all pairs"


def _tree_width(n: int) -> int:
    """The most columns for which a tree beats tiles, measured on Gaussian rows, the worst case for trees."""
    return 6 if n < 20_000 else 8


def build_index(
    X: Any,
    *,
    metric: Any = "euclidean",
    p: float = 2,
    metric_params: dict[str, Any] | None = None,
    method: str = "auto",
    n_jobs: int | None = None,
    random_state: Any = None,
    exact_flops: float = EXACT_FLOPS,
) -> NeighborIndex:
    """Prepare the rows of X for searches of neighbours.

    X : (n, d), dense or CSR; strings for a kernel of strings; for "precomputed" a square matrix of distances or a
        sparse graph of them, in which a stored zero is a distance and +∞ is not an edge. Or a dense torch tensor, for
        Euclidean and other Minkowski distances, cosine, correlation, a Kernel and "precomputed"
    metric : a name that scikit-learn knows, a function of two rows, "precomputed", or a Kernel, whose distance is
        √(k(x, x) − 2 k(x, y) + k(y, y))
    p : the power of metric="minkowski"
    metric_params : further parameters of the metric
    method : one of `METHODS`
    random_state : the seed of "approximate"; None is the seed 0
    exact_flops : "auto" compares all pairs if n²d is at most this, or 50 times this on a GPU

    A search for all rows costs n²d operations in float32 if all pairs are compared, and about n log n distances with a
    tree in few dimensions. It takes memory for the answer, 2 n k numbers, and for some tiles.

    >>> index = build_index([[0.0], [1.0], [3.0]])
    >>> index.neighbors(1).indices.tolist()
    [[1], [0], [1]]

    `n_jobs` is the number of threads; None is all cores.
    """
    if method not in METHODS:
        raise ValueError(f"Unknown method {method!r}. Choose one of: {', '.join(METHODS)}.")
    if is_torch(X):
        return _tensor_index(X, metric, p, dict(metric_params or {}), method, n_jobs, random_state, exact_flops)
    if isinstance(metric, Kernel) or (isinstance(metric, str) and metric == "precomputed"):
        return _given_or_kernel(X, metric, method, n_jobs)
    _check_metric(metric, p)
    X = check_rows(X, ensure_all_finite="allow-nan" if metric == "nan_euclidean" else True)
    params, weighted = dict(metric_params or {}), "w" in (metric_params or {})
    metric, p = _canonical(metric, params.pop("p", p), weighted)
    reason = "asked for"
    if method == "auto":
        method, reason = choose_method(
            X.shape[0], X.shape[1], metric, p=p, sparse=sp.issparse(X), weighted=weighted, exact_flops=exact_flops
        )
    return _built(X, metric, p, params, method, reason, n_jobs, random_state)


def _built(
    X: Any, metric: Any, p: float, params: dict[str, Any], method: str, reason: str, n_jobs: int | None, seed: Any
) -> NeighborIndex:
    tiled = isinstance(metric, str) and metric in TILED
    if method in ("tiles", "approximate") and not tiled:
        raise ValueError(f"method={method!r} is for the metrics {', '.join(TILED)}, not for {metric!r}. Use 'brute'.")
    if method in ("kd_tree", "ball_tree") and sp.issparse(X):
        raise ValueError(f"method={method!r} needs dense rows, but X is sparse. Use 'brute'.")
    if tiled and params:
        raise ValueError(f"metric={metric!r} has no parameters, but metric_params has {', '.join(params)}.")
    if method == "brute" and tiled:
        method, reason = "tiles", reason if reason != "asked for" else "asked for (brute force by tiles)"
    if method == "tiles":
        return TileIndex(X, metric, n_jobs, reason)
    if method == "approximate":
        return ApproximateIndex(X, metric, n_jobs, reason, seed)
    whole = TileIndex(X, metric, n_jobs, reason) if tiled else _metric_index(X, metric, p, params, n_jobs, reason)
    if method == "kd_tree":
        if not (isinstance(metric, str) and metric in (*_POWERS, "minkowski") and p >= 1 and not params):
            raise ValueError(
                f"method='kd_tree' is for Minkowski distances with p ≥ 1, not for {metric!r}. Use 'ball_tree'."
            )
        return KDTreeIndex(X, p, whole, n_jobs, reason)
    if method == "ball_tree":
        if not callable(metric) and metric not in VALID_METRICS["ball_tree"]:
            raise ValueError(f"method='ball_tree' cannot take the metric {metric!r}. Use 'brute'.")
        return BallTreeIndex(X, metric, whole, n_jobs, reason)
    return whole


def _metric_index(
    X: Any, metric: Any, p: float, params: dict[str, Any], n_jobs: int | None, reason: str
) -> MetricIndex:
    if sp.issparse(X) and isinstance(metric, str) and metric not in VALID_METRICS_SPARSE["brute"]:
        raise ValueError(
            f"Metric {metric!r} not valid for sparse input. Make X dense, or use a Euclidean metric or cosine."
        )
    given = {"p": p, **params} if metric == "minkowski" else params
    return MetricIndex(X, metric, given, n_jobs, reason)


def _given_or_kernel(X: Any, metric: Any, method: str, n_jobs: int | None) -> NeighborIndex:
    if method not in ("auto", "brute"):
        raise ValueError(
            f"method={method!r} needs vectors and a metric that scikit-learn knows. Use 'auto' with {metric!r}."
        )
    if isinstance(metric, Kernel):
        return KernelIndex(X, metric, n_jobs, "distances in a feature space are computed for all pairs")
    refuse_foreign(X)
    return (GraphIndex if sp.issparse(X) else MatrixIndex)(X, n_jobs, "the distances are given")


def _tensor_index(
    X: Any,
    metric: Any,
    p: float,
    params: dict[str, Any],
    method: str,
    n_jobs: int | None,
    seed: Any,
    exact_flops: float,
) -> NeighborIndex:
    """The index of a tensor, on its device. There are no trees: a card compares all pairs in less time."""
    given = isinstance(metric, str) and metric == "precomputed"
    if (isinstance(metric, Kernel) or given) and method not in ("auto", "brute"):
        raise ValueError(f"method={method!r} needs vectors and a metric with a name. Use 'auto' with {metric!r}.")
    if given:
        return TensorMatrixIndex(X, n_jobs, "the distances are given")
    X = tensors().checked_tensor(X)
    if isinstance(metric, Kernel):
        return TensorKernelIndex(X, metric, n_jobs, "distances in a feature space are computed for all pairs")
    _check_metric(metric, p)
    metric, p = _canonical(metric, params.pop("p", p), "w" in params)
    tiled = isinstance(metric, str) and metric in TILED
    if (not tiled and (metric not in (*_POWERS, "minkowski") or p < 1)) or params:
        raise ValueError(
            f"Tensors are not compared by metric={metric!r}{' with parameters' if params else ''}. Use a Minkowski "
            "distance with p ≥ 1, cosine, correlation or a Kernel, or convert the data by X.cpu().numpy()."
        )
    if method in ("kd_tree", "ball_tree") or (method in ("tiles", "approximate") and not tiled):
        raise ValueError(f"method={method!r} is not for tensors compared by {metric!r}. Use 'auto'.")
    if not tiled:
        return TensorMetricIndex(X, p, n_jobs, f"the metric {metric!r} is computed for all pairs, on {X.device}")
    n, d = X.shape
    most = exact_flops * (1 if X.device.type == "cpu" else _CARD)
    if method == "approximate" or (method == "auto" and n * n * d > most):
        reason = f"all pairs of {n:,} rows of {d} columns would take too long on {X.device}; the recall is measured"
        return ApproximateTensorIndex(X, metric, n_jobs, reason if method == "auto" else "asked for", seed)
    reason = f"products of matrices on {X.device}, and exact" if method == "auto" else "asked for"
    return TensorIndex(X, metric, n_jobs, reason)


def _check_metric(metric: Any, p: Any) -> None:
    if not callable(metric) and metric not in VALID_METRICS["brute"]:
        known = ", ".join(sorted(name for name in VALID_METRICS["brute"]))
        raise ValueError(f"Unknown metric {metric!r}. Give a function of two rows, a Kernel, or one of: {known}.")
    if not p > 0:
        raise ValueError(f"p={p!r} must be a number > 0.")


def _canonical(metric: Any, p: float, weighted: bool) -> tuple[Any, float]:
    """One name for each metric that has several, and its power if it is a Minkowski distance."""
    if not isinstance(metric, str):
        return metric, p
    if metric in ("minkowski", "p") and not weighted:
        names = {1: "manhattan", 2: "euclidean", float("inf"): "chebyshev"}
        return names.get(p, "minkowski"), float(p)
    aliases = {
        "l2": "euclidean",
        "l1": "manhattan",
        "cityblock": "manhattan",
        "infinity": "chebyshev",
        "p": "minkowski",
    }
    metric = aliases.get(metric, metric)
    return metric, _POWERS.get(metric, p)
