"""The repulsive sums pair by pair: the reference, in any number of dimensions.

    Gᵢ = Σ_j −w'(d²ᵢⱼ)(yᵢ − yⱼ),   Z = Σ_{i≠j} w(d²ᵢⱼ)

O(n² c) time and O(n c) memory. Threads take blocks of rows, and the sum of a row does not depend on the thread that
takes it: the bits are the same for any number of threads.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from mercer.backends import cpu, is_torch, slices
from mercer.embedding.similarity import CompiledForm, Similarity

_BLOCK = 128  # rows of a job: enough work for a thread, and many more jobs than threads
_LARGEST = {"f": 1e15, "d": 1e100}  # the largest coordinates whose squares, and sums of these, do not overflow


@cache
def _compiled() -> Any:
    return import_module("mercer.backends.compiled_pairs")


def checked_points(Y: Any, n_components: int, name: str = "Y") -> Any:
    """Y as the loops take it: finite, C-contiguous, float32 or float64 (float64 if squares would overflow float32)."""
    if is_torch(Y):
        return _checked_tensor(Y, n_components, name)
    if not isinstance(Y, np.ndarray) or Y.dtype.char not in _LARGEST:
        raise TypeError(f"{name} must be a NumPy array of float32 or float64, not {getattr(Y, 'dtype', type(Y))}.")
    if Y.ndim != 2 or Y.shape[1] != n_components or len(Y) == 0:
        raise ValueError(f"{name} has shape {Y.shape}, but (n, {n_components}) with n ≥ 1 is needed.")
    largest = max(float(Y.max()), -float(Y.min()))  # NaN if any entry is NaN, and NaN fails the next test
    _refuse_runaway(largest, name)
    return np.ascontiguousarray(Y, np.float64 if largest > _LARGEST["f"] else Y.dtype)


def _checked_tensor(Y: Any, n_components: int, name: str) -> Any:
    if Y.ndim != 2 or Y.shape[1] != n_components or len(Y) == 0:
        raise ValueError(f"{name} has shape {tuple(Y.shape)}, but (n, {n_components}) with n ≥ 1 is needed.")
    largest = float(Y.abs().max())
    _refuse_runaway(largest, name)
    return Y.double() if largest > _LARGEST["f"] else Y.contiguous()


def _refuse_runaway(largest: float, name: str) -> None:
    if not largest <= _LARGEST["d"]:
        raise ValueError(
            f"{name} has coordinates that are NaN, infinite or above {_LARGEST['d']:g}: the map has run away. "
            "Try a smaller learning rate."
        )


def checked_pair(new: Any, fixed: Any, n_components: int) -> tuple[Any, Any]:
    """Both sets of points, checked and in one precision."""
    new, fixed = checked_points(new, n_components, "new"), checked_points(fixed, n_components, "fixed")
    if is_torch(new):
        return (new, fixed) if new.dtype == fixed.dtype else (new.double(), fixed.double())
    both = np.result_type(new, fixed)
    return new.astype(both, copy=False), fixed.astype(both, copy=False)


def pair_sums(
    similarity: Similarity, new: Any, fixed: Any, *, same: bool, n_jobs: int | None = None
) -> tuple[Any, Any]:
    """G (m, c) and the contribution of each row to Z (m,), both float64, for rows of `new` against rows of `fixed`.

    same : whether both are one set of points, so that pairs i = j are left out
    """
    if is_torch(new):
        return import_module("mercer.backends.torch_maps").all_pairs(similarity, new, fixed, same)
    G, Z = np.empty(new.shape, np.float64), np.empty(len(new), np.float64)
    form = similarity.compiled
    work = _in_numpy(similarity, new, fixed, same, G, Z) if form is None else _in_loops(form, new, fixed, same, G, Z)
    cpu.for_each(slices(len(new), _BLOCK), lambda rows, _: work(rows), n_jobs)
    return G, Z


def _in_loops(form: CompiledForm, new: np.ndarray, fixed: np.ndarray, same: bool, G: np.ndarray, Z: np.ndarray) -> Any:
    compiled = _compiled()
    kind = getattr(compiled, form.kind.upper())
    transposed = np.ascontiguousarray(fixed.T)  # the inner loop runs along points, one coordinate after the other
    return lambda rows: compiled.rows(new, transposed, rows.start, rows.stop, same, kind, form.dof, G, Z)


def _in_numpy(w: Similarity, new: np.ndarray, fixed: np.ndarray, same: bool, G: np.ndarray, Z: np.ndarray) -> Any:
    """The same sums for a similarity without a compiled form, in float64."""
    new, fixed = new.astype(np.float64), fixed.astype(np.float64)

    def work(rows: slice) -> None:
        differences = [new[rows, None, axis] - fixed[None, :, axis] for axis in range(new.shape[1])]
        d2 = sum(np.square(difference) for difference in differences)
        weights, slopes = w.weight(d2), w.slope(d2)
        if same:
            weights[np.arange(len(weights)), np.arange(rows.start, rows.stop)] = 0
        Z[rows] = weights.sum(axis=1)
        for axis, difference in enumerate(differences):
            G[rows, axis] = (slopes * difference).sum(axis=1)

    return work


def as_precise(values: Any, like: Any) -> Any:
    """Values in the precision of `like`."""
    return values.to(like.dtype) if is_torch(values) else values.astype(like.dtype)


class ExactRepulsion:
    """G and Z pair by pair. `reason` says why this method was chosen."""

    method = "exact"

    def __init__(self, similarity: Similarity, n_components: int, n_jobs: int | None, reason: str) -> None:
        self.similarity, self.n_components, self.n_jobs, self.reason = similarity, n_components, n_jobs, reason

    def __call__(self, Y: Any) -> tuple[Any, float]:
        """G (n, c) in the precision of Y, and Z."""
        points = checked_points(Y, self.n_components)
        G, rows = pair_sums(self.similarity, points, points, same=True, n_jobs=self.n_jobs)
        return as_precise(G, Y), float(rows.sum())

    def on(self, new: Any, fixed: Any) -> tuple[Any, float, Any]:
        """G (m, c), Z over new × fixed, and the contribution of each new row to Z (m,)."""
        G, rows = self.frozen(fixed)(new)
        return as_precise(G, new), float(rows.sum()), as_precise(rows, new)

    def frozen(self, Y: Any) -> Any:
        """What a map Y that does not move does to other points: points (m, c) -> G (m, c), contributions to Z (m,)."""

        def sums(points: Any) -> tuple[Any, Any]:
            new, fixed = checked_pair(points, Y, self.n_components)
            return pair_sums(self.similarity, new, fixed, same=False, n_jobs=self.n_jobs)

        return sums
