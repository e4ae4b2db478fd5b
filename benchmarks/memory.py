"""Cases of kind "memory": what `plan` foretells and what `memory_limit` allows, beside what a process really takes.

Each fit is the first in a fresh process. Measured is the peak of resident memory during `plan` and `fit`, less what
was resident before: interpreter, imports and data. A second process fits under the least memory_limit that the plan
accepts. A fit whose process compiled code is measured again: the compiler takes memory of its own, once per machine.
"""

from __future__ import annotations

import gc
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.cases import Case, Competitor

ROOT = Path(__file__).resolve().parents[1]
SECONDS = 3600.0  # for one fit, also on a busy machine
CLASSES = 10


def run_case(case: Case) -> dict[str, Any]:
    """The figures of a case: a row for each fit."""
    rows = []
    for one in case.competitors:
        row = {"competitor": one.name, "library": one.library, **when_warm(one, case.n, False)}
        if "error" not in row and row.pop("has_limit"):
            limited = when_warm(one, case.n, True)
            row |= (
                {"error": limited["error"]}
                if "error" in limited
                else {"limit_bytes": limited["limit_bytes"], "limited_bytes": limited["taken_bytes"]}
            )
        rows.append(row)
        sys.stderr.write(f"{case.id}: {_line(row)}\n")
    return {"group": case.group, "settings": case.settings, "n": case.n, "d": 0, "tol": None, "rows": rows}


def _line(row: dict[str, Any]) -> str:
    if "error" in row:
        return f"{row['competitor']}: {row['error']}"
    limited = f", limit {row['limited_bytes'] / row['limit_bytes']:.2f}×" if "limit_bytes" in row else ""
    sizes = f"planned {row['planned_bytes'] / 1e6:.0f} MB, took {row['taken_bytes'] / 1e6:.0f} MB"
    return f"{row['competitor']}: {sizes}, {row['taken_bytes'] / row['planned_bytes']:.2f}×{limited}"


def when_warm(one: Competitor, n: int, limited: bool) -> dict[str, Any]:
    """The figures of a process that compiled nothing."""
    cached = _compiled_code()
    found = in_a_process(one, n, limited)
    return found if _compiled_code() == cached else in_a_process(one, n, limited)


def _compiled_code() -> set[tuple[Path, int]]:
    """The files of numba's cache, and when each was written."""
    folder = Path(os.environ.get("NUMBA_CACHE_DIR") or ROOT / "src")
    return {(path, path.stat().st_mtime_ns) for path in folder.rglob("*.nbc")}


def in_a_process(one: Competitor, n: int, limited: bool) -> dict[str, Any]:
    job = {"what": one.what, "params": one.params, "n": n, "limited": limited}
    command = [sys.executable, "-m", "benchmarks.memory"]
    try:
        done = subprocess.run(
            command, input=json.dumps(job), capture_output=True, text=True, cwd=ROOT, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return {"error": f"stopped after {SECONDS:.0f} s"}
    if done.returncode:
        return {"error": (done.stderr.strip().splitlines() or ["no message"])[-1][:200]}
    return json.loads(done.stdout.splitlines()[-1])


def measure(job: dict[str, Any]) -> dict[str, Any]:
    """One fit in this process, the first that it makes."""
    from benchmarks.child import memory

    params = dict(job["params"])
    data = rows_for(params.pop("data"), job["n"])
    model = _estimator(job["what"], params)
    found: dict[str, Any] = {"has_limit": "memory_limit" in model.get_params(deep=False)}
    if job["limited"]:
        found["limit_bytes"] = least_limit(model, data)
        model.set_params(memory_limit=found["limit_bytes"])
    gc.collect()
    _reset_peak()
    before = memory("VmRSS")
    planned = model.plan(*data).peak_bytes
    started = time.perf_counter()
    model.fit(*data)
    seconds = time.perf_counter() - started
    return {**found, "planned_bytes": planned, "taken_bytes": memory("VmHWM") - before, "seconds": seconds}


def _reset_peak() -> None:
    """Let VmHWM begin anew: making the data took more than keeping it."""
    Path("/proc/self/clear_refs").write_text("5")


def least_limit(model: Any, data: tuple[Any, ...]) -> int:
    """The least memory_limit, to 1 %, under which the plan fits."""
    low, high = 1.0, 1e12
    while high > 1.01 * low:
        middle = (low * high) ** 0.5
        if model.set_params(memory_limit=int(middle)).plan(*data).fits:
            high = middle
        else:
            low = middle
    return int(high)


def _estimator(what: str, params: dict[str, Any]) -> Any:
    import mercer

    if isinstance(params.get("estimator"), dict):
        inner = dict(params["estimator"])
        params = {**params, "estimator": getattr(mercer, inner.pop("class"))(**inner)}
    elif params.get("estimator") == "ridge":
        from sklearn.linear_model import Ridge

        params = {**params, "estimator": Ridge()}
    return getattr(mercer, what)(**params)


def rows_for(kind: dict[str, Any], n: int) -> tuple[Any, ...]:
    """The arguments of `fit`: rows of a decaying spectrum around ten centres, and labels, targets or a second view."""
    rng, d = np.random.default_rng(0), kind["d"]
    if kind.get("stored"):
        indices = rng.integers(0, d, n * kind["stored"], dtype=np.int32)
        parts = (rng.random(len(indices)), indices, np.arange(0, len(indices) + 1, kind["stored"]))
        X = sp.csr_matrix(parts, shape=(n, d))
        X.sum_duplicates()
        return (X,)
    y = rng.integers(0, CLASSES, n)
    scale = 1 / np.sqrt(1 + np.arange(d))
    X = (3 * rng.standard_normal((CLASSES, d))[y] + rng.standard_normal((n, d))) * scale
    X = X.astype(kind.get("dtype", "float64"))
    if kind.get("distances"):
        from sklearn.metrics import pairwise_distances

        return (pairwise_distances(X),)
    if kind.get("second"):
        return X, np.ascontiguousarray(X[:, ::-1])
    return (X, y) if kind.get("labels") else (X,)


def section(cases: dict[str, dict[str, Any]], table: Any) -> str:
    """Tables of all fits, and a line with the worst and the median."""
    lines, ratios, limited = [], [], []
    for case in cases.values():
        for row in case["rows"]:
            if "error" in row:
                lines.append([case["settings"], row["competitor"], row["error"], *["–"] * 5])
                continue
            ratio = row["taken_bytes"] / row["planned_bytes"]
            ratios.append(max(ratio, 1 / ratio))
            share = ["–", "–"]
            if "limit_bytes" in row:
                limited.append(row["limited_bytes"] / row["limit_bytes"])
                share = [_megabytes(row["limit_bytes"]), f"{limited[-1]:.2f}×"]
            sizes = [_megabytes(row[name]) for name in ("planned_bytes", "taken_bytes")]
            cells = [*sizes, f"{ratio:.2f}×", *share, f"{row['seconds']:.1f} s"]
            lines.append([case["settings"], row["competitor"], *cells])
    header = ["n", "fit", "planned", "taken", "taken / planned", "least limit", "taken / limit", "time"]
    words = f"Off by {max(ratios):.2f}× at worst and by {statistics.median(ratios):.2f}× in the median, either way."
    if limited:
        words += f" Under the least limit: {max(limited):.2f}× of it at worst, {statistics.median(limited):.2f}× in"
        words += " the median."
    return f"{words}\n\n{table(header, lines)}"


def _megabytes(size: float) -> str:
    return f"{size / 1e6:,.0f} MB"


if __name__ == "__main__":
    sys.stdout.write(json.dumps(measure(json.load(sys.stdin))) + "\n")
