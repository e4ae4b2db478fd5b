"""The computation behind Isomap: from distances along a graph to coordinates, exactly or by landmarks.

unfold            the top eigenpairs of −½HD²H, all n² distances kept once, in half a float32 matrix
unfold_landmarks  those of the landmarks' own matrix; every other point follows from its distances to them

unfold_matrix     those of a matrix of distances that is given

All give `Scaling`: Components, as kernel PCA has them, of the kernel −½d², and the map of the fitted points.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np

from mercer.amounts import amount
from mercer.backends import beside, cpu, namespace
from mercer.expansion import KernelExpansion
from mercer.features import DOUBLE, SINGLE, answer_dtype
from mercer.footprints import scaling
from mercer.graph.geodesics import Geodesics, compiled_paths
from mercer.kernels.discrete import Precomputed
from mercer.linalg.eigen import SMALL, choose_solver, default_tol
from mercer.linalg.inner import power_of_two
from mercer.linalg.landmark_rows import checked_landmarks
from mercer.linalg.operators import Centered
from mercer.linalg.tiled import Packed
from mercer.memory import available_bytes
from mercer.planning import Plan, code_bytes, limit_of
from mercer.random_state import generator_from
from mercer.spectral.components import Components, Settings, components_of, refuse_range

_RUN = 8192  # columns of the landmarks' distances that are turned into coordinates at a time


@dataclass(frozen=True)
class Scaling:
    """components : of −½d², over all points or over the landmarks
    embedding : (n, k)
    residual_variance : (k,), 1 − R² between distances along the graph and in the first 1 … k coordinates
    left_over : √(‖−½HD²H‖² − Σγ²) over the eigenvalues γ kept; of the landmarks' matrix if there are landmarks
    """

    components: Components
    embedding: np.ndarray
    residual_variance: np.ndarray
    left_over: float


def plan_unfolding(
    n: int,
    k: int,
    *,
    solver: str = "auto",
    landmarks: int | None = None,
    limit: Any = None,
    n_jobs: int | None = None,
    itemsize: int = 4,
    edges: int = 0,
) -> Plan:
    """What the map of n points by distances along a graph will do and take, by all distances or by landmarks."""
    reason = "asked for"
    if solver == "auto":
        solver, reason = choose_solver(n if landmarks is None else landmarks, k)
    threads = cpu.workers(n_jobs)
    footprint = scaling(n, k, solver=solver, landmarks=landmarks, itemsize=itemsize, threads=threads, edges=edges)
    return Plan(
        "Isomap",
        n,
        solver,
        reason,
        footprint,
        limit_of(limit, available_bytes()),
        limit is not None,
        code_bytes=code_bytes(True),
        tile=Packed.TILE,
    )


def refuse_units(unit: float, dtype: Any = np.float64) -> None:
    """ValueError if squares of distances of this size, or their products, would leave the range of the answer.

    Eigenvalues are sums of n squares, and are given in the precision of the data.
    """
    most = 1e15 if np.dtype(dtype) == np.float32 else 1e140
    if not 1 / most < unit < most:
        raise ValueError(
            f"Distances are near {unit:.0e}: their squares leave the range of {np.dtype(dtype).name}. Multiply the "
            "data by a number that brings them near 1."
        )


def distance_settings(k: int, dtype: Any, *, tol: float = 0.0, max_iter: int | None = None, **others: Any) -> Settings:
    """Settings for eigenpairs of −½HD²H; `others` are random_state, n_jobs, monitor and may_be_indefinite."""
    given = {"random_state": None, "n_jobs": None, "monitor": None, "may_be_indefinite": True} | others
    return Settings(
        k=k,
        share=None,
        tol=float(tol) or default_tol(dtype),
        dtype=SINGLE if np.dtype(dtype) == SINGLE else DOUBLE,
        max_iter=max_iter,
        n_iter="auto",
        rank=0,
        drop_zero=False,
        subject="−½HD²H of these distances",
        **given,
    )


def unfold(geodesics: Geodesics, plan: Plan, settings: Settings) -> Scaling:
    """The map by all distances. Cost: n sources, about 6 passes over n²/2 numbers, n² k steps for what is left over."""
    n = geodesics.n
    small = n <= SMALL
    A: Any = _whole(geodesics) if small else _packed(geodesics)
    largest = max(float(np.abs(tile).max()) for _, _, tile in _tiles(A))
    centred = Centered.consuming(np.array(A)) if small else Centered(A)
    centred.largest, centred.entry_error = largest, float(np.finfo(geodesics.dtype).eps) * largest
    found = solved(centred, n, plan, settings)
    scores = found.vectors * np.sqrt(found.values)
    sums, row_sums = _moments(A, scores), centred.row_sums()
    if small:
        norm = float(np.sum(centred.stored() ** 2))
    else:
        norm = sums[0, 2] - 2 * float(row_sums @ row_sums) / n + (float(row_sums.sum()) / n) ** 2
    left_over = left_over_of(norm, found.values)
    place = slice(None) if small else geodesics.place  # a packed matrix is in places
    found = reordered(found, place)
    return in_units(Scaling(found, scores[place], unexplained(sums, n * n), left_over), geodesics.unit)


def unfold_landmarks(geodesics: Geodesics, landmarks: np.ndarray, plan: Plan, settings: Settings) -> Scaling:
    """The map by distances to landmarks. Cost: m sources, an m × m eigenproblem, n m numbers."""
    n, m = geodesics.n, len(landmarks)
    K = np.empty((m, n), geodesics.dtype)  # −½d², columns in places
    half_squares = compiled_paths().half_squares

    def use(rows: np.ndarray, distances: np.ndarray) -> None:
        for lane, row in enumerate(rows):
            half_squares(distances[:, lane : lane + 1], K[row : row + 1])

    geodesics.each(geodesics.links_to(landmarks), use)
    among = K[:, geodesics.place[landmarks]].astype(np.float64)
    largest = -float(K.min())  # over all points, which the landmarks are to place
    centred = Centered.consuming((among + among.T) / 2)
    centred.largest, centred.entry_error = largest, float(np.finfo(geodesics.dtype).eps) * largest
    found = solved(centred, m, plan, settings)
    left_over = left_over_of(float(np.sum(centred.stored() ** 2)), found.values)
    coefs, offset = found.expansion.coefs[:, :-1], found.expansion.offset[:-1]
    embedding = np.empty((n, coefs.shape[1]), coefs.dtype)
    for start in range(0, n, _RUN):
        run = slice(start, min(start + _RUN, n))
        embedding[run] = K[:, run].T.astype(coefs.dtype) @ coefs - offset
    sums = np.zeros((coefs.shape[1] + 1, 3))
    at = embedding[geodesics.place[landmarks]]
    compiled_paths().distance_moments(K, at.astype(K.dtype), _columns(embedding, K.dtype), sums)
    result = Scaling(found, embedding[geodesics.place], unexplained(sums, n * m), left_over)
    return in_units(result, geodesics.unit)


def unfold_matrix(D: Any, plan: Plan, settings: Settings) -> Scaling:
    """The map by a symmetric matrix of distances, float64. Cost: n² numbers, and the eigenproblem."""
    xp = namespace(D)
    unit = power_of_two(float(xp.max(D)))
    refuse_units(unit)
    K = D / unit
    K *= K
    K *= -0.5
    least = float(xp.min(K))
    centred = Centered.consuming(K)
    centred.largest = -least
    centred.entry_error = float(np.finfo(np.float64).eps) * centred.largest
    found = solved(centred, len(D), plan, settings)
    left_over = left_over_of(float(xp.sum(K**2)), found.values)
    scores = found.vectors * beside(np.sqrt(found.values), found.vectors)
    return in_units(Scaling(found, scores, np.empty(0), left_over), unit)


def place_links(
    geodesics: Geodesics, links: Any, expansion: KernelExpansion, landmarks: np.ndarray | None
) -> np.ndarray:
    """(m, k), the coordinates of points with links to the graph. Cost: m sources."""
    coefs, unit = expansion.coefs, geodesics.unit
    coefs = (coefs if landmarks is not None else coefs[geodesics.order]).astype(np.float64) * unit**2
    at = slice(None) if landmarks is None else geodesics.place[landmarks]
    out = np.empty((links.shape[0], coefs.shape[1]), expansion.coefs.dtype)

    def use(rows: np.ndarray, distances: np.ndarray) -> None:
        near = distances[at].astype(np.float64)
        out[rows] = (-0.5 * near * near).T @ coefs - expansion.offset

    geodesics.each(links, use)
    return out


# --- landmarks -------------------------------------------------------------------------------------------


def landmark_count(landmarks: Any, n: int, rows: int, n_components: int) -> int | None:
    """The number of landmarks for a graph of n of the data's `rows`; None for none. Refuses what cannot be some."""
    if landmarks is None:
        return None
    if isinstance(landmarks, Integral):
        count = min(int(landmarks), n)
    else:
        count = len(checked_landmarks(landmarks, rows))
    if count <= n_components and count < n:
        raise ValueError(
            f"{amount(count, 'landmark')} can span no more than {amount(count - 1, 'coordinate')}, and "
            f"n_components={n_components} were asked for. Take more landmarks; ten times n_components is little."
        )
    return count


