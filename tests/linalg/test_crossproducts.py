"""FᵀHG over runs of rows is FᵀHG."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.linalg.crossproducts import centred_products, times

RNG = np.random.default_rng(2)
F, G = RNG.standard_normal((500, 7)) + 3, RNG.standard_normal((500, 4)) - 1
H = np.eye(500) - 1 / 500


@pytest.mark.parametrize("run", [64, 500, 8192])
@pytest.mark.parametrize("columns", [1, 512])
def test_products_are_those_of_the_whole(run, columns):
    """However the rows are cut, and whether a thread has a matrix of its own or all share one."""
    means, products = centred_products([F, G], run=run, one_matrix_above=columns)
    assert products.keys() == {(0, 0), (0, 1), (1, 1)}
    for (i, j), block in products.items():
        assert_allclose(block, (F, G)[i].T @ H @ (F, G)[j], atol=1e-10)
    assert_allclose(means[0], F.mean(axis=0))
    assert_allclose(means[1], G.mean(axis=0))


def test_without_centring():
    (mean,), products = centred_products([F], center=False)
    assert_array_equal(mean, 0)
    assert_allclose(products[0, 0], F.T @ F)


def test_float32_is_summed_in_float64_and_may_be_multiplied_in_it():
    small = F.astype(np.float32)
    truth = small.astype(float).T @ H @ small.astype(float)
    plain, wide = (centred_products([small], precision=p)[1][0, 0] for p in (None, np.float64))
    assert plain.dtype == wide.dtype == np.float64
    assert_allclose(plain, truth, atol=1e-5 * np.abs(truth).max())
    assert_allclose(wide, truth, atol=1e-12 * np.abs(truth).max())


def test_precisions_mix():
    _, products = centred_products([F.astype(np.float32), G])
    assert_allclose(products[0, 1], F.T @ H @ G, atol=1e-4)


def test_the_same_bits_twice():
    for block in [(0, 0), (0, 1), (1, 1)]:
        assert_array_equal(centred_products([F, G])[1][block], centred_products([F, G])[1][block])


def test_times_is_of_the_centred_factor():
    W = RNG.standard_normal((7, 2))
    assert_allclose(times(F, W, F.mean(axis=0)), H @ F @ W, atol=1e-12)
    assert times(F.astype(np.float32), W, F.mean(axis=0)).dtype == np.float32
