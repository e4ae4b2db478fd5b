"""log Z of a map at any scale: Z = Σ_{k≠l} 1/(1 + s²d²ₖₗ) over all pairs of its points.

On a grid, whose sums are right to 1e-4 here; pair by pair where points are few; and where a map is so large that its
grid would be, from some points against all, with a standard error.
"""

from __future__ import annotations

import numpy as np

from mercer.embedding.exact_repulsion import pair_sums
from mercer.embedding.grid_repulsion import GridRepulsion
from mercer.embedding.repulsion import GRID_ABOVE
from mercer.embedding.similarity import Student

_ACCURACY = 0.1  # of forces on the grid; their sum Z is a thousand times as good
_LARGEST = 2**23  # nodes: some 200 MB
_WIDEST = 1.0  # spacing of the nodes beyond which Z is not to be had from them
_LOOK = 2500  # points that stand for all while a scale is looked for
_ROWS = 4000  # points that are taken against all where a grid is too large


class Partition:
    """Z of a map that is multiplied by s.

    points : (n, c) float64, 1 ≤ c ≤ 3
    error : the standard error of the latest log Z; 0 but for maps too large for a grid
    """

    def __init__(self, points: np.ndarray, rng: np.random.Generator) -> None:
        self.points, self.n, self.error = points, len(points), 0.0
        self.few = self.n < GRID_ABOVE[points.shape[1]]
        self.grid = GridRepulsion(Student(), points.shape[1], _ACCURACY, largest=_LARGEST)
        self.order = rng.permutation(self.n)[:_ROWS]

    def __call__(self, s: float) -> float:
        """log Z."""
        self.error, points = 0.0, self.points * s
        if self.few:
            return float(np.log(pair_sums(Student(), points, points, same=True)[1].sum()))
        Z = self.grid(points)[1]
        if self.grid.spacing > _WIDEST:
            return self._from_some(points)
        return float(np.log(Z))

    def roughly(self, s: float) -> float:
        """log Z from the pairs among some points."""
        some = self.points[self.order[:_LOOK]] * s
        Z = float(pair_sums(Student(), some, some, same=True)[1].sum())
        return float(np.log(Z * (self.n * (self.n - 1)) / (len(some) * (len(some) - 1))))

    def _from_some(self, points: np.ndarray) -> float:
        rows = pair_sums(Student(), points[self.order], points, same=False)[1] - 1  # not a point with itself
        share = float(rows.std(ddof=1) / rows.mean() / np.sqrt(len(rows)))
        self.error = share * float(np.sqrt(1 - len(rows) / self.n))
        return float(np.log(rows.mean() * self.n))
