"""Distances in a map against distances in the data: Shepard's diagram."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, LogNorm

from mercer.plots.style import FEW, INK, Display
from mercer.quality.inputs import data_index, map_index, refuse_other_length
from mercer.quality.pairs import Pairs, all_pairs
from mercer.quality.sampling import SamplingPlan
from mercer.quality.score import Score

_PAIRS = 100_000  # enough pairs that no bin of the histogram looks noisy
_BINS = 80  # per axis of the histogram: cells a few pixels wide
_LINE_BINS = 24  # for the medians: wide enough that most bins hold thousands of pairs
_LEAST = 0.005  # share of all pairs that a bin needs for its median to be drawn
_SHADES = LinearSegmentedColormap.from_list("mercer_blues", ["#EAF2F8", "#7FB3D5", FEW[0], "#08306B"])


class ShepardDisplay(Display):
    """A histogram of pairs of rows by their distance in the data and in the map, with the median for each distance.

    data, points : (m,) distances of pairs in the data and in the map
    correlation, residual : the `Score`s that the title shows, or None

    Attributes after `plot`: ax_, figure_, image_ (the histogram), line_ (medians), colorbar_.

    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> ShepardDisplay.from_coordinates(X, X[:, :2]).correlation.unit
    'pairs'
    """

    def __init__(
        self, data: Any, points: Any, *, correlation: Score | None = None, residual: Score | None = None
    ) -> None:
        self.data, self.points = np.asarray(data, np.float64), np.asarray(points, np.float64)
        if self.data.shape != self.points.shape or self.data.ndim != 1 or not len(self.data):
            raise ValueError(
                f"Distances in the data {self.data.shape} and in the map {self.points.shape} must be of the same pairs."
            )
        if not all(np.isfinite(part).all() and (part >= 0).all() for part in (self.data, self.points)):
            raise ValueError("Distances must be finite and not negative, but some of these are not.")
        self.correlation, self.residual = correlation, residual

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, **options: Any) -> ShepardDisplay:
        """Draw a fitted estimator's map of X: its transform of X, or the embedding that it keeps."""
        Y = estimator.transform(X) if hasattr(estimator, "transform") else estimator.embedding_
        return cls.from_coordinates(X, Y, **options)

    @classmethod
    def from_coordinates(
        cls,
        X: Any,
        Y: Any,
        *,
        metric: Any = "euclidean",
        pairs: int = _PAIRS,
        random_state: Any = None,
        ax: Axes | None = None,
        bins: int = _BINS,
    ) -> ShepardDisplay:
        """Draw `pairs` random pairs of rows of X, (n, d), and of its map Y, (n, c); all pairs if there are fewer."""
        plan = SamplingPlan.checked(pairs, 1.0)
        data, points = data_index(X, metric), map_index(Y)
        refuse_other_length(data.n, points.n)
        if data.n < 3:
            raise ValueError(f"Comparing distances takes at least 3 rows, but there are {data.n}.")
        drawn = Pairs(data, points, random_state, whole=all_pairs(plan, data.n))
        scores = {"correlation": drawn.shepard(plan), "residual": drawn.residual(plan)}
        return cls(*drawn.first(pairs), **scores).plot(ax=ax, bins=bins)

    def plot(self, *, ax: Axes | None = None, bins: int = _BINS) -> ShepardDisplay:
        """Draw; colours count pairs on a log scale."""
        ax = self._on(ax)
        ranges = [(0.0, float(part.max()) or 1.0) for part in (self.data, self.points)]
        counts, _, _, self.image_ = ax.hist2d(
            self.data, self.points, bins=bins, range=ranges, cmin=1, cmap=_SHADES, norm=LogNorm(1), rasterized=True
        )
        most = float(np.nanmax(counts))
        self.image_.set_norm(LogNorm(1, max(most, 2.0)))
        self.line_ = ax.plot(*self._medians(ranges[0][1]), color=FEW[1], lw=2, label="median")[0]
        self.colorbar_ = self.figure_.colorbar(self.image_, ax=ax, pad=0.02)
        self.colorbar_.outline.set_visible(False)
        self.colorbar_.ax.tick_params(labelsize=8, colors=INK)
        self.colorbar_.set_label("pairs", fontsize=9, color=INK)
        ax.set_xlabel("distance in the data")
        ax.set_ylabel("distance in the map")
        ax.legend(frameon=False, fontsize=8.5, labelcolor=INK, loc="upper left")
        ax.set_title(self._title(), fontsize=9.5, color=INK)
        return self

    def _medians(self, largest: float) -> tuple[np.ndarray, np.ndarray]:
        """The median distance in the map for each bin of distances in the data that holds enough pairs."""
        edges = np.linspace(0, largest, _LINE_BINS + 1)
        of_bin = np.clip(np.searchsorted(edges, self.data, side="right") - 1, 0, _LINE_BINS - 1)
        least = max(1, _LEAST * len(self.data))
        held = [b for b in range(_LINE_BINS) if np.count_nonzero(of_bin == b) >= least]
        middles = (edges[:-1] + edges[1:]) / 2
        return middles[held], np.array([np.median(self.points[of_bin == b]) for b in held])

    def _title(self) -> str:
        parts = []
        if self.correlation is not None:
            parts.append(f"rank correlation {_number(self.correlation)}")
        if self.residual is not None:
            parts.append(f"residual variance {_number(self.residual)}")
        return ", ".join(parts)


def _number(score: Score) -> str:
    return f"{score.value:.3f}" + (f" ± {score.error:.3f}" if score.error else "")
