"""Which rows are novel?
=====================

A row is novel if it is far from the subspace of the normal rows. This example measures the distance by PCA and by
kernel PCA, with a threshold that holds on new data.

::

    python examples/novelty.py --output pictures
"""

import argparse
from pathlib import Path

import numpy as np
from sklearn.datasets import make_moons
from sklearn.metrics import roc_auc_score

from mercer import PCA, KernelPCA, NoveltyDetector
from mercer.plots import FEW, INK, new_figure


def draw(ax, detector, X, strangers, title: str) -> None:
    """Level sets of the distance, the threshold in bold, the data and the points that were never seen."""
    low, high = np.array([-2.2, -1.7]), np.array([3.2, 2.2])
    xs, ys = np.linspace(low, high, 150).T
    grid = np.column_stack([axis.ravel() for axis in np.meshgrid(xs, ys)])
    distance = np.sqrt(-detector.score_samples(grid)).reshape(150, 150)
    threshold = np.sqrt(detector.threshold_)
    ax.contourf(xs, ys, distance, levels=14, cmap="Blues", alpha=0.75)
    ax.contour(xs, ys, distance, levels=[threshold], colors=INK, linewidths=1.8)
    ax.plot(*X.T, "o", ms=2.6, color=FEW[0], mew=0)
    ax.plot(*strangers.T, "x", ms=4.5, color="#B8433A", mew=1.1)
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal", xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    ax.set_title(title, fontsize=10.5, color=INK)


def main() -> None:
    parser = argparse.ArgumentParser(description="Which rows are novel?")
    parser.add_argument("--output", type=Path, default=Path("."), help="folder for the picture")
    folder = parser.parse_args().output
    folder.mkdir(parents=True, exist_ok=True)

    X, _ = make_moons(300, noise=0.08, random_state=0)
    new, _ = make_moons(2000, noise=0.08, random_state=1)
    rng = np.random.default_rng(0)
    strangers = rng.uniform([-2, -1.5], [3, 2], size=(400, 2))
    strangers = strangers[((strangers[:, None] - new[None]) ** 2).sum(axis=2).min(axis=1) > 0.25**2]

    figure, panels = new_figure(2, width=4.8, height=3.9)
    spaces = {"PCA, one component": PCA(1), "kernel PCA, 30 components": KernelPCA(30, kernel="rbf", gamma=3.0)}
    for ax, (name, space) in zip(panels, spaces.items(), strict=True):
        detector = NoveltyDetector(space, contamination=0.05).fit(X)
        area = roc_auc_score(
            np.r_[np.ones(len(new)), np.zeros(len(strangers))], detector.score_samples(np.vstack([new, strangers]))
        )
        in_sample = np.quantile(detector.estimator_.squared_distance(X), 0.95)
        false = [np.mean(-detector.score_samples(new) > bound) for bound in (detector.threshold_, in_sample)]
        print(
            f"{name}: area under the curve {area:.3f}; false alarms on new rows {false[0]:.1%} of the 5 % asked for, "
            f"{false[1]:.1%} by the distances of the rows that were fitted"
        )
        draw(ax, detector, X, strangers[:60], f"{name}: area {area:.3f}")
    figure.savefig(folder / "novelty.png")


if __name__ == "__main__":
    main()
