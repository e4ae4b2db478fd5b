"""The way back by distances: from those in feature space to those in input space, and from these to a point."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.backends import backend_of
from mercer.kernels.kernel import Kernel
from mercer.kernels.vector import VectorKernel
from mercer.models.fields import THREADS, Mismatch, SavedEstimator, SavedRecord, finite, floats, instance_of, whole
from mercer.preimage.base import (
    Fitted,
    Method,
    PreImage,
    Request,
    refuse_unprofiled,
    refuse_without_profile,
    refuse_without_rows,
    runs_of,
)
from mercer.preimage.frame import Frame, InverseProfile, inverse_profile
from mercer.preimage.neighbors import FeatureNeighbors

_FLAT = 1e-4  # of the widest square: in directions that the neighbours span less than this, distances say nothing
_EPS = float(np.finfo(np.float64).eps)


class LocalMDS(Method):
    """The x at the right distances from the neighbours of P(z), by Kwok and Tsang's local scaling.

    The inner products ⟨P, φ(xⱼ)⟩ with the nearest training samples are turned into distances dⱼ by the kernel's profile
    (for a Gaussian d² = −log⟨P, φ(xⱼ)⟩/γ, P brought to length 1 first). With G the Gram matrix of the q neighbours
    about their mean x̄, and gⱼ = Gⱼⱼ the squared distances from it,

        x = x̄ + Σⱼ βⱼ (xⱼ − x̄),    β = ½ G⁺ (g − d²),

    is the point of their span whose squared distances fit best.

    Parameters
    ----------
    n_neighbors : int
        q. Few keep the answer near the data; with more than d it is free to move everywhere.

    For kernels of ‖x − y‖, and of ⟨x, y⟩ where the profile is monotone over the data: an even power is only for data
    without negative entries. Cost a row: 2 n k flops for the neighbours, q²d + q³ for the point. Nothing is solved in
    advance but one pass over the training samples. (Kwok & Tsang 2004.)

    >>> LocalMDS(n_neighbors=20)
    LocalMDS(n_neighbors=20)
    """

    _saved = SavedEstimator("method.LocalMDS", root=False)

    def __init__(self, n_neighbors: int = 10) -> None:
        self.n_neighbors = n_neighbors

    def check(self, kernel: Kernel, X: Any, request: Request) -> None:
        refuse_without_rows(kernel)
        refuse_without_profile("mds", kernel, X)
        if not isinstance(self.n_neighbors, Integral) or self.n_neighbors < 2:
            raise ValueError(f"n_neighbors={self.n_neighbors!r} must be a whole number ≥ 2.")
        assert isinstance(kernel, VectorKernel)
        if not inverse_profile(kernel, kernel.points(X, np.float64)).is_monotone():
            raise TypeError(
                f"inverse_method='mds' must turn {kernel!r} round, and on this data two inner products can give the "
                "same value. Take an odd degree, data without negative entries, or another inverse_method."
            )

    def fit(self, fitted: Fitted, request: Request) -> LocalMDSMap:
        frame = Frame.of(fitted)
        neighbors = FeatureNeighbors.of(fitted, request.n_jobs)
        q = min(self.n_neighbors, fitted.X.shape[0])
        own = frame.kernel.points(fitted.X, np.float64)
        lengths = np.asarray(own.norms if frame.kernel.reads == "dot" else np.zeros(len(own)))
        inverse = inverse_profile(frame.kernel, own)
        floor = float(np.finfo(fitted.Z.dtype).eps) * _squared_spread(fitted.X)
        return LocalMDSMap(fitted, neighbors, inverse, lengths, floor, q, request.n_jobs)


@dataclass(frozen=True)
class LocalMDSMap(PreImage):
    """The neighbours and the profile turned round, ready for scores."""

    _saved = SavedRecord(
        "preimage.LocalMDSMap",
        {
            "fitted": instance_of("Fitted", n="n", d="d", k="k"),
            "neighbors": instance_of("FeatureNeighbors", n="n", k="k"),
            "inverse": instance_of("InverseProfile"),
            "lengths": floats("n"),
            "floor": finite,
            "q": whole(1),
            "n_jobs": THREADS,
        },
        also=lambda parts: _refuse_unusable(parts),
    )

    fitted: Fitted
    neighbors: FeatureNeighbors
    inverse: InverseProfile
    lengths: np.ndarray  # (n,), ‖xⱼ‖² in the kernel's frame; zero where the kernel has no use for it
    floor: float  # of squared distances in input space: below it the scores' rounding is all there is
    q: int
    n_jobs: int | None

    def __call__(self, Z: np.ndarray) -> np.ndarray:
        wide = np.asarray(Z, np.float64)
        places, squares = self.neighbors(wide, self.q)
        distances = self.input_distances(wide, places, squares)
        X, d = self.fitted.X, self.fitted.X.shape[1]
        out = np.empty((len(wide), d), self.fitted.Z.dtype)

        def work(run: slice, slot: int) -> None:
            rows = X[places[run].reshape(-1)]
            rows = np.asarray(rows.toarray() if sp.issparse(rows) else rows, np.float64)
            out[run] = _located(rows.reshape(-1, self.q, d), distances[run], self.floor)

        backend_of(out).for_each(runs_of(len(wide), self.q * d), work, self.n_jobs)
        return out

    def input_distances(self, Z: np.ndarray, places: np.ndarray, squares: np.ndarray) -> np.ndarray:
        """‖x − xⱼ‖² from ‖P − φ(xⱼ)‖², (m, q)."""
        kernel = self.inverse.kernel
        own = kernel.profile(self.lengths[places], np)
        norms = self.fitted.squared_norms(Z)[:, None]
        products = 0.5 * (norms + own - squares)  # ⟨P, φ(xⱼ)⟩
        if kernel.reads == "dot":
            square = self.inverse(norms) - 2 * self.inverse(products) + self.lengths[places]
            return np.maximum(square, 0.0)
        tiny = np.finfo(np.float64).tiny
        scaled = products * np.sqrt(own / np.maximum(norms, tiny))  # P brought to the length that every φ(x) has
        t = self.inverse(scaled)
        return t if kernel.reads == "sqeuclidean" else t**2


def _squared_spread(X: Any) -> float:
    """The mean of ‖x − x̄‖² over the rows."""
    mean = np.asarray(X.mean(axis=0), np.float64).reshape(-1)
    if sp.issparse(X):
        return max(float(X.multiply(X).sum() / X.shape[0] - mean @ mean), 0.0)
    return float(np.mean(np.einsum("ij,ij->i", X - mean, X - mean)))


def _located(rows: np.ndarray, squares: np.ndarray, floor: float = 0.0) -> np.ndarray:
    """x̄ + ½ Σⱼ (G⁺(g − d²))ⱼ (xⱼ − x̄) for each batch of neighbours, rows (b, q, d) and d² (b, q).

    Neighbours that are all copies of one row give x̄: what they differ by is then the rounding of their mean.
    """
    mean = rows.mean(axis=1, keepdims=True)
    rows = rows - mean
    G = rows @ rows.transpose(0, 2, 1)
    values, V = np.linalg.eigh(G)
    wanted = np.einsum("ijj->ij", G) - squares
    rounding = (rows.shape[1] * _EPS) ** 2 * np.einsum("ijk,ijk->i", mean, mean)
    alive = values > np.maximum(_FLAT * values[:, -1], floor + rounding)[:, None]
    inverse = np.where(alive, 0.5 / np.where(alive, values, 1.0), 0.0)
    beta = V @ (inverse * (V.transpose(0, 2, 1) @ wanted[:, :, None])[:, :, 0])[:, :, None]
    return mean[:, 0] + (beta.transpose(0, 2, 1) @ rows)[:, 0]


def _refuse_unusable(parts: Any) -> None:
    refuse_unprofiled(parts.fitted.kernel, parts.fitted.expansion.kernel, parts.inverse.kernel)
    if parts.q > len(parts.fitted.Z):
        raise Mismatch(f"{parts.q} neighbours are needed, and there are {len(parts.fitted.Z)} rows")
