"""The nearest φ(x) to a point of feature space, by a fixed point that never gets worse."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

from mercer.backends import backend_of
from mercer.exceptions import NotConvergedWarning, warn
from mercer.kernels.kernel import Kernel
from mercer.preimage.base import Fitted, Method, PreImage, Request, refuse_without_profile, refuse_without_rows, runs_of
from mercer.preimage.frame import Frame
from mercer.preimage.neighbors import FeatureNeighbors
from mercer.preimage.ridge import Ridge

_POSITIVE = 0.05  # of the sum of absolute weights: below it the weighted mean divides by next to nothing
_ENOUGH = 0.1  # of the decrease that the gradient promises
_CREEPING = 0.7  # of the step before: where steps shrink no faster, several are taken at once
_LONGEST = 16.0  # so many, at most
_SHORTEST = 2.0**-40
_ROUNDING = float(np.finfo(np.float64).eps)  # of Σ |c_l| max k: no smaller change of the value can be seen


class FixedPoint(Method):
    """The x whose φ(x) is nearest to P(z), by Mika's fixed point with a safeguard.

    For k = κ(‖x − y‖²) the gradient of ‖φ(x) − P‖², P = Σ c_l φ(a_l), vanishes where

        x = Σ u_l a_l / Σ u_l,    u_l = −c_l κ'(‖x − a_l‖²),    c = 1/n + Σⱼ αⱼ zⱼ,

    and for k = κ(⟨x, y⟩) where x = Σ c_l κ'(⟨x, a_l⟩) a_l / κ'(‖x‖²), which for a linear kernel is PCA's answer at
    once. Weights may be negative, so the plain iteration can divide by nothing. Each step here goes towards the
    weighted mean, along the gradient, as far as ‖φ(x) − P‖² falls: shorter where it would overshoot, longer where it
    creeps.

    Parameters
    ----------
    max_iter : int
        Steps a row.
    tol : float
        The step of the fixed point, relative to the spread of the data, at which a row is done.
    start : {"nearest", "ridge"}
        Where to begin: the training sample nearest in feature space, or the better of that and the answer of `Ridge`.

    Cost: an iteration takes n kernel entries and 2 n d flops a row (m for a fit of rank m by "rpcholesky").
    (Mika, Schölkopf, Smola, Müller, Scholz & Rätsch 1998.)

    >>> FixedPoint(tol=1e-8)
    FixedPoint(tol=1e-08)
    """

    def __init__(self, max_iter: int = 300, tol: float = 1e-5, start: str = "nearest") -> None:
        self.max_iter = max_iter
        self.tol = tol
        self.start = start

    def check(self, kernel: Kernel, X: Any, request: Request) -> None:
        refuse_without_rows(kernel)
        refuse_without_profile("fixed_point", kernel, X)
        if not isinstance(self.max_iter, Integral) or self.max_iter < 1:
            raise ValueError(f"max_iter={self.max_iter!r} must be a whole number ≥ 1.")
        if not isinstance(self.tol, Real) or not 0 < self.tol < 1:
            raise ValueError(f"tol={self.tol!r} must be a number between 0 and 1.")
        if self.start not in ("nearest", "ridge"):
            raise ValueError(f"start={self.start!r} must be 'nearest' or 'ridge'.")
        if self.start == "ridge":
            Ridge().check(kernel, X, request)

    def fit(self, fitted: Fitted, request: Request) -> FixedPointMap:
        ridge = Ridge().fit(fitted, request) if self.start == "ridge" else None
        neighbors = FeatureNeighbors.of(fitted, request.n_jobs)
        return FixedPointMap(fitted, neighbors, ridge, self.max_iter, self.tol, request.n_jobs)


@dataclass(frozen=True)
class FixedPointAnswer:
    """Pre-images and how they were found.

    X : (m, d)
    n_iter : (m,), steps taken
    converged : (m,), whether the last step was below the tolerance, or no step lowered the error further
    error : (m,), ‖φ(x) − P‖²
    start_error : (m,), the same where the search began
    """

    X: np.ndarray
    n_iter: np.ndarray
    converged: np.ndarray
    error: np.ndarray
    start_error: np.ndarray


@dataclass(frozen=True)
class FixedPointMap(PreImage):
    """The search, ready for scores; `solve` tells more of it than the call does."""

    fitted: Fitted
    neighbors: FeatureNeighbors
    ridge: PreImage | None
    max_iter: int
    tol: float
    n_jobs: int | None

    def __call__(self, Z: np.ndarray) -> np.ndarray:
        rows, _, _, converged = self._search(np.asarray(Z, np.float64))
        missed = int(np.sum(~converged))
        if missed:
            warn(
                f"The fixed point is not reached for {missed} of {len(Z)} rows after {self.max_iter} steps; what was "
                "found is given, and is no worse than where it began. Raise max_iter or tol of FixedPoint.",
                NotConvergedWarning,
            )
        return rows

    def solve(self, Z: np.ndarray) -> FixedPointAnswer:
        """Pre-images of rows of scores, with the number of steps and the error of each."""
        wide = np.asarray(Z, np.float64)
        rows, starts, n_iter, converged = self._search(wide)
        error, start_error = (self.fitted.error(wide, X) for X in (rows, starts))
        return FixedPointAnswer(rows, n_iter, converged, error, start_error)

    def _search(self, wide: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Rows, where they began, steps taken, and whether that was enough."""
        m, d = len(wide), self.fitted.X.shape[1]
        frame = Frame.of(self.fitted)
        starts = self._starts(frame, wide)
        U, n_iter, converged = np.empty((m, d)), np.zeros(m, np.int64), np.zeros(m, bool)

        def work(run: slice, slot: int) -> None:
            found = _Search(frame, self.fitted.coefficients(wide[run]), starts[run])
            found.run(self.max_iter, self.tol * frame.spread)
            U[run], n_iter[run], converged[run] = found.U, found.n_iter, found.converged

        backend_of(wide).for_each(runs_of(m, max(len(frame.points), d)), work, self.n_jobs)
        rows, starts = (frame.outward(part).astype(self.fitted.Z.dtype, copy=False) for part in (U, starts))
        return rows, starts, n_iter, converged

    def _starts(self, frame: Frame, Z: np.ndarray) -> np.ndarray:
        """The training sample nearest in feature space, or the regression's answer where that is nearer."""
        places = self.neighbors(Z, 1)[0][:, 0]
        U = frame.inward(self.fitted.X[places])
        if self.ridge is None:
            return U
        given = Z.astype(self.fitted.Z.dtype, copy=False)
        other = self.ridge(given)
        nearest = self.fitted.error(Z, frame.outward(U).astype(given.dtype, copy=False))
        better = self.fitted.error(Z, other) < nearest
        return np.where(better[:, None], frame.inward(other), U)


