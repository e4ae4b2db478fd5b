"""The methods that `mercer fit` knows, and what the command sets differently from the estimators."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from typing import Any


@dataclass(frozen=True)
class Method:
    """module, estimator : where the class is; it is loaded when it is built
    summary : a line for --help
    defaults : where a shell wants others than a program
    documented_by : the class whose docstring describes the parameters
    """

    name: str
    title: str
    module: str
    estimator: str
    summary: str
    defaults: dict[str, Any] = field(default_factory=dict)
    documented_by: str | None = None

    def load(self) -> Any:
        """The estimator's class."""
        return getattr(import_module(self.module), self.estimator)


_TWO = {"n_components": 2}
_WIDTH = {"kernel": "rbf", "gamma": "median"}  # scikit-learn's linear kernel would be PCA

METHODS = {
    method.name: method
    for method in (
        Method("pca", "PCA", "mercer.estimators.pca", "PCA", "straight directions of greatest variance", _TWO),
        Method(
            "kpca",
            "kernel PCA",
            "mercer.estimators.kernel_pca",
            "KernelPCA",
            "directions in the feature space of a kernel: curved ones",
            _TWO | _WIDTH,
        ),
        Method(
            "kda",
            "kernel discriminants",
            "mercer.estimators.kernel_discriminant",
            "KernelDiscriminantAnalysis",
            "directions that separate the classes of --label",
        ),
        Method(
            "kcca",
            "kernel CCA",
            "mercer.estimators.kernel_cca",
            "KernelCCA",
            "what this table and --second have in common",
            {"gamma": "median"},
        ),
        Method(
            "isomap",
            "Isomap",
            "mercer.estimators.isomap",
            "Isomap",
            "distances along the graph of neighbours",
        ),
        Method(
            "sne",
            "SNE",
            "mercer.estimators.tsne",
            "SNE",
            "a map that keeps neighbours together, crowded",
            documented_by="TSNE",
        ),
        Method("tsne", "t-SNE", "mercer.estimators.tsne", "TSNE", "a map that keeps neighbours together, with room"),
    )
}

MANY_ROWS = 20_000  # all pairs of so many are visited in about a minute
FEW_ROWS = 10


def choose_method(rows: int, *, second: bool) -> tuple[str, str]:
    """What --method auto is, and why."""
    if second:
        return "kcca", "there is a second table"
    if rows < FEW_ROWS:
        return "pca", f"fewer than {FEW_ROWS} rows say nothing about curvature"
    if rows <= MANY_ROWS:
        return "kpca", f"up to {MANY_ROWS:,} rows all pairs can be visited"
    return "pca", f"more than {MANY_ROWS:,} rows; --method tsne draws a map of them in minutes"
