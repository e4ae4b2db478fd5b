"""How alike two points of a map are, as a function of their squared distance: w(d²), with w(0) = 1.

    Student    w = (1 + d²/ν)^(−(ν+1)/2)    t-SNE has ν = 1; ν → ∞ is exp(−d²/2)
    Gaussian   w = exp(−d²)                  SNE

A gradient needs −w'(d²), the slope, and −w'/w, the slope of −log w.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from mercer.models.fields import SavedRecord, finite


class Similarity(Protocol):
    """What the sums over pairs ask of a similarity."""

    def weight(self, d2: np.ndarray) -> np.ndarray: ...
    def slope(self, d2: np.ndarray) -> np.ndarray: ...
    def log_slope(self, d2: np.ndarray) -> np.ndarray: ...


@dataclass(frozen=True)
class Student:
    """w(d²) = (1 + d²/ν)^(−(ν+1)/2), Student's t with ν degrees of freedom, not normalised.

    Parameters
    ----------
    dof : ν > 0; 1 gives 1/(1 + d²), smaller values heavier tails and tighter clusters.

    References
    ----------
    van der Maaten (2009), Learning a parametric embedding by preserving local structure.

    >>> float(Student().weight(3.0)), float(Student().slope(3.0)), float(Student().log_slope(3.0))
    (0.25, 0.0625, 0.25)
    """

    _saved = SavedRecord("similarity.Student", {"dof": finite})

    dof: float = 1.0

    def __post_init__(self) -> None:
        if not 1e-6 <= self.dof <= 1e6:
            raise ValueError(
                f"dof={self.dof!r}: the degrees of freedom must lie between 1e-6 and 1e6; t-SNE uses 1, "
                "and Gaussian() is the limit of very many."
            )

    def weight(self, d2: np.ndarray) -> np.ndarray:
        return (1 + d2 / self.dof) ** (-(self.dof + 1) / 2)

    def slope(self, d2: np.ndarray) -> np.ndarray:
        """−w'(d²), at least 0."""
        return (self.dof + 1) / (2 * self.dof) * (1 + d2 / self.dof) ** (-(self.dof + 3) / 2)

    def log_slope(self, d2: np.ndarray) -> np.ndarray:
        """−w'(d²)/w(d²)."""
        return (self.dof + 1) / 2 / (self.dof + d2)


@dataclass(frozen=True)
class Gaussian:
    """w(d²) = exp(−d²), the similarity of SNE.

    >>> float(Gaussian().weight(0.0)), float(Gaussian().log_slope(3.0))
    (1.0, 1.0)
    """

    _saved = SavedRecord("similarity.Gaussian")

    def weight(self, d2: np.ndarray) -> np.ndarray:
        return np.exp(-np.asarray(d2))

    def slope(self, d2: np.ndarray) -> np.ndarray:
        """−w'(d²), which is w itself."""
        return np.exp(-np.asarray(d2))

    def log_slope(self, d2: np.ndarray) -> np.ndarray:
        """−w'(d²)/w(d²) = 1."""
        return np.ones_like(d2)
