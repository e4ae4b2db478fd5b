"""Which penalty separates classes best?
=====================================

This example maps handwritten digits by linear and by kernel discriminants, and shows how the leave-one-out error
chooses the penalty.

::

    python examples/discriminants.py --rows 1797 --output pictures
"""

import argparse
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from mercer import KernelDiscriminantAnalysis
from mercer.plots import FEW, EmbeddingDisplay, new_figure, tidy


def main() -> None:
    parser = argparse.ArgumentParser(description="Which penalty separates classes best?")
    parser.add_argument("--rows", type=int, default=1797)
    parser.add_argument("--output", type=Path, default=Path("."), help="folder for the pictures")
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)

    X, y = load_digits(return_X_y=True)
    train, test, y_train, y_test = train_test_split(X[: given.rows], y[: given.rows], test_size=0.4, random_state=0)

    straight = LinearDiscriminantAnalysis().fit(train, y_train)
    curved = KernelDiscriminantAnalysis().fit(train, y_train)
    for name, model in (("linear discriminants", straight), ("kernel discriminants", curved)):
        loss = log_loss(y_test, model.predict_proba(test), labels=model.classes_)
        print(f"{name}: {1 - model.score(test, y_test):.1%} of new digits wrong, log loss {loss:.3f}")
    print(f"leaving one out had promised {curved.loo_error_:.1%}, with reg = {curved.reg_:.1g}")
    print(curved.solver_)

    figure, axes = new_figure(2)
    for ax, name, model in zip(axes, ("linear", "kernel"), (straight, curved), strict=True):
        EmbeddingDisplay.from_coordinates(model.transform(test), y_test, ax=ax, names=("first", "second"))
        ax.set_title(f"New digits along two {name} discriminants", fontsize=10)
    figure.savefig(given.output / "discriminants.png")
    penalties(curved, train, y_train, test, y_test).savefig(given.output / "discriminants-penalty.png")


def penalties(curved, train, y_train, test, y_test):
    """The leave-one-out error of every penalty, and the error on new digits of some."""
    values, errors = curved.reg_path_
    tried = np.logspace(-9, 0, 10)
    true = [1 - KernelDiscriminantAnalysis(reg=reg).fit(train, y_train).score(test, y_test) for reg in tried]
    figure, (ax,) = new_figure(width=5.6, height=3.6)
    tidy(ax)
    ax.semilogx(values, 100 * errors, color=FEW[0], label="leaving one out, all from one fit")
    ax.semilogx(tried, 100 * np.array(true), "o", color=FEW[1], markersize=4.5, label="on new digits, a fit each")
    ax.set_ylim(bottom=0)
    ax.axvline(curved.reg_, color="#8A8A8A", linewidth=0.8)
    ax.annotate("chosen", (curved.reg_, ax.get_ylim()[1]), ha="center", va="bottom", fontsize=8.5)
    ax.set_xlabel("penalty, relative to the total variance")
    ax.set_ylabel("wrong, %")
    ax.legend(frameon=False, fontsize=8.5)
    return figure


if __name__ == "__main__":
    main()
