"""What do two views of the same things share?
===========================================

The two views are the left and the right halves of handwritten digits. This example shows what they have in common, and
why kernel CCA needs a penalty.

::

    python examples/two_views.py --rows 1797 --output pictures
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, train_test_split

from mercer import KernelCCA
from mercer.exceptions import ForcedCorrelationWarning
from mercer.plots import FAINT, INK, EmbeddingDisplay, new_figure, palette, tidy


def halves(images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The pixels of the four columns on the left, and of those on the right."""
    return images[:, :, :4].reshape(len(images), -1), images[:, :, 4:].reshape(len(images), -1)


def found_by_the_other_half(left: np.ndarray, right: np.ndarray, among: int) -> float:
    """How often a digit's own right half is among the nearest, by scores, to its left half."""
    distances = np.linalg.norm(left[:, None, :] - right[None, :, :], axis=2)
    own = distances.diagonal()[:, None]
    return float(np.mean(np.sum(distances < own, axis=1) < among))


def draw_penalty(free: KernelCCA, held: KernelCCA, train: tuple, test: tuple, path: Path) -> None:
    """First scores of the two halves against each other: trained on, new, and new with a penalty."""
    figure, panels = new_figure(3, width=3.4, height=3.5)
    shown = [
        ("no penalty, digits trained on", free, train),
        ("no penalty, new digits", free, test),
        (f"penalty {held.reg:g}, new digits", held, test),
    ]
    for ax, (title, model, views), colour in zip(panels, shown, (FAINT, *palette(2)), strict=True):
        a, b = (scores[:, 0] / scores[:, 0].std() for scores in model.transform(*views))
        tidy(ax).scatter(a, b, s=6, color=colour, alpha=0.6, linewidths=0)
        ax.set_title(f"{title}\ncorrelation {np.corrcoef(a, b)[0, 1]:.2f}", fontsize=9.5, color=INK)
        ax.set_xlabel("left half, first score")
        ax.set_aspect("equal", adjustable="datalim")
    panels[0].set_ylabel("right half, first score")
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description="What do two views of the same things share?")
    parser.add_argument("--rows", type=int, default=1797)
    parser.add_argument("--output", type=Path, default=Path("."), help="folder for the pictures")
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)

    digits = load_digits()
    train, test, _, labels = train_test_split(digits.images[: given.rows], digits.target[: given.rows], random_state=0)
    train, test = halves(train), halves(test)

    # The score is the correlation on rows that were held out, so a plain search can choose the penalty and the width.
    grid = {"reg": [1e-5, 1e-4, 1e-3, 1e-2], "gamma": [1e-4, 1e-3, 4e-3]}
    search = GridSearchCV(KernelCCA(2), grid, cv=3).fit(*train)
    print(f"best: {search.best_params_}, correlation {search.best_score_:.2f} on held-out digits")

    linear = KernelCCA(2, kernel="linear", reg=1e-3).fit(*train)
    print(f"on new digits: {search.score(*test):.2f} with the kernel, {linear.score(*test):.2f} without")

    more = KernelCCA(20, **search.best_params_).fit(*train)
    rate, chance = found_by_the_other_half(*more.transform(*test), among=10), 10 / len(labels)
    print(f"the right half is among the ten nearest to its left half in {rate:.0%} of new digits (chance {chance:.0%})")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ForcedCorrelationWarning)  # it says what the picture shows
        free = KernelCCA(2, gamma=search.best_params_["gamma"], reg=0).fit(*train)
    best = search.best_estimator_
    draw_penalty(free, best, train, test, given.output / "two-views-penalty.png")
    names = ("first score of the left half", "second score")
    display = EmbeddingDisplay.from_coordinates(best.transform(test[0]), labels, names=names)
    display.figure_.savefig(given.output / "two-views-map.png")


if __name__ == "__main__":
    main()
