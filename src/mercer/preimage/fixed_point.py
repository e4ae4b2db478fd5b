"""The nearest φ(x) to a point of feature space, by a fixed point that learns curvature and never gets worse."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

from mercer.amounts import amount
from mercer.backends import backend_of, is_foreign, namespace, to_numpy
from mercer.exceptions import NotConvergedWarning, warn
from mercer.kernels.kernel import Kernel
from mercer.models.fields import THREADS, SavedEstimator, SavedRecord, finite, instance_of, optional, whole
from mercer.planning import Parts
from mercer.preimage.anchor_frame import AnchorFrame
from mercer.preimage.inverse_method import (
    InverseRequest,
    Method,
    PreImage,
    refuse_unprofiled,
    refuse_without_profile,
    refuse_without_rows,
)
from mercer.preimage.ridge import Ridge
from mercer.preimage.secant_pairs import MEMORY, SecantPairs
from mercer.preimage.target import FeatureNeighbors, FittedComponents, precision_of, runs_of

# If Σu_l is below this share of Σ|u_l|, the search divides by Σ|u_l| instead: dividing by almost nothing would throw
# the weighted mean far from the data.
_POSITIVE = 0.05
# A step must achieve this share of the decrease that the gradient promises (Armijo's condition). It is small enough to
# accept most steps of the fixed point, and large enough that the error keeps falling.
_ENOUGH = 0.1
_ROUNDING = float(np.finfo(np.float64).eps)


class FixedPoint(Method):
    """The x whose φ(x) is nearest to P(z), by Mika's fixed point, safeguarded and accelerated.

    For k = κ(‖x − y‖²) the gradient of ‖φ(x) − P‖², P = Σ c_l φ(a_l), vanishes where

        x = Σ u_l a_l / Σ u_l,    u_l = −c_l κ'(‖x − a_l‖²),    c = 1/n + Σⱼ αⱼ zⱼ,

    and for k = κ(⟨x, y⟩) where x = Σ c_l κ'(⟨x, a_l⟩) a_l / κ'(‖x‖²). For a linear kernel the first step already gives
    PCA's answer. Weights may be negative, so the plain iteration can divide by zero, and in a flat valley it creeps.
    Here the step to the weighted mean is the first guess of a limited-memory BFGS method, which learns the curvature of
    ‖φ(x) − P‖² from the steps it has taken. A step that does not lower the error is halved.

    A row is done when both the step of the fixed point and the step that the curvature suggests are within `tol`. It is
    also done when the decrease that is still possible is smaller than the rounding of the error itself. Because of this
    second test a row converges whatever the last bits of the data are.

    Parameters
    ----------
    max_iter : int
        The largest number of steps per row. Most rows need five to ten.
    tol : float
        The step, relative to the spread of the data, at which a row is done.
    start : {"nearest", "ridge"}
        Where the search starts: at the nearest training sample in feature space, or at the better of that sample and
        the answer of `Ridge`.

    Cost: a step takes n kernel entries and 2 n d flops per row (m for a fit of rank m by "rpcholesky").
    (Mika, Schölkopf, Smola, Müller, Scholz & Rätsch 1998; Liu & Nocedal 1989.)

    >>> FixedPoint(tol=1e-8)
    FixedPoint(tol=1e-08)
    """

    _saved = SavedEstimator("method.FixedPoint", root=False)

    def __init__(self, max_iter: int = 300, tol: float = 1e-5, start: str = "nearest") -> None:
        self.max_iter = max_iter
        self.tol = tol
        self.start = start

    def check(self, kernel: Kernel, X: Any, request: InverseRequest) -> None:
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

    def parts(self, kernel: Kernel, X: Any, request: InverseRequest) -> Parts:
        return Ridge().parts(kernel, X, request) if self.start == "ridge" else {}

    def fit(self, fitted: FittedComponents, request: InverseRequest) -> FixedPointMap:
        ridge = Ridge().fit(fitted, request) if self.start == "ridge" else None
        neighbors = FeatureNeighbors.of(fitted, request.n_jobs)
        return FixedPointMap(fitted, neighbors, ridge, self.max_iter, self.tol, request.n_jobs)


@dataclass(frozen=True)
class FixedPointAnswer:
    """Pre-images, and how they were found.

    X : (m, d)
    n_iter : (m,), steps taken
    converged : (m,), whether the last step was within the tolerance, or no step could lower the error further
    error : (m,), ‖φ(x) − P‖²
    start_error : (m,), the same at the start of the search

    >>> from mercer import KernelPCA
    >>> X = np.random.default_rng(0).standard_normal((30, 2))
    >>> kpca = KernelPCA(2, kernel="rbf", fit_inverse_transform=True, inverse_method="fixed_point").fit(X)
    >>> answer = kpca.preimage_.solve(kpca.transform(X))
    >>> answer.X.shape, bool((answer.error <= answer.start_error + 1e-12).all())
    ((30, 2), True)
    """

    X: np.ndarray
    n_iter: np.ndarray
    converged: np.ndarray
    error: np.ndarray
    start_error: np.ndarray


@dataclass(frozen=True)
class FixedPointMap(PreImage):
    """A map from scores to pre-images. `solve` also returns the number of steps and the errors."""

    _saved = SavedRecord(
        "preimage.FixedPointMap",
        {
            "fitted": instance_of("Fitted", n="n", d="d", k="k"),
            "neighbors": instance_of("FeatureNeighbors", n="n", k="k"),
            "ridge": optional(instance_of("preimage.RidgeMap", d="d", k="k")),
            "max_iter": whole(1, 10**7),
            "tol": finite,
            "n_jobs": THREADS,
        },
        also=lambda parts: refuse_unprofiled(parts.fitted.kernel, parts.fitted.expansion.kernel),
    )

    fitted: FittedComponents
    neighbors: FeatureNeighbors
    ridge: PreImage | None
    max_iter: int
    tol: float
    n_jobs: int | None

    def __call__(self, Z: Any, *, tile_entries: int | None = None) -> Any:
        wide = to_numpy(Z).astype(np.float64, copy=False)
        rows, _, _, converged = self._search(wide, tile_entries or self.fitted.tile_entries)
        missed = int(np.sum(~converged))
        if missed:
            warn(
                f"FixedPoint did not converge for {missed} of {len(Z)} rows in {amount(self.max_iter, 'step')}. "
                "The rows that it returns are no worse than the training rows it started from. Raise max_iter or tol "
                "of FixedPoint.",
                NotConvergedWarning,
            )
        return self.fitted.like_rows(rows)

    def solve(self, Z: Any) -> FixedPointAnswer:
        """Pre-images of rows of scores, with the number of steps and the error of each, in NumPy arrays."""
        wide = to_numpy(Z).astype(np.float64, copy=False)
        rows, starts, n_iter, converged = self._search(wide, self.fitted.tile_entries)
        error, start_error = (self.fitted.error(wide, X) for X in (rows, starts))
        return FixedPointAnswer(rows, n_iter, converged, error, start_error)

    def _search(self, wide: np.ndarray, tile_entries: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """For each row of scores: the pre-image, its starting point, the number of steps, and whether it converged."""
        m, d = len(wide), self.fitted.X.shape[1]
        frame = AnchorFrame.of(self.fitted)
        starts = self._starts(frame, wide)
        U, n_iter, converged = np.empty((m, d)), np.zeros(m, np.int64), np.zeros(m, bool)

        def work(run: slice, slot: int) -> None:
            found = _Search(frame, self.fitted.coefficients(wide[run]), starts[run])
            found.run(self.max_iter, self.tol * frame.spread)
            U[run], n_iter[run], converged[run] = found.U, found.n_iter, found.converged

        runs = runs_of(m, max(len(frame.points), 2 * MEMORY * d), tile_entries)
        backend_of(frame.points.rows).for_each(runs, work, self.n_jobs)
        dtype = precision_of(self.fitted.Z)
        rows, starts = (frame.outward(part).astype(dtype, copy=False) for part in (U, starts))
        return rows, starts, n_iter, converged

    def _starts(self, frame: AnchorFrame, Z: np.ndarray) -> np.ndarray:
        """The nearest training sample in feature space, or the answer of the regression if that is nearer."""
        places = self.neighbors(Z, 1)[0][:, 0]
        U = frame.inward(self.fitted.X[places])
        if self.ridge is None:
            return U
        given = Z.astype(precision_of(self.fitted.Z), copy=False)
        other = self.ridge(self.fitted.like_rows(given))
        nearest = self.fitted.error(Z, frame.outward(U).astype(given.dtype, copy=False))
        better = self.fitted.error(Z, other) < nearest
        return np.where(better[:, None], frame.inward(other), U)


class _Search:
    """A search that moves many rows at once, each to its own minimum. Rows that are done cost nothing more.

    Kernel values and sums over the anchors are computed where the anchors live; the rest, m × d numbers, on the host.

    The value of a row is ½k(x, x) − Σ c_l k(x, a_l), which is ½‖φ(x) − P‖² less a constant; k(x, x) is left out if the
    kernel makes it constant. Each row moves along H · (−gradient), where H is a limited-memory BFGS matrix. H starts
    from the fixed point's own scale, so that the first direction is the step of the fixed point.
    """

    def __init__(self, frame: AnchorFrame, C: Any, U: np.ndarray) -> None:
        m = len(U)
        self.frame, self.C, self.U = frame, C, U.copy()
        self.n_iter = np.zeros(m, np.int64)
        self.converged = np.zeros(m, bool)
        self.finished = np.zeros(m, bool)  # rows whose value no step can lower by more than rounding
        self.length = np.ones(m)  # of the next step, in units of the direction
        self.longest = np.full(m, frame.spread)  # a step may not be longer than this, or the fixed point's own step
        self.weight = to_numpy(abs(C).sum(axis=1)) * float(frame.kernel.diagonal(frame.points).max())
        self.farthest = float(frame.points.norms.max()) ** 0.5
        self.pairs = SecantPairs(m, U.shape[1])
        self.here = self._look(self.U, np.arange(m))
        self.direction = self.here.step.copy()

    def run(self, max_iter: int, least: float) -> None:
        for _ in range(max_iter):
            alive = np.flatnonzero(~self._arrived(least))
            if not len(alive):
                break
            self._advance(alive)
        self.converged = self._arrived(least)

    def _arrived(self, least: float) -> np.ndarray:
        return self.finished | (np.maximum(_norms(self.here.step), _norms(self.direction)) <= least)

    def _advance(self, rows: np.ndarray) -> None:
        """Try one step of each of these rows, and accept it or shorten the next one."""
        before, length = self.here.take(rows), self.length[rows]
        move = length[:, None] * self.direction[rows]
        promise = np.einsum("ij,ij->i", before.fall, move)
        after = self._look(self.U[rows] + move, rows)
        # If the promised decrease is smaller than the rounding of the value, only the gradient can show progress. Such
        # a step is accepted if it halves the gradient.
        unseen = promise <= before.noise
        seen_better = after.value <= before.value - _ENOUGH * promise
        still_better = (after.value <= before.value + before.noise) & (_norms(after.step) <= 0.5 * _norms(before.step))
        better = np.where(unseen, still_better, seen_better)
        self.n_iter[rows] += 1
        self._accept(rows[better], move[better], length[better], before.take(better), after.take(better))
        self._shorten(rows[~better], unseen[~better])

    def _accept(self, rows: np.ndarray, move: np.ndarray, length: np.ndarray, before: _Place, after: _Place) -> None:
        self.U[rows] += move
        self.here.put(rows, after)
        convex = self.pairs.add(rows, move, before.fall - after.fall)
        # If the slope did not flatten along the step, there is no curvature to learn: go on, twice as far.
        self.length[rows] = np.where(convex, 1.0, 2 * length)
        self.longest[rows] = np.maximum(self.longest[rows], 2 * _norms(move))
        self._turn(rows)

    def _shorten(self, rows: np.ndarray, unseen: np.ndarray) -> None:
        """Halve the step. If the decrease is below rounding, forget the curvature first, and the next time give up."""
        self.length[rows] *= 0.5
        hopeless, learnt = rows[unseen], self.pairs.known(rows[unseen])
        self.finished[hopeless[~learnt]] = True
        self.pairs.forget(hopeless[learnt])
        self.length[hopeless[learnt]] = 1.0
        self._turn(hopeless[learnt])

    def _turn(self, rows: np.ndarray) -> None:
        """Compute the new direction of these rows, and shorten the step to the longest that is allowed."""
        here = self.here.take(rows)
        direction = self.direction[rows] = self.pairs.times(rows, here.fall, here.scale)
        longest = np.maximum(self.longest[rows], _norms(here.step))
        reach = _norms(direction) * self.length[rows]
        self.length[rows] *= np.divide(longest, reach, out=np.ones_like(reach), where=reach > longest)

    def _look(self, U: np.ndarray, rows: np.ndarray) -> _Place:
        """The value at U, its downward gradient, and the step to the weighted mean."""
        frame, C = self.frame, self.C if len(rows) == len(self.C) else self.C[rows]
        new, xp = frame.at(U), namespace(C)
        with np.errstate(over="ignore", invalid="ignore"):  # a step that overflows is not accepted, so it is halved
            K, weights = frame.values_and_slopes(new)
            value = -to_numpy(xp.sum(C * K, axis=1) if is_foreign(C) else np.einsum("ij,ij->i", C, K))
            weights *= C
            magnitude = self.weight[rows]
            if frame.kernel.reads == "dot":
                own_value = 0.5 * to_numpy(frame.kernel.diagonal(new))
                value += own_value
                magnitude = magnitude + np.abs(own_value)
                own, factor = to_numpy(frame.own_slopes(new)), 1.0
            else:
                weights *= -1
                own, factor = to_numpy(weights.sum(axis=1)), 2.0
            pull = to_numpy(weights @ frame.points.rows) - own[:, None] * U
            size = to_numpy(abs(weights).sum(axis=1))
            by = factor * np.where(own > _POSITIVE * size, own, size)
            scale = np.divide(1.0, by, out=np.zeros_like(by), where=by > 0)
            # The rounding of the value: that of each term, and that of the distance or product inside each term.
            noise = _ROUNDING * (magnitude + size * (np.sqrt(to_numpy(new.norms)) + self.farthest) ** 2)
            return _Place(value, factor * pull, scale, noise)


@dataclass
class _Place:
    """The value of each row at its present place, and the quantities that its next step needs."""

    value: np.ndarray  # (m,)
    fall: np.ndarray  # (m, d), minus the gradient
    scale: np.ndarray  # (m,), scale · fall is the step of the fixed point
    noise: np.ndarray  # (m,), a bound on the rounding of the value

    @property
    def step(self) -> np.ndarray:
        return self.scale[:, None] * self.fall

    def take(self, rows: np.ndarray) -> _Place:
        return _Place(self.value[rows], self.fall[rows], self.scale[rows], self.noise[rows])

    def put(self, rows: np.ndarray, other: _Place) -> None:
        self.value[rows], self.fall[rows] = other.value, other.fall
        self.scale[rows], self.noise[rows] = other.scale, other.noise


def _norms(rows: np.ndarray) -> np.ndarray:
    return np.sqrt(np.einsum("ij,ij->i", rows, rows))
