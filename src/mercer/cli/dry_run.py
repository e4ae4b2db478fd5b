"""`--dry-run`: what a fit would do, how much memory it would take and how much work it is, without doing it.

The memory of the fit is what the estimator plans. The memory of the process is what a batch queue counts: Python, its
libraries and the table come on top, and this process has loaded them already, so they are measured. The work is told in
passes, steps and sizes: how long a pass takes depends on the processor and on what else runs there, and trial fits of a
few rows were wrong by factors of ten.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from mercer.amounts import amount
from mercer.cli.console import print_json, print_pairs
from mercer.cli.devices import fitting_device, free_on, placed
from mercer.cli.fitted import shown_parameters
from mercer.cli.methods import FitMethod
from mercer.cli.pages import MOST_VALUES
from mercer.cli.request import FitRequest
from mercer.cli.streamed import Streaming, streaming_plan
from mercer.cli.table_input import as_choice, source_name
from mercer.memory import available_bytes, format_bytes
from mercer.planning import Plan
from mercer.quality.pairs import ALL_PAIRS_UP_TO
from mercer.tables.table import Table

_LINES = ("table", "streamed", "method", "solver", "memory", "work", "writes")  # as they are told


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
    device, _ = fitting_device(request.device, method, arguments)
    arguments = placed(arguments, device)
    plan = estimator.plan(*arguments)
    plan.refuse()
    n, d = table.X.shape
    work = method.workload(estimator, plan.method, n, d)
    page = page_bytes(n, d) if request.report is not None else 0
    process = process_bytes(max(plan.peak_bytes, page))
    held = _bytes_of(table) + (_bytes_of(second) if second is not None else 0)
    whole = "" if process is None else f", {format_bytes(process)} in all"
    lines = {
        "table": f"{format_bytes(held)} in memory",
        "memory": f"{format_bytes(plan.peak_bytes)} for the fit{whole}; {free_on(device, arguments)}",
        "work": work,
    }
    facts = {"table_bytes": held, "process_bytes": process, "work": work}
    _tell(request, method, why, estimator, plan, (n, d), files, lines, facts if as_document else None)


def tell_streamed_plan(request: FitRequest, streaming: Streaming, files: list[str], as_document: bool) -> None:
    """The same for a table that is read in parts. Nothing but its metadata has been read."""
    method, shape = streaming.method, (streaming.rows, streaming.columns)
    plan = streaming_plan(request, method, shape, np.dtype(as_choice(request.choice).dtype))
    plan.refuse()
    estimator = method.build(request.parameters, seed=request.seed, jobs=request.jobs, shape=shape)
    needed, free = format_bytes(plan.peak_bytes), format_bytes(available_bytes())
    lines = {
        "streamed": streaming.reason,
        "memory": f"{needed} for the fit, whatever the number of rows; {free} are free",
    }
    facts = {"streamed": streaming.reason} if as_document else None
    _tell(request, method, streaming.why, estimator, plan, shape, files, lines, facts)


def _tell(
    request: FitRequest,
    method: FitMethod,
    why: str,
    estimator: Any,
    plan: Plan,
    shape: tuple[int, int],
    files: list[str],
    lines: dict[str, str],
    facts: dict[str, Any] | None,
) -> None:
    """Print a plan: as JSON with these facts besides, if they are given; else with these lines among the others."""
    n, d = shape
    solver = f"{plan.method}: {plan.reason}"
    if facts is not None:
        common = {
            "method": method.name,
            "why": why,
            "solver": solver,
            "parameters": shown_parameters(estimator),
            "rows": n,
            "columns": d,
            "needed_bytes": plan.needed_bytes,
            "peak_bytes": plan.peak_bytes,
            "available_bytes": available_bytes(),
            "outputs": files,
        }
        print_json(common | facts)
        return
    size = ", ".join(filter(None, [amount(n, "row"), amount(d, "column"), lines.get("table")]))
    told = lines | {
        "table": f"{source_name(request.table)}: {size}",
        "method": f"{method.title}: {why}",
        "solver": solver,
        "writes": ", ".join(files) or "stdout",
    }
    print_pairs([(name, told[name]) for name in _LINES if name in told])


def page_bytes(rows: int, columns: int) -> int:
    """About what scoring a map and writing its page take, when the fit has given back its memory.

    Measured on 1,000 to 100,000 rows of 50 columns. Compiled code and tiles of neighbours take 150 MB. A value that the
    page holds takes 16 bytes, as a copy of the table's own and as the text that it becomes. Scores that look at all
    pairs take 54 bytes per entry of a matrix of all rows.
    """
    pairs = 54 * rows**2 if rows <= ALL_PAIRS_UP_TO else 0
    return 150_000_000 + pairs + 16 * min(rows * (columns + 3), MOST_VALUES)


def process_bytes(planned: int, status: Path = Path("/proc/self/status")) -> int | None:
    """The peak of a process that has come this far and now plans a fit; None if the system does not tell."""
    try:
        sizes = dict(line.split(":", 1) for line in status.read_text().splitlines())
        resident, peak = (1024 * int(sizes[name].split()[0]) for name in ("VmRSS", "VmHWM"))
    except (OSError, KeyError, ValueError):
        return None
    return max(peak, resident + planned)  # reading a table may take more than a small fit of it


def _bytes_of(table: Table) -> int:
    X = table.X
    return int(X.nbytes if hasattr(X, "nbytes") else X.data.nbytes + X.indices.nbytes + X.indptr.nbytes)
