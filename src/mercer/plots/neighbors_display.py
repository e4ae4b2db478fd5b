"""Pictures of a neighbours diagnosis: its numbers against k, and the data with its shortcuts."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator, PercentFormatter

from mercer.backends import to_numpy
from mercer.plots.embedding_display import EmbeddingDisplay
from mercer.plots.style import FAINT, FEW, INK, Display, new_figure, tidy

WRONG = "#B2182B"


class NeighborsDisplay(Display):
    """Residual variance, connected parts and shortcuts against the number of neighbours.

    n_neighbors, residual_variance, components, n_shortcuts, share : (c,)
    recommended : the number to mark

    Attributes after `plot`: axes_ (two), figure_, curve_, points_ (full where the graph is in one piece), texts_ (the
    numbers of parts and of shortcuts), bars_, marks_ (the recommended number), legend_.

    >>> display = NeighborsDisplay([4, 8], [0.01, 0.2], [1, 1], [0, 3], [0.0, 0.4], 4).plot()
    >>> len(display.axes_)
    2
    """

    def __init__(
        self, n_neighbors: Any, residual_variance: Any, components: Any, n_shortcuts: Any, share: Any, recommended: int
    ) -> None:
        self.n_neighbors, self.residual_variance = np.asarray(n_neighbors), np.asarray(residual_variance)
        self.components, self.n_shortcuts = np.asarray(components), np.asarray(n_shortcuts)
        self.share, self.recommended = np.asarray(share), recommended

    @classmethod
    def from_diagnosis(cls, found: Any, *, ax: Any = None) -> NeighborsDisplay:
        """Draw a `NeighborsDiagnosis`."""
        counts = (found.components, found.n_shortcuts)
        return cls(found.n_neighbors, found.residual_variance, *counts, found.share, found.recommended).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> NeighborsDisplay:
        """Draw into two axes, or into a new figure."""
        self.axes_ = list(new_figure(2, width=4.6, height=3.4)[1] if ax is None else ax)
        if len(self.axes_) != 2:
            raise ValueError(
                f"This display needs two axes, for residual variance and for shortcuts, but got {len(self.axes_)}."
            )
        self.figure_ = self.axes_[0].figure
        self.texts_: list[Any] = []
        for panel in self.axes_:
            tidy(panel).set_xlabel("neighbours", fontsize=9.5)
            panel.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
        self.marks_ = [
            panel.axvline(self.recommended, color=FEW[2], lw=6, alpha=0.25, zorder=0) for panel in self.axes_
        ]
        self._variance(self.axes_[0])
        self._shortcuts(self.axes_[1])
        return self

    def _variance(self, ax: Axes) -> None:
        whole, sound = self.components == 1, self.n_shortcuts == 0
        edges = [FEW[0] if clean else WRONG for clean in sound]
        fills = [edge if one else "white" for edge, one in zip(edges, whole, strict=True)]
        (self.curve_,) = ax.plot(self.n_neighbors, self.residual_variance, color=FAINT, lw=1, zorder=1)
        self.points_ = ax.scatter(
            self.n_neighbors,
            self.residual_variance,
            s=30,
            zorder=3,
            lw=1.4,
            edgecolors=edges,
            c=fills,
        )
        for k, variance, count in zip(self.n_neighbors, self.residual_variance, self.components, strict=True):
            if count > 1:
                self.texts_.append(_above(ax, f"{count} parts" if not self.texts_ else f"{count}", k, variance))
        top = max(1.18 * float(self.residual_variance.max()), 1e-3)
        ax.set_ylim(-0.03 * top, top)
        ax.set_ylabel("residual variance", fontsize=9.5)
        self.legend_ = ax.legend(
            handles=self._keys(whole, sound), frameon=False, fontsize=8, labelcolor=INK, loc="best"
        )

    def _keys(self, whole: np.ndarray, sound: np.ndarray) -> list[Line2D]:
        kinds = [("no shortcuts", FEW[0], FEW[0], sound & whole), ("in parts", FEW[0], "white", ~whole)]
        kinds.append(("with shortcuts", WRONG, WRONG, ~sound))
        keys = [
            Line2D([], [], marker="o", ls="", mec=edge, mfc=fill, label=name)
            for name, edge, fill, any_ in kinds
            if any_.any()
        ]
        keys.append(Line2D([], [], color=FEW[2], lw=6, alpha=0.25, label=f"recommended: {self.recommended}"))
        return keys

    def _shortcuts(self, ax: Axes) -> None:
        step = float(np.diff(self.n_neighbors).min()) if len(self.n_neighbors) > 1 else 1.0
        self.bars_ = ax.bar(self.n_neighbors, self.share, width=0.7 * step, color=WRONG, alpha=0.75)
        for k, share, count in zip(self.n_neighbors, self.share, self.n_shortcuts, strict=True):
            if count:
                self.texts_.append(_above(ax, f"{count}", k, share, small=len(self.n_neighbors) > 16))
        if not self.n_shortcuts.any():
            ax.text(
                0.5, 0.5, "no edge looks like a shortcut", transform=ax.transAxes, ha="center", fontsize=9, color=INK
            )
        ax.set_xlim(self.axes_[0].get_xlim())
        ax.set_ylim(0, max(1.15 * float(self.share.max()), 0.01))
        ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
        ax.set_ylabel("share of distance over shortcuts", fontsize=9.5)
        if self.n_shortcuts.any():
            ax.set_title("number of shortcuts above the bars", fontsize=8.5, color=FAINT, loc="right")


def _above(ax: Axes, text: str, x: float, y: float, *, small: bool = False) -> Any:
    size = 6 if small else 7.5
    return ax.annotate(
        text, (x, y), (0, 5), textcoords="offset points", ha="center", va="bottom", fontsize=size, color=INK
    )


class ShortcutsDisplay(Display):
    """A scatter plot of two coordinates with the shortcuts as lines. A wider line carries more distances.

    coordinates : (n, 2)
    i, j, share : (s,), the two ends of each shortcut, and the share of all distance that runs over it
    labels : as in EmbeddingDisplay

    Attributes after `plot`: ax_, figure_, points_, lines_.

    >>> display = ShortcutsDisplay(np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]]), [0], [2], [0.5]).plot()
    >>> len(display.figure_.axes)
    1
    """

    def __init__(self, coordinates: Any, i: Any, j: Any, share: Any, labels: Any = None) -> None:
        self.coordinates, self.labels = to_numpy(coordinates), labels
        self.i, self.j, self.share = np.asarray(i), np.asarray(j), np.asarray(share)
        if self.coordinates.ndim != 2 or self.coordinates.shape[1] != 2:
            raise ValueError(
                f"Shortcuts are drawn in the plane: coordinates must have shape (n, 2), not {self.coordinates.shape}."
            )

    def plot(self, *, ax: Axes | None = None, size: float = 6) -> ShortcutsDisplay:
        """Draw."""
        ax = self._on(ax)
        map_ = EmbeddingDisplay(self.coordinates, self.labels).plot(ax=ax, size=size, key=None)
        if map_.colorbar_ is not None:  # a colour scale would draw attention away from the lines
            map_.colorbar_.remove()
        self.points_ = map_.points_
        self.points_.set_zorder(1)
        ends = np.stack([self.coordinates[self.i], self.coordinates[self.j]], axis=1)
        widths = 0.8 + 1.7 * self.share / max(float(self.share.max(initial=0.0)), 1e-12)
        self.lines_ = ax.add_collection(LineCollection(list(ends), linewidths=widths, colors=WRONG, zorder=3))
        return self
