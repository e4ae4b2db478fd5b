"""How the distances of a row to its nearest neighbours become weights that sum to one: p_{j|i}.

    Perplexity(30)     Gaussian weights; σᵢ is calibrated so that row i has 30 effective neighbours
    FixedWidth(sigma)  Gaussian weights with one σ for all rows
    Uniform(30)        the same weight for each of the 30 nearest neighbours

A weighting is a value. Subclass `Weighting` for another one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from importlib import import_module
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from mercer.backends import is_torch, namespace, slices
from mercer.backends.cpu import for_each
from mercer.models.fields import SavedRecord, anything, finite, optional, whole


class Weights(NamedTuple):
    """The weights of the neighbours of m rows.

    P : (m, k) float32, p_{j|i}; each row sums to one
    widths : (m, s), σ, with one column per perplexity. Both are tensors if the distances are
    """

    P: Any
    widths: Any


class Weighting(ABC):
    """How the distances to the nearest neighbours become weights p_{j|i} (abstract: subclass it for another rule).

    The weights of a row sum to one. The affinities are pᵢⱼ = (p_{j|i} + p_{i|j}) / 2n.

    >>> from mercer.embedding import Perplexity, Uniform
    >>> isinstance(Uniform(15), Weighting), issubclass(Perplexity, Weighting)
    (True, True)
    """

    @abstractmethod
    def neighbors(self, n: int) -> int:
        """The number of neighbours of each row that the rule uses, among n rows."""

    @abstractmethod
    def check(self, n: int) -> None:
        """Raise ValueError if the rule needs more than n samples."""

    @abstractmethod
    def weights(self, D: Any, n_jobs: int | None = None) -> Weights:
        """The weights of the k neighbours of m rows at distances D, (m, k)."""


@dataclass(frozen=True)
class Perplexity(Weighting):
    """Gaussian weights, with σᵢ calibrated so that the entropy of p_{·|i} is log(perplexity), to 1e-5.

        p_{j|i} = exp(−d²ᵢⱼ / 2σᵢ²) / Σₗ exp(−d²ᵢₗ / 2σᵢ²),   −Σⱼ p_{j|i} log p_{j|i} = log(perplexity)

    The sums run over the 3 · perplexity + 1 nearest neighbours. Cost: five or six steps of Newton's method per row.

    For several perplexities the weights are averaged. A large one beside a small one also keeps distant neighbours:
    (30, 500) shows clusters and how they lie relative to each other.

    >>> weighting = Perplexity((5.0,))
    >>> weights = weighting.weights(np.sqrt(np.arange(1.0, 16.0))[None, :])
    >>> p = weights.P[0].astype(float)
    >>> round(float(np.exp(-np.sum(p * np.log(p)))), 4)
    5.0
    """

    _saved = SavedRecord("law.Perplexity", {"values": anything})

    values: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.values or not all(np.isfinite(value) and value > 0 for value in self.values):
            raise ValueError(f"perplexity = {self.values} must be one or more positive, finite numbers.")

    def neighbors(self, n: int) -> int:
        return max(1, min(n, int(3 * max(self.values) + 1)))

    def check(self, n: int) -> None:
        for value in self.values:
            if value >= n:
                shown = int(value) if value == int(value) else value
                raise ValueError(
                    f"perplexity ({shown}) must be less than n_samples ({n}), because it counts neighbours. Lower it."
                )

    def weights(self, D: Any, n_jobs: int | None = None) -> Weights:
        if is_torch(D):
            P, share = D.new_zeros(D.shape).float(), 1 / len(self.values)
            found = [_on_tensors().calibrated(D, np.log(value), share, P) for value in self.values]
            return Weights(P, namespace(D).stack(found, axis=1))
        P, widths = np.zeros(D.shape, np.float32), np.empty((len(self.values), len(D)))
        share = 1 / len(self.values)
        for value, row in zip(self.values, widths, strict=True):

            def fill(run: slice, _: int, value: float = value, row: np.ndarray = row) -> None:
                _compiled().calibrate(D, np.log(value), share, P, row, run.start, run.stop)

            for_each(slices(len(D)), fill, n_jobs)
        return Weights(P, widths.T)


@dataclass(frozen=True)
class FixedWidth(Weighting):
    """Gaussian weights with one σ for all rows, over the n_neighbors nearest (None: over all rows, n² numbers).

        p_{j|i} = exp(−d²ᵢⱼ / 2σ²) / Σₗ exp(−d²ᵢₗ / 2σ²)

    Cost: one exponential per neighbour of every row, and no search for widths.

    >>> from mercer.embedding import Affinities
    >>> rows = np.random.default_rng(0).standard_normal((40, 3))
    >>> Affinities.of(rows, FixedWidth(sigma=1.0)).P.shape
    (40, 40)
    """

    _saved = SavedRecord("law.FixedWidth", {"sigma": finite, "n_neighbors": optional(whole(1))})

    sigma: float
    n_neighbors: int | None = 90

    def __post_init__(self) -> None:
        if not (np.isfinite(self.sigma) and self.sigma > 0):
            raise ValueError(f"sigma = {self.sigma} must be a positive, finite distance.")
        _refuse_no_neighbors(self.n_neighbors)

    def neighbors(self, n: int) -> int:
        return n if self.n_neighbors is None else min(n, self.n_neighbors)

    def check(self, n: int) -> None:
        return None

    def weights(self, D: Any, n_jobs: int | None = None) -> Weights:
        if is_torch(D):
            widths = D.new_full((len(D), 1), float(self.sigma)).double()
            return Weights(_on_tensors().fixed_width_weights(D, self.sigma), widths)
        P = np.empty(D.shape, np.float32)

        def fill(run: slice, _: int) -> None:
            scaled = D[run] / self.sigma  # divided before it is squared, so that large distances do not overflow
            least = scaled.min(axis=1, keepdims=True)
            with np.errstate(over="ignore", under="ignore"):
                powers = np.exp(-0.5 * (scaled - least) * (scaled + least))
            P[run] = powers / powers.sum(axis=1, keepdims=True)

        for_each(slices(len(D)), fill, n_jobs)
        return Weights(P, np.full((len(D), 1), float(self.sigma)))


@dataclass(frozen=True)
class Uniform(Weighting):
    """The same weight for each of the n_neighbors nearest: p_{j|i} = 1/n_neighbors.

    The map hardly differs from that of calibrated weights, and no width has to be found. Cost: nothing beyond the
    search for neighbours.

    >>> from mercer.embedding import Affinities
    >>> rows = np.random.default_rng(0).standard_normal((40, 3))
    >>> Affinities.of(rows, Uniform(5)).P.shape
    (40, 40)
    """

    _saved = SavedRecord("law.Uniform", {"n_neighbors": whole(1)})

    n_neighbors: int = 30

    def __post_init__(self) -> None:
        _refuse_no_neighbors(self.n_neighbors)

    def neighbors(self, n: int) -> int:
        return min(n, self.n_neighbors)

    def check(self, n: int) -> None:
        if self.n_neighbors >= n:
            raise ValueError(f"n_neighbors ({self.n_neighbors}) must be less than n_samples ({n}). Lower it.")

    def weights(self, D: Any, n_jobs: int | None = None) -> Weights:
        if is_torch(D):
            return Weights(D.new_full(D.shape, 1 / D.shape[1]).float(), D.amax(dim=1).double()[:, None])
        return Weights(np.full(D.shape, 1 / D.shape[1], np.float32), np.asarray(D.max(axis=1), np.float64)[:, None])


def weighting_of(value: Any) -> Weighting:
    """A weighting as it is; one or several numbers as the perplexities that they are.

    >>> weighting_of(30), weighting_of([30, 500])
    (Perplexity(values=(30.0,)), Perplexity(values=(30, 500)))
    """
    if isinstance(value, Weighting):
        return value
    if isinstance(value, Real):
        return Perplexity((float(value),))
    values = np.asarray(value)
    if values.ndim != 1 or values.dtype.kind not in "iuf":
        raise ValueError(f"perplexity = {value!r} must be a number or a list of numbers.")
    return Perplexity(tuple(values.tolist()))


def _refuse_no_neighbors(count: int | None) -> None:
    if count is not None and count < 1:
        raise ValueError(f"n_neighbors = {count} must be at least 1.")


def _compiled() -> Any:
    return import_module("mercer.backends.compiled_affinities")


def _on_tensors() -> Any:
    return import_module("mercer.backends.torch_maps")
