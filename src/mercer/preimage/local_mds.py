"""Pre-images by distances: distances in feature space give distances in input space, and those locate a point."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.backends import backend_of, is_foreign, namespace, to_numpy
from mercer.kernels.kernel import Kernel, Points
from mercer.kernels.kernel_fields import bound_kernel
from mercer.kernels.vector import VectorKernel
from mercer.models.fields import THREADS, Mismatch, SavedEstimator, SavedRecord, finite, floats, instance_of, whole
from mercer.preimage.anchor_frame import AnchorFrame
from mercer.preimage.inverse_method import (
    InverseRequest,
    Method,
    PreImage,
    refuse_unprofiled,
    refuse_without_profile,
    refuse_without_rows,
)
from mercer.preimage.target import FeatureNeighbors, FittedComponents, precision_of, runs_of

# A direction whose eigenvalue is below this share of the largest eigenvalue of G is left out: the neighbours hardly
# spread along it, so dividing by the eigenvalue would amplify the errors of the distances.
_FLAT = 1e-4
_HALVINGS = 60  # more than the 53 bits of a float64, so that bisection ends at neighbouring numbers
_GRID = 1025  # points at which a profile is checked to be monotone; 1024 steps miss no turn of a smooth profile
_EPS = float(np.finfo(np.float64).eps)


class LocalMDS(Method):
    """The x at the right distances from the neighbours of P(z), by Kwok and Tsang's local scaling.

    The kernel's profile turns the inner products ⟨P, φ(xⱼ)⟩ with the nearest training samples into distances dⱼ (for a
    Gaussian d² = −log⟨P, φ(xⱼ)⟩/γ, after P is scaled to length 1). With G the Gram matrix of the q neighbours about
    their mean x̄, and gⱼ = Gⱼⱼ the squared distances from it,

        x = x̄ + Σⱼ βⱼ (xⱼ − x̄),    β = ½ G⁺ (g − d²),

    is the point in their span whose squared distances fit best.

    Parameters
    ----------
    n_neighbors : int
        The number q of neighbours. Few neighbours keep the answer near the data; more than d of them let it move in
        every direction.

    The method accepts kernels of ‖x − y‖, and kernels of ⟨x, y⟩ whose profile is monotone over the data: an even power
    needs data without negative entries. Cost per row: 2 n k flops for the neighbours, q²d + q³ for the point. The fit
    takes one pass over the training samples. (Kwok & Tsang 2004.)

    >>> LocalMDS(n_neighbors=20)
    LocalMDS(n_neighbors=20)
    """

    _saved = SavedEstimator("method.LocalMDS", root=False)

    def __init__(self, n_neighbors: int = 10) -> None:
        self.n_neighbors = n_neighbors

    def check(self, kernel: Kernel, X: Any, request: InverseRequest) -> None:
        refuse_without_rows(kernel)
        refuse_without_profile("mds", kernel, X)
        if not isinstance(self.n_neighbors, Integral) or self.n_neighbors < 2:
            raise ValueError(f"n_neighbors={self.n_neighbors!r} must be a whole number ≥ 2.")
        assert isinstance(kernel, VectorKernel)
        if not inverse_profile(kernel, kernel.points(X, namespace(X).float64)).is_monotone():
            raise TypeError(
                f"inverse_method='mds' must invert the profile of {kernel!r}, but on this data two different inner "
                "products can give the same kernel value. Use an odd degree, data without negative entries, or another "
                "inverse_method."
            )

    def fit(self, fitted: FittedComponents, request: InverseRequest) -> LocalMDSMap:
        frame = AnchorFrame.of(fitted)
        neighbors = FeatureNeighbors.of(fitted, request.n_jobs)
        q = min(self.n_neighbors, fitted.X.shape[0])
        own = frame.kernel.points(fitted.X, namespace(fitted.X).float64)
        lengths = to_numpy(own.norms if frame.kernel.reads == "dot" else np.zeros(len(own)))
        inverse = inverse_profile(frame.kernel, own)
        floor = float(np.finfo(precision_of(fitted.Z)).eps) * _squared_spread(fitted.X)
        return LocalMDSMap(fitted, neighbors, inverse, lengths, floor, q, request.n_jobs)


@dataclass(frozen=True)
class LocalMDSMap(PreImage):
    """A map from scores to pre-images: the neighbours, and the inverse of the profile."""

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

    fitted: FittedComponents
    neighbors: FeatureNeighbors
    inverse: InverseProfile
    lengths: np.ndarray  # (n,), ‖xⱼ‖² in the kernel's frame; zero for kernels that do not need it
    floor: float  # a squared distance in input space; anything smaller is rounding of the scores
    q: int
    n_jobs: int | None

    def __call__(self, Z: Any, *, tile_entries: int | None = None) -> Any:
        """The neighbours are found where the samples live; the points between few of them, on the host."""
        wide, tile_entries = to_numpy(Z).astype(np.float64, copy=False), tile_entries or self.fitted.tile_entries
        places, squares = self.neighbors(wide, self.q, tile_entries=tile_entries)
        distances = self.input_distances(wide, places, squares)
        X, d = self.fitted.X, self.fitted.X.shape[1]
        out = np.empty((len(wide), d), precision_of(self.fitted.Z))

        def work(run: slice, slot: int) -> None:
            rows = X[places[run].reshape(-1)]
            rows = to_numpy(rows.toarray() if sp.issparse(rows) else rows).astype(np.float64, copy=False)
            out[run] = point_at_distances(rows.reshape(-1, self.q, d), distances[run], self.floor)

        backend_of(out).for_each(runs_of(len(wide), self.q * d, tile_entries), work, self.n_jobs)
        return self.fitted.like_rows(out)

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
        scaled = products * np.sqrt(own / np.maximum(norms, tiny))  # P scaled to the length that every φ(x) has
        t = self.inverse(scaled)
        return t if kernel.reads == "sqeuclidean" else t**2


def _squared_spread(X: Any) -> float:
    """The mean of ‖x − x̄‖² over the rows."""
    if is_foreign(X):
        return float(((X - X.mean(axis=0)) ** 2).sum(axis=1).mean())
    mean = np.asarray(X.mean(axis=0), np.float64).reshape(-1)
    if sp.issparse(X):
        return max(float(X.multiply(X).sum() / X.shape[0] - mean @ mean), 0.0)
    return float(np.mean(np.einsum("ij,ij->i", X - mean, X - mean)))


def point_at_distances(rows: np.ndarray, squares: np.ndarray, floor: float = 0.0) -> np.ndarray:
    """x̄ + ½ Σⱼ (G⁺(g − d²))ⱼ (xⱼ − x̄) for each batch of neighbours, rows (b, q, d) and d² (b, q).

    If all neighbours are copies of one row, the answer is x̄: they differ from it only by the rounding of their mean.
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


