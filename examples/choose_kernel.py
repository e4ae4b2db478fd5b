"""Which kernel, and what moves its components?
============================================

For wines from three cultivars, this example compares kernels, finds the number of components, and shows which
measurements move them.

::

    python examples/choose_kernel.py --rows 178 --output pictures
"""

import argparse
from pathlib import Path

import numpy as np
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

from mercer import KernelPCA
from mercer.plots import new_figure
from mercer.selection import ContributionsDisplay, distance_summary, hsic, select_kernel


def main() -> None:
    parser = argparse.ArgumentParser(description="Which kernel, and what moves its components?")
    parser.add_argument("--rows", type=int, default=178)
    parser.add_argument("--output", type=Path, default=Path("."), help="folder for the pictures")
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)

    wine = load_wine()
    names = [name.replace("_", " ") for name in wine.feature_names]
    rows = np.random.default_rng(0).permutation(len(wine.data))[: given.rows]
    X, cultivar = scale(wine.data[rows]), wine.target[rows]
    distances = distance_summary(X)
    print(f"median distance {distances.median:.2f} ± {distances.standard_error:.2f}")
    test = hsic("rbf", X, "linear", np.eye(3)[cultivar])
    print(f"chemistry and cultivar depend on each other: p {'< 0.001' if test.p_value < 0.001 else test.p_value}")

    # What is best depends on what it is for: telling cultivars apart, or keeping the measurements.
    useful = select_kernel(X, cultivar, criterion="loo")
    faithful = select_kernel(X, criterion="reconstruction", n_components=2)
    for selection in (useful, faithful):
        print(selection, end="\n\n")
    figure, axes = new_figure(2, width=6.0, height=4.8)
    for ax, selection, aim in zip(
        axes,
        (useful, faithful),
        ("telling cultivars apart", "keeping measurements"),
        strict=True,
    ):
        selection.plot(ax=ax).ax_.set_title(aim, fontsize=10.5)
    figure.savefig(given.output / "choose_kernel.png")

    # A kernel with a gradient tells which measurements move its components.
    smooth = KernelPCA("parallel", kernel="rbf", gamma="median").fit(X)
    print(f"parallel analysis keeps {smooth.eigenvalues_.shape[0]} components of {smooth.kernel_}")
    display = ContributionsDisplay.from_estimator(smooth, names=names)
    display.figure_.savefig(given.output / "contributions.png")
    for i in range(2):
        shares = smooth.feature_contributions(standardize=True, shares=True)[i]
        print(f"what moves component {i + 1} most: {names[shares.argmax()]} ({shares.max():.0%})")


if __name__ == "__main__":
    main()
