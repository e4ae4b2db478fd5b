"""The training samples nearest in feature space to the point that scores name."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.backends import backend_of
from mercer.models.fields import THREADS, SavedRecord, floats
from mercer.preimage.base import Fitted, runs_of


@dataclass(frozen=True)
class FeatureNeighbors:
    """‖φ(xⱼ) − P(z)‖² = ‖zⱼ − z‖² + excess(xⱼ): neighbours by distances among scores alone.

    Cost of a call on m rows: 2 m n k flops and a tile of distances a thread.
    """

    _saved = SavedRecord("FeatureNeighbors", {"Z": floats("n", "k"), "excess": floats("n"), "n_jobs": THREADS})

    Z: np.ndarray  # (n, k)
    excess: np.ndarray  # (n,)
    n_jobs: int | None

    @classmethod
    def of(cls, fitted: Fitted, n_jobs: int | None) -> FeatureNeighbors:
        """One pass over the training samples: n kernel entries for each anchor."""
        return cls(np.asarray(fitted.Z, np.float64), fitted.scores_and_excess(fitted.X)[1], n_jobs)

    def __call__(self, Z: np.ndarray, q: int) -> tuple[np.ndarray, np.ndarray]:
        """Places of the q nearest and squared distances to them, nearest first, (m, q) both."""
        n, m = len(self.Z), len(Z)
        places, squares = np.empty((m, q), np.int64), np.empty((m, q))
        own = np.einsum("ij,ij->i", self.Z, self.Z) + self.excess

        def work(run: slice, slot: int) -> None:
            part = Z[run]
            D = own - 2 * part @ self.Z.T
            found = np.argpartition(D, q - 1, axis=1)[:, :q] if q < n else np.tile(np.arange(n), (len(part), 1))
            order = np.lexsort((found, np.take_along_axis(D, found, axis=1)), axis=1)
            places[run] = found = np.take_along_axis(found, order, axis=1)
            apart = self.Z[found] - part[:, None, :]  # once more without cancellation
            squares[run] = np.einsum("ijk,ijk->ij", apart, apart) + self.excess[found]

        backend_of(self.Z).for_each(runs_of(m, max(n, q * self.Z.shape[1])), work, self.n_jobs)
        return places, squares
