"""A subspace without one of its points: leave-one-out distances without a refit.

Let A = Σ φ̃ⱼφ̃ⱼᵀ be the scatter of n centred points, with eigenpairs (γ₁, v₁), (γ₂, v₂), … of which k are kept. Without
point i the mean moves by −φ̃ᵢ/(n − 1), so that the point is seen from the new mean as ρφ̃ᵢ, and the scatter becomes

    A₋ᵢ = A − ρ φ̃ᵢφ̃ᵢᵀ,    ρ = n/(n − 1).

In the coordinates s of point i along the vₗ this is diag(γ) − ρssᵀ. Its eigenvectors are w ∝ s/(γ − θ), where θ solves
the secular equation ρ Σ s²/(γ − θ) = 1, and with that equation the part of the point along w has the squared length

    ρ² (sᵀw)² = 1 / Σ s²/(γ − θ)².

The squared distance of point i from the subspace of the others is ρ²‖s‖² less this for the k largest roots θ:
`exact_distances`, if all γ are known. If only k pairs are, the point is looked at in the span of v₁ … vₖ and of
the one direction r in which it leaves it. There A is diag(γ₁, …, γₖ, c) with c = rᵀAr, and what is not kept belongs to
the least root θ alone: `lumped_distances`, which so replaces the discarded γ, as far as point i lies along their vₗ, by
their mean.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_ROUNDS = 100  # about five are needed; bisection, used when a step leaves the bracket, takes 52
_EPS, _TINY = float(np.finfo(np.float64).eps), float(np.finfo(np.float64).tiny)
_CLOSE = 1e-13  # relative change of a root at which it is found
_ALONE = 1e-8  # a point whose leverage is within this of one takes a direction with it when it leaves


def exact_distances(values: np.ndarray, scores: np.ndarray, k: int, n: int) -> np.ndarray:
    """The squared distance of each point from the k-dimensional subspace of the n − 1 others.

    values : (p,), all positive eigenvalues γ of the scatter, descending
    scores : (m, p), the coordinates s of some of the n points

    Cost: about five sweeps over m · p numbers for each of the k roots.

    Three points on a line, and no component: each is 3/2 of its deviation away from the mean of the others.

    >>> exact_distances(np.array([2.0]), np.array([[-1.0], [0.0], [1.0]]), 0, 3)
    array([2.25, 0.  , 2.25])
    """
    if n < 2:
        return np.zeros(len(scores))
    rho, squares = n / (n - 1), scores.astype(np.float64) ** 2
    if k >= len(values):
        return _distances_from_inside(values, squares, rho)
    size = squares.sum(axis=1)
    weights = np.maximum(squares, 1e-30 * size[:, None] + _TINY)  # a zero would take a pole away, and its root along
    kept = sum((_part_along_root(values, weights, rho, j) for j in range(k)), np.zeros(len(size)))
    return np.maximum(rho**2 * size - kept, 0.0)


def lumped_distances(
    values: np.ndarray, scores: np.ndarray, outside: np.ndarray, spread: np.ndarray, n: int
) -> np.ndarray:
    """The same from the k kept pairs alone, to the accuracy of replacing the others by their mean.

    values : (k,), γ
    scores : (m, k), the coordinates z of some of the n points
    outside : (m,), ‖φ̃ − Σ z v‖², the squared distances from the subspace fitted to all points
    spread : (m,), rᵀAr · outside, r the direction in which a point leaves the subspace

    Cost: about ten sweeps over m · (k + 1) numbers.
    """
    if n < 2:
        return np.zeros(len(scores))
    rho, alive = n / (n - 1), values > 0
    values, squares = values[alive].astype(np.float64), scores[:, alive].astype(np.float64) ** 2
    inside = outside <= _EPS * squares.sum(axis=1)
    out = np.zeros(len(scores))
    out[inside] = _distances_from_inside(values, squares[inside], rho)
    away, s2 = outside[~inside], squares[~inside]
    # c is at least what the point itself adds to it, and at most the least eigenvalue that is kept.
    c = np.minimum(np.maximum(spread[~inside] / away, rho * away), values.min(initial=np.inf))
    poles = np.column_stack([np.broadcast_to(values, s2.shape), c])
    out[~inside] = _part_along_least_root(poles, np.column_stack([s2, away]), rho)
    return out


def _distances_from_inside(values: np.ndarray, squares: np.ndarray, rho: float) -> np.ndarray:
    """For points on the subspace: distance zero, unless the point alone spans a direction (θ = 0)."""
    alone = rho * (squares / values).sum(axis=1) >= 1 - _ALONE
    return np.where(alone, 1 / (squares / values**2).sum(axis=1, where=alone[:, None], initial=_TINY), 0.0)


def _part_along_root(values: np.ndarray, weights: np.ndarray, rho: float, j: int) -> np.ndarray:
    """1 / Σ s²/(γ − θ)² at the root θ between γⱼ₊₁ and γⱼ, counted from 0, for each row of weights s².

    In terms of t = γⱼ − θ, so that roots near γⱼ, which is where most are, keep their digits. The poles above θ are
    replaced by one at γⱼ, those below by one at γⱼ₊₁, with the same value and slope; the root of that is the next t.
    """
    gaps, width = values - values[j], float(values[j] - values[j + 1])
    low, high = np.zeros(len(weights)), np.full(len(weights), width)
    t = np.minimum(rho * weights[:, j], width / 2)  # one point of many moves γⱼ by its own share
    with np.errstate(all="ignore"):  # equal eigenvalues leave no room, and no part along their roots
        for _ in range(_ROUNDS if width > 0 else 0):
            distance = gaps + t[:, None]
            share = rho * weights / distance
            slopes = share / distance
            value = share.sum(axis=1) - 1
            low, high = np.where(value > 0, t, low), np.where(value > 0, high, t)
            step = _root_of_two_poles(value, slopes[:, : j + 1].sum(axis=1), slopes[:, j + 1 :].sum(axis=1), t, width)
            step = _within(step, low, high)
            done = np.abs(step - t) <= _CLOSE * t
            t = step
            if done.all():
                break
        return 1 / (weights / (gaps + t[:, None]) ** 2).sum(axis=1)


def _within(step: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The step if it is in the bracket, or outside only by rounding; otherwise the middle of the bracket."""
    return np.where((step >= (1 - 2 * _CLOSE) * low) & (step <= (1 + 2 * _CLOSE) * high), step, (low + high) / 2)


