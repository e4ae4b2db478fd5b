"""Discriminant directions in feature space: the mathematics of KernelDiscriminantAnalysis.

With class shares π, weights wᵢ = π_c n sᵢ / Σ sⱼ over the class of i (one where π is the data's own and no sample
weights s are given), φ̃ the features about their weighted mean μ and Y' the (n, C) matrix √wᵢ / √(nπ_c) where i is in
c, whose columns are orthonormal,

    total scatter      S_T = Φ̃ᵀWΦ̃            between classes      S_B = B Bᵀ,  B = Φ̃ᵀW^½Y',  b_c = √(nπ_c) (μ_c − μ)

a direction w maximises wᵀS_B w against wᵀ(S_W + λnI)w. Since S_W = S_T − S_B, so does it against S_T + λnI, and with

    P = (S_T + λnI)⁻¹B,    M = BᵀP  (C × C),    M v = σ² v

the directions are w = P v / σ, all of them from one solve with C right-hand sides. Their within-class length is
wᵀ(S_W + λnI)w = 1 − σ², and J = σ²/(1 − σ²) is the notes' ratio of scatters. No n × n eigenproblem, no singular N.

The fitted mean of a class along a direction is σ² r_c, r_c = (v/σ)_c / √(nπ_c). Leaving one out: √wᵢ zᵢ are the fitted
values of a ridge regression with targets r_c, so that sample i, had it not been fitted, would be at
r_c − (r_c − zᵢ) / (1 − hᵢ − wᵢ/n), h being the regression's leverage. What is divided by is called the room of i.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from mercer.backends import beside, column_signs
from mercer.linalg.crossproducts import centred_products

_NOTHING = 1e-12  # a direction that separates the classes less than this is rounding, whatever the data


@dataclass(frozen=True)
class Classes:
    """n samples in C classes, the shares that the classes are taken to have, and what each sample counts in its own.

    For streamed rows `codes` are those of a sample, and `counts` are those of all rows, which the weights follow.
    """

    codes: np.ndarray  # (n,), 0 … C − 1
    priors: np.ndarray  # (C,)
    counts_as: np.ndarray | None = None  # (n,), positive; None: all alike
    counts: np.ndarray | None = None  # (C,), all rows of each class; None: the codes are those of all rows

    @property
    def n(self) -> int:
        return len(self.codes) if self.counts is None else int(self.counts.sum())

    @cached_property
    def weights(self) -> np.ndarray:
        """wᵢ, (n,), summing to n, and to nπ_c within class c."""
        counts = self.counts
        if counts is None:
            counts = np.bincount(self.codes, self.counts_as, minlength=len(self.priors))
        of_class = self.priors[self.codes] / (counts / self.n)[self.codes]
        return of_class if self.counts_as is None else self.counts_as * of_class

    @cached_property
    def alone(self) -> np.ndarray:
        """Whether each sample is the only one of its class, (n,)."""
        counts = np.bincount(self.codes, minlength=len(self.priors)) if self.counts is None else self.counts
        return np.asarray(counts[self.codes] == 1)

    def indicators(self) -> np.ndarray:
        """Y', (n, C)."""
        entry = np.sqrt(self.weights) / np.sqrt(self.n * self.priors)[self.codes]
        return np.where(self.codes[:, None] == np.arange(len(self.priors)), entry[:, None], 0.0)

    def of(self, sample: np.ndarray) -> Classes:
        """Some of the samples, as classes of their own with the same shares."""
        return Classes(self.codes[sample], self.priors, None if self.counts_as is None else self.counts_as[sample])


@dataclass(frozen=True)
class Directions:
    """w = P @ combine, and what the classes' targets are along them."""

    shares: np.ndarray  # (k,), σ², descending
    combine: np.ndarray  # (C, k)
    targets: np.ndarray  # (C, k), r_c

    @property
    def means(self) -> np.ndarray:
        """(C, k), where the fitted members of a class are on average."""
        return self.targets * self.shares


def directions(M: np.ndarray, classes: Classes, noise: float = 0.0) -> Directions:
    """The directions from M = BᵀP, scaled to wᵀ(S_W/n + λI)w = 1; shares below `noise` are what rounding makes."""
    shares, V = np.linalg.eigh((M + M.T) / 2)
    shares, V = shares[::-1][: len(M) - 1], V[:, ::-1][:, : len(M) - 1]
    kept = shares > max(_NOTHING, noise)
    shares, V = np.minimum(shares[kept], 1.0), V[:, kept]
    within = np.maximum(1 - shares, np.finfo(np.float64).eps)
    combine = V * (column_signs(V) * np.sqrt(classes.n / (shares * within)))
    return Directions(shares, combine, combine / np.sqrt(classes.n * classes.priors)[:, None])


