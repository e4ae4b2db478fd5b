"""`--dry-run`: what a fit would do, and the memory and time it would take, without doing it.

The memory is what the estimator plans. The time comes from trial fits of some of the rows, which take two seconds
together, and from the power of n by which the method's time grows. It is given as a range.
"""

from __future__ import annotations

import time
import warnings
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.cli.console import print_json, print_pairs
from mercer.cli.fit import FitRequest
from mercer.cli.fitted import shown_parameters
from mercer.cli.methods import FitMethod
from mercer.cli.table_input import source_name
from mercer.memory import available_bytes, format_bytes
from mercer.tables.table import Table

BUDGET = 2.0  # seconds for all trial fits together
FIRST_TRIAL = 250  # rows
DOUBT = 0.6, 1.8  # what other work on the machine, and the choice of rows, may change
LATER_STEPS = 1.0, 5.0  # times the first steps: a map spreads as it grows, and its later steps take longer


@dataclass(frozen=True)
class Forecast:
    """A fit takes between `low` and `high` seconds, judged by trial fits of up to `rows` rows."""

    low: float
    high: float
    rows: int

    def __str__(self) -> str:
        return f"{spoken(self.low)} to {spoken(self.high)}, from trial fits of up to {self.rows:,} rows"


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


def tell_plan(
    request: FitRequest,
    method: FitMethod,
    why: str,
    table: Table,
    second: Table | None,
    files: list[str],
    as_document: bool,
) -> None:
    """Print the plan of a fit. If it does not fit into memory, raise MemoryLimitError as the fit would."""
    estimator = method.build(request.parameters, seed=request.seed, jobs=request.jobs, shape=table.X.shape)
    arguments = method.arguments(table, second)
    plan = estimator.plan(*arguments)
    plan.refuse()
    forecast = forecast_seconds(method, estimator, arguments)
    n, d = table.X.shape
    held = _bytes_of(table) + (_bytes_of(second) if second is not None else 0)
    if as_document:
        print_json(
            {
                "method": method.name,
                "why": why,
                "solver": f"{plan.method}: {plan.reason}",
                "parameters": shown_parameters(estimator),
                "rows": n,
                "columns": d,
                "table_bytes": held,
                "needed_bytes": plan.needed_bytes,
                "peak_bytes": plan.peak_bytes,
                "available_bytes": available_bytes(),
                "seconds": {"least": forecast.low, "most": forecast.high, "measured_on_rows": forecast.rows},
                "outputs": files,
            }
        )
        return
    free = format_bytes(available_bytes())
    print_pairs(
        [
            ("table", f"{source_name(request.table)}: {n:,} rows, {d:,} columns, {format_bytes(held)} in memory"),
            ("method", f"{method.title}: {why}"),
            ("solver", f"{plan.method}: {plan.reason}"),
            ("memory", f"{format_bytes(plan.peak_bytes)} besides the table; {free} are free"),
            ("time", str(forecast)),
            ("writes", ", ".join(files) or "stdout"),
        ]
    )


def _bytes_of(table: Table) -> int:
    X = table.X
    return int(X.nbytes if hasattr(X, "nbytes") else X.data.nbytes + X.indices.nbytes + X.indptr.nbytes)


def forecast_seconds(method: FitMethod, estimator: Any, arguments: tuple[Any, ...]) -> Forecast:
    """How long a fit of all rows would take, from trial fits of more and more rows until their time is spent."""
    n = arguments[0].shape[0]
    steps = method.steps(estimator)

    def trial(rows: int, steps: int) -> float:
        chosen = np.unique(np.linspace(0, n - 1, rows).astype(int))
        model = method.for_trial(estimator, len(chosen), steps)
        started = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with suppress(ValueError, ArithmeticError):  # some rows may not suit a method that suits all
                model.fit(*(argument[chosen] for argument in arguments))
        return time.perf_counter() - started

    loading = trial(min(n, 60), 10)  # compiling and loading do not grow with the rows
    # Above its turn a method takes another way, so only trials on the same side tell of it.
    above = method.turn is not None and n > 1.2 * method.turn
    size = min(n, int(1.1 * (method.turn or 0)) if above else FIRST_TRIAL)
    spent = 0.0
    while True:
        few = trial(size, 10)
        step = 0.0 if steps is None else max(trial(size, 60) - few, 1e-4) / 50
        spent += few + 60 * step
        larger = min(n, 2 * size)
        # The next trial takes four times as long if time grows with n², and one that exceeds the budget is not begun.
        if larger == size or spent + 4 * (few + 60 * step) > BUDGET:
            break
        size = larger
    low, high = (
        doubt * (n / size) ** power * (few + later * step * (steps or 0))
        for doubt, power, later in zip(DOUBT, method.growth, LATER_STEPS, strict=True)
    )
    return Forecast(low, high + loading, size)
