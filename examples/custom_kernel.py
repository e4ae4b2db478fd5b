"""How do I write a kernel of my own?
==================================

A few lines are enough for a custom kernel. This one lifts (x, y) to (x, y, x² + y²) without computing the lifted
points.

Kernel PCA needs only their inner products, ⟨Φ(a), Φ(b)⟩ = ⟨a, b⟩ + ‖a‖² ‖b‖².

::

    python examples/custom_kernel.py
"""

# sphinx_gallery_thumbnail_path = "pictures/circles-eigenfunctions.png"

from dataclasses import dataclass

import numpy as np
from sklearn.datasets import make_circles

from mercer import PCA, KernelPCA
from mercer.kernels import RBF, VectorKernel
from mercer.testing import check_kernel


@dataclass(repr=False)
class Paraboloid(VectorKernel):
    """k(x, y) = ⟨x, y⟩ + height² ‖x‖² ‖y‖²."""

    reads = "dot+norms"  # the profile is given ⟨x, y⟩, ‖x‖² and ‖y‖²

    height: float = 1.0

    def profile(self, t, xp, aa, bb):
        return t + self.height**2 * aa * bb


def main() -> None:
    X, ring = make_circles(600, factor=1 / 3, noise=0.03, random_state=0)
    X = 3 * X
    check_kernel(Paraboloid(), X[:20])  # symmetric, positive semidefinite, the same in every tile, precision and type

    kpca = KernelPCA(3, kernel=Paraboloid())
    Z = kpca.fit_transform(X)
    lifted = np.column_stack([X, (X**2).sum(axis=1)])
    explicit = PCA(3).fit_transform(lifted)
    print("the same as PCA of the lifted points:", bool(np.allclose(np.abs(Z), np.abs(explicit), atol=1e-8)))
    inner, outer = Z[ring == 1, 0], Z[ring == 0, 0]
    apart = max(inner.min() - outer.max(), outer.min() - inner.max()) > 0
    print("the first component tells the rings apart:", bool(apart))

    mixed = 0.5 * Paraboloid().normalized() + RBF(gamma="median")  # and it is part of the algebra at once
    print(KernelPCA(2, kernel=mixed).fit(X).kernel_)


if __name__ == "__main__":
    main()
