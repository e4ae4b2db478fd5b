"""Two maps of digits, their quality, and a page with their pictures."""

from io import BytesIO

import numpy as np
from PIL import Image
from sklearn.datasets import load_digits

from mercer.cli.demos.digits import images_of


def test_the_digits_end_with_the_quality_of_two_maps_and_a_page(runs):
    folder, result = runs
    last = result.stdout[result.stdout.index("How faithful") :]
    trust = next(line for line in last.splitlines() if line.startswith("trustworthiness")).replace("*", "").split()
    assert 0.7 < float(trust[1]) < float(trust[2]) <= 1  # t-SNE keeps neighbours better than two components
    assert "Procrustes" in last
    page = (folder / "digits.html").read_text()
    assert "kernel PCA" in page and "t-SNE" in page
    assert result.stderr.splitlines()[-1].split(None, 1) == ["page", str(folder / "digits.html")]


def test_pictures_of_digits_are_png_files_of_their_pixels():
    X = load_digits().data[:3]
    for row, image in zip(X, images_of(X), strict=True):
        path = Image.open(BytesIO(image))
        pixels = np.asarray(path)[::4, ::4]
        np.testing.assert_array_equal(pixels, (255 - 255 * row.reshape(8, 8) / 16).astype(np.uint8))
