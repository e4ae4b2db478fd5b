"""Running cases: every measurement in a fresh process, competitors in turn, answers judged here."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import data, embedding, faces, judge, memory, neighbors, pages, quality, tables
from benchmarks.cases import AUTO_POWER, SLACK, Case, Competitor

RESULTS = data.ROOT / "benchmarks" / "results"
_TIMEOUT = 3600.0
_JUDGE_ALWAYS = 20_000  # up to so many samples every answer is judged, beyond only the first of each competitor
_JUDGED = (
    "held_out",
    "wrong",
    "off_sheet",
    "unexplained",
    "recall",
    "kl",
    "map_recall",
    "first_call",
    "trust",
    "trust_error",
    "widest",
    "multiple",
    "file_bytes",
    "write_seconds",
)  # of the first measurement
_TIMES = ("processor_seconds", "lasso_seconds", "lasso_processor_seconds")  # of which the median is kept
Measurement = dict[str, Any]


def run_case(case: Case, repeats: int) -> dict[str, Any]:
    """The figures of a case: a row a competitor. Raw measurements go to results/<id>.jsonl as they come."""
    if case.kind == "quality":
        return faces.run_case(case, repeats)
    if case.kind == "memory":
        return memory.run_case(case)
    RESULTS.mkdir(exist_ok=True)
    log = RESULTS / f"{case.id}.jsonl"
    log.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        jobs = _Jobs(case, Path(folder))
        competitors = _resolved(case, jobs)
        taken: dict[str, list[Measurement]] = {one.name: [] for one in competitors}
        for turn in range(1 if case.rounds else repeats):
            for one in competitors:
                if any("error" in earlier for earlier in taken[one.name]):
                    continue
                found = measure(case, one, jobs, judged=turn == 0 or case.n <= _JUDGE_ALWAYS)
                _say(case, one, turn, found)
                taken[one.name].append(found)
                _write(log, one, found)
        if case.rounds:
            racers = [one for one in competitors if "error" not in taken[one.name][0]]
            _race(case, racers, jobs, taken, repeats, log)
    return {
        "group": case.group,
        "settings": case.settings,
        "n": case.n,
        "d": case.d,
        "k": case.k,
        "dtype": case.dtype,
        "tol": case.tol,
        "rows": _with_shortfalls([summary(one, taken[one.name]) for one in competitors]),
    }


def _write(log: Path, one: Competitor, found: Measurement) -> None:
    with log.open("a") as lines:
        lines.write(json.dumps({"competitor": one.name, "params": one.params, **found}) + "\n")


def _race(
    case: Case,
    racers: list[Competitor],
    jobs: _Jobs,
    taken: dict[str, list[Measurement]],
    repeats: int,
    log: Path,
) -> None:
    """Put the times of fits by turns, in `repeats` processes, in place of those taken alone."""
    for one in racers:
        taken[one.name][0] |= {"seconds": [], "cold": []}
    for turn in range(repeats):
        job = {"kind": "race", "data": str(jobs.data), "racers": [jobs.job(one) for one in racers]}
        with jobs.folder() as out:
            found = _child({**job, "rounds": case.rounds, "out": str(out)})
        if "error" in found:
            raise RuntimeError(f"{case.id} could not be raced: {found['error']}")
        for one, seconds, cold in zip(racers, found["seconds"], found["cold"], strict=True):
            kept, laps = taken[one.name][0], {"seconds": seconds, "cold": cold}
            for what, times in laps.items():
                kept[what] += times
            _say(case, one, turn, {**kept, **laps})
            _write(log, one, laps)


def summary(one: Competitor, taken: list[Measurement]) -> dict[str, Any]:
    """One row: the times of all measurements together, the worst of everything else."""
    row: dict[str, Any] = {"competitor": one.name, "library": one.library}
    failed = [found["error"] for found in taken if "error" in found]
    if failed:
        return {**row, "error": failed[0]}
    seconds = [second for found in taken for second in found["seconds"]]
    judged = [found for found in taken if "residual" in found]
    last = taken[-1]
    row |= {
        "seconds": statistics.median(seconds),
        "fastest": min(seconds),
        "slowest": max(seconds),
        "measurements": len(seconds),
        "peak_bytes": max(found["peak_bytes"] for found in taken),
        "before_bytes": max(found["before_bytes"] for found in taken),
    }
    if cold := [second for found in taken for second in found.get("cold", [])]:
        row["cold"] = statistics.median(cold)
    if judged:
        row["residual"] = max(found["residual"] for found in judged)
    kept = ("passes", "products", "solver", "converged", "certificate", "eigenvalue_error", "reason")
    row |= {name: last[name] for name in kept if last.get(name) is not None}
    row |= {name: taken[0][name] for name in _JUDGED if name in taken[0]}
    row |= {name: statistics.median(found[name] for found in taken) for name in _TIMES if name in last}
    return row | ({"values": judged[0]["values"]} if judged and "values" in judged[0] else {})


def _with_shortfalls(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each row's eigenvalues against the largest that anyone found: a solver that missed a pair shows here.

    Ritz values never exceed the eigenvalues, so with small residuals the largest found are the right ones.
    """
    found = [np.array(row["values"]) for row in rows if "values" in row]
    if len(found) > 1:
        best = np.max(found, axis=0)
        for row in rows:
            if "values" in row:
                row["shortfall"] = float(max(np.max(best - row["values"]) / best[0], 0.0))
    return [{name: entry for name, entry in row.items() if name != "values"} for row in rows]


