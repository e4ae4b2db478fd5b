"""Kernels of the distance: the Gaussian and its rougher relatives."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.backends import is_foreign
from mercer.kernels.bandwidth import column_widths, columns_rule, median_distance, resolve_gamma
from mercer.kernels.kernel import Kernel
from mercer.kernels.kernel_fields import WIDTH
from mercer.kernels.vector import VectorKernel
from mercer.models.fields import SavedRecord, finite, number


class _WithGamma(VectorKernel):
    """A profile of γ times a distance, with one γ or one per column (abstract)."""

    gamma: Any

    def _column_widths(self, X: Any, power: int) -> np.ndarray | None:
        """The gamma of each column, (d,); None if all columns share one."""
        if isinstance(self.gamma, str) and self.gamma == "columns":
            return columns_rule(X, self.pairwise, power)
        return column_widths("gamma", self.gamma, X.shape[1])


@dataclass(repr=False)
class RBF(_WithGamma):
    """k(x, y) = exp(−γ‖x − y‖²), the Gaussian; gamma is a number, "scale", "median", "columns" or None (1/d).

    One gamma per column gives exp(−Σ γⱼ (xⱼ − yⱼ)²); columns with a large γⱼ matter most. gamma="columns" divides each
    column by its standard deviation, for tables whose columns have different units.

    >>> RBF(gamma=0.5)
    RBF(gamma=0.5)
    >>> RBF(gamma=[2.0, 0.0])([[0.0, 0.0], [0.0, 9.0]]).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """

    _saved = SavedRecord("kernel.RBF", {"gamma": WIDTH})

    reads = "sqeuclidean"
    fused = "rbf"

    gamma: Any = None

    def bind(self, X: Any) -> Kernel:
        widths = self._column_widths(X, 2)
        if widths is not None:
            return RBF(1.0).weighted(np.sqrt(widths))
        return RBF(self._bandwidth(X, self.gamma, 1.0 / X.shape[1]))

    def profile(self, d2: Any, xp: Any) -> Any:
        return xp.exp(-self.gamma * d2)

    def slope(self, d2: Any, xp: Any) -> Any:
        return -self.gamma * self.profile(d2, xp)

    def sharpness(self) -> float:
        return self.gamma if isinstance(self.gamma, (int, float)) else 0.0

    def fused_parameters(self) -> tuple[float, ...]:
        return (self.gamma,)

    def frequencies(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """Ratios ‖ω‖ / ‖z‖ of frequencies ω drawn from the kernel's spectral density to standard normal z."""
        return np.full(count, math.sqrt(2 * self.gamma))


@dataclass(repr=False)
class Laplacian(_WithGamma):
    """k(x, y) = exp(−γ‖x − y‖₁), as in scikit-learn; gamma=None is 1/d, and one gamma per column works as in RBF.

    >>> round(float(Laplacian(gamma=0.5)([[0.0, 0.0]], [[1.0, 1.0]])[0, 0]), 6)  # exp(−1)
    0.367879
    """

    _saved = SavedRecord("kernel.Laplacian", {"gamma": WIDTH})

    reads = "manhattan"

    gamma: Any = None

    def bind(self, X: Any) -> Kernel:
        widths = self._column_widths(X, 1)
        if widths is not None:
            return Laplacian(1.0).weighted(widths)
        return Laplacian(self._bandwidth(X, self.gamma, 1.0 / X.shape[1]))

    def profile(self, d1: Any, xp: Any) -> Any:
        return xp.exp(-self.gamma * d1)


class _WithLength(VectorKernel):
    """A profile of ‖x − y‖ / length_scale, one length or one per column (abstract)."""

    length_scale: Any

    def bind(self, X: Any) -> Kernel:
        length = self.length_scale
        lengths = column_widths("length_scale", length, X.shape[1])
        if lengths is not None:
            if not (lengths > 0).all():
                raise ValueError(f"length_scale={length!r} must hold positive numbers.")
            return replace(self, length_scale=1.0).weighted(1 / lengths)  # type: ignore[type-var]
        if length == "median":
            length = median_distance(X, self.pairwise)
            length = math.sqrt(length) if self.reads == "sqeuclidean" else length
        elif length == "scale":
            length = 1 / math.sqrt(2 * resolve_gamma("scale", X, self.pairwise, 1.0))
        if isinstance(length, str) or not 0 < length < float("inf"):
            raise ValueError(f"length_scale={length!r} must be a positive, finite number, 'median' or 'scale'.")
        return replace(self, length_scale=float(length))  # type: ignore[type-var]

    def sharpness(self) -> float:
        return 1.0 / self.length_scale**2 if isinstance(self.length_scale, (int, float)) else 0.0


