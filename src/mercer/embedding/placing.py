"""New points in a finished map: each goes where its own divergence is least, and neither map nor others move for it.

    KL_x = Σⱼ p_{j|x} log(p_{j|x} / q_{j|x}),   q_{j|x} = w(‖y − yⱼ‖²) / Z_x,   Z_x = Σⱼ w(‖y − yⱼ‖²)
    ∂KL_x/∂y = 2 [ Σⱼ p_{j|x} (−w′/w) (y − yⱼ) − G_x / Z_x ]

It begins at the weighted median of its neighbours' places. Which other rows come with a row does not matter. A row that
equals a fitted one takes that one's place.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.backends.cpu import for_each
from mercer.embedding.laws import runs
from mercer.embedding.loss import Attraction
from mercer.embedding.optimize import Map, move
from mercer.embedding.repulsion import Repulsion
from mercer.embedding.similarity import Similarity
from mercer.embedding.still import still_repulsion

STEPS = 100
_SAME = 1e-6  # of the distance to the second neighbour: nearer is the same row, up to rounding
RATE, MOMENTUM = 0.5, 0.8  # the gradient of one point has a curvature of about 2


def place(
    found: Any,
    weights: np.ndarray,
    Y: np.ndarray,
    similarity: Similarity,
    repulsion: Repulsion,
    n_jobs: int | None = None,
) -> np.ndarray:
    """The places of new rows, (m, c), from their neighbours and weights (m, k) and the fitted map (n, c)."""
    m, k = weights.shape
    state = Map.at(weighted_median(found.indices, weights, Y, n_jobs))
    same = found.distances[:, 0] <= _SAME * found.distances[:, min(1, k - 1)]
    state.Y[same] = Y[found.indices[same, 0]]
    if same.all():
        return state.Y
    P = sp.csr_array((weights.ravel(), found.indices.ravel(), np.arange(0, m * k + 1, k)), shape=(m, len(Y)))
    attraction = Attraction(P, similarity, n_jobs)
    repelled = still_repulsion(repulsion, similarity, Y, n_jobs)
    tiny = float(np.finfo(np.float32).tiny)
    for _ in range(STEPS):
        push, rows = repelled(state.Y)
        pull = attraction(state.Y, Y)
        weights = 2 / np.maximum(rows, tiny)
        move(state, pull, push.astype(Y.dtype), 2.0, weights, RATE, MOMENTUM, ~same, n_jobs)
    return state.Y


def weighted_median(indices: np.ndarray, weights: np.ndarray, Y: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
    """For each row the place that has half of the weight of its neighbours on either side, coordinate by coordinate."""
    out = np.empty((len(indices), Y.shape[1]), Y.dtype)

    def fill(run: slice, _: int) -> None:
        for axis in range(Y.shape[1]):
            places = Y[indices[run], axis]
            order = np.argsort(places, axis=1, kind="stable")
            sums = np.cumsum(np.take_along_axis(weights[run], order, axis=1), axis=1, dtype=np.float64)
            middle = np.argmax(sums >= 0.5 * sums[:, -1:], axis=1)
            chosen = np.take_along_axis(order, middle[:, None], axis=1)
            out[run, axis] = np.take_along_axis(places, chosen, axis=1)[:, 0]

    for_each(runs(len(indices)), fill, n_jobs)
    return out
