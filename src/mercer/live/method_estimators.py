"""The estimator that settings describe, and what it is fitted to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.estimators.isomap import Isomap
from mercer.estimators.kernel_pca import KernelPCA
from mercer.estimators.pca import PCA
from mercer.estimators.tsne import SNE, TSNE
from mercer.graph.nearest_neighbors import build_index
from mercer.kernels.resolve import resolve_kernel
from mercer.linalg.eigen import SMALL
from mercer.live.controls import Settings
from mercer.live.isomap_graph import cut_graph, read_cut

Transform = Callable[[Any], np.ndarray]  # from rows to their coordinates

EXACT_KPCA = 30_000  # rows up to which the exact answer comes within seconds
_TOLERANCE = 1e-4  # of the residuals: a thousandth of what a screen can show; the residual that was reached is told
_RANK = 500  # of kernel PCA where all pairs take too long


def estimator_for(settings: Settings, rows: int) -> Any:
    """The estimator that the settings describe, for a table of so many rows."""
    method = settings["method"]
    given = {name: value for name, value in settings.items() if name not in ("method", "added", "cut")}
    if method == "kpca":
        if rows > EXACT_KPCA:
            given |= {"eigen_solver": "rpcholesky", "rank": _RANK}
        elif rows > SMALL:  # smaller ones are solved to rounding in no time
            given["tol"] = _TOLERANCE
        return KernelPCA(**given)
    if method == "pca":
        return PCA(**given)
    if method == "isomap":
        graph = {"metric": "precomputed", "n_neighbors": None, "radius": np.inf} if settings.get("cut") else {}
        return Isomap(**given | {"landmarks": given.get("landmarks") or None} | graph)
    return (TSNE if method == "tsne" else SNE)(**given)


def rows_for(settings: Settings, X: Any) -> Any:
    """What that estimator is fitted to: the rows, or their graph without the edges that are cut."""
    if not settings.get("cut"):
        return X
    return cut_graph(X, settings["n_neighbors"], read_cut(settings["cut"], X.shape[0]))


def transform_for(settings: Settings, estimator: Any, X: Any) -> Transform:
    """How the fitted estimator maps new rows. One that was fitted to a graph is given their neighbours in the table."""
    if not settings.get("cut"):
        return lambda rows: np.asarray(estimator.transform(rows))
    index = build_index(X)
    return lambda rows: np.asarray(estimator.transform(index.query(rows, settings["n_neighbors"]).graph(index.n)))


def kernel_of(settings: Settings) -> Any:
    """The kernel of the settings of kernel PCA."""
    gamma = settings.get("gamma")
    return resolve_kernel(settings["kernel"], gamma if gamma is not None else 1.0, settings.get("degree", 3))
