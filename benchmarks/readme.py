"""The table of the README that compares Mercer with other libraries, from figures.json."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.targets import mercer_row, reached

README = Path(__file__).resolve().parents[1] / "README.md"
BEGIN, END = "<!-- written by benchmarks/readme.py -->", "<!-- end -->"
# Cases of figures.json in which another library does the same task, and what the README calls them.
TASKS = {
    "kpca-20k": "kernel PCA, 20,000 × 50, 10 components to 1e-6",
    "pca-float64": "PCA, 1,000,000 × 100, 10 components",
    "isomap-roll": "Isomap, 10,000 × 3",
    "embedding-middle": "t-SNE, 70,000 × 50",
    "kcca-linear": "CCA, 10,000 × 392 in two views",
    "kda-direct": "kernel discriminants, 5,000 × 50, exact",
}


def comparison(cases: dict[str, Any]) -> str:
    """Mercer beside the fastest other library that reaches the tolerance of the case."""
    lines = [
        "| Task | Mercer | The fastest other | Times faster | Memory, as a share of the other's |",
        "|---|---|---|---|---|",
    ]
    for name, task in TASKS.items():
        case = cases.get(name)
        if case is None:
            continue
        mine = mercer_row(case)
        others = [row for row in case["rows"] if row["library"] != mine["library"] and reached(case, row)]
        best = min(others, key=lambda row: row["seconds"])
        beside = f"{seconds(best)}, {best['library'].removeprefix('the ')}"
        ratio, share = best["seconds"] / mine["seconds"], mine["peak_bytes"] / best["peak_bytes"]
        lines.append(f"| {task} | {seconds(mine)} | {beside} | {ratio:.1f}× | {share:.0%} |")
    note = "Medians on two cores, each fit in a fresh process; memory is the peak of that process."
    return "\n".join([*lines, "", f"{note} [The benchmarks](docs/benchmarks.md) have every figure.", ""])


def seconds(row: dict[str, Any]) -> str:
    return f"{row['seconds']:.3g} s"


def written(text: str, cases: dict[str, Any]) -> str:
    """The README with this table in its place."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{comparison(cases)}\n{END}{after}"


def save(cases: dict[str, Any]) -> None:
    README.write_text(written(README.read_text(encoding="utf-8"), cases), encoding="utf-8")
