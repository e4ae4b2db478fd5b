"""`top_eigenpairs` against LAPACK, ARPACK, LOBPCG and PRIMME on every spectrum of `mercer.testing.spectra`.

Times are processor time. PRIMME takes part if the package `primme` is installed; it needs a compiler.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.spectra --n 1000 --k 2 10

A ratio is the time of the fastest peer whose answer is right, divided by Mercer's. The peers are given the same matrix
and tolerance, and right is: k values to 1e-9 of the largest, with residuals of at most three times the tolerance.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackError, ArpackNoConvergence, eigsh, lobpcg

from mercer.linalg.eigen import top_eigenpairs
from mercer.testing.spectra import SPECTRA, SpectrumProblem, spectrum_problem

try:
    import primme
except ImportError:
    primme = None

TOL = 1e-10
Answer = tuple[np.ndarray, np.ndarray] | None


def lapack(M: np.ndarray, k: int) -> Answer:
    return eigh(M, subset_by_index=(len(M) - k, len(M) - 1))


def arpack(M: np.ndarray, k: int) -> Answer:
    try:
        return eigsh(M, k, which="LA", tol=TOL, v0=np.random.default_rng(0).uniform(-1, 1, len(M)), maxiter=300)
    except (ArpackError, ArpackNoConvergence):
        return None


def block_gradients(M: np.ndarray, k: int) -> Answer:
    start = np.random.default_rng(0).standard_normal((len(M), k))
    size = np.abs(np.diagonal(M)).max() or 1.0
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return lobpcg(M, start, largest=True, tol=TOL * size, maxiter=300)
        except (ValueError, np.linalg.LinAlgError):
            return None


def primme_pairs(M: np.ndarray, k: int) -> Answer:
    try:
        return primme.eigsh(M, k, which="LA", tol=TOL, maxiter=10_000)
    except primme.PrimmeError:
        return None


def peers() -> list[Callable[[np.ndarray, int], Answer]]:
    return [lapack, arpack, block_gradients, *([] if primme is None else [primme_pairs])]


def is_right(answer: Answer, problem: SpectrumProblem, k: int) -> bool:
    if answer is None or len(answer[0]) < k:
        return False
    unit = np.abs(problem.values[:k]).max() or 1.0
    values, vectors = answer[0] / unit, answer[1]
    residuals = np.linalg.norm(problem.matrix / unit @ vectors - vectors * values, axis=0)
    return residuals.max() <= 3 * TOL and np.abs(np.sort(values)[::-1] - problem.values[:k] / unit).max() <= 1e-9


def timed(function: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    best, answer = np.inf, None
    for _ in range(repeats):
        started = time.process_time()
        answer = function()
        best = min(best, time.process_time() - started)
    return best, answer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=1000)
    parser.add_argument("--k", type=int, nargs="+", default=[2, 10, 50])
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    ratios, wrong = [], 0
    for name in SPECTRA:
        for k in options.k:
            problem = spectrum_problem(name, options.n, k)
            times = [timed(lambda: peer(problem.matrix, k), options.repeats) for peer in peers()]  # noqa: B023
            best = min((seconds for seconds, answer in times if is_right(answer, problem, k)), default=np.nan)
            seconds, pairs = timed(lambda: top_eigenpairs(problem.matrix, k), options.repeats)  # noqa: B023
            right = is_right((pairs.values, pairs.vectors), problem, k)
            ratios, wrong = [*ratios, best / seconds], wrong + (not right)
            verdict = f"{best / seconds:6.2f}x" + ("" if right else " WRONG")
            print(f"{name:22} k = {k:<3} {pairs.solver:8} {1e3 * seconds:9.2f} ms {verdict}")
    ratios = np.array(ratios)
    print(f"median {np.nanmedian(ratios):.2f}x, worst {np.nanmin(ratios):.2f}x, {wrong} wrong of {len(ratios)}")


if __name__ == "__main__":
    main()
