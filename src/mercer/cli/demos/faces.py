"""Eigenfaces: the distance from face space says whether a patch is a face; the nearest neighbour within it, whose."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KNeighborsClassifier

from mercer import PCA, KernelPCA, NoveltyDetector
from mercer.cli.demos.stage import MissingData, Stage
from mercer.plots import FEW, INK, new_figure

FETCH = "Run: python scripts/fetch_data.py faces"
KNOWN = 80  # of the 100 faces; the others and all patches without a face are new


@dataclass(frozen=True)
class Faces:
    """patches : (200, 25 × 25), of which the first hundred are faces
    portraits : (40, 10, 112, 92), ten of each person, or None
    """

    patches: np.ndarray
    portraits: np.ndarray | None

    @property
    def is_face(self) -> np.ndarray:
        return np.arange(200) < 100

    def people(self, shrink: int) -> tuple[np.ndarray, np.ndarray, tuple[int, int]]:
        """400 portraits as rows, who is in them, and their shape. A pixel is the mean of shrink × shrink."""
        assert self.portraits is not None
        whole = self.portraits.reshape(400, 112, 92) / 255
        small = whole.reshape(400, 112 // shrink, shrink, 92 // shrink, shrink).mean(axis=(2, 4))
        return small.reshape(400, -1), np.repeat(np.arange(40), 10), small.shape[1:]


def find_faces(folder: Path | None = None) -> Faces:
    """The pictures in a folder, by default ./data or that of a checkout. Patches can also come from scikit-image."""
    folders = [folder] if folder else [Path("data"), Path(__file__).resolve().parents[4] / "data"]
    for place in folders:
        files = [place / name for name in ("lfw_subset.npy", "orl_faces.npy")]
        if all(file.exists() for file in files):
            return Faces(np.load(files[0]).reshape(200, -1), np.load(files[1]))
    if folder is None:
        try:
            from skimage.data import lfw_subset  # type: ignore[import-not-found, unused-ignore]
        except ImportError:
            pass
        else:
            return Faces(np.asarray(lfw_subset()).reshape(200, -1), None)
    raise MissingData(f"The pictures of faces are not here. {FETCH}")


def even_light(images: np.ndarray) -> np.ndarray:
    """Each image less its mean grey, scaled to length one: how bright the lamp was says nothing about a face."""
    images = images - images.mean(axis=1, keepdims=True)
    lengths = np.linalg.norm(images, axis=1, keepdims=True)
    return images / np.where(lengths > 0, lengths, 1.0)


def show(stage: Stage) -> None:
    faces = find_faces()
    stage.say("Eigenfaces: 200 patches, half of them faces, and 400 portraits of 40 people", bold=True)
    images = even_light(faces.patches)
    for name, space in {"PCA": PCA(2), "kernel PCA": KernelPCA(5, kernel="rbf", gamma="median")}.items():
        space.fit(images[:KNOWN])
        area = roc_auc_score(faces.is_face[KNOWN:], -space.squared_distance(images[KNOWN:]))
        stage.say(f"is it a face? {name}: area under the curve of new patches {area:.3f}")
    detector = NoveltyDetector(space, contamination=0.05).fit(images[:KNOWN])
    alarms = [np.mean(detector.predict(images[run]) == -1) for run in (slice(KNOWN, 100), slice(100, 200))]
    stage.say(f"at one false alarm in twenty, {alarms[0]:.0%} of new faces and {alarms[1]:.0%} of others are rejected")
    if faces.portraits is None:
        stage.say(f"whose is it? The portraits are not here. {FETCH}")
    else:
        people, who, _ = faces.people(shrink=4)
        known = np.arange(400) % 10 < 8  # eight portraits of each person
        space = PCA(40).fit(people[known])
        nearest = KNeighborsClassifier(1).fit(space.transform(people[known]), who[known])
        right = nearest.score(space.transform(people[~known]), who[~known])
        stage.say(f"whose is it? 40 people: {right:.1%} of new portraits named by the nearest neighbour in face space")
    figure, _ = new_figure(1, width=10.8, height=5.0)
    figure.clear()
    draw_faces(figure, faces, space_distance=detector.score_samples(images) * -1)
    stage.picture("eigenfaces", figure)


def draw_faces(figure: Figure, faces: Faces, space_distance: np.ndarray) -> None:
    """The mean face and nine eigenfaces, and patches from the nearest to face space to the farthest."""
    figure.set_layout_engine("none")
    figure.set_size_inches(10.8, 5.0)
    pictures, _, shape = (faces.patches[:100], None, (25, 25)) if faces.portraits is None else faces.people(shrink=1)
    pca = PCA(9).fit(pictures)
    titles = ["mean face", *(f"eigenface {i}" for i in range(1, 10))]
    for i, (title, image) in enumerate(zip(titles, [pca.mean_, *pca.components_], strict=True)):
        panel = figure.add_axes((0.015 + 0.108 * (i % 5), 0.645 - 0.365 * (i // 5), 0.1, 0.295))
        panel.imshow(image.reshape(shape), cmap="gray")
        panel.set_title(title, fontsize=9, color=INK, pad=3)
        panel.set_axis_off()
    order = np.argsort(space_distance)[np.linspace(0, 199, 20).astype(int)]
    for place, i in enumerate(order):
        panel = figure.add_axes((0.015 + 0.0485 * place, 0.04, 0.044, 0.095))
        panel.imshow(faces.patches[i].reshape(25, 25), cmap="gray")
        panel.set(xticks=[], yticks=[])
        for spine in panel.spines.values():
            spine.set(color=FEW[2] if faces.is_face[i] else FEW[1], linewidth=2.5)
    words = "patches, from the nearest to face space to the farthest: faces (green) and others (orange)"
    figure.text(0.015, 0.165, words, fontsize=9, color=INK)
