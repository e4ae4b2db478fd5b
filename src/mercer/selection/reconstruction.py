"""Cross-validated reconstruction: how much of new rows survives a few components and the way back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.backends import backend_of, to_numpy
from mercer.estimators.kernel_pca import KernelPCA
from mercer.features import rows_of
from mercer.kernels.resolve import resolve_kernel
from mercer.random_state import generator_from, seed_from
from mercer.selection.samples import read_samples


@dataclass(frozen=True)
class Reconstruction:
    """Errors of new rows in input space, Σ‖x − x̂‖² / Σ‖x − x̄‖², one per number of components and fold.

    n_components : (q,), the numbers tried
    errors : (q, folds); 0 is perfect, 1 no better than the mean of the training rows

    >>> result = Reconstruction((1, 2), np.array([[0.5, 0.7], [0.1, 0.1]]))
    >>> result.n_components[result.best], result.error
    (2, 0.1)
    """

    n_components: tuple[int, ...]
    errors: np.ndarray

    @property
    def best(self) -> int:
        """The position of the fewest components whose mean error is within one standard error of the smallest."""
        mean, spread = self.errors.mean(axis=1), self._standard_errors()
        lowest = int(np.argmin(mean))
        return int(np.flatnonzero(mean <= mean[lowest] + spread[lowest])[0])

    @property
    def error(self) -> float:
        return float(self.errors[self.best].mean())

    @property
    def standard_error(self) -> float:
        return float(self._standard_errors()[self.best])

    def _standard_errors(self) -> np.ndarray:
        return np.std(self.errors, axis=1, ddof=1) / np.sqrt(self.errors.shape[1])


def reconstruction_error(
    kernel: Any,
    X: Any,
    *,
    n_components: int | Sequence[int] | None = None,
    cv: int = 5,
    kernel_pca: dict[str, Any] | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> Reconstruction:
    """The error of rows held out, in input space: fit on the others, transform, inverse_transform, compare.

        error(k) = mean ‖x − x̂‖² / mean ‖x − x̄‖² over the rows of a fold, x̂ and the mean x̄ from the other folds

    The error compares rows, not features. So you can compare it between kernels, unlike `score`.

    Parameters
    ----------
    kernel : a kernel of vectors; a width such as "median" is taken from the training rows of each fold
    X : (n, d), dense
    n_components : the numbers to try; None means 1, 2, 4, … below d, at most 16. With d components a linear kernel
        loses nothing and always wins, so numbers from d on say little.
    cv : how many folds, drawn with `random_state`
    kernel_pca : more parameters of KernelPCA, such as `inverse_method`. If "alpha" is not given, leave-one-out on the
        training rows chooses the penalty of the inverse transform, because a good penalty depends on the kernel.

    Cost: cv fits of KernelPCA, and cv · q fits of the inverse transform. Folds run in parallel, each in one thread.

    References: M. A. Alam and K. Fukumizu, Hyperparameter selection in kernel principal component analysis (2014).

    >>> t = np.linspace(0, 2 * np.pi, 90)
    >>> X = np.column_stack([np.cos(t), np.sin(t), np.cos(2 * t)])
    >>> reconstruction_error("linear", X, n_components=[1, 2]).errors.shape
    (2, 5)

    `n_jobs` is the number of threads; None is all cores.
    """
    kernel = resolve_kernel(kernel)
    if kernel.accepts != "vectors":
        raise TypeError(
            f"Reconstruction compares vectors, but {kernel!r} does not take vectors. Use another criterion."
        )
    X = read_samples(X, kernel)
    if sp.issparse(X):
        raise TypeError(
            "Reconstruction needs dense rows to compare. Convert them with toarray(), or use another criterion."
        )
    numbers = read_folds(n_components, cv, *X.shape)
    random_state = seed_from(random_state)
    folds = np.array_split(generator_from(random_state).permutation(X.shape[0]), cv)
    options = {"alpha": "loo", "random_state": random_state, "n_jobs": n_jobs} | (kernel_pca or {})
    errors = np.empty((len(numbers), len(folds)))
    backend = backend_of(X)

    def work(number: int, slot: int) -> None:
        errors[:, number] = _fold_errors(kernel, X, folds[number], numbers, options)

    with backend.one_thread():  # one fold per thread: inside a fold matrices are small, and threads mostly wait
        backend.for_each(range(len(folds)), work, n_jobs)
    return Reconstruction(numbers, errors)


def read_folds(n_components: Any, cv: Any, n: int, d: int) -> tuple[int, ...]:
    """The numbers of components to try on n rows of d columns; ValueError where folds or numbers cannot be had."""
    if not isinstance(cv, Integral) or not 2 <= int(cv) <= n // 2:
        raise ValueError(
            f"cv={cv!r} must be from 2 to {n // 2} for {n} rows, so that every fold has at least two rows."
        )
    return _numbers(n_components, n - -(-n // int(cv)), d)


def _numbers(given: Any, rows: int, d: int) -> tuple[int, ...]:
    if given is None:
        most = max(1, min(d - 1, 16, rows - 1))  # powers of two up to 16: the winner tells the order of the dimension
        return tuple(2**i for i in range(5) if 2**i <= most)
    numbers = tuple(int(q) for q in np.atleast_1d(given))
    if not numbers or min(numbers) < 1 or max(numbers) > rows:
        raise ValueError(f"n_components={given!r} must be numbers from 1 to {rows}, the rows of a training fold.")
    return tuple(sorted(set(numbers)))


def _fold_errors(
    kernel: Any, X: Any, fold: np.ndarray, numbers: tuple[int, ...], options: dict[str, Any]
) -> list[float]:
    """The error for each number of components, all from one fit of the largest number."""
    rest = np.setdiff1d(np.arange(X.shape[0]), fold)
    train, held_out = rows_of(X, rest), rows_of(X, np.sort(fold))
    model = KernelPCA(numbers[-1], kernel=kernel, fit_inverse_transform=True, **options).fit(train)
    scores = model.transform(held_out)
    true, mean = _double(held_out), _double(train).mean(axis=0)
    spread = float(np.sum((true - mean) ** 2))

    def error(q: int) -> float:
        whole = q >= scores.shape[1]
        back = model.inverse_transform(scores) if whole else model.way_back(train, q)(scores[:, :q])
        return float(np.sum((true - _double(back)) ** 2)) / spread if spread > 0 else 0.0

    return [error(q) for q in numbers]


def _double(x: Any) -> np.ndarray:
    return to_numpy(x).astype(np.float64)
