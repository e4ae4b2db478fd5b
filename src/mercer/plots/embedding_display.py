"""A map: points by two of their coordinates, coloured by label."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from mercer.backends import to_numpy
from mercer.plots.label_placement import spread_apart, those_that_fit
from mercer.plots.style import FEW, INK, Display, palette, readable
from mercer.quality.inputs import without_label

_MANY_POINTS = 20_000  # above this, points are drawn as one bitmap: a vector graphic would take seconds to open
_MOST_NAMES = 30  # in a map with more class names than this, readers no longer find the one they look for
_FEW_NAMES = 6  # a legend with more entries than this does not fit inside the axes


class EmbeddingDisplay(Display):
    """A scatter plot of two coordinates, coloured by label.

    coordinates : (n, 2)
    labels : (n,) classes, or numbers on a scale (floats), or None; points without a label (None, NaN) are grey
    names : the labels of the two axes

    If there are many classes, only the largest are named: at most 30, and only as many as leave the points visible.
    Long names are shortened, and names that would cover each other are moved apart. Many points are drawn smaller, and
    as one bitmap within a vector graphic.

    Attributes after `plot`: ax_, figure_, points_ (the scatter), unknown_ (that of the points without a label, or
    None), texts_ (class names at the medians of the classes), legend_, colorbar_.

    >>> display = EmbeddingDisplay.from_coordinates([[0.0, 1.0], [2.0, 3.0]], ["a", "b"])
    >>> [text.get_text() for text in display.texts_]
    ['a', 'b']
    """

    def __init__(self, coordinates: Any, labels: Any = None, *, names: Sequence[str] = ("", "")) -> None:
        self.coordinates, self.names = to_numpy(coordinates), names
        self.labels: Any = None if labels is None else to_numpy(labels)
        if not np.isfinite(self.coordinates).all():
            bad = ~np.isfinite(self.coordinates).all(axis=1)
            raise ValueError(
                f"{bad.sum()} of {len(bad)} points have NaN or infinite coordinates, the first is row {bad.argmax()}. "
                "Leave these rows out."
            )

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        components: tuple[int, int] = (0, 1),
        ax: Axes | None = None,
        size: float | None = None,
        key: str | None = "medians",
    ) -> EmbeddingDisplay:
        """Draw `estimator.transform(X)`. The axes are labelled with the share of variance of each component."""
        names = component_names(estimator, components)
        return cls.from_coordinates(
            estimator.transform(X), y, components=components, names=names, ax=ax, size=size, key=key
        )

    @classmethod
    def from_coordinates(
        cls,
        Z: Any,
        labels: Any = None,
        *,
        components: tuple[int, int] = (0, 1),
        names: Sequence[str] | None = None,
        ax: Axes | None = None,
        size: float | None = None,
        key: str | None = "medians",
    ) -> EmbeddingDisplay:
        """Draw two columns of Z, (n, k)."""
        Z = to_numpy(Z)
        if Z.ndim != 2 or Z.shape[1] <= max(components):
            raise ValueError(
                f"Z has shape {Z.shape}; components {tuple(components)} need {max(components) + 1} columns."
            )
        labels = None if labels is None else to_numpy(labels)
        if labels is not None and labels.shape != Z.shape[:1]:
            raise ValueError(f"labels have shape {labels.shape}, but there are {len(Z)} points.")
        names = names or [f"component {i + 1}" for i in components]
        return cls(Z[:, list(components)], labels, names=names).plot(ax=ax, size=size, key=key)

    def plot(
        self, *, ax: Axes | None = None, size: float | None = None, key: str | None = "medians"
    ) -> EmbeddingDisplay:
        """Draw. `key` sets where class names appear: at the "medians" of the classes, in a "legend", or nowhere."""
        if key not in ("medians", "legend", None):
            raise ValueError(f"key={key!r} must be 'medians', 'legend' or None.")
        self._own = ax is None
        ax = self._on(ax)
        self.texts_: list[Any] = []
        self.legend_ = self.colorbar_ = self.unknown_ = None
        self.size_ = _size(len(self.coordinates)) if size is None else size
        if self.labels is None:
            self.points_ = self._scatter(np.ones(len(self.coordinates), bool), c=FEW[0])
        else:
            known = _known(self.labels)
            if not known.all():
                self.unknown_ = self._scatter(~known, c="#C9C9C9", zorder=0.9)
            if np.issubdtype(self.labels.dtype, np.floating):
                self.points_ = self._scatter(known, c=self.labels[known], cmap="viridis")
                self.colorbar_ = self.figure_.colorbar(self.points_, ax=ax)
            else:
                self._draw_classes(known, key)
        ax.set_xlabel(self.names[0])
        ax.set_ylabel(self.names[1])
        return self

    def _scatter(self, which: np.ndarray, c: Any, **colouring: Any) -> Any:
        """One scatter in a shuffled order, so that no class hides another by being drawn later."""
        points = self.coordinates[which]
        order = np.random.default_rng(0).permutation(len(points))
        colours = c if isinstance(c, str) else np.asarray(c)[order]
        many = len(self.coordinates) > _MANY_POINTS
        return self.ax_.scatter(
            *points[order].T,
            c=colours,
            s=self.size_,
            alpha=0.6 if many else 0.85,
            linewidths=0,
            rasterized=many,
            **colouring,
        )

    def _draw_classes(self, known: np.ndarray, key: str | None) -> None:
        labels = self.labels[known]
        classes, index = np.unique(labels.astype(str) if labels.dtype.kind in "OT" else labels, return_inverse=True)
        colours = np.array(palette(len(classes)))
        self.points_ = self._scatter(known, c=colours[index])
        largest = np.sort(np.argsort(-np.bincount(index, minlength=len(classes)), kind="stable")[:_MOST_NAMES])
        if key == "legend" and len(classes):
            self._draw_legend([_dot(colours[i], readable(classes[i])) for i in largest], len(classes))
        elif key == "medians":
            points = self.coordinates[known]
            self.texts_ = [
                self._name(readable(classes[i]), np.median(points[index == i], axis=0), colours[i], len(largest))
                for i in largest
            ]
            self.texts_ = those_that_fit(self.texts_, np.bincount(index)[largest])
            spread_apart(self.texts_)

    def _draw_legend(self, handles: list[Any], count: int) -> None:
        """Inside the axes for a few classes, beside them for many."""
        if count > len(handles):
            handles = [*handles, _dot("white", f"… {count - len(handles)} more")]
        place: dict[str, Any] = {"loc": "best"}
        if len(handles) > _FEW_NAMES:
            columns = -(-len(handles) // 16)
            place = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5), "ncols": columns}
            if self._own:  # widen the figure, so that the legend takes no room from the map
                longest = max(len(handle.get_label()) for handle in handles)
                width, height = self.figure_.get_size_inches()
                self.figure_.set_size_inches(width + columns * (0.45 + 0.075 * longest), height)
        self.legend_ = self.ax_.legend(
            handles=handles, frameon=False, labelcolor=INK, fontsize=9 if len(handles) <= 12 else 8, **place
        )

    def _name(self, name: str, place: np.ndarray, colour: str, count: int) -> Any:
        box = {"boxstyle": "round,pad=0.25,rounding_size=0.6", "fc": "white", "ec": colour, "lw": 1.4, "alpha": 0.92}
        size = 9.5 if count <= 12 else 7.5  # more names need smaller letters
        return self.ax_.text(
            *place, name, ha="center", va="center", fontsize=size, fontweight="bold", color=INK, bbox=box, zorder=5
        )


def _size(n: int) -> float:
    """The area of a point: smaller if there are many, so that a million points still show where they are dense."""
    return 5000 / (n + 150) + 2 * min(1.0, (_MANY_POINTS / max(n, 1)) ** 0.5)


def _known(labels: np.ndarray) -> np.ndarray:
    """Whether each label is present: not None, NaN or infinite."""
    if np.issubdtype(labels.dtype, np.floating):
        return np.isfinite(labels)
    return ~without_label(labels)


def _dot(colour: str, name: str) -> Line2D:
    return Line2D([], [], marker="o", linestyle="", color=colour, label=name, markersize=6)


def component_names(estimator: Any, components: Iterable[int]) -> list[str]:
    ratios = getattr(estimator, "explained_variance_ratio_", None)
    if ratios is None:
        return [f"component {i + 1}" for i in components]
    ratios = to_numpy(ratios)
    return [f"component {i + 1}  ({100 * ratios[i]:.3g} % of variance)" for i in components if i < len(ratios)]
