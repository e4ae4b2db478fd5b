"""Kernel discriminants as they are usually written: the n × n eigenproblem M a = λ (N + nλ'K) a, formed and solved.

This is what kfda does, with the penalty on ‖w‖² in place of its multiple of the identity, so that both sides solve the
same problem. It stands here as code of its own because kfda does not run beside a scikit-learn of today.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import eigsh
from sklearn.metrics.pairwise import rbf_kernel


class DirectDiscriminants:
    """C − 1 directions by ARPACK, as in kfda, or by LAPACK."""

    def __init__(self, gamma: float, reg: float, solver: str) -> None:
        self.gamma, self.reg, self.solver = gamma, reg, solver

    def fit(self, X: np.ndarray, y: np.ndarray) -> DirectDiscriminants:
        self.X = X
        K = rbf_kernel(X, gamma=self.gamma)
        codes = np.unique(y, return_inverse=True)[1]
        indicators = np.eye(codes.max() + 1)[codes]
        counts = indicators.sum(axis=0)
        means = (indicators.T @ K) / counts[:, None]  # m_c of equation 21.48
        overall = K.mean(axis=0)
        N = K @ (K - means[codes])  # 21.54
        centred = means - overall
        M = (centred.T * counts) @ centred
        N += self.reg * (np.trace(K) - overall.sum()) * K
        N = (N + N.T) / 2
        k, n = codes.max(), len(X)
        if self.solver == "arpack":
            self.coefs = eigsh(M, k, N, which="LM")[1]
        else:
            self.coefs = eigh(M, N, subset_by_index=(n - k, n - 1), overwrite_a=True, overwrite_b=True)[1]
        return self

    def transform(self, X: np.ndarray) -> np.ndarray:
        return rbf_kernel(X, self.X, gamma=self.gamma) @ self.coefs
