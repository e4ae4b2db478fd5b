"""Limited-memory BFGS for many small problems at once: curvature learnt from the last few steps of each row."""

from __future__ import annotations

import numpy as np

MEMORY = 8  # pairs per row: more than the dimension of most valleys, and small next to a row of kernel values
_CONVEX = 1e-10  # a share of ‖s‖ ‖y‖: if sᵀy is below it, rounding decides the sign


class SecantPairs:
    """The last few steps s of each of m rows, and the changes y of its gradient along them.

    They define a positive definite matrix H with H y = s for the latest pair (and nearly for the others), which stands
    in for the inverse of the Hessian. A pair with sᵀy ≤ 0, where the function is not convex, is left out.

    Cost of a product: 4 h d flops per row for h pairs. (Nocedal & Wright, Numerical Optimization, algorithm 7.4.)
    """

    def __init__(self, m: int, d: int, memory: int = MEMORY) -> None:
        self.steps = np.zeros((memory, m, d))
        self.changes = np.zeros((memory, m, d))
        self.inverse = np.zeros((memory, m))  # 1/sᵀy; zero where there is no pair, which then changes nothing
        self.count = np.zeros(m, np.int64)  # pairs that each row has seen; the last of them are kept

    def add(self, rows: np.ndarray, s: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Store a step of each row, and return whether the function was convex along it, (len(rows),)."""
        product = np.einsum("ij,ij->i", s, y)
        lengths = np.sqrt(np.einsum("ij,ij->i", s, s) * np.einsum("ij,ij->i", y, y))
        convex = product > _CONVEX * lengths
        kept, place = rows[convex], self.count[rows[convex]] % len(self.inverse)
        self.steps[place, kept], self.changes[place, kept] = s[convex], y[convex]
        self.inverse[place, kept] = 1 / product[convex]
        self.count[kept] += 1
        return convex

    def known(self, rows: np.ndarray) -> np.ndarray:
        """Whether each of these rows has stored a pair."""
        return self.count[rows] > 0

    def forget(self, rows: np.ndarray) -> None:
        self.inverse[:, rows] = 0.0
        self.count[rows] = 0

    def times(self, rows: np.ndarray, vectors: np.ndarray, scale: np.ndarray) -> np.ndarray:
        """H v for a vector per row, with H₀ = scale · I before the first pair."""
        memory = min(len(self.inverse), int(np.max(self.count[rows], initial=0)))
        used = [(self.count[rows] - 1 - j) % len(self.inverse) for j in range(memory)]  # newest first
        out, along = vectors.copy(), []
        for place in used:
            along.append(self.inverse[place, rows] * np.einsum("ij,ij->i", self.steps[place, rows], out))
            out -= along[-1][:, None] * self.changes[place, rows]
        out *= scale[:, None]
        for place, first in zip(reversed(used), reversed(along), strict=True):
            back = self.inverse[place, rows] * np.einsum("ij,ij->i", self.changes[place, rows], out)
            out += (first - back)[:, None] * self.steps[place, rows]
        return out
