"""From coordinates back to data."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import solve

from mercer.backends import is_foreign, namespace
from mercer.kernels.base import Kernel


def ridge_coefs(kernel: Kernel, Z: Any, X: Any, alpha: float) -> Any:
    """B with x̂(z) = k(z, Z) B: kernel ridge regression of the data X on their coordinates Z, (n, d).

    B = (K_Z + alpha I)⁻¹ X. Cost: n² numbers and n³/3 flops. (Bakır, Weston & Schölkopf 2004.)
    """
    K = kernel.tile(kernel.points(Z))
    xp = namespace(K)
    if is_foreign(K):
        K = K + alpha * xp.eye(K.shape[0], dtype=K.dtype, device=K.device)
        return xp.linalg.solve(K, X)
    K.flat[:: len(K) + 1] += alpha
    try:
        return solve(K, X, assume_a="pos", overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError as error:
        raise ValueError(
            f"The ridge regression back to the data is singular with alpha={alpha}; give a larger alpha."
        ) from error
