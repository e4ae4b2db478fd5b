"""How do I map a million rows?
============================

Kernel PCA where n² is out of reach: a randomly pivoted Cholesky factor, with a bound on what it leaves out.

::

    python examples/million_rows.py --rows 1000000 --rank 300
"""

# sphinx_gallery_thumbnail_path = "pictures/swiss_roll.png"

import argparse

import numpy as np

from mercer import KernelPCA


def swiss_roll(n: int, rng: np.random.Generator) -> np.ndarray:
    """n points of a rolled-up sheet in space, float32."""
    turn = 1.5 * np.pi * (1 + 2 * rng.random(n))
    return np.column_stack([turn * np.cos(turn), 20 * rng.random(n), turn * np.sin(turn)]).astype(np.float32)


def main() -> None:
    parser = argparse.ArgumentParser(description="How do I map a million rows?")
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--rank", type=int, default=300, help="columns of the factor: n · rank numbers of memory")
    given = parser.parse_args()

    X = swiss_roll(given.rows, np.random.default_rng(0))
    kpca = KernelPCA(6, kernel="rbf", gamma=0.02, eigen_solver="rpcholesky", rank=given.rank)
    print(kpca.plan(X))
    Z = kpca.fit_transform(X)
    print(kpca.solver_)
    for value, error, share in zip(
        kpca.eigenvalues_, kpca.eigenvalue_error_, kpca.explained_variance_ratio_, strict=True
    ):
        print(f"eigenvalue {value:12.2f}, wrong by at most {error:.2f} ({share:.1%} of the variance)")
    new = swiss_roll(1000, np.random.default_rng(1))
    landmarks = len(kpca.expansion_.anchors)
    print(f"scores {Z.shape}; new rows go through {landmarks} landmarks: {kpca.transform(new).shape}")


if __name__ == "__main__":
    main()