@dataclass(repr=False)
class Matern(_WithLength):
    """k(x, y) = 2^(1−ν)/Γ(ν) · s^ν K_ν(s), s = √(2ν) ‖x − y‖ / length_scale.

    ν = 1/2 gives exp(−‖x − y‖/ℓ) and ν → ∞ the Gaussian exp(−‖x − y‖²/2ℓ²). The values 1/2, 3/2, 5/2 and ∞ run on
    every backend; others need NumPy data.

    >>> round(float(Matern(nu=0.5, length_scale=2.0)([[0.0]], [[2.0]])[0, 0]), 6)  # exp(−1)
    0.367879
    """

    _saved = SavedRecord("kernel.Matern", {"nu": number, "length_scale": WIDTH})

    reads = "euclidean"

    nu: float = 1.5
    length_scale: Any = 1.0

    def profile(self, d: Any, xp: Any) -> Any:
        if not self.nu > 0:
            raise ValueError(f"nu={self.nu!r} must be positive.")
        if self.nu == float("inf"):
            return xp.exp(-0.5 * (d / self.length_scale) ** 2)
        return _matern(self._scaled(d, xp), self.nu, xp)

    def _scaled(self, d: Any, xp: Any) -> Any:
        # At s = 1e4 the kernel has underflowed to zero, while s² is still finite in every precision.
        return xp.clip((math.sqrt(2 * self.nu) / self.length_scale) * d, 0.0, 1e4)

    @property
    def smooth(self) -> bool:
        return self.nu > 1  # for smaller ν, (dk/dt)/t is infinite at t = 0

    def slope(self, d: Any, xp: Any) -> Any:
        """The kernel of ν − 1 times a factor, because d/ds s^ν K_ν = −s^ν K_(ν−1)."""
        if self.nu == float("inf"):
            return -self.profile(d, xp) / self.length_scale**2
        rougher = _matern(self._scaled(d, xp), self.nu - 1, xp)
        return -(self.nu / (self.nu - 1)) / self.length_scale**2 * rougher

    def frequencies(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """As `RBF.frequencies`; the frequencies follow Student's t distribution with 2ν degrees of freedom."""
        if self.nu == float("inf"):
            return np.full(count, 1 / self.length_scale)
        return np.sqrt(2 * self.nu / rng.chisquare(2 * self.nu, count)) / self.length_scale


def _matern(s: Any, nu: float, xp: Any) -> Any:
    """2^(1−ν)/Γ(ν) · s^ν K_ν(s)."""
    if nu == 0.5:
        return xp.exp(-s)
    if nu == 1.5:
        return (1 + s) * xp.exp(-s)
    if nu == 2.5:
        return (1 + s + s**2 / 3) * xp.exp(-s)
    if is_foreign(s):
        raise TypeError(
            f"Matern(nu={nu}) needs Bessel functions, which exist for NumPy data only. Use nu=0.5, 1.5, 2.5 or inf."
        )
    return _general_matern(s, nu)


def _general_matern(s: np.ndarray, nu: float) -> np.ndarray:
    """`_matern` for any ν ≤ 100, computed in logarithms because s^ν may overflow while K_ν underflows."""
    from scipy.special import gammaln, kve

    x = np.maximum(s.astype(np.float64), 1e-290)  # K_ν is infinite at 0, where the kernel is 1
    if nu > 100:
        raise ValueError(
            f"nu={nu!r} is too large: above 100 the Bessel functions overflow. Use nu=inf, the Gaussian, instead."
        )
    with np.errstate(over="ignore", divide="ignore"):
        bessel = kve(nu, x)
        logs = (1 - nu) * math.log(2) - gammaln(nu) + nu * np.log(x) + np.log(bessel) - x
    # K_ν overflows only next to 0, where the first terms of the series are exact in float64.
    near = 1.0 - x**2 / (4 * (nu - 1)) if nu > 1 else 1.0
    K = np.where(np.isfinite(bessel) & (s > 0), np.exp(np.minimum(logs, 0.0)), near)
    return K.astype(s.dtype)


@dataclass(repr=False)
class RationalQuadratic(_WithLength):
    """k(x, y) = (1 + ‖x − y‖² / (2 α ℓ²))^(−α), a mixture of Gaussians of all widths.

    >>> float(RationalQuadratic(length_scale=1.0, alpha=1.0)([[0.0]], [[2.0]])[0, 0]).__round__(6)  # 1/3
    0.333333
    """

    _saved = SavedRecord("kernel.RationalQuadratic", {"length_scale": WIDTH, "alpha": finite})

    reads = "sqeuclidean"

    length_scale: Any = 1.0
    alpha: float = 1.0

    def profile(self, d2: Any, xp: Any) -> Any:
        if not self.alpha > 0:
            raise ValueError(f"alpha={self.alpha!r} must be positive.")
        return (1 + d2 / float(2 * self.alpha * self.length_scale**2)) ** (-float(self.alpha))

    def slope(self, d2: Any, xp: Any) -> Any:
        inside = 1 + d2 / float(2 * self.alpha * self.length_scale**2)
        return inside ** (-float(self.alpha) - 1) / (-2 * float(self.length_scale) ** 2)

    def frequencies(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """As `RBF.frequencies`; the frequencies are normal with a variance drawn from a Gamma distribution."""
        return np.sqrt(rng.gamma(self.alpha, 1 / self.alpha, count)) / self.length_scale
