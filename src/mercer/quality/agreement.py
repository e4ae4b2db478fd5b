"""How far two maps of the same rows agree: the shapes they draw, and the neighbours they show.

Neither score looks at the data. Two maps can agree and both be wrong, so read these next to the scores of each map.

    Procrustes disparity    min over s, R, t of ‖A₀ − s B R − t‖²,  A₀ = centred A / its norm
    neighbourhood overlap   Σᵢ |Uₖ(i) ∩ Vₖ(i)| / nk,  with Uₖ(i) and Vₖ(i) the k nearest points of i in the two maps
"""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from mercer.quality.inputs import checked_map, map_index
from mercer.quality.neighborhoods import Neighborhoods, in_order
from mercer.quality.sampling import SamplingPlan
from mercer.quality.score import Score


def procrustes_disparity(A: Any, B: Any) -> Score:
    """How far the shapes of two maps differ after one is shifted, scaled, rotated and reflected onto the other.

    With A₀ and B₀ the two maps, each centred and divided by its Frobenius norm,

        d² = min over s and orthogonal R of ‖A₀ − s B₀ R‖² = 1 − (σ₁ + … + σ_c)²,

    where the σ are the singular values of A₀ᵀB₀. It is 0 if and only if the maps have the same shape, at most 1, and
    the same for (A, B) and (B, A).

    Parameters
    ----------
    A, B : (n, a) and (n, b), two maps of the same rows; the narrower one gets columns of zeros

    Returns a `Score`, always exact. A map whose points all coincide has no shape, and raises ValueError. Cost: O(n c²)
    time and O(n c) memory, c = max(a, b).

    References
    ----------
    Gower (1975), Generalized Procrustes analysis.

    >>> A = np.random.default_rng(0).normal(size=(50, 2))
    >>> turned = 3 * A @ np.array([[0.6, -0.8], [0.8, 0.6]]) + 7
    >>> procrustes_disparity(A, turned).value < 1e-12
    True
    """
    shapes = [_unit_shape(checked_map(values), name) for values, name in ((A, "A"), (B, "B"))]
    _refuse_lengths(*(len(shape) for shape in shapes))
    width = max(shape.shape[1] for shape in shapes)
    first, second = (np.pad(shape, ((0, 0), (0, width - shape.shape[1]))) for shape in shapes)
    left, sizes, right = np.linalg.svd(first.T @ second)
    # The residual is computed, not taken as 1 − (Σσ)², which would lose every digit of a small disparity.
    rest = first - sizes.sum() * (second @ (left @ right).T)
    value = min(float(np.sum(rest**2)), 1.0)
    meaning = "the squared distance left between two maps after shift, scale, rotation and reflection"
    return Score("procrustes_disparity", value, 0.0, len(first), 0.0, meaning)


def neighborhood_overlap(
    A: Any,
    B: Any,
    *,
    n_neighbors: int = 15,
    sample: int | str | None = "auto",
    error: float = 0.005,
    random_state: Any = None,
) -> Score:
    """The mean share of a point's k nearest in one map that are also among its k nearest in another map.

    Σᵢ |Uₖ(i) ∩ Vₖ(i)| / nk. It is 1 for maps that differ by a similarity transformation, and k/(n − 1) on average for
    unrelated maps. It is the same for (A, B) and (B, A). Of points at the same distance, those with the smaller index
    count as nearer.

    Parameters
    ----------
    A, B : (n, a) and (n, b), two maps of the same rows, compared by Euclidean distances
    n_neighbors : k, less than n
    sample : None for all rows, a number of rows, or "auto": all up to 5,000, else as many as `error` asks for
    error : the half-width of the 95 % interval (1.96 standard errors) that "auto" aims at
    random_state : the seed of the sample; None is the seed 0

    Returns a `Score`. Cost: n distances in each map for every row of the sample, and O(nk) memory.

    >>> A = np.random.default_rng(0).normal(size=(50, 2))
    >>> neighborhood_overlap(A, 2 * A + 1, n_neighbors=5).value
    1.0
    """
    plan = SamplingPlan.checked(sample, error)
    first, second = map_index(A), map_index(B)
    _refuse_lengths(first.n, second.n)
    n = first.n
    if not isinstance(n_neighbors, Integral) or isinstance(n_neighbors, bool) or not 1 <= int(n_neighbors) < n:
        raise ValueError(f"n_neighbors={n_neighbors!r} must be a whole number from 1 to n − 1 = {n - 1}.")
    both = Neighborhoods(first, second, int(n_neighbors), in_order(n, plan, random_state))
    found = both.mean("neighbor_recall", plan)
    meaning = "share of a point's nearest in one map that are among its nearest in the other"
    return Score("neighborhood_overlap", found.value, found.error, found.count, 1.0, meaning)


def _unit_shape(values: np.ndarray, name: str) -> np.ndarray:
    """A map, centred and of Frobenius norm 1."""
    size = np.abs(values).max().astype(np.float64)
    # Divided by its largest entry first, so that no square overflows or vanishes.
    shape = values.astype(np.float64) / (size if size > 0 else 1.0)
    shape -= shape.mean(axis=0)
    norm = np.linalg.norm(shape)
    # Centring leaves an error of a few eps per entry; a map no larger than that is one point.
    if norm <= 4 * np.finfo(np.float64).eps * np.sqrt(shape.size):
        raise ValueError(f"All points of {name} coincide, so it has no shape to compare.")
    return shape / norm


def _refuse_lengths(n: int, m: int) -> None:
    if n != m:
        raise ValueError(f"A has {n:,} rows and B has {m:,}: they must be maps of the same rows, in the same order.")
