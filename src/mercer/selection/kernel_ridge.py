"""Leave-one-out error of kernel ridge regression, in closed form, for every penalty from one eigendecomposition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.backends import to_numpy
from mercer.kernels.resolve import resolve_kernel
from mercer.linalg.lowrank import factor_spectrum
from mercer.selection.samples import features_of_kernel, read_samples, read_target

PENALTIES = np.logspace(-8, 1, 28)  # relative to the largest eigenvalue of HKH


@dataclass(frozen=True)
class LeaveOneOut:
    """How well a kernel predicts left-out samples at the best penalty.

    r2 : 1 − Σ‖y − ŷ₋ᵢ‖² / Σ‖y − ȳ₋ᵢ‖²: 1 is perfect, 0 no better than the mean of the others
    standard_error : the standard error of r2, from the spread of the squared errors over the samples
    error_rate : the share of samples assigned to a wrong class; None for numbers
    penalty : λ of ridge regression, absolute: HKH + λI

    >>> from mercer.selection import leave_one_out
    >>> x = np.linspace(-1, 1, 40)[:, None]
    >>> bool(leave_one_out("rbf", x, x[:, 0] ** 2).r2 > 0.99)
    True
    """

    r2: float
    standard_error: float
    error_rate: float | None
    penalty: float


def leave_one_out(
    kernel: Any,
    X: Any,
    y: Any,
    *,
    target: str = "auto",
    penalties: Any = None,
    rank: int | str | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    memory_limit: Any = None,
) -> LeaveOneOut:
    """The leave-one-out error of kernel ridge regression of y on X, classes as indicator columns.

    With HKH = UΛUᵀ and S = 11ᵀ/n + UΛ(Λ + λ)⁻¹Uᵀ, the residual of sample i under the fit without it is

        yᵢ − ŷ₋ᵢ = (y − Sy)ᵢ / (1 − Sᵢᵢ)

    so all penalties follow from one decomposition, and no model is ever fitted again. The intercept is not penalised.
    For classes this is the regression form of discriminant analysis; a sample goes to the class of the largest output.

    Parameters
    ----------
    kernel, X, y, target : as for `alignment`
    penalties : λ relative to the largest eigenvalue of HKH; None means 28 values from 1e-8 to 10. The penalty with
        the smallest squared error wins, so r2 is slightly optimistic: one parameter was fitted.
    rank : None for K itself; a number of columns or "auto" for a low-rank factor

    Cost: n² entries and n³ flops (rank m: n m entries and n m² flops), and n m c for each penalty.

    >>> X = np.linspace(-1, 1, 40)[:, None]
    >>> leave_one_out("rbf", X, X[:, 0] ** 2).r2 > 0.99 > 0.1 > leave_one_out("linear", X, X[:, 0] ** 2).r2
    True

    `random_state` is a seed, a generator or None, which is the seed 0. `n_jobs` is the number of threads.
    `memory_limit` is in bytes or a text such as "4GB"; None is half of what is free.
    """
    relative = np.asarray(PENALTIES if penalties is None else penalties, dtype=np.float64).reshape(-1)
    if not relative.size or not np.all((relative > 0) & np.isfinite(relative)):
        raise ValueError(f"penalties={penalties!r} must be positive, finite numbers, at least one.")
    kernel = resolve_kernel(kernel)
    X = read_samples(X, kernel, least=3)
    Y, classes = read_target(y, X.shape[0], target)
    features = features_of_kernel(
        kernel, X, rank=rank, memory_limit=memory_limit, random_state=random_state, n_jobs=n_jobs
    )
    spectrum = factor_spectrum(features.F, n_jobs=n_jobs)
    U = to_numpy(spectrum.vectors(features.F, len(spectrum.values))).astype(np.float64)
    return _best(U, spectrum.values, Y, classes, relative * (spectrum.values[:1].sum() or 1.0))


def _best(
    U: np.ndarray, values: np.ndarray, Y: np.ndarray, classes: np.ndarray | None, penalties: np.ndarray
) -> LeaveOneOut:
    """The leave-one-out figures at the penalty of the smallest squared error."""
    n = len(Y)
    centred = Y - Y.mean(axis=0)
    inside, squares = U.T @ centred, U**2  # (m, c), (n, m)
    baseline = np.sum(centred**2, axis=1) * (n / (n - 1)) ** 2
    best: tuple[float, np.ndarray, np.ndarray, float] | None = None
    for penalty in penalties:
        shrink = values / (values + penalty)
        leverage = 1 / n + squares @ shrink
        residuals = (centred - U @ (shrink[:, None] * inside)) / np.maximum(1 - leverage, 1e-12)[:, None]
        losses = np.sum(residuals**2, axis=1)
        if best is None or losses.sum() < best[0]:
            best = float(losses.sum()), losses, residuals, float(penalty)
    assert best is not None
    total, losses, residuals, penalty = best
    wrong = None if classes is None else float(np.mean(np.argmax(Y - residuals, axis=1) != classes))
    error = np.std(losses, ddof=1) / np.sqrt(n) / baseline.mean()
    return LeaveOneOut(1 - total / float(baseline.sum()), float(error), wrong, penalty)
