"""Affinities: a probability pᵢⱼ for each pair of rows, sparse and symmetric. A neighbour embedding sees nothing else.

    p_{j|i} = exp(−d²ᵢⱼ / 2σᵢ²) / Σₗ exp(−d²ᵢₗ / 2σᵢ²)   over the nearest neighbours of i
    pᵢⱼ = (p_{j|i} + p_{i|j}) / 2n

The Gaussian is the default; `mercer.embedding.weighting` has other rules for p_{j|i}.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.backends import backend_of, is_torch, namespace, slices, to_numpy
from mercer.backends.cpu import for_each, workers
from mercer.embedding.weighting import Perplexity, Weighting, weighting_of
from mercer.exceptions import MemoryLimitError
from mercer.footprints import neighbor_affinities
from mercer.graph.nearest_neighbors import build_index
from mercer.memory import available_bytes, format_bytes
from mercer.models.fields import THREADS, Mismatch, SavedRecord, floats, instance_of, optional, sparse, under

# Up to this n²d "auto" compares all pairs. Beyond it approximate neighbours will do: a map survives the loss of one
# neighbour in fifty.
COMPARED = 1e11
SEARCHES = ("auto", "exact", "approximate", "kd_tree", "ball_tree", "brute")
FREE_SHARE = 0.8  # the share of free memory that P and its ingredients may use; the descent needs the rest


@dataclass(frozen=True)
class Affinities:
    """The joint probabilities of the fitted rows, and what is needed to find those of new rows.

    P : csr_array (n, n), or CSR tensor, float32 with sorted int32 indices, symmetric, summing to one
    entropy : Σ pᵢⱼ log pᵢⱼ, in float64: the part of the KL divergence that does not depend on the map
    widths : (n, s), σᵢ; None if the user gave P
    weighting, index : the rule and the index that P was computed with; None if the user gave P
    recall : the share of the true neighbours that were found, as the search measured it

    >>> rows = np.random.default_rng(0).standard_normal((40, 3))
    >>> affinities = Affinities.of(rows, perplexity=5)
    >>> affinities.P.shape, round(float(affinities.P.sum()), 6)
    ((40, 40), 1.0)
    """

    _saved = SavedRecord(
        "Affinities",
        {
            "P": sparse("n", "n"),
            "widths": optional(floats("n", "s", infinite=True)),
            "weighting": under("law", optional(instance_of("law"))),
            "index": optional(instance_of("index", n="n")),
            "n_jobs": THREADS,
        },
        also=lambda parts: _refuse_unusable(parts),
    )

    P: Any
    entropy: float
    widths: Any = None
    weighting: Weighting | None = None
    index: Any = None
    recall: float = 1.0
    n_jobs: int | None = None

    @classmethod
    def of(
        cls,
        X: Any,
        perplexity: Any = 30.0,
        *,
        metric: Any = "euclidean",
        metric_params: dict[str, Any] | None = None,
        neighbors: str = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> Affinities:
        """The affinities of the rows of X, for one map or for several: `TSNE(affinities=Affinities.of(X)).fit(X)`.

        perplexity : a number, a list of numbers, or a `Weighting`
        metric, metric_params, neighbors, n_jobs, random_state : as in `mercer.TSNE`

        >>> rows = np.random.default_rng(0).standard_normal((50, 3))
        >>> round(float(Affinities.of(rows, perplexity=10).P.sum()), 6)
        1.0
        """
        weighting = weighting_of(perplexity)
        weighting.check(X.shape[0] if hasattr(X, "shape") else len(X))
        index = neighbor_search(X, neighbors, metric, metric_params, n_jobs, random_state)
        return affinities_of(index, weighting, n_jobs=n_jobs)

    def reweighted(self, perplexity: Any) -> Affinities:
        """The affinities of the same rows with another perplexity or weighting. The index is searched again."""
        if self.index is None:
            raise ValueError("Other weights need the distances of the rows, but only affinities were given.")
        return affinities_of(self.index, weighting_of(perplexity), n_jobs=self.n_jobs)

    def on_host(self) -> Affinities:
        """The same affinities as NumPy and SciPy arrays."""
        if not is_torch(self.P):
            return self
        index = None if self.index is None else self.index.on_host()
        widths = None if self.widths is None else to_numpy(self.widths)
        return replace(self, P=host_matrix(self.P), widths=widths, index=index)

    def to_new(self, X: Any, perplexity: Any = None) -> tuple[Any, Any]:
        """The neighbours of new rows among the fitted ones, and p_{j|x}, (m, k), each row summing to one.

        perplexity : a number, a list of numbers or a `Weighting`; None is the weighting of the fitted rows
        """
        if self.index is None or self.weighting is None:
            raise ValueError("New rows need distances to the fitted ones, but only affinities were given.")
        weighting = self.weighting if perplexity is None else weighting_of(perplexity)
        weighting.check(self.index.n)
        with np.errstate(over="ignore", invalid="ignore"):  # infinite distances are refused in the next line
            found = self.index.query(X, weighting.neighbors(self.index.n))
        _refuse_bad_distances(found.distances)
        return found, weighting.weights(found.distances, self.n_jobs).P


def neighbor_search(
    X: Any,
    neighbors: str = "auto",
    metric: Any = "euclidean",
    metric_params: dict[str, Any] | None = None,
    n_jobs: int | None = None,
    random_state: Any = None,
    *,
    exact_flops: float = COMPARED,
) -> Any:
    """The rows of X, prepared for the search of neighbours.

    neighbors : "auto" compares all pairs up to n²d = exact_flops, "exact" however many there are; the others are
        methods of `build_index`
    """
    if neighbors not in SEARCHES:
        raise ValueError(f"neighbors={neighbors!r} must be one of {', '.join(map(repr, SEARCHES))}.")
    return build_index(
        X,
        metric=metric,
        metric_params=metric_params,
        method="auto" if neighbors == "exact" else neighbors,
        n_jobs=n_jobs,
        random_state=random_state,
        exact_flops=np.inf if neighbors == "exact" else exact_flops,
    )


def affinities_of(
    index: Any,
    weighting: Weighting,
    *,
    everyone: bool = False,
    n_jobs: int | None = None,
    memory_limit: int | None = None,
) -> Affinities:
    """The affinities of the rows of a neighbour index.

    everyone : whether a perplexity looks at all n − 1 other rows, not at the 3 · perplexity nearest
    memory_limit : bytes that P and its ingredients may take; None is 0.8 of what is free

    Cost: the search for k neighbours, about 6 k n exponentials, and 36 k n bytes while P is made.
    """
    n = index.n
    weighting.check(n)
    everyone &= isinstance(weighting, Perplexity)  # the other weightings fix their number of neighbours themselves
    k = n - 1 if everyone else weighting.neighbors(n - 1)
    free = available_bytes() if not hasattr(index, "X") else backend_of(index.X).free_bytes(index.X)
    _refuse_large(n, k, everyone, int(FREE_SHARE * free) if memory_limit is None else memory_limit)
    with np.errstate(over="ignore", invalid="ignore"):  # infinite distances are refused in the next line
        found = index.neighbors(k)
    _refuse_bad_distances(found.distances)
    indices, recall = found.indices, found.recall
    P, widths = weighting.weights(found.distances, n_jobs)
    del found  # the distances take as much memory as P
    joint = joint_probabilities(indices, P, n_jobs)
    return Affinities(joint, entropy_of(joint), widths, weighting, index, recall, n_jobs)


def given_affinities(P: Any, n_jobs: int | None = None) -> Affinities:
    """Affinities that the user gives, dense or sparse: made symmetric, without the diagonal, and summing to one."""
    if P.shape[0] != P.shape[1]:
        raise ValueError(f"Affinities must be a square matrix (n_samples, n_samples), not {P.shape}.")
    P = sp.coo_array(P, dtype=np.float64)
    if not np.all(np.isfinite(P.data)) or P.data.min(initial=0.0) < 0:
        raise ValueError("Affinities must be finite numbers ≥ 0.")
    keep = P.row != P.col
    P = sp.csr_array((P.data[keep], (P.row[keep], P.col[keep])), shape=P.shape)
    P = sp.csr_array(P + P.T)
    total = P.data.sum()
    if not total > 0:
        raise ValueError("Affinities must be positive for at least one pair of rows, but all of them are zero.")
    P.data /= total
    P = P.astype(np.float32)
    P.eliminate_zeros()
    P.sort_indices()
    return Affinities(P, entropy_of(P), n_jobs=n_jobs)


def joint_probabilities(indices: Any, P: Any, n_jobs: int | None = None) -> Any:
    """(p_{j|i} + p_{i|j}) / 2n from neighbours and weights (n, k), whose rows are sorted in place.

    The transpose is written once and merged with the rows, so there are no triplets and no sort of all entries.
    """
    if is_torch(P):
        return _on_tensors().joint(indices, P)
    indices = np.require(indices, np.int32, ["C", "W"])
    (n, k), compiled = indices.shape, _compiled()
    for_each(slices(n), lambda run, _: compiled.sort_rows(indices, P, run.start, run.stop), n_jobs)
    columns = list(slices(n, -(-n // workers(n_jobs))))
    counts = np.zeros(n, np.int64)
    for_each(columns, lambda run, _: compiled.count_incoming(indices, counts, run.start, run.stop), n_jobs)
    heads = _heads(counts)
    places, rows, values = heads[:-1].copy(), np.empty(n * k, np.int32), np.empty(n * k, np.float32)

    def transpose(run: slice, _: int) -> None:
        compiled.fill_incoming(indices, P, places, rows, values, run.start, run.stop)

    for_each(columns, transpose, n_jobs)
    scale = np.float32(0.5 / n)

    def join(ends: np.ndarray, out: np.ndarray, weights: np.ndarray) -> None:
        def work(run: slice, _: int) -> None:
            compiled.join_rows(indices, P, heads, rows, values, scale, ends, out, weights, run.start, run.stop)

        for_each(slices(n), work, n_jobs)

    lengths = np.empty(n, np.int64)
    join(lengths, np.empty(0, np.int32), np.empty(0, np.float32))
    starts = _heads(lengths)
    out, weights = np.empty(starts[-1], np.int32), np.empty(starts[-1], np.float32)
    join(starts, out, weights)
    pointers = starts.astype(np.int32) if starts[-1] < 2**31 else starts
    return sp.csr_array((weights, out, pointers), shape=(n, n))


def entropy_of(P: Any) -> float:
    """Σ p log p in float64, piece by piece so that no second copy of P is made."""
    if is_torch(P):
        return float(_on_tensors().entropy(P.values()))
    total = 0.0
    for start in range(0, P.nnz, 2**20):
        p = P.data[start : start + 2**20].astype(np.float64)
        p = p[p > 0]
        total += float(np.dot(p, np.log(p)))
    return total


def host_matrix(P: Any) -> sp.csr_array:
    """A CSR tensor as a csr_array."""
    parts = (to_numpy(part) for part in (P.values(), P.col_indices(), P.crow_indices()))
    return sp.csr_array(tuple(parts), shape=tuple(P.shape))


def device_matrix(P: sp.csr_array, like: Any) -> Any:
    """A csr_array as a CSR tensor beside a tensor."""
    parts = (beside_tensor(part, like) for part in (P.indptr, P.indices, P.data))
    return import_module("mercer.backends.torch_neighbors").csr_tensor(*parts, P.shape)


def beside_tensor(array: np.ndarray, like: Any) -> Any:
    """An array of the host as a tensor on the device of another, in its own precision."""
    return namespace(like).asarray(array, device=like.device)


def _refuse_bad_distances(distances: Any) -> None:
    """Raise ValueError for distances that are negative, infinite or NaN."""
    if not distances.shape[0]:
        return
    if float(distances.min()) < 0:
        raise ValueError("All distances should be positive, the metric given is not correct")
    if not np.isfinite(float(distances.max())):
        raise ValueError(
            "Some distances are infinite or NaN: the differences between rows overflow. Divide the data by a constant, "
            "which does not change the map."
        )


def _heads(lengths: np.ndarray) -> np.ndarray:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])


def _refuse_large(n: int, k: int, everyone: bool, limit: int) -> None:
    need = neighbor_affinities(n, k).peak
    if need > limit:
        less = "method='auto', which looks at near neighbours only" if everyone else "a smaller perplexity"
        raise MemoryLimitError(
            f"Affinities of {n} samples with {k} neighbours each need {format_bytes(need)}, more than the limit of "
            f"{format_bytes(limit)}. Nothing was allocated. Try {less}."
        )


def _compiled() -> Any:
    return import_module("mercer.backends.compiled_affinities")


def _on_tensors() -> Any:
    return import_module("mercer.backends.torch_maps")


def _refuse_unusable(parts: Any) -> None:
    """Raise Mismatch unless affinities from a model file are ≥ 0 and have both an index and a weighting, or neither."""
    if (parts.index is None) != (parts.weighting is None):
        raise Mismatch("index and weighting must be given together")
    if parts.P.dtype != np.float32 or parts.P.data.min(initial=0.0) < 0:
        raise Mismatch("P does not hold probabilities")
