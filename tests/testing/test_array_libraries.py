"""The contract for arrays of other libraries notices results that are elsewhere, in another precision, or wrong."""

import numpy as np
import pytest

from mercer import PCA, KernelPCA
from mercer.testing import check_arrays

xp = pytest.importorskip("array_api_strict")
RNG = np.random.default_rng(0)
X = RNG.standard_normal((30, 3)) @ np.diag([3.0, 2.0, 1.0])


class _OnTheHost(PCA):
    def transform(self, X):
        return np.asarray(super().transform(X))


class _InDouble(PCA):
    def transform(self, X):
        scores = super().transform(X)
        return scores if isinstance(X, np.ndarray) else xp.astype(scores, xp.float64)


class _Shifted(PCA):
    def transform(self, X):
        scores = super().transform(X)
        return scores if isinstance(X, np.ndarray) else scores + 0.01


def test_pca_keeps_it():
    check_arrays(PCA(2), X, xp.asarray, tol=1e-10)
    check_arrays(KernelPCA(2, kernel="rbf", gamma=0.2), X, xp.asarray, tol=1e-8)


@pytest.mark.parametrize(
    ("broken", "message"), [(_OnTheHost, "ndarray for"), (_InDouble, "for rows in float32"), (_Shifted, "differs by")]
)
def test_what_breaks_it_is_told(broken, message):
    with pytest.raises(AssertionError, match=message):
        check_arrays(broken(2), X, xp.asarray, tol=1e-10)
