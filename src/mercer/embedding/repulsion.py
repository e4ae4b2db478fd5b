"""The sums over all pairs that push the points of a map apart, by the method that suits the number of points.

    Gᵢ = Σ_j −w'(d²ᵢⱼ)(yᵢ − yⱼ),   Z = Σ_{i≠j} w(d²ᵢⱼ)

With these the gradient of KL(P ‖ Q) is 4 [Σ_j pᵢⱼ (−w'/w)(yᵢ − yⱼ) − Gᵢ/Z].

    exact  pair by pair, any number of dimensions, O(n²)
    grid   interpolated on a grid of nodes, one to three dimensions, O(n) plus the size of the map; to a stated accuracy
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from mercer.embedding.exact_repulsion import ExactRepulsion
from mercer.embedding.grid_field import COARSEST, FINEST
from mercer.embedding.grid_repulsion import GridRepulsion
from mercer.embedding.similarity import Similarity

METHODS = ("auto", "exact", "grid")
GRID_ABOVE = {1: 500, 2: 2500, 3: 8000}  # dimension of the map -> points from which a grid is faster, as measured

FrozenRepulsion = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


class Repulsion(Protocol):
    """What the descent and the placement of new rows ask for. Any object with these members will do.

    method, reason : how the sums are taken, and why that way
    __call__(Y) : G (n, c) in the precision of Y, and Z
    on(new, fixed) : the sums for rows of `new` against `fixed` alone: G (m, c), Z, and each row's part of Z (m,)
    frozen(Y) : a function that gives, for points (m, c), G and their parts of Z against a map Y that does not move.
        What one point feels does not depend on the other points that are asked for.
    """

    method: str
    reason: str

    def __call__(self, Y: np.ndarray) -> tuple[np.ndarray, float]: ...
    def on(self, new: np.ndarray, fixed: np.ndarray) -> tuple[np.ndarray, float, np.ndarray]: ...
    def frozen(self, Y: np.ndarray) -> FrozenRepulsion: ...


def make_repulsion(
    similarity: Similarity,
    n_components: int,
    *,
    method: str = "auto",
    n: int,
    accuracy: float = 1e-3,
    n_jobs: int | None = None,
) -> Repulsion:
    """The repulsion of a map of n points.

    Parameters
    ----------
    similarity : Student(dof), Gaussian() or another `Similarity`
    n_components : the dimension c of the map
    method : "exact", "grid" (c ≤ 3), or "auto" for the faster of the two
    n : how many points the map will have; "auto" decides by it
    accuracy : the relative error of G that a grid may make, from 1e-5 to 1e-1; it sets the spacing of the nodes
    n_jobs : threads; None uses all cores

    >>> import numpy as np
    >>> from mercer.embedding.similarity import Student
    >>> repulsion = make_repulsion(Student(), 2, n=3)
    >>> G, Z = repulsion(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]))
    >>> repulsion.method, G[0].tolist(), round(Z, 6)
    ('exact', [-0.25, -0.25], 2.666667)
    """
    _check(similarity, n_components, method, n, accuracy)
    chosen, reason = _choose(similarity, n_components, method, n)
    if chosen == "exact":
        return ExactRepulsion(similarity, n_components, n_jobs, reason)
    return GridRepulsion(similarity, n_components, accuracy, n_jobs, reason)


def _choose(similarity: Similarity, c: int, method: str, n: int) -> tuple[str, str]:
    if method != "auto":
        return method, f"method={method!r} was asked for"
    room = "one dimension" if c == 1 else f"{c} dimensions"
    if c > 3:
        return "exact", f"a grid in {room} would have too many nodes"
    if similarity.length is None:
        return "exact", f"{type(similarity).__name__} states no length, so no spacing of a grid is known to suffice"
    if n < GRID_ABOVE[c]:
        return "exact", f"{n:,} points are fewer than the {GRID_ABOVE[c]:,} from which a grid in {room} is faster"
    return "grid", f"{n:,} points in {room}: a grid is faster than {n:,}² pairs"


def _check(similarity: Similarity, c: int, method: str, n: int, accuracy: float) -> None:
    if not isinstance(similarity, Similarity):
        raise TypeError(f"similarity={similarity!r} must be Student(dof), Gaussian() or another Similarity.")
    if method not in METHODS:
        raise ValueError(f"method={method!r} must be one of {', '.join(map(repr, METHODS))}.")
    if c < 1:
        raise ValueError(f"n_components={c!r}: a map needs at least one dimension.")
    if method == "grid" and c > 3:
        raise ValueError(f"method='grid' works in 1, 2 and 3 dimensions, not {c}. Use 'exact' or 'auto'.")
    if method == "grid" and similarity.length is None:
        raise ValueError(f"method='grid' needs the length of {similarity!r}, which is None. Use 'exact' or 'auto'.")
    if n < 1:
        raise ValueError(f"n={n!r}: a map needs at least one point.")
    if not FINEST <= accuracy <= COARSEST:
        raise ValueError(
            f"accuracy={accuracy!r} must lie between {FINEST:g} and {COARSEST:g}, the relative errors for which the "
            "spacing of a grid is known. Use method='exact' for a smaller error."
        )
