"""The penalty of kernel discriminants: the one of least leave-one-out error, on a sample of every class."""

from __future__ import annotations

import numpy as np

from mercer.linalg.discriminant import Classes, DualSpectrum, ScatterSpectrum, directions, left_out
from mercer.linalg.discriminant_rule import fit_rule

REG_GRID = np.logspace(-9, 0, 28)  # relative to the total variance: what reg="loo" tries
SAMPLE = 2000  # samples that are left out in turn; more would only repeat what they say
EPS = float(np.finfo(np.float64).eps)
HIDDEN = 1e-11  # room below this is rounding


def stratified_sample(codes: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """About `size` samples, each class in proportion but none left out; all of them where there are no more."""
    if len(codes) <= size:
        return np.arange(len(codes))
    counts = np.bincount(codes)
    wanted = np.minimum(counts, np.maximum(2, size * counts // len(codes)))
    order = rng.permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    first = np.cumsum(counts) - counts
    return np.sort(np.concatenate([order[f : f + w] for f, w in zip(first, wanted, strict=True)]))


def choose_reg(
    spectrum: ScatterSpectrum | DualSpectrum, variance: float, sample: np.ndarray, classes: Classes
) -> tuple[float, tuple[np.ndarray, np.ndarray]]:
    """The reg of least leave-one-out error; among equals the one whose left-out samples lie nearest their targets.

    A penalty so small that rounding hides what leaving one out would change is not considered.
    """
    codes, w = classes.codes[sample], classes.weights[sample]
    judged = []
    for reg in REG_GRID:
        mu = reg * variance
        found, room = directions(spectrum.M(mu), classes, noise=8 * EPS / reg), spectrum.room(mu)
        if not len(found.shares) or np.median(room) < HIDDEN:
            judged.append((1.0, np.inf))
            continue
        z = left_out(spectrum.scores(mu, found.combine), codes, np.maximum(room, HIDDEN), found)
        rule = fit_rule(z, codes, w, found, classes.priors)
        error = float(np.average(rule.decide(z).argmax(axis=1) != codes, weights=w))
        miss = np.average(((z - found.targets[codes]) ** 2 * found.shares * (1 - found.shares)).sum(axis=1), weights=w)
        judged.append((error, float(miss)))
    best = min(range(len(REG_GRID)), key=lambda i: judged[i])
    return float(REG_GRID[best]), (REG_GRID, np.array([error for error, _ in judged]))
