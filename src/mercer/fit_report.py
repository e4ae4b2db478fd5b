"""What a fit did: the report that every estimator leaves in `report_`."""

from __future__ import annotations

from dataclasses import dataclass

from mercer.amounts import amount
from mercer.memory import format_bytes
from mercer.models.fields import SavedRecord


@dataclass(frozen=True)
class Report:
    """What ran in a fit, why, and at what cost. Fields that do not apply to a method are None.

    name, reason : the solver or method that really ran, and why
    passes : visits of all entries of the kernel matrix; for a map see `steps`
    bytes : the memory that the fit worked with, as its plan counts it, and the tiles that it kept
    tol, converged : the tolerance that was asked for, and whether it was reached; tol is 0 for methods that have none
    seconds : how long it took
    neighbors, recall : how neighbours were found, and the share of the true ones among them
    repulsion : how the points of a map repel one another
    steps, ended : of a descent, and why it ended
    """

    # Files have used this name from the beginning. They hold no seconds, so that the same fit gives the same bytes.
    _saved = SavedRecord("SolverReport", parts=lambda report: {**vars(report), "seconds": 0.0})

    name: str
    reason: str
    passes: int = 0
    bytes: int = 0
    tol: float = 0.0
    converged: bool = True
    seconds: float = 0.0
    neighbors: str | None = None
    recall: float | None = None
    repulsion: str | None = None
    steps: int | None = None
    ended: str | None = None

    def __str__(self) -> str:
        parts = [f"{self.name} ({self.reason})"] if self.repulsion is None else []
        if self.neighbors is not None:
            parts.append(f"neighbours: {self.neighbors} (recall {self.recall:.3f})")
        if self.repulsion is not None:
            parts.append(f"repulsion: {self.repulsion}")
        if self.passes:
            parts.append(amount(self.passes, "pass", "passes"))
        if self.bytes:
            parts.append(format_bytes(self.bytes))
        return f"{'; '.join(parts)}; {self._end()}"

    def _end(self) -> str:
        if self.steps is not None:
            return f"{amount(self.steps, 'step')} in {self.seconds:.3g} s, {self.ended}"
        if not self.tol:
            return f"{self.seconds:.2g} s"
        return f"{'converged' if self.converged else 'NOT converged'} at {self.tol:.0e} in {self.seconds:.2g} s"


@dataclass(frozen=True)
class MapReport:
    """The report of a map in files of older versions, from which a `Report` is made."""

    neighbors: str
    recall: float
    repulsion: str
    steps: int
    ended: str
    seconds: float

    def report(self) -> Report:
        """The same facts as a `Report`."""
        name, _, reason = self.repulsion.partition(", ")
        return Report(
            name,
            reason,
            seconds=self.seconds,
            neighbors=self.neighbors,
            recall=self.recall,
            repulsion=self.repulsion,
            steps=self.steps,
            ended=self.ended,
        )

    _saved = SavedRecord("EmbeddingReport", build=lambda **parts: MapReport(**parts).report())
