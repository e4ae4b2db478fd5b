"""Pictures: an embedding, a spectrum with its certificate, and eigenfunctions over the plane.

Displays work as scikit-learn's do: a class method computes, `plot` draws, and the artists stay as attributes.

    EmbeddingDisplay   points by two of their coordinates, coloured by label
    ScreeDisplay       eigenvalues, each with the bound on its error
    ContourDisplay     level sets of the first eigenfunctions over two-dimensional data

Figures are made without pyplot: no window opens and no global state changes. `display.figure_.savefig("map.png")`
writes one; a notebook shows a display that ends a cell; `ax=` draws into axes of your own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from io import BytesIO
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from mercer.backends import is_foreign, namespace, to_numpy

# Told apart with every common kind of colour blindness: Okabe and Ito's up to five, Tol's "muted" up to ten.
FEW = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9")
MANY = (
    "#332288", "#CC6677", "#117733", "#88CCEE", "#882255",
    "#DDCC77", "#44AA99", "#AA4499", "#999933", "#6B6B6B",
)  # fmt: skip
INK, FAINT = "#222222", "#8A8A8A"


def palette(count: int) -> list[str]:
    """`count` colours: from the two lists above, and evenly spread over viridis when there are more.

    >>> palette(2)
    ['#0072B2', '#E69F00']
    """
    for colours in (FEW, MANY):
        if count <= len(colours):
            return list(colours[:count])
    ramp = colormaps["viridis"](np.linspace(0, 1, count))
    return ["#" + "".join(f"{round(255 * part):02x}" for part in colour[:3]) for colour in ramp]


def new_figure(columns: int = 1, *, width: float = 4.8, height: float = 4.2) -> tuple[Figure, list[Axes]]:
    """A figure and its axes, side by side, of `width` × `height` inches each."""
    engine = ConstrainedLayoutEngine(w_pad=0.08, h_pad=0.08)
    figure = Figure(figsize=(columns * width, height), layout=engine, dpi=150, facecolor="white")
    return figure, list(figure.subplots(1, columns, squeeze=False)[0])


def tidy(ax: Axes) -> Axes:
    """Two spines and quiet ticks: what is left is the data."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(FAINT)
    ax.tick_params(colors=FAINT, labelcolor=INK, labelsize=8.5)
    ax.xaxis.label.set_color(INK)
    ax.yaxis.label.set_color(INK)
    return ax


class _Display:
    """What displays share (abstract)."""

    ax_: Any
    figure_: Any

    def _on(self, ax: Axes | None) -> Axes:
        self.ax_ = new_figure()[1][0] if ax is None else ax
        self.figure_ = self.ax_.figure
        return tidy(self.ax_)

    def _repr_png_(self) -> bytes:
        page = BytesIO()
        self.figure_.savefig(page, format="png")
        return page.getvalue()


