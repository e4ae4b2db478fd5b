"""The methods of `mercer fit`. Each is an object that knows its estimator, what it needs, and how it is fitted,
described and scored, so that no verb asks which method it has.

Help reads this module, so that it imports nothing heavy: estimators and NumPy are loaded when a method is used.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

from mercer.cli.errors import unsuitable
from mercer.cli.summary import (
    Line,
    correlated,
    explained,
    fitted_kernel,
    left_out,
    map_divergence,
    map_neighbors,
    map_repulsion,
    map_stress,
    residual,
    solver,
    unexplained,
)

if TYPE_CHECKING:
    import numpy as np

    from mercer.tables.table import Table

# Parameters that are not options: objects and callbacks, what --seed, --jobs and --quiet set, and what is accepted for
# scikit-learn's sake but not used.
HIDDEN = {
    *("kernel_params", "kernel_params_y", "metric_params", "fixed", "callbacks", "callback_every"),
    *("random_state", "n_jobs", "verbose", "copy", "copy_X"),
    *("angle", "path_method", "dissimilarity"),
}


@dataclass(frozen=True)
class FitMethod(ABC):
    """One method.

    name, title : on the command line, and for people
    module, estimator : where its class is
    summary : one line for --help
    describe : the lines of a fit's summary
    work : what a fit goes through, for --dry-run, with places for {rows}, {columns}, {pairs} and {steps}
    work_of : the same for solvers that go through something else
    defaults : parameters whose default on the command line differs from the estimator's
    documented_by : the class whose docstring describes the parameters, if not the estimator
    limited_by_shape : whether the default number of components must not exceed the rows and columns of the table
    replaces : {"radius": "n_neighbors"} if a given radius switches the number of neighbours off
    progress : what a fit reports as it goes on, if it does
    resumable : whether the estimator can take more steps after a fit, by `optimize`
    takes_tensors : whether the estimator computes on a card
    streams_with : the parameters without which the method does not read a table in parts, each with a value to try;
        None if it never does
    """

    name: str
    title: str
    module: str
    estimator: str
    summary: str
    describe: tuple[Callable[[Any], Line | None], ...]
    work: str
    defaults: dict[str, Any] = field(default_factory=dict)
    documented_by: str | None = None
    limited_by_shape: bool = False
    replaces: dict[str, str] = field(default_factory=dict)
    progress: str = "KL"
    resumable: bool = False
    work_of: dict[str, str] = field(default_factory=dict)
    takes_tensors: bool = True
    streams_with: dict[str, int] | None = None

    def load(self) -> Any:
        """The estimator's class."""
        return getattr(import_module(self.module), self.estimator)

    def build(self, given: dict[str, Any], *, seed: int, jobs: int | None, shape: tuple[int, int] | None = None) -> Any:
        """The estimator with the command's defaults, the given parameters, the seed and the number of threads."""
        kind = self.load()
        known = set(kind().get_params(deep=False))
        settings = dict(self.defaults)
        if self.limited_by_shape and shape is not None:
            settings["n_components"] = min(settings["n_components"], *shape)
        settings |= {name: value for name, value in given.items() if name in known and name not in HIDDEN}
        settings |= {name: value for name, value in (("random_state", seed), ("n_jobs", jobs)) if name in known}
        return kind(**settings)

    def most_components(self, wanted: int, table: Table) -> int:
        """How many of the wanted components a fit of this table can have."""
        return min(wanted, *table.X.shape) if self.limited_by_shape else wanted

    def consistent(self, parameters: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
        """Parameters in which one that was given switches off the one that it replaces."""
        off = {
            other: None for name, other in self.replaces.items() if given.get(name) is not None and other not in given
        }
        return parameters | off

    def missing(self, *, label: bool, second: bool) -> str | None:
        """What the method needs and does not have, as a message; None if it has all."""
        return None

    @property
    def takes_second(self) -> bool:
        """Whether the method is fitted to two tables."""
        return False

    @abstractmethod
    def arguments(self, table: Table, second: Table | None) -> tuple[Any, ...]:
        """What the estimator's fit and plan are called with."""

    def fit(self, estimator: Any, arguments: tuple[Any, ...], update: Callable[..., None]) -> np.ndarray:
        """Fit the estimator; the coordinates (n, k)."""
        from mercer.backends import to_numpy

        return to_numpy(estimator.fit_transform(*arguments))

    def steps(self, estimator: Any) -> int | None:
        """How many steps a fit takes, if it counts them."""
        return None

    def workload(self, estimator: Any, solver: str, rows: int, columns: int) -> str:
        """What a fit of a table of this size goes through, with the solver that is planned."""
        sizes = {"rows": rows, "columns": columns, "pairs": rows * (rows - 1) // 2, "steps": self.steps(estimator) or 0}
        return self.work_of.get(solver, self.work).format(**{name: f"{size:,}" for name, size in sizes.items()})

    def column_names(self, count: int) -> list[str]:
        """Names for the columns of coordinates: kpca1, kpca2, …"""
        return [f"{self.name}{i}" for i in range(1, count + 1)]

    def views(self, count: int) -> list[tuple[str, slice]]:
        """A title and the columns of each map that a fit gives. The first map is that of the table itself."""
        return [(self.title, slice(0, count))]

    def score(self, table: Table, coordinates: np.ndarray, **settings: Any) -> Any:
        """The quality of the table's own map, as `mercer.quality.report` gives it."""
        from mercer.cli.pages import quality_report

        _, columns = self.views(coordinates.shape[1])[0]
        return quality_report(table, coordinates[:, columns], **settings)

    def summarize(self, estimator: Any) -> list[Line]:
        """(name, value) of what a fitted estimator can say about itself."""
        return [line for line in (say(estimator) for say in self.describe) if line is not None]


class OneTable(FitMethod):
    """A method of one table and nothing else."""

    def arguments(self, table: Table, second: Table | None) -> tuple[Any, ...]:
        return (table.X,)


class LabelledTable(FitMethod):
    """A method of one table whose rows have classes."""

    def most_components(self, wanted: int, table: Table) -> int:
        return max(1, min(wanted, len(set(as_classes(table.labels).tolist())) - 1))

    def missing(self, *, label: bool, second: bool) -> str | None:
        return None if label else f"Method {self.name} separates classes. Name the column of classes with --label."

    def arguments(self, table: Table, second: Table | None) -> tuple[Any, ...]:
        return table.X, as_classes(table.labels)


class TwoTables(FitMethod):
    """A method of two tables with the same rows. The coordinates of both stand side by side."""

    @property
    def takes_second(self) -> bool:
        return True

    def missing(self, *, label: bool, second: bool) -> str | None:
        return None if second else f"Method {self.name} compares two tables. Name the other one with --second."

    def arguments(self, table: Table, second: Table | None) -> tuple[Any, ...]:
        assert second is not None
        return table.X, second.X

    def fit(self, estimator: Any, arguments: tuple[Any, ...], update: Callable[..., None]) -> np.ndarray:
        import numpy as np

        from mercer.backends import to_numpy

        estimator.fit(*arguments)
        return np.hstack([to_numpy(estimator.x_scores_), to_numpy(estimator.y_scores_)])

    def column_names(self, count: int) -> list[str]:
        return [f"{self.name}_{view}{i}" for view in "xy" for i in range(1, count // 2 + 1)]

    def views(self, count: int) -> list[tuple[str, slice]]:
        k = count // 2
        return [(f"{self.title}, first table", slice(0, k)), (f"{self.title}, second table", slice(k, count))]


class NeighborMap(FitMethod):
    """A method that moves the points of a map step by step, and can say how far it has come."""

    def arguments(self, table: Table, second: Table | None) -> tuple[Any, ...]:
        return (table.X,)

    def fit(self, estimator: Any, arguments: tuple[Any, ...], update: Callable[..., None]) -> np.ndarray:
        from mercer.backends import to_numpy

        estimator.callbacks = self.reporter(update)
        coordinates = to_numpy(estimator.fit_transform(*arguments))
        estimator.callbacks = None
        return coordinates

    def reporter(self, update: Callable[..., None]) -> Callable[[int, float, Any], None]:
        """What the estimator calls after some of its steps."""
        return lambda done, value, _: update(done, f"{self.progress} {value:.4g}")

    def resume(self, estimator: Any, steps: int, update: Callable[..., None]) -> np.ndarray:
        """Take more steps with a fitted estimator; the coordinates (n, k)."""
        import numpy as np

        estimator.optimize(steps, callbacks=self.reporter(update))
        return np.asarray(estimator.embedding_)

    def steps(self, estimator: Any) -> int | None:
        return int(estimator.max_iter)


def as_classes(labels: Any) -> np.ndarray:
    """Labels as classes: whole numbers stay numbers, anything else becomes text. Fractions and gaps are refused."""
    import numpy as np

    labels = np.asarray(labels)
    if labels.dtype.kind == "f" and not np.array_equal(labels, np.floor(labels)):
        raise unsuitable("The label has fractions or missing values. Classes are needed, one for every row.")
    if labels.dtype.kind in "iubf":
        return labels.astype(np.int64)
    if any(label is None for label in labels.tolist()):
        raise unsuitable("The label has missing values. Every row needs a class.")
    return labels.astype(str)


_TWO = {"n_components": 2}
_RANK, _LANDMARKS = {"rank": 500}, {"landmarks": 10_000}  # what lets a method read a table in parts
_PASSES = "usually 4 to 20 passes over {pairs} pairs of rows"  # as measured on curved, clustered and noisy data
_STORED = {  # solvers that keep the whole matrix, or some of its columns, compute what they keep once
    **dict.fromkeys(("dense", "lanczos", "eigenvalues", "cholesky"), "one matrix of {pairs} pairs of rows, kept whole"),
    "rpcholesky": "some columns of the matrix of {pairs} pairs of rows",
}
_MEDIAN_WIDTH = {"kernel": "rbf", "gamma": "median"}  # the estimator's default, a linear kernel, would repeat PCA

METHODS: dict[str, FitMethod] = {
    method.name: method
    for method in (
        OneTable(
            "pca",
            "PCA",
            "mercer.estimators.pca",
            "PCA",
            "straight directions of greatest variance",
            describe=(solver, explained),
            work="one pass over {rows} × {columns} numbers",
            defaults=_TWO,
            limited_by_shape=True,
            streams_with={},
        ),
        OneTable(
            "kpca",
            "kernel PCA",
            "mercer.estimators.kernel_pca",
            "KernelPCA",
            "directions in the feature space of a kernel, curved in the table's own space",
            describe=(fitted_kernel, solver, explained, residual),
            work=_PASSES,
            work_of=_STORED,
            defaults=_TWO | _MEDIAN_WIDTH,
            streams_with=_RANK,
        ),
        LabelledTable(
            "kda",
            "kernel discriminants",
            "mercer.estimators.kernel_discriminant",
            "KernelDiscriminantAnalysis",
            "directions that separate the classes of --label",
            describe=(fitted_kernel, solver, left_out),
            work=_PASSES,
            work_of=_STORED,
            streams_with=_RANK,
        ),
        TwoTables(
            "kcca",
            "kernel CCA",
            "mercer.estimators.kernel_cca",
            "KernelCCA",
            "what this table and --second have in common",
            describe=(fitted_kernel, solver, correlated),
            work="a factor of each kernel matrix, with up to {pairs} pairs of rows",
            defaults={"gamma": "median"},
        ),
        OneTable(
            "isomap",
            "Isomap",
            "mercer.estimators.isomap",
            "Isomap",
            "distances along the graph of neighbours",
            describe=(fitted_kernel, solver, unexplained, residual),
            work="shortest paths from all rows, or from the landmarks, to {rows} rows",
            replaces={"radius": "n_neighbors"},
            streams_with=_LANDMARKS,
        ),
        NeighborMap(
            "mds",
            "MDS",
            "mercer.estimators.mds",
            "MDS",
            "a map whose distances follow those of the table, or their order",
            describe=(solver, map_stress),
            work="up to {steps} steps, each of which visits {pairs} pairs of rows",
            progress="stress",
            takes_tensors=False,
        ),
        NeighborMap(
            "sne",
            "SNE",
            "mercer.estimators.tsne",
            "SNE",
            "a map that keeps neighbours together, crowded",
            describe=(map_divergence, map_repulsion, map_neighbors),
            work="up to {steps} steps, each of which moves {rows} points",
            documented_by="TSNE",
            resumable=True,
            streams_with=_LANDMARKS,
        ),
        NeighborMap(
            "tsne",
            "t-SNE",
            "mercer.estimators.tsne",
            "TSNE",
            "a map that keeps neighbours together, with room between them",
            describe=(map_divergence, map_repulsion, map_neighbors),
            work="up to {steps} steps, each of which moves {rows} points",
            resumable=True,
            streams_with=_LANDMARKS,
        ),
    )
}

AUTO = "auto"
MANY_ROWS = 20_000  # kernel PCA visits all pairs of this many rows in about a minute
FEW_ROWS = 10


def choose_method(rows: int, *, second: bool) -> tuple[FitMethod, str]:
    """The method that --method auto takes, and why."""
    if second:
        return METHODS["kcca"], "there is a second table"
    if rows < FEW_ROWS:
        return METHODS["pca"], f"fewer than {FEW_ROWS} rows say nothing about curvature"
    if rows <= MANY_ROWS:
        return METHODS["kpca"], f"up to {MANY_ROWS:,} rows, all pairs can be visited"
    return METHODS["pca"], f"more than {MANY_ROWS:,} rows; --method tsne draws a map of them in minutes"
