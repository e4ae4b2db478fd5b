"""Pictures: maps, spectra with their certificates, eigenfunctions, pre-images, and how good a map is.

Displays work as scikit-learn's do: a class method computes, `plot` draws, and the artists stay as attributes.

    EmbeddingDisplay   points by two of their coordinates, coloured by label
    ScreeDisplay       eigenvalues, each with the bound on its error
    ContourDisplay     level sets of the first eigenfunctions over two-dimensional data
    PreimageDisplay    images, and the same images rebuilt from a few components
    NeighborsDisplay   residual variance and shortcuts against the number of neighbours
    ShortcutsDisplay   the shortcuts of a graph of neighbours over the data
    ShepardDisplay     distances in a map against distances in the data
    QualityDisplay     scores of maps side by side, with error bars
    RankingDisplay     kernels ranked by a criterion, with error bars
    ContributionsDisplay  how much each variable moves each component

Figures are made without pyplot: no window opens and no global state changes. `display.figure_.savefig("map.png")`
writes a file, a notebook shows a display at the end of a cell, and `ax=` draws into your own axes.
"""

from mercer.plots.contour_display import ContourDisplay
from mercer.plots.contributions_display import ContributionsDisplay
from mercer.plots.embedding_display import EmbeddingDisplay
from mercer.plots.neighbors_display import NeighborsDisplay, ShortcutsDisplay
from mercer.plots.preimage_display import PreimageDisplay
from mercer.plots.quality_display import QualityDisplay
from mercer.plots.ranking_display import RankingDisplay
from mercer.plots.scree_display import ScreeDisplay
from mercer.plots.shepard_display import ShepardDisplay
from mercer.plots.style import FAINT, FEW, INK, MANY, Display, new_figure, palette, tidy

__all__ = [
    "FAINT",
    "FEW",
    "INK",
    "MANY",
    "ContourDisplay",
    "ContributionsDisplay",
    "Display",
    "EmbeddingDisplay",
    "NeighborsDisplay",
    "PreimageDisplay",
    "QualityDisplay",
    "RankingDisplay",
    "ScreeDisplay",
    "ShepardDisplay",
    "ShortcutsDisplay",
    "new_figure",
    "palette",
    "tidy",
]


def __dir__() -> list[str]:
    return sorted(__all__)