def left_out(z: np.ndarray, codes: np.ndarray, room: np.ndarray, found: Directions) -> np.ndarray:
    """Where the samples would be had they not been fitted."""
    target = found.targets[codes]
    return target - (target - z) / room[:, None]


# --- on features -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Scatter:
    """S_T and B of the rows of F, and their weighted mean, summed in float64."""

    total: np.ndarray  # (m, m)
    between: np.ndarray  # (m, C)
    mean: np.ndarray  # (m,)

    @property
    def variance(self) -> float:
        """tr S_T."""
        return float(np.trace(self.total))


def scatter(F: Any, classes: Classes, n_jobs: int | None = None) -> Scatter:
    """From one pass over F and the indicators of the classes. Cost: n m² flops."""
    members = beside(classes.codes[:, None] == np.arange(len(classes.priors)), F)
    (mean, _), products = centred_products([F, members], weights=classes.weights, n_jobs=n_jobs)
    return Scatter(products[0, 0], products[0, 1] / np.sqrt(classes.n * classes.priors), mean)


class Penalised:
    """S_T + μI factored: P and M for one penalty. Cost: m³/3 flops."""

    def __init__(self, S: Scatter, mu: float) -> None:
        shifted = S.total.copy()
        shifted.flat[:: len(shifted) + 1] += mu
        try:
            self.factor = cho_factor(shifted, lower=True, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError as error:
            raise ValueError("The within-class scatter is singular; give reg a larger value.") from error
        self.P = cho_solve(self.factor, S.between, check_finite=False)
        self.M = S.between.T @ self.P

    def room(self, rows: np.ndarray, weights: np.ndarray, n: int) -> np.ndarray:
        """1 − h − w/n of rows about the mean."""
        half = solve_triangular(self.factor[0], rows.T, lower=True, check_finite=False)
        return 1 - weights * (np.einsum("ij,ij->j", half, half) + 1 / n)


class ScatterSpectrum:
    """S_T = W diag(values) Wᵀ, and some rows about the mean: every penalty from one eigendecomposition.

    Cost: about 9 m³ flops, then s m C flops per penalty for s rows.
    """

    def __init__(self, S: Scatter, rows: np.ndarray, weights: np.ndarray, n: int) -> None:
        self.values, self.W = np.linalg.eigh(S.total)
        self.values = np.maximum(self.values, 0.0)
        self.between = self.W.T @ S.between
        self.turned, self.weights, self.n = rows @ self.W, weights, n
        self.squares = self.turned**2

    def M(self, mu: float) -> np.ndarray:
        return self.between.T @ (self.between / (self.values + mu)[:, None])

    def scores(self, mu: float, combine: np.ndarray) -> np.ndarray:
        """z of the rows."""
        return self.turned @ ((self.between / (self.values + mu)[:, None]) @ combine)

    def room(self, mu: float) -> np.ndarray:
        return 1 - self.weights * (self.squares @ (1 / (self.values + mu)) + 1 / self.n)


class DualSpectrum:
    """K_w = U diag(values) Uᵀ: the same in terms of all samples. Cost: about 9 n³ flops, then n² C flops per penalty.

    √w, which K_w maps to zero, is given the trace as its eigenvalue: what it adds to 1 − h is then the difference of no
    two nearly equal numbers.
    """

    def __init__(self, Kw: np.ndarray, classes: Classes) -> None:
        self.roots, self.n = np.sqrt(classes.weights), classes.n
        self.top = float(np.trace(Kw))
        values, self.U = np.linalg.eigh(Kw + self.top / self.n * np.outer(self.roots, self.roots))
        floor = self.n * np.finfo(np.float64).eps * values[-1]
        self.values = np.where(values > floor, values, 0.0)
        self.Y = self.U.T @ without_mean(classes.indicators(), self.roots)
        self.squares = self.U**2

    def M(self, mu: float) -> np.ndarray:
        return self.Y.T @ ((self.values / (self.values + mu))[:, None] * self.Y)

    def dual(self, mu: float) -> np.ndarray:
        """(K_w + μI)⁻¹Y', (n, C)."""
        return self.U @ (self.Y / (self.values + mu)[:, None])

    def scores(self, mu: float, combine: np.ndarray) -> np.ndarray:
        fitted = self.U @ ((self.values / (self.values + mu))[:, None] * (self.Y @ combine))
        return fitted / self.roots[:, None]

    def room(self, mu: float) -> np.ndarray:
        return self.squares @ (mu / (self.values + mu)) - self.roots**2 / self.n * (mu / (self.top + mu))


def without_mean(Y: np.ndarray, roots: np.ndarray) -> np.ndarray:
    """Y' without its part along √w, which no direction has."""
    return Y - np.outer(roots, roots @ Y) / len(Y)
