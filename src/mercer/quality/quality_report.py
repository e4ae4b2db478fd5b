"""All scores of a map in one table."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np

from mercer.amounts import amount
from mercer.backends import to_numpy
from mercer.embedding.weighting import Perplexity
from mercer.progress import phase
from mercer.quality.divergence import MOST_COLUMNS, checked_perplexity, divergence
from mercer.quality.inputs import (
    ExactIndex,
    checked_labels,
    checked_map,
    checked_neighbors,
    data_index,
    map_index,
    most_neighbors,
    refuse_other_length,
    rows_of,
)
from mercer.quality.neighborhoods import Neighborhoods, chance_of, in_order
from mercer.quality.pairs import Pairs, all_pairs, triplets
from mercer.quality.sampling import SamplingPlan
from mercer.quality.score import Score
from mercer.random_state import generator_from

_LEAST = 4  # rows below which no score means anything
_SEEDS = 2**31


@dataclass(frozen=True)
class QualityReport:
    """The scores of a map.

    scores : in the order of the table
    n, n_neighbors : the number of rows, and the k of the scores that count neighbours
    notes : sentences that tell what was left out or changed, and why

    str(report) is an aligned table, and a notebook shows it as a table.

    >>> from mercer import quality
    >>> X = np.random.default_rng(0).standard_normal((60, 3))
    >>> report = quality.report(X, X[:, :2], perplexity=10)
    >>> report.n, 0 < report["trustworthiness"].value <= 1
    (60, True)
    """

    scores: list[Score]
    n: int
    n_neighbors: int
    notes: list[str] = field(default_factory=list)

    def __getitem__(self, name: str) -> Score:
        """A score by its name, such as report["trustworthiness"]."""
        for score in self.scores:
            if score.name == name:
                return score
        raise KeyError(f"This report has no score {name!r}; it has: {', '.join(score.name for score in self.scores)}.")

    def __contains__(self, name: object) -> bool:
        return any(score.name == name for score in self.scores)

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON values."""
        scores = [score.to_dict() for score in self.scores]
        return {"n": self.n, "n_neighbors": self.n_neighbors, "scores": scores, "notes": list(self.notes)}

    def _about(self) -> str:
        return f"{amount(self.n, 'row')}, {amount(self.n_neighbors, 'neighbour')}"

    def _cells(self) -> list[tuple[str, ...]]:
        rows = [
            (
                score.title,
                f"{score.value:.4f}",
                score.spread,
                f"{score.best:g}",
                f"{score.rows:,} {score.unit}",
                score.note,
            )
            for score in self.scores
        ]
        return [("score", "value", "std. error", "best", "from", ""), *rows]

    def __str__(self) -> str:
        cells = self._cells()
        widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
        left = (0, 5)
        lines = [
            "  ".join(
                cell.ljust(width) if i in left else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in cells
        ]
        head = self._about()
        return "\n".join([head, *lines, *self.notes])

    def _repr_html_(self) -> str:
        head, *rows = self._cells()
        top = "".join(f"<th>{escape(cell)}</th>" for cell in head)
        body = "".join(
            f'<tr title="{escape(score.meaning)}">' + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
            for score, row in zip(self.scores, rows, strict=True)
        )
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        caption = f"<caption>{self._about()}</caption>"
        return f"<table>{caption}<thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>{notes}"


def refuse_few_rows(n: int) -> None:
    """ValueError for fewer rows than scores need."""
    if n < _LEAST:
        raise ValueError(f"Scores of a map need at least {_LEAST} rows, and there {'is' if n == 1 else 'are'} {n}.")


def report(
    X: Any,
    Y: Any,
    *,
    labels: Any = None,
    n_neighbors: int = 15,
    metric: Any = "euclidean",
    perplexity: float = 30.0,
    sample: int | str | None = "auto",
    error: float = 0.005,
    random_state: Any = None,
) -> QualityReport:
    """All scores of the map Y of X.

    Parameters
    ----------
    X : (n, d), dense or CSR, or what `metric` compares
    Y : (n, c), the map
    labels : (n,), classes, for purity; None if there are no classes
    n_neighbors : the k of the scores that count neighbours; lowered, with a note, if there are too few rows
    metric : the metric of the data, as for `mercer.graph.build_index`
    perplexity : the perplexity of the divergence; lowered, with a note, if there are too few rows
    sample : None for everything exact, a number of rows (pairs, triplets), or "auto": each score exact for few rows,
        else from as many as `error` asks for
    error : the half-width of the 95 % interval, 1.96 standard errors, that "auto" aims at; the divergence, in nats,
        gives the error that it has
    random_state : the seed of the samples; None is the seed 0

    Returns a `QualityReport`. Cost: about 10,000 rows against all n, whatever n is, and O(n) memory.

    >>> X = np.random.default_rng(0).normal(size=(60, 4))
    >>> found = report(X, X[:, :2], n_neighbors=5, perplexity=10)
    >>> [score.name for score in found.scores][:3]
    ['trustworthiness', 'continuity', 'neighbor_recall']
    """
    plan = SamplingPlan.checked(sample, error)
    Y = checked_map(Y)
    data, points = data_index(X, metric), map_index(Y, X)
    refuse_other_length(data.n, points.n)
    refuse_few_rows(data.n)
    notes: list[str] = []
    k = _lowered(n_neighbors, data.n, notes)
    perplexity = checked_perplexity(perplexity)
    classes = None if labels is None else _classes(labels, data.n, notes)
    seeds = generator_from(random_state).integers(0, _SEEDS, 4)
    pairs = Pairs(data, points, seeds[2], whole=all_pairs(plan, data.n))  # refuses too many before any work
    near = Neighborhoods(data, points, k, in_order(data.n, plan, seeds[0]), classes)
    scores = [near.score(name, plan) for name in ("trustworthiness", "continuity", "neighbor_recall")]
    if classes is not None:
        scores += _purities(near, metric, plan, seeds[0], notes)
    with phase("triplets"):
        scores.append(triplets(data, points, plan, seeds[1]))
    with phase("pairs"):
        scores += [pairs.shepard(plan), pairs.residual(plan)]
    with phase("divergence"):
        scores += _divergence(data, Y, perplexity, plan, seeds[3], notes)
    return QualityReport(scores, data.n, k, notes)


def _lowered(k: Any, n: int, notes: list[str]) -> int:
    most = most_neighbors(n)
    if isinstance(k, (int, np.integer)) and k > most:
        notes.append(f"The number of neighbours was lowered from {k} to {most}, less than half of the {n} rows.")
        k = most
    return checked_neighbors(k, n)


def _classes(labels: Any, n: int, notes: list[str]) -> np.ndarray | None:
    """The classes, or None with a note if there are no two classes to compare."""
    labels = to_numpy(labels)
    if labels.shape == (n,) and labels.dtype.kind == "f" and np.any(np.mod(labels[np.isfinite(labels)], 1) != 0):
        notes.append("class purity is left out: the labels are numbers on a scale, not classes.")
        return None
    classes = checked_labels(labels, n)
    if classes.max(initial=-1) < 0:
        notes.append("class purity is left out: no row has a label.")
        return None
    return classes


def _purities(near: Neighborhoods, metric: Any, plan: SamplingPlan, seed: Any, notes: list[str]) -> list[Score]:
    """Purity in the map and in the data, among the rows that have a label."""
    labelled = np.flatnonzero(near.classes >= 0)
    if len(labelled) < near.n:
        lost = near.n - len(labelled)
        without = f"{lost:,} {'row has' if lost == 1 else 'rows have'} no label"
        if most_neighbors(len(labelled)) < 1:
            others = "one other is" if len(labelled) == 1 else f"the {len(labelled)} others are"
            notes.append(f"class purity is left out: {without}, and {others} too few.")
            return []
        k = min(near.k, most_neighbors(len(labelled)))
        lowered = f", with {k} neighbours" if k < near.k else ""
        notes.append(f"{without}: class purity is of the others, among themselves{lowered}.")
        data, points = rows_of(near.data, metric, labelled), rows_of(near.points, "euclidean", labelled)
        order = in_order(len(labelled), plan, seed)
        near = Neighborhoods(data, points, k, order, near.classes[labelled])
    chance = chance_of(near.classes)
    return [near.score(name, plan, chance) for name in ("class_purity", "class_purity_of_data")]


def _divergence(
    data: ExactIndex, Y: np.ndarray, perplexity: float, plan: SamplingPlan, seed: Any, notes: list[str]
) -> list[Score]:
    if Y.shape[1] > MOST_COLUMNS:
        notes.append(f"KL is left out: it is of maps with 1 to {MOST_COLUMNS} columns, and this has {Y.shape[1]}.")
        return []
    most = max(1.0, (data.n - 1) / 3)
    if perplexity > most:
        notes.append(f"perplexity was lowered from {perplexity:g} to {most:.3g}: there are {data.n} rows.")
        perplexity = most
    return [divergence(data, Y, Perplexity((perplexity,)), "best", plan, seed)]
