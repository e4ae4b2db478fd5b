"""What displays share: colours, names from the data, figures without pyplot."""

import subprocess
import sys

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from sklearn.datasets import make_circles

from mercer import KernelPCA
from mercer.plots import FEW, MANY, EmbeddingDisplay, ScreeDisplay, palette

X, RING = make_circles(120, factor=0.3, noise=0.05, random_state=0)


@pytest.fixture(scope="module")
def kpca():
    return KernelPCA(4, kernel="rbf", gamma=2.0).fit(X)


def test_names_from_the_data_are_no_formulas():
    labels = np.where(RING > 0, r"$\bad{$", "_from $5 to $9")
    for key in ("medians", "legend"):
        display = EmbeddingDisplay.from_coordinates(X, labels, key=key)
        assert display._repr_png_().startswith(b"\x89PNG")
        texts = display.texts_ if key == "medians" else display.legend_.get_texts()
        assert sorted(text.get_text() for text in texts) == [r" _from \$5 to \$9", r"\$\bad{\$"]


def test_displays_draw_into_given_axes_and_without_pyplot(kpca):
    code = (
        "import sys, numpy; from mercer.plots import EmbeddingDisplay as E;"
        "E.from_coordinates(numpy.eye(2))._repr_png_(); sys.exit('matplotlib.pyplot' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0
    ax = Figure().subplots()
    assert EmbeddingDisplay.from_estimator(kpca, X, ax=ax).ax_ is ax
    assert ScreeDisplay.from_estimator(kpca, ax=ax).figure_ is ax.figure


def test_import_mercer_does_not_import_matplotlib():
    code = "import sys, mercer; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0


@pytest.mark.parametrize("count", [1, 5, 6, 10, 11, 30])
def test_palette_gives_as_many_different_colours_as_asked(count):
    colours = palette(count)
    assert len(set(colours)) == len(colours) == count
    assert all(to_hex(colour) == colour.lower() for colour in colours)
    assert len(set(FEW)) == 5 and len(set(MANY)) == 10


def test_a_notebook_gets_a_png(kpca):
    assert ScreeDisplay.from_estimator(kpca)._repr_png_().startswith(b"\x89PNG")
