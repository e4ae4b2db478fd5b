"""Kernel-target alignment: how well a kernel agrees with the classes or numbers to be predicted."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.exceptions import DegenerateDataWarning, warn
from mercer.kernels.kernel import Kernel
from mercer.kernels.resolve import resolve_kernel
from mercer.linalg.inner import CentredProducts, factor_products, operator_products
from mercer.linalg.operators import LowRank
from mercer.selection.samples import features_of_kernel, operator_of_kernel, read_samples, read_target


def alignment(
    kernel: Any,
    X: Any,
    y: Any,
    *,
    target: str = "auto",
    balanced: bool = False,
    rank: int | str | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    memory_limit: Any = None,
) -> float:
    """Centred kernel-target alignment: the cosine between HKH and HTH, where T is the kernel of the target.

        ⟨HKH, HTH⟩ / (‖HKH‖ ‖HTH‖),    T = 1[y = y'] for classes,  ⟨y, y'⟩ for numbers

    It lies between 0 and 1 for positive semidefinite kernels, and is 1 if HKH is a multiple of HTH.

    Parameters
    ----------
    kernel : a name, a Kernel or a function, bound or not
    X : (n, d) dense or CSR, strings, or the matrix for "precomputed"
    y : (n,) or (n, c), classes or numbers; columns of numbers count by their variance, so scale them first
    target : "classes", "numbers" or "auto": text, booleans and a few whole numbers are classes
    balanced : divide 1[y = y'] by the size of the class, so that small classes count as much as large ones
    rank : None for the exact value, from rows of K in blocks; a number of columns or "auto" for a low-rank factor
        FFᵀ ≈ K: ‖FᵀHY‖² / (‖FᵀHF‖ ‖YᵀHY‖)

    Cost: n² entries of k twice (rank m: n m entries and n m² flops). Memory: a few rows of K (n m numbers).

    References: C. Cortes, M. Mohri and A. Rostamizadeh, Algorithms for learning kernels based on centered alignment
    (2012).

    >>> X = np.array([[0.0], [0.1], [1.0], [1.1]])
    >>> round(alignment("linear", X, ["a", "a", "b", "b"]), 3)
    0.99

    `random_state` is a seed, a generator or None, which is the seed 0. `n_jobs` is the number of threads.
    `memory_limit` is in bytes or a text such as "4GB"; None is half of what is free.
    """
    kernel = resolve_kernel(kernel)
    X = read_samples(X, kernel)
    Y, classes = read_target(y, X.shape[0], target)
    if balanced:
        if classes is None:
            raise ValueError(
                "balanced=True weights classes, but y holds numbers. Give target='classes', or leave balanced out."
            )
        Y = Y / np.sqrt(Y.sum(axis=0))
    if rank is None:
        products = operator_products([operator_of_kernel(kernel.bind(X), X, n_jobs), LowRank(Y - Y.mean(axis=0))])
    else:
        features = features_of_kernel(
            kernel, X, rank=rank, memory_limit=memory_limit, random_state=random_state, n_jobs=n_jobs
        )
        products = factor_products([features.F, Y])
    return _cosine(products, kernel)


def _cosine(products: CentredProducts, kernel: Kernel) -> float:
    lengths = np.sqrt(np.diagonal(products.inner))
    if not lengths[0] > 0:
        warn(
            f"{kernel!r} does not vary on this data, so its alignment is set to 0.",
            DegenerateDataWarning,
        )
        return 0.0
    return float(products.inner[0, 1] / (lengths[0] * lengths[1]))
