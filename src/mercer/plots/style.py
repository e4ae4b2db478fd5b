"""Shared by all displays: colours that everyone can tell apart, figures without pyplot, plain axes."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

# Both lists of colours can be told apart with every common kind of colour blindness.
#: The colours of up to five classes, by Okabe and Ito.
FEW = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9")
#: The colours of up to ten classes: Tol's "muted".
MANY = (
    "#332288", "#CC6677", "#117733", "#88CCEE", "#882255",
    "#DDCC77", "#44AA99", "#AA4499", "#999933", "#6B6B6B",
)  # fmt: skip
#: The colour of text and of contour lines.
INK = "#222222"
#: The colour of axes and of what matters less.
FAINT = "#8A8A8A"


def palette(count: int) -> list[str]:
    """`count` colours from `FEW` or `MANY`; if both are too short, colours evenly spaced on viridis.

    >>> palette(2)
    ['#0072B2', '#E69F00']
    """
    for colours in (FEW, MANY):
        if count <= len(colours):
            return list(colours[:count])
    ramp = colormaps["viridis"](np.linspace(0, 1, count))
    return ["#" + "".join(f"{round(255 * part):02x}" for part in colour[:3]) for colour in ramp]


def readable(name: Any, longest: int = 22) -> str:
    """A name from the data for matplotlib: on one line, shortened in the middle, never read as a formula.

    >>> readable("from $5 to $9"), readable("_hidden")
    ('from \\\\$5 to \\\\$9', ' _hidden')
    """
    text = " ".join(str(name).split())
    if len(text) > longest:  # names often differ at the end
        text = text[: longest // 2].rstrip() + "…" + text[-(longest // 2 - 1) :].lstrip()
    text = text.replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text  # a legend would leave out names that start with _


def new_figure(columns: int = 1, *, width: float = 4.8, height: float = 4.2) -> tuple[Figure, list[Axes]]:
    """Make a figure with axes side by side, each `width` × `height` inches.

    `columns` is the number of axes.

    >>> figure, axes = new_figure(2)
    >>> len(axes), len(figure.axes)
    (2, 2)
    """
    engine = ConstrainedLayoutEngine(w_pad=0.08, h_pad=0.08)
    figure = Figure(figsize=(columns * width, height), layout=engine, dpi=150, facecolor="white")
    return figure, list(figure.subplots(1, columns, squeeze=False)[0])


def tidy(ax: Axes) -> Axes:
    """Leave two spines and thin ticks on the axes, so that the data stands out.

    `ax` is changed and returned.

    >>> figure, (ax,) = new_figure()
    >>> tidy(ax).spines["top"].get_visible()
    False
    """
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(FAINT)
    ax.tick_params(colors=FAINT, labelcolor=INK, labelsize=8.5)
    ax.xaxis.label.set_color(INK)
    ax.yaxis.label.set_color(INK)
    return ax


class Display:
    """The base class of all displays (abstract).

    >>> from mercer.plots import ScreeDisplay
    >>> issubclass(ScreeDisplay, Display)
    True
    """

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
