"""Scores of several maps side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from mercer.plots.style import INK, Display, new_figure, palette, readable, tidy
from mercer.quality.quality_report import QualityReport
from mercer.quality.score import Score

_MARKERS = "osD^vP*X<>"
_LEGEND_LINE = 0.2  # inches
_SPREAD = 0.62  # the share of a line's height over which the marks of several maps are spread


class QualityDisplay(Display):
    """Scores of maps, one line per score and one mark per map, with bars of 1.96 standard errors.

    scores : the name of each map → its `Score`s

    The first panel shows the scores that are best at 1, and the second those that are best at 0.

    Attributes after `plot`: axes_ (one or two), figure_, bars_ (error bars by panel and map), legend_.

    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> from mercer import quality
    >>> display = QualityDisplay.from_reports({"two of three": quality.report(X, X[:, :2], perplexity=10)})
    >>> [len(lines) for lines in display.lines_]
    [5, 2]
    """

    def __init__(self, scores: Mapping[str, Sequence[Score]]) -> None:
        if not scores or not all(len(own) for own in scores.values()):
            raise ValueError("There is nothing to draw. Give at least one map with at least one score.")
        self.scores = {name: list(own) for name, own in scores.items()}
        every = [score for own in self.scores.values() for score in own]
        names = list(dict.fromkeys(score.name for score in every))
        best = {score.name: score.best for score in every}
        groups = [[name for name in names if best[name] == 1], [name for name in names if best[name] != 1]]
        self.lines_ = [group for group in groups if group]

    @classmethod
    def from_report(cls, report: QualityReport, name: str = "map", *, ax: Any = None) -> QualityDisplay:
        """Draw the report of one map."""
        return cls.from_reports({name: report}, ax=ax)

    @classmethod
    def from_reports(cls, reports: Mapping[str, QualityReport], *, ax: Any = None) -> QualityDisplay:
        """Draw several reports, given by the names of their maps."""
        return cls({name: report.scores for name, report in reports.items()}).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> QualityDisplay:
        """Draw into one axes per kind of score, or into a new figure."""
        self.axes_ = self._new_axes() if ax is None else [ax] if isinstance(ax, Axes) else list(ax)
        if len(self.axes_) != len(self.lines_):
            raise ValueError(
                f"This display needs {len(self.lines_)} axes, one for each kind of score (best at 1, best at 0), but "
                f"got {len(self.axes_)}."
            )
        self.figure_ = self.axes_[0].figure
        self.bars_: list[dict[str, Any]] = []
        for panel, names in zip(self.axes_, self.lines_, strict=True):
            self._draw(panel, names)
        handles, labels = list(self.bars_[0].values()), [readable(name, 40) for name in self.scores]
        self.legend_ = None
        if len(self.scores) > 1:
            width, height = self.figure_.get_size_inches()
            columns = int(10 * width) // max(len(label) + 6 for label in labels)  # by letters, six for a mark
            columns = max(1, min(len(labels), columns))
            if ax is None:  # make the figure taller, so that the legend takes no room from the scores
                self.figure_.set_size_inches(width, height + _LEGEND_LINE * (-(-len(labels) // columns) - 1))
            self.legend_ = self.figure_.legend(
                handles, labels, loc="outside upper center", ncols=columns, frameon=False, fontsize=9
            )
        return self

    def _new_axes(self) -> list[Axes]:
        tall = 1.3 + max(0.5, 0.13 * len(self.scores)) * max(len(names) for names in self.lines_)
        axes = new_figure(len(self.lines_), width=4.7, height=tall)[1]
        if len(axes) > 1 and (grid := axes[0].get_gridspec()) is not None:
            grid.set_width_ratios([1.6, 1])
        return axes

    def _draw(self, ax: Axes, names: list[str]) -> None:
        tidy(ax)
        colours = palette(len(self.scores))
        offsets = np.linspace(-_SPREAD / 2, _SPREAD / 2, len(self.scores)) if len(self.scores) > 1 else [0.0]
        bars, best = {}, 1.0
        for i, (name, own) in enumerate(self.scores.items()):
            known = {score.name: score for score in own}
            places = [line for line, score in enumerate(names) if score in known]
            shown = [known[names[line]] for line in places]
            best = shown[0].best if shown else best
            bars[name] = ax.errorbar(
                np.array([score.value for score in shown]),
                np.array(places) + offsets[i],
                xerr=np.array([1.96 * score.error for score in shown]),
                fmt=_MARKERS[i % len(_MARKERS)],
                color=colours[i],
                ms=5.5,
                capsize=2.5,
                lw=1.4,
            )
        self.bars_.append(bars)
        titles = {score.name: score.title for own in self.scores.values() for score in own}
        ax.set_yticks(range(len(names)), [titles[name] for name in names])
        ax.set_ylim(max(len(lines) for lines in self.lines_) - 0.45, -0.55)  # lines of one height in both panels
        ax.tick_params(axis="y", length=0, labelsize=9)
        for edge in range(1, len(names) + (len(names) < len(self.lines_[0]))):
            ax.axhline(edge - 0.5, color="#EEEEEE", lw=0.8, zorder=0)
        ax.grid(axis="x", color="#E6E6E6", lw=0.7)
        ax.set_axisbelow(True)
        self._scale(ax, best)

    def _scale(self, ax: Axes, best: float) -> None:
        low, high = ax.get_xlim()
        if best == 1:
            ax.set_xlim(min(0.0, low), 1.02)
            ax.set_xlabel("higher is better →", fontsize=9)
        else:
            ax.set_xlim(0 if low >= 0 or low > -0.2 * high else low, max(1.0, high))
            ax.set_xlabel("← lower is better", fontsize=9)
        ax.xaxis.label.set_color(INK)
