"""`--dry-run`: what a fit would do, how much memory it would take and how much work it is, without doing it.

The memory of the fit is what the estimator plans. The memory of the process is what a batch queue counts: Python, its
libraries and the table come on top, and this process has loaded them already, so they are measured. The work is told in
passes, steps and sizes: how long a pass takes depends on the processor and on what else runs there, and trial fits of a
few rows were wrong by factors of ten.
"""

from __future__ import annotations

from pathlib import Path

from mercer.amounts import amount
from mercer.cli.console import print_json, print_pairs
from mercer.cli.devices import fitting_device, free_on, placed
from mercer.cli.fitted import shown_parameters
from mercer.cli.methods import FitMethod
from mercer.cli.pages import MOST_VALUES
from mercer.cli.request import FitRequest
from mercer.cli.table_input import source_name
from mercer.memory import available_bytes, format_bytes
from mercer.quality.pairs import ALL_PAIRS_UP_TO
from mercer.tables.table import Table


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
                "process_bytes": process,
                "available_bytes": available_bytes(),
                "work": work,
                "outputs": files,
            }
        )
        return
    free, size = free_on(device, arguments), f"{amount(n, 'row')}, {amount(d, 'column')}"
    whole = "" if process is None else f", {format_bytes(process)} in all"
    print_pairs(
        [
            ("table", f"{source_name(request.table)}: {size}, {format_bytes(held)} in memory"),
            ("method", f"{method.title}: {why}"),
            ("solver", f"{plan.method}: {plan.reason}"),
            ("memory", f"{format_bytes(plan.peak_bytes)} for the fit{whole}; {free}"),
            ("work", work),
            ("writes", ", ".join(files) or "stdout"),
        ]
    )


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
