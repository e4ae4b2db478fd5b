"""KL(P ‖ Q): how much of the neighbour probabilities of the data a map loses, t-SNE's own measure, for any map.

    KL = Σᵢⱼ pᵢⱼ log pᵢⱼ − Σᵢⱼ pᵢⱼ log wᵢⱼ + log Z,   wᵢⱼ = 1/(1 + s²d²ᵢⱼ),   Z = Σ_{k≠l} wₖₗ

with pᵢⱼ = (p_{j|i} + p_{i|j})/2n of a perplexity. Both sums over neighbours are means over rows, for a symmetric sum of
pᵢⱼ f is one of p_{j|i} f:

    −Σ pᵢⱼ log wᵢⱼ = meanᵢ Σⱼ p_{j|i} log(1 + s²d²ᵢⱼ)
     Σ pᵢⱼ log pᵢⱼ = meanᵢ Σⱼ p_{j|i} [log p_{j|i} + log(1 + p_{i|j}/p_{j|i})] − log 2n

So a sample of rows is enough. Σⱼ p_{j|i} log p_{j|i} equals −log perplexity, and the last logarithm is evaluated at one
j drawn with probability p_{j|i}. Only the sampled rows and these j need their neighbours. Z is a sum over all pairs of
the map, computed on a grid.

The divergence depends on the scale s of the map, and only t-SNE chooses that scale: PCA's coordinates have the unit of
the data. Maps are therefore compared at their best scale, which a search along s finds.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from mercer.embedding.affinities import affinities_of, beside_tensor
from mercer.embedding.loss import Attraction
from mercer.embedding.similarity import Student
from mercer.embedding.weighting import Perplexity
from mercer.graph.host_answers import HostAnswers
from mercer.quality.inputs import ExactIndex, checked_map, data_index, refuse_other_length
from mercer.quality.partition import Partition
from mercer.quality.sampling import Mean, SamplingPlan, mean_of
from mercer.quality.scale import best_scale
from mercer.quality.score import Score
from mercer.random_state import generator_from

MEANING = "what the map loses of the data's neighbour probabilities, in nats, at its best scale"
MOST_COLUMNS = 3  # of a map: sums over all pairs are those of its repulsion, whose grids have up to three axes
AUTO_ROWS = 2000  # rows that sample="auto" looks at in large data: a standard error of a few hundredths of a nat


def kl_divergence(
    X: Any,
    Y: Any,
    *,
    perplexity: float = 30.0,
    scale: float | str = "best",
    metric: Any = "euclidean",
    sample: int | str | None = "auto",
    random_state: Any = None,
) -> Score:
    """KL(P ‖ Q) between neighbour probabilities of the data and Student similarities of the map.

    KL = Σ pᵢⱼ log (pᵢⱼ/qᵢⱼ), qᵢⱼ ∝ 1/(1 + s²d²ᵢⱼ): t-SNE's loss. It can judge a map by any method.

    Parameters
    ----------
    X, metric, random_state : as for `trustworthiness`
    Y : (n, c), the map, 1 ≤ c ≤ 3
    perplexity : the perplexity of P, less than n; P covers the 3 · perplexity nearest rows
    scale : s, by which the map is multiplied: "best", the one with the least divergence, or a number; 1 takes the map
        as it is. `note` tells which scale was used.
    sample : None for all rows, a number of rows, or "auto": all up to 5,000, else 2,000. The score has no natural
        precision: look at `error`.

    Cost: a search for the neighbours of the rows used (of one more row for each row of a sample), and about twenty sums
    of O(n) for Z.

    References
    ----------
    van der Maaten & Hinton (2008), Visualizing data using t-SNE.

    >>> X = np.random.default_rng(0).normal(size=(80, 2))
    >>> kl_divergence(X, X, perplexity=10).value < kl_divergence(X, X[::-1], perplexity=10).value
    True
    """
    plan, Y = SamplingPlan.checked(sample, 1.0), checked_map(Y)
    if Y.shape[1] > MOST_COLUMNS:
        raise ValueError(
            f"The map has {Y.shape[1]} columns, but the divergence is defined for maps with 1 to {MOST_COLUMNS}. "
            "Give the first columns."
        )
    data = data_index(X, metric)
    refuse_other_length(data.n, len(Y))
    if not (scale == "best" if isinstance(scale, str) else isinstance(scale, Real) and 0 < float(scale) < np.inf):
        raise ValueError(f"scale={scale!r} must be 'best' or a number > 0.")
    law = Perplexity((checked_perplexity(perplexity),))
    law.check(data.n)
    return divergence(data, Y, law, scale, plan, random_state)


def checked_perplexity(perplexity: Any) -> float:
    if not isinstance(perplexity, Real) or isinstance(perplexity, bool) or not 0 < float(perplexity) < np.inf:
        raise ValueError(f"perplexity={perplexity!r} must be a positive number, such as 30: it counts neighbours.")
    return float(perplexity)


def divergence(
    data: ExactIndex, Y: np.ndarray, law: Perplexity, scale: Any, plan: SamplingPlan, random_state: Any
) -> Score:
    """The score, given an index of the data and a map that were already checked."""
    n, rng = data.n, generator_from(random_state)
    points, unit = _in_units(Y)
    if plan.is_exact(n):
        terms: _All | _Some = _All(data, law, points)
    else:
        rows = rng.permutation(n)[: AUTO_ROWS if plan.sample == "auto" else int(plan.sample or n)]
        terms = _Some(data, law, points, rows, rng)
    Z = Partition(beside_tensor(points, data.X) if isinstance(data, HostAnswers) else points, rng)
    if scale == "best":
        s = best_scale(
            lambda s: terms.attraction(s) + Z.roughly(s), lambda s: terms.attraction(s) + Z(s), terms.spacing
        )
    else:
        s = float(scale) * unit
    found = terms.mean(s)
    value = max(0.0, found.value + Z(s))
    error = float(np.hypot(found.error, Z.error))
    note = f"map × {s / unit:.3g}" if scale == "best" else ""
    return Score("kl_divergence", value, error, found.count, 0.0, MEANING, note=note)


def _in_units(Y: np.ndarray) -> tuple[np.ndarray, float]:
    """The map about its middle with a largest coordinate of about one, float64, and what it was divided by."""
    Y = np.asarray(Y, np.float64)
    unit = float(np.abs(Y).max(initial=0.0)) or 1.0
    Y = Y / unit
    Y = Y - np.median(Y, axis=0)
    spread = float(np.abs(Y).max(initial=0.0)) or 1.0
    return np.ascontiguousarray(Y / spread), unit * spread


class _All:
    """The sums over neighbours from P itself."""

    def __init__(self, data: ExactIndex, law: Perplexity, points: np.ndarray) -> None:
        found = affinities_of(data, law)
        self.points, self.n = points, data.n
        self._total = float(found.P.data.sum(dtype=np.float64))
        self._entropy = found.entropy
        self._attraction = Attraction(found.P, Student())
        self.spacing = _spacing(found.P, points)

    def attraction(self, s: float) -> float:
        """−Σ pᵢⱼ log wᵢⱼ at the scale s."""
        return -float(self._attraction.log_similarity(self.points * s).sum()) / self._total

    def mean(self, s: float) -> Mean:
        entropy = self._entropy / self._total - np.log(self._total)  # P was rounded to float32
        return Mean(float(entropy) + self.attraction(s), 0.0, self.n)


def _spacing(P: Any, points: np.ndarray) -> float:
    """A typical distance in the map between neighbours in the data."""
    step = max(1, P.nnz // 20_000)  # this many pairs give a median to one percent of its spread
    rows = np.repeat(np.arange(P.shape[0]), np.diff(P.indptr))[::step]
    columns = P.indices[::step]
    return _typical(np.linalg.norm(points[rows] - points[columns], axis=1))


def _typical(distances: np.ndarray) -> float:
    positive = distances[distances > 0]
    return float(np.median(positive)) if len(positive) else 1.0


class _Some:
    """The sums over neighbours from the rows of a sample."""

    def __init__(
        self, data: ExactIndex, law: Perplexity, points: np.ndarray, rows: np.ndarray, rng: np.random.Generator
    ) -> None:
        self.n = data.n
        k = law.neighbors(self.n - 1)
        near, distances = data.nearest_of(rows, k)
        self.weights = _weights(law, distances)
        self.squares = np.square(points[rows][:, None, :] - points[near]).sum(axis=2)
        self.spacing = _typical(np.sqrt(self.squares))
        self.entropy = self._entropies(data, law, rows, near, rng)

    def _entropies(
        self, data: ExactIndex, law: Perplexity, rows: np.ndarray, near: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        """Of each row, Σⱼ p_{j|i} log p_{j|i} and log(1 + p_{i|j}/p_{j|i}) at one random j, less log 2n."""
        p = self.weights
        cumulative = np.cumsum(p, axis=1)
        drawn = np.minimum((rng.random((len(rows), 1)) * cumulative[:, -1:] > cumulative).sum(axis=1), p.shape[1] - 1)
        at = np.arange(len(rows))
        partners = near[at, drawn]
        back, distances = data.nearest_of(partners, p.shape[1])
        returned = np.where(back == rows[:, None], _weights(law, distances), 0.0).sum(axis=1)
        plain = np.where(p > 0, p * np.log(np.where(p > 0, p, 1.0)), 0.0).sum(axis=1)
        return plain + np.log1p(returned / p[at, drawn]) - np.log(2 * self.n)

    def _logs(self, s: float) -> np.ndarray:
        return (self.weights * np.log1p(s * s * self.squares)).sum(axis=1)

    def attraction(self, s: float) -> float:
        return float(self._logs(s).mean())

    def mean(self, s: float) -> Mean:
        return mean_of(self.entropy + self._logs(s), self.n)


def _weights(law: Perplexity, distances: np.ndarray) -> np.ndarray:
    P = law.weights(np.ascontiguousarray(distances)).P.astype(np.float64)
    return P / P.sum(axis=1, keepdims=True)
