"""Which of four maps should I believe?
====================================

This example scores four maps of handwritten digits. Each score measures something different, and no map wins them all.

::

    python examples/quality.py --output pictures
"""

import argparse
from pathlib import Path

from sklearn.datasets import load_digits

from mercer import PCA, TSNE, Isomap, KernelPCA, quality
from mercer.plots import EmbeddingDisplay, QualityDisplay, ShepardDisplay, new_figure


def main() -> None:
    parser = argparse.ArgumentParser(description="Which of four maps should I believe?")
    parser.add_argument("--rows", type=int, default=1797)
    parser.add_argument("--quick", action="store_true", help="fewer steps of t-SNE")
    parser.add_argument("--output", type=Path, default=Path("."), help="folder for the pictures")
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)

    X, y = load_digits(return_X_y=True)
    X, y = X[: given.rows], y[: given.rows]
    methods = {
        "PCA": PCA(2),
        "kernel PCA": KernelPCA(2, kernel="rbf", gamma="median"),
        "Isomap": Isomap(n_neighbors=10),
        "t-SNE": TSNE(max_iter=300 if given.quick else 1000, random_state=0),
    }
    maps = {name: method.fit_transform(X) for name, method in methods.items()}
    reports = {name: quality.report(X, Z, labels=y) for name, Z in maps.items()}
    for name, report in reports.items():
        print(f"{name}: {report}\n")

    figure, axes = new_figure(4, width=3.1, height=3.3)
    for ax, (name, Z) in zip(axes, maps.items(), strict=True):
        EmbeddingDisplay.from_coordinates(Z, y, ax=ax, size=4)
        trust, recall = (reports[name][score].value for score in ("trustworthiness", "neighbor_recall"))
        ax.set_title(f"{name}: trustworthiness {trust:.2f}, recall {recall:.2f}", fontsize=8.5)
        ax.set(xlabel="", ylabel="", xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
    figure.savefig(given.output / "quality-maps.png")
    QualityDisplay.from_reports(reports).figure_.savefig(given.output / "quality.png")
    figure, axes = new_figure(2, width=4.6, height=3.6)
    for ax, name in zip(axes, ("PCA", "t-SNE"), strict=True):
        display = ShepardDisplay.from_coordinates(X, maps[name], ax=ax)
        ax.set_title(f"{name}: {ax.get_title()}", fontsize=8.5)
        display.colorbar_.set_label("pairs", fontsize=8.5)
    figure.savefig(given.output / "shepard.png")


if __name__ == "__main__":
    main()
