"""The width of the Gaussian on scores that minimises the leave-one-out error on a sample of the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import eigh

from mercer.backends import backend_of, namespace, placement, to_numpy
from mercer.features import rows_of
from mercer.kernels.distances import RBF
from mercer.preimage.ridge_spectrum import best_penalty, ridge_spectrum, sketched

_SAMPLE = 512  # rows: enough to tell widths a factor of four apart
_FACTORS = 4.0 ** np.arange(-3, 2)  # multiples of 1 / the median of ‖z − z'‖² to try


def width_of(gamma: float | str, Z: Any, X: Any, alpha: float | str) -> float:
    """The number that `gamma` stands for, given scores Z of rows X: the number itself, or the rule's answer."""
    if not isinstance(gamma, str):
        return float(gamma)
    bound = RBF("median").bind(Z)
    assert isinstance(bound, RBF)
    return bound.gamma if gamma == "median" else _best_width(bound.gamma, Z, X, alpha)


def _best_width(middle: float, Z: Any, X: Any, alpha: float | str) -> float:
    """The multiple of `middle` with the least leave-one-out error, at penalty alpha or each at its own best one."""
    n = Z.shape[0]
    bits = 32 if Z.dtype == namespace(Z).float32 else 64
    index = np.linspace(0, n - 1, min(n, _SAMPLE)).astype(np.int64)
    scores = to_numpy(rows_of(Z, index)).astype(np.float64)
    Y = _sample(X, index)
    # The eigenvalues of s sampled rows are s/n times those of all rows, so s/n of the penalty smooths as much.
    share = None if isinstance(alpha, str) else float(alpha) * len(index) / n
    with backend_of(scores).one_thread():  # on matrices this small, two threads mostly wait for each other
        errors = [_error(RBF(factor * middle), scores, Y, share, bits) for factor in _FACTORS]
    return float(_FACTORS[int(np.argmin(errors))] * middle)


def _sample(X: Any, index: np.ndarray) -> np.ndarray:
    rows = rows_of(X, index)
    like = namespace(rows).empty((0, 0), dtype=namespace(rows).float64, **placement(rows))
    return to_numpy(sketched(rows, like))


def _error(kernel: RBF, Z: np.ndarray, Y: np.ndarray, alpha: float | None, bits: int) -> float:
    K = kernel.tile(kernel.points(Z))
    means = K.mean(axis=0)
    K -= means
    K -= (means - means.mean())[:, None]
    values, U = eigh(K, overwrite_a=True, check_finite=False, driver="evd")  # the fastest for all pairs
    # Eigenvalues that are zero up to rounding contribute nothing, and with few scores most eigenvalues are.
    real = values > len(values) * np.finfo(np.float64).eps * values.max()
    values, U = values[real], U[:, real]
    spectrum = ridge_spectrum(values, U, Y)
    # Decades of penalties tell widths a factor of four apart as well as half-decades do.
    return spectrum.loo_error(Y, best_penalty(values, U, Y, bits, step=2) if alpha is None else alpha)
