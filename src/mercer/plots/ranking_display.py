"""A ranking of kernels by a criterion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from mercer.plots.style import FAINT, FEW, INK, Display, new_figure, tidy


class RankingDisplay(Display):
    """The score of each kernel as a point with a bar of one standard error, the best on top and in colour.

    names : the names of the kernels, the best first
    scores, errors : (n,); errors may be None
    meaning : the label of the axis: what the scores mean
    counts : numbers of components, written beside the points if they differ, or None

    Attributes after `plot`: ax_, figure_, points_, bars_, texts_.

    >>> display = RankingDisplay(["narrow", "wide"], [0.4, 0.7], [0.1, 0.1]).plot()
    >>> display.ax_.get_xlabel()
    'score'
    """

    def __init__(
        self,
        names: Sequence[str],
        scores: Sequence[float],
        errors: Sequence[float | None] | None = None,
        *,
        meaning: str = "score",
        counts: Sequence[int | None] | None = None,
    ) -> None:
        self.names, self.scores, self.meaning = list(names), np.asarray(scores, dtype=np.float64), meaning
        self.errors = None if errors is None else np.array([0.0 if e is None else e for e in errors])
        self.counts = counts

    @classmethod
    def from_selection(cls, selection: Any, *, ax: Axes | None = None) -> RankingDisplay:
        """Draw a `KernelSelection`."""
        entries = selection.ranking
        errors = [entry.standard_error for entry in entries]
        counts = [entry.n_components for entry in entries]
        display = cls(
            selection.names,
            [entry.score for entry in entries],
            errors if any(e is not None for e in errors) else None,
            meaning=selection.meaning,
            counts=counts if any(c is not None for c in counts) else None,
        )
        return display.plot(ax=ax)

    def plot(self, *, ax: Axes | None = None) -> RankingDisplay:
        """Draw. The height of a new figure grows with the number of kernels."""
        if ax is None:
            ax = new_figure(width=6.4, height=1.1 + 0.27 * len(self.names))[1][0]
        self.ax_, self.figure_ = tidy(ax), ax.figure
        places = np.arange(len(self.names))
        colours = [FEW[0]] + [FAINT] * (len(self.names) - 1)
        self.bars_ = None
        if self.errors is not None:
            self.bars_ = ax.hlines(places, self.scores - self.errors, self.scores + self.errors, colors=colours, lw=1.6)
        self.points_ = ax.scatter(self.scores, places, c=colours, s=30, zorder=3, linewidths=0)
        differ = self.counts is not None and len(set(self.counts)) > 1
        self.texts_ = [self._count(place) for place in range(len(self.names))] if differ else []
        ax.set_yticks(places, self.names)
        ax.tick_params(axis="y", length=0)
        ax.set_ylim(len(self.names) - 0.4, -0.6)
        ax.margins(x=0.12)
        ax.grid(axis="x", color="#E6E6E6", lw=0.7)
        ax.set_axisbelow(True)
        ax.set_xlabel(self.meaning, fontsize=9.5)
        return self

    def _count(self, place: int) -> Any:
        assert self.counts is not None
        count = self.counts[place]
        words = "" if count is None else f"{count}" if place else f"{count} component{'s' * (count != 1)}"
        reach = self.scores[place] + (0.0 if self.errors is None else self.errors[place])
        return self.ax_.annotate(
            words, (reach, place), (6, 0), textcoords="offset points", va="center", fontsize=7.5, color=INK
        )
