"""Exact neighbours of tensors from whole rows of distances, on the device that holds the tensors.

What `block_index` and its subclasses are for NumPy arrays: any Minkowski distance, the distance of a kernel, and
distances that are given. `tensor_index` has faster ways for Euclidean distances and angles.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from mercer.backends import backend_of, is_torch, namespace, to_numpy
from mercer.exceptions import MemoryLimitError
from mercer.graph.metric_index import KernelIndex, MetricIndex
from mercer.graph.neighbor_index import NeighborIndex, Neighbors
from mercer.graph.precomputed_index import MatrixIndex
from mercer.kernels import Kernel
from mercer.kernels.discrete import Precomputed
from mercer.memory import format_bytes
from mercer.progress import phase


def tensors() -> Any:
    """The arithmetic, which is loaded when it is first needed."""
    return import_module("mercer.backends.torch_neighbors")


class TensorBlockIndex(NeighborIndex):
    """An index that computes the distances of some rows to all n (abstract). Cost: n distances per row.

    X : the tensor that is indexed. Answers are tensors on its device: numbers of rows in int32, distances in its dtype
    """

    X: Any
    n_jobs: int | None

    @abstractmethod
    def distance_block(self, Y: Any, run: Any) -> Any:
        """The distances of rows `run` of Y (of the indexed ones if None) to all n, in a new tensor."""

    @abstractmethod
    def on_host(self) -> NeighborIndex:
        """The same index of NumPy arrays, which a model file holds."""

    @property
    def dtype(self) -> Any:
        return self.X.dtype

    def read_rows(self, Y: Any) -> Any:
        if not is_torch(Y):
            raise TypeError(f"The index holds tensors on {self.X.device}, so new rows must be a tensor there too.")
        return tensors().checked_tensor(Y, like=self.X)

    def nearest(self, Y: Any | None, k: int) -> Neighbors:
        own = self.all_rows() if Y is None else self.whole_numbers([-1]).expand(Y.shape[0])
        return self.nearest_except(Y, own, k)

    def nearest_except(self, Y: Any | None, own: Any, k: int) -> Neighbors:
        """The k nearest of every row of Y (of the indexed ones if None), row i without the indexed row own[i]."""
        m = self.n if Y is None else Y.shape[0]
        self.refuse_too_large(m, k)
        places, distances = self.search(Y, namespace(self.X).arange(m, device=self.X.device), own, k)
        return Neighbors(self.as_int32(places), distances, self.method)

    def search(self, Y: Any | None, rows: Any, own: Any, k: int) -> tuple[Any, Any]:
        """The k nearest of `rows` of Y (of the indexed ones if None): their numbers (m, k), and distances."""
        places = self.X.new_empty((len(rows), k), dtype=own.dtype)
        distances = self.X.new_empty((len(rows), k))

        def work(run: slice, slot: int) -> None:
            D = self.distance_block(Y, rows[run])
            hide(D, own[run])
            places[run], distances[run] = tensors().smallest(D, k)

        with phase("neighbours"):
            backend_of(self.X).for_each(self.row_runs(len(rows)), work, self.n_jobs)
        return places, distances

    def pairs_within(self, Y: Any | None, radius: float) -> Any:
        """A sparse CSR tensor (m, n)."""
        m, parts = self.n if Y is None else Y.shape[0], []
        for run in self.row_runs(m):
            rows = namespace(self.X).arange(run.start, run.stop, device=self.X.device)
            D = self.distance_block(Y, rows)
            if Y is None:
                hide(D, rows)
            i, j = (((radius >= D) & D.isfinite()).nonzero()).unbind(1)
            parts.append((i + run.start, j, D[i, j]))
        return tensors().graph_of_runs(parts, (m, self.n), self.X)

    def between(self, rows: Any, others: Any) -> Any:
        return self.distance_block(None, self.whole_numbers(rows))[:, self.whole_numbers(others)]

    def closest_pairs(self, labels: Any, rows: Any) -> tuple[Any, Any, Any]:
        """As for NumPy arrays; labels and rows may be tensors or NumPy arrays, and the answers are tensors."""
        labels, rows = self.whole_numbers(labels), self.whole_numbers(rows)
        places, distances = self.X.new_empty(len(rows), dtype=rows.dtype), self.X.new_empty(len(rows))
        for run in self.row_runs(len(rows)):
            D = self.distance_block(None, rows[run])
            D.masked_fill_(labels[rows[run]][:, None] == labels[None, :], float("inf"))
            nearest = tensors().smallest(D, 1)
            places[run], distances[run] = nearest[0][:, 0], nearest[1][:, 0]
        return closest_of_each_tensor(labels, rows, places, distances)

    # --- questions that scores of maps ask -------------------------------------------------------------------

    def nearest_of(self, rows: Any, k: int) -> tuple[Any, Any]:
        """Numbers and distances (m, k) of the k nearest of indexed rows, without the rows themselves. Exact."""
        rows = self.whole_numbers(rows)
        places, distances = self.search(None, rows, rows, k)
        return self.as_int32(places), distances

    def ranks_of(self, rows: Any, others: Any) -> Any:
        """(m, k), how near others[i, s] is to rows[i] among all indexed rows: 1 + the number of nearer rows."""
        rows, others = self.whole_numbers(rows), self.whole_numbers(others)
        ranks = others.new_empty(others.shape)
        for run in self.row_runs(len(rows)):
            D = self.sort_keys(rows[run])
            limits = D.gather(1, others[run])
            ranks[run] = 1 + namespace(D).searchsorted(D.sort(1).values, limits)
        return ranks

    def distances_of(self, i: Any, j: Any) -> Any:
        """(m,) distances of the pairs (i, j) of indexed rows, float64."""
        i, j = self.whole_numbers(i), self.whole_numbers(j)
        out = self.X.new_empty(len(i)).double()
        for run in self.row_runs(len(i)):
            out[run] = self.distance_block(None, i[run]).gather(1, j[run][:, None])[:, 0].double()
        return out

    def sort_keys(self, rows: Any) -> Any:
        """Numbers in the order of the distances of some rows to all n, infinite to themselves; in a new tensor."""
        D = self.distance_block(None, rows)
        hide(D, rows)
        return D

    # --- helpers ---------------------------------------------------------------------------------------------

    def all_rows(self) -> Any:
        return namespace(self.X).arange(self.n, device=self.X.device)

    def whole_numbers(self, values: Any) -> Any:
        """Row numbers or labels as an int64 tensor beside X."""
        xp = namespace(self.X)
        return xp.asarray(values, device=self.X.device).to(xp.int64)

    def as_int32(self, places: Any) -> Any:
        return places.to(namespace(self.X).int32)

    def row_runs(self, m: int) -> Iterator[slice]:
        return tensors().whole_rows(m, self.n, self.X)

    def refuse_too_large(self, m: int, k: int) -> None:
        """Raise MemoryLimitError if the answer, and the candidates on the way to it, would not fit the device."""
        needed, free = 24 * m * k, backend_of(self.X).free_bytes(self.X)
        if needed > free:
            raise MemoryLimitError(
                f"{k:,} neighbours of {m:,} rows would take {format_bytes(needed)}, but only {format_bytes(free)} are "
                f"free on {self.X.device}. Ask for fewer."
            )


class TensorMetricIndex(TensorBlockIndex):
    """An index by a Minkowski distance (final).

    p : its power, ≥ 1 or infinite
    """

    method = "brute"

    def __init__(self, X: Any, p: float, n_jobs: int | None, reason: str) -> None:
        self.X, self.p, self.n_jobs, self.reason, self.n = X, float(p), n_jobs, reason, X.shape[0]

    def distance_block(self, Y: Any, run: Any) -> Any:
        return namespace(self.X).cdist((self.X if Y is None else Y)[run], self.X, p=self.p)

    def on_host(self) -> NeighborIndex:
        return MetricIndex(to_numpy(self.X), "minkowski", {"p": self.p}, self.n_jobs, self.reason)


class TensorKernelIndex(TensorBlockIndex):
    """An index by the distance in a kernel's feature space, √(k(x, x) − 2 k(x, y) + k(y, y)), clipped at 0 (final)."""

    method = "brute"

    def __init__(self, X: Any, kernel: Kernel, n_jobs: int | None, reason: str) -> None:
        if isinstance(kernel, Precomputed):
            raise ValueError("A precomputed kernel has no rows. Give its distances with metric='precomputed'.")
        self.X, self.n, self.n_jobs, self.reason = X, X.shape[0], n_jobs, reason
        self.kernel = kernel.bind(X)
        self._points = self.kernel.points(X)
        self._diagonal = self.kernel.diagonal(self._points)

    def distance_block(self, Y: Any, run: Any) -> Any:
        if Y is None:
            A, diagonal = self._points.take(run), self._diagonal[run]
        else:
            A = self.kernel.points(Y[run], like=self._points)
            diagonal = self.kernel.diagonal(A)
        squares = diagonal[:, None] + self._diagonal[None, :] - 2 * self.kernel.tile(A, self._points)
        if not bool(squares.isfinite().all()):
            raise ValueError(f"{self.kernel!r} overflows on this data. Scale the data down.")
        return squares.clamp_(min=0).sqrt_()

    def on_host(self) -> NeighborIndex:
        return KernelIndex(to_numpy(self.X), self.kernel, self.n_jobs, self.reason)