class _Search:
    """Rows on their way to the fixed point, all at once; those that are done are no longer computed with.

    value is ½k(x, x) − Σ c_l k(x, a_l), which is ½‖φ(x) − P‖² less a constant; k(x, x) is left out where it is one.
    """

    def __init__(self, frame: Frame, C: np.ndarray, U: np.ndarray) -> None:
        self.frame, self.C, self.U = frame, C, U.copy()
        self.n_iter = np.zeros(len(U), np.int64)
        self.converged = np.zeros(len(U), bool)
        self.length = np.ones(len(U))  # steps of the fixed point to take at once
        self.value, self.step, self.promise = self._look(self.U, C)
        self.noise = _ROUNDING * np.abs(C).sum(axis=1) * float(np.max(frame.kernel.diagonal(frame.points)))
        self.stuck = np.zeros(len(U), bool)

    def run(self, max_iter: int, least: float) -> None:
        for _ in range(max_iter):
            alive = np.flatnonzero(~self._arrived(least))
            if not len(alive):
                break
            self._advance(alive)
        self.converged = self._arrived(least)

    def _arrived(self, least: float) -> np.ndarray:
        return (_norms(self.step) <= least) | self.stuck | (self.length < _SHORTEST)

    def _advance(self, alive: np.ndarray) -> None:
        length = self.length[alive]
        U = self.U[alive] + length[:, None] * self.step[alive]
        value, step, promise = self._look(U, self.C if len(alive) == len(self.C) else self.C[alive])
        unseen = self.promise[alive] <= self.noise[alive]  # then only the steps tell, by growing shorter
        better = value <= self.value[alive] - _ENOUGH * length * self.promise[alive] + unseen * self.noise[alive]
        kept = alive[better]
        self.U[kept], self.value[kept] = U[better], value[better]
        creeping = _norms(step) > _CREEPING * _norms(self.step[alive])
        longer = np.where(creeping & ~unseen, np.minimum(2 * length, _LONGEST), np.minimum(2 * length, 1.0))
        self.length[alive] = np.where(better, longer, 0.5 * length)
        self.stuck[alive] = unseen & creeping
        self.step[kept], self.promise[kept] = step[better], promise[better]
        self.n_iter[alive] += 1

    def _look(self, U: np.ndarray, C: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The value at U, the step to the weighted mean, and how fast the value falls along it."""
        new = self.frame.at(U)
        with np.errstate(over="ignore", invalid="ignore"):  # a step too far: no better, so it is halved
            K, slopes = self.frame.values_and_slopes(new)
            value = -np.einsum("ij,ij->i", C, K)
            weights = np.multiply(C, slopes, out=slopes)
            if self.frame.kernel.reads == "dot":
                value += 0.5 * self.frame.kernel.diagonal(new)
                own, factor = self.frame.own_slopes(new), 1.0
            else:
                weights *= -1
                own, factor = weights.sum(axis=1), 2.0
            pull = weights @ self.frame.points.rows - own[:, None] * U
            size = np.abs(weights).sum(axis=1)
            by = np.where(own > _POSITIVE * size, own, size)
            step = np.divide(pull, by[:, None], out=np.zeros_like(pull), where=by[:, None] > 0)
            promise = factor * np.einsum("ij,ij->i", pull, step)
        return value, step, promise


def _norms(rows: np.ndarray) -> np.ndarray:
    return np.sqrt(np.einsum("ij,ij->i", rows, rows))
