"""Kernels of distances: invariances, and digits that survive far from the origin."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.kernels import (
    RBF,
    ArcCosine,
    Cosine,
    Laplacian,
    Linear,
    Matern,
    RationalQuadratic,
)


@pytest.mark.parametrize("kernel", [RBF(gamma=5.0), Matern(), RationalQuadratic()], ids=repr)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_two_tight_clusters_far_apart(kernel, dtype):
    """Distances inside a cluster survive a spread a million times theirs."""
    inside = np.array([[0.0, 0.0], [0.5, 0.0], [0.0, 0.25]])
    both = np.concatenate([inside, inside + 2.0**18]).astype(dtype)
    K = kernel(both)
    np.testing.assert_allclose(K[:3, :3], kernel(inside), rtol=1e-4)
    np.testing.assert_allclose(K[3:, 3:], kernel(inside), rtol=1e-4)


@given(
    seed=st.integers(0, 10**6),
    shift=st.floats(-100, 100),
    kernel=st.sampled_from([RBF(gamma=0.5), Matern(2.5), Laplacian(0.5), RationalQuadratic()]),
)
def test_shift_invariance(seed, shift, kernel):
    A = np.random.default_rng(seed).standard_normal((6, 3))
    np.testing.assert_allclose(kernel(A + shift), kernel(A), atol=1e-10)


@given(seed=st.integers(0, 10**6), kernel=st.sampled_from([RBF(gamma=0.5), Linear(), Cosine(), ArcCosine(1), Matern()]))
def test_rotation_invariance(seed, kernel):
    rng = np.random.default_rng(seed)
    A, Q = rng.standard_normal((6, 3)), np.linalg.qr(rng.standard_normal((3, 3)))[0]
    np.testing.assert_allclose(kernel(A @ Q), kernel(A), atol=1e-10)
