"""Pictures: maps, spectra with their certificates, eigenfunctions, pre-images, and how good a map is.

Displays work as scikit-learn's do: a class method computes, `plot` draws, and the artists stay as attributes.

    EmbeddingDisplay   points by two of their coordinates, coloured by label
    ScreeDisplay       eigenvalues, each with the bound on its error
    ContourDisplay     level sets of the first eigenfunctions over two-dimensional data
    PreimageDisplay    images, and what is left of them in a few components
    NeighborsDisplay   residual variance and shortcuts against the number of neighbours
    ShortcutsDisplay   the shortcuts of a graph of neighbours over the data
    ShepardDisplay     distances in a map against distances in the data
    QualityDisplay     scores of maps side by side, with error bars

Figures are made without pyplot: no window opens and no global state changes. `display.figure_.savefig("map.png")`
writes one; a notebook shows a display that ends a cell; `ax=` draws into axes of your own.
"""

from mercer.plots.contour import ContourDisplay
from mercer.plots.embedding import EmbeddingDisplay
from mercer.plots.neighbors import NeighborsDisplay, ShortcutsDisplay
from mercer.plots.preimages import PreimageDisplay
from mercer.plots.quality import QualityDisplay
from mercer.plots.scree import ScreeDisplay
from mercer.plots.shepard import ShepardDisplay
from mercer.plots.style import FAINT, FEW, INK, MANY, Display, new_figure, palette, tidy

__all__ = [
    "FAINT",
    "FEW",
    "INK",
    "MANY",
    "ContourDisplay",
    "Display",
    "EmbeddingDisplay",
    "NeighborsDisplay",
    "PreimageDisplay",
    "QualityDisplay",
    "ScreeDisplay",
    "ShepardDisplay",
    "ShortcutsDisplay",
    "new_figure",
    "palette",
    "tidy",
]


def __dir__() -> list[str]:
    return sorted(__all__)
