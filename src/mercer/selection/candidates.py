"""The kernels to compare: the user's own, or a default list."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sklearn.base import clone

from mercer.kernels.discrete import Spectrum
from mercer.kernels.distances import RBF, Laplacian, Matern
from mercer.kernels.kernel import Kernel
from mercer.kernels.products import Linear, Polynomial
from mercer.kernels.resolve import resolve_kernel

WIDTHS = (1 / 16, 1 / 4, 1.0, 4.0, 16.0)  # multiples of the median gamma; each step halves the length of a Gaussian


def default_candidates(X: Any) -> list[Kernel]:
    """The kernels that `select_kernel` compares if you name none.

    For vectors: Linear; Polynomial of degree 2 and 3 with gamma="scale"; RBF at 1/16, 1/4, 1, 4 and 16 times the median
    gamma; Laplacian at 1/4, 1 and 4 times its own; Matern (ν = 3/2) at 1/2, 1 and 2 median distances. For strings:
    Spectrum of length 2 to 5.

    >>> import numpy as np
    >>> len(default_candidates(np.eye(4))), default_candidates(np.array(["ab", "abc"], dtype=object))[0]
    (14, Spectrum(length=2))

    `X` is the data: vectors or strings.
    """
    if X.ndim != 2:
        return [Spectrum(length) for length in (2, 3, 4, 5)]
    wide, city = RBF("median").bind(X), Laplacian("median").bind(X)
    length = Matern(1.5, "median").bind(X)
    return [
        Linear(),
        Polynomial(2, "scale"),
        Polynomial(3, "scale"),
        *(RBF(w * wide.gamma) for w in WIDTHS),  # type: ignore[attr-defined]
        *(Laplacian(w * city.gamma) for w in WIDTHS[1:4]),  # type: ignore[attr-defined]
        *(Matern(1.5, w * length.length_scale) for w in (0.5, 1.0, 2.0)),  # type: ignore[attr-defined]
    ]


def read_candidates(candidates: Any) -> list[Kernel]:
    """Kernels from names, Kernels, functions and pairs (name, parameters); all must take the same kind of samples."""
    if isinstance(candidates, (str, Kernel, tuple)) or not isinstance(candidates, Iterable):
        raise TypeError(
            f"candidates={candidates!r} must be a list of kernels: names, Kernels, functions or (name, parameters)."
        )
    kernels = [_read(candidate) for candidate in candidates]
    if not kernels:
        raise ValueError("candidates is empty: name at least one kernel, or omit it to compare the default ones.")
    kinds = {kernel.accepts for kernel in kernels}
    if len(kinds) > 1:
        raise ValueError(f"The candidates take different kinds of samples: {', '.join(sorted(kinds))}.")
    return kernels


def _read(candidate: Any) -> Kernel:
    if not isinstance(candidate, tuple):
        return resolve_kernel(candidate)
    if len(candidate) != 2 or not isinstance(candidate[1], dict):
        raise TypeError(f"{candidate!r} must be a pair (kernel, parameters), such as ('rbf', {{'gamma': 0.1}}).")
    return clone(resolve_kernel(candidate[0])).set_params(**candidate[1])
