"""The penalty and the width of discriminants by leave-one-out.

Every candidate is judged by the share of left-out samples that its rule misclassifies, and among equals by how far they
lie from their targets. What it costs to judge all penalties on the grid decides how they are searched:

    whole path     one eigendecomposition, of a small kernel matrix or scatter, gives the verdict on every penalty
    walk           on a large factor each verdict costs a Cholesky factor: downhill from the best penalty of a sample
    widths         each takes the whole path of a sample: downhill from the width that the data suggests
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from mercer.spectral.class_rule import fit_rule
from mercer.spectral.scatter import Classes, DualSpectrum, Penalised, Scatter, ScatterSpectrum, directions, left_out

REG_GRID = np.logspace(-9, 0, 28)  # relative to the total variance: what reg="loo" tries
SAMPLE = 2000  # samples that are left out in turn; more would only repeat what they say
HIDDEN = 1e-11  # room below this is rounding
EPS = float(np.finfo(np.float64).eps)
_NARROWEST, _WIDEST = 6, -6  # powers of two about the starting width, far beyond what any data was seen to want

Verdict = tuple[float, float]  # the share of errors, and the mean squared distance from the targets
Path = tuple[np.ndarray, np.ndarray]  # candidates, and the error of each
NEVER: Verdict = (1.0, np.inf)


def stratified_sample(codes: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """About `size` samples, each class in proportion but none left out; all of them if there are no more."""
    if len(codes) <= size:
        return np.arange(len(codes))
    counts = np.bincount(codes)
    wanted = np.minimum(counts, np.maximum(2, size * counts // len(codes)))
    order = rng.permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    first = np.cumsum(counts) - counts
    return np.sort(np.concatenate([order[f : f + w] for f, w in zip(first, wanted, strict=True)]))


def verdict(
    M: np.ndarray,
    room: np.ndarray,
    scores: Callable[[np.ndarray], np.ndarray],
    sample: np.ndarray,
    classes: Classes,
    reg: float,
) -> Verdict:
    """What leaving out each sample in turn says of one penalty; `scores` gives their z for the directions P @ combine.

    A penalty so small that rounding hides what leaving one out would change is never chosen.
    """
    found = directions(M, classes, noise=8 * EPS / reg)
    if not len(found.shares) or np.median(room) < HIDDEN:
        return NEVER
    codes, w = classes.codes[sample], classes.weights[sample]
    z = left_out(scores(found.combine), codes, np.maximum(room, HIDDEN), found)
    wrong = fit_rule(z, codes, w, found, classes.priors).decide(z).argmax(axis=1) != codes
    away = ((z - found.targets[codes]) ** 2 * found.shares * (1 - found.shares)).sum(axis=1)
    return float(np.average(wrong, weights=w)), float(np.average(away, weights=w))


def best_on_path(
    spectrum: ScatterSpectrum | DualSpectrum,
    variance: float,
    sample: np.ndarray,
    classes: Classes,
    regs: np.ndarray = REG_GRID,
) -> tuple[float, Verdict, Path]:
    """The best of the penalties, its verdict, and the errors of all of them."""
    found = []
    for reg in regs:
        mu = float(reg) * variance
        scores = partial(spectrum.scores, mu)
        found.append(verdict(spectrum.M(mu), spectrum.room(mu), scores, sample, classes, float(reg)))
    best = min(range(len(regs)), key=lambda i: found[i])
    return float(regs[best]), found[best], (np.asarray(regs), np.array([error for error, _ in found]))


def walk(judge: Callable[[float], Verdict], start: float) -> tuple[float, Path]:
    """The penalty that no neighbour on the grid betters: steps of a decade from `start`, then of a third.

    >>> reg, (tried, errors) = walk(lambda reg: (abs(np.log10(reg) + 5), 0.0), start=1e-3)
    >>> round(float(np.log10(reg)), 6), len(tried)
    (-5.0, 6)
    """
    seen: dict[int, Verdict] = {}

    def at(i: int) -> Verdict:
        if not 0 <= i < len(REG_GRID):
            return NEVER
        if i not in seen:
            seen[i] = judge(float(REG_GRID[i]))
        return seen[i]

    here = int(np.argmin(np.abs(np.log(REG_GRID / start))))
    for step in (3, 1):
        here = _downhill(at, here, step)
    tried = np.array(sorted(seen))
    return float(REG_GRID[here]), (REG_GRID[tried], np.array([seen[i][0] for i in tried]))


def _downhill(at: Callable[[int], Verdict], here: int, step: int) -> int:
    """The place from which neither neighbour, `step` away, is better. Larger candidates are tried first."""
    for direction in (-step, step):
        while at(here + direction) < at(here):
            here += direction
    return here


def on_a_factor(
    S: Scatter, rows: np.ndarray, sample: np.ndarray, classes: Classes, variance: float
) -> Callable[[float], Verdict]:
    """The verdict on a penalty by a Cholesky factor of S_T + μI; `rows` (s, m) are the sample's, about the mean."""

    def judge(reg: float) -> Verdict:
        penalised = Penalised(S, reg * variance)
        room = penalised.room(rows, classes.weights[sample], classes.n)
        return verdict(penalised.M, room, lambda combine: rows @ (penalised.P @ combine), sample, classes, reg)

    return judge


def best_width(
    judge: Callable[[float], Verdict], slack: Callable[[float], float] = lambda error: 0.0
) -> tuple[float, Path]:
    """The factor 2ʲ on gamma with the best verdict: downhill from 1, in steps of two and then of √2.

    slack : how far above the least error another may lie and still count as equal. Among equals the search goes on to
        narrower kernels as long as left-out samples come nearer their targets: a sample prefers widths that are too
        large for all the data that it was drawn from.

    >>> factor, (tried, errors) = best_width(lambda factor: (abs(np.log2(factor) - 2.5), 0.0))
    >>> round(factor, 6)
    5.656854
    """
    seen: dict[int, Verdict] = {}

    def at(i: int) -> Verdict:
        if not 2 * _WIDEST <= i <= 2 * _NARROWEST:
            return NEVER
        if i not in seen:
            seen[i] = judge(2.0 ** (i / 2))
        return seen[i]

    here = _downhill(at, _downhill(at, 0, 2), 1)
    most = at(here)[0] + slack(at(here)[0])
    while most > at(here)[0] and at(here + 1)[0] <= most and at(here + 1)[1] < at(here)[1]:
        here += 1
    tried = np.array(sorted(seen))
    return 2.0 ** (here / 2), (2.0 ** (tried / 2), np.array([seen[i][0] for i in tried]))
