"""What a neighbour embedding knows of the data: a probability pᵢⱼ for each pair of rows, sparse and symmetric.

    p_{j|i} = exp(−d²ᵢⱼ / 2σᵢ²) / Σₗ exp(−d²ᵢₗ / 2σᵢ²)   over the nearest neighbours of i
    pᵢⱼ = (p_{j|i} + p_{i|j}) / 2n

The weights p_{j|i} are the law's (`mercer.embedding.laws`). P is all that SNE and t-SNE know of the data.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.backends.cpu import for_each, workers
from mercer.embedding.laws import Law, Perplexity, runs
from mercer.exceptions import MemoryLimitError
from mercer.footprints import neighbor_affinities
from mercer.memory import available_bytes, format_bytes
from mercer.models.fields import THREADS, Mismatch, SavedRecord, floats, instance_of, optional, sparse

FREE_SHARE = 0.8  # of the free memory that P and what it is made of may take


@dataclass(frozen=True)
class Affinities:
    """The joint probabilities of a set of rows, and those of new rows with them.

    P : csr_array (n, n), float32 with int32 indices in order, symmetric, summing to one
    entropy : Σ pᵢⱼ log pᵢⱼ, in float64: what the KL divergence has beside the map
    widths : (n, s), σᵢ; None where P was given
    law, index : how they came about; None where P was given
    recall : of the neighbours, as their search measured it
    """

    _saved = SavedRecord(
        "Affinities",
        {
            "P": sparse("n", "n"),
            "widths": optional(floats("n", "s", infinite=True)),
            "law": optional(instance_of("law")),
            "index": optional(instance_of("index", n="n")),
            "n_jobs": THREADS,
        },
        also=lambda parts: _refuse_unusable(parts),
    )

    P: sp.csr_array
    entropy: float
    widths: np.ndarray | None = None
    law: Law | None = None
    index: Any = None
    recall: float = 1.0
    n_jobs: int | None = None

    def to_new(self, X: Any) -> tuple[Any, np.ndarray]:
        """Of new rows: their neighbours among the old, and p_{j|x}, (m, k), rows summing to one."""
        if self.index is None or self.law is None:
            raise ValueError("New rows need distances to the old ones, and only affinities were given.")
        found = self.index.query(X, self.law.neighbors(self.index.n))
        return found, self.law.weights(found.distances, self.n_jobs).P


def affinities_of(index: Any, law: Law, *, everyone: bool = False, n_jobs: int | None = None) -> Affinities:
    """The affinities of the rows of a neighbour index; `everyone` takes all n − 1 others for a perplexity.

    Cost: the search for k neighbours, about 6 k n exponentials, and 36 k n bytes for a moment.
    """
    n = index.n
    law.refuse(n)
    everyone &= isinstance(law, Perplexity)  # the other laws say themselves how many neighbours they take
    k = n - 1 if everyone else law.neighbors(n - 1)
    _refuse_large(n, k, everyone)
    found = index.neighbors(k)
    if found.distances.min(initial=0.0) < 0:
        raise ValueError("All distances should be positive, the metric given is not correct")
    indices, recall = np.require(found.indices, np.int32, ["C", "W"]), found.recall
    P, widths = law.weights(found.distances, n_jobs)
    del found  # at a million rows the distances are as large as P
    joint = joint_probabilities(indices, P, n_jobs)
    return Affinities(joint, entropy_of(joint), widths, law, index, recall, n_jobs)


def given_affinities(P: Any, n_jobs: int | None = None) -> Affinities:
    """P as it is given, dense or sparse: made symmetric, without its diagonal, and summing to one."""
    if P.shape[0] != P.shape[1]:
        raise ValueError(f"Affinities must be a square matrix (n_samples, n_samples), not {P.shape}.")
    P = sp.coo_array(P, dtype=np.float64)
    if not np.all(np.isfinite(P.data)) or P.data.min(initial=0.0) < 0:
        raise ValueError("Affinities must be finite and not negative.")
    keep = P.row != P.col
    P = sp.csr_array((P.data[keep], (P.row[keep], P.col[keep])), shape=P.shape)
    P = sp.csr_array(P + P.T)
    total = P.data.sum()
    if not total > 0:
        raise ValueError("Affinities must be positive for some pair of rows: these are all zero.")
    P.data /= total
    P = P.astype(np.float32)
    P.eliminate_zeros()
    P.sort_indices()
    return Affinities(P, entropy_of(P), n_jobs=n_jobs)


def joint_probabilities(indices: np.ndarray, P: np.ndarray, n_jobs: int | None = None) -> sp.csr_array:
    """(p_{j|i} + p_{i|j}) / 2n from neighbours and weights (n, k), which are put in order in place.

    The transpose is written once and merged with the rows: no triplets, no sort of all entries.
    """
    (n, k), compiled = indices.shape, _compiled()
    for_each(runs(n), lambda run, _: compiled.sort_rows(indices, P, run.start, run.stop), n_jobs)
    columns = list(runs(n, -(-n // workers(n_jobs))))
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

        for_each(runs(n), work, n_jobs)

    lengths = np.empty(n, np.int64)
    join(lengths, np.empty(0, np.int32), np.empty(0, np.float32))
    starts = _heads(lengths)
    out, weights = np.empty(starts[-1], np.int32), np.empty(starts[-1], np.float32)
    join(starts, out, weights)
    pointers = starts.astype(np.int32) if starts[-1] < 2**31 else starts
    return sp.csr_array((weights, out, pointers), shape=(n, n))


def entropy_of(P: sp.csr_array) -> float:
    """Σ p log p, in float64 and in pieces."""
    total = 0.0
    for start in range(0, P.nnz, 2**20):
        p = P.data[start : start + 2**20].astype(np.float64)
        p = p[p > 0]
        total += float(np.dot(p, np.log(p)))
    return total


def _heads(lengths: np.ndarray) -> np.ndarray:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])


def _refuse_large(n: int, k: int, everyone: bool) -> None:
    need, free = neighbor_affinities(n, k).peak, int(FREE_SHARE * available_bytes())
    if need > free:
        less = "method='auto', which looks at near neighbours only" if everyone else "a smaller perplexity"
        raise MemoryLimitError(
            f"Affinities of {n} samples with {k} neighbours each need {format_bytes(need)}, more than the "
            f"{format_bytes(free)} that may be taken. Nothing was allocated. Try {less}."
        )


def _compiled() -> Any:
    return import_module("mercer.backends.compiled_affinities")


def _refuse_unusable(parts: Any) -> None:
    """Affinities out of a model file: new rows need an index and a law, or neither; probabilities are not negative."""
    if (parts.index is None) != (parts.law is None):
        raise Mismatch("an index needs a law, and a law an index")
    if parts.P.dtype != np.float32 or parts.P.data.min(initial=0.0) < 0:
        raise Mismatch("P does not hold probabilities")
