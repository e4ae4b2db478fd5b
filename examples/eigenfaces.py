"""Is it a face, and whose?
========================

The distance from face space tells whether a picture shows a face. The nearest neighbour within face space tells whose
face it is.

::

    python scripts/fetch_data.py faces
    python examples/eigenfaces.py --output pictures

Cross-validation within the training part of each fold chooses the components, the kernel and its width. `mercer demo
faces` answers the same two questions with fixed choices.
"""

# sphinx_gallery_thumbnail_path = "pictures/eigenfaces.png"

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from scipy.stats import rankdata
from sklearn.metrics import roc_auc_score, roc_curve
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline

from mercer import PCA, KernelPCA, NoveltyDetector
from mercer.cli.demos.faces import FETCH, Faces, draw_faces, even_light, find_faces
from mercer.cli.demos.stage import MissingData
from mercer.kernels import RBF, Laplacian
from mercer.plots import FEW, INK, new_figure, tidy

DATA = Path(sys.argv[0]).resolve().parents[1] / "data"
NAMES = ("PCA", "kernel PCA", "no components")  # the last: distances from the mean face, and between pictures


@dataclass(frozen=True)
class Candidates:
    """What is chosen from, within the training part of each fold."""

    widths: tuple[float, ...] = (0.3, 1.0, 3.0)  # times one over the median distance
    counts: tuple[int, ...] = (1, 2, 3, 5, 8, 20)  # of components for telling faces from other patches
    many: tuple[int, ...] = (20, 40, 80)  # of components for telling faces apart


QUICK = Candidates((1.0,), (2, 5), (40,))


# --- is it a face? -----------------------------------------------------------------------------------------


def kernels_for(images: np.ndarray, widths: tuple[float, ...]) -> list:
    """Gaussian and Laplacian kernels of a few widths about the median distance."""
    pairs = np.triu_indices(len(images), k=1)
    squares = np.median(((images[:, None] - images[None]) ** 2).sum(axis=2)[pairs])
    sums = np.median(np.abs(images[:, None] - images[None]).sum(axis=2)[pairs])
    return [RBF(width / squares) for width in widths] + [Laplacian(width / sums) for width in widths]


def area_under_roc(model: Any, images: np.ndarray, is_face: np.ndarray) -> float:
    """How often a face is nearer to face space than another patch."""
    return roc_auc_score(is_face, -model.squared_distance(images))


def faces_only(images: np.ndarray, is_face: np.ndarray, seed: int, folds: int) -> list:
    """Folds that are tested on faces and patches, and trained on faces alone."""
    splits = StratifiedKFold(folds, shuffle=True, random_state=seed).split(images, is_face)
    return [(train[is_face[train]], test) for train, test in splits]


def chosen_face_space(name: str, images: np.ndarray, is_face: np.ndarray, seed: int, grid: Candidates) -> Any:
    """The face space with the best area in folds of these images, fitted to all their faces."""
    if name == "no components":
        return PCA(0, svd_solver="full").fit(images[is_face])
    model: Any = PCA() if name == "PCA" else KernelPCA()
    choices: dict[str, list] = {"n_components": list(grid.counts)}
    if name == "kernel PCA":
        choices["kernel"] = kernels_for(images[is_face], grid.widths)
    inner = faces_only(images, is_face, seed, folds=4)
    search = GridSearchCV(model, choices, scoring=area_under_roc, cv=inner, refit=False)
    return model.set_params(**search.fit(images, is_face).best_params_).fit(images[is_face])


def detection(
    name: str, images: np.ndarray, is_face: np.ndarray, seed: int, grid: Candidates
) -> tuple[list[float], np.ndarray]:
    """Areas under the curve in five folds, everything chosen within the training part; and ranks by distance.

    Folds have spaces of their own, so a patch is ranked, from 0 to 1, among those of its test fold.
    """
    areas, ranks = [], np.empty(len(images))
    for train, test in StratifiedKFold(5, shuffle=True, random_state=seed).split(images, is_face):
        model = chosen_face_space(name, images[train], is_face[train], seed, grid)
        areas.append(area_under_roc(model, images[test], is_face[test]))
        ranks[test] = rankdata(model.squared_distance(images[test])) / len(test)
    return areas, ranks


