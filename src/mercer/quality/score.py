"""A score: a number, its standard error, and what it was computed from."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Score:
    """One number about a map.

    name : the function that computes it
    value : the score
    error : one standard error of `value`; 0 if it is exact
    rows : how many rows, pairs or triplets (see `unit`) it was computed from
    best : the score of a perfect map
    meaning : the score in one sentence
    unit : "rows", "pairs" or "triplets"
    note : more about this score: the level of chance, the scale of the map

    >>> print(Score("trustworthiness", 0.95, 0.001, 500, 1.0, "map neighbours are neighbours"))
    trustworthiness 0.9500 ± 0.0010 (500 rows)
    """

    name: str
    value: float
    error: float
    rows: int
    best: float
    meaning: str
    unit: str = "rows"
    note: str = ""

    @property
    def title(self) -> str:
        """The name as people write it."""
        return (
            self.name.replace("_", " ")
            .replace("shepard", "Shepard")
            .replace("kl ", "KL ")
            .replace("procrustes", "Procrustes")
        )

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval, value ± 1.96 standard errors."""
        return self.value - 1.96 * self.error, self.value + 1.96 * self.error

    @property
    def spread(self) -> str:
        """The standard error as text: "exact", or for example "± 0.0010", but never "± 0"."""
        if not self.error:
            return "exact"
        return f"± {self.error:.4f}" if self.error >= 5e-5 else f"± {self.error:.0e}"  # not ± 0.0000

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON values."""
        return asdict(self)

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        spread = f" {self.spread}" if self.error else ""
        return f"{self.title} {self.value:.4f}{spread} ({self.rows:,} {self.unit})"
