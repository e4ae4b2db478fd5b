"""The frame of the anchors: coordinates go there and back, and slopes are the derivatives of the kernel."""

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import KernelPCA
from mercer.kernels import RBF, Linear, Matern, Polynomial, RationalQuadratic, VectorKernel
from mercer.preimage import FixedPoint
from mercer.preimage.anchor_frame import AnchorFrame

RNG = np.random.default_rng(0)
X = RNG.standard_normal((30, 3)) + 5.0
NEW = RNG.standard_normal((6, 3)) + 5.0


@dataclass(repr=False)
class WithoutSlope(VectorKernel):
    """A user's kernel that defines no slope, so that the frame takes differences."""

    reads = "sqeuclidean"

    def profile(self, d2, xp):
        return 1 / (1 + 0.5 * d2)


KERNELS = [
    RBF(0.3),
    RationalQuadratic(2.0),
    Matern(1.5, 2.0),
    Matern(1.2, 2.0),
    Linear(),
    Polynomial(3, 0.2, 1.0),
    WithoutSlope(),
]


def frame(kernel):
    model = KernelPCA(2, kernel=kernel, fit_inverse_transform=True, inverse_method=FixedPoint(max_iter=1))
    return AnchorFrame.of(model.fit(X).preimage_.fitted)


@pytest.mark.filterwarnings("ignore::mercer.exceptions.NotConvergedWarning")
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_values_are_the_kernels_and_slopes_its_derivatives(kernel):
    """∂k/∂x = 2 k' (x − a) for kernels of the distance, k' a for those of the product, with k' the slope."""
    there = frame(kernel)
    U, A = there.inward(NEW), np.asarray(there.points.rows)
    K, slopes = there.values_and_slopes(there.at(U))
    of_product = kernel.reads == "dot"
    gradients = slopes[:, :, None] * (A[None] if of_product else 2 * (U[:, None] - A[None]))
    step = 1e-6  # central differences: an error of step² and rounding of 1e-16 / step, both below 1e-9
    for axis in range(3):
        move = step * np.eye(3)[axis]
        up, down = (there.values_and_slopes(there.at(U + sign * move))[0] for sign in (1, -1))
        assert_allclose(gradients[:, :, axis], (up - down) / (2 * step), rtol=1e-5, atol=1e-6 * np.abs(K).max())
    assert_allclose(there.outward(U), NEW, rtol=1e-12)
    if not of_product:
        assert_allclose(K, kernel(NEW, X), rtol=1e-9)
