"""What every way back starts from: the point P of feature space that scores name, and distances to it.

With w_j the components, μ the mean of the features and z the scores, P(z) = μ + Σⱼ zⱼ wⱼ. A fit keeps w_j and μ as
combinations of the features of its anchors a_l, so P = Σ_l c_l φ(a_l) with c = (mean coefficients) + coefs z. Since
φ(x) − P = (φ(x) − μ − Σⱼ tⱼ wⱼ) + Σⱼ (tⱼ − zⱼ) wⱼ for the scores t of x, and the two parts are orthogonal,

    ‖φ(x) − P‖² = ‖t − z‖² + excess(x),    excess(x) = ‖φ(x) − μ‖² − ‖t‖² ≥ 0,

which no cancellation spoils, and of which only the first part depends on z.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from mercer.backends import is_foreign, namespace
from mercer.expansion import KernelExpansion
from mercer.kernels.discrete import Precomputed
from mercer.kernels.kernel import Kernel
from mercer.kernels.kernel_fields import bound_kernel
from mercer.kernels.vector import VectorKernel
from mercer.models.fields import Mismatch, SavedRecord, finite, floats, instance_of, samples

TILE_ENTRIES = 2**21  # of the largest block that is made at a time: 16 MB of float64
PROFILED = ("sqeuclidean", "euclidean", "dot")  # readings off which gradients and distances can be had


@dataclass(frozen=True)
class Request:
    """What was asked for besides the method.

    alpha : a penalty, or "loo"
    limit : bytes that may be taken: more is refused
    low_rank : whether a factor is wanted, however few the samples
    limit_given : whether the limit is the user's. One that was read off free memory differs from run to run, and so
        may refuse but never choose
    """

    alpha: float | str
    limit: int
    low_rank: bool
    random_state: Any = None
    n_jobs: int | None = None
    limit_given: bool = True


@dataclass(frozen=True)
class Fitted:
    """A fitted kernel PCA, as far as the way back needs it.

    kernel : bound to the data
    X : the samples, (n, d), dense or CSR
    Z : their scores, (n, k)
    expansion : x ↦ (scores, ⟨μ, φ(x)⟩), (k + 1) columns
    mean_norm : ‖μ‖²
    """

    _saved = SavedRecord(
        "Fitted",
        {
            "kernel": bound_kernel,
            "X": samples("n", "d"),
            "Z": floats("n", "k"),
            "expansion": instance_of("KernelExpansion", n="m", d="d", k="k+1"),
            "mean_norm": finite,
        },
    )

    kernel: Kernel
    X: Any
    Z: Any
    expansion: KernelExpansion
    mean_norm: float

    @property
    def k(self) -> int:
        return self.Z.shape[1]

    def coefficients(self, Z: np.ndarray) -> np.ndarray:
        """c with P(z) = Σ c_l φ(a_l), a row for each row of Z, (m, anchors)."""
        coefs = np.asarray(self.expansion.coefs, np.float64)
        return Z @ coefs[:, : self.k].T + coefs[:, self.k]

    def squared_norms(self, Z: np.ndarray) -> np.ndarray:
        """‖P(z)‖² = ‖μ‖² + 2 Σⱼ zⱼ ⟨wⱼ, μ⟩ + ‖z‖²; the offset of the expansion is ⟨wⱼ, μ⟩."""
        offset = np.asarray(self.expansion.offset, np.float64)[: self.k]
        return np.maximum(self.mean_norm + 2 * Z @ offset + np.einsum("ij,ij->i", Z, Z), 0.0)

    def scores_and_excess(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """The scores t of rows, (m, k), and ‖φ(x) − μ‖² − ‖t‖², (m,): what the components leave out of them."""
        new = self.expansion.new_points(X)
        both = np.asarray(self.expansion.on_points(new), np.float64)
        t, mean = both[:, :-1], both[:, -1]
        lengths = np.asarray(self.expansion.kernel.diagonal(new), np.float64) - 2 * mean + self.mean_norm
        return t, np.maximum(lengths - np.einsum("ij,ij->i", t, t), 0.0)

    def error(self, Z: Any, X: Any) -> np.ndarray:
        """‖φ(x) − P(z)‖² of each pair of rows, (m,): what a pre-image should make small."""
        t, excess = self.scores_and_excess(X)
        return ((t - np.asarray(Z, np.float64)) ** 2).sum(axis=1) + excess


class PreImage(ABC):
    """A fitted way back: scores (m, k) to rows (m, d) (abstract)."""

    @abstractmethod
    def __call__(self, Z: Any) -> Any:
        """Rows of the input space for rows of scores."""


class Method(BaseEstimator, ABC):
    """A way back, not yet fitted: a value with parameters, which `inverse_method__…` reaches (abstract)."""

    def check(self, kernel: Kernel, X: Any, request: Request) -> None:
        """Raise where this method has no answer for such a kernel or such samples, before any work."""

    @abstractmethod
    def fit(self, fitted: Fitted, request: Request) -> PreImage:
        """The way back of a fitted kernel PCA."""


def scores_like(X: Any, Z: Any) -> Any:
    """What was given as scores, in the precision of the fit's and as wide; anything else is refused."""
    X = namespace(X).astype(X, Z.dtype, copy=False) if is_foreign(X) else np.asarray(X, dtype=Z.dtype)
    k = Z.shape[1]
    if X.ndim != 2 or X.shape[1] != k:
        raise ValueError(f"inverse_transform needs the scores of {k} components, (m, {k}), not {tuple(X.shape)}.")
    if not bool(namespace(X).all(namespace(X).isfinite(X))):
        raise ValueError("inverse_transform needs finite scores; these contain NaN or infinity.")
    return X


def refuse_without_rows(kernel: Kernel) -> None:
    """Matrices of kernel values and strings are no rows to go back to."""
    if isinstance(kernel, Precomputed):
        raise ValueError(
            "Cannot fit_inverse_transform with a precomputed kernel: there are no rows to go back to. Give the rows "
            "and a kernel function, or fit a regression of your rows on the scores."
        )
    if kernel.accepts != "vectors":
        raise TypeError(f"inverse_transform needs vectors to go back to; {kernel!r} compares {kernel.accepts}.")


def refuse_without_profile(name: str, kernel: Kernel, X: Any) -> None:
    """For methods that need k as a function of ‖x − y‖ or of ⟨x, y⟩, and NumPy or CSR rows."""
    if is_foreign(X):
        kind = type(X).__module__.partition(".")[0]
        raise TypeError(
            f"inverse_method={name!r} works on NumPy and CSR data, not on {kind} arrays: convert them, or take "
            "inverse_method='ridge', which works on all."
        )
    if not isinstance(kernel, VectorKernel) or kernel.reads not in PROFILED:
        raise TypeError(
            f"inverse_method={name!r} needs a kernel that is a function of ‖x − y‖ or of ⟨x, y⟩, such as RBF, Matern, "
            f"RationalQuadratic, Linear or Polynomial; {kernel!r} is none. inverse_method='ridge' takes any kernel."
        )


def runs_of(m: int, width: int) -> list[slice]:
    """Runs of m rows that keep an array of so many columns within a tile's budget."""
    size = max(1, TILE_ENTRIES // max(width, 1))
    return [slice(i, min(i + size, m)) for i in range(0, m, size)]


def refuse_unprofiled(*kernels: Any) -> None:
    """Mismatch, for a way back out of a model file, unless every kernel is a function of ‖x − y‖ or of ⟨x, y⟩."""
    if not all(getattr(kernel, "reads", "") in PROFILED for kernel in kernels):
        raise Mismatch("the kernel is not a function of a distance or of an inner product")
