"""Is my Isomap graph short-circuited?
===================================

A single edge can ruin a map. This example shows a noisy swiss roll, the edge that cuts across it, the diagnosis that
finds the edge, and the map with the recommended number of neighbours.

::

    python examples/isomap_pitfalls.py --output pictures

With ten neighbours the graph of 1500 points has nearly 9000 edges, and a single one of them joins two turns of the
roll. More than a third of all distance runs over it, so the map folds. The diagnosis names the edge, and recommends a
number of neighbours without it.
"""

import argparse
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from sklearn.datasets import make_swiss_roll

from mercer import Isomap, diagnose_neighbors
from mercer.plots import EmbeddingDisplay

RUINED = 10


def fit(X: np.ndarray, along: np.ndarray, k: int) -> Isomap:
    isomap = Isomap(n_neighbors=k).fit(X)
    right = abs(np.corrcoef(isomap.embedding_[:, 0], along)[0, 1])
    left_over = isomap.residual_variance_[1]
    print(f"{k:3} neighbours: residual variance {left_over:.4f}, r = {right:.3f} with the true coordinate")
    return isomap


def panel(ax, title: str, isomap: Isomap, along: np.ndarray) -> None:
    EmbeddingDisplay(isomap.embedding_, along).plot(ax=ax, size=6, key=None).colorbar_.remove()
    bare(ax, title)


def bare(ax, title: str) -> None:
    ax.set_title(title, fontsize=10, loc="left")
    ax.set_aspect("equal")
    ax.set(xlabel="", ylabel="", xticks=[], yticks=[])
    ax.spines[:].set_visible(False)


def main() -> None:
    parser = argparse.ArgumentParser(description="Is my Isomap graph short-circuited?")
    parser.add_argument("--rows", type=int, default=1500)
    parser.add_argument("--output", type=Path, default=Path("."), help="folder for the picture")
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)

    X, turn = make_swiss_roll(given.rows, noise=0.6, random_state=2)
    along = (turn * np.sqrt(1 + turn**2) + np.arcsinh(turn)) / 2  # the length of the spiral: the true coordinate
    diagnosis = diagnose_neighbors(X, range(5, 21))
    print(diagnosis)
    for edge in diagnosis.shortcuts[diagnosis.at(RUINED)]:
        print(
            f"rows {edge.i} and {edge.j}: {edge.length:.2f} apart, {edge.detour * edge.length:.0f} along the roll; "
            f"{edge.share:.0%} of all distance runs over this edge"
        )
    ruined, mended = fit(X, along, RUINED), fit(X, along, diagnosis.recommended)

    engine = ConstrainedLayoutEngine(w_pad=0.12, h_pad=0.12)
    figure = Figure(figsize=(10, 8), dpi=130, layout=engine, facecolor="white")
    top, bottom = figure.subfigures(2, 1, height_ratios=[1.35, 1])
    left, right = top.subfigures(1, 2)
    side = left.subplots()
    drawn = diagnosis.plot_shortcuts(X[:, [0, 2]], along, n_neighbors=RUINED, ax=side)
    drawn.lines_.set_linewidth(3)
    bare(side, f"the roll, and the shortcut among {RUINED} neighbours")
    above, below = right.subplots(2, 1, height_ratios=[1.7, 1])
    panel(above, f"Isomap, {RUINED} neighbours: two turns are tied", ruined, along)
    panel(below, f"Isomap, {diagnosis.recommended} neighbours, as recommended", mended, along)
    diagnosis.plot(ax=bottom.subplots(1, 2))
    figure.savefig(given.output / "isomap_pitfalls.png")


if __name__ == "__main__":
    main()
