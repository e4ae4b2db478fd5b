"""The estimator that settings describe."""

from __future__ import annotations

from typing import Any

from mercer.estimators.isomap import Isomap
from mercer.estimators.kernel_pca import KernelPCA
from mercer.estimators.pca import PCA
from mercer.estimators.tsne import SNE, TSNE
from mercer.kernels.resolve import resolve_kernel
from mercer.linalg.eigen import SMALL
from mercer.live.controls import Settings
from mercer.live.isomap_graph import read_cut

EXACT_KPCA = 30_000  # rows up to which the exact answer comes within seconds
_TOLERANCE = 1e-4  # of the residuals: a thousandth of what a screen can show; the residual that was reached is told
_RANK = 500  # of kernel PCA where all pairs take too long


def estimator_for(settings: Settings, rows: int) -> Any:
    """The estimator that the settings describe, for a table with `rows` rows."""
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
        cut = {"cut_edges": read_cut(settings["cut"], rows)} if settings.get("cut") else {}
        return Isomap(**given | {"landmarks": given.get("landmarks") or None} | cut)
    return (TSNE if method == "tsne" else SNE)(**given)


def rest_of(estimator: Any) -> str:
    """What a finished map is: the exact answer, an approximation of it, or the end of a descent.

    >>> rest_of(estimator_for({"method": "pca"}, 10))
    'exact'
    """
    if isinstance(estimator, TSNE | SNE):
        return "at rest"
    if getattr(estimator, "landmarks_", None) is None:
        return "exact"
    return "approximate, by landmarks" if isinstance(estimator, Isomap) else "approximate, within the bound"


def kernel_of(settings: Settings) -> Any:
    """The kernel of the settings of kernel PCA."""
    gamma = settings.get("gamma")
    return resolve_kernel(settings["kernel"], gamma if gamma is not None else 1.0, settings.get("degree", 3))
