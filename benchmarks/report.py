"""benchmarks/figures.json, which keeps every case that was run, and what is written from it: docs/benchmarks.md and a
table of the README."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import memory, readme
from benchmarks.cases import GROUPS, PEERS, SKLEARN, SLACK, all_cases
from benchmarks.targets import best_peer, memory_ratio, mercer_row, scoreboard, time_ratio

ROOT = Path(__file__).resolve().parents[1]
FIGURES = ROOT / "benchmarks" / "figures.json"
DOCS = ROOT / "docs" / "benchmarks.md"

Figures = dict[str, Any]

_INTRODUCTION = f"""\
# Benchmarks

How fast is Mercer, how much memory does it take, and how right are its answers, beside those of other libraries? Each
section below has one task. Unless it says otherwise, four things hold:

- **The data is MNIST.** Images are divided by 255 and centred. If d is below 784, they are projected on their first d
  principal axes. Beyond 60,000 rows, images are drawn with replacement and get a little noise. The kernel is Gaussian,
  and all libraries get the same gamma, one over the median squared distance.
- **Every measurement runs in a fresh process.** It loads the data, solves a small problem to warm up, and then times
  the fit alone. The libraries take turns, so a slow spell of the machine hits all of them. Times are medians, with the
  least and the greatest in brackets. Peak memory is the resident memory of the whole process, including interpreter
  and data.
- **One judge checks all answers.** A few lines of NumPy (`benchmarks/judge.py`) recompute the residual ‖HKHv − γv‖/γ₁
  of every answer in float64. They also compare the eigenvalues, so no library wins by missing one.
- **Mercer is compared with the best of scikit-learn**, its fastest solver whose residual is within a factor of
  {SLACK} of the tolerance. A time ratio above 1 means that Mercer is faster. A memory ratio below 1 means that it takes
  less.
"""

_NOTES = {
    "kpca-20k": "scikit-learn's randomized solver has no tolerance. We raised its number of power iterations (4, "
    "then 7, its default, then 10, 15 and 20) until its residual met the tolerance.",
    "kpca-10k": "The tolerance is 1e-6. The randomized solver is treated as above.",
    "kpca-small": 'At "default" each library uses its own tol=0: scikit-learn iterates to rounding error, and '
    "Mercer to 1e-10. These fits take milliseconds, so all libraries take turns in one process, for 25 rounds or "
    "15 s. A turn is a pause of 0.1 s, a first fit and a second fit. The time given is that of the second fit. "
    'The time given as "cold" is that of the first fit, and is compared with the solver of scikit-learn that is '
    "fastest cold. Residuals and memory come from a separate process for each library. Most of that memory "
    "belongs to the interpreter.",
    "kpca-1m": "Mercer computes only n · rank entries of the kernel matrix. The certificate bounds the error of "
    "every eigenvalue by tr(K − FFᵀ), relative to γ₁. The residual is estimated from 4,000 rows of the kernel "
    "matrix.",
    "transform": "The residual is the largest error of a score on 1,000 rows, relative to the largest score. The "
    "model was fitted by another process.",
    "kda-mnist": "The pixels are divided by 255 and not prepared in any other way. The test images are the 10,000 "
    "that come with the data.",
    "kda-direct": "The direct eigenproblem forms the n × n matrices N and M, as kfda does, with the same penalty "
    "on ‖w‖². In place of a residual, the table gives the sine of the largest angle between two spans: the span "
    "of the scores of 1,000 new rows, and that of a least-squares solution.",
    "kcca": "The two views of an image are its left and right halves. Each Gaussian kernel has its own gamma, one "
    "over the median squared distance. In place of a residual, the table gives the mean correlation of the ten "
    "pairs of scores on 10,000 images that no fit has seen.",
    "pca": "The residual is ‖Sv − λv‖/λ₁, where S is the covariance.",
    "isomap": "All libraries find the same exact neighbours. In place of a residual, the table gives three "
    "numbers: ‖A − B‖/‖B‖ after the best shift, rotation and scaling, where B is the map by SciPy's shortest "
    "paths and ARPACK; the same distance to the true sheet before it was rolled up; and the residual variance "
    "that Mercer reports.",
    "solvers": "All solvers except the streamed one get the centred kernel matrix in float64. A pass visits the "
    "matrix once. A product multiplies it by one vector.",
    "neighbors": "The rows are all 70,000 images on 50 principal axes, in float32. In the case of a million rows, "
    "each row lies between an image and one of its ten nearest neighbours, plus noise. The time covers building "
    "an index and finding the k nearest neighbours of every row, not counting the row itself. The recall is the "
    "share of true neighbours found, on 1,000 rows. Recalls differ, so read each time together with its recall. "
    "Mercer decides by itself how far to search, and its time includes measuring its own recall.",
    "embedding": "The rows are those of the neighbour search, and the perplexity is 30. The time runs from rows "
    "to map. Each library uses its own neighbour search and its own defaults, apart from the number of steps if "
    "the table names it. All maps of a case are judged by one P, from exact neighbours, and by Q over all pairs "
    'in float64. For a million rows the divergence is not recomputed. "Ten neighbours kept" is the share of a '
    "row's ten nearest rows that are among the ten nearest points of the map, on 1,000 rows. The first call takes "
    "longer, because it imports modules and compiles code or reads it from a cache.",
    "panel": "These are public data sets of nine kinds, each in its natural form. The perplexity is 30, and the "
    "time runs from rows to map. Both libraries use their defaults, openTSNE with its grid on two threads. The "
    "maps are judged as in the table above.",
    "quality": "The rows are those of the neighbour search, with their digits as classes. Up to 70,000 rows the "
    "map is that of t-SNE. For a million rows it consists of the first two principal axes, which make ranks "
    "slowest. Scores by neighbours use 15 of them. The report holds every score: trustworthiness, continuity, "
    "neighbour recall, class purity in the map and in the data, triplets, Shepard correlation, residual variance, "
    "and the divergence at the best scale of the map. The widest interval is the widest of all scores except the "
    "divergence. In place of a residual, the table gives the difference between the exact trustworthiness and the "
    "same score from a few lines of NumPy.",
    "faces": "The face space is fitted to faces only. The measure is the area under the ROC curve of the distance "
    "from face space, on held-out faces and patches. For portraits it is the share whose nearest neighbour in "
    "face space is the same person. There are five folds, repeated with other splits. Cross-validation inside the "
    "training part chooses components, kernel and width (`examples/eigenfaces.py`). Without components, the "
    "distance from the mean face decides, or the distance between pictures.",
    "tables": "The time runs from the file to one array of floats, as estimators take it. In place of a residual, "
    "the table gives the largest difference from the numbers that were written. Peak memory, including "
    "interpreter and libraries, is also given as a multiple of the bytes of the numbers. Mercer's time includes "
    "the file's SHA-256 and the statistics of its columns.",
    "page": "The time begins when headless Chromium gets the file's address, and ends when it has drawn the "
    "points, with names and lines of density. The lasso is drawn around the middle. Its time runs from letting go "
    "until the selection is drawn. Memory and processor time are those of all processes of the browser together. "
    "`mercer.quality` computes the scores of the map and of single rows on samples, as the command writes them.",
    "memory": 'Each fit is the first in a fresh process. "Planned" is `plan(X).peak_bytes`. "Taken" is the peak '
    'of resident memory during `plan` and `fit`, less what interpreter, imports and data held before. "The least '
    'limit" is the smallest memory_limit that the plan accepts, and another process fits under it. Rows are drawn '
    "around ten centres, with a decaying spectrum. Sparse rows have 60 of 65,536 columns. The machine did other "
    "work at the same time. The times are by the clock, so they do not measure speed. Memory does not depend on "
    "the load.",
    "gpu": "The rows form clusters with a decaying spectrum, and the memory is that of the GPU. The residual is "
    "recomputed in float64 on the GPU. At 20,000 samples in float64 the eigenvalues are compared with those that "
    "the CPU finds. For a single product, the residual is the error in each arithmetic, relative to the length of "
    "the rows of K. The recall of a search for neighbours is the one that the search itself measured. The time of "
    "a map runs from rows to map. The maps of MNIST are judged by one P, from exact neighbours, and by Q over all "
    "pairs in float64.",
}

_HOW = """\
## Running it again

