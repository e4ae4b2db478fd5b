"""Kernels of the inner product (linear, polynomial, sigmoid), some of which also read the lengths of the rows."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.backends import backend_of, namespace, to_numpy
from mercer.kernels.kernel import Kernel, Points
from mercer.kernels.kernel_fields import WIDTH
from mercer.kernels.vector import VectorKernel, column_means, shifted
from mercer.memory import available_bytes, format_bytes
from mercer.models.fields import SavedRecord, finite, floats, whole


@dataclass(repr=False)
class Linear(VectorKernel):
    """k(x, y) = ⟨x, y⟩.

    >>> Linear()([[1.0, 2.0], [0.0, 1.0]]).tolist()
    [[5.0, 2.0], [2.0, 1.0]]
    """

    _saved = SavedRecord("kernel.Linear")

    reads = "dot"

    def slope(self, t: Any, xp: Any) -> Any:
        return xp.ones_like(t)

    def centered_form(self, X: Any) -> Kernel:
        return self if sp.issparse(X) else LinearAbout(column_means(X))


@dataclass(repr=False)
class LinearAbout(VectorKernel):
    """k(x, y) = ⟨x − shift, y − shift⟩. Centred, it equals Linear, but loses no digits far from the origin."""

    _saved = SavedRecord("kernel.LinearAbout", {"shift": floats("d")})

    reads = "dot"

    shift: Any

    def points(self, X: Any, dtype: Any = None, like: Points | None = None) -> Points:
        return super().points(shifted(X, self.shift, dtype or X.dtype), dtype, like)

    def slope(self, t: Any, xp: Any) -> Any:
        return xp.ones_like(t)

    def __repr__(self) -> str:
        return "Linear()"


class _DotWithGamma(VectorKernel):
    """A profile of γ⟨x, y⟩ + coef0 (abstract)."""

    reads = "dot"
    gamma: Any
    coef0: float

    def bind(self, X: Any) -> Kernel:
        return replace(self, gamma=self._bandwidth(X, self.gamma, 1.0 / X.shape[1]))  # type: ignore[type-var]

    def pairwise(self, rows: Any) -> np.ndarray:
        return np.abs(backend_of(rows).dot(rows, rows))


@dataclass(repr=False)
class Polynomial(_DotWithGamma):
    """k(x, y) = (γ⟨x, y⟩ + coef0)^degree; gamma=None is 1/d.

    >>> k = Polynomial(degree=2, gamma=1.0, coef0=0.0)
    >>> X = [[1.0, 2.0], [3.0, -1.0]]
    >>> Phi = k.feature_map(X)  # x₁², √2 x₁x₂, x₂²
    >>> bool(abs(Phi @ Phi.T - k(X)).max() < 1e-12)
    True
    """

    _saved = SavedRecord("kernel.Polynomial", {"degree": finite, "gamma": WIDTH, "coef0": finite})

    degree: float = 3
    gamma: Any = None
    coef0: float = 1.0

    def profile(self, t: Any, xp: Any) -> Any:
        return (self.gamma * t + float(self.coef0)) ** float(self.degree)

    def slope(self, t: Any, xp: Any) -> Any:
        if self.degree == 0:
            return xp.zeros_like(t)
        return self.degree * self.gamma * (self.gamma * t + float(self.coef0)) ** float(self.degree - 1)

    def feature_map(self, X: Any) -> np.ndarray:
        """The explicit Φ(x) with Φ(x)ᵀΦ(y) = k(x, y), (n, C(d + p, p)) or (n, C(d + p − 1, p)) for coef0 = 0.

        One column for each way to write p = Σ kⱼ: √(p! / Πkⱼ!) Π zⱼ^kⱼ, where z is √γ x and then √coef0 if coef0 > 0.
        """
        X = to_numpy(X.toarray() if sp.issparse(X) else X).astype(np.float64)
        p = self.degree
        if int(p) != p or p < 1 or self.coef0 < 0:
            raise ValueError(f"{self!r} has an explicit map only for a whole degree ≥ 1 and coef0 ≥ 0.")
        bound = self.bind(X)
        assert isinstance(bound, Polynomial)
        Z = math.sqrt(bound.gamma) * X
        if self.coef0 > 0:
            Z = np.column_stack([Z, np.full(len(Z), math.sqrt(self.coef0))])
        width = math.comb(Z.shape[1] + int(p) - 1, int(p))
        if 8 * width * len(Z) > available_bytes():
            raise ValueError(
                f"The explicit map has {width:,} columns, {format_bytes(8 * width * len(Z))} in all, and does not fit "
                "into memory. Use the kernel instead, which never forms these columns."
            )
        return np.column_stack(
            [
                math.sqrt(_multinomial(powers)) * np.prod(Z[:, list(powers)], axis=1)
                for powers in combinations_with_replacement(range(Z.shape[1]), int(p))
            ]
        )


def _multinomial(factors: tuple[int, ...]) -> int:
    """The number of orders in which the factors can be multiplied, p! / Πkⱼ!."""
    counts = np.unique(factors, return_counts=True)[1]
    return math.factorial(len(factors)) // math.prod(math.factorial(int(c)) for c in counts)


@dataclass(repr=False)
class Sigmoid(_DotWithGamma):
    """k(x, y) = tanh(γ⟨x, y⟩ + coef0); gamma=None is 1/d. For most data it is indefinite, so not an inner product.

    >>> float(Sigmoid(gamma=1.0, coef0=0.0)([[0.0]], [[1.0]])[0, 0])
    0.0
    """

    _saved = SavedRecord("kernel.Sigmoid", {"gamma": WIDTH, "coef0": finite})

    gamma: Any = None
    coef0: float = 1.0

    def profile(self, t: Any, xp: Any) -> Any:
        return xp.tanh(self.gamma * t + float(self.coef0))

    def slope(self, t: Any, xp: Any) -> Any:
        return self.gamma * (1 - self.profile(t, xp) ** 2)

    def diagonal(self, A: Points) -> Any:
        """k(x, x), or infinity if ‖x‖² overflows: tanh would hide it, and products ⟨x, y⟩ may then be NaN."""
        xp = namespace(A.norms)
        return xp.where(xp.isfinite(A.norms), super().diagonal(A), A.norms)


@dataclass(repr=False)
class Cosine(VectorKernel):
    """k(x, y) = ⟨x, y⟩ / (‖x‖ ‖y‖), and 0 if x or y is zero.

    >>> round(float(Cosine()([[1.0, 0.0]], [[1.0, 1.0]])[0, 0]) ** 2, 6)
    0.5
    """

    _saved = SavedRecord("kernel.Cosine")

    reads = "dot+norms"

    def profile(self, t: Any, xp: Any, aa: Any, bb: Any) -> Any:
        return t * _inverse_sqrt(aa, xp) * _inverse_sqrt(bb, xp)

    def slope(self, t: Any, xp: Any, aa: Any, bb: Any) -> Any:
        lengths = _inverse_sqrt(aa, xp) * _inverse_sqrt(bb, xp)
        return lengths, -0.5 * t * lengths * _inverse_sqrt(aa, xp) ** 2


@dataclass(repr=False)
class ArcCosine(VectorKernel):
    """k(x, y) = ‖x‖ⁿ‖y‖ⁿ Jₙ(θ)/π, θ the angle between x and y: an infinitely wide layer of step or ramp units.

    J₀ = π − θ, J₁ = sin θ + (π − θ) cos θ, J₂ = 3 sin θ cos θ + (π − θ)(1 + 2 cos² θ).

    >>> round(float(ArcCosine(1)([[1.0, 0.0]], [[0.0, 1.0]])[0, 0]) * np.pi, 6)
    1.0
    """

    _saved = SavedRecord("kernel.ArcCosine", {"order": whole(0, 2)})

    reads = "dot+norms"

    order: int = 1

    def profile(self, t: Any, xp: Any, aa: Any, bb: Any) -> Any:
        cos, sin, rest = self._angle(t, xp, aa, bb)
        if self.order == 0:
            return rest / math.pi
        if self.order == 1:
            return xp.sqrt(aa) * xp.sqrt(bb) * (sin + rest * cos) / math.pi
        if self.order == 2:
            return aa * bb * (3 * sin * cos + rest * (1 + 2 * cos**2)) / math.pi
        raise ValueError(f"order={self.order!r} must be 0, 1 or 2.")

    @staticmethod
    def _angle(t: Any, xp: Any, aa: Any, bb: Any) -> tuple[Any, Any, Any]:
        """cos θ, sin θ and π − θ."""
        cos = xp.clip(t * _inverse_sqrt(aa, xp) * _inverse_sqrt(bb, xp), -1.0, 1.0)
        return cos, xp.sqrt(1 - cos**2), math.pi - xp.acos(cos)

    @property
    def smooth(self) -> bool:
        return self.order in (1, 2)  # order 0 has a kink where the angle is zero

    def slope(self, t: Any, xp: Any, aa: Any, bb: Any) -> Any:
        """∂k/∂⟨x, y⟩ and ∂k/∂‖x‖², by dJ₁/d cos θ = π − θ and dJ₂/d cos θ = 4 (sin θ + (π − θ) cos θ)."""
        cos, sin, rest = self._angle(t, xp, aa, bb)
        if self.order == 1:
            return rest / math.pi, xp.sqrt(bb) * _inverse_sqrt(aa, xp) * sin / (2 * math.pi)
        turning = 4 * (sin + rest * cos)
        value = 3 * sin * cos + rest * (1 + 2 * cos**2)
        return xp.sqrt(aa) * xp.sqrt(bb) * turning / math.pi, bb * (value - cos * turning / 2) / math.pi


@dataclass(repr=False)
class Tanimoto(VectorKernel):
    """k(x, y) = ⟨x, y⟩ / (‖x‖² + ‖y‖² − ⟨x, y⟩): shared over total bits, for fingerprints and sets; k(0, 0) = 1.

    >>> float(Tanimoto()([[1.0, 1.0, 0.0]], [[1.0, 0.0, 1.0]])[0, 0]).__round__(6)  # one shared of three
    0.333333
    """

    _saved = SavedRecord("kernel.Tanimoto")

    reads = "dot+norms"

    def profile(self, t: Any, xp: Any, aa: Any, bb: Any) -> Any:
        total = aa + bb - t
        empty = total <= 0
        return xp.where(empty, xp.ones_like(t), t / xp.where(empty, xp.ones_like(total), total))

    def slope(self, t: Any, xp: Any, aa: Any, bb: Any) -> Any:
        total = aa + bb - t
        inverse = _inverse_sqrt(total, xp) ** 4  # zero where both rows are empty
        return (aa + bb) * inverse, -t * inverse


def _inverse_sqrt(a: Any, xp: Any) -> Any:
    positive = a > 0
    return xp.where(positive, 1 / xp.sqrt(xp.where(positive, a, xp.ones_like(a))), xp.zeros_like(a))
