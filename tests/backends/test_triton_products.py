"""Fused products are those of the matrix: on a card where there is one, else through Triton's interpreter."""

from itertools import product

import numpy as np
import pytest

from card import CARD, DEVICE, MARKS, torch
from mercer.backends import triton_products
from mercer.backends.symbolic import trace
from mercer.backends.triton_products import FusedProduct
from mercer.kernels import RBF, ArcCosine, Chi2, Constant, Hamming, Linear, Matern, Polynomial

pytestmark = MARKS
RNG = np.random.default_rng(0)
# What an entry may lose relative to the largest: rounding to 11 bits of k and of two rows, 22 bits, and float64, where
# the formula of ‖a − b‖² and the exponent multiply a rounding by no more than these rows' squared length, 20.
ERRORS = {"half": 20 * 2.0**-11, "single": 20 * 2.0**-22, "double": 20 * 2.0**-52}


def rows(n, d=5, scale=1.0):
    return torch.as_tensor(scale * RNG.random((n, d)), device=DEVICE)


def precision(arithmetic):
    return torch.float64 if arithmetic == "double" else torch.float32


def symmetric(kernel, X, arithmetic, largest=None):
    formula = trace(kernel.tile, kernel.points(X, precision(arithmetic)))
    return FusedProduct(formula, arithmetic, largest or float(abs(kernel.tile(kernel.points(X))).max()))


def check(fused, K, V, arithmetic):
    """Within the error of the entries times Σ|k||v|: sums in blocks and in float64 add less."""
    found = fused(V)
    assert found.dtype == torch.float64 and found.shape == (K.shape[0], V.shape[1])
    bound = ERRORS[arithmetic] * (float(abs(K).max()) * abs(V).sum(dim=0) + (abs(K) @ abs(V)).max())
    assert bool((abs(found - K @ V) <= bound).all())
    assert torch.equal(fused(V), found)


KERNELS = [RBF(0.7), Matern(2.5), Hamming(), (Matern(1.5) * RBF(0.3)).normalized() + 0.5 * Linear()]


@pytest.mark.parametrize("arithmetic", ERRORS)
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_a_product_is_that_of_the_matrix(kernel, arithmetic):
    X = torch.round(rows(150) * 4) / 4
    V = torch.as_tensor(RNG.standard_normal((150, 3)), device=DEVICE)
    check(symmetric(kernel, X, arithmetic), kernel.tile(kernel.points(X)), V, arithmetic)


@pytest.mark.parametrize("arithmetic", ERRORS)
@pytest.mark.parametrize("kernel", [RBF(0.7), Polynomial(2, 0.5, 1.0), Chi2(0.4)], ids=repr)
def test_rows_may_differ_on_the_two_sides(kernel, arithmetic):
    anchors, new = rows(200), rows(70)
    old = kernel.points(anchors, precision(arithmetic))
    formula = trace(kernel.tile, kernel.points(new, precision(arithmetic), like=old), old)
    exact = kernel.points(anchors)
    K = kernel.tile(kernel.points(new, like=exact), exact)
    V = torch.as_tensor(RNG.standard_normal((200, 17)), device=DEVICE)
    check(FusedProduct(formula, arithmetic, float(abs(K).max())), K, V, arithmetic)


@pytest.mark.parametrize("arithmetic", ERRORS)
def test_any_number_of_coordinates_and_of_columns(arithmetic):
    # More than 128 coordinates are read in chunks, and 70 columns take two launches. A card runs all shapes of kernels.
    for d, b in product((1, 40, 129, 150, 300, 784), (1, 17, 33, 70)) if CARD else ((1, 1), (150, 70)):
        X, kernel = rows(40, d, d**-0.5), RBF(0.7)
        V = torch.as_tensor(RNG.standard_normal((40, b)), device=DEVICE)
        check(symmetric(kernel, X, arithmetic), kernel.tile(kernel.points(X)), V, arithmetic)


@pytest.mark.parametrize("arithmetic", ERRORS)
def test_columns_that_are_split_among_programs_are_added_up(arithmetic, monkeypatch):
    X, kernel = rows(400), RBF(0.7)
    monkeypatch.setitem(triton_products.BLOCKS, arithmetic, triton_products.BlockSizes(128, 32, 4, 2, 4))
    product = symmetric(kernel, X, arithmetic)
    product.programs = 40
    V = torch.as_tensor(RNG.standard_normal((400, 2)), device=DEVICE)
    check(product, kernel.tile(kernel.points(X)), V, arithmetic)


@pytest.mark.parametrize("factor", [1e-30, 1e-3, 1e30])
def test_no_scale_of_rows_or_columns_matters(factor):
    X, kernel = rows(60), Linear()
    V = torch.as_tensor(RNG.standard_normal((60, 3)), device=DEVICE)
    V[:, 1] *= 1e-12
    V[:, 2] = 0.0
    found = symmetric(kernel, X * factor**0.25, "single")(V * factor)
    K = X @ X.T
    bound = ERRORS["single"] * (K.max() * abs(V).sum(dim=0) + (abs(K) @ abs(V)).amax(dim=0))
    assert bool((abs(found / factor**1.5 - K @ V) <= bound).all()) and not found[:, 2].any()


def test_entries_beyond_the_expected_range_give_none():
    X, kernel = rows(60, scale=30.0), Polynomial(3, 1.0, 0.0)
    V = torch.ones((60, 1), dtype=torch.float64, device=DEVICE)
    assert symmetric(kernel, X, "single", largest=1.0)(V) is None
    assert symmetric(kernel, X, "single")(V) is not None


def test_equal_rows_are_at_distance_zero():
    """‖a‖² + ‖b‖² − 2⟨a, b⟩ leaves rounding, whose root is visible: such pairs are summed coordinate by coordinate."""
    X = rows(64, scale=1.0)
    X[1::2] = X[::2]
    kernel, V = Matern(0.5, 0.01), torch.eye(64, 4, dtype=torch.float64, device=DEVICE)
    found = symmetric(kernel, X, "single")(V)
    assert torch.allclose(found[:4, :4], torch.block_diag(*[torch.ones(2, 2)] * 2).to(found), atol=1e-5)


def test_a_new_gamma_takes_no_compilation():
    X = rows(20)
    sources = [triton_products.code_of(symmetric(RBF(gamma), X, "half").key(16)) for gamma in (0.3, 0.7)]
    assert sources[0] == sources[1]


def test_a_constant_is_no_kernel_of_its_own():
    """Without rows there is nothing to fuse."""
    assert trace(Constant(2.0).tile, Constant(2.0).points(rows(5))).readings == []
    assert trace(ArcCosine(1).tile, ArcCosine(1).points(rows(5))).readings != []
