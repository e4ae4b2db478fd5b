"""Symmetric matrices with known eigenvalues that are hard for one eigensolver or another, and real kernel matrices.

    for name in SPECTRA:
        problem = spectrum_problem(name, n=300, k=10)
        values = my_solver(problem.matrix, 10)
        # problem.values has all 300 eigenvalues, descending

A solver that is right for all of them, at every n and k, is right for most matrices that users bring. The matrices are
Q diag(values) Qᵀ with Q = C S C, where C is the orthonormal cosine transform and S has random signs. That spreads each
eigenvector over all coordinates, as a random rotation would, and costs n² log n instead of n³.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.fft
from sklearn import datasets

from mercer.kernels import RBF, Kernel, Laplacian, Linear, Polynomial

Values = Callable[[int, int], np.ndarray]


@dataclass(frozen=True)
class SpectrumProblem:
    """A symmetric matrix, (n, n), and its eigenvalues, (n,), descending."""

    matrix: np.ndarray
    values: np.ndarray


@dataclass(frozen=True)
class KernelProblem:
    """A kernel and the rows that it is to be applied to, (n, d)."""

    kernel: Kernel
    X: np.ndarray


def rotated(values: np.ndarray, seed: int = 0) -> np.ndarray:
    """Q diag(values) Qᵀ for an orthogonal Q that depends on n and the seed alone. Cost: n² log n."""
    signs = np.random.default_rng(seed).choice([-1.0, 1.0], len(values))
    size = np.abs(values).max(initial=0.0) or 1.0  # transforms of 1e300 would overflow on the way
    M = _transformed(np.diag(np.asarray(values, np.float64) / size))
    M *= signs[:, None]
    M *= signs
    M = _transformed(M)
    M += M.T.copy()
    M *= size / 2
    return M


def _transformed(M: np.ndarray) -> np.ndarray:
    """C M Cᵀ."""
    M = scipy.fft.dct(M, axis=0, norm="ortho", overwrite_x=True)
    return scipy.fft.dct(M, axis=1, norm="ortho", overwrite_x=True)


def spectrum_problem(name: str, n: int, k: int, seed: int = 0) -> SpectrumProblem:
    """The matrix of SPECTRA[name] of size n, made hard for a solver that looks for its top k pairs.

    >>> problem = spectrum_problem("flat", n=50, k=3)
    >>> problem.values[0], bool(np.allclose(np.linalg.eigvalsh(problem.matrix)[::-1], problem.values))
    (np.float64(1.0), True)
    """
    values = np.sort(SPECTRA[name](n, k))[::-1]
    return SpectrumProblem(rotated(values, seed), values)


def kernel_problem(name: str, n: int, seed: int = 0) -> KernelProblem:
    """The kernel and n rows of KERNELS[name]: rows of a data set of scikit-learn, with a little noise on repeats."""
    make, kernel = KERNELS[name]
    rng = np.random.default_rng(seed)
    X = np.asarray(make(n), np.float64)
    X = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    index = rng.permutation(np.resize(np.arange(len(X)), n))
    X = X[index] + (0.01 * rng.standard_normal((n, X.shape[1])) if n > len(X) else 0.0)
    return KernelProblem(kernel.bind(X), X)


def _clusters(count: int, width: float) -> Values:
    """`count` values from 1 down to 0.1, each many times, copies `width` apart."""

    def values(n: int, k: int) -> np.ndarray:
        which = np.arange(n) % count
        return 1 - 0.9 * which / max(1, count - 1) - width * (np.arange(n) // count)

    return values


def _bulk(n: int, ratio: float = 0.5) -> np.ndarray:
    """Quantiles of a Marchenko–Pastur law, descending: the eigenvalues of noise, dense at the upper edge."""
    low, high = (1 - np.sqrt(ratio)) ** 2, (1 + np.sqrt(ratio)) ** 2
    x = np.linspace(low, high, 20_001)[1:-1]
    weight = np.cumsum(np.sqrt((high - x) * (x - low)) / x)
    return np.interp((np.arange(n)[::-1] + 0.5) / n, weight / weight[-1], x) / high


def _led_by(first: np.ndarray, rest: np.ndarray) -> np.ndarray:
    """The values `first`, then as many of the rest as there is room for."""
    return np.concatenate([first, rest])[: len(rest)]


def _graded(decades: float) -> Values:
    return lambda n, k: 10.0 ** (-decades * np.arange(n) / max(1, n - 1))


def _power(exponent: float, scale: float = 1.0) -> Values:
    return lambda n, k: scale * np.arange(1.0, n + 1) ** -exponent


SPECTRA: dict[str, Values] = {
    # No gap anywhere: a Krylov method needs a large space.
    "flat": lambda n, k: np.linspace(1.0, 0.9, n),
    "even": lambda n, k: np.linspace(1.0, 0.0, n),
    "semicircle": lambda n, k: np.sin(np.linspace(-np.pi / 2, np.pi / 2, n)),
    # Fast and slow decay, over few and many decades.
    "inverse": _power(1.0),
    "inverse square": _power(2.0),
    "root": _power(0.5),
    "graded 6": _graded(6.0),
    "graded 15": _graded(15.0),
    "graded 300": lambda n, k: 10.0 ** (-3.0 * np.arange(n)).clip(-300),
    # Equal or nearly equal values: a method that starts from one vector sees one of them.
    "identity": lambda n, k: np.ones(n),
    "projection": lambda n, k: (np.arange(n) < n // 2).astype(float),
    "repeated": lambda n, k: _led_by(np.ones(k + 3), 0.5 / np.arange(1.0, n + 1)),
    "pairs": lambda n, k: np.repeat(1 / np.arange(1.0, n), 2)[:n],
    "clusters 1e-9": _clusters(10, 1e-9),
    "clusters 1e-4": lambda n, k: _clusters(10, 1e-4 * min(1.0, 2000 / n))(n, k),
    "nearly repeated": lambda n, k: _led_by(1 - 1e-6 * np.arange(k + 3), 0.9 / np.arange(1.0, n + 1)),
    # A gap, then the edge of a bulk; the last wanted value lies on the edge.
    "bulk": lambda n, k: _bulk(n),
    "bulk after a gap": lambda n, k: _led_by(np.linspace(40.0, 10.0, k - 1), _bulk(n)),
    "one value and a bulk": lambda n, k: _led_by(np.array([1000.0]), _bulk(n)),
    "constant and a bulk": lambda n, k: _led_by(np.array([1e8]), _bulk(n)),
    # Negative values.
    "one negative": lambda n, k: _led_by(np.array([-3.0]), 1 / np.arange(1.0, n + 1)),
    "slightly negative": lambda n, k: _led_by(np.array([-1e-3]), 1 / np.arange(1.0, n + 1)),
    "mirrored": lambda n, k: np.where(np.arange(n) % 2, -1.0, 1.0) / (1 + np.arange(n) // 2),
    "negative": lambda n, k: -np.linspace(0.1, 1.0, n),
    # Fewer values than are asked for.
    "rank one": lambda n, k: (np.arange(n) == 0).astype(float),
    "rank deficient": lambda n, k: np.where(np.arange(n) < max(1, k - 1), 1.0 / (1 + np.arange(n)), 0.0),
    "zero": lambda n, k: np.zeros(n),
    # Units in which squares nearly overflow or vanish.
    "scale 1e-14": _power(1.0, 1e-14),
    "scale 1e150": _power(1.0, 1e150),
    "scale 1e-150": _power(1.0, 1e-150),
}
"""Names of spectra, and functions of n and k that give their eigenvalues in any order."""


def _gaussian_clusters(n: int) -> Any:
    """Ten clusters in many dimensions: nine directions between them, then noise."""
    return datasets.make_blobs(n, n_features=50, centers=10, cluster_std=4.0, random_state=0)[0]


KERNELS: dict[str, tuple[Callable[[int], Any], Kernel]] = {
    "iris, rbf": (lambda n: datasets.load_iris().data, RBF("median")),
    "wine, linear": (lambda n: datasets.load_wine().data, Linear()),
    "breast cancer, rbf": (lambda n: datasets.load_breast_cancer().data, RBF("median")),
    "breast cancer, cubic": (lambda n: datasets.load_breast_cancer().data, Polynomial(degree=3, gamma=0.03, coef0=1.0)),
    "digits, rbf": (lambda n: datasets.load_digits().data, RBF("median")),
    "digits, laplacian": (lambda n: datasets.load_digits().data, Laplacian(0.02)),
    "diabetes, narrow rbf": (lambda n: datasets.load_diabetes().data, RBF(1.0)),
    "swiss roll, rbf": (lambda n: datasets.make_swiss_roll(n, random_state=0)[0], RBF(1.0)),
    "moons, rbf": (lambda n: datasets.make_moons(n, noise=0.1, random_state=0)[0], RBF(2.0)),
    "clusters, rbf": (_gaussian_clusters, RBF("median")),
}
"""Names of kernel matrices: a data set of scikit-learn as a function of the number of rows wanted, and a kernel."""
