"""Turning gamma=None, "scale", "median" or "columns" into numbers, and checking one width per column."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import squareform

from mercer.backends import is_foreign, namespace, to_numpy

_SAMPLE = 1000  # rows whose pairs give the median: half a million distances determine it to about 0.2 %


def sample_rows(X: Any, size: int = _SAMPLE) -> Any:
    """At most `size` rows, evenly spread over X, in float64: a CSR array if X is sparse, otherwise a NumPy array.

    Every call selects the same rows, so that widths do not depend on a seed.
    """
    index = np.linspace(0, X.shape[0] - 1, min(size, X.shape[0])).astype(np.int64)
    if is_foreign(X):
        xp = namespace(X)
        return to_numpy(xp.take(X, xp.asarray(index, device=X.device), axis=0)).astype(np.float64)
    rows = X[index]
    return rows.astype(np.float64) if sp.issparse(rows) else np.asarray(rows, dtype=np.float64)


def variance(X: Any) -> float:
    """The variance of all entries of X, which the "scale" rule uses."""
    if sp.issparse(X):
        mean = X.mean()
        return float(X.multiply(X).mean() - mean**2)
    return float(namespace(X).var(X))


def resolve_gamma(gamma: Any, X: Any, distance: Callable[[Any], np.ndarray], default: float) -> float:
    """The number that `gamma` stands for on the rows of X.

    None means `default`, as in scikit-learn. "scale" means 1 / (d · Var X), as in its support vector machines.
    "median" means 1 / the median of `distance` over pairs of different rows, so that k = 1/e at the typical distance.
    """
    if gamma is None:
        return default
    if isinstance(gamma, str):
        if gamma == "scale":
            spread = X.shape[1] * variance(X)
            return 1.0 / spread if spread > 0 else 1.0
        if gamma == "median":
            return 1.0 / median_distance(X, distance)
        if gamma == "columns":
            raise ValueError("gamma='columns' gives one width per column, which only RBF and Laplacian accept.")
        raise ValueError(f"gamma={gamma!r} is not known; give a number, 'scale', 'median' or None.")
    if np.ndim(gamma):
        raise ValueError(
            f"gamma={gamma!r} has one number per column, which only RBF and Laplacian accept. Use "
            "kernel.weighted(weights), which multiplies the columns."
        )
    if not 0 <= gamma < float("inf"):
        raise ValueError(f"gamma={gamma!r} must be a finite number ≥ 0, 'scale', 'median' or None.")
    return float(gamma)


def column_widths(name: str, values: Any, d: int) -> np.ndarray | None:
    """The widths as an array (d,) if `values` has one per column; None if it is a single number or a rule."""
    if isinstance(values, str) or not np.ndim(values):
        return None
    widths = np.asarray(values)
    if widths.dtype.kind not in "iuf" or widths.shape != (d,):
        raise ValueError(f"{name}={values!r} must be one number, or {d} numbers, one per column of the data.")
    if not (np.isfinite(widths).all() and (widths >= 0).all()):
        raise ValueError(f"{name}={values!r} must hold finite numbers ≥ 0.")
    return widths.astype(np.float64)


def columns_rule(X: Any, distance: Callable[[Any], np.ndarray], power: int) -> np.ndarray:
    """The width of each column, (d,), for gamma="columns": all columns count equally, whatever their units.

    γⱼ ∝ 1/sⱼᵖ, where sⱼ is the standard deviation of column j over up to 1000 rows and p the power of the distance that
    the kernel reads. The factor is chosen such that k = 1/e at the median distance. A column that is constant in those
    rows gets the median deviation of the others.
    """
    rows = sample_rows(X)
    unit = _column_maxima(rows)
    rows = _times_columns(rows, 1 / unit)  # entries are now at most 1, so their squares cannot overflow
    deviations = _column_deviations(rows)
    scale = deviations * unit
    # Entries are at most 1, so rounding alone gives a constant column a deviation of about 1e-16.
    varies = deviations > 1e-12
    typical = float(np.median(scale[varies])) if varies.any() else 1.0
    scale = np.where(varies, scale, typical)
    median = median_distance(_times_columns(rows, unit / scale), distance)
    with np.errstate(over="ignore"):
        widths = (1 / scale) ** power / median
    if not np.isfinite(widths).all():
        raise ValueError(
            "The columns vary too little for gamma='columns': their widths overflow. Multiply the data by a constant."
        )
    return widths


def _column_maxima(rows: Any) -> np.ndarray:
    """max |x| of each column, (d,); 1 for a column of zeros, because rows are divided by it."""
    largest = abs(rows).max(axis=0).toarray().reshape(-1) if sp.issparse(rows) else np.abs(rows).max(axis=0, initial=0)
    return np.where(largest > 0, largest, 1.0)


def _times_columns(rows: Any, factors: np.ndarray) -> Any:
    """rows · diag(factors); CSR rows stay sparse."""
    if not sp.issparse(rows):
        return rows * factors
    return sp.csr_array((rows.data * factors[rows.indices], rows.indices, rows.indptr), shape=rows.shape)


def _column_deviations(rows: Any) -> np.ndarray:
    """The standard deviation of each column, (d,). The zeros of CSR rows are counted without being visited."""
    if not sp.issparse(rows):
        return rows.std(axis=0)
    n, d = rows.shape
    stored = np.bincount(rows.indices, minlength=d)
    means = np.bincount(rows.indices, rows.data, minlength=d) / n
    squares = np.bincount(rows.indices, (rows.data - means[rows.indices]) ** 2, minlength=d)
    return np.sqrt((squares + (n - stored) * means**2) / n)


def median_distance(X: Any, distance: Callable[[Any], np.ndarray]) -> float:
    """The median of `distance` over sampled pairs. If most rows coincide, only pairs that differ count.

    Raises ValueError if the median overflows: an infinite width would make all rows alike, or give a matrix of NaN.
    """
    rows = sample_rows(X)
    with np.errstate(over="ignore", invalid="ignore"):  # the median is checked below
        D = squareform(np.asarray(distance(rows)), checks=False)  # the pairs, each once
        median = float(np.median(D)) if D.size else 0.0
    if not np.isfinite(median):
        raise ValueError(
            "The median distance between rows overflows. Scale the data (sklearn.preprocessing.StandardScaler), or "
            "give the width as a number."
        )
    if median > 0:
        return median
    apart = D[D > 0]
    return float(np.median(apart)) if apart.size else 1.0
