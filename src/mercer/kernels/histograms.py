"""Kernels of histograms and of categories: sums over coordinates that cannot be written as matrix products."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mercer.kernels.kernel import Kernel
from mercer.kernels.kernel_fields import WIDTH
from mercer.kernels.vector import VectorKernel
from mercer.models.fields import SavedRecord


@dataclass(repr=False)
class Chi2(VectorKernel):
    """k(x, y) = exp(−γ Σ (xⱼ − yⱼ)² / (xⱼ + yⱼ)), for histograms (entries ≥ 0); gamma=None is 1.

    >>> float(Chi2(gamma=1.0)([[1.0, 1.0]], [[1.0, 1.0]])[0, 0])
    1.0
    """

    _saved = SavedRecord("kernel.Chi2", {"gamma": WIDTH})

    reads = "chi2"
    non_negative = True

    gamma: Any = None

    def bind(self, X: Any) -> Kernel:
        return Chi2(self._bandwidth(X, self.gamma, 1.0))

    def profile(self, t: Any, xp: Any) -> Any:
        return xp.exp(-self.gamma * t)


@dataclass(repr=False)
class AdditiveChi2(VectorKernel):
    """k(x, y) = −Σ (xⱼ − yⱼ)² / (xⱼ + yⱼ), for histograms; its matrix is positive semidefinite once centred.

    >>> float(AdditiveChi2()([[1.0, 1.0]], [[1.0, 3.0]])[0, 0])
    -1.0
    """

    _saved = SavedRecord("kernel.AdditiveChi2")

    reads = "chi2"
    non_negative = True

    def profile(self, t: Any, xp: Any) -> Any:
        return -t


@dataclass(repr=False)
class Intersection(VectorKernel):
    """k(x, y) = Σ min(xⱼ, yⱼ), the histogram intersection (entries ≥ 0).

    >>> float(Intersection()([[1.0, 4.0]], [[3.0, 2.0]])[0, 0])
    3.0
    """

    _saved = SavedRecord("kernel.Intersection")

    reads = "intersection"
    non_negative = True


@dataclass(repr=False)
class Hamming(VectorKernel):
    """k(x, y) = the share of coordinates in which x and y are equal, for codes and categories.

    >>> float(Hamming()([[1.0, 2.0, 3.0, 4.0]], [[1.0, 2.0, 0.0, 4.0]])[0, 0])
    0.75
    """

    _saved = SavedRecord("kernel.Hamming")

    reads = "matches"
