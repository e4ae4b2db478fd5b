"""scikit-learn's inverse transform, for users who need exactly its numbers."""

from __future__ import annotations

from typing import Any

from scipy.linalg import LinAlgError, solve

from mercer.backends import is_foreign, namespace
from mercer.exceptions import MemoryLimitError
from mercer.expansion import KernelExpansion
from mercer.footprints import regression_back
from mercer.kernels.kernel import Kernel
from mercer.memory import format_bytes
from mercer.models.fields import SavedEstimator
from mercer.planning import Parts
from mercer.preimage.inverse_method import InverseRequest, Method, refuse_without_rows
from mercer.preimage.ridge import RidgeMap, matrices_at_once, with_penalty
from mercer.preimage.ridge_spectrum import dense_rows
from mercer.preimage.target import FittedComponents


class SklearnRidge(Method):
    """scikit-learn's regression: x̂(z) = k(z, Z) B, B = (K + αI)⁻¹X, with the kernel of the components on scores.

    The kernel keeps the width of the input space, although scores live on another scale. There is no intercept, so
    every pre-image is drawn towards the origin. Cost: n² numbers and n³/3 flops.

    >>> import numpy as np
    >>> from mercer import KernelPCA
    >>> X = np.random.default_rng(0).standard_normal((30, 2))
    >>> kpca = KernelPCA(2, kernel="rbf", fit_inverse_transform=True, inverse_method=SklearnRidge()).fit(X)
    >>> kpca.inverse_transform(kpca.transform(X)).shape
    (30, 2)
    """

    _saved = SavedEstimator("method.SklearnRidge", root=False)

    def check(self, kernel: Kernel, X: Any, request: InverseRequest) -> None:
        refuse_without_rows(kernel)
        if request.alpha == "loo":
            raise ValueError(
                "inverse_method='sklearn' needs a number as alpha. 'loo' goes with inverse_method='ridge'."
            )
        n, need = X.shape[0], sum(self.parts(kernel, X, request).values())
        if need > request.limit:
            raise MemoryLimitError(
                f"inverse_method='sklearn' on {n} samples needs {format_bytes(need)}, more than the limit of "
                f"{format_bytes(request.limit)}. Nothing was allocated. Try inverse_method='ridge', which can use "
                "less, or a larger memory_limit."
            )

    def parts(self, kernel: Kernel, X: Any, request: InverseRequest) -> Parts:
        n, d = X.shape
        return regression_back(n, d, None, matrices_at_once(X, request))

    def fit(self, fitted: FittedComponents, request: InverseRequest) -> RidgeMap:
        Z, alpha = fitted.Z, float(request.alpha)
        K = fitted.kernel.tile(fitted.kernel.points(Z))
        xp = namespace(K)
        X = dense_rows(fitted.X, slice(0, Z.shape[0]), Z)
        K = with_penalty(K, alpha)
        try:
            if is_foreign(K):
                B = xp.linalg.solve(K, X)
            else:
                B = solve(K, X, assume_a="pos", overwrite_a=True, check_finite=False)
        except LinAlgError as error:
            raise ValueError(
                f"The ridge regression back to the data is singular with alpha={alpha}. Give a larger alpha, or use "
                "inverse_method='ridge'."
            ) from error
        expansion = KernelExpansion(fitted.kernel, Z, B, xp.zeros_like(B[0, :]), request.n_jobs)
        return RidgeMap(expansion, alpha, None, None, 0.0, B)
