"""New rows in a finished map: each goes where its own divergence is least, and nothing else moves.

    KL_x = Σⱼ p_{j|x} log(p_{j|x} / q_{j|x}),   q_{j|x} = w(‖y − yⱼ‖²) / Z_x,   Z_x = Σⱼ w(‖y − yⱼ‖²)
    ∂KL_x/∂y = 2 [ Σⱼ p_{j|x} (−w′/w) (y − yⱼ) − G_x / Z_x ]

If the map holds the neighbours in several places, KL_x has several valleys. So a new row begins at the lowest of some
positions: the weighted median of its neighbours' positions, and those of the nearest ones. Its position does not depend
on the other new rows. A row that equals a fitted one takes the position of that one.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.backends import beside, is_torch, namespace, slices
from mercer.backends.cpu import for_each
from mercer.embedding.descent import DescentState, move
from mercer.embedding.exact_repulsion import as_precise
from mercer.embedding.initialisation import given_map
from mercer.embedding.loss import attraction_of
from mercer.embedding.repulsion import Repulsion
from mercer.embedding.similarity import Similarity

STEPS = 100  # of a new row, which settles sooner than a map: the points around it stay
TOGETHER = 2**16  # rows placed at a time: their neighbours take some 100 MB, and more rows would gain nothing
RATE, MOMENTUM = 0.5, 0.8  # the divergence of one point has a curvature of about 2, so 1/2 is a Newton step
# Neighbours whose positions are tried as a start: on digits, clusters and diamonds 10 gave the divergence that all 91
# gave, to 3e-4, and as much time as 11 steps.
_TRIED = 10
_SAME = 1e-6  # of the distance to the second neighbour: a nearer row is the same row, up to rounding


def place(
    found: Any,
    weights: Any,
    Y: Any,
    similarity: Similarity,
    repulsion: Repulsion,
    n_jobs: int | None = None,
    *,
    init: Any = "lowest",
    steps: int = STEPS,
    rate: float = RATE,
    exaggeration: float = 1.0,
) -> Any:
    """The positions of new rows, (m, c), from their neighbours and weights (m, k) and the fitted map Y (n, c).

    init : where they begin: the weighted "median" or "mean" of their neighbours, the "lowest" of the median and the
        nearest neighbours' positions, or an array (m, c)
    steps, rate, exaggeration : of the descent
    """
    k = weights.shape[1]
    lowest = isinstance(init, str) and init == "lowest"
    state = DescentState.at(_start("median" if lowest else init, found.indices, weights, Y, n_jobs))
    same = found.distances[:, 0] <= _SAME * found.distances[:, min(1, k - 1)]
    state.Y[same] = Y[found.indices[same, 0]]
    if same.all():
        return state.Y
    attraction = attraction_of(_rows_of(weights, found.indices, len(Y)), similarity, n_jobs)
    repelled = repulsion.frozen(Y)
    tiny = float(np.finfo(np.float32).tiny)  # Z of a point from which the whole map is out of sight
    if lowest:

        def divergence(points: Any) -> Any:
            return namespace(Y).log(repelled(points)[1].clip(tiny)) - attraction.log_similarity(points, Y)

        moved = _lowest(state.Y, found.indices, Y, divergence)
        state.Y[~same] = moved[~same]
    for _ in range(steps):
        push, rows = repelled(state.Y)
        pull = attraction(state.Y, Y)
        weights = 2 / rows.clip(tiny)
        move(state, pull, as_precise(push, Y), 2.0 * exaggeration, weights, rate, MOMENTUM, ~same, n_jobs)
    return state.Y


def _lowest(start: Any, indices: Any, Y: Any, divergence: Callable[[Any], Any]) -> Any:
    """Of `start` and the positions of the nearest neighbours, the one at which each row's divergence is least."""
    xp, best, least = namespace(Y), start, divergence(start)
    for j in range(min(_TRIED, indices.shape[1])):
        there = Y[indices[:, j]]
        value = divergence(there)
        lower = value < least
        best, least = xp.where(lower[:, None], there, best), xp.where(lower, value, least)
    return best


def _rows_of(weights: Any, indices: Any, n: int) -> Any:
    """The weights as a sparse matrix (m, n), in the order in which they are."""
    m, k = weights.shape
    if is_torch(weights):
        starts = namespace(weights).arange(0, m * k + 1, k, device=weights.device)
        csr_tensor = import_module("mercer.backends.torch_neighbors").csr_tensor
        return csr_tensor(starts, indices.reshape(-1), weights.reshape(-1), (m, n))
    return sp.csr_array((weights.ravel(), indices.ravel(), np.arange(0, m * k + 1, k)), shape=(m, n))


def _start(init: Any, indices: Any, weights: Any, Y: Any, n_jobs: int | None) -> Any:
    if not isinstance(init, str):
        return beside(given_map(init, len(indices), Y.shape[1]), Y)
    if init in ("median", "mean") and is_torch(Y):
        arithmetic = import_module("mercer.backends.torch_maps")
        start = arithmetic.weighted_medians if init == "median" else arithmetic.weighted_means
        return start(indices, weights, Y)
    if init == "median":
        return weighted_median(indices, weights, Y, n_jobs)
    if init == "mean":
        return np.einsum("mk,mkc->mc", weights, Y[indices], dtype=np.float64).astype(Y.dtype)
    raise ValueError(f"init={init!r} must be 'lowest', 'median', 'mean' or an array of positions.")


def weighted_median(indices: np.ndarray, weights: np.ndarray, Y: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
    """The weighted median of the positions of each row's neighbours, coordinate by coordinate, (m, c)."""
    out = np.empty((len(indices), Y.shape[1]), Y.dtype)

    def fill(run: slice, _: int) -> None:
        for axis in range(Y.shape[1]):
            places = Y[indices[run], axis]
            order = np.argsort(places, axis=1, kind="stable")
            sums = np.cumsum(np.take_along_axis(weights[run], order, axis=1), axis=1, dtype=np.float64)
            middle = np.argmax(sums >= 0.5 * sums[:, -1:], axis=1)
            chosen = np.take_along_axis(order, middle[:, None], axis=1)
            out[run, axis] = np.take_along_axis(places, chosen, axis=1)[:, 0]

    for_each(slices(len(indices)), fill, n_jobs)
    return out
