"""A rolled-up sheet: projections keep it rolled up, and Isomap unrolls it.

python examples/swiss_roll.py --output pictures
"""

import argparse
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from sklearn.datasets import make_swiss_roll

from mercer import PCA, Isomap, KernelPCA
from mercer.plots import EmbeddingDisplay


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1500)
    parser.add_argument("--output", type=Path, default=Path("."), help="folder for the picture")
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)

    X, turn = make_swiss_roll(given.rows, random_state=0)
    along = (turn * np.sqrt(1 + turn**2) + np.arcsinh(turn)) / 2  # the length of the spiral: the true coordinate
    methods = {
        "PCA": PCA(2),
        "kernel PCA": KernelPCA(2, kernel="rbf", gamma="median"),
        "Isomap, 10 neighbours": Isomap(n_neighbors=10),
    }
    figure = Figure(figsize=(12, 3.3), dpi=130, layout=ConstrainedLayoutEngine(w_pad=0.1), facecolor="white")
    axes = [figure.add_subplot(1, 4, 1, projection="3d"), *(figure.add_subplot(1, 4, place) for place in (2, 3, 4))]
    axes[0].scatter(*X.T, c=along, s=5, lw=0, cmap="viridis")
    axes[0].view_init(elev=12, azim=-75)
    axes[0].set_box_aspect(None, zoom=1.35)
    axes[0].set_axis_off()
    axes[0].set_title("the roll", fontsize=10)
    for ax, (name, method) in zip(axes[1:], methods.items(), strict=True):
        Z = method.fit_transform(X)
        right = max(abs(np.corrcoef(Z[:, c], along)[0, 1]) for c in range(2))
        print(f"{name:22} r = {right:.3f} between a coordinate and the length along the roll")
        EmbeddingDisplay(Z, along).plot(ax=ax, size=6, key=None).colorbar_.remove()
        ax.set_title(name, fontsize=10)
        ax.spines[:].set_visible(False)
        ax.set(xlabel="", ylabel="", xticks=[], yticks=[])
    isomap = methods["Isomap, 10 neighbours"]
    print(f"two coordinates leave {isomap.residual_variance_[1]:.2%} of the distances' variance unexplained")
    figure.savefig(given.output / "swiss_roll.png")


if __name__ == "__main__":
    main()