class EmbeddingDisplay(_Display):
    """Points by two of their coordinates, coloured by label.

    coordinates : (n, 2)
    labels : (n,) classes, or numbers on a scale (floats), or None
    names : of the two axes

    Attributes after `plot`: ax_, figure_, points_ (the scatter), texts_ (class names at the medians of the classes),
    legend_, colorbar_.

    >>> display = EmbeddingDisplay.from_coordinates([[0.0, 1.0], [2.0, 3.0]], ["a", "b"])
    >>> [text.get_text() for text in display.texts_]
    ['a', 'b']
    """

    def __init__(self, coordinates: Any, labels: Any = None, *, names: Sequence[str] = ("", "")) -> None:
        self.coordinates, self.labels, self.names = coordinates, labels, names

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
        """Draw `estimator.transform(X)`; the axes say which share of the variance they carry."""
        names = _component_names(estimator, components)
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
        """Draw; `key` says where class names stand: at the "medians" of the classes, in a "legend", or nowhere."""
        if key not in ("medians", "legend", None):
            raise ValueError(f"key={key!r} must be 'medians', 'legend' or None.")
        ax = self._on(ax)
        self.texts_: list[Any] = []
        self.legend_ = self.colorbar_ = None
        self.size_ = 5000 / (len(self.coordinates) + 150) + 2 if size is None else size
        if self.labels is None:
            self._scatter(c=FEW[0])
        elif np.issubdtype(self.labels.dtype, np.floating):
            self._scatter(c=self.labels, cmap="viridis")
            self.colorbar_ = self.figure_.colorbar(self.points_, ax=ax)
        else:
            self._draw_classes(key)
        ax.set_xlabel(self.names[0])
        ax.set_ylabel(self.names[1])
        return self

    def _scatter(self, c: Any, **colouring: Any) -> None:
        """One scatter in a shuffled order, so that no class hides another by being drawn later."""
        order = np.random.default_rng(0).permutation(len(self.coordinates))
        colours = c if isinstance(c, str) else np.asarray(c)[order]
        self.points_ = self.ax_.scatter(
            *self.coordinates[order].T, c=colours, s=self.size_, alpha=0.85, linewidths=0, **colouring
        )

    def _draw_classes(self, key: str | None) -> None:
        classes, index = np.unique(self.labels, return_inverse=True)
        colours = np.array(palette(len(classes)))
        self._scatter(c=colours[index])
        if key == "legend":
            handles = [_dot(c, str(name)) for c, name in zip(colours, classes, strict=True)]
            self.legend_ = self.ax_.legend(handles=handles, frameon=False, labelcolor=INK, fontsize=9)
        elif key == "medians":
            self.texts_ = [
                self._name(str(name), np.median(self.coordinates[index == i], axis=0), colours[i])
                for i, name in enumerate(classes)
            ]

    def _name(self, name: str, place: np.ndarray, colour: str) -> Any:
        box = {"boxstyle": "round,pad=0.25,rounding_size=0.6", "fc": "white", "ec": colour, "lw": 1.4}
        return self.ax_.text(
            *place, name, ha="center", va="center", fontsize=9.5, fontweight="bold", color=INK, bbox=box
        )


def _dot(colour: str, name: str) -> Line2D:
    return Line2D([], [], marker="o", linestyle="", color=colour, label=name, markersize=6)


def _component_names(estimator: Any, components: Iterable[int]) -> list[str]:
    ratios = getattr(estimator, "explained_variance_ratio_", None)
    if ratios is None:
        return [f"component {i + 1}" for i in components]
    ratios = to_numpy(ratios)
    return [f"component {i + 1}  ({100 * ratios[i]:.3g} % of variance)" for i in components if i < len(ratios)]


