"""A matrix in float32 whose products are exact: it is the matrix of its rounded entries."""

import numpy as np
import pytest

from mercer.linalg.eigen import top_eigenpairs
from mercer.linalg.rounded_matrix import RoundedMatrix
from mercer.testing import check_operator

RNG = np.random.default_rng(0)
B = RNG.standard_normal((40, 40))
A = B @ B.T


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_contract(dtype):
    check_operator(RoundedMatrix(A.astype(dtype)), A.astype(dtype).astype(np.float64))


def test_products_are_exact_in_runs_of_any_length(monkeypatch):
    rounded = A.astype(np.float32)
    V = RNG.standard_normal((40, 3))
    monkeypatch.setattr(RoundedMatrix, "RUN", 7 * 40)
    np.testing.assert_allclose(RoundedMatrix(rounded).matmat(V), rounded.astype(np.float64) @ V, rtol=1e-13)


def test_the_ladder_begins_with_products_in_the_matrix_s_own_precision():
    coarse, exact = RoundedMatrix(A.astype(np.float32)).ladder(1e-10)
    assert coarse.precision == np.float32 and exact.precision == np.float64
    V = RNG.standard_normal((40, 2))
    wrong = abs(coarse.matmat(V) - exact.matmat(V)).max()
    assert 0 < wrong < 40 * np.finfo(np.float32).eps * (abs(A) @ abs(V)).max()
    pairs = top_eigenpairs(RoundedMatrix(A.astype(np.float32)), 3, solver="krylov", tol=1e-10)
    np.testing.assert_allclose(pairs.values, np.linalg.eigvalsh(A.astype(np.float32).astype(np.float64))[:-4:-1])