class TensorMatrixIndex(TensorBlockIndex):
    """An index on a square tensor of distances, Dᵢⱼ from i to j (final)."""

    method = "precomputed"

    def __init__(self, D: Any, n_jobs: int | None, reason: str) -> None:
        self.X = _checked_distances(D)
        if self.X.shape[0] != self.X.shape[1]:
            raise ValueError(f"Precomputed distances must be a square matrix, not {tuple(self.X.shape)}.")
        self.n, self.n_jobs, self.reason = self.X.shape[0], n_jobs, reason

    def read_rows(self, Y: Any) -> Any:
        return _checked_distances(super().read_rows(Y))

    def distance_block(self, Y: Any, run: Any) -> Any:
        return (self.X if Y is None else Y)[run]  # by numbers of rows, so this is a copy

    def on_host(self) -> NeighborIndex:
        return MatrixIndex(to_numpy(self.X), self.n_jobs, self.reason)


def _checked_distances(D: Any) -> Any:
    D = tensors().checked_tensor(D)
    if bool((D < 0).any()):
        raise ValueError("Negative values in data: precomputed distances must be ≥ 0.")
    return D


def hide(D: Any, own: Any) -> None:
    """Set the distance of each row to itself to infinity, in place; −1 stands for a row that is not indexed."""
    rows = (own >= 0).nonzero()[:, 0]
    D[rows, own[rows]] = float("inf")


def closest_of_each_tensor(labels: Any, i: Any, j: Any, distances: Any) -> tuple[Any, Any, Any]:
    """The closest of the pairs (i, j) for each label of an i; ties by the smaller, then by the larger index."""
    order = i.maximum(j).argsort(stable=True)
    for key in (i.minimum(j), distances, labels[i]):
        order = order[key[order].argsort(stable=True)]
    own = labels[i][order]
    first = (own[1:] != own[:-1]).nonzero()[:, 0] + 1
    chosen = order[namespace(i).cat([first.new_zeros(1), first])]
    return i[chosen], j[chosen], distances[chosen]
