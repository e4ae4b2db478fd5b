"""Streamed = kept = explicit, whatever the tiles and the threads."""

import numpy as np
import pytest

from mercer.kernels import RBF, Laplacian, Linear, Polynomial
from mercer.linalg.gram import Gram
from mercer.linalg.operators import Centered, Dense, LowRank, operator_of

RNG = np.random.default_rng(0)
X = RNG.standard_normal((130, 4))
V = RNG.standard_normal((130, 3))
KERNELS = [RBF(gamma=0.3), Laplacian(0.3), Linear(), RBF(gamma=0.3) + Polynomial(2, 1.0)]


def test_centring_needs_no_pass_of_its_own():
    A = Gram(KERNELS[0], X, tile=32)
    centred = Centered(A)
    centred.matmat(V)
    assert A.passes == 1
    K = KERNELS[0](X)
    np.testing.assert_allclose(centred.row_sums(), K.sum(axis=1), rtol=1e-12)
    H = np.eye(130) - 1 / 130
    np.testing.assert_allclose(centred.trace(), np.trace(H @ K @ H), rtol=1e-11)
    assert A.passes == 1


@pytest.mark.parametrize("first", ["matmat", "rows", "diagonal", "trace", "to_dense"])
def test_any_first_question_gives_the_same_row_sums(first):
    centred = Centered(Dense(KERNELS[0](X)))
    arguments = {"matmat": (V,), "rows": (np.array([1, 2]),)}.get(first, ())
    getattr(centred, first)(*arguments)
    np.testing.assert_allclose(centred.row_sums(), KERNELS[0](X).sum(axis=1), rtol=1e-12)


def test_centred_products_are_orthogonal_to_ones():
    product = Centered(Dense(KERNELS[0](X))).matmat(V)
    np.testing.assert_allclose(product.sum(axis=0), 0, atol=1e-11)


def test_operator_of():
    A = LowRank(V)
    assert operator_of(A) is A
    assert isinstance(operator_of(np.eye(3)), Dense)


def test_strict_arrays():
    strict = pytest.importorskip("array_api_strict")
    A = Centered(Gram(KERNELS[0], strict.asarray(X), tile=32))
    expected = Centered(Gram(KERNELS[0], X, tile=32)).matmat(V)
    np.testing.assert_allclose(np.from_dlpack(A.matmat(strict.asarray(V))), expected, rtol=1e-11, atol=1e-11)
    index = strict.asarray(np.array([5, 1]))
    K = KERNELS[0](X)
    H = np.eye(130) - 1 / 130
    np.testing.assert_allclose(np.from_dlpack(A.rows(index)), (H @ K @ H)[[5, 1]], atol=1e-11)
