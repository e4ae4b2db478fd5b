"""How do I search over a kernel's width?
======================================

Judge the width by the purpose of the components. Here they go into a classifier of handwritten digits, and a grid
search finds the width. Then the map is drawn.

::

    python examples/digits.py --rows 1797 --output pictures
"""

import argparse
from pathlib import Path

from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from mercer import KernelPCA
from mercer.kernels import RBF
from mercer.plots import EmbeddingDisplay, ScreeDisplay


def main() -> None:
    parser = argparse.ArgumentParser(description="How do I search over a kernel's width?")
    parser.add_argument("--rows", type=int, default=1797)
    parser.add_argument("--output", type=Path, default=Path("."), help="folder for the pictures")
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)

    X, y = load_digits(return_X_y=True)
    train, test, y_train, y_test = train_test_split(X[: given.rows], y[: given.rows], random_state=0)

    # A kernel is a value with parameters, so scikit-learn can search over them.
    steps = make_pipeline(KernelPCA(10, kernel=RBF()), KNeighborsClassifier(5))
    search = GridSearchCV(steps, {"kernelpca__kernel__gamma": ["median", 1e-4, 1e-3, 3e-3]}, cv=3)
    search.fit(train, y_train)
    for params, score in zip(search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True):
        print(f"gamma {params['kernelpca__kernel__gamma']!s:>6}: {score:.1%} right from 10 components")
    print(f"on new digits: {search.score(test, y_test):.1%}")

    kpca = search.best_estimator_[0]
    print(kpca.solver_)
    EmbeddingDisplay.from_estimator(kpca, test, y_test).figure_.savefig(given.output / "digits-map.png")
    ScreeDisplay.from_estimator(kpca).figure_.savefig(given.output / "digits-spectrum.png")


if __name__ == "__main__":
    main()
