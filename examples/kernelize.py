"""Can I give another linear method a kernel?
==========================================

Yes. This example gives a kernel to discriminants, ridge regression, k-means and partial least squares, and runs them on
curved data.

::

    python examples/kernelize.py --output pictures
"""

import argparse
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans
from sklearn.cross_decomposition import PLSRegression
from sklearn.datasets import make_circles, make_moons
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import Ridge
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV

from mercer import Kernelized
from mercer.plots import FEW, INK, EmbeddingDisplay, new_figure, tidy


def regions(ax, classifier, X) -> None:
    """The plane coloured by what the classifier says of it."""
    low, high = X.min(axis=0) - 0.3, X.max(axis=0) + 0.3
    xs, ys = np.linspace(low, high, 200).T
    grid = np.column_stack([axis.ravel() for axis in np.meshgrid(xs, ys)])
    says = classifier.predict(grid).reshape(200, 200)
    ax.contourf(xs, ys, says, levels=[-0.5, 0.5, 1.5], colors=FEW[:2], alpha=0.18)


def main() -> None:
    parser = argparse.ArgumentParser(description="Can I give another linear method a kernel?")
    parser.add_argument("--output", type=Path, default=Path("."), help="folder for the picture")
    folder = parser.parse_args().output
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    figure, (one, two, three, four) = new_figure(4, width=3.6, height=3.7)

    # A discriminant: two moons. Width and shrinkage are found by scikit-learn's own search.
    X, y = make_moons(400, noise=0.15, random_state=0)
    discriminant = Kernelized(LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.01), "rbf")
    grid = {"gamma": [0.3, 1.0, 3.0], "estimator__shrinkage": [1e-4, 1e-3, 1e-2]}
    search = GridSearchCV(discriminant, grid, cv=3).fit(X, y)
    straight = LinearDiscriminantAnalysis().fit(X, y).score(X, y)
    print(f"discriminants: {straight:.1%} right by a line, {search.best_score_:.1%} (cross-validated) with a kernel")
    regions(one, search, X)
    EmbeddingDisplay(X, y).plot(ax=one, size=6, key=None)
    one.set_title("discriminant analysis", fontsize=10.5, color=INK)

    # Ridge regression: a curve.
    x = np.sort(rng.uniform(0, 10, 150))[:, None]
    heard = np.sin(x[:, 0]) + 0.3 * x[:, 0] + 0.25 * rng.standard_normal(150)
    curve = Kernelized(Ridge(alpha=0.1), "rbf", gamma=0.5, rank=None).fit(x, heard)
    line = Ridge().fit(x, heard)
    print(f"ridge regression: R² {line.score(x, heard):.2f} by a line, {curve.score(x, heard):.2f} with a kernel")
    tidy(two).plot(x, heard, "o", ms=3, color=FEW[0], alpha=0.6, mew=0)
    fine = np.linspace(0, 10, 300)[:, None]
    two.plot(fine, line.predict(fine), color="#8A8A8A", lw=1.2, label="a line")
    two.plot(fine, curve.predict(fine), color=FEW[1], lw=2, label="with a kernel")
    two.legend(frameon=False, fontsize=8.5, labelcolor=INK)
    two.set_title("ridge regression", fontsize=10.5, color=INK)

    # k-means: rings, which no two centres in the plane tell apart.
    X, ring = make_circles(500, factor=0.3, noise=0.06, random_state=0)
    means = KMeans(2, n_init=20, random_state=0)
    found = Kernelized(means, "rbf", gamma=4.0).fit_predict(X)
    plain, kernel = (abs(adjusted_rand_score(ring, labels)) for labels in (means.fit_predict(X), found))
    print(f"k-means: agreement with the rings {plain:.2f} in the plane, {kernel:.2f} with a kernel")
    EmbeddingDisplay(X, found).plot(ax=three, size=6, key=None)
    three.set_aspect("equal")
    three.set_title("k-means", fontsize=10.5, color=INK)

    # Partial least squares: two targets of a turn and a height, from three coordinates of a roll.
    turn, height = rng.uniform(1, 3.5, 500) * np.pi, rng.uniform(0, 10, 500)
    roll = np.column_stack([turn * np.cos(turn), height, turn * np.sin(turn)])
    targets = np.column_stack([turn, height])
    train, test = np.arange(500) < 350, np.arange(500) >= 350
    flat = PLSRegression(2).fit(roll[train], targets[train])
    rolled = Kernelized(PLSRegression(12, scale=False), "rbf", gamma=0.03).fit(roll[train], targets[train])
    errors = [model.score(roll[test], targets[test]) for model in (flat, rolled)]
    print(f"partial least squares: R² on new rows {errors[0]:.2f} by planes, {errors[1]:.2f} with a kernel")
    tidy(four).plot(turn[test], flat.predict(roll[test])[:, 0], "o", ms=3, color="#8A8A8A", label="plane", mew=0)
    four.plot(turn[test], rolled.predict(roll[test])[:, 0], "o", ms=3, color=FEW[1], label="with a kernel", mew=0)
    four.set_xlabel("the turn of the roll")
    four.set_ylabel("predicted")
    four.legend(frameon=False, fontsize=8.5, labelcolor=INK)
    four.set_title("partial least squares", fontsize=10.5, color=INK)
    figure.savefig(folder / "kernelized.png")


if __name__ == "__main__":
    main()
