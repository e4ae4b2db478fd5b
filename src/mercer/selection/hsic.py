"""The Hilbert–Schmidt independence criterion: whether two samples depend on each other, in any way kernels can see."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import gamma as gamma_distribution

from mercer.backends import to_numpy
from mercer.exceptions import MemoryLimitError
from mercer.kernels.kernel import Kernel
from mercer.kernels.resolve import resolve_kernel
from mercer.linalg.inner import CentredProducts, centred_columns, factor_products, operator_products
from mercer.linalg.operators import Centered, LowRank
from mercer.memory import available_bytes, format_bytes, parse_bytes
from mercer.random_state import generator_from
from mercer.selection.samples import features_of_kernel, operator_of_kernel, read_samples


@dataclass(frozen=True)
class HSIC:
    """The Hilbert–Schmidt independence criterion of two samples, and a test of independence with it.

        HSIC = tr(HKHL) / n²   (biased), with the kernel matrices K and L of the two samples

    value : the value of the chosen estimator
    p_value : the probability of a value this large if the two samples are independent; None without a test
    null_mean, null_std : the mean and the standard deviation of the biased value over all ways to pair the samples anew
    n : the number of pairs

    >>> from mercer.selection import hsic
    >>> x = np.linspace(-1, 1, 60)[:, None]
    >>> test = hsic("rbf", x, "rbf", x**2)
    >>> test.n, bool(test.p_value < 0.001)
    (60, True)
    """

    value: float
    p_value: float | None
    null_mean: float
    null_std: float
    n: int


def hsic(
    kernel_x: Any,
    X: Any,
    kernel_y: Any,
    Y: Any,
    *,
    estimator: str = "unbiased",
    test: str | None = "gamma",
    n_permutations: int = 500,
    rank: int | str | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    memory_limit: Any = None,
) -> HSIC:
    """The Hilbert–Schmidt independence criterion: the squared length of the cross-covariance of two kernels' features.

        biased    ⟨HKH, HLH⟩ / n²
        unbiased  (Σ_{i≠j} KᵢⱼLᵢⱼ + Σ' K Σ' L / ((n−1)(n−2)) − 2 Σᵢ (Σ'ⱼ Kᵢⱼ)(Σ'ⱼ Lᵢⱼ) / (n−2)) / (n(n−3)),
                  Σ' without the diagonal

    Parameters
    ----------
    kernel_x, X and kernel_y, Y : two kernels (names, Kernels, functions) and n samples of each
    estimator : "unbiased", whose mean is zero for independent samples, or "biased", which is never negative
    test : "gamma", a gamma distribution with the exact mean and variance of ⟨HKH, HLH⟩ over all permutations;
        "permutation", the share of `n_permutations` random permutations that reach the value; None for no test
    rank : None for exact values; a number of columns or "auto" for values on low-rank factors

    Cost: n² entries of each kernel twice, in blocks of rows. "permutation" keeps both centred matrices (or factors of
    `rank` columns, n m² flops per permutation).

    References: A. Gretton et al., A kernel statistical test of independence (2008); L. Song et al., Feature selection
    via dependence maximization (2012); F. Kazi-Aoual et al., Refined approximations to permutation tests (1995).

    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-1, 1, (200, 1))
    >>> hsic("rbf", x, "rbf", x**2).p_value < 0.001, hsic("rbf", x, "rbf", rng.standard_normal((200, 1))).p_value > 0.05
    (True, True)

    `random_state` is a seed, a generator or None, which is the seed 0. `n_jobs` is the number of threads.
    `memory_limit` is in bytes or a text such as "4GB"; None is half of what is free.
    """
    if estimator not in ("biased", "unbiased"):
        raise ValueError(f"Unknown estimator {estimator!r}. Choose 'unbiased' or 'biased'.")
    if test not in ("gamma", "permutation", None):
        raise ValueError(f"Unknown test {test!r}. Choose 'gamma', 'permutation' or None.")
    if n_permutations < 1:
        raise ValueError(f"n_permutations={n_permutations} must be at least 1.")
    sides = [_side(k, data) for k, data in ((kernel_x, X), (kernel_y, Y))]
    n = sides[0][1].shape[0]
    if sides[1][1].shape[0] != n:
        raise ValueError(f"X has {n} samples and Y has {sides[1][1].shape[0]}; they must come in pairs.")
    if test == "permutation" and rank is None:
        _refuse_large_pair(n, memory_limit)
    if rank is None:
        held: list[Any] = [operator_of_kernel(kernel, data, n_jobs) for kernel, data in sides]
        products = operator_products(held)
    else:
        options = {"rank": rank, "memory_limit": memory_limit, "random_state": random_state, "n_jobs": n_jobs}
        held = [LowRank(features_of_kernel(kernel, data, **options).F) for kernel, data in sides]
        products = factor_products([A.F for A in held])
    mean, deviation = permutation_moments(products)
    p_value = None
    if test == "gamma":
        p_value = _gamma_tail(products.inner[0, 1], mean, deviation)
    elif test == "permutation":
        p_value = _permutation_tail(held, products, n_permutations, random_state)
    value = products.inner[0, 1] / n**2 if estimator == "biased" else _unbiased(products)
    value, mean, deviation = _in_units_of_the_data([value, mean / n**2, deviation / n**2], products.scales)
    return HSIC(value, p_value, mean, deviation, n)


def _in_units_of_the_data(figures: list[float], scales: np.ndarray) -> list[float]:
    """The figures times both scales; ValueError if they overflow. The test itself does not depend on the scales."""
    with np.errstate(over="ignore", under="ignore"):
        scaled = np.array(figures) * scales.min() * scales.max()
    if not np.all(np.isfinite(scaled)):
        raise ValueError(
            f"The criterion overflows: the kernels' entries are about {scales[0]:.0e} and {scales[1]:.0e} here. "
            "Scale the data (sklearn.preprocessing.StandardScaler); that does not change the test."
        )
    return [float(figure) for figure in scaled]


def _side(kernel: Any, data: Any) -> tuple[Kernel, Any]:
    kernel = resolve_kernel(kernel)
    data = read_samples(data, kernel, least=4)
    return kernel.bind(data), data


def _refuse_large_pair(n: int, memory_limit: Any) -> None:
    need = 3 * 8 * n * n  # two centred matrices and one in another order
    limit = parse_bytes(memory_limit) if memory_limit is not None else available_bytes() // 2
    if need > limit:
        raise MemoryLimitError(
            f"A permutation test on {n} pairs needs {format_bytes(need)}, more than the limit of "
            f"{format_bytes(limit)}. Nothing was allocated. Try test='gamma', or rank='auto'."
        )


def _unbiased(products: CentredProducts) -> float:
    """The unbiased estimator from centred matrices A = HKH, B = HLH, as scaled.

    Adding aᵢ + aⱼ to Kᵢⱼ does not change it, so K may be replaced by A. Each row of A sums to zero, and to −Aᵢᵢ without
    the diagonal. So Σ' A = −tr A, and every sum reduces to one over the diagonals.
    """
    a, b = products.diagonals
    n, crossed = len(a), float(a @ b)
    total = products.inner[0, 1] - crossed + a.sum() * b.sum() / ((n - 1) * (n - 2)) - 2 * crossed / (n - 2)
    return total / (n * (n - 3))


def permutation_moments(products: CentredProducts) -> tuple[float, float]:
    """The mean and the standard deviation of ⟨A, PBPᵀ⟩ over all n! permutations P, for centred A and B as scaled.

    With T = tr A, T₂ = ‖A‖², S = Σ Aᵢᵢ², and the same of B (Kazi-Aoual et al. 1995):

        mean      T T' / (n − 1)
        variance  2 ((n−1)T₂ − T²)((n−1)T₂' − T'²) / ((n−1)²(n+1)(n−2))
                  + (n(n+1)S − (n−1)(T² + 2T₂))(n(n+1)S' − (n−1)(T'² + 2T₂')) / ((n+1)n(n−1)(n−2)(n−3))
    """
    n = products.diagonals.shape[1]
    T, S = products.diagonals.sum(axis=1), np.sum(products.diagonals**2, axis=1)
    T2 = np.diagonal(products.inner)
    first = 2 * np.prod((n - 1) * T2 - T**2) / ((n - 1) ** 2 * (n + 1) * (n - 2))
    second = np.prod(n * (n + 1) * S - (n - 1) * (T**2 + 2 * T2)) / ((n + 1) * n * (n - 1) * (n - 2) * (n - 3))
    return float(np.prod(T) / (n - 1)), float(np.sqrt(max(first + second, 0.0)))


def _gamma_tail(value: float, mean: float, deviation: float) -> float:
    """P(G ≥ value) for the gamma distribution with this mean and deviation; 1 if nothing varies."""
    if not (deviation > 0 and mean > 0):
        return 1.0
    return float(gamma_distribution.sf(value, (mean / deviation) ** 2, scale=deviation**2 / mean))


def _permutation_tail(held: list[Any], products: CentredProducts, count: int, random_state: Any) -> float:
    """(1 + how many random pairings reach the value) / (1 + count): the value itself is one of the pairings."""
    rng, n, value = generator_from(random_state), held[0].n, products.inner[0, 1]
    pairs = list(zip(held, products.scales, strict=True))
    if isinstance(held[0], LowRank):
        F, G = (centred_columns(A.F) / np.sqrt(scale) for A, scale in pairs)
        drawn = [float(np.sum((F.T @ G[rng.permutation(n)]) ** 2)) for _ in range(count)]
    else:
        K, L = (to_numpy(Centered(A).to_dense()) / scale for A, scale in pairs)
        drawn = [_paired(K, L, rng.permutation(n)) for _ in range(count)]
    reached = sum(v >= value * (1 - 1e-12) for v in drawn)  # sums in another order are equal but for rounding
    return float((1 + reached) / (1 + count))


def _paired(K: np.ndarray, L: np.ndarray, order: np.ndarray) -> float:
    return float(np.vdot(K, L[np.ix_(order, order)]))