class ScreeDisplay(_Display):
    """Eigenvalues in descending order, each with an error bar from its certificate.

    eigenvalues, errors : (k,); the true eigenvalue lies within `errors` of the one drawn
    residuals : (k,), ‖Av − γv‖, or None
    name : of the vertical axis

    Attributes after `plot`: ax_, figure_, bars_ (the error bars); after `plot_certificate`: bounds_, residuals_.
    """

    def __init__(self, eigenvalues: Any, errors: Any, residuals: Any = None, *, name: str = "eigenvalue") -> None:
        self.eigenvalues, self.errors = to_numpy(eigenvalues), to_numpy(errors)
        if self.eigenvalues.shape != self.errors.shape:
            raise ValueError(f"{self.eigenvalues.shape} eigenvalues and {self.errors.shape} errors do not match.")
        self.residuals = None if residuals is None else to_numpy(residuals)
        self.name = name

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, ax: Axes | None = None, log: bool = True, colour: str = FEW[0], label: str = ""
    ) -> ScreeDisplay:
        """Draw the spectrum of a fitted KernelPCA (γ, of the centred kernel matrix) or PCA (λ, of the covariance)."""
        if hasattr(estimator, "eigenvalue_error_"):
            values, errors = estimator.eigenvalues_, estimator.eigenvalue_error_
            display = cls(values, errors, estimator.residuals_, name="eigenvalue γ")
        elif hasattr(estimator, "explained_variance_") and hasattr(estimator, "residuals_"):
            values = to_numpy(estimator.explained_variance_)
            display = cls(values, estimator.residuals_, estimator.residuals_, name="variance λ")
        else:
            raise TypeError(
                f"{type(estimator).__name__} has no eigenvalues with errors: fit a mercer.KernelPCA or a mercer.PCA."
            )
        return display.plot(ax=ax, log=log, colour=colour, label=label)

    def plot(self, *, ax: Axes | None = None, log: bool = True, colour: str = FEW[0], label: str = "") -> ScreeDisplay:
        """Draw the eigenvalues; call it again with the same `ax` to compare spectra."""
        ax = self._on(ax)
        self.bars_ = ax.errorbar(
            self._order(), self.eigenvalues, yerr=self.errors, fmt="o", color=colour, ms=4, capsize=2.5, lw=1.3
        )  # fmt: skip
        self.bars_.set_label(label)
        positive = self.eigenvalues[self.eigenvalues > 0]
        if log and positive.size:
            ax.set_yscale("log", nonpositive="clip")
            if (self.errors >= self.eigenvalues).any():  # bars that reach zero would stretch the scale for ever
                ax.set_ylim(bottom=positive.min() / 3)
        self._label(self.name)
        return self

    def plot_certificate(self, *, ax: Axes | None = None, colour: str = FEW[0]) -> ScreeDisplay:
        """Draw residuals and error bounds on a log scale: how far below γ they lie is how many digits are certain."""
        ax = self._on(ax)
        ax.set_yscale("log", nonpositive="mask")
        (self.bounds_,) = ax.plot(self._order(), self.errors, "_", color=colour, ms=4, mew=1.8)
        self.bounds_.set_label("bound on the error of γ")
        self.residuals_ = None
        if self.residuals is not None:
            (self.residuals_,) = ax.plot(self._order(), self.residuals, "o", color=FEW[1], ms=4)
            self.residuals_.set_label("residual")
        self._label("")
        return self

    def _order(self) -> np.ndarray:
        return np.arange(1, len(self.eigenvalues) + 1)

    def _label(self, name: str) -> None:
        self.ax_.xaxis.set_major_locator(MaxNLocator(integer=True))
        self.ax_.set_xlabel("component")
        self.ax_.set_ylabel(name)


class ContourDisplay(_Display):
    """Level sets of eigenfunctions over the plane: where a component is constant, it cannot tell points apart.

    x, y : (m,), the grid
    values : (c, m, m), one function a panel, values[:, i, j] at (x[j], y[i])
    points, labels : the data, (n, 2) and (n,) or None
    names : of the panels

    Attributes after `plot`: axes_, figure_, fills_, lines_ (the level sets, the zero set drawn thicker).
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
        """Evaluate the components of a fitted estimator on a grid around X, (n, 2), and draw a panel each."""
        points = to_numpy(X)
        if points.ndim != 2 or points.shape[1] != 2:
            raise ValueError(f"Level sets are drawn over the plane: X must have 2 columns, not shape {points.shape}.")
        low, high = points.min(axis=0), points.max(axis=0)
        room = margin * np.where(high > low, high - low, 1.0)
        xs, ys = np.linspace(low - room, high + room, resolution).T
        grid = np.column_stack([axis.ravel() for axis in np.meshgrid(xs, ys)]).astype(points.dtype)
        scores = to_numpy(estimator.transform(_as_array_of(X, grid)))
        if max(components) >= scores.shape[1]:
            raise ValueError(f"There are {scores.shape[1]} components; component {max(components)} is none of them.")
        values = scores[:, list(components)].T.reshape(-1, resolution, resolution)
        names = _component_names(estimator, components)
        labels = None if y is None else to_numpy(y)
        display = cls(xs, ys, values, points=points, labels=labels, names=names)
        return display.plot(ax=ax, levels=levels)

    def plot(self, *, ax: Axes | Sequence[Axes] | None = None, levels: int = 12) -> ContourDisplay:
        """Draw; `ax` are as many axes as there are functions."""
        if ax is None:
            ax = new_figure(len(self.values), width=3.2, height=3.3)[1]
        self.axes_ = [ax] if isinstance(ax, Axes) else list(ax)
        if len(self.axes_) != len(self.values):
            raise ValueError(f"{len(self.values)} functions need as many axes; {len(self.axes_)} were given.")
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