def _root_of_two_poles(value: np.ndarray, above: np.ndarray, below: np.ndarray, t: np.ndarray, width: float) -> Any:
    """The x in (0, width) with A/x + B/(x − width) = c, where A/t² = above, B/(t − width)² = below and f(t) = value."""
    A, B = above * t**2, below * (width - t) ** 2
    c = A / t - B / (width - t) - value
    b = c * width + A + B
    root = np.sqrt(np.maximum(b**2 - 4 * c * A * width, 0.0))
    return np.where(b > 0, 2 * A * width / (b + root), (b - root) / (2 * c))


def _part_along_least_root(poles: np.ndarray, squares: np.ndarray, rho: float) -> np.ndarray:
    """1 / Σ s²/(d − θ)² at the least root θ of ρ Σ s²/(d − θ) = 1, row by row; the last pole of a row is its least."""
    gaps = poles - poles[:, -1:]
    low, high = rho * squares[:, -1], rho * squares.sum(axis=1)  # one pole alone, all poles in one place
    t = low.copy()  # the step from the least pole down to θ: no difference of near numbers is taken
    for _ in range(_ROUNDS):
        share = rho * squares / (gaps + t[:, None])
        value, slope = share.sum(axis=1) - 1, (share / (gaps + t[:, None])).sum(axis=1)
        low, high = np.where(value > 0, t, low), np.where(value > 0, high, t)
        step = t + value * (value + 1) / slope  # Newton on 1/(value + 1), which is nearly straight
        step = _within(step, low, high)
        done = np.abs(step - t) <= _CLOSE * t
        t = step
        if done.all():
            break
    return 1 / (squares / (gaps + t[:, None]) ** 2).sum(axis=1)
