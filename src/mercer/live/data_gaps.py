"""How far a row is from the rows of a table: its gap.

    gap = distance to the nearest row of the table / distance that rows of the table usually have to their nearest

About 1 is among the data, 3 and more is empty space.
"""

from __future__ import annotations

import numpy as np

from mercer.live.live_table import LiveTable

_SAMPLE = 300  # rows whose nearest rows say how far apart rows usually are


class DataGaps:
    """The rows of a table, prepared to tell how far others are from them.

    >>> gaps = DataGaps(LiveTable(np.array([[0.0], [1.0], [2.0]])))
    >>> gaps(np.array([5.0]))
    (2, 3.0)
    """

    def __init__(self, table: LiveTable) -> None:
        if not isinstance(table.X, np.ndarray):
            raise ValueError("Rows of a sparse table are not looked up: most of their numbers are zero.")
        self.X = table.X
        self._norms = np.einsum("ij,ij->i", self.X, self.X)
        self._usual = self._usual_distance()

    def __call__(self, values: np.ndarray) -> tuple[int, float]:
        """The nearest row of the table, and the gap."""
        row = int(np.argmin(self._norms - 2 * (self.X @ values.astype(self.X.dtype))))  # of one type: no copy of X
        distance = float(np.linalg.norm(self.X[row] - values))
        return row, distance / self._usual if self._usual > 0 else 0.0

    def _usual_distance(self) -> float:
        n = len(self.X)
        rows = np.random.default_rng(0).permutation(n)[:_SAMPLE]
        squares = self._norms[rows][:, None] + self._norms - 2 * self.X[rows] @ self.X.T
        squares[np.arange(len(rows)), rows] = np.inf
        return float(np.median(np.sqrt(np.maximum(squares.min(axis=1), 0.0))))
