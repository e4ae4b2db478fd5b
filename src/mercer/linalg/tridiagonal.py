"""Householder's tridiagonal form of a stored matrix, as far as it is needed.

Reflections turn A into Qᵀ A Q = T, one column at a time. The first m columns of Q are the vectors that Lanczos finds
from q₁, orthonormal to rounding. So the leading part Tₘ shows the top Ritz pairs and their residuals β |s_last|:

    stop     as soon as the wanted residuals are small enough: that is Lanczos, without its calls per step
    go on    until T is whole: that is LAPACK's direct method, and what was done before is part of it

Nobody has to foretell which of the two is cheaper. SciPy wraps LAPACK's `dsytrd` for all columns at once, so panels of
columns are reduced by the routine below it, `dlatrd`, which SciPy exports for Cython.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy.linalg import cython_blas, cython_lapack
from scipy.linalg.blas import dsymv, dtrsm
from scipy.linalg.lapack import dgeqrf, dormqr, dstebz, dstemr, dstevd

from mercer.linalg.eigen_bounds import length_of
from mercer.linalg.inner import power_of_two

Allowed = Callable[[np.ndarray], np.ndarray]  # Ritz values, descending, to the residuals that are small enough
_TINY = float(np.finfo(np.float64).tiny)


class TridiagonalForm:
    """Qᵀ A Q = T, reduced column by column in a copy of A, from the first vectors of a Krylov space on (final).

    A : (n, n), NumPy float64; T is that of A / unit
    Q : (n, m), the first columns of Q, such that QᵀAQ is tridiagonal; one vector of length 1 is always right
    AQ : (n, m), the products A Q / unit
    beside : (m − 1,), next to the diagonal of QᵀAQ / unit

    The matrix is not multiplied again for what Q knows. With reflections H = I − V S Vᵀ that take the first m axes E to
    the columns of Q, up to signs, V S = (E − Q) V₁⁻ᵀ, where V₁ is the top of V. So the columns A V S that HᵀAH needs
    are sums of those of A and A Q.
    """

    def __init__(self, A: np.ndarray, Q: np.ndarray, AQ: np.ndarray, beside: np.ndarray, unit: float = 1.0) -> None:
        n, m = Q.shape
        self.n, self.unit, self._known = n, unit, m - 1
        self.columns = m - 1  # that are reduced
        self.diagonal, self.beside = np.empty(n), np.zeros(n)  # of T; beside[m − 1] is β, which couples Tₘ to the rest
        self._tau = np.zeros(n)  # the lengths of the reflections
        # Wide panels make the update of the rest cheaper, narrow ones the columns themselves; both were measured.
        self._panel = 8 if n < 600 else 16
        self._W = np.empty((self._panel, n))
        # Symmetric, so the transpose will do; LAPACK counts by columns.
        self._A = np.array(A.T if A.flags.c_contiguous else A, dtype=np.float64, order="F")
        if unit != 1.0:
            self._A /= unit
        self._places = tuple(map(_address, (self._A, self.beside, self._tau, self._W)))
        self._first, self._first_tau, _, _ = dgeqrf(Q)
        signs = np.copysign(1.0, self._first.diagonal())
        V = np.tril(self._first, -1)
        V[np.arange(m), np.arange(m)] = 1.0
        S, X = Q * -signs, self._A[:, :m] - AQ * signs
        S[np.arange(m), np.arange(m)] += 1.0
        S = dtrsm(1.0, V[:m], S, side=1, lower=1, trans_a=1, diag=1)
        X = dtrsm(1.0, V[:m], X, side=1, lower=1, trans_a=1, diag=1)
        X -= V @ (S.T @ X / 2)
        self.beside[: m - 1] = beside * signs[1:] * signs[:-1]
        # What Q knows is the first m − 1 columns; column m couples to the rest and is reduced like those after it.
        V, X = (np.asfortranarray(part[m - 1 :]) for part in (V, X))
        self._update(m - 1, _address(V), _address(X), n - m + 1, m)
        self.diagonal[: m - 1] = np.einsum("ij,ij->j", Q, AQ)[: m - 1]

    @classmethod
    def starting(cls, A: np.ndarray, rng: np.random.Generator) -> TridiagonalForm:
        """From a random vector."""
        q = rng.standard_normal((len(A), 1))
        q /= length_of(q[:, 0])
        product, unit = dsymv(1.0, A.T, q[:, 0])[:, None], 1.0
        largest = float(np.abs(product).max())
        if not 1e-100 < largest < 1e100:  # squares may leave the range of numbers
            unit = power_of_two(largest)
            product = dsymv(1.0 / unit, A.T, q[:, 0])[:, None]
        return cls(A, np.asfortranarray(q), product, np.empty(0), unit)

    def reduce(self, columns: int) -> None:
        """Reduce at least so many columns."""
        before, n, width = self.columns, self.n, self._panel
        A, beside, tau, W = self._places
        row = 8 * (n + 1)  # bytes from one entry of the diagonal to the next
        size, wide = _int(n), _int(width)
        while self.columns < columns < n and n - self.columns > 2 * width:
            j = self.columns
            corner = A + row * j
            latrd = b"L", _int(n - j), wide, corner, size, beside + 8 * j, tau + 8 * j, W, size
            _lapack("dlatrd", *latrd)
            # V, the reflections, are below the diagonal in the columns of the panel.
            self._update(j + width, corner + 8 * width, W + 8 * width, n, width)
            self.columns += width
        if self.columns < columns:  # all, or nearly all: LAPACK goes to the end
            j, work = self.columns, np.empty(width * n)
            diagonal, room = _address(self.diagonal) + 8 * j, _int(len(work))
            whole = _int(n - j), A + row * j, size, diagonal, beside + 8 * j, tau + 8 * j, _address(work), room, _int(0)
            _lapack("dsytrd", b"L", *whole)
            self.columns = n
        self.diagonal[before : self.columns] = self._A.diagonal()[before : self.columns]

    def _update(self, first: int, V: int, W: int, rows: int, width: int) -> None:
        """Take V Wᵀ + W Vᵀ off the lower half of the rows and columns from `first` on; `rows` apart lie the columns."""
        corner, left = self._places[0] + 8 * (self.n + 1) * first, _int(self.n - first)
        columns = V, _int(rows), W, _int(rows)
        _lapack("dsyr2k", b"L", b"N", left, _int(width), _double(-1.0), *columns, _double(1.0), corner, _int(self.n))

    def coupling(self) -> float:
        """β between the reduced columns and the rest; 0 if T is whole."""
        return float(self.beside[self.columns - 1]) if self.columns < self.n else 0.0

    def vectors(self, S: np.ndarray) -> np.ndarray:
        """Q S, (n, k), for S with a row per reduced column."""
        n, k, first = self.n, S.shape[1], self._known
        V = np.zeros((n, k), order="F")
        V[: len(S)] = S
        A, _, tau, _ = self._places
        # With room for blocks of 64 reflections LAPACK forms their products first. Up to some 16 vectors it is faster
        # to apply them one by one.
        work = np.empty(k if k < 16 else 64 * k + 65 * 64)
        sizes = _int(n - 1 - first), _int(k), _int(min(self.columns, n - 1) - first)
        reflections, beneath = A + 8 * (first * n + first + 1), _address(V) + 8 * (first + 1)
        room = _address(work), _int(len(work)), _int(0)
        _lapack("dormqr", b"L", b"N", *sizes, reflections, _int(n), tau + 8 * first, beneath, _int(n), *room)
        return dormqr("L", "N", self._first, self._first_tau, V, len(work), overwrite_c=1)[0]


@dataclass(frozen=True)
class FormPairs:
    """The top Ritz pairs of a form, descending, once it is large enough for them, or whole."""

    values: np.ndarray  # (k,)
    vectors: np.ndarray  # (n, k)
    residual: float  # of the last pair, by the coupling
    lowest: float  # Ritz value
    products: int  # with A that the pairs are worth


def form_pairs(form: TridiagonalForm, k: int, allowed: Allowed) -> FormPairs | None:
    """Reduce the form until its top k Ritz pairs are good enough, or to the end; None if LAPACK cannot solve T.

    allowed : Ritz values to the residuals that are small enough, both in the units of A
    """
    n, unit, size = form.n, form.unit, max(form.columns, k + max(8, k // 2))
    before, past, top = 0, np.inf, np.nan
    while True:
        form.reduce(size if _worth_a_look(n, k, size) else n)
        m, excess = form.columns, 0.0
        if m < n:
            if not past < np.inf:
                top = _value(form, m - 1)  # it grows from now on, and a smaller one allows less
            excess = _excess_of_last(form, k, allowed, top)
            if 1 < excess < 100:
                top = _value(form, m - 1)
                excess = _excess_of_last(form, k, allowed, top)
        if excess <= 1:
            found = _top_pairs(form, k)
            if found is None:
                return None
            values, S = found
            residuals = abs(form.coupling()) * unit * np.abs(S[-1])
            if m == n or np.all(residuals <= np.maximum(allowed(values * unit), _TINY)):
                return FormPairs(values * unit, form.vectors(S), float(residuals[-1]), _value(form, 0) * unit, m)
            excess = np.inf
        size = m + _columns_ahead(m - before, past, excess, m)
        before, past = m, excess


def _worth_a_look(n: int, k: int, m: int) -> bool:
    """Whether pairs that m columns show would save time.

    What they save is the rest of the reduction and most of the vectors of a larger T. What they cost is a search for
    copies, some m/5 steps of Lanczos. Both are counted in numbers read, as in `lanczos.direct_cost`; the search may
    take half of what is saved, since pairs may also need more columns than these.
    """
    left = n - m
    saved = 0.1 * left**3 + 60.0 * left**2 + 1000.0 * k * left
    return left > 0 and saved > 2 * 0.2 * m * (0.5 * n**2 + 2.0 * n * k + 55_000)


def _columns_ahead(step: int, before: float, excess: float, m: int) -> int:
    """Until residuals are looked at again: where they may be small enough, if they go on as they fell.

    They fall faster and faster, so a forecast is too far, and six tenths of the way are gone. A look takes as long as a
    few columns, so they are at least a sixth of the columns apart, and no more than a half without any sign.
    """
    ahead = 0.6 * np.log(excess) * step / np.log(before / excess) if 1 < excess < before < np.inf else 0.0
    return int(min(max(ahead, m // 6, 6), m // 2))


def _excess_of_last(form: TridiagonalForm, k: int, allowed: Allowed, top: float) -> float:
    """The residual of Ritz pair number k relative to what is allowed beside the largest value, `top`."""
    m, unit = form.columns, form.unit
    count, value, vector, trouble = selected_pairs(form.diagonal[:m], form.beside[:m], m - k, m - k)
    if count != 1 or trouble:
        return np.inf
    residual = abs(form.coupling() * vector[-1, 0]) * unit
    return float(residual / max(allowed(np.array([max(top, value[0]), value[0]]) * unit)[-1], _TINY))


def _value(form: TridiagonalForm, number: int) -> float:
    """Ritz value, counted from 0, ascending."""
    m = form.columns
    return float(dstebz(form.diagonal[:m], form.beside[: m - 1], 2, 0.0, 0.0, number + 1, number + 1, 0.0, b"E")[1][0])


def _top_pairs(form: TridiagonalForm, k: int) -> tuple[np.ndarray, np.ndarray] | None:
    """The top k eigenpairs of T as far as it is known, descending."""
    m = form.columns
    if 3 * k < m:  # MRRR finds few vectors sooner than divide and conquer finds all
        count, values, S, trouble = selected_pairs(form.diagonal[:m], form.beside[:m], m - k, m - 1)
        if count == k and not trouble:
            return values[:k][::-1], S[:, :k][:, ::-1]
    values, S, trouble = dstevd(form.diagonal[:m], form.beside[: m - 1], compute_v=1)
    return None if trouble else (values[::-1][:k], S[:, ::-1][:, :k])


def selected_pairs(diagonal: np.ndarray, beside: np.ndarray, first: int, last: int) -> tuple[int, np.ndarray, Any, int]:
    """Eigenpairs number `first` to `last`, counted from 0, ascending, of a tridiagonal matrix, by MRRR.

    beside : next to the diagonal, and room for one more number
    """
    m = len(diagonal)
    return dstemr(
        diagonal.copy(), beside.copy(), 2, 0.0, 0.0, first + 1, last + 1, compute_v=1, lwork=18 * m, liwork=10 * m
    )


# --- routines by their addresses ---------------------------------------------------------------------------

_int, _double = ctypes.c_int, ctypes.c_double


def _address(array: np.ndarray) -> int:
    return array.ctypes.data


def _lapack(name: str, *arguments: Any) -> None:
    """Call a routine of BLAS or LAPACK. Every argument is a pointer: an address, or a number or letter to point at."""
    _routine(name)(*[a if isinstance(a, (int, bytes)) else ctypes.byref(a) for a in arguments])


@cache
def _routine(name: str) -> Callable[..., None]:
    """A routine that SciPy exports for Cython, with its number of arguments from the signature that comes with it."""
    module: Any = cython_blas if name == "dsyr2k" else cython_lapack
    api, capsule = ctypes.pythonapi, module.__pyx_capi__[name]
    name_of = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", api))
    pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", api))
    signature = name_of(capsule)
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (signature.count(b",") + 1))(pointer_of(capsule, signature))
