"""Kernels of samples that are not vectors: strings, and a Gram matrix that the user computed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.backends import backend_of, is_foreign, namespace, placement
from mercer.kernels.kernel import Kernel, Points
from mercer.models.fields import SavedRecord, whole


@dataclass(repr=False)
class Spectrum(Kernel):
    """k(x, y) = Σ (count of w in x) · (count of w in y) over all words w of `length` letters, for strings.

    >>> Spectrum(length=2)(["abab", "ba"]).tolist()  # ab twice and ba once; ba once
    [[5.0, 1.0], [1.0, 1.0]]
    """

    _saved = SavedRecord("kernel.Spectrum", {"length": whole(1)})

    length: int = 3

    accepts = "strings"

    def points(self, X: Any, dtype: Any = None, like: Points | None = None) -> Points:
        strings = as_strings(X)
        if int(self.length) != self.length or self.length < 1:
            raise ValueError(f"length={self.length!r} must be a whole number ≥ 1.")
        counts = [Counter(s[i : i + self.length] for i in range(len(s) - self.length + 1)) for s in strings]
        vocabulary = like.context if like is not None else _vocabulary(counts)
        dtype = np.dtype(dtype or np.float64)
        norms = np.array([sum(c * c for c in count.values()) for count in counts], dtype)
        return Points(_count_matrix(counts, vocabulary, dtype), norms, context=vocabulary)

    def tile(self, A: Points, B: Points | None = None, out: Any = None) -> np.ndarray:
        return np.asarray((A.rows @ (A if B is None else B).rows.T).toarray())

    def diagonal(self, A: Points) -> np.ndarray:
        # Rows count only words of the fit. k(x, x) includes words that the fit never saw, so `points` computes it.
        return A.norms


def as_strings(X: Any) -> list[str]:
    """The samples as a list of strings. X is a sequence of strings, one column of a frame, or an (n, 1) array."""
    values = np.asarray(X, dtype=object)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1 or not all(isinstance(v, str) for v in values):
        raise TypeError("Spectrum needs one string per sample: give a list of strings, or a single column of strings.")
    return list(values)


def _vocabulary(counts: list[Counter[str]]) -> dict[str, int]:
    return {word: place for place, word in enumerate(sorted(set().union(*counts)))}


def _count_matrix(counts: list[Counter[str]], vocabulary: dict[str, int], dtype: np.dtype) -> sp.csr_array:
    entries = [(i, vocabulary[w], c) for i, count in enumerate(counts) for w, c in count.items() if w in vocabulary]
    rows, columns, values = (np.array(part) for part in zip(*entries, strict=True)) if entries else ([], [], [])
    shape = (len(counts), max(len(vocabulary), 1))
    return sp.csr_array((np.asarray(values, dtype), (rows, columns)), shape=shape)


@dataclass(repr=False)
class Precomputed(Kernel):
    """k as a matrix that the user computed: n × n for fit, m × n (new against fitted samples) for transform.

    k(xᵢ, xⱼ) = Kᵢⱼ, so samples are only row numbers. Cost: none, and the matrix is read where it is.

    >>> from mercer import KernelPCA
    >>> K = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 1.0], [0.0, 1.0, 2.0]])
    >>> KernelPCA(1, kernel="precomputed").fit(K).transform(K).shape
    (3, 1)
    """

    _saved = SavedRecord("kernel.Precomputed")

    accepts = "indices"

    def points(self, X: Any, dtype: Any = None, like: Points | None = None) -> Points:
        xp = namespace(X)
        if sp.issparse(X):
            X = X.toarray()
        rows = xp.astype(X, dtype or X.dtype, copy=False)
        return Points(rows, norms=xp.arange(rows.shape[0], **placement(X)))

    def tile(self, A: Points, B: Points | None = None, out: Any = None) -> Any:
        index = (A if B is None else B).norms
        start, stop = int(index[0]), int(index[-1]) + 1
        if bool(namespace(index).all(index[1:] - index[:-1] == 1)):  # consecutive columns can be a view, not a copy
            return A.rows[:, start:stop]
        return namespace(A.rows).take(A.rows, index, axis=1)

    def diagonal(self, A: Points) -> Any:
        if not is_foreign(A.rows):
            return A.rows[np.arange(len(A)), A.norms]
        xp = namespace(A.rows)
        return xp.stack([A.rows[i, int(A.norms[i])] for i in range(len(A))])


def symmetric_part(K: Any) -> tuple[Any, float]:
    """(K + Kᵀ)/2, and how much it leaves out: the largest entry of H(K − Kᵀ)H/2 relative to that of K.

    Centring removes everything of the form a1ᵀ + 1bᵀ, so a matrix that differs from its transpose only by such terms is
    as good as a symmetric one. A symmetric K is returned itself, without a copy. Otherwise temporary arrays hold 256
    rows at a time.
    """
    xp, n = namespace(K), K.shape[0]
    runs = [slice(i, min(i + 256, n)) for i in range(0, n, 256)]
    if not any(bool(xp.any(K[run, :] != K[:, run].T)) for run in runs):
        return K, 0.0
    means = xp.concat([xp.mean(K[run, :] - K[:, run].T, axis=1) for run in runs]) / 2  # of the rows of (K − Kᵀ)/2
    out, skew, size = xp.empty_like(K), 0.0, 0.0
    for run in runs:
        half = (K[run, :] - K[:, run].T) / 2
        skew = max(skew, float(xp.max(xp.abs(half - means[run, None] + means[None, :]))))
        size = max(size, float(xp.max(xp.abs(K[run, :]))))
        out[run, :] = K[run, :] - half
    return out, skew / size


def backend_for(points: Points) -> Any:
    """The backend that computes tiles of these points."""
    while points.rows is None:
        points = points.parts[0]
    return backend_of(points.rows)
