"""The certified solver: it climbs the ladder of precisions and starts from a factor."""

import numpy as np
import pytest
from scipy.sparse.linalg import eigsh

from mercer.kernels import RBF, Laplacian
from mercer.linalg.eigen import top_eigenpairs
from mercer.linalg.gram import Gram
from mercer.linalg.operators import Centered


def with_spectrum(values, seed=0):
    Q, _ = np.linalg.qr(np.random.default_rng(seed).standard_normal((len(values), len(values))))
    M = (Q * values) @ Q.T
    return (M + M.T) / 2


@pytest.mark.parametrize("kernel", [RBF(gamma=0.3), Laplacian(0.3)], ids=repr)
def test_krylov_climbs_the_ladder(kernel):
    """2,100 rows: float32 tiles first, then float64 ones to certify on."""
    X = np.random.default_rng(0).standard_normal((2100, 5))
    A = Centered(Gram(kernel, X, keep_bytes=10**8))
    assert len(A.ladder(1e-10)) == 2
    pairs = top_eigenpairs(A, 8, solver="krylov", random_state=0)
    assert pairs.solver == "krylov" and pairs.operator is A
    assert pairs.residuals.max() <= 1e-10 * pairs.values[0]
    M = A.to_dense()
    recomputed = np.linalg.norm(M @ pairs.vectors - pairs.vectors * pairs.values, axis=0)
    np.testing.assert_allclose(recomputed, pairs.residuals, atol=1e-11 * pairs.values[0])
    dense = eigsh(M, 8, which="LA", tol=1e-12, v0=np.ones(2100) + np.arange(2100))[0][::-1]
    assert np.all(np.abs(pairs.values - dense) <= pairs.errors + 1e-12 * dense[0])


def test_krylov_with_a_factor_to_start_from():
    """3,100 rows: a low-rank factor starts and preconditions it."""
    X = np.random.default_rng(0).standard_normal((3100, 3))
    A = Centered(Gram(RBF(gamma=0.2), X, keep_bytes=10**8))
    pairs = top_eigenpairs(A, 5, solver="krylov", random_state=0)
    assert pairs.residuals.max() <= 1e-10 * pairs.values[0]
    assert pairs.passes <= 15
    product = A.matmat(pairs.vectors)
    np.testing.assert_allclose(product, pairs.vectors * pairs.values, atol=1e-9 * pairs.values[0])


def test_the_monitor_sees_residuals_fall():
    seen = []
    top_eigenpairs(
        with_spectrum(0.9 ** np.arange(80)), 3, solver="krylov", monitor=lambda *step: seen.append(step), random_state=0
    )
    passes, residuals = zip(*seen, strict=True)
    assert list(passes) == sorted(passes) and residuals[-1] <= 1e-10 < residuals[0]
