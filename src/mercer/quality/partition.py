"""log Z of a map at any scale: Z = Σ_{k≠l} 1/(1 + s²d²ₖₗ) over all pairs of its points.

Few points are summed pair by pair. Many are summed on a grid, to about 1e-4. A map so wide that its grid would be too
large is estimated from some points against all others, with a standard error.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.backends import is_torch, to_numpy
from mercer.embedding.exact_repulsion import pair_sums
from mercer.embedding.grid_repulsion import GridRepulsion
from mercer.embedding.repulsion import GRID_ABOVE
from mercer.embedding.similarity import Student

ACCURACY = 0.1  # of forces on the grid; their sum Z is a thousand times as accurate
LARGEST = 2**23  # nodes of a grid: some 200 MB
WIDEST = 1.0  # if nodes are further apart than this, their sum is less accurate than 1e-4
LOOK = 2500  # points that represent all others during the search for a scale, which needs log Z only to 0.1
ROWS = 4000  # points compared with all others if a grid would be too large: a standard error of about 1 %


class Partition:
    """Z of a map that is multiplied by s.

    points : (n, c) float64, 1 ≤ c ≤ 3, an array, or a tensor whose sums are taken on its device
    rows, widest : how many points are compared with all others if the nodes of the largest grid would be more than
        `widest` apart
    error : the standard error of the latest log Z; 0 unless the map was too large for a grid
    """

    def __init__(self, points: Any, rng: np.random.Generator, *, rows: int = ROWS, widest: float = WIDEST) -> None:
        self.points, self.n, self.error = points, len(points), 0.0
        self.few = self.n < GRID_ABOVE[points.shape[1]]
        largest = None if is_torch(points) else LARGEST
        self.grid = GridRepulsion(Student(), points.shape[1], ACCURACY, largest=largest)
        self.order, self.widest = rng.permutation(self.n)[:rows], widest

    def __call__(self, s: float) -> float:
        """log Z."""
        self.error, points = 0.0, self.points * s
        if self.few:
            return float(np.log(float(pair_sums(Student(), points, points, same=True)[1].sum())))
        Z = self.grid(points)[1]
        if self.grid.spacing > self.widest:
            return self._from_some(points)
        return float(np.log(Z))

    def roughly(self, s: float) -> float:
        """log Z from the pairs among some points."""
        some = self.points[self.order[:LOOK]] * s
        Z = float(pair_sums(Student(), some, some, same=True)[1].sum())
        return float(np.log(Z * (self.n * (self.n - 1)) / (len(some) * (len(some) - 1))))

    def _from_some(self, points: Any) -> float:
        rows = to_numpy(pair_sums(Student(), points[self.order], points, same=False)[1]) - 1  # not with itself
        share = float(rows.std(ddof=1) / rows.mean() / np.sqrt(len(rows)))
        self.error = share * float(np.sqrt(1 - len(rows) / self.n))
        return float(np.log(rows.mean() * self.n))
