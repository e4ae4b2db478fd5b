"""benchmarks/figures.json, which keeps every case that was run, and docs/benchmarks.md, which is written from it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.cases import GROUPS, PEERS, SKLEARN, SLACK, all_cases
from benchmarks.targets import best_peer, memory_ratio, mercer_row, scoreboard, time_ratio

ROOT = Path(__file__).resolve().parents[1]
FIGURES = ROOT / "benchmarks" / "figures.json"
DOCS = ROOT / "docs" / "benchmarks.md"

Figures = dict[str, Any]

_INTRODUCTION = f"""\
# Benchmarks

This page is written by `python -m benchmarks` from `benchmarks/figures.json`; do not edit it. How to run it again is
at the end.

The data is MNIST: images divided by 255, centred, and projected on their first d principal axes where d < 784; beyond
60,000 rows they are drawn with replacement, with a little noise. The kernel is Gaussian, and everyone is given the
same gamma, one over the median squared distance.

Every measurement is a fresh process that loads the data, solves a small problem to warm up, and then times the fit
alone. Competitors take turns, so that a slow spell of the machine hits all of them. Times are medians, with the least
and the greatest; peak memory is the resident memory of the whole process, interpreter and data included. The residual
‖HKHv − γv‖/γ₁ is recomputed for every answer in float64 by the same few lines of NumPy (`benchmarks/judge.py`), and
the eigenvalues of all competitors are compared, so that nobody wins by missing one. "The best of scikit-learn" is its
fastest solver whose answer reaches the tolerance (within a factor of {SLACK}). A time ratio above 1 means faster than
that; a memory ratio below 1 means less.
"""

_NOTES = {
    "kpca-20k": "The randomized solver has no tolerance; its power iterations were raised until its residual is "
    "within it, trying 4, 7 (its default), 10, 15 and 20.",
    "kpca-10k": "tol = 1e-6; the randomized solver as above.",
    "kpca-small": 'At "default" each library runs at its own tol=0: scikit-learn goes to rounding error, Mercer to '
    "1e-10. These fits take milliseconds, so all competitors take turns in one process, 25 rounds or 15 s; a turn is a "
    'pause of 0.1 s, a first fit and a second. The time is that of the second, after the first has warmed up; "cold" '
    "is that of the first, compared with the solver of scikit-learn that is fastest cold. Residuals and memory, mostly "
    "the interpreter's, come from a process each.",
    "kpca-1m": "Only n · rank entries of the kernel matrix are computed. The certificate bounds the error of every "
    "eigenvalue by tr(K − FFᵀ), relative to γ₁; the residual is estimated from 4,000 rows of the kernel matrix.",
    "transform": "The residual is here the largest error of a score, relative to the largest score, on 1,000 rows. "
    "The model is fitted in another process.",
    "kda-mnist": "Pixels divided by 255 and nothing else; the test images are the 10,000 that come with the data.",
    "kda-direct": "The direct eigenproblem forms N and M, n × n, as kfda does, with the same penalty on ‖w‖². In place "
    "of a residual, the sine of the largest angle between the span of the scores of 1,000 new rows and that of a "
    "solution by least squares.",
    "kcca": "The two views of an image are its left and its right half; each Gaussian kernel has its own gamma, one "
    "over the median squared distance. In place of a residual, the mean correlation of the ten pairs of scores on "
    "10,000 images that no fit has seen.",
    "pca": "The residual is ‖Sv − λv‖/λ₁ with S the covariance.",
    "isomap": "Everyone finds the same exact neighbours. In place of a residual, ‖A − B‖/‖B‖ of the map to one by "
    "SciPy's shortest paths and ARPACK, after the best shift, rotation and scale; the same to the sheet that was "
    "rolled up; and the residual variance, as Mercer gives it.",
    "solvers": "All but the streamed one are given the centred kernel matrix in float64. A pass is one visit of the "
    "matrix, a product one vector multiplied by it.",
    "neighbors": "All 70,000 images on 50 principal axes, float32; the million rows lie between an image and one of "
    "its ten nearest, with noise. The time is that of building an index and asking it for the k nearest of every row, "
    "without the row itself; the recall is the share of the true ones on 1,000 rows. Recalls differ, so read times "
    "beside them. Mercer chooses how far to look by itself, and measures its own recall within the time.",
    "embedding": "The rows of the search for neighbours, perplexity 30, from rows to map, each library with its own "
    "neighbours and defaults but for the steps where they are named. All maps of a case are judged on one P, of the "
    "exact neighbours, with Q over all pairs in float64; of a million rows the divergence is not recomputed. Ten "
    "neighbours kept: the share of a row's ten nearest among the ten nearest in the map, on 1,000 rows. The first call "
    "takes so much more than the second, for imports and for what is compiled or read from a cache.",
    "quality": "The rows of the search for neighbours with their digits; the map is t-SNE's up to 70,000 rows, and of "
    "a million rows their first two axes, for which ranks take longest. 15 neighbours. The report has every score: "
    "trustworthiness, continuity, neighbour recall, class purity in the map and in the data, triplets, Shepard "
    "correlation, residual variance, and the divergence at the map's best scale; the widest interval is that of all "
    "but the divergence. In place of a residual, how far an exact trustworthiness is from one by a few lines of NumPy.",
    "faces": "The face space is fitted to faces alone; the measure is the area under the curve of the distance from "
    "it, on held-out faces and patches, and for portraits the share whose nearest neighbour in face space is the same "
    "person. Five folds, repeated with other divisions; components, kernel and width are chosen by cross-validation "
    "inside the training part (`examples/eigenfaces.py`). Without components the distance from the mean face decides, "
    "and that from picture to picture.",
    "tables": "From the file to one array of floats, as estimators take it. In place of a residual, the largest "
    "difference from the numbers that were written; peak memory, interpreter and libraries included, is also given as "
    "a multiple of the bytes of the numbers. Mercer's time includes the file's SHA-256 and what it notices about the "
    "columns.",
    "page": "From being told the file's address until the points are drawn, in headless Chromium; the memory is that "
    "of all its processes together.",
    "gpu": "Clusters with a decaying spectrum; memory is that of the GPU. The residual is recomputed in float64 on the "
    "GPU. At 20,000 samples in float64 the eigenvalues are compared with those that the CPU finds.",
}

_HOW = """\
## Running it again

    make bench                                  everything: some hours on two cores
    python -m benchmarks --only kpca-20k pca    some groups or cases; the others keep their figures
    python -m benchmarks --repeats 5            more turns
    python -m benchmarks --quick                tiny sizes, to see that it runs; writes neither figures nor this page
    PYTHONPATH=src python benchmarks/gpu.py --output gpu.json     on a machine with CUDA and torch
    python -m benchmarks --merge-gpu gpu.json
