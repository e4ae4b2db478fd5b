"""1797 images of 8 × 8 pixels: a spectrum with error bounds, two maps with their quality, and a page of both."""

from __future__ import annotations

from io import BytesIO

import numpy as np
from matplotlib.figure import Figure
from PIL import Image
from sklearn.datasets import load_digits

from mercer import TSNE, KernelPCA
from mercer.cli.demos.stage import Stage, title
from mercer.cli.record import fit_facts, json_value
from mercer.cli.scored_maps import ScoredMap, agreement, print_agreement, print_side_by_side
from mercer.plots import INK, EmbeddingDisplay, ScreeDisplay, new_figure
from mercer.quality import report
from mercer.web.page import Page, write_page

ROWS, STEPS = 1797, 1000  # all there are; and t-SNE's own default


def show(stage: Stage) -> None:
    X, y = (part[:ROWS] for part in load_digits(return_X_y=True))
    kpca = KernelPCA(40, kernel="rbf", gamma="median").fit(X)
    stage.spectrum(f"Handwritten digits, {len(X)} images of 64 pixels", kpca, rows=10)
    stage.picture("digits", _draw_map(X, y, kpca))
    stage.picture("digits-scree", _draw_spectrum(kpca))
    with stage.console.working("t-SNE of the digits"):
        tsne = TSNE(max_iter=STEPS, random_state=0).fit(X)
    found = {"kernel PCA": (kpca.transform(X)[:, :2], kpca), "t-SNE": (tsne.embedding_, tsne)}
    with stage.console.working("scoring the maps"):
        maps = [
            ScoredMap(name, Y, _axes(name), report(X, Y, labels=y, random_state=0).scores, json_value(_run(model)))
            for name, (Y, model) in found.items()
        ]
    if not stage.console.quiet:
        stage.say()
        stage.say("How faithful the two maps of the digits are", bold=True)
        print_side_by_side(maps)
        print_agreement([agreement(maps[0], maps[1], 15)])
    page = Page(
        "Handwritten digits",
        [m.drawn(whole_record=True) for m in maps],
        None,
        {"digit": y.astype(str)},
        "digit",
        images_of(X),
    )
    stage.page("digits", lambda path: write_page(page, path))


def _axes(name: str) -> list[str]:
    return [f"{name} {i}" for i in (1, 2)]


def _run(model: object) -> dict:
    parameters = model.get_params(deep=False)  # type: ignore[attr-defined]
    return {"estimator": type(model).__name__, "parameters": parameters, "fit": fit_facts(model)}


def images_of(X: np.ndarray) -> list[bytes]:
    """The digits as PNG files, each pixel as 4 × 4, dark on white."""
    pixels = (255 - 255 * X.reshape(-1, 8, 8) / 16).astype(np.uint8).repeat(4, axis=1).repeat(4, axis=2)
    return [_png(image) for image in pixels]


def _png(pixels: np.ndarray) -> bytes:
    file = BytesIO()
    Image.fromarray(pixels).save(file, format="png", optimize=True)
    return file.getvalue()


def _draw_map(X: np.ndarray, y: np.ndarray, kpca: KernelPCA) -> Figure:
    figure, (left, right) = new_figure(2, width=5.2, height=4.8)
    EmbeddingDisplay.from_estimator(kpca, X, y, ax=left)
    EmbeddingDisplay.from_estimator(kpca, X, y, components=(2, 3), ax=right)
    title(left, "Handwritten digits, kernel PCA")
    title(right, "The next two components")
    return figure


def _draw_spectrum(kpca: KernelPCA) -> Figure:
    figure, (left, right) = new_figure(2, width=4.6, height=3.6)
    display = ScreeDisplay.from_estimator(kpca, ax=left)
    display.plot_certificate(ax=right)
    right.axhline(kpca.solver_.tol * kpca.eigenvalues_[0], color=INK, lw=1, ls=(0, (4, 3)), label="asked for: tol · γ₁")
    right.legend(loc=(0.48, 0.64), frameon=False, fontsize=8.5, labelcolor=INK)
    title(left, "Eigenvalues of the centred kernel matrix")
    title(right, "How far they can be wrong")
    return figure
