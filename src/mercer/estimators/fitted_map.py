"""The map of its own rows that a fitted estimator keeps, and how a notebook is told that it can be opened."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.backends import to_numpy


def fitted_map(estimator: Any) -> np.ndarray | None:
    """The map of the rows of the fit, (n, k) on the CPU; None if the estimator keeps none.

    >>> from mercer import KernelPCA, PCA
    >>> X = np.random.default_rng(0).normal(size=(20, 3))
    >>> fitted_map(KernelPCA(2, kernel="rbf").fit(X)).shape, fitted_map(PCA(2).fit(X))
    ((20, 2), None)
    """
    found = getattr(estimator, "embedding_", None)
    if found is not None:
        return _two_dimensional(to_numpy(found))
    vectors, values = getattr(estimator, "eigenvectors_", None), getattr(estimator, "eigenvalues_", None)
    if vectors is None or values is None:
        return None
    vectors, values = to_numpy(vectors), to_numpy(values)
    if vectors.ndim != 2 or values.shape != vectors.shape[1:]:
        return None
    return _two_dimensional(vectors * np.sqrt(np.maximum(values, 0)))


def _two_dimensional(found: np.ndarray) -> np.ndarray | None:
    return found if found.ndim == 2 and 0 not in found.shape and np.isfinite(found).all() else None


def offer_of_map(estimator: Any) -> str:
    """A line of HTML that says how to open the map of a fitted estimator. It is empty if the estimator keeps no map."""
    rows = _rows(estimator)
    if rows is None:
        return ""
    return (
        f'<div style="margin-top:6px;font-size:0.9em">A map of {rows:,} rows is fitted. '
        "<code>mercer.widget(&hellip;)</code> opens it here.</div>"
    )


def _rows(estimator: Any) -> int | None:
    """How many rows the map has, without computing it."""
    for name in ("embedding_", "eigenvectors_"):
        shape: tuple[int, ...] = getattr(getattr(estimator, name, None), "shape", ())
        if len(shape) == 2:
            return int(shape[0])
    return None