@dataclass(frozen=True)
class InverseProfile:
    """The t in [low, high] with profile(t) = v; a v that the profile does not reach gives the nearer end.

    Bisection finds it for any monotone profile, in 60 evaluations.
    """

    _saved = SavedRecord("InverseProfile", {"kernel": bound_kernel, "low": finite, "high": finite})

    kernel: VectorKernel
    low: float
    high: float

    def __call__(self, values: np.ndarray) -> np.ndarray:
        rising = self._at(self.high) >= self._at(self.low)
        low, high = np.full_like(values, self.low), np.full_like(values, self.high)
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            beyond = (self.kernel.profile(middle, np) > values) == rising
            low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
        return 0.5 * (low + high)

    def _at(self, t: float) -> float:
        return float(self.kernel.profile(np.array([t]), np)[0])

    def is_monotone(self) -> bool:
        """Whether the profile only rises, or only falls, between the ends."""
        with np.errstate(invalid="ignore"):
            steps = np.diff(self.kernel.profile(np.linspace(self.low, self.high, _GRID), np))
        return bool(np.all(steps >= 0) or np.all(steps <= 0))


def inverse_profile(kernel: VectorKernel, points: Points) -> InverseProfile:
    """The inverse profile over all distances or inner products that rows no longer than these can have."""
    largest = float(points.norms.max())
    if kernel.reads == "dot":
        entries = points.rows.data if sp.issparse(points.rows) else points.rows
        return InverseProfile(kernel, 0.0 if bool((entries >= 0).all()) else -largest, largest)
    return InverseProfile(kernel, 0.0, 4 * largest if kernel.reads == "sqeuclidean" else 2 * largest**0.5)


def _refuse_unusable(parts: Any) -> None:
    refuse_unprofiled(parts.fitted.kernel, parts.fitted.expansion.kernel, parts.inverse.kernel)
    if parts.q > len(parts.fitted.Z):
        raise Mismatch(f"it needs {parts.q} neighbours, but there are only {len(parts.fitted.Z)} rows")
