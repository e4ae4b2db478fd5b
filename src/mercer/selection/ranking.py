"""The result of `select_kernel`: a ranking to read and to draw, and the best kernel."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from matplotlib.axes import Axes

from mercer.kernels.kernel import Kernel
from mercer.plots.ranking_display import RankingDisplay

_LONG_NUMBER = re.compile(r"-?\d+\.\d+(?:e[+-]?\d+)?")


@dataclass(frozen=True)
class ScoredKernel:
    """A kernel with all its parameters as numbers, and its score; larger is better.

    standard_error : the standard error of the score, if the criterion has one
    n_components : how many components to use, if the criterion tells
    details : more figures, by name

    >>> from mercer.kernels import Linear
    >>> ScoredKernel(Linear(), 0.5).score
    0.5
    """

    kernel: Kernel
    score: float
    standard_error: float | None = None
    n_components: int | None = None
    details: dict[str, float] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The kernel with its numbers to three digits."""
        return self.name_to(3)

    def name_to(self, digits: int) -> str:
        """The kernel with its numbers to `digits` digits; 17 digits distinguish any two numbers."""
        return _LONG_NUMBER.sub(lambda number: f"{float(number[0]):.{digits}g}", repr(self.kernel))


@dataclass(frozen=True)
class KernelSelection:
    """Kernels ranked by a criterion, the best first.

    criterion : the name of the criterion; `meaning` tells what the score is
    ranking : a `ScoredKernel` for each kernel, the best first
    failed : kernels that could not be used on the data, by name, with the reason

    You can pass `best` to an estimator: `KernelPCA(selection.n_components, kernel=selection.best)`.

    >>> import numpy as np
    >>> from mercer.selection import select_kernel
    >>> x = np.linspace(-1, 1, 40)[:, None]
    >>> select_kernel(x, x[:, 0] ** 2, ["linear", ("rbf", {"gamma": 1.0})], criterion="loo").best
    RBF(gamma=1.0)
    """

    criterion: str
    meaning: str
    ranking: tuple[ScoredKernel, ...]
    failed: dict[str, str] = field(default_factory=dict)

    @property
    def best(self) -> Kernel:
        """The kernel with the highest score. Each of its widths is a number."""
        return self.ranking[0].kernel

    @property
    def best_(self) -> Kernel:
        return self.best

    @property
    def score(self) -> float:
        """The highest score."""
        return self.ranking[0].score

    @property
    def n_components(self) -> int | None:
        """The number of components for the best kernel, at least 1; None if the criterion does not give one."""
        count = self.ranking[0].n_components
        return None if count is None else max(1, count)

    @property
    def scores(self) -> dict[str, float]:
        """The score of each kernel by name, the best first."""
        return dict(zip(self.names, (entry.score for entry in self.ranking), strict=True))

    @property
    def names(self) -> list[str]:
        """The name of each kernel, the best first, with three digits or as many as it takes to tell them apart."""
        names = [entry.name for entry in self.ranking]
        for digits in range(4, 18):
            names = [
                entry.name_to(digits) if names.count(name) > 1 else name
                for entry, name in zip(self.ranking, names, strict=True)
            ]
        return [f"{name} ({names[:i].count(name) + 1})" if name in names[:i] else name for i, name in enumerate(names)]

    def table(self) -> dict[str, list[Any]]:
        """The ranking as columns."""
        columns: dict[str, list[Any]] = {
            "kernel": self.names,
            "score": [entry.score for entry in self.ranking],
        }
        if any(entry.standard_error is not None for entry in self.ranking):
            columns["standard_error"] = [entry.standard_error for entry in self.ranking]
        if any(entry.n_components is not None for entry in self.ranking):
            columns["n_components"] = [entry.n_components for entry in self.ranking]
        for name in dict.fromkeys(name for entry in self.ranking for name in entry.details):
            columns[name] = [entry.details.get(name) for entry in self.ranking]
        return columns

    def to_frame(self) -> Any:
        """The ranking as a pandas data frame, with the kernels themselves in the column `object`."""
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("to_frame makes a pandas data frame: pip install pandas, or use table().") from error
        return pd.DataFrame(self.table() | {"object": [entry.kernel for entry in self.ranking]})

    def plot(self, *, ax: Axes | None = None) -> RankingDisplay:
        """The scores as points with their standard errors, the best on top."""
        return RankingDisplay.from_selection(self, ax=ax)

    def __str__(self) -> str:
        columns = self.table()
        cells = [[name.replace("_", " ") for name in columns]]
        cells += [[_cell(value) for value in row] for row in zip(*columns.values(), strict=True)]
        widths = [max(len(row[i]) for row in cells) for i in range(len(columns))]
        lines = [
            "  ".join(
                [row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))]
            ).rstrip()
            for row in cells
        ]
        lines += [f"{name}: {reason}" for name, reason in self.failed.items()]
        return "\n".join([f"{self.criterion}: {self.meaning}", *lines])

    __repr__ = __str__


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if not isinstance(value, float):
        return str(value)
    return f"{value:.4f}" if value == 0 or abs(value) >= 1e-3 else f"{value:.1e}"  # two digits at least
