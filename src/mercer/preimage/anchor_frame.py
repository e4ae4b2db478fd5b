"""A kernel's anchors in the coordinates in which the kernel reads them.

Kernels of the distance shift rows to their mean, and so does a centred linear kernel. An iteration in those coordinates
keeps the digits that data far from the origin would lose.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.backends import beside, is_foreign, namespace, to_numpy
from mercer.kernels.distances import RBF
from mercer.kernels.kernel import Points
from mercer.kernels.vector import VectorKernel
from mercer.preimage.target import FittedComponents

# Distances below this share of the data's spread are raised to it when slopes are computed, because the slope of a
# kernel with a cusp grows without bound. The share is too small to matter elsewhere.
_CLOSE = 1e-4


@dataclass(frozen=True)
class AnchorFrame:
    """The anchors in float64, the kernel that reads them, and the shift back to the user's coordinates."""

    kernel: VectorKernel
    points: Points
    shift: np.ndarray | None  # (d,), subtracted from the user's rows; None if the kernel does not shift them
    spread: float  # root mean square distance of the anchors from their mean

    @classmethod
    def of(cls, fitted: FittedComponents) -> AnchorFrame:
        kernel = fitted.expansion.kernel
        assert isinstance(kernel, VectorKernel)
        points = kernel.points(fitted.expansion.anchors, namespace(fitted.expansion.anchors).float64)
        shift = points.context.shift if kernel.reads != "dot" else getattr(kernel, "shift", None)
        return cls(kernel, points, None if shift is None else to_numpy(shift).astype(np.float64), _spread(points))

    def inward(self, X: Any) -> np.ndarray:
        """Dense rows in the frame, from rows in the user's coordinates."""
        X = to_numpy(X.toarray() if sp.issparse(X) else X).astype(np.float64, copy=False)
        return X if self.shift is None else X - self.shift

    def outward(self, U: np.ndarray) -> np.ndarray:
        """Rows in the user's coordinates, from rows in the frame."""
        return U if self.shift is None else U + self.shift

    def at(self, U: np.ndarray) -> Points:
        """Points for rows in the frame, beside the anchors, which the kernel can compare with them."""
        norms = np.einsum("ij,ij->i", U, U)
        if is_foreign(self.points.rows):
            U, norms = beside(U, self.points.rows), beside(norms, self.points.rows)
        return Points(U, norms, context=self.points.context)

    def values_and_slopes(self, new: Points) -> tuple[Any, Any]:
        """k(x, a) and its derivative with respect to ‖x − a‖² or ⟨x, a⟩, both (m, anchors)."""
        kernel = self.kernel
        if isinstance(kernel, RBF):  # one exponential serves both
            K = kernel.tile(new, self.points)
            return K, -kernel.gamma * K
        t = kernel.reading(new, self.points)
        return kernel.profile(t, namespace(t)), self._slopes(t)

    def own_slopes(self, new: Points) -> Any:
        """The derivative of the profile at ⟨x, x⟩, (m,)."""
        return self._slopes(new.norms)

    def _slopes(self, t: Any) -> Any:
        kernel, euclidean, xp = self.kernel, self.kernel.reads == "euclidean", namespace(t)
        if kernel.smooth:
            return 0.5 * kernel.slope(t, xp) if euclidean else kernel.slope(t, xp)  # d/d(t²) is d/dt over 2t
        slopes = differences(kernel, t)
        least = max(_CLOSE * self.spread, 1e-300)  # positive even if all anchors are one point
        return slopes / (2 * xp.clip(t, least, None)) if euclidean else slopes


def differences(kernel: VectorKernel, t: Any) -> Any:
    """The derivative of a profile by central differences, for kernels without a `slope`."""
    # About ∛ε of t: there the rounding of a central difference and its truncation are equally large.
    xp = namespace(t)
    step = 6e-6 * xp.clip(xp.abs(t), float(xp.mean(xp.abs(t))) + 1e-300, None)
    low = t - step if kernel.reads == "dot" else xp.clip(t - step, 0.0, None)
    return (kernel.profile(t + step, xp) - kernel.profile(low, xp)) / (t + step - low)


def _spread(points: Points) -> float:
    mean = to_numpy(points.rows.mean(axis=0)).reshape(-1)
    return float(np.sqrt(max(float(points.norms.mean()) - mean @ mean, 0.0)))
