"""A kernel's anchors in the coordinates in which it reads them, and profiles turned round.

Kernels of the distance take their rows about a mean, and so does a linear kernel once centred. Iterating in that frame
keeps the digits that data far from the origin would lose.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.kernels.distances import RBF
from mercer.kernels.kernel import Points
from mercer.kernels.kernel_fields import bound_kernel
from mercer.kernels.vector import VectorKernel
from mercer.models.fields import SavedRecord, finite
from mercer.preimage.base import Fitted

_HALVINGS = 60
_CLOSE = 1e-4  # of the data's spread: nearer than this, slopes against ‖x − y‖ of kernels with a cusp are held
_GRID = 1025


@dataclass(frozen=True)
class Frame:
    """Anchors (rows of points, float64), the kernel that reads them, and the shift to the user's coordinates."""

    kernel: VectorKernel
    points: Points
    shift: np.ndarray | None
    spread: float  # root mean square distance of the anchors from their mean

    @classmethod
    def of(cls, fitted: Fitted) -> Frame:
        kernel = fitted.expansion.kernel
        assert isinstance(kernel, VectorKernel)
        points = kernel.points(fitted.expansion.anchors, np.float64)
        shift = points.context.shift if kernel.reads != "dot" else getattr(kernel, "shift", None)
        return cls(kernel, points, None if shift is None else np.asarray(shift, np.float64), _spread(points))

    def inward(self, X: Any) -> np.ndarray:
        """Rows in the frame, dense."""
        X = np.asarray(X.toarray() if sp.issparse(X) else X, np.float64)
        return X if self.shift is None else X - self.shift

    def outward(self, U: np.ndarray) -> np.ndarray:
        """Rows of the frame as the user knows them."""
        return U if self.shift is None else U + self.shift

    def at(self, U: np.ndarray) -> Points:
        """Rows of the frame, ready to be compared with the anchors."""
        return Points(U, np.einsum("ij,ij->i", U, U), context=self.points.context)

    def values_and_slopes(self, new: Points) -> tuple[np.ndarray, np.ndarray]:
        """k, and its derivative with respect to ‖x − y‖² or ⟨x, y⟩, (m, anchors) both."""
        kernel = self.kernel
        if isinstance(kernel, RBF):  # one exponential does for both
            K = kernel.tile(new, self.points)
            return K, -kernel.gamma * K
        t = kernel.reading(new, self.points)
        return kernel.profile(t, np), self._slopes(t)

    def own_slopes(self, new: Points) -> np.ndarray:
        """The derivative of the profile at ⟨x, x⟩, (m,)."""
        return self._slopes(new.norms)

    def _slopes(self, t: np.ndarray) -> np.ndarray:
        kernel, euclidean = self.kernel, self.kernel.reads == "euclidean"
        if kernel.smooth:
            return 0.5 * kernel.slope(t, np) if euclidean else kernel.slope(t, np)  # d/d(t²) is d/dt over 2t
        slopes = differences(kernel, t)
        return slopes / (2 * np.maximum(t, max(_CLOSE * self.spread, 1e-300))) if euclidean else slopes


def differences(kernel: VectorKernel, t: np.ndarray) -> np.ndarray:
    """The derivative of a profile by central differences, for kernels that do not know their own."""
    step = 6e-6 * np.maximum(np.abs(t), np.abs(t).mean() + 1e-300)
    low = t - step if kernel.reads == "dot" else np.maximum(t - step, 0.0)
    return (kernel.profile(t + step, np) - kernel.profile(low, np)) / (t + step - low)


def _spread(points: Points) -> float:
    mean = np.asarray(points.rows.mean(axis=0)).reshape(-1)
    return float(np.sqrt(max(points.norms.mean() - mean @ mean, 0.0)))


@dataclass(frozen=True)
class InverseProfile:
    """t with profile(t) = v, for v between the profile's values at the ends of an interval; others go to the ends.

    By halving, so that any monotone profile will do: 60 evaluations.
    """

    _saved = SavedRecord("InverseProfile", {"kernel": bound_kernel, "low": finite, "high": finite})

    kernel: VectorKernel
    low: float
    high: float

    def __call__(self, values: np.ndarray) -> np.ndarray:
        rising = self._at(self.high) >= self._at(self.low)
        low, high = np.full_like(values, self.low), np.full_like(values, self.high)
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            beyond = (self.kernel.profile(middle, np) > values) == rising
            low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
        return 0.5 * (low + high)

    def _at(self, t: float) -> float:
        return float(self.kernel.profile(np.array([t]), np)[0])

    def is_monotone(self) -> bool:
        """Whether the profile never turns between the ends."""
        with np.errstate(invalid="ignore"):
            steps = np.diff(self.kernel.profile(np.linspace(self.low, self.high, _GRID), np))
        return bool(np.all(steps >= 0) or np.all(steps <= 0))


def inverse_profile(kernel: VectorKernel, points: Points) -> InverseProfile:
    """Over all distances, or inner products, that rows among these can have."""
    largest = float(np.max(points.norms, initial=0.0))
    if kernel.reads == "dot":
        entries = points.rows.data if sp.issparse(points.rows) else points.rows
        return InverseProfile(kernel, 0.0 if np.all(entries >= 0) else -largest, largest)
    return InverseProfile(kernel, 0.0, 4 * largest if kernel.reads == "sqeuclidean" else 2 * largest**0.5)
