"""What separates two groups of rows: a kernel discriminant with its leave-one-out error, and the variables behind it.

The contribution of a variable is the mean square of ∂z/∂x over rows of both groups, times its variance, as a share of
all: how much the direction z that separates the groups depends on it. The difference of means is in standard
deviations of the variable within the groups.

Rows along the direction show what rows of one group become on the way to the other. The direction is w = N⁻¹(m₁ − m₂),
with m₁, m₂ the groups' means in feature space and N the spread within them. Of all moves that change z by as much, the
likeliest within a group is along Nw = m₁ − m₂: the line through both means. Two kinds of rows stand for it:

    of a map that can be inverted    what places on the line through the means of the groups' coordinates stand for
    of any other                     the means of the compared rows, weighted by a Gaussian of their distance in z
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.estimators.kernel_discriminant import KernelDiscriminantAnalysis
from mercer.live.live_table import LiveTable

LEAST, MOST = 3, 1_500  # rows per group: fewer say nothing, of more a sample is taken
_MOST_COLUMNS = 300  # variables up to which contributions are found
_LOOKED_AT = 40  # rows per group at which the direction is differentiated
ALONG = 7  # places along the direction, the middle one halfway between the groups
_AT_ONCE = 20_000  # rows that are scored together
_BEYOND = 0.25  # of the way between the groups that the places reach beyond their means


@dataclass(frozen=True)
class GroupDifferences:
    """How well two groups can be told apart, and by what.

    error, error_se : the leave-one-out error of the discriminant, and its standard error
    chance : the error of always naming the larger group
    variables : numbers of columns, those that contribute most first
    contributions, differences : (d,) as above; contributions are NaN for very wide tables
    means : (2, d), of the two groups
    rows : how many of each group were compared
    scores : (n,) of all rows of the table along the direction, the first group at the greater values
    shares : (ALONG,) places on the way from the mean of the first group (0) to that of the second (1), and beyond
    along : (ALONG, d) means of the rows around each place
    reached : how far along this way the discriminant puts given rows (m, d), as shares (m,)
    """

    error: float
    error_se: float
    chance: float
    variables: np.ndarray
    contributions: np.ndarray
    differences: np.ndarray
    means: np.ndarray
    rows: tuple[int, int]
    scores: np.ndarray
    shares: np.ndarray
    along: np.ndarray
    reached: Callable[[np.ndarray], np.ndarray]


def group_differences(table: LiveTable, first: np.ndarray, second: np.ndarray, seed: int = 0) -> GroupDifferences:
    """Compare the rows of two masks (n,), which must not overlap.

    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> X[:30, 1] += 6
    >>> found = group_differences(LiveTable(X), np.arange(60) < 30, np.arange(60) >= 30)
    >>> int(found.variables[0]), found.error < 0.1
    (1, True)
    """
    if np.any(first & second):
        raise ValueError("The two groups have rows in common. Select them apart.")
    rng = np.random.default_rng(seed)
    chosen = [np.flatnonzero(group) for group in (first, second)]
    for rows in chosen:
        if len(rows) < LEAST:
            raise ValueError(f"A group has {len(rows)} rows; at least {LEAST} are needed to compare.")
    chosen = [np.sort(rng.permutation(rows)[:MOST]) for rows in chosen]
    X = table.X[np.concatenate(chosen)]
    X = X.toarray() if hasattr(X, "toarray") else X
    X = X.astype(np.float64)
    y = np.repeat([0, 1], [len(rows) for rows in chosen])
    within = np.sqrt(np.mean([X[y == k].var(axis=0) for k in (0, 1)], axis=0))
    means = np.stack([X[y == k].mean(axis=0) for k in (0, 1)])
    apart = means[0] - means[1]
    constant = np.where(apart == 0, 0.0, np.copysign(np.inf, apart))  # in both groups
    differences = np.where(within > 0, apart / np.where(within > 0, within, 1.0), constant)
    spread = X.std(axis=0)
    centre, unit = X.mean(axis=0), np.where(spread > 0, spread, 1.0)  # units must not decide what separates
    Z = (X - centre) / unit
    model = KernelDiscriminantAnalysis().fit(Z, y)
    scores = _scores(model, table.X, centre, unit)
    z = scores[np.concatenate(chosen)]
    start, end = (float(z[y == k].mean()) for k in (0, 1))
    way = end - start if end != start else 1.0  # groups without a difference: all rows are at its beginning
    shares = np.linspace(-_BEYOND, 1 + _BEYOND, ALONG)
    contributions = _contributions(model, Z, y, rng)
    order = np.argsort(-np.where(np.isnan(contributions), np.abs(differences), contributions), kind="stable")
    return GroupDifferences(
        float(model.loo_error_),
        float(model.loo_error_se_),
        float(min(np.mean(y), 1 - np.mean(y))),
        order,
        contributions,
        differences,
        means,
        (len(chosen[0]), len(chosen[1])),
        scores if start > end else -scores,
        shares,
        _along(X, z, start + shares * (end - start)),
        lambda rows: (_scores(model, rows, centre, unit) - start) / way,
    )


def _scores(model: KernelDiscriminantAnalysis, X: Any, centre: np.ndarray, unit: np.ndarray) -> np.ndarray:
    """(n,) of rows, some at a time: a sparse table becomes dense."""
    parts = []
    for start in range(0, X.shape[0], _AT_ONCE):
        rows = X[start : start + _AT_ONCE]
        rows = rows.toarray() if hasattr(rows, "toarray") else rows
        parts.append(np.asarray(model.transform((rows - centre) / unit))[:, 0])
    return np.concatenate(parts)


def _along(X: np.ndarray, z: np.ndarray, places: np.ndarray) -> np.ndarray:
    """The means of the rows around each place of z."""
    width = max(abs(float(places[1] - places[0])), 1e-300)
    exponents = -0.5 * ((places[:, None] - z) / width) ** 2
    weights = np.exp(exponents - exponents.max(axis=1, keepdims=True))  # a place beyond all rows has the last ones
    return weights @ X / weights.sum(axis=1, keepdims=True)


def _contributions(
    model: KernelDiscriminantAnalysis, Z: np.ndarray, y: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Shares (d,) of the mean squared gradient of the direction, by central differences."""
    d = Z.shape[1]
    if d > _MOST_COLUMNS:
        return np.full(d, np.nan)
    rows = np.concatenate([rng.permutation(np.flatnonzero(y == k))[:_LOOKED_AT] for k in (0, 1)])
    step = 1e-3  # standard deviations
    squares = np.empty(d)
    for j in range(d):
        moved = np.repeat(Z[rows], 2, axis=0)
        moved[0::2, j] += step
        moved[1::2, j] -= step
        z = np.asarray(model.transform(moved))[:, 0]
        squares[j] = np.mean(((z[0::2] - z[1::2]) / (2 * step)) ** 2)
    total = squares.sum()
    return squares / total if total > 0 else np.zeros(d)
