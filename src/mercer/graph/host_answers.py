"""An index of tensors for code that goes on with its answers on the host: scores of maps, and diagnoses of graphs."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.backends import to_numpy
from mercer.graph.neighbor_index import Neighbors


class HostAnswers:
    """The questions of `BlockIndex`, computed on the device that holds the tensors, with NumPy arrays for answers."""

    def __init__(self, index: Any) -> None:
        self.index, self.n, self.method, self.reason = index, index.n, index.method, index.reason

    @property
    def X(self) -> Any:
        """The tensor that is indexed."""
        return self.index.X

    def neighbors(self, k: int) -> Neighbors:
        found = self.index.neighbors(k)
        parts = to_numpy(found.indices), to_numpy(found.distances)
        return Neighbors(*parts, found.method, found.recall, found.recall_error)

    def nearest_of(self, rows: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        places, distances = self.index.nearest_of(rows, k)
        return to_numpy(places), to_numpy(distances)

    def ranks_of(self, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
        return to_numpy(self.index.ranks_of(rows, others))

    def distances_of(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        return to_numpy(self.index.distances_of(i, j))

    def between(self, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
        return to_numpy(self.index.between(rows, others))

    def closest_pairs(self, labels: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, ...]:
        return tuple(to_numpy(part) for part in self.index.closest_pairs(labels, rows))
