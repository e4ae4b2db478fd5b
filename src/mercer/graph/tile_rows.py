"""Rows prepared for tiles of dot products: centred and in a unit in which no square overflows, or unit vectors."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.linalg.inner import power_of_two

_SAMPLE = 1000  # rows whose median is the centre: enough for a rough one
_FAR = 2.0**20  # units beyond which new rows get a unit of their own: float32 squares would overflow
_DENSE_ABOVE = 0.02  # share of a column's products aⱼbⱼ that are not zero, above which BLAS on it takes less time
_DENSE_MOST = 2**24  # entries of a run of rows that may be made dense for that: 64 MB of float32


@dataclass(frozen=True)
class RowScaling:
    """How rows are scaled: (x − centre) / unit, the unit a power of two; unit vectors for angles.

    terms : the most products that a dot product adds, which bounds its rounding error
    """

    angles: str  # "", "cosine" or "correlation"
    centre: np.ndarray | None
    unit: float
    terms: int

    @classmethod
    def of(cls, X: Any, metric: str) -> RowScaling:
        terms = int(np.diff(X.indptr).max(initial=0)) if sp.issparse(X) else X.shape[1]
        if metric in ("cosine", "correlation"):
            return cls(metric, None, 1.0, X.shape[1] if metric == "correlation" else terms)
        centre = None if sp.issparse(X) else _middle(X)
        return cls("", centre, power_of_two(_reach(X, centre)), terms)

    def reaching(self, Y: Any) -> RowScaling:
        """This scaling, or one with a larger unit if rows lie very far out."""
        reach = 0.0 if self.angles else _reach(Y, self.centre)
        return self if reach <= _FAR * self.unit else replace(self, unit=power_of_two(reach))

    def classes(self, Y: Any) -> list[np.ndarray]:
        """The rows of Y in groups that can share a unit: those near the indexed ones, and the others by size."""
        if self.angles:
            return [np.arange(Y.shape[0])]
        sizes, middle = _sizes(Y), 0.0 if self.centre is None else float(np.abs(self.centre).max(initial=0.0))
        far = sizes > _FAR * max(self.unit, middle)
        kinds = np.where(far, np.log2(sizes) // 256 + 100, 0)
        return [np.flatnonzero(kinds == kind) for kind in np.unique(kinds)]

    def rounding(self, dtype: Any) -> float:
        """e with |computed − true| ≤ e (‖a‖² + ‖b‖²) for ‖a − b‖² = ‖a‖² + ‖b‖² − 2⟨a, b⟩ from rows in `dtype`.

        With u the unit of rounding: ⟨a, b⟩ of t terms is within t u ‖a‖‖b‖ whatever the order of its sum; rows and
        norms are rounded, which makes it (t + 5) u; the rest covers the sums that the scan itself makes.
        """
        return (self.terms + 12) * float(np.finfo(dtype).eps) / 2


@dataclass(frozen=True)
class ExactRows:
    """Rows as they are compared exactly; squared distances are ‖x − y‖² + extraₓ + extraᵧ.

    rows : (n, d), dense or CSR, in the data's precision
    extra : (n,), 1 for a row of zeros, which has no direction and counts as perpendicular to every other; else 0
    """

    rows: Any
    extra: np.ndarray

    @property
    def exact(self) -> Any:
        """The rows in the form that compiled code reads."""
        return (self.rows.data, self.rows.indices, self.rows.indptr) if sp.issparse(self.rows) else self.rows

    def take(self, index: Any) -> ExactRows:
        return ExactRows(self.rows[index], self.extra[index])


@dataclass(frozen=True)
class RoundedRows:
    """Rows in the precision of a tile, and (1 − e)‖x‖²; `width` as in `mercer.backends.compiled_neighbors`."""

    rows: Any
    norms: np.ndarray
    width: float


def exact_rows(X: Any, scaling: RowScaling) -> ExactRows:
    """The rows as they are, or as unit vectors for angles."""
    if not scaling.angles:
        return ExactRows(X, np.zeros(X.shape[0]))
    if scaling.angles == "correlation":
        X = X.toarray() if sp.issparse(X) else X
        X = X / _sizes(X)[:, None].astype(X.dtype)  # so that means and squares of rows of any size are safe
        X = X - X.mean(axis=1, keepdims=True, dtype=np.float64).astype(X.dtype)
        X[_sizes(X) <= 4 * np.finfo(X.dtype).eps] = 0  # all entries equal, up to the rounding of their mean
    sizes = _sizes(X)
    X = _times(X, 1 / sizes)
    lengths = np.sqrt(_square_norms(X))
    nowhere = lengths == 0
    return ExactRows(_times(X, 1 / np.where(nowhere, 1, lengths)), nowhere.astype(np.float64))


def rounded_rows(ready: ExactRows, scaling: RowScaling, dtype: Any) -> RoundedRows:
    """Rows in the precision of a tile."""
    rows = ready.rows
    if sp.issparse(rows):
        rows = sp.csr_array(
            ((rows.data.astype(np.float64) / scaling.unit).astype(dtype), rows.indices, rows.indptr), shape=rows.shape
        )
    elif scaling.centre is None:
        rows = (rows / scaling.unit).astype(dtype, copy=False)
    else:
        rows = _centred(rows, scaling, dtype)
    e = scaling.rounding(dtype)
    return RoundedRows(rows, ((_square_norms(rows) + ready.extra) * (1 - e)).astype(dtype), 2 * e / (1 - e))


def _centred(X: np.ndarray, scaling: RowScaling, dtype: Any) -> np.ndarray:
    """(x − centre) / unit, some rows at a time, so that float64 copies stay small."""
    out = np.empty(X.shape, dtype)
    centre = np.asarray(scaling.centre) * (1 / scaling.unit)
    for start in range(0, len(X), 4096):
        run = slice(start, start + 4096)
        out[run] = np.asarray(X[run], np.float64) * (1 / scaling.unit) - centre
    return out


class Operand:
    """The rows b of a tile, ready for products: dense ones, or CSR ones of which the full columns are dense."""

    def __init__(self, rows: Any) -> None:
        self.shape, self.first = rows.shape, 0
        self.dense, self.place, self.rare = rows, np.empty(0, np.int32), None
        if sp.issparse(rows):
            self.place, width = _full_columns(rows)
            self.dense = _spread_columns(rows, self.place, width)
            self.rare = _without(rows, self.place).tocsc() if width else rows.tocsc()

    def after(self, start: int) -> Operand:
        """The rows from `start` on."""
        if not start:
            return self
        rest = copy(self)
        rest.shape, rest.first = (self.shape[0] - start, self.shape[1]), self.first + start
        rest.dense = self.dense[start:]
        return rest


def products(A: Any, B: Any, out: np.ndarray) -> np.ndarray:
    """The tile ⟨a, b⟩ of two sets of rows, dense or CSR, written to `out`. B may be an `Operand`."""
    right = B if isinstance(B, Operand) else Operand(B)
    tile = out[: A.shape[0] * right.shape[0]].reshape(A.shape[0], right.shape[0])
    if right.rare is None or right.place is None:
        return np.matmul(A, right.dense.T, out=tile)
    if right.dense.shape[1]:
        np.matmul(_spread_columns(A, right.place, right.dense.shape[1]), right.dense.T, out=tile)
    else:
        tile[...] = 0
    b = right.rare
    _compiled().add_sparse_products(A.indptr, A.indices, A.data, b.indptr, b.indices, b.data, right.first, tile)
    return tile


def work_per_pair(X: Any) -> float:
    """What a product of two rows costs, in columns of dense rows."""
    if not sp.issparse(X):
        return X.shape[1]
    full = np.square(np.bincount(X.indices, minlength=1) / X.shape[0])
    return float(np.minimum(full / _DENSE_ABOVE, 1).sum())


def _full_columns(rows: sp.csr_array) -> tuple[np.ndarray, int]:
    """The place of each column among the full ones, (d,), −1 for the others; and their number."""
    n, d = rows.shape
    counts = np.bincount(rows.indices, minlength=d)
    full = np.flatnonzero(counts > np.sqrt(_DENSE_ABOVE) * n)
    full = full[np.argsort(-counts[full], kind="stable")[: _DENSE_MOST // max(1, n)]]
    place = np.full(d, -1, np.int32)
    place[full] = np.arange(len(full), dtype=np.int32)
    return place, len(full)


def _spread_columns(rows: sp.csr_array, place: np.ndarray, width: int) -> np.ndarray:
    """The columns that have a place, as a dense array."""
    out = np.zeros((rows.shape[0], width), rows.dtype)
    _compiled().spread_columns(rows.indptr, rows.indices, rows.data, place, out)
    return out


def _without(rows: sp.csr_array, place: np.ndarray) -> sp.csr_array:
    """The rows without the columns that have a place."""
    keep = place[rows.indices] < 0
    starts = np.concatenate([[0], np.cumsum(keep)])[rows.indptr].astype(rows.indptr.dtype)
    return sp.csr_array((rows.data[keep], rows.indices[keep], starts), shape=rows.shape)


def _compiled() -> Any:
    return import_module("mercer.backends.compiled_neighbors")


def _middle(X: np.ndarray) -> np.ndarray:
    """The median of some rows in each column. Unlike the mean it stays with the majority if one row is far away."""
    step = max(1, len(X) // _SAMPLE)
    return np.median(X[::step], axis=0).astype(np.float64)


def _reach(X: Any, centre: np.ndarray | None) -> float:
    """The largest |x − centre| of any entry, or up to twice that: an exact value would need a copy."""
    if sp.issparse(X):
        return float(np.abs(X.data).max(initial=0.0))
    half = 0.5 * (centre if centre is not None else 0.0)
    high, low = X.max(axis=0) * 0.5 - half, X.min(axis=0) * 0.5 - half  # halves: a difference may not overflow
    reach = 2 * max(float(np.abs(high).max()), float(np.abs(low).max()))
    return min(reach, float(np.finfo(np.float64).max))


def _square_norms(X: Any) -> np.ndarray:
    if sp.issparse(X):
        return np.asarray(X.astype(np.float64).power(2).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", X, X, dtype=np.float64)


def _sizes(X: Any) -> np.ndarray:
    """A power of two near the largest entry of each row, (n,); 1 for a row of zeros."""
    if sp.issparse(X):
        largest = np.zeros(X.shape[0])
        np.maximum.at(largest, np.repeat(np.arange(X.shape[0]), np.diff(X.indptr)), np.abs(X.data))
    else:
        largest = np.maximum(X.max(axis=1), -X.min(axis=1)).astype(np.float64)
    exponents = np.clip(np.frexp(largest)[1], -1020, 1020)
    return np.where(largest > 0, 2.0**exponents, 1.0)


def _times(X: Any, factors: np.ndarray) -> Any:
    """Each row of X times its factor, in X's precision."""
    if not sp.issparse(X):
        return (X * factors[:, None]).astype(X.dtype, copy=False)
    values = X.data * np.repeat(factors, np.diff(X.indptr))
    return sp.csr_array((values.astype(X.dtype, copy=False), X.indices, X.indptr), shape=X.shape)
