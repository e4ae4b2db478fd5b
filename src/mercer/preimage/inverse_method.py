"""The interface of methods that go back from scores to rows, and the checks that they share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from mercer.backends import is_foreign, is_torch, namespace
from mercer.kernels.discrete import Precomputed
from mercer.kernels.kernel import Kernel
from mercer.kernels.vector import VectorKernel
from mercer.models.fields import Mismatch
from mercer.planning import Parts
from mercer.preimage.target import FittedComponents

PROFILED = ("sqeuclidean", "euclidean", "dot")  # values of `reads` from which gradients and distances follow


@dataclass(frozen=True)
class InverseRequest:
    """The settings of the estimator that every method receives.

    alpha : the penalty, or "loo"
    limit : the number of bytes that may be used; a fit that needs more is refused
    low_rank : whether to work on a low-rank factor, however few samples there are
    limit_given : whether the user set the limit. A limit taken from free memory differs from run to run, so it may
        refuse a fit but must not change how one is computed

    >>> InverseRequest(alpha="loo", limit=10**9, low_rank=False).alpha
    'loo'
    """

    alpha: float | str
    limit: int
    low_rank: bool
    random_state: Any = None
    n_jobs: int | None = None
    limit_given: bool = True


class PreImage(ABC):
    """A fitted map from scores (m, k) back to rows (m, d) (abstract).

    >>> from mercer import KernelPCA
    >>> X = np.random.default_rng(0).standard_normal((30, 2))
    >>> kpca = KernelPCA(2, kernel="rbf", fit_inverse_transform=True).fit(X)
    >>> isinstance(kpca.preimage_, PreImage), kpca.inverse_transform(kpca.transform(X)).shape
    (True, (30, 2))
    """

    @abstractmethod
    def __call__(self, Z: Any) -> Any:
        """Rows of the input space for rows of scores."""


class Method(BaseEstimator, ABC):
    """A method that has not been fitted yet (abstract). Its parameters are set as `inverse_method__…`.

    >>> from mercer.preimage import FixedPoint, LocalMDS, Ridge
    >>> [isinstance(method, Method) for method in (Ridge(), FixedPoint(), LocalMDS())]
    [True, True, True]
    """

    def check(self, kernel: Kernel, X: Any, request: InverseRequest) -> None:
        """Raise an error, before any work, if this method cannot handle such a kernel or such samples."""

    def parts(self, kernel: Kernel, X: Any, request: InverseRequest) -> Parts:
        """The memory of `fit` in bytes, part by part, beside the samples and their scores."""
        return {}

    @abstractmethod
    def fit(self, fitted: FittedComponents, request: InverseRequest) -> PreImage:
        """Fit the map from the scores of a fitted kernel PCA back to its rows."""


def scores_like(X: Any, Z: Any) -> Any:
    """Check scores given to inverse_transform, and convert them to the precision of the fitted scores Z."""
    X = namespace(X).astype(X, Z.dtype, copy=False) if is_foreign(X) else np.asarray(X, dtype=Z.dtype)
    k = Z.shape[1]
    if X.ndim != 2 or X.shape[1] != k:
        raise ValueError(f"inverse_transform needs the scores of {k} components, (m, {k}), not {tuple(X.shape)}.")
    if not bool(namespace(X).all(namespace(X).isfinite(X))):
        raise ValueError("inverse_transform needs finite scores; these contain NaN or infinity.")
    return X


def refuse_without_rows(kernel: Kernel) -> None:
    """Raise an error if the samples are not rows of numbers: kernel values and strings cannot be reconstructed."""
    if isinstance(kernel, Precomputed):
        raise ValueError(
            "Cannot fit_inverse_transform with a precomputed kernel: there are no rows to go back to. Give the rows "
            "and a kernel function, or fit a regression of your rows on the scores."
        )
    if kernel.accepts != "vectors":
        raise TypeError(f"inverse_transform needs vectors to go back to; {kernel!r} compares {kernel.accepts}.")


def refuse_without_profile(name: str, kernel: Kernel, X: Any) -> None:
    """Raise an error unless k is a function of ‖x − y‖ or of ⟨x, y⟩, and the rows are NumPy, CSR or tensors."""
    if is_foreign(X) and not is_torch(X):
        kind = type(X).__module__.partition(".")[0]
        raise TypeError(
            f"inverse_method={name!r} works on NumPy and CSR data and on tensors, not on {kind} arrays. Convert them, "
            "or use inverse_method='ridge', which accepts every array type."
        )
    if not isinstance(kernel, VectorKernel) or kernel.reads not in PROFILED:
        raise TypeError(
            f"inverse_method={name!r} needs a kernel that is a function of ‖x − y‖ or of ⟨x, y⟩, such as RBF, Matern, "
            f"RationalQuadratic, Linear or Polynomial; {kernel!r} is not. inverse_method='ridge' accepts any kernel."
        )


def refuse_unprofiled(*kernels: Any) -> None:
    """Raise Mismatch, for a model file, unless every kernel is a function of ‖x − y‖ or of ⟨x, y⟩."""
    if not all(getattr(kernel, "reads", "") in PROFILED for kernel in kernels):
        raise Mismatch("the kernel is not a function of a distance or of an inner product")
