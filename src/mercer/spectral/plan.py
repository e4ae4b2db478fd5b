"""What a fit did."""

from __future__ import annotations

from dataclasses import dataclass

from mercer.memory import format_bytes
from mercer.models.fields import SavedRecord


@dataclass(frozen=True)
class SolverReport:
    """What a fit did: the solver and why it was chosen, passes over the kernel matrix, bytes, tolerance, seconds."""

    _saved = SavedRecord("SolverReport")

    name: str
    reason: str
    passes: int
    bytes: int
    tol: float
    converged: bool
    seconds: float

    def __str__(self) -> str:
        state = "converged" if self.converged else "NOT converged"
        return (
            f"{self.name} ({self.reason}): {self.passes} passes, {format_bytes(self.bytes)}, "
            f"{state} at {self.tol:.0e} in {self.seconds:.2g} s"
        )
