"""Inner products of centred matrices: streamed, from factors and explicit."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.backends import cpu
from mercer.kernels import RBF, Linear
from mercer.linalg.gram import Gram
from mercer.linalg.inner import factor_products, operator_products
from mercer.linalg.operators import Dense, LowRank

RNG = np.random.default_rng(0)
X, F, G = RNG.standard_normal((40, 3)), RNG.standard_normal((40, 5)), RNG.standard_normal((40, 2))
H = np.eye(40) - 1 / 40


def explicit(matrices):
    centred = [H @ A @ H for A in matrices]
    return np.array([[np.sum(A * B) for B in centred] for A in centred]), np.array([np.diagonal(A) for A in centred])


@pytest.mark.parametrize("entries", [1, 7 * 40, 2**19], ids=["row by row", "seven rows", "at once"])
def test_streamed_is_explicit(entries):
    operators = [Gram(RBF(0.3), X), Dense(X @ X.T), LowRank(F)]
    found = operator_products(operators, block_entries=entries)
    products, diagonals = explicit([RBF(0.3)(X), X @ X.T, F @ F.T])
    assert_allclose(found.inner * np.outer(found.scales, found.scales), products, rtol=1e-12)
    assert_allclose(found.diagonals * found.scales[:, None], diagonals, atol=1e-12)


def test_factors_are_explicit():
    found = factor_products([F, G])
    products, diagonals = explicit([F @ F.T, G @ G.T])
    assert_allclose(found.inner * np.outer(found.scales, found.scales), products, rtol=1e-12)
    assert_allclose(found.diagonals * found.scales[:, None], diagonals, atol=1e-12)


def test_a_nearly_constant_matrix_keeps_its_digits():
    gamma = 1e-9  # K is 1 − 1e-9 ‖x − y‖², so HKH is 2e-9 times that of Linear
    found = operator_products([Gram(RBF(gamma), X), Gram(Linear(), X)])
    found = found.inner * np.outer(found.scales, found.scales)
    cosine = found[0, 1] / np.sqrt(found[0, 0] * found[1, 1])
    assert_allclose(cosine, 1, atol=1e-7)
    assert_allclose(np.sqrt(found[0, 0] / found[1, 1]), 2 * gamma, rtol=1e-6)


def test_the_matrix_is_never_whole(monkeypatch):
    monkeypatch.setattr(cpu, "workers", lambda n_jobs=None: 2)  # each thread holds a tile
    rows = np.random.default_rng(1).standard_normal((4000, 2))
    tracemalloc.start()
    operator_products([Gram(RBF(0.3), rows), LowRank(rows)])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * 4000**2 / 2
