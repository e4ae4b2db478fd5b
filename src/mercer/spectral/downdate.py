"""A subspace without one of its points: leave-one-out distances without a refit.

Let A = Σ φ̃ⱼφ̃ⱼᵀ be the scatter of n centred points, with eigenpairs (γ₁, v₁), (γ₂, v₂), … of which k are kept. Without
point i the mean moves by −φ̃ᵢ/(n − 1), so that the point is seen from the new mean as ρφ̃ᵢ, and the scatter becomes

    A₋ᵢ = A − ρ φ̃ᵢφ̃ᵢᵀ,    ρ = n/(n − 1).

In the coordinates s of point i along the vₗ this is diag(γ) − ρssᵀ. Its eigenvectors are w ∝ s/(γ − θ), where θ solves
the secular equation ρ Σ s²/(γ − θ) = 1, and with that equation the part of the point along w has the squared length

    ρ² (sᵀw)² = 1 / Σ s²/(γ − θ)².

The squared distance of point i from the subspace of the others is ρ²‖s‖² less this for the k largest roots θ:
`exact_distances`, if all γ are known. It searches one root alone, the k-th. The k − 1 before it lie above γₖ, and all
after it below γₖ₊₁, so a step function across that gap tells them apart (`spectral.step_function`):

    sᵀ h(diag(γ) − ρssᵀ) s    with    sᵀ(diag(γ) − ρssᵀ − z)⁻¹s = g/(1 − ρg),    g = Σ s²/(γ − z),

and g of all points at all z is one product of matrices. If only k pairs are known, the point is looked at in the span
of v₁ … vₖ and of the one direction r in which it leaves it. There A is diag(γ₁, …, γₖ, c) with c = rᵀAr, and what is
not kept belongs to the least root θ alone: `lumped_distances`, which so replaces the discarded γ, as far as point i
lies along their vₗ, by their mean.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.backends import cpu
from mercer.spectral.step_function import StepFunction

_ROUNDS = 100  # about five are needed; bisection, used when a step leaves the bracket, takes 52
_EPS, _TINY = float(np.finfo(np.float64).eps), float(np.finfo(np.float64).tiny)
_CLOSE = 1e-13  # relative change of a root at which it is found
_TOGETHER = 2**16  # numbers of a few points at a time: they stay in the cache while a root is searched
_ALONE = 1e-8  # a point whose leverage is within this of one takes a direction with it when it leaves


def exact_distances(values: np.ndarray, scores: np.ndarray, k: int, n: int) -> np.ndarray:
    """The squared distance of each point from the k-dimensional subspace of the n − 1 others.

    values : (p,), all positive eigenvalues γ of the scatter, descending
    scores : (m, p), the coordinates s of some of the n points

    Cost: about five sweeps over m · p numbers, and a product with p × 60 (more if γₖ₊₁ is close to γₖ).

    Three points on a line, and no component: each is 3/2 of its deviation away from the mean of the others.

    >>> exact_distances(np.array([2.0]), np.array([[-1.0], [0.0], [1.0]]), 0, 3)
    array([2.25, 0.  , 2.25])
    """
    if n < 2:
        return np.zeros(len(scores))
    rho, squares = n / (n - 1), scores.astype(np.float64) ** 2
    if k >= len(values):
        return _distances_from_inside(values, squares, rho)
    k = _above_a_gap(values, k)
    kept = np.zeros(len(squares))
    step = max(1, _TOGETHER // len(values))

    def work(start: int, slot: int) -> None:
        kept[start : start + step] = _kept_part(values, squares[start : start + step], rho, k)

    cpu.for_each(range(0, len(squares), step) if k else (), work)
    return np.maximum(rho**2 * squares.sum(axis=1) - kept, 0.0)


def _above_a_gap(values: np.ndarray, k: int) -> int:
    """The largest number up to k of eigenvalues with a gap after them: a root between equal ones has no part."""
    gaps = np.flatnonzero(values[:k] - values[1 : k + 1] > 64 * _EPS * values[0])
    return int(gaps[-1]) + 1 if len(gaps) else 0


def _kept_part(values: np.ndarray, squares: np.ndarray, rho: float, k: int) -> np.ndarray:
    """What the k largest roots hold of each point: ρ² sᵀPs for the projector P onto their eigenvectors."""
    size = squares.sum(axis=1)
    weights = np.maximum(squares, 1e-30 * size[:, None] + _TINY)  # a zero would take a pole away, and its root along
    t, part = _root_below(values, weights, rho, k - 1)
    if k == 1:
        return part
    step = StepFunction.across(values[k], values[k - 1], max(values[0] - values[k], values[k - 1]))
    x = (values - step.middle)[:, None]
    resolvents = squares @ np.hstack([x / (x**2 + step.poles**2), step.poles / (x**2 + step.poles**2)])
    g = resolvents[:, : len(step.poles)] + 1j * resolvents[:, len(step.poles) :]
    held = 0.5 * (size + (g / (1 - rho * g)).real @ step.weights)
    missing = 1 - step(values[k - 1] - t)  # the k-th root lies in the gap, where h is between 0 and 1
    return rho**2 * held + missing * part


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


def _root_below(values: np.ndarray, weights: np.ndarray, rho: float, j: int) -> tuple[np.ndarray, np.ndarray]:
    """γⱼ − θ and 1 / Σ s²/(γ − θ)² at the root θ between γⱼ₊₁ and γⱼ, counted from 0, for each row of weights s².

    In terms of t = γⱼ − θ, so that roots near γⱼ, which is where most are, keep their digits. The poles above θ are
    replaced by one at γⱼ, those below by one at γⱼ₊₁, with the same value and slope; the root of that is the next t.
    """
    gaps, width = values - values[j], float(values[j] - values[j + 1])
    low, high = np.zeros(len(weights)), np.full(len(weights), width)
    t = np.minimum(rho * weights[:, j], width / 2)  # one point of many moves γⱼ by its own share
    with np.errstate(all="ignore"):
        for _ in range(_ROUNDS):
            inverse = 1 / (gaps + t[:, None])
            share = weights * inverse
            value = rho * share.sum(axis=1) - 1
            above = rho * np.einsum("ij,ij->i", share[:, : j + 1], inverse[:, : j + 1])
            below = rho * np.einsum("ij,ij->i", share[:, j + 1 :], inverse[:, j + 1 :])
            low, high = np.where(value > 0, t, low), np.where(value > 0, high, t)
            step = _within(_root_of_two_poles(value, above, below, t, width), low, high)
            done = np.abs(step - t) <= _CLOSE * t
            t = step
            if done.all():
                break
        return t, 1 / (weights / (gaps + t[:, None]) ** 2).sum(axis=1)


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
