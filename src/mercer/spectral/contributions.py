"""How much each input variable moves each component: gradients of the kernel expansion, summarised."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.backends import beside, namespace, placement, to_numpy
from mercer.exceptions import MemoryLimitError
from mercer.kernels.gradients import refuse_kinks
from mercer.memory import available_bytes, format_bytes


def feature_contributions(model: Any, X: Any, *, average: bool, standardize: bool, shares: bool) -> Any:
    """What `KernelPCA.feature_contributions` says, for rows that are read already; an array where the data lives."""
    expansion = model.expansion_
    refuse_kinks(expansion.kernel)
    d, like = X.shape[1], model.expansion_.coefs
    scale = column_deviations(model.X_fit_) if standardize else np.ones(d)
    if average:
        return beside(_summary(expansion, X, d, scale, shares), like)
    return _by_row(expansion, X, d, beside(scale, like), shares)


def _summary(expansion: Any, X: Any, d: int, scale: np.ndarray, shares: bool) -> np.ndarray:
    """The root mean square over the rows, (k, d); squares are summed in float64, run after run in a fixed order."""
    sums: dict[int, np.ndarray] = {}

    def add(run: slice, G: Any) -> None:
        sums[run.start] = np.sum(to_numpy(G).astype(np.float64) ** 2, axis=0)

    expansion.each_gradient(expansion.new_points(X), d, add)
    squares = sum(sums[start] for start in sorted(sums)) / X.shape[0] * scale**2
    return _shares(squares, np) if shares else np.sqrt(squares)


def _by_row(expansion: Any, X: Any, d: int, scale: Any, shares: bool) -> Any:
    """The gradient at each row, (m, k, d)."""
    like = scale
    m, k, xp = X.shape[0], expansion.coefs.shape[1], namespace(like)
    need = m * k * d * xp.finfo(like.dtype).bits // 8
    if need > available_bytes() // 2:
        raise MemoryLimitError(
            f"The gradients of {k} components at {m} rows by {d} variables take {format_bytes(need)}, more than half "
            "of what is free. Nothing was allocated. Give fewer rows, or take average=True."
        )
    out = xp.empty((m, k, d), dtype=like.dtype, **placement(like))

    def put(run: slice, G: Any) -> None:
        out[run, ...] = G * scale

    expansion.each_gradient(expansion.new_points(X), d, put)
    return _shares(out**2, xp) if shares else out


def _shares(squares: Any, xp: Any) -> Any:
    """Squares over their sum along the last axis; zeros if there is nothing to share out."""
    total = xp.sum(squares, axis=-1, keepdims=True)
    return squares / xp.where(total > 0, total, xp.ones_like(total))


def column_deviations(X: Any) -> np.ndarray:
    """The standard deviation of each column of dense or CSR rows, (d,)."""
    if sp.issparse(X):
        mean = np.asarray(X.mean(axis=0)).reshape(-1)
        squares = np.asarray(X.multiply(X).mean(axis=0)).reshape(-1)
        return np.sqrt(np.maximum(squares - mean**2, 0.0))
    xp = namespace(X)
    return to_numpy(xp.std(xp.astype(X, xp.float64), axis=0))