`python -m benchmarks` writes this page and the table of the README from `benchmarks/figures.json`. Do not edit them by
hand.

    make bench                                  everything: some hours on two cores
    python -m benchmarks --only kpca-20k pca    only these groups or cases; the others keep their figures
    python -m benchmarks --only memory --fits SNE    of the cases of this group, only these fits
    python -m benchmarks --repeats 5            more turns
    python -m benchmarks --quick                tiny sizes, to check that it runs; writes neither figures nor this page
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


def with_other_rows(part: Figures, known: Figures | None, name: str) -> Figures:
    """A case of which some rows were measured again, with the rows that it had before, in the order of the case."""
    order = [one.name for case in all_cases() if case.id == name for one in case.competitors]
    rows = {row["competitor"]: row for case in (known or {"rows": []}, part) for row in case["rows"]}
    return {**part, "rows": [rows[one] for one in order if one in rows]}


def save(figures: Figures) -> None:
    """Write figures.json, the page, and the table of the README."""
    FIGURES.write_text(json.dumps(figures, indent=1, ensure_ascii=False) + "\n")
    DOCS.parent.mkdir(exist_ok=True)
    DOCS.write_text(render(figures))
    readme.save(figures["cases"])


def render(figures: Figures) -> str:
    """The page in Markdown."""
    cases = figures["cases"]
    machines = _machines(cases)
    parts = [_INTRODUCTION, "## Goals and results\n"]
    header = ["case", "goal", "result", "met"]
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
    if group == "memory":
        return "\n".join([*parts, memory.section(cases, table)])
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
    """One line per case: Mercer against the best of scikit-learn."""
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
    """One line per method and case: the mean and its spread over the repetitions."""
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
    """One line per competitor and case."""
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
        "processor_seconds": "processor time",
        "lasso_seconds": "lasso",
        "lasso_processor_seconds": "lasso, processor time",
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
    "processor_seconds": duration,
    "lasso_seconds": duration,
    "lasso_processor_seconds": duration,
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
