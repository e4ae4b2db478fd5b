"""The width and the penalty of canonical pairs, by the correlation of their scores on samples that were held out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer.backends import cpu, to_numpy
from mercer.features import rows_of, symmetric, whole_matrix
from mercer.kernels import Kernel
from mercer.kernels.discrete import Precomputed
from mercer.spectral.canonical import top_singular_triplets

REGS = np.logspace(-6, 0, 7)  # what reg="cv" tries: between them correlations hardly differ
SAMPLE = 900  # samples that widths and penalties are compared on: a second for each width
FOLDS = 3


def column_correlations(first: Any, second: Any) -> np.ndarray:
    """The correlation of each column of one array with that of the other, (k,); zero if one of them is constant."""
    a, b = (to_numpy(scores).astype(np.float64) for scores in (first, second))
    a, b = a - a.mean(axis=0), b - b.mean(axis=0)
    sizes = np.linalg.norm(a, axis=0) * np.linalg.norm(b, axis=0)
    alive = sizes > 0
    return np.clip(np.where(alive, np.sum(a * b, axis=0) / np.where(alive, sizes, 1.0), 0.0), -1.0, 1.0)


def held_out_correlations(
    kernels: Sequence[Kernel], views: Sequence[Any], k: int, regs: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """The mean correlation of k pairs of scores on held-out samples, for each penalty, (r,): three folds of a sample.

    regs : (r,), or (r, 2) if each view has a penalty of its own; zero is allowed
    Cost per view and fold: one eigendecomposition; then one product and the top of a singular value decomposition for
    each penalty.
    """
    n, regs = views[0].shape[0], np.broadcast_to(regs.T, (2, len(regs))).T
    sample = np.sort(rng.permutation(n)[:SAMPLE])
    folds = rng.permutation(len(sample)) % FOLDS
    found = np.zeros((FOLDS, len(regs)))
    with cpu.one_thread():  # two threads mostly wait for each other on matrices of this size
        matrices = [_sample_matrix(kernel, X, sample) for kernel, X in zip(kernels, views, strict=True)]
        for fold in range(FOLDS):
            train, test = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
            found[fold] = _one_fold(matrices, train, test, k, regs)
    return found.mean(axis=0)


def _sample_matrix(kernel: Kernel, X: Any, sample: np.ndarray) -> np.ndarray:
    if isinstance(kernel, Precomputed):
        return np.array(to_numpy(symmetric(X))[np.ix_(sample, sample)], np.float64)
    return to_numpy(whole_matrix(kernel, rows_of(X, sample)))


def _one_fold(matrices: list[np.ndarray], train: np.ndarray, test: np.ndarray, k: int, regs: np.ndarray) -> np.ndarray:
    """In the eigenvectors U of K̃, with γ its eigenvalues, T = D₁U₁ᵀU₂D₂ for D² = γ/(γ + μ), and α = Uu/√(γ(γ + μ))."""
    values, U = zip(*(_spectrum(K[np.ix_(train, train)]) for K in matrices), strict=True)
    new = [K[np.ix_(test, train)] for K in matrices]
    both, out = U[0].T @ U[1], np.zeros(len(regs))
    for i, reg in enumerate(regs):
        if not all(len(part) for part in values):
            continue  # a view without variation correlates with nothing
        mu = [own * part.sum() for own, part in zip(reg, values, strict=True)]
        D = [np.sqrt(part / (part + m)) for part, m in zip(values, mu, strict=True)]
        _, *turns = top_singular_triplets(D[0][:, None] * both * D[1], min(k, len(D[0]), len(D[1])))
        scores = [_new_scores(*view) for view in zip(new, U, values, mu, turns, strict=True)]
        out[i] = column_correlations(*scores).sum() / k  # pairs that do not exist correlate with nothing
    return out


def _spectrum(K: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The eigenvalues of HKH that are more than rounding, and their vectors."""
    means = K.mean(axis=0)
    values, vectors = np.linalg.eigh(K - means - (means - means.mean())[:, None])
    alive = values > len(K) * np.finfo(np.float64).eps * max(float(np.trace(K)), 0.0)
    return values[alive], vectors[:, alive]


def _new_scores(K: np.ndarray, U: np.ndarray, values: np.ndarray, mu: float, turn: np.ndarray) -> np.ndarray:
    """Scores of held-out samples, up to a constant and a factor, which correlations do not see."""
    coefs = U @ (turn / np.sqrt(values * (values + mu))[:, None])
    return K @ (coefs - coefs.mean(axis=0))
