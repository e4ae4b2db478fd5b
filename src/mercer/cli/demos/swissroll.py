"""A rolled-up sheet: projections leave it rolled up, Isomap unrolls it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from sklearn.datasets import make_swiss_roll

from mercer import PCA, Isomap, KernelPCA
from mercer.cli.demos.stage import Stage
from mercer.plots import EmbeddingDisplay

ISOMAP = "Isomap, 10 neighbours"


def show(stage: Stage) -> None:
    stage.say("A rolled-up sheet, 1500 points in space", bold=True)
    stage.picture("swiss_roll", unroll(1500, stage.say))


def unroll(rows: int, say: Callable[[str], None]) -> Figure:
    """Map a roll with three methods. Tell and draw how well each recovers the length along it."""
    X, turn = make_swiss_roll(rows, random_state=0)
    along = (turn * np.sqrt(1 + turn**2) + np.arcsinh(turn)) / 2  # the length of the spiral: the true coordinate
    methods = {
        "PCA": PCA(2),
        "kernel PCA": KernelPCA(2, kernel="rbf", gamma="median"),
        ISOMAP: Isomap(n_neighbors=10),
    }
    maps = {name: method.fit_transform(X) for name, method in methods.items()}
    for name, Z in maps.items():
        right = max(abs(np.corrcoef(Z[:, c], along)[0, 1]) for c in range(2))
        say(f"{name:22} r = {right:.3f} between a coordinate and the length along the roll")
    left = methods[ISOMAP].residual_variance_[1]
    say(f"two coordinates leave {left:.2%} of the distances' variance unexplained")
    return draw(X, along, maps)


def draw(X: np.ndarray, along: np.ndarray, maps: dict[str, np.ndarray]) -> Figure:
    """The roll in space, and each map of it, coloured by the length along it."""
    figure = Figure(figsize=(12, 3.3), dpi=130, layout=ConstrainedLayoutEngine(w_pad=0.1), facecolor="white")
    roll: Any = figure.add_subplot(1, 1 + len(maps), 1, projection="3d")
    roll.scatter(*X.T, c=along, s=5, lw=0, cmap="viridis")
    roll.view_init(elev=12, azim=-75)
    roll.set_box_aspect(None, zoom=1.35)
    roll.set_axis_off()
    roll.set_title("the roll", fontsize=10)
    for place, (name, Z) in enumerate(maps.items(), start=2):
        ax = figure.add_subplot(1, 1 + len(maps), place)
        bar: Any = EmbeddingDisplay(Z, along).plot(ax=ax, size=6, key=None).colorbar_
        bar.remove()
        ax.set_title(name, fontsize=10)
        ax.spines[:].set_visible(False)
        ax.set(xlabel="", ylabel="", xticks=[], yticks=[])
    return figure
