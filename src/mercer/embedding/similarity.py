"""The similarity of two points of a map as a function of their squared distance: w(d²), with w(0) = 1.

    Student    w = (1 + d²/ν)^(−(ν+1)/2)    t-SNE has ν = 1; ν → ∞ is exp(−d²/2)
    Gaussian   w = exp(−d²)                  SNE

A gradient needs −w'(d²), the slope, and −w'/w, the slope of −log w. Any other w works too: subclass `Similarity`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

from mercer.backends import namespace
from mercer.models.fields import SavedRecord, finite


class CompiledForm(NamedTuple):
    """How the compiled loops compute a similarity.

    kind : "gaussian", "cauchy" or "student", the loop over all pairs (`mercer.backends.compiled_pairs`)
    dof : ν of Student's t; 1 for the others
    a, b, s : −w′/w = a / (b + s d²), for the loop over neighbours (`mercer.backends.compiled_attraction`)
    """

    kind: str
    dof: float
    a: float
    b: float
    s: float


class Similarity(ABC):
    """The similarity w(d²) of two points of a map (abstract: subclass it for another w).

        qᵢⱼ = w(‖yᵢ − yⱼ‖²) / Σ_{k≠l} w(‖yₖ − yₗ‖²)

    A subclass must define `weight`, `slope` and `log_slope`. The sums then run in NumPy. The attributes make a
    similarity faster.

    length : the length ℓ over which w changes. It sets the spacing of a grid: at a spacing of h ℓ the repulsion has the
        error that Student(1) has at h. None means that w does not allow a grid.
    compiled : the form in which compiled loops compute w; None if they cannot

    >>> from mercer.embedding import Gaussian, Student
    >>> isinstance(Student(), Similarity), isinstance(Gaussian(), Similarity)
    (True, True)
    """

    length: float | None = None
    compiled: CompiledForm | None = None

    @abstractmethod
    def weight(self, d2: Any) -> Any:
        """w(d²) for a number, an array or a tensor."""

    @abstractmethod
    def slope(self, d2: Any) -> Any:
        """−w'(d²), at least 0."""

    @abstractmethod
    def log_slope(self, d2: Any) -> Any:
        """−w'(d²)/w(d²)."""

    def log_weight(self, d2: Any) -> Any:
        """log w(d²)."""
        weights = self.weight(d2)
        return namespace(weights).log(weights)

    def smooth_part(self, softness: float) -> SmoothCauchy | None:
        """The part of w that is smooth over lengths of 1/√softness; None if w is not split (see `short_range`)."""
        return None


@dataclass(frozen=True)
class Student(Similarity):
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
        # Beyond these limits (1 + d²/ν)^(−(ν+1)/2) loses its digits in float32.
        if not 1e-6 <= self.dof <= 1e6:
            raise ValueError(
                f"dof={self.dof!r}: the degrees of freedom must lie between 1e-6 and 1e6. t-SNE uses 1, "
                "and Gaussian() is the limit of very many."
            )

    @property
    def length(self) -> float:  # type: ignore[override]
        """Student's spectrum falls as exp(−√ν |ω|) while ν is small, and like that of a Gaussian when it is large."""
        return (0.3 + 0.7 / self.dof) ** -0.5

    @property
    def compiled(self) -> CompiledForm:  # type: ignore[override]
        kind = "cauchy" if self.dof == 1 else "student"
        return CompiledForm(kind, float(self.dof), 0.5 * (self.dof + 1), self.dof, 1.0)

    def weight(self, d2: Any) -> Any:
        return (1 + d2 / self.dof) ** (-(self.dof + 1) / 2)

    def slope(self, d2: Any) -> Any:
        return (self.dof + 1) / (2 * self.dof) * (1 + d2 / self.dof) ** (-(self.dof + 3) / 2)

    def log_slope(self, d2: Any) -> Any:
        return (self.dof + 1) / 2 / (self.dof + d2)

    def smooth_part(self, softness: float) -> SmoothCauchy | None:
        """Only 1/(1 + d²) is split: for other ν the two parts have no closed form."""
        return SmoothCauchy(softness) if self.dof == 1 else None


@dataclass(frozen=True)
class Gaussian(Similarity):
    """w(d²) = exp(−d²), the similarity of SNE.

    >>> float(Gaussian().weight(0.0)), float(Gaussian().log_slope(3.0))
    (1.0, 1.0)
    """

    _saved = SavedRecord("similarity.Gaussian")

    length = 1.35  # as measured: the errors at 1.35 h are those of Student(1) at h
    compiled = CompiledForm("gaussian", 1.0, 1.0, 1.0, 0.0)

    def weight(self, d2: Any) -> Any:
        return namespace(d2).exp(-d2)

    def slope(self, d2: Any) -> Any:
        """−w'(d²), which equals w."""
        return namespace(d2).exp(-d2)

    def log_slope(self, d2: Any) -> Any:
        return namespace(d2).ones_like(d2)

    def log_weight(self, d2: Any) -> Any:
        return -d2  # the logarithm of a weight that underflows would be infinite


@dataclass(frozen=True)
class SmoothCauchy:
    """[1 − exp(−T(1 + d²))]/(1 + d²), the part of Student(1) that is smooth over lengths of 1/√T.

    softness : T > 0

    >>> float(SmoothCauchy(1e3).weight(3.0)) == float(Student().weight(3.0))
    True
    """

    softness: float

    def weight(self, d2: Any) -> Any:
        r = 1 + d2
        return -namespace(r).expm1(-self.softness * r) / r
