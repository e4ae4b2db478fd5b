"""Ridge regression with an intercept: one eigendecomposition serves every penalty, and leave-one-out is exact.

Regress X on features F, with F̃ = HF, X̃ = HX and F̃F̃ᵀ = UΛUᵀ (or on a kernel, HKH = UΛUᵀ). The fitted rows are
x̄ + U s UᵀX̃ with s = λ/(λ + α), so the hat matrix has the diagonal

    hᵢ = 1/n + Σⱼ Uᵢⱼ² λⱼ/(λⱼ + α),

and the residual at xᵢ of the fit without xᵢ is (xᵢ − x̂ᵢ)/(1 − hᵢ).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.backends import beside, is_foreign, namespace, to_numpy
from mercer.linalg.inner import power_of_two

PENALTIES = {64: 1e-10, 32: 1e-4}  # bits → smallest penalty tried, relative to λ₁: below it rounding is amplified
_SKETCH = 64  # columns of the random projection that replaces wider targets while penalties are compared
_RUN = 1024  # the most rows handled at a time
_ENTRIES = 2**18  # residuals handled at a time, 2 MB of float64, so that they stay in the cache
_FULL = 1e-10  # the smallest 1 − h to divide by: below it only the row itself determines its fitted value


@dataclass(frozen=True)
class RidgeSpectrum:
    """HKH = UΛUᵀ (values in any order, U with orthonormal columns) and the coordinates of HX in the basis U."""

    values: Any  # (r,)
    U: Any  # (n, r)
    mean: Any  # (d,), of the rows of X
    UX: Any  # (r, d), UᵀHX

    def shrunk(self, alpha: float) -> Any:
        """diag(λ/(λ + α)) UᵀHX, (r, d)."""
        return _shrinkage(self.values, alpha, namespace(self.values))[:, None] * self.UX

    def over(self, alpha: float) -> Any:
        """diag(1/(λ + α)) UᵀHX, (r, d); zero where λ and α are both zero."""
        xp = namespace(self.values)
        total = self.values + alpha
        alive = total > 0
        return xp.where(alive, 1 / xp.where(alive, total, xp.ones_like(total)), xp.zeros_like(total))[:, None] * self.UX

    def penalties(self, bits: int) -> np.ndarray:
        """Penalties in half-decades, from the smallest that the precision allows to ten times λ₁."""
        top = float(namespace(self.values).max(self.values)) if self.values.shape[0] else 0.0
        low = np.log10(PENALTIES[bits])
        return (top if top > 0 else 1.0) * 10.0 ** np.arange(low, 1.01, 0.5)

    def loo_error(self, X: Any, alpha: float) -> float:
        """The mean over rows of the squared length of the leave-one-out residual."""
        return float(self.loo_errors(X, np.array([alpha]))[0][0])

    def loo_errors(self, X: Any, alphas: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """That mean for each penalty, and its standard error, (a,) both. Cost: one product of n · r · a · d."""
        xp, (n, r), count = namespace(self.U), self.U.shape, len(alphas)
        d = self.UX.shape[1]
        # Lengths are measured in this unit, because fourth powers of large data would overflow.
        unit = power_of_two(max(_largest(self.mean), _largest(self.UX)), 510)
        shrinkage = xp.stack([_shrinkage(self.values, float(alpha), xp) for alpha in alphas], axis=1)  # (r, a)
        weights = xp.reshape(shrinkage[:, :, None] * self.UX[:, None, :], (r, count * d))
        total, squares = np.zeros(count), np.zeros(count)
        step = max(1, min(_RUN, _ENTRIES // max(1, count * d)))
        for i in range(0, n, step):
            run = slice(i, min(i + step, n))
            U = self.U[run, :]
            left = 1 - 1 / n - (U**2) @ shrinkage
            left = xp.where(left > _FULL, left, xp.ones_like(left) * _FULL)
            rest = (dense_rows(X, run, U) - self.mean)[:, None, :] - xp.reshape(U @ weights, (U.shape[0], count, d))
            lengths = xp.sum((rest / unit) ** 2, axis=2) / left**2
            total = total + to_numpy(xp.sum(lengths, axis=0))
            squares = squares + to_numpy(xp.sum(lengths**2, axis=0))
        spread = np.sqrt(np.maximum(squares / n - (total / n) ** 2, 0.0) / n)
        return unit * unit * total / n, unit * unit * spread


def ridge_spectrum(values: Any, U: Any, X: Any) -> RidgeSpectrum:
    """The RidgeSpectrum of these eigenpairs, with UᵀHX computed for X dense or CSR."""
    mean = column_mean(X, U)
    if sp.issparse(X):
        UX = np.asarray((X.T @ U).T)
    else:
        UX = U.T @ _wide(X, U)
    xp = namespace(U)
    return RidgeSpectrum(values, U, mean, UX - xp.sum(U, axis=0)[:, None] * mean[None, :])


def best_penalty(values: Any, U: Any, X: Any, bits: int, step: int = 1) -> float:
    """The largest penalty whose leave-one-out error is within a standard error of the least.

    step : 1 tries every penalty of the grid of half-decades, 2 every second one, and so on

    A row left out lies among the others, where hardly any smoothing is needed. Beyond the data a regression with so
    little smoothing explodes, so the largest of the equally good penalties is the safest. Targets with many columns are
    first multiplied by a Gaussian matrix with 64 columns. That preserves the squared lengths of residuals on average,
    and their sum over the rows nearly exactly.
    """
    Y = sketched(X, U)
    spectrum = ridge_spectrum(values, U, Y)
    penalties = spectrum.penalties(bits)[::step]
    errors, spreads = spectrum.loo_errors(Y, penalties)
    least = int(np.argmin(errors))
    return float(penalties[np.flatnonzero(errors <= errors[least] + spreads[least])[-1]])


def sketched(X: Any, like: Any) -> Any:
    """X, or its random projection to 64 columns if X is wider, on the device and in the precision of `like`."""
    d = X.shape[1]
    if d <= _SKETCH:
        return dense_rows(X, slice(0, X.shape[0]), like)
    omega = np.random.default_rng(0).standard_normal((d, _SKETCH)) / np.sqrt(_SKETCH)
    omega = beside(omega, like)
    return np.asarray(X @ omega) if sp.issparse(X) else _wide(X, like) @ omega


def column_mean(X: Any, like: Any) -> Any:
    """The mean row of X in the precision of `like`."""
    if sp.issparse(X):
        return np.asarray(X.mean(axis=0), dtype=like.dtype).reshape(-1)
    return namespace(X).mean(_wide(X, like), axis=0)


def dense_rows(X: Any, run: slice, like: Any) -> Any:
    rows = X[run, :] if is_foreign(X) else X[run]
    return _wide(rows.toarray() if sp.issparse(rows) else rows, like)


def _largest(values: Any) -> float:
    xp = namespace(values)
    return float(xp.max(xp.abs(values))) if values.shape[0] else 0.0


def _wide(X: Any, like: Any) -> Any:
    return namespace(X).astype(X, like.dtype, copy=False)


def _shrinkage(values: Any, alpha: float, xp: Any) -> Any:
    """λ/(λ + α), and 0 where λ is 0."""
    total = values + alpha
    alive = values > 0
    return xp.where(alive, values / xp.where(alive, total, xp.ones_like(total)), xp.zeros_like(total))
