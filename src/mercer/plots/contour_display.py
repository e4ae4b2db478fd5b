"""Eigenfunctions over the plane."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from mercer.amounts import amount
from mercer.backends import is_foreign, namespace, to_numpy
from mercer.plots.embedding_display import EmbeddingDisplay, component_names
from mercer.plots.style import INK, Display, new_figure


class ContourDisplay(Display):
    """Level sets of eigenfunctions over the plane: where a component is constant, it cannot tell points apart.

    x, y : (m,), the grid
    values : (c, m, m), one function per panel, values[:, i, j] at (x[j], y[i])
    points, labels : the data, (n, 2) and (n,) or None
    names : the titles of the panels

    Attributes after `plot`: axes_, figure_, fills_, lines_ (the level sets, the zero set drawn thicker).

    >>> from mercer import KernelPCA
    >>> X = np.random.default_rng(0).standard_normal((40, 2))
    >>> display = ContourDisplay.from_estimator(KernelPCA(6, kernel="rbf").fit(X), X)
    >>> len(display.axes_)
    3
    """

    def __init__(
        self, x: Any, y: Any, values: Any, *, points: Any = None, labels: Any = None, names: Sequence[str] = ()
    ) -> None:
        self.x, self.y, self.values = x, y, values
        self.points, self.labels, self.names = points, labels, names

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        components: Sequence[int] = (0, 1, 2),
        ax: Axes | Sequence[Axes] | None = None,
        resolution: int = 120,
        margin: float = 0.12,
        levels: int = 12,
    ) -> ContourDisplay:
        """Evaluate the components of a fitted estimator on a grid around X, (n, 2), and draw one panel for each."""
        points = to_numpy(X)
        if points.ndim != 2 or points.shape[1] != 2:
            raise ValueError(f"Level sets are drawn over the plane: X must have 2 columns, not shape {points.shape}.")
        low, high = points.min(axis=0), points.max(axis=0)
        room = margin * np.where(high > low, high - low, 1.0)
        xs, ys = np.linspace(low - room, high + room, resolution).T
        grid = np.column_stack([axis.ravel() for axis in np.meshgrid(xs, ys)]).astype(points.dtype)
        scores = to_numpy(estimator.transform(_as_array_of(X, grid)))
        if not len(components):
            raise ValueError("components is empty. Give the components to draw, such as components=(0, 1).")
        if max(components) >= scores.shape[1]:
            raise ValueError(
                f"The model has only {amount(scores.shape[1], 'component')}, and components count from 0: "
                f"{max(components)} is not one of them."
            )
        values = scores[:, list(components)].T.reshape(-1, resolution, resolution)
        names = component_names(estimator, components)
        labels = None if y is None else to_numpy(y)
        display = cls(xs, ys, values, points=points, labels=labels, names=names)
        return display.plot(ax=ax, levels=levels)

    def plot(self, *, ax: Axes | Sequence[Axes] | None = None, levels: int = 12) -> ContourDisplay:
        """Draw one panel per function; `ax` holds as many axes as there are functions."""
        if ax is None:
            ax = new_figure(len(self.values), width=3.2, height=3.3)[1]
        self.axes_ = [ax] if isinstance(ax, Axes) else list(ax)
        if len(self.axes_) != len(self.values):
            raise ValueError(
                f"{len(self.values)} functions need {len(self.values)} axes, but there are {len(self.axes_)}."
            )
        self.figure_ = self.axes_[0].figure
        self.fills_: list[Any] = []
        self.lines_: list[Any] = []
        for panel, values in zip(self.axes_, self.values, strict=True):
            self._draw(panel, values, levels)
        for panel, name in zip(self.axes_, self.names, strict=False):
            panel.set_title(name, fontsize=9.5, color=INK)
        return self

    def _draw(self, ax: Axes, values: np.ndarray, levels: int) -> None:
        top = np.abs(values).max() or 1.0
        steps = np.linspace(-top, top, 2 * (levels // 2) + 1)
        self.fills_.append(ax.contourf(self.x, self.y, values, steps, cmap="PRGn", alpha=0.5))
        widths = np.where(np.arange(len(steps)) == levels // 2, 1.4, 0.5)
        lines = ax.contour(self.x, self.y, values, steps, colors=INK, linewidths=widths, linestyles="solid", alpha=0.6)
        self.lines_.append(lines)
        if self.points is not None:
            EmbeddingDisplay(self.points, self.labels).plot(ax=ax, size=5, key=None)
        ax.set_aspect("equal")
        ax.set_xticks([])
        ax.set_yticks([])
        ax.spines[:].set_visible(False)


def _as_array_of(X: Any, values: np.ndarray) -> Any:
    """NumPy values as an array of X's kind and device."""
    return namespace(X).asarray(values, dtype=X.dtype, device=X.device) if is_foreign(X) else values
