"""The crowding problem: SNE, whose Gaussian leaves no room in the plane, and t-SNE, with the same digits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from sklearn.metrics import silhouette_score
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors

from mercer import SNE, TSNE
from mercer.cli.demos.stage import Stage
from mercer.plots import FEW, INK, EmbeddingDisplay, new_figure


def show(stage: Stage) -> None:
    stage.say("Crowding: 1797 digits by SNE and by t-SNE", bold=True)
    with stage.console.working("SNE and t-SNE of the digits"):
        figure = crowd(1797, 1000, stage.say)
    stage.picture("crowding", figure)


def crowd(rows: int, steps: int, say: Callable[[str], None]) -> Figure:
    """Map digits with SNE and t-SNE. Tell and draw what each map keeps, and how far apart it puts things."""
    X, kind = load_digits(return_X_y=True)
    X, kind = X[:rows], kind[:rows]
    figure, panels = new_figure(3, width=4.2, height=4.2)
    spreads = {}
    for ax, (name, model) in zip(panels, {"SNE": SNE(), "t-SNE": TSNE()}.items(), strict=False):
        Y = model.set_params(max_iter=steps).fit_transform(X)
        right = cross_val_score(KNeighborsClassifier(10), Y, kind, cv=5).mean()
        say(
            f"{name}: KL {model.kl_divergence_:.2f}; ten neighbours in the map name {right:.1%} of the digits; "
            f"silhouette of the ten classes {silhouette_score(Y, kind):.2f}"
        )
        spreads[name] = far_over_near(Y)
        _draw_map(ax, Y, kind, f"{name}: {right:.1%} by ten neighbours")
    for name, spread in spreads.items():
        say(f"{name}: half of all pairs are more than {np.median(spread):.0f} neighbours' distances apart")
    _draw_spread(panels[2], spreads)
    return figure


def far_over_near(Y: np.ndarray, neighbors: int = 10) -> np.ndarray:
    """Distances between all pairs of points, in units of the median distance to the tenth neighbour."""
    near = NearestNeighbors(n_neighbors=neighbors).fit(Y).kneighbors()[0][:, -1]
    pairs = np.linalg.norm(Y[::3, None] - Y[None, ::3], axis=2)
    return pairs[np.triu_indices(len(pairs), 1)] / np.median(near)


def _draw_map(ax: Axes, Y: np.ndarray, kind: np.ndarray, title: str) -> None:
    EmbeddingDisplay.from_coordinates(Y, kind, names=("", ""), ax=ax, size=5)
    ax.set(aspect="equal", xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    ax.set_title(title, fontsize=10.5, color=INK)


def _draw_spread(ax: Axes, spreads: dict[str, np.ndarray]) -> None:
    """Draw how far apart pairs are: a crowded map has little beyond a few times the distance between neighbours."""
    edges = np.linspace(0, 1.05 * max(spread.max() for spread in spreads.values()), 60)
    for (name, spread), color in zip(spreads.items(), FEW, strict=False):
        share, _ = np.histogram(spread, edges, density=True)
        ax.fill_between((edges[1:] + edges[:-1]) / 2, share, color=color, alpha=0.25, lw=0)
        ax.plot((edges[1:] + edges[:-1]) / 2, share, color=color, lw=1.6, label=name)
    ax.set(
        yticks=[], xlim=(0, edges[-1]), ylim=(0, None), xlabel="distance of a pair / distance to the tenth neighbour"
    )
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.legend(frameon=False, fontsize=9)
    ax.set_title("How far apart pairs are", fontsize=10.5, color=INK)