def choose_landmarks(landmarks: Any, count: int, geodesics: Any, rows: np.ndarray, seed: Any) -> np.ndarray:
    """(count,) row numbers of the data, `rows` being those of the graph: the given ones, or by max–min along it."""
    if isinstance(landmarks, Integral):
        return rows[geodesics.spread(count, int(generator_from(seed).integers(geodesics.n)))]
    given = np.asarray(landmarks)
    if not np.isin(given, rows).all():
        raise ValueError("Some landmarks are outside the largest component, which alone is mapped.")
    return given.astype(np.int64)


# --- the matrix of −½d² ----------------------------------------------------------------------------------


def _whole(geodesics: Geodesics) -> np.ndarray:
    """In float64 units, in the order of the vertices, symmetric to the last bit."""
    D = geodesics.from_nodes(np.arange(geodesics.n)) / geodesics.unit
    D = np.triu(D, 1)
    D += D.T
    D *= D
    D *= -0.5
    return D


def _packed(geodesics: Geodesics) -> Packed:
    """In units, in the order of places, in the precision of the geodesics."""
    A = Packed(geodesics.n, stored=geodesics.dtype, n_jobs=geodesics.n_jobs)
    half_squares = compiled_paths().half_squares

    def use(rows: np.ndarray, distances: np.ndarray) -> None:
        for J, part in A.room(slice(rows[0], rows[-1] + 1)):  # rows come by place, sixteen in a row
            half_squares(distances[J], part)

    geodesics.each(geodesics.links_to(geodesics.order), use)
    A.symmetrize()
    return A


