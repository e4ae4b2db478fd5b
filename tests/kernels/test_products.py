"""Kernels of the dot product: averages over random ramps, and explicit feature maps."""

import numpy as np
import pytest

from mercer.kernels import (
    ArcCosine,
    Polynomial,
)

RNG = np.random.default_rng(1)


X, Y = np.abs(RNG.standard_normal((12, 4))), np.abs(RNG.standard_normal((7, 4)))


SIGNED = RNG.standard_normal((12, 4))


@pytest.mark.parametrize("order", [0, 1, 2])
def test_arc_cosine_is_an_average_over_random_ramps(order):
    """2 E[(wᵀx)₊ⁿ (wᵀy)₊ⁿ] over normal w, the definition behind the closed form."""
    W = np.random.default_rng(0).standard_normal((200_000, 2))
    A = np.array([[1.0, 0.5], [-0.3, 1.2]])
    features = np.where(A @ W.T > 0, (A @ W.T) ** order, 0.0)
    estimate = 2 * features @ features.T / W.shape[0]
    np.testing.assert_allclose(ArcCosine(order)(A), estimate, rtol=0.05)


@pytest.mark.parametrize(("degree", "coef0"), [(1, 0.0), (2, 0.0), (3, 0.0), (2, 1.0), (3, 0.7)])
def test_explicit_feature_map(degree, coef0):
    kernel = Polynomial(degree, gamma=0.6, coef0=coef0)
    Phi, Psi = kernel.feature_map(SIGNED), kernel.feature_map(Y)
    np.testing.assert_allclose(Phi @ Phi.T, kernel(SIGNED), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(Phi @ Psi.T, kernel(SIGNED, Y), rtol=1e-10, atol=1e-12)
    width = {(1, 0.0): 4, (2, 0.0): 10, (3, 0.0): 20, (2, 1.0): 15, (3, 0.7): 35}[degree, coef0]
    assert Phi.shape == (12, width)


@pytest.mark.parametrize("kernel", [Polynomial(2.5), Polynomial(2, coef0=-1.0), Polynomial(0)], ids=repr)
def test_no_explicit_feature_map(kernel):
    with pytest.raises(ValueError, match="explicit map"):
        kernel.feature_map(SIGNED)


def test_feature_map_too_wide_for_memory():
    with pytest.raises(ValueError, match="columns"):
        Polynomial(9).feature_map(np.ones((1000, 60)))
