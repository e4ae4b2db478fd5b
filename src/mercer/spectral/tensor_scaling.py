"""The computation behind Isomap on tensors: what `scaling` is for NumPy arrays, on the device that holds the graph.

All n² distances stand there as one matrix in float32; there is no use in half of it, because a GPU reads a whole
matrix faster than it writes to two places.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.backends import beside, namespace, placement, slices, to_numpy
from mercer.expansion import KernelExpansion
from mercer.footprints import tensor_scaling
from mercer.graph.tensor_geodesics import TensorGeodesics
from mercer.linalg.eigen import SMALL, choose_solver
from mercer.linalg.operators import Centered
from mercer.linalg.rounded_matrix import RoundedMatrix
from mercer.planning import Plan, code_bytes, limit_of
from mercer.spectral.components import Settings
from mercer.spectral.scaling import Scaling, in_units, left_over_of, reordered, solved, unexplained

_RUN = 2**24  # distances that are compared with those of the map at a time


def plan_unfolding(
    n: int,
    k: int,
    *,
    free: int,
    solver: str = "auto",
    landmarks: int | None = None,
    limit: Any = None,
    itemsize: int = 4,
    edges: int = 0,
) -> Plan:
    """What the map of n points will do and take on a device with `free` bytes."""
    reason = "asked for"
    if solver == "auto":
        solver, reason = choose_solver(n if landmarks is None else landmarks, k, numpy=False)
    footprint = tensor_scaling(n, k, solver=solver, landmarks=landmarks, itemsize=itemsize, edges=edges)
    given = limit is not None
    return Plan("Isomap", n, solver, reason, footprint, limit_of(limit, free), given, code_bytes=code_bytes(False))


def unfold(geodesics: TensorGeodesics, plan: Plan, settings: Settings) -> Scaling:
    """The map by all distances. Cost: n sources, and some passes over n² numbers."""
    n, xp = geodesics.n, namespace(geodesics.order)
    K = geodesics.from_places(xp.arange(n, device=geodesics.order.device))
    _half_squares(K)
    largest = -float(xp.min(K))
    small = n <= SMALL
    _symmetrize(K)
    A = xp.asarray(K, dtype=xp.float64, copy=True) if small else RoundedMatrix(K)
    centred = Centered.consuming(A) if small else Centered(A)
    centred.largest, centred.entry_error = largest, float(np.finfo(geodesics.dtype).eps) * largest
    found = solved(centred, n, plan, settings)
    scores = found.vectors * beside(np.sqrt(found.values), found.vectors)
    sums, row_sums = _moments(K, scores, scores), to_numpy(centred.row_sums())
    norm = sums[0, 2] - 2 * float(row_sums @ row_sums) / n + (float(row_sums.sum()) / n) ** 2
    left_over = left_over_of(norm, found.values)
    found = reordered(found, geodesics.place)
    return in_units(Scaling(found, scores[geodesics.place], unexplained(sums, n * n), left_over), geodesics.unit)


def unfold_landmarks(geodesics: TensorGeodesics, landmarks: np.ndarray, plan: Plan, settings: Settings) -> Scaling:
    """The map by distances to landmarks. Cost: m sources, an m × m eigenproblem, n m numbers."""
    n, m, xp = geodesics.n, len(landmarks), namespace(geodesics.order)
    at = geodesics.place[xp.asarray(landmarks, device=geodesics.order.device)]
    K = geodesics.from_places(at)  # rows in places
    _half_squares(K)
    among = xp.astype(K[at, :], xp.float64)
    largest = -float(xp.min(K))  # over all points, which the landmarks are to place
    centred = Centered.consuming((among + among.T) / 2)
    centred.largest, centred.entry_error = largest, float(np.finfo(geodesics.dtype).eps) * largest
    found = solved(centred, m, plan, settings)
    left_over = left_over_of(float(xp.sum(centred.stored() ** 2)), found.values)
    coefs, offset = found.expansion.coefs[:, :-1], found.expansion.offset[:-1]
    embedding = xp.empty((n, coefs.shape[1]), dtype=coefs.dtype, **placement(coefs))
    for run in slices(n, max(1, _RUN // m)):
        embedding[run, :] = xp.astype(K[run, :], coefs.dtype) @ coefs - offset
    sums = _moments(K, embedding, embedding[at, :])
    result = Scaling(found, embedding[geodesics.place], unexplained(sums, n * m), left_over)
    return in_units(result, geodesics.unit)


def place_links(
    geodesics: TensorGeodesics, links: tuple[Any, Any], expansion: KernelExpansion, landmarks: np.ndarray | None
) -> Any:
    """(m, k), the coordinates of points with links (m, k) to vertices and their lengths. Cost: m sources."""
    xp, unit, order = namespace(geodesics.order), geodesics.unit, geodesics.order
    coefs = xp.astype(expansion.coefs if landmarks is not None else expansion.coefs[order, :], xp.float64) * unit**2
    at = None if landmarks is None else geodesics.place[xp.asarray(landmarks, device=order.device)]
    nodes, lengths = links
    parts = []
    for run in slices(nodes.shape[0], max(1, _RUN // geodesics.n)):
        D = geodesics.columns(nodes[run, :], lengths[run, :])
        D = xp.astype(D if at is None else D[at, :], xp.float64)
        parts.append((-0.5 * D * D).T @ coefs - expansion.offset)
    return xp.astype(xp.concat(parts), expansion.coefs.dtype)


def _half_squares(D: Any) -> None:
    """−½d² in the place of d."""
    for run in slices(D.shape[0], max(1, _RUN // D.shape[1])):
        D[run, :] *= -0.5 * D[run, :]


def _symmetrize(K: Any) -> None:
    """Copy what is above the diagonal below it, some rows at a time."""
    xp, n = namespace(K), K.shape[0]
    for run in slices(n, max(1, _RUN // n)):
        K[run.stop :, run] = K[run, run.stop :].T
        own = xp.triu(K[run, run])
        K[run, run] = own + xp.triu(own, k=1).T


def _moments(K: Any, rows: Any, columns: Any) -> np.ndarray:
    """Sums over all entries of −½d² (n, m), as `compiled_paths.distance_moments` has them.

    sums[0] is Σd, Σd² and Σd⁴/4; sums[c + 1] is Σe, Σe² and Σde, with e the distance in the first c + 1 coordinates of
    `rows` (n, k) and `columns` (m, k).
    """
    xp, wide, k = namespace(K), {"dtype": namespace(K).float64}, rows.shape[1]
    rows, columns = xp.astype(rows, K.dtype), xp.astype(columns, K.dtype)
    total: Any = 0.0
    for run in slices(K.shape[0], max(1, _RUN // K.shape[1])):
        part = K[run, :]
        square = xp.clip(-2 * part, 0, None)
        d = xp.sqrt(square)
        sums = [xp.sum(d, **wide), xp.sum(square, **wide), xp.sum(part * part, **wide)]
        squares = xp.zeros_like(d)
        for c in range(k):
            difference = rows[run, c][:, None] - columns[:, c][None, :]
            squares += difference * difference
            e = xp.sqrt(squares)
            sums += [xp.sum(e, **wide), xp.sum(squares, **wide), xp.sum(e * d, **wide)]
        total = total + xp.stack(sums)
    return to_numpy(total).reshape(k + 1, 3)
