"""New points in a finished map, each by its dissimilarities to the fitted rows: the map's own points stay.

y minimises Σ (δᵢ − ‖y − xᵢ‖)² over the fitted points xᵢ. It begins at the nearest row, or at the mean of the nearest
few if that is better, and takes Newton steps. A step that does not lower the sum is damped, in the end to the Guttman
transform of one point, y − g/n, which never raises it. A fitted row of a converged map stays where it is.
"""

from __future__ import annotations

import numpy as np

from mercer.backends import cpu

_NEAREST = 8  # rows whose mean is tried as a start
_STEPS = 100  # at most; Newton's method takes about ten
_ENTRIES = 2**19  # differences that a thread holds at once
_FLATTEST = 0.01  # of the Guttman transform's curvature: a step never goes further than a hundred of its steps
_SETTLED = 1e-9  # a step that is shorter, relative to the size of the map, ends a row's steps


def trilaterate(X: np.ndarray, delta: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
    """(m, c), the places of points with dissimilarities `delta`, (m, n), to the points of the map X, (n, c).

    NaN are dissimilarities that are not known; a row without any is refused. Cost: about 8 m n c numbers.
    """
    if np.isnan(delta).all(axis=1).any():
        raise ValueError("Some new rows have no known dissimilarity to any fitted row, so they have no place.")
    X = np.asarray(X, np.float64)
    out = np.empty((len(delta), X.shape[1]))
    size = max(1, _ENTRIES // max(1, X.size))
    runs = [slice(a, min(a + size, len(delta))) for a in range(0, len(delta), size)]

    def work(run: slice, slot: int) -> None:
        out[run] = _place(X, np.asarray(delta[run], np.float64))

    cpu.for_each(runs, work, n_jobs)
    return out


def _place(X: np.ndarray, delta: np.ndarray) -> np.ndarray:
    known = ~np.isnan(delta)
    w = known.astype(np.float64)
    delta = np.where(known, delta, 0.0)
    Y = _start(X, delta, w)
    value, g, H = _sums(Y, X, delta, w)
    count = w.sum(axis=1)
    damping = np.zeros(len(Y))  # what is added to the curvatures, as a share of those of the Guttman transform
    active = np.ones(len(Y), bool)
    tiny = _SETTLED * float(np.abs(X - X.mean(axis=0)).max(initial=0.0))
    for _ in range(_STEPS):
        rows = np.flatnonzero(active)
        if not len(rows):
            break
        step = _newton(g[rows], H[rows], damping[rows] * count[rows], _FLATTEST * count[rows])
        trial = Y[rows] + step
        found = _sums(trial, X, delta[rows], w[rows])
        lower = found[0] < value[rows]
        good = rows[lower]
        Y[good], value[good], g[good], H[good] = trial[lower], found[0][lower], found[1][lower], found[2][lower]
        settled = np.where(lower, np.linalg.norm(step, axis=1) <= tiny, damping[rows] >= 1)
        damping[rows] = np.where(lower, damping[rows] / 4, np.clip(4 * damping[rows], _FLATTEST, 1.0))
        active[rows[settled]] = False
    return Y


def _start(X: np.ndarray, delta: np.ndarray, w: np.ndarray) -> np.ndarray:
    """The place of the nearest row, or the mean of the nearest few."""
    far = np.where(w > 0, delta, np.inf)
    few = min(_NEAREST, far.shape[1])
    near = np.argpartition(far, few - 1, axis=1)[:, :few]
    counted = np.take_along_axis(w, near, axis=1)
    mean = (counted[:, :, None] * X[near]).sum(axis=1) / counted.sum(axis=1)[:, None]
    nearest = X[far.argmin(axis=1)]
    better = _sums(mean, X, delta, w)[0] < _sums(nearest, X, delta, w)[0]
    return np.where(better[:, None], mean, nearest)


def _sums(Y: np.ndarray, X: np.ndarray, delta: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Σ w(δ − d)², (m,), half its gradient, (m, c), and half its Hessian, (m, c, c)."""
    away = Y[:, None, :] - X[None, :, :]
    d = np.sqrt(np.einsum("mnc,mnc->mn", away, away))
    ratio = np.divide(w * delta, d, out=np.zeros_like(d), where=d > 0)
    value = np.einsum("mn,mn->m", w, (delta - d) ** 2)
    g = np.einsum("mn,mnc->mc", w - ratio, away)
    bend = np.divide(ratio, d * d, out=np.zeros_like(d), where=d > 0)
    H = np.einsum("mn,mnc,mnb->mcb", bend, away, away, optimize=True)
    H += (w - ratio).sum(axis=1)[:, None, None] * np.eye(X.shape[1])
    return value, g, H


def _newton(g: np.ndarray, H: np.ndarray, added: np.ndarray, least: np.ndarray) -> np.ndarray:
    """−(|H| + added)⁻¹g: Newton's step, with curvatures made positive, so that it goes downhill everywhere."""
    values, vectors = np.linalg.eigh(H)
    curvature = np.maximum(np.abs(values) + added[:, None], least[:, None])
    along = np.einsum("mcb,mc->mb", vectors, g) / curvature
    return -np.einsum("mcb,mb->mc", vectors, along)
