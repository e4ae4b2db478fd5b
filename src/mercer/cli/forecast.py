"""How long a fit would take: small fits on some of the rows, and the law by which their time grows.

Methods change their way at 2048 rows, t-SNE at 2500, so that small fits tell of large ones only on the same side: where
the table is larger, they are given just more rows than that. SNE and t-SNE are asked for two numbers of steps, which
separates the search for neighbours from the steps.
"""

from __future__ import annotations

import time
import warnings
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from mercer.embedding.repulsion import GRID_ABOVE
from mercer.linalg.eigen import SMALL
from mercer.tables.table import Table

BUDGET = 2.0  # seconds for all small fits together
QUICK = 0.25  # seconds of fits that are worth doing again, to be surer
TURN = SMALL  # rows at which methods change their way
GRID = GRID_ABOVE[2]  # points from which t-SNE repels by a grid
LATER = {"pairs": (1.0, 2.5), "grid": (1.5, 5.0)}  # times the first steps, as the map spreads over its grid
# How time grows with rows, at least and at most, below and above the turn.
GROWTH = {
    "pca": ((0.8, 1.1), (0.8, 1.1)),
    "kpca": ((1.6, 2.4), (1.4, 2.2)),
    "kda": ((2.0, 3.0), (1.4, 2.2)),
    "kcca": ((2.2, 3.0), (2.4, 3.0)),
    "isomap": ((1.6, 2.4), (1.8, 2.3)),
    "sne": ((0.9, 1.3), (0.9, 1.3)),
    "tsne": ((0.9, 1.3), (0.9, 1.3)),
}
DOUBT = 0.6, 1.8  # what other work on the machine and the data itself may change


@dataclass(frozen=True)
class Forecast:
    """Seconds, between `low` and `high`, from fits of up to `rows` rows."""

    low: float
    high: float
    rows: int

    def __str__(self) -> str:
        return f"{spoken(self.low)} to {spoken(self.high)}, from small fits of up to {self.rows:,} rows"


def spoken(seconds: float) -> str:
    """Seconds for people.

    >>> spoken(0.034), spoken(75), spoken(5000)
    ('0.03 s', '1.2 min', '1.4 h')
    """
    if seconds < 1:
        return f"{max(seconds, 0.01):.1g} s"
    if seconds < 60:
        return f"{seconds:.2g} s"
    return f"{seconds / 60:.2g} min" if seconds < 3600 else f"{seconds / 3600:.2g} h"


def forecast_seconds(method: str, estimator: Any, table: Table, second: Table | None) -> Forecast:
    """The time of a fit of the whole table."""
    trial = _Trial(method, estimator, table, second)
    n = table.X.shape[0]
    first = trial.once(min(n, 60))  # what is compiled or loaded once does not grow with rows
    found = _by_steps(trial, n) if method in ("sne", "tsne") else _by_rows(trial, n)
    return Forecast(found.low, found.high + first, found.rows)


def _by_rows(trial: _Trial, n: int) -> Forecast:
    above = n > 1.2 * TURN
    first = int(1.1 * TURN) if above and trial.method not in ("kda", "kcca") else min(n, 250)
    spent, size, took = 0.0, first, 0.0
    while True:
        took = trial.seconds(size)
        spent += took
        larger = min(n, 2 * size)
        if larger == size or spent + 6 * took > BUDGET:
            break
        size = larger
    if size == n:
        return Forecast(DOUBT[0] * took, DOUBT[1] * took, n)
    low, high = (_grown(trial.method, size, n, end) for end in (0, 1))
    return Forecast(DOUBT[0] * took * low, DOUBT[1] * took * high, size)


def _grown(method: str, size: int, n: int, end: int) -> float:
    """How many times longer n rows take than `size`, at least (0) or at most (1)."""
    below, above = (powers[end] for powers in GROWTH[method])
    turn = min(max(size, TURN), n)
    return (turn / size) ** below * (n / turn) ** above


def _by_steps(trial: _Trial, n: int) -> Forecast:
    """Neighbours and steps apart: both grow with rows, and later steps take longer, as the map spreads."""
    steps, size, spent = trial.estimator.max_iter, min(n, 1000 if n < GRID else int(1.1 * GRID)), 0.0
    while True:
        few, more = trial.seconds(size, steps=10), trial.seconds(size, steps=60)
        spent += few + more
        larger = min(n, 2 * size)
        if larger == size or spent + 3 * (few + more) > BUDGET:
            break
        size = larger
    step = max(more - few, 1e-4) / 50
    search = max(few - 10 * step, 0.0)
    low, high = (_grown(trial.method, size, n, end) for end in (0, 1))
    slower = LATER["grid" if n >= GRID else "pairs"]
    least, most = low * (search + slower[0] * step * steps), high * (search + slower[1] * step * steps)
    return Forecast(DOUBT[0] * least, DOUBT[1] * most, size)


class _Trial:
    """Fits of some rows, evenly spread over the table, timed."""

    def __init__(self, method: str, estimator: Any, table: Table, second: Table | None) -> None:
        self.method, self.estimator, self.table, self.second = method, estimator, table, second

    def seconds(self, rows: int, steps: int | None = None) -> float:
        """The least of a few fits, as long as they are quick: other work on the machine only ever adds."""
        best, spent = np.inf, 0.0
        for _ in range(3):
            took = self.once(rows, steps)
            best, spent = min(best, took), spent + took
            if spent > QUICK:
                break
        return best

    def once(self, rows: int, steps: int | None = None) -> float:
        model = clone(self.estimator)
        n = self.table.X.shape[0]
        chosen = np.unique(np.linspace(0, n - 1, rows).astype(int))
        X = self.table.X[chosen]
        if self.method in ("sne", "tsne"):
            perplexity = np.minimum(model.perplexity, max(1.0, (len(chosen) - 2) / 3))
            model.set_params(max_iter=steps or 10, perplexity=perplexity.tolist())
        started = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with suppress(ValueError, ArithmeticError):  # some rows may not do what all can
                self._fit(model, X, chosen)
        return time.perf_counter() - started

    def _fit(self, model: Any, X: Any, chosen: np.ndarray) -> None:
        if self.method == "kcca":
            assert self.second is not None
            model.fit(X, self.second.X[chosen])
        elif self.method == "kda":
            from mercer.cli.fitting import as_classes

            model.fit(X, as_classes(self.table.labels)[chosen])
        else:
            model.fit(X)