def measure(case: Case, one: Competitor, jobs: _Jobs, judged: bool) -> Measurement:
    with jobs.folder() as out:
        found = _child({**jobs.job(one), "out": str(out)})
        if judged and "error" not in found:
            found |= jobs.verdict(out)
    return found


def _child(job: dict[str, Any]) -> Measurement:
    """The result of a job; what went wrong, in words, when there is none."""
    command = [sys.executable, "-m", "benchmarks.child"]
    try:
        done = subprocess.run(
            command, input=json.dumps(job), capture_output=True, text=True, cwd=data.ROOT, timeout=_TIMEOUT
        )
    except subprocess.TimeoutExpired:
        return {"error": f"stopped after {_TIMEOUT:.0f} s"}
    result = Path(job["out"]) / "result.json"
    if result.exists():
        return json.loads(result.read_text())
    if done.returncode < 0:
        return {"error": "killed, most likely for its memory" if done.returncode == -9 else "crashed"}
    last = done.stderr.strip().splitlines()[-1:] or ["no message"]
    sys.stderr.write(done.stderr)
    return {"error": f"failed: {last[0][:200]}"}


def _resolved(case: Case, jobs: _Jobs) -> list[Competitor]:
    """The competitors, with iterated_power raised to the least value that reaches the tolerance."""
    fixed = []
    for one in case.competitors:
        if not one.powers:
            fixed.append(one)
            continue
        for power in one.powers:
            tried = replace(
                one,
                name=one.name.format(power),
                params={**one.params, "iterated_power": power},
                powers=(),
            )
            found = measure(case, tried, jobs, judged=True)
            _say(case, tried, -1, found)
            if found.get("residual", np.inf) <= SLACK * (case.tol or 0.0):
                break
        if power != AUTO_POWER:  # "auto" is in the race already
            fixed.append(tried)
    return fixed


