"""The graph of neighbours behind a map of Isomap: its edges, those that look like shortcuts, and edges taken out.

Cut edges are a setting, "3-17 20-41": the rows at the ends of each edge, the smaller first, in order.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

if TYPE_CHECKING:
    from mercer.selection.neighbors_result import NeighborsDiagnosis

MOST_CUT = 500  # edges; each takes up to 14 letters of a setting
MOST_EDGES = 60_000  # that are drawn; of a larger graph only the suspected shortcuts are
MOST_SUSPECTED = 200  # shortcuts that are listed, those on which most hangs first
_PAIR = re.compile(r"(\d{1,7})-(\d{1,7})")


def read_cut(text: Any, rows: int) -> list[tuple[int, int]]:
    """The edges that a setting names. ValueError if it does not name edges.

    >>> read_cut("3-17 20-4 3-17", 30)
    [(3, 17), (4, 20)]
    """
    if not isinstance(text, str) or len(text) > 16 * MOST_CUT:
        raise ValueError("Cut edges are a text such as 3-17 20-41.")
    pairs = [_PAIR.fullmatch(word) for word in text.split()]
    if len(pairs) > MOST_CUT or not all(pairs):
        raise ValueError(f"Cut edges are at most {MOST_CUT} pairs of rows, such as 3-17 20-41.")
    ends = {tuple(sorted((int(pair[1]), int(pair[2])))) for pair in pairs if pair}
    if any(i == j or j >= rows for i, j in ends):
        raise ValueError(f"An edge joins two different rows below {rows:,}.")
    return sorted(ends)  # type: ignore[arg-type]


def written_cut(edges: list[tuple[int, int]]) -> str:
    """The setting of some edges.

    >>> written_cut([(3, 17), (4, 20)])
    '3-17 4-20'
    """
    return " ".join(f"{i}-{j}" for i, j in edges)


@dataclass(frozen=True)
class GraphAnswer:
    """What is drawn of a graph.

    edges : (m, 2) rows at the ends; empty if there are too many to draw
    count : of the edges of the graph
    suspected : records (i, j, length, detour, share, …) of `mercer.diagnose_neighbors`, without those that are cut
    """

    edges: np.ndarray
    count: int
    suspected: np.recarray


class GraphQuestions:
    """The graphs of the rows of one table, and diagnoses that have been made of them."""

    def __init__(self, X: Any) -> None:
        self._X = X
        self._found: dict[tuple[int, ...], NeighborsDiagnosis] = {}

    def diagnosis(self, counts: list[int]) -> NeighborsDiagnosis:
        """What each number of neighbours does to the graph."""
        wanted = tuple(sorted({k for k in counts if 1 <= k < self._X.shape[0]}))
        if wanted not in self._found:
            from mercer.selection.neighbors_diagnosis import diagnose_neighbors  # draws, and drawing loads slowly

            self._found[wanted] = diagnose_neighbors(self._X, wanted)
        return self._found[wanted]

    def graph(self, estimator: Any, n_neighbors: int, cut: list[tuple[int, int]]) -> GraphAnswer:
        """The graph of a fitted Isomap, whose edges `cut` have been taken out."""
        upper = sp.coo_array(sp.triu(estimator.graph_, k=1))
        i, j = upper.coords
        examined = [found for counts, found in self._found.items() if n_neighbors in counts]
        found = examined[0] if examined else self.diagnosis([n_neighbors])
        suspected = found.shortcuts[found.at(n_neighbors)]
        gone = set(cut)
        left = np.array([(a, b) not in gone for a, b in zip(suspected.i.tolist(), suspected.j.tolist(), strict=True)])
        suspected = suspected[left.astype(bool)][:MOST_SUSPECTED]
        edges = np.column_stack([i, j]) if len(i) <= MOST_EDGES else np.empty((0, 2), np.int64)
        return GraphAnswer(edges, len(i), suspected)
