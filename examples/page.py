"""How do I put two maps on one page?
==================================

This example puts two maps of handwritten digits on one page. The maps are linked, the page can be searched, and every
point shows its image and its nearest rows.

::

    python examples/page.py --rows 1797 --output .
"""

# sphinx_gallery_thumbnail_path = "pictures/page-light.png"

import argparse
from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image
from sklearn.datasets import load_digits

from mercer import TSNE, KernelPCA, quality
from mercer.web import Map, Page, with_neighbors, write_page


def main() -> None:
    parser = argparse.ArgumentParser(description="How do I put two maps on one page?")
    parser.add_argument("--rows", type=int, default=1797)
    parser.add_argument("--output", type=Path, default=Path("."), help="folder for digits.html")
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)

    X, y = load_digits(return_X_y=True)
    X, y = X[: given.rows], y[: given.rows]
    tsne, kpca = TSNE(), KernelPCA(4, kernel="rbf", gamma="median")

    page = Page(
        "Handwritten digits",
        maps=[as_map("t-SNE", X, y, tsne), as_map("Kernel PCA", X, y, kpca)],
        ids=np.array([f"digit-{row:04d}" for row in range(len(X))]),
        columns={"digit": y, "ink": X.mean(axis=1)},
        label="digit",
        images=[thumbnail(row) for row in X],
    )
    path = given.output / "digits.html"
    size = write_page(with_neighbors(page, X), path)
    print(f"{path}: {len(X)} points, 2 maps, {size / 1e3:.0f} kB. Open it in a browser; it needs no network.")


def as_map(name: str, X: np.ndarray, y: np.ndarray, estimator: TSNE | KernelPCA) -> Map:
    """A map with its scores, of the two axes that are seen first, and the parameters that made it."""
    Y = estimator.fit_transform(X)
    scores = quality.report(X, Y[:, :2], labels=y).scores
    run = {"method": type(estimator).__name__, "parameters": estimator.get_params(deep=False)}
    return Map(name, Y, [f"{name} {axis + 1}" for axis in range(Y.shape[1])], scores, run)


def thumbnail(pixels: np.ndarray) -> bytes:
    """An image of 8 × 8 as PNG, ink on white."""
    buffer = BytesIO()
    Image.fromarray((255 - 255 * pixels.reshape(8, 8) / 16).astype(np.uint8)).save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


if __name__ == "__main__":
    main()
