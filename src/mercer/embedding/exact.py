"""The repulsive sums pair by pair: the reference, in any number of dimensions.

    Gᵢ = Σ_j −w'(d²ᵢⱼ)(yᵢ − yⱼ),   Z = Σ_{i≠j} w(d²ᵢⱼ)

O(n² c) time and O(n c) memory. Rows are dealt to threads, and a row's sum does not depend on the deal: the same bits
at any number of threads.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from mercer.backends import cpu
from mercer.embedding.points import checked, checked_pair
from mercer.embedding.similarity import Gaussian, Similarity, Student

_BLOCK = 128  # rows in a job


@cache
def _compiled() -> Any:
    return import_module("mercer.backends.compiled_pairs")


def kind_of(similarity: Similarity) -> tuple[int, float]:
    """The number by which the compiled loops know a similarity, and its ν."""
    if isinstance(similarity, Gaussian):
        return _compiled().GAUSSIAN, 1.0
    if isinstance(similarity, Student):
        return (_compiled().CAUCHY if similarity.dof == 1 else _compiled().STUDENT), float(similarity.dof)
    raise TypeError(f"similarity={similarity!r} must be Student(dof) or Gaussian().")


def pair_sums(
    similarity: Similarity, new: np.ndarray, fixed: np.ndarray, *, same: bool, n_jobs: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """G (m, c) and the rows' share of Z (m,), both float64, for rows of `new` against rows of `fixed`.

    same : whether the two are one set of points, so that pairs i = j are left out.
    """
    kind, dof = kind_of(similarity)
    G, Z = np.empty(new.shape, np.float64), np.empty(len(new), np.float64)
    transposed = np.ascontiguousarray(fixed.T)  # the inner loop runs along points, one coordinate after the other

    def work(first: int, slot: int) -> None:
        _compiled().rows(new, transposed, first, min(first + _BLOCK, len(new)), same, kind, dof, G, Z)

    cpu.for_each(range(0, len(new), _BLOCK), work, n_jobs)
    return G, Z


class ExactRepulsion:
    """G and Z pair by pair. `reason` says why this method was chosen."""

    method = "exact"

    def __init__(self, similarity: Similarity, n_components: int, n_jobs: int | None, reason: str) -> None:
        self.similarity, self.n_components, self.n_jobs, self.reason = similarity, n_components, n_jobs, reason

    def __call__(self, Y: np.ndarray) -> tuple[np.ndarray, float]:
        """G (n, c) in the type of Y and Z."""
        points = checked(Y, self.n_components)
        G, rows = pair_sums(self.similarity, points, points, same=True, n_jobs=self.n_jobs)
        return G.astype(Y.dtype), float(rows.sum())

    def on(self, new: np.ndarray, fixed: np.ndarray) -> tuple[np.ndarray, float, np.ndarray]:
        """G (m, c), Z over new × fixed, and each new row's share of it (m,)."""
        G, rows = pair_sums(
            self.similarity, *checked_pair(new, fixed, self.n_components), same=False, n_jobs=self.n_jobs
        )
        return G.astype(new.dtype), float(rows.sum()), rows.astype(new.dtype)
