"""Turn a name, a function or a foreign kernel object into a Kernel."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.kernels.adapters import FunctionKernel, from_gaussian_process, is_gaussian_process_kernel
from mercer.kernels.discrete import Precomputed, Spectrum
from mercer.kernels.distances import RBF, Laplacian, Matern, RationalQuadratic
from mercer.kernels.histograms import AdditiveChi2, Chi2, Hamming, Intersection
from mercer.kernels.kernel import Kernel
from mercer.kernels.products import ArcCosine, Cosine, Linear, Polynomial, Sigmoid, Tanimoto

# scikit-learn's names first, then Mercer's own. A kernel ignores gamma, degree or coef0 if it has no such parameter.
_NAMES: dict[str, Callable[[Any, float, float], Kernel]] = {
    "linear": lambda gamma, degree, coef0: Linear(),
    "poly": lambda gamma, degree, coef0: Polynomial(degree, gamma, coef0),
    "polynomial": lambda gamma, degree, coef0: Polynomial(degree, gamma, coef0),
    "rbf": lambda gamma, degree, coef0: RBF(gamma),
    "laplacian": lambda gamma, degree, coef0: Laplacian(gamma),
    "sigmoid": lambda gamma, degree, coef0: Sigmoid(gamma, coef0),
    "cosine": lambda gamma, degree, coef0: Cosine(),
    "chi2": lambda gamma, degree, coef0: Chi2(gamma),
    "additive_chi2": lambda gamma, degree, coef0: AdditiveChi2(),
    "precomputed": lambda gamma, degree, coef0: Precomputed(),
    "matern": lambda gamma, degree, coef0: Matern(length_scale=_length(gamma)),
    "rational_quadratic": lambda gamma, degree, coef0: RationalQuadratic(length_scale=_length(gamma)),
    "arc_cosine": lambda gamma, degree, coef0: ArcCosine(),
    "intersection": lambda gamma, degree, coef0: Intersection(),
    "tanimoto": lambda gamma, degree, coef0: Tanimoto(),
    "hamming": lambda gamma, degree, coef0: Hamming(),
    "spectrum": lambda gamma, degree, coef0: Spectrum(),
}

#: The names of kernels that `kernel=` accepts.
KERNEL_NAMES = tuple(_NAMES)
LENGTH_NAMES = ("matern", "rational_quadratic")  # kernels whose width is a length; gamma=None means length 1


def _length(gamma: Any) -> Any:
    """The length ℓ with γ = 1/(2ℓ²), as in the Gaussian that is the limit of both families; rules pass unchanged."""
    if gamma is None:
        return 1.0
    if isinstance(gamma, str):
        return gamma
    if np.ndim(gamma) and np.all(np.asarray(gamma) > 0):
        return tuple((1 / np.sqrt(2 * np.asarray(gamma, np.float64))).tolist())
    if np.ndim(gamma) or not 0 < gamma < math.inf:
        raise ValueError(f"gamma={gamma!r} must be positive and finite: this kernel uses it as 1/(2 length_scale²).")
    return 1 / math.sqrt(2 * gamma)


def resolve_kernel(
    kernel: Any,
    gamma: Any = None,
    degree: float = 3,
    coef0: float = 1.0,
    params: dict[str, Any] | None = None,
) -> Kernel:
    """The Kernel that `kernel` stands for.

    kernel : a Kernel, one of `KERNEL_NAMES`, a kernel of sklearn.gaussian_process, or a function of two rows or of
        two matrices, which is called with `params`. gamma, degree and coef0 apply to names only.
    gamma : "matern" and "rational_quadratic" turn a number into length_scale = 1/√(2γ), pass "median" and "scale" on
        as length_scale, and use length_scale = 1 for None

    >>> resolve_kernel("rbf", gamma=0.5)
    RBF(gamma=0.5)
    """
    if isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, str):
        if kernel not in _NAMES:
            raise ValueError(f"Unknown kernel {kernel!r}. Choose one of: {', '.join(KERNEL_NAMES)}.")
        return _NAMES[kernel](gamma, degree, coef0)
    if is_gaussian_process_kernel(kernel):
        return from_gaussian_process(kernel)
    if callable(kernel):
        return FunctionKernel(kernel, params=params or {})
    raise TypeError(
        f"A kernel must be a name, a Kernel, a function or a Gaussian-process kernel, not {type(kernel).__name__}."
    )
