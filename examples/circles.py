"""What does a kernel see that PCA does not?
=========================================

Two rings lie one inside the other. Their projections onto any line overlap. The first component of kernel PCA
separates them.

::

    python examples/circles.py --output pictures
"""

import argparse
from pathlib import Path

import numpy as np
from sklearn.datasets import make_circles

from mercer import PCA, KernelPCA
from mercer.plots import ContourDisplay, EmbeddingDisplay


def main() -> None:
    parser = argparse.ArgumentParser(description="What does a kernel see that PCA does not?")
    parser.add_argument("--output", type=Path, default=Path("."), help="folder for the pictures")
    folder = parser.parse_args().output
    folder.mkdir(parents=True, exist_ok=True)

    X, ring = make_circles(600, factor=1 / 3, noise=0.03, random_state=0)
    X = 3 * X  # radii 3 and 1

    for name, model in (("PCA", PCA(1)), ("kernel PCA", KernelPCA(1, kernel="rbf", gamma=0.3))):
        z = model.fit_transform(X)[:, 0]
        inner, outer = z[ring == 1], z[ring == 0]
        gap = max(inner.min() - outer.max(), outer.min() - inner.max())
        print(f"{name:>10}: the rings {'stand apart' if gap > 0 else 'overlap'} on the first component")

    kpca = KernelPCA(6, kernel="rbf", gamma=0.3).fit(X)
    print(kpca.solver_)
    print("residuals", np.array2string(kpca.residuals_, precision=1))
    names = np.where(ring == 0, "outer", "inner")
    EmbeddingDisplay.from_estimator(kpca, X, names).figure_.savefig(folder / "rings.png")
    ContourDisplay.from_estimator(kpca, X, names).figure_.savefig(folder / "rings-eigenfunctions.png")


if __name__ == "__main__":
    main()
