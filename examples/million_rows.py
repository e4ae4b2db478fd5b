"""How do I map a million rows?
============================

The kernel matrix of a million rows has 10¹² entries. A randomly pivoted Cholesky factor reads only n · rank of them,
and comes with a bound on what it leaves out.

::

    python examples/million_rows.py --rows 1000000 --rank 300
"""

import argparse

import matplotlib.pyplot as plt
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

    # A million points would hide one another: the picture shows a sample of them.
    some = np.random.default_rng(2).choice(len(Z), min(len(Z), 20_000), replace=False)
    figure, panels = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
    for ax, j in zip(panels, (0, 2), strict=True):
        ax.scatter(Z[some, j], Z[some, j + 1], c=np.hypot(X[some, 0], X[some, 2]), s=2, linewidths=0)
        ax.set(xlabel=f"component {j + 1}", ylabel=f"component {j + 2}")
    figure.suptitle(f"{len(some):,} of {len(Z):,} rows, coloured by their place along the sheet")
    plt.show()


if __name__ == "__main__":
    main()