"""


def load(path: Path = FIGURES) -> Figures:
    return json.loads(path.read_text()) if path.exists() else {"cases": {}}


def merged(figures: Figures, new: dict[str, Figures]) -> Figures:
    """The figures with the given cases in place of older ones of the same id."""
    order = {case.id: i for i, case in enumerate(all_cases())}
    cases = {**figures["cases"], **new}
    names = sorted(cases, key=lambda name: (order.get(name, len(order)), list(cases).index(name)))
    return {**figures, "cases": {name: cases[name] for name in names}}


def save(figures: Figures) -> None:
    """Write figures.json and the page."""
    FIGURES.write_text(json.dumps(figures, indent=1, ensure_ascii=False) + "\n")
    DOCS.parent.mkdir(exist_ok=True)
    DOCS.write_text(render(figures))


def render(figures: Figures) -> str:
    """The page in Markdown."""
    cases = figures["cases"]
    machines = _machines(cases)
    parts = [_INTRODUCTION, "## Asked and reached\n"]
    header = ["case", "asked", "reached", "met"]
    if figures.get("quick"):
        parts.append("A quick run: the sizes are tiny, and its times say nothing.\n")
    else:
        parts.append(table(header, [list(line) for line in scoreboard(cases)]))
    for group, title in GROUPS.items():
        own = {name: case for name, case in cases.items() if case["group"] == group}
        if own:
            parts.append(_section(group, title, own, machines))
    if machines:
        parts.append("## Machines\n")
        parts.append("\n".join(f"- {label}: {words}" for words, label in machines.items()) + "\n")
    parts.append(_HOW)
    return "\n".join(parts)


def table(header: list[str], rows: list[list[str]]) -> str:
    """A Markdown table.

    >>> print(table(["a", "b"], [["1", "2"]]), end="")
    | a | b |
    | --- | --- |
    | 1 | 2 |
    """
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _section(group: str, title: str, cases: dict[str, Figures], machines: dict[str, str]) -> str:
    where = sorted({machines[_words(case["machine"])] for case in cases.values()})
    parts = [f"## {title}\n", f"`{group}`, machine {', '.join(where)}. {_NOTES.get(group, '')}".rstrip() + "\n"]
    if group == "faces":
        return "\n".join([*parts, _qualities(cases)])
    if len(cases) > 2 and any(best_peer(case) for case in cases.values()):
        parts.append(_overview(cases))
    if len(cases) == 1:
        parts.append(next(iter(cases.values()))["settings"] + "\n")
    parts.append(_details(cases))
    certificates = [
        f"{case['settings']}: {row['solver']} ({row['reason']}), certified {row['certificate']:.1e}."
        for case in cases.values()
        for row in case["rows"]
        if "certificate" in row and len(case["rows"]) == 1
    ]
    return "\n".join(parts + [line + "\n" for line in certificates])


def _overview(cases: dict[str, Figures]) -> str:
    """One line a case: Mercer against the best of scikit-learn."""
    rows = []
    paused = any("cold" in row for case in cases.values() for row in case["rows"])
    for case in cases.values():
        mine, best = mercer_row(case), best_peer(case)
        if mine is None or best is None or "error" in mine:
            continue
        ratios = [_ratio(time_ratio(case, mine)), _ratio(memory_ratio(case, mine))]
        peer = f"{duration(best['seconds'])} ({best['competitor'].removeprefix(SKLEARN).strip()})"
        cold = [_ratio(time_ratio(case, mine, "cold"))] if paused else []
        rows.append([case["settings"], duration(mine["seconds"]), peer, *ratios, *cold])
    header = ["", "Mercer", "the best of scikit-learn", "times faster", "memory ratio"]
    return table([*header, *(["times faster, cold"] if paused else [])], rows)


def _qualities(cases: dict[str, Figures]) -> str:
    """One line a method of every case: what it reaches, and its spread over the repetitions."""
    lines = []
    for case in cases.values():
        for row in case["rows"]:
            if "error" in row:
                cells = ["–", row["error"], "–"]
            else:
                spread = f"{row['value']:.3f} ({row['least']:.3f}–{row['greatest']:.3f})"
                cells = [row["measure"], spread, str(row["measurements"])]
            lines.append([case["settings"], row["competitor"], *cells])
    return table(["case", "method", "measure", "mean (least–greatest)", "repetitions"], lines)


def _details(cases: dict[str, Figures]) -> str:
    """One line a competitor of every case."""
    rows = [row for case in cases.values() for row in case["rows"]]
    optional = {
        "cold": "cold",
        "residual": "largest residual",
        "held_out": "held-out correlation",
        "wrong": "new rows wrong",
        "off_sheet": "off the true sheet",
        "unexplained": "residual variance",
        "recall": "recall",
        "kl": "KL divergence",
        "map_recall": "ten neighbours kept",
        "first_call": "first call, more",
        "trust": "trustworthiness",
        "widest": "widest 95 % interval",
        "multiple": "peak, times the numbers",
        "file_bytes": "file",
        "write_seconds": "written in",
        "passes": "passes",
        "products": "products",
        "shortfall": "eigenvalues short by",
    }
    rated = any(row["library"] in PEERS for row in rows)
    shown = {name: title for name, title in optional.items() if any(name in row for row in rows)}
    header = [
        *(["case"] if len(cases) > 1 else []),
        "competitor",
        "time (least–greatest)",
        *(["times faster"] if rated else []),
        "peak memory (before)",
        *(["memory ratio"] if rated else []),
        *shown.values(),
    ]
    lines = []
    for case in cases.values():
        for row in case["rows"]:
            line = [case["settings"]] if len(cases) > 1 else []
            lines.append([*line, row["competitor"], *_cells(case, row, rated, list(shown))])
    return table(header, lines)


def _cells(case: Figures, row: Figures, rated: bool, optional: list[str]) -> list[str]:
    if "error" in row:
        return [row["error"], *["–"] * (1 + 2 * rated + len(optional))]
    spread = f"{duration(row['seconds'])} ({duration(row['fastest'])}–{duration(row['slowest'])})"
    peak = gigabytes(row["peak_bytes"]) if "peak_bytes" in row else "–"
    if "before_bytes" in row:
        peak += f" ({gigabytes(row['before_bytes'])})"
    return [
        spread,
        *([_ratio(time_ratio(case, row))] if rated else []),
        peak,
        *([_ratio(memory_ratio(case, row))] if rated else []),
        *(_FORMATS.get(name, _count)(row[name]) if name in row else "–" for name in optional),
    ]


def duration(seconds: float) -> str:
    """Three digits, in seconds or milliseconds.

    >>> duration(12.345), duration(0.01234), duration(123.4)
    ('12.3 s', '12.3 ms', '123 s')
    """
    return f"{seconds:.3g} s" if seconds >= 1 else f"{1000 * seconds:.3g} ms"


def gigabytes(size: float) -> str:
    return f"{size / 1e9:.2f} GB"


def _ratio(ratio: float | None) -> str:
    return "–" if ratio is None else f"{ratio:.2f}×"


def _count(number: float) -> str:
    return str(number) if isinstance(number, int) else f"{number:.0e}" if number else "0"


_FORMATS: dict[str, Callable[[float], str]] = {
    "cold": duration,
    "residual": "{:.1e}".format,
    "held_out": "{:.3f}".format,
    "wrong": "{:.2%}".format,
    "off_sheet": "{:.1e}".format,
    "unexplained": "{:.1e}".format,
    "recall": "{:.4f}".format,
    "kl": "{:.4f}".format,
    "map_recall": "{:.3f}".format,
    "trust": "{:.6f}".format,
    "widest": "± {:.4f}".format,
    "multiple": "{:.2f}×".format,
    "file_bytes": lambda size: f"{size / 1e6:.1f} MB",
    "write_seconds": duration,
    "first_call": lambda seconds: duration(max(seconds, 0.0)),
}


def _machines(cases: dict[str, Figures]) -> dict[str, str]:
    """A letter for each machine that a case was run on."""
    words = dict.fromkeys(_words(case["machine"]) for case in cases.values())
    return {text: chr(ord("A") + i) for i, text in enumerate(words)}


def _words(machine: dict[str, Any]) -> str:
    packages = ", ".join(f"{name} {number}" for name, number in machine["packages"].items())
    known = [
        machine.get("gpu"),
        machine["cpu"],
        f"{machine['cores']} cores",
        f"{machine['memory']} of memory",
        machine["system"],
        f"Python {machine['python']}",
        machine.get("blas"),
        packages,
    ]
    return "; ".join(part for part in known if part)
