"""Two rings overlap on every straight line they are projected to, but come apart in feature space."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import make_circles

from mercer import PCA, KernelPCA
from mercer.cli.demos.stage import Stage, title
from mercer.plots import FEW, INK, ContourDisplay, EmbeddingDisplay, new_figure, tidy


def show(stage: Stage) -> None:
    X, outside = make_circles(600, factor=1 / 3, noise=0.03, random_state=0)
    X, rings = 3 * X, np.where(outside == 0, "outer ring", "inner ring")
    pca, kpca = PCA(2).fit(X), KernelPCA(6, kernel="rbf", gamma=0.3).fit(X)
    flat, lifted = pca.transform(X), kpca.transform(X)
    stage.spectrum("Concentric circles, 600 points in the plane", kpca)
    shares = [best_cut(scores[:, 0], outside == 0) for scores in (flat, lifted)]
    stage.say("One cut of the first component sorts")
    stage.say(f"  {shares[0]:.0%} of the points for PCA, {shares[1]:.0%} for kernel PCA.")
    stage.picture("circles", _draw_rings(X, rings, flat, kpca))
    stage.picture("circles-eigenfunctions", _draw_eigenfunctions(X, rings, kpca))


def best_cut(scores: np.ndarray, members: np.ndarray) -> float:
    """The largest share of points that one threshold puts on the right side."""
    sorted_members = members[np.argsort(scores)]
    right = np.cumsum(~sorted_members) + sorted_members.sum() - np.cumsum(sorted_members)
    return float(max(right.max(), len(right) - right.min()) / len(right))


def _draw_rings(X: np.ndarray, rings: np.ndarray, flat: np.ndarray, kpca: KernelPCA) -> Figure:
    figure, (left, middle, right) = new_figure(3, width=3.9, height=3.9)
    EmbeddingDisplay.from_coordinates(X, rings, names=("x", "y"), ax=left, key=None)
    left.set_aspect("equal", adjustable="datalim")
    for height, ring in ((0.0, "inner"), (1.95, "outer")):
        left.text(0, height, ring, ha="center", va="center", fontsize=9.5, color=INK)
    title(left, "The data: two rings")
    parts = [flat[rings == ring, 0] for ring in np.unique(rings)]
    middle.hist(parts, bins=30, stacked=True, color=FEW[: len(parts)], alpha=0.85)
    tidy(middle)
    middle.set_xlabel("first component of PCA")
    middle.set_ylabel("points")
    title(middle, "PCA: the rings merge")
    EmbeddingDisplay.from_estimator(kpca, X, rings, ax=right, key=None)
    title(right, "Kernel PCA: they come apart")
    return figure


def _draw_eigenfunctions(X: np.ndarray, rings: np.ndarray, kpca: KernelPCA) -> Figure:
    figure, panels = new_figure(4, width=2.9, height=3.1)
    ContourDisplay.from_estimator(kpca, X, rings, components=(0, 1, 3, 5), ax=panels)
    return figure