# --- whose is it? ------------------------------------------------------------------------------------------


def recognition(name: str, faces: np.ndarray, who: np.ndarray, seed: int, grid: Candidates) -> list[float]:
    """Shares of portraits whose nearest neighbour in face space is of the same person, in five folds."""
    nearest: Any = KNeighborsClassifier(1)
    spaces = {"PCA": PCA(random_state=0), "kernel PCA": KernelPCA(kernel=RBF("median"))}
    inner, outer = (StratifiedKFold(folds, shuffle=True, random_state=seed) for folds in (4, 5))
    if name in spaces:
        steps = Pipeline([("space", spaces[name]), ("nearest", nearest)])
        nearest = GridSearchCV(steps, {"space__n_components": list(grid.many)}, cv=inner)
    return list(cross_val_score(nearest, faces, who, cv=outer))


# --- the page ----------------------------------------------------------------------------------------------


def draw(faces: Faces, areas: dict[str, float], ranks: dict[str, np.ndarray]) -> Figure:
    """The mean face and eigenfaces, the curves of both face spaces, and held-out patches by their distance."""
    figure, (left, right) = new_figure(2, width=5.4, height=5.0)
    left.set_axis_off()
    draw_faces(figure, faces, ranks["kernel PCA"])
    right.set_position((0.645, 0.33, 0.325, 0.61))
    for (name, rank), colour in zip(ranks.items(), FEW, strict=False):
        false_alarms, hits, _ = roc_curve(faces.is_face, -rank)
        tidy(right).plot(false_alarms, hits, color=colour, lw=2, label=f"{name}, area {areas[name]:.3f}")
    right.plot([0, 1], [0, 1], color="#BBBBBB", lw=0.8)
    right.set_xlabel("other patches taken for faces")
    right.set_ylabel("faces found")
    right.legend(frameon=False, fontsize=9, loc="lower right", labelcolor=INK)
    return figure


def look(faces: Faces, grid: Candidates, say: Callable[[str], None]) -> Figure:
    """Everything above, said and drawn."""
    is_face = faces.is_face
    for light, images in (("as they are", faces.patches), ("in even light", even_light(faces.patches))):
        areas, ranks = {}, {}
        for name in NAMES:
            folds, ranks[name] = detection(name, images, is_face, 0, grid)
            areas[name] = float(np.mean(folds))
            say(f"is it a face? patches {light}, {name}: area under the curve {areas[name]:.3f}")

    space = KernelPCA(5, kernel="rbf", gamma="median")
    detector = NoveltyDetector(space, contamination=0.05).fit(images[:80])
    alarms = [np.mean(detector.predict(images[run]) == -1) for run in (slice(80, 100), slice(100, 200))]
    say(f"a threshold for one false alarm in twenty: {alarms[0]:.0%} of new faces and {alarms[1]:.0%} of others beyond")

    if faces.portraits is None:
        say(f"whose is it? The portraits are not here. {FETCH}")
    else:
        portraits, who, _ = faces.people(shrink=4)
        for name in NAMES:
            rates = recognition(name, portraits, who, 0, grid)
            say(f"whose is it? 40 people, {name}: {np.mean(rates):.1%} right by the nearest neighbour in face space")
    return draw(faces, areas, ranks)


def main() -> None:
    parser = argparse.ArgumentParser(description="Is it a face, and whose?")
    parser.add_argument("--output", type=Path, default=Path("."), help="folder for the picture")
    parser.add_argument("--quick", action="store_true", help="fewer widths and numbers of components to choose from")
    given = parser.parse_args()
    try:
        faces = find_faces(DATA)
    except MissingData as error:
        print(error)
        return
    given.output.mkdir(parents=True, exist_ok=True)
    look(faces, QUICK if given.quick else Candidates(), print).savefig(given.output / "eigenfaces.png")


if __name__ == "__main__":
    main()