def _tiles(A: Any) -> list[tuple[slice, slice, np.ndarray]]:
    whole = slice(None)
    return A.tiles() if isinstance(A, Packed) else [(whole, whole, A)]


def solved(A: Centered, n: int, plan: Plan, settings: Settings) -> Components:
    """The components of a centred matrix of −½d² between n samples."""
    dtype = getattr(A.xp, settings.dtype.name)
    no_columns = A.xp.empty((n, 0), dtype=dtype, **A.placement())  # the samples are known by −½d² alone
    with cpu.one_thread():
        return components_of(A, Precomputed(), no_columns, plan, settings)


# --- how well the map keeps the distances ----------------------------------------------------------------


def _moments(A: Any, scores: np.ndarray) -> np.ndarray:
    """Sums over all pairs of what the correlations need; see `distance_moments`."""
    tiles = _tiles(A)
    dtype = tiles[0][2].dtype
    rows, columns = scores.astype(dtype), _columns(scores, dtype)
    moments = compiled_paths().distance_moments
    slots = [np.zeros((scores.shape[1] + 1, 3)) for _ in range(cpu.workers())]

    def work(job: tuple[slice, slice, np.ndarray], slot: int) -> None:
        I, J, tile = job
        part = np.zeros_like(slots[slot])
        moments(tile, rows[I], columns[:, J], part)
        slots[slot] += part if I == J else 2 * part

    cpu.for_each(tiles, work)
    return np.sum(slots, axis=0)


def left_over_of(norm: float, values: np.ndarray) -> float:
    """`Scaling.left_over` from ‖−½HD²H‖² and the eigenvalues that were kept."""
    return float(np.sqrt(max(norm - float(np.sum(values**2)), 0.0)))


def _columns(scores: np.ndarray, dtype: Any) -> np.ndarray:
    return np.ascontiguousarray(scores.T.astype(dtype))


def unexplained(sums: np.ndarray, count: int) -> np.ndarray:
    """1 − R² between distances d and e for each number of coordinates; 1 if either does not vary."""
    d, dd = sums[0, 0] / count, sums[0, 1] / count
    e, ee, de = (sums[1:, i] / count for i in range(3))
    spread = (dd - d * d) * (ee - e * e)
    safe = np.where(spread > 0, spread, 1.0)
    return np.clip(np.where(spread > 0, 1 - (de - d * e) ** 2 / safe, 1.0), 0.0, 1.0)


# --- order and units -------------------------------------------------------------------------------------


def reordered(found: Components, place: Any) -> Components:
    """Components whose rows are those at the given places of the present ones."""
    old = found.expansion
    expansion = KernelExpansion(old.kernel, old.anchors, old.coefs[place], old.offset, old.n_jobs)
    return replace(found, vectors=found.vectors[place], expansion=expansion)


def in_units(result: Scaling, unit: float) -> Scaling:
    """The same result for distances that are `unit` times as long, a power of two."""
    found, square = result.components, unit * unit
    old = found.expansion
    refuse_range(float(found.values.max(initial=0.0)) * square, answer_dtype(old.coefs))
    factors = np.append(np.full(len(old.offset) - 1, unit), 1.0)  # the last column is a mean of the kernel
    coefs, offset = old.coefs * beside(1 / factors, old.coefs), old.offset * beside(factors, old.offset)
    components = replace(
        found,
        values=found.values * square,
        residuals=found.residuals * square,
        errors=found.errors * square,
        transform_errors=found.transform_errors * unit,
        total=found.total * square,
        mean_norm=found.mean_norm * square,
        expansion=KernelExpansion(old.kernel, old.anchors, coefs, offset, old.n_jobs),
    )
    embedding = namespace(coefs).astype(result.embedding * unit, coefs.dtype, copy=False)
    return Scaling(components, embedding, result.residual_variance, result.left_over * square)
