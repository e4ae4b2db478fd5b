"""The result of `diagnose_neighbors`: a table, a picture, and the number of neighbours to take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from matplotlib.axes import Axes

from mercer.graph.connectivity import without_edges
from mercer.graph.geodesics import undirected
from mercer.plots import NeighborsDisplay, ShortcutsDisplay

_FIELDS = [("i", "i8"), ("j", "i8"), ("length", "f8"), ("detour", "f8"), ("share", "f8"), ("first", "i8")]


def records(i: Any, j: Any, length: Any, detour: Any, share: Any, first: Any) -> np.recarray:
    """One record per shortcut; the shortcut that carries the most distance comes first."""
    order = np.lexsort((j, i, -np.asarray(share)))
    columns = [np.asarray(column)[order] for column in (i, j, length, detour, share, first)]
    return np.rec.fromarrays(columns, dtype=_FIELDS)


@dataclass(frozen=True, eq=False)
class NeighborsDiagnosis:
    """A comparison of graphs of neighbours, with one entry per number of neighbours.

    n_neighbors : (c,)
    components : (c,), parts that the graph falls into; `sizes` has the rows of each, the largest first
    residual_variance : (c,), 1 − R² between distances along the graph, its parts joined, and in the map
    shortcuts : records (i, j, length, detour, share, first): rows i < j; how many times its length they are apart
        without any shortcut; the share of all distance that runs over the edge; the least number of neighbours with
        this edge
    share : (c,), of all distance along paths with any shortcut
    growth : (c,), of the mean distance without all shortcuts, relative
    n_components : the dimension of the map
    recall : the share of true neighbours found, if the search was approximate
    recommended, reason : the recommended number of neighbours, and why

    >>> from mercer import diagnose_neighbors
    >>> curve = np.column_stack([np.linspace(0, 1, 60), np.linspace(0, 1, 60) ** 2])
    >>> diagnose_neighbors(curve, [3, 4]).components.tolist()
    [1, 1]
    """

    n_neighbors: np.ndarray
    components: np.ndarray
    sizes: tuple[np.ndarray, ...]
    residual_variance: np.ndarray
    shortcuts: tuple[np.recarray, ...]
    share: np.ndarray
    growth: np.ndarray
    n_components: int
    recall: float = 1.0
    recommended: int = 0
    reason: str = ""

    @property
    def n_shortcuts(self) -> np.ndarray:
        """(c,), how many edges look like shortcuts."""
        return np.array([len(table) for table in self.shortcuts])

    @property
    def sound(self) -> np.ndarray:
        """(c,), whether the graph is in one piece and without shortcuts."""
        return (self.components == 1) & (self.n_shortcuts == 0)

    def at(self, n_neighbors: int) -> int:
        """The position of a number of neighbours in these arrays."""
        places = np.flatnonzero(self.n_neighbors == n_neighbors)
        if not len(places):
            raise ValueError(
                f"{n_neighbors} neighbours were not examined; these were: {', '.join(map(str, self.n_neighbors))}."
            )
        return int(places[0])

    def without_shortcuts(self, graph: Any) -> sp.csr_array:
        """A graph of the same rows, such as `Isomap.graph_`, without its edges that look like shortcuts.

        Isomap(metric="precomputed", n_neighbors=None, radius=np.inf) maps it. Edges to more distant neighbours than
        were examined stay in the graph.
        """
        graph, fitted = undirected(graph), int(self.sizes[0].sum())
        if graph.shape[0] != fitted:
            raise ValueError(f"The graph has {graph.shape[0]} rows, but {fitted} were examined.")
        cut = self.shortcuts[-1]
        return without_edges(graph, np.column_stack([cut.i, cut.j]))

    def table(self) -> dict[str, list[Any]]:
        """The numbers as columns."""
        return {
            "neighbors": self.n_neighbors.tolist(),
            "components": self.components.tolist(),
            "largest": [int(sizes[0]) for sizes in self.sizes],
            "residual_variance": self.residual_variance.tolist(),
            "shortcuts": self.n_shortcuts.tolist(),
            "share": self.share.tolist(),
            "growth": self.growth.tolist(),
        }

    def plot(self, *, ax: Any = None) -> NeighborsDisplay:
        """Residual variance, components and shortcuts against the number of neighbours; `ax` are two axes."""
        return NeighborsDisplay.from_diagnosis(self, ax=ax)

    def plot_shortcuts(
        self, coordinates: Any, labels: Any = None, *, n_neighbors: int | None = None, ax: Axes | None = None
    ) -> ShortcutsDisplay:
        """The rows by two coordinates, with the shortcuts among `n_neighbors` neighbours (the most looked at)."""
        cut = self.shortcuts[-1 if n_neighbors is None else self.at(n_neighbors)]
        return ShortcutsDisplay(coordinates, cut.i, cut.j, cut.share, labels).plot(ax=ax)

    def __str__(self) -> str:
        columns = self.table()
        cells = [[name.replace("_", " ") for name in columns] + [""]]
        for row in zip(*columns.values(), strict=True):
            *counts, share, growth = row
            mark = "←" if counts[0] == self.recommended else ""
            text = [f"{value:.4f}" if isinstance(value, float) else str(value) for value in counts]
            cells.append([*text, f"{100 * share:.1f} %", f"{100 * growth:.1f} %", mark])
        widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
        lines = [
            "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells
        ]
        return "\n".join([*lines, self.reason])

    __repr__ = __str__