class _Jobs:
    """The jobs of one case: the files it needs, what each competitor is told, and the judge for its answers."""

    def __init__(self, case: Case, scratch: Path) -> None:
        self.case, self.scratch = case, scratch
        if case.kind == "page":
            self.page = pages.write(scratch, case.n)
            return
        if case.kind == "kda":
            raw = case.group == "kda-mnist"
            self.files = data.images(case.n, case.dtype) if raw else data.labelled(case.n, case.d, case.dtype)
            self.gamma = data.gamma_of(self.files["data"])
            return
        if case.kind == "kcca":
            self.data, self.new = data.halves(case.n, case.dtype)
            return
        if case.kind == "isomap":
            self.data = data.swiss_roll(case.n)
            return
        if case.kind == "scores":
            self.files = quality.files(case.n, case.d)
            return
        if case.panel:
            self.data = data.panel(case.panel, case.n)
            return
        if case.kind in ("neighbors", "embedding"):
            self.data = neighbors.rows(case.n, case.d)
            return
        if case.kind == "table":
            self.data = tables.write(scratch / "table.csv", case.n, case.d)
            self.small = tables.write(scratch / "small.csv", 1000, case.d)
            return
        self.data = data.dataset(case.n, case.d, case.dtype)
        self.gamma = data.gamma_of(self.data)
        if case.kind == "solve":
            self.matrix, self.largest = data.centred_gram(case.n, case.d)
        if case.kind == "transform":
            self.new = data.dataset(case.new_rows, case.d, case.dtype, seed=1)

    @contextmanager
    def folder(self) -> Iterator[Path]:
        with tempfile.TemporaryDirectory(dir=self.scratch) as path:
            yield Path(path)

    def job(self, one: Competitor) -> dict[str, Any]:
        case = self.case
        if case.kind == "scores":
            paths = {name: str(path) for name, path in self.files.items()}
            return {"kind": "scores", "what": one.what, "params": one.params, "dtype": case.dtype, **paths}
        if case.kind == "table":
            return {"kind": "table", "what": one.what, "data": str(self.data), "small": str(self.small)}
        if case.kind == "page":
            return {"kind": "page", "what": one.what, **self.page}
        if case.kind == "embedding":
            return {"kind": "embedding", "what": one.what, "params": one.params, "data": str(self.data)}
        if case.kind == "neighbors":
            return {"kind": "neighbors", "what": one.what, "params": one.params, "k": case.k, "data": str(self.data)}
        if case.kind == "solve":
            matrix = self.data if one.what == "krylov_streamed" else self.matrix
            numbers = {"k": case.k, "tol": case.tol, "gamma": self.gamma, "largest": self.largest}
            return {"kind": "solve", "what": one.what, "data": str(matrix), **numbers}
        if case.kind == "kda":
            raw = case.group == "kda-mnist"
            params = one.params if raw else {**one.params, "gamma": self.gamma}
            paths = {name: str(path) for name, path in self.files.items()}
            return {
                "kind": "kda",
                "what": one.what,
                "params": params,
                "polynomial": raw and "gamma" not in one.params,
                **paths,
            }
        if case.kind == "kcca":
            return {
                "kind": "kcca",
                "what": one.what,
                "params": one.params,
                "data": str(self.data),
                "new": str(self.new),
            }
        if case.kind == "isomap":
            return {"kind": "isomap", "what": one.what, "params": one.params, "data": str(self.data)}
        params = one.params if case.kind == "pca" else {**one.params, "gamma": self.gamma}
        fit = {"kind": "fit", "what": one.what, "params": params, "data": str(self.data)}
        if case.kind != "transform":
            return fit
        return {
            "kind": "transform",
            "model": str(self._model(one, fit)),
            "data": str(self.new),
            "calls": one.calls,
            "may_exhaust": one.may_exhaust,
        }

    def _model(self, one: Competitor, fit: dict[str, Any]) -> Path:
        """The file of the fitted model, fitted in a process that is not measured."""
        path = self.scratch / f"{one.what}.pickle"
        if not path.exists():
            with self.folder() as out:
                found = _child({**fit, "out": str(out), "model": str(path)})
                if "error" in found:
                    raise RuntimeError(f"{one.name} could not be fitted: {found['error']}")
        return path

    def _discriminant_verdict(self, out: Path) -> dict[str, Any]:
        """The share of new rows in the wrong class; against the direct eigenproblem also the angle between spans."""
        found: dict[str, Any] = {}
        if (out / "predicted.npy").exists():
            wrong = np.load(out / "predicted.npy") != np.load(self.files["new_labels"])
            found["wrong"] = float(wrong.mean())
        if self.case.tol is not None:
            X, y, new = (np.load(self.files[name]) for name in ("data", "labels", "new"))
            reg = self.case.competitors[0].params["reg"]
            if not hasattr(self, "_reference"):
                self._reference = judge.discriminant_scores(X, y, self.gamma, reg, new)
            found["residual"] = judge.largest_sine(np.load(out / "scores.npy"), self._reference)
        return found

    def _trust(self) -> float:
        if not hasattr(self, "_reference"):
            X, Y = (np.load(self.files[name]) for name in ("data", "map"))
            self._reference = judge.trustworthiness(X, Y, self.case.k)
        return self._reference

    def _map_verdict(self, embedding: np.ndarray) -> dict[str, Any]:
        """How far a map is from the true sheet, and where a tolerance is asked for, from the map by SciPy alone."""
        X = np.load(self.data)
        found = {"off_sheet": judge.procrustes_distance(embedding, judge.unrolled(X))}
        if self.case.tol is not None:
            if not hasattr(self, "_reference"):
                self._reference = judge.isomap(X, self.case.competitors[0].params["n_neighbors"], self.case.k)
            found["residual"] = judge.procrustes_distance(embedding, self._reference)
        return found

    def verdict(self, out: Path) -> dict[str, Any]:
        """The largest residual of an answer (for a transform, the largest error of its scores), and its values.

        For two views, the correlation that is left on rows that no fit has seen.
        """
        case = self.case
        if case.kind == "page":
            return {}
        if case.kind == "kda":
            return self._discriminant_verdict(out)
        if case.kind == "scores":
            return {} if case.tol is None else {"residual": abs(float(np.load(out / "trust.npy")) - self._trust())}
        if case.kind == "table":
            return tables.verdict(out, case.n, case.d)
        if case.kind == "neighbors":
            return {"recall": neighbors.recall(self.data, np.load(out / "places.npy"))}
        if case.kind == "embedding":
            return embedding.verdict(self.data, np.load(out / "map.npy"), case.id == "embedding-sne")
        if case.kind == "kcca":
            scores = (np.load(out / f"{name}.npy") for name in ("first", "second"))
            return {"held_out": judge.held_out_correlation(*scores)}
        if case.kind == "isomap":
            return self._map_verdict(np.load(out / "embedding.npy"))
        values, vectors = np.load(out / "values.npy").astype(np.float64), np.load(out / "vectors.npy")
        if case.kind == "transform":
            X, new, scores = np.load(self.data), np.load(self.new), np.load(out / "scores.npy")
            return {"residual": judge.score_error(X, self.gamma, values, vectors, new, scores)}
        if case.kind == "solve":
            residuals = judge.matrix_residuals(np.load(self.matrix, mmap_mode="r"), values, vectors)
        elif case.kind == "pca":
            residuals = judge.covariance_residuals(np.load(self.data, mmap_mode="r"), values, vectors)
        else:
            residuals = judge.rbf_residuals(np.load(self.data), self.gamma, values, vectors)
        return {"residual": float(residuals.max()), "values": sorted(values.tolist(), reverse=True)}


def _say(case: Case, one: Competitor, turn: int, found: Measurement) -> None:
    said = found.get("error") or (
        f"{statistics.median(found['seconds']):.3g} s, {found['peak_bytes'] / 1e9:.2f} GB"
        + (f", residual {found['residual']:.1e}" if "residual" in found else "")
        + (f", held-out correlation {found['held_out']:.3f}" if "held_out" in found else "")
        + (f", recall {found['recall']:.4f}" if "recall" in found else "")
        + (f", wrong {found['wrong']:.2%}" if "wrong" in found else "")
        + (f", KL {found['kl']:.4f}" if "kl" in found else "")
        + (f", recall of the map {found['map_recall']:.3f}" if "map_recall" in found else "")
        + (f", trustworthiness {found['trust']:.5f}" if "trust" in found else "")
    )
    label = "trial" if turn < 0 else f"turn {turn + 1}"
    sys.stderr.write(f"{case.id}: {one.name}, {label}: {said}\n")
    sys.stderr.flush()
