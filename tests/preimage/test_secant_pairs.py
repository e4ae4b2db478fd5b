"""SecantPairs: the matrix is that of BFGS, row by row."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.preimage.secant_pairs import SecantPairs

RNG = np.random.default_rng(0)


def bfgs(pairs, scale):
    """The recursion as it is printed: H ← (I − ρsyᵀ) H (I − ρysᵀ) + ρssᵀ."""
    H = scale * np.eye(len(pairs[0][0]))
    for s, y in pairs:
        V = np.eye(len(s)) - np.outer(y, s) / (s @ y)
        H = V.T @ H @ V + np.outer(s, s) / (s @ y)
    return H


@pytest.mark.parametrize("taken", [1, 3, 5])
def test_products_are_those_of_the_bfgs_matrix(taken):
    A = [B @ B.T + np.eye(4) for B in RNG.standard_normal((2, 4, 4))]
    pairs, history = SecantPairs(2, 4, memory=3), ([], [])
    for _ in range(taken):
        s = RNG.standard_normal((2, 4))
        y = np.array([A[i] @ s[i] for i in range(2)])
        assert pairs.add(np.arange(2), s, y).all()
        for i in range(2):
            history[i].append((s[i], y[i]))
    v = RNG.standard_normal((2, 4))
    expected = [bfgs(history[i][-3:], 0.5) @ v[i] for i in range(2)]
    assert_allclose(pairs.times(np.arange(2), v, np.full(2, 0.5)), expected, rtol=1e-10)
    last = np.array([history[i][-1] for i in range(2)])
    assert_allclose(pairs.times(np.arange(2), last[:, 1], np.ones(2)), last[:, 0], rtol=1e-10)


def test_rows_learn_each_on_its_own_and_not_where_the_function_is_concave():
    pairs = SecantPairs(3, 2)
    s = np.array([[1.0, 0.0], [0.0, 1.0]])
    assert pairs.add(np.array([0, 2]), s, np.array([[2.0, 0.0], [0.0, -2.0]])).tolist() == [True, False]
    assert pairs.known(np.arange(3)).tolist() == [True, False, False]
    v = np.ones((3, 2))
    assert_allclose(pairs.times(np.arange(3), v, np.ones(3)), [[0.5, 1.0], [1.0, 1.0], [1.0, 1.0]])
    pairs.forget(np.array([0]))
    assert not pairs.known(np.arange(3)).any()
    assert_allclose(pairs.times(np.arange(3), v, np.ones(3)), v)
