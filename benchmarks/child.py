"""One measurement in a process of its own: the job on stdin, result.json and the answer's arrays in the folder `out`.

The data is read, a small problem of the same kind is solved so that compilers and caches are warm, the resident
memory is noted, the work is timed, and the peak of resident memory is read before anything else happens.
"""

from __future__ import annotations

import json
import pickle
import resource
import sys
import time
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

_WARM_ROWS = 3500  # enough for every path of a large kernel fit: tiles, both precisions, the low-rank start
_WARM_ROWS_PCA = 50_000  # enough for every thread to be started
_LEAST_FITS, _SECONDS = 5, 15.0  # where a fit is repeated: at least so often, and until so much time is spent
_PAUSE = 0.1  # between fits by turns: threads of BLAS spin for 50 to 80 ms after their work, and would slow the next
# Competitors that are no dependencies:
_OPTIONAL = ("primme", "faiss", "hnswlib", "usearch", "pynndescent", "openTSNE", "pandas", "polars", "playwright")
Result = dict[str, Any]


def main() -> None:
    job = json.load(sys.stdin)
    if job.get("may_exhaust") and Path("/proc/meminfo").exists():
        _limit_memory()
    try:
        kinds = {
            "fit": fit,
            "race": race,
            "transform": transform,
            "kcca": correlate,
            "kda": discriminate,
            "solve": solve,
            "isomap": unroll,
        }
        if job["kind"] == "neighbors":
            kinds["neighbors"] = import_module("benchmarks.neighbors").search
        if job["kind"] == "embedding":
            kinds["embedding"] = import_module("benchmarks.embedding").embed
        if job["kind"] == "scores":
            kinds["scores"] = import_module("benchmarks.quality").score
        if job["kind"] == "table":
            kinds["table"] = import_module("benchmarks.tables").read
        if job["kind"] == "page":
            kinds["page"] = import_module("benchmarks.pages").open_page
        result = kinds[job["kind"]](job)
    except MemoryError:
        result = {"error": "ran out of memory"}
    except ModuleNotFoundError as missing:
        if missing.name not in _OPTIONAL:
            raise
        result = {"error": "not installed"}
    (Path(job["out"]) / "result.json").write_text(json.dumps(result))


def fit(job: dict[str, Any]) -> Result:
    """Fit an estimator; with `model` among the job, keep it for `transform`."""
    X = np.load(job["data"])
    estimator = _estimator(job["what"])
    warm = _WARM_ROWS_PCA if job["what"].endswith(".PCA") else _WARM_ROWS
    estimator(**_small(job["params"], X)).fit(X[:warm])
    before = memory("VmRSS")
    seconds, model = timed(lambda: estimator(**job["params"]).fit(X))
    peak = memory("VmHWM")
    if "model" in job:
        Path(job["model"]).write_bytes(pickle.dumps(model))
    _save(job, **_pairs(model))
    return {"seconds": seconds, "before_bytes": before, "peak_bytes": peak, **_report(model)}


def race(job: dict[str, Any]) -> Result:
    """Fit several estimators by turns: the speed of a machine changes from one second to the next, and fits that take
    milliseconds are comparable only where they follow each other."""
    X = np.load(job["data"])
    works = [partial(_fitted, _estimator(one["what"]), one["params"], X) for one in job["racers"]]
    for work in 2 * works:
        work()
    seconds: list[list[float]] = [[] for _ in works]
    cold: list[list[float]] = [[] for _ in works]
    started = time.perf_counter()
    for turn in range(job["rounds"]):
        if turn >= _LEAST_FITS and time.perf_counter() - started > _SECONDS:
            break
        for place in np.random.default_rng(turn).permutation(len(works)):  # nobody is always behind the same one
            time.sleep(_PAUSE)
            cold[place] += timed(works[place])[0]  # a process that has slept is slow at first
            seconds[place] += timed(works[place])[0]
    return {"seconds": seconds, "cold": cold}


def _fitted(estimator: Any, params: dict[str, Any], X: np.ndarray) -> Any:
    return estimator(**params).fit(X)


def transform(job: dict[str, Any]) -> Result:
    """Transform new rows by a model that another process fitted, in one call or in several."""
    X = np.load(job["data"])
    model = pickle.loads(Path(job["model"]).read_bytes())
    model.transform(X[:1500])
    before = memory("VmRSS")
    pieces = np.array_split(np.arange(len(X)), job["calls"])
    runs = [slice(piece[0], piece[-1] + 1) for piece in pieces]

    def work() -> np.ndarray:
        return np.vstack([model.transform(X[run]) for run in runs]) if len(runs) > 1 else model.transform(X)

    seconds, scores = timed(work)
    peak = memory("VmHWM")
    _save(job, scores=scores, **_pairs(model))
    return {"seconds": seconds, "before_bytes": before, "peak_bytes": peak}


def correlate(job: dict[str, Any]) -> Result:
    """Fit an estimator of two views, the two halves of the columns, and keep the scores of rows it has not seen."""
    X, Y = _two_views(job["data"])
    estimator = _estimator(job["what"])
    warm = {**job["params"], **({"rank": 50} if "rank" in job["params"] else {})}
    estimator(**warm).fit(X[:_WARM_ROWS:5], Y[:_WARM_ROWS:5])
    before = memory("VmRSS")
    seconds, model = timed(lambda: estimator(**job["params"]).fit(X, Y))
    peak = memory("VmHWM")
    first, second = model.transform(*_two_views(job["new"]))
    _save(job, first=first, second=second)
    return {"seconds": seconds, "before_bytes": before, "peak_bytes": peak}


def discriminate(job: dict[str, Any]) -> Result:
    """Fit discriminants, and keep the scores and the predicted classes of rows it has not seen."""
    X, y, new = (np.load(job[name]) for name in ("data", "labels", "new"))
    estimator, params = _estimator(job["what"]), dict(job["params"])
    if job["polynomial"]:
        kernels = import_module("mercer.kernels")
        params["kernel"] = kernels.Polynomial(degree=4, gamma=1.0, coef0=0.0).normalized()
    warm = {**params, **({"rank": 50} if "rank" in params else {})}
    estimator(**warm).fit(X[:_WARM_ROWS], y[:_WARM_ROWS])
    before = memory("VmRSS")
    seconds, model = timed(lambda: estimator(**params).fit(X, y))
    peak = memory("VmHWM")
    _save(job, scores=model.transform(new))
    if hasattr(model, "predict"):
        _save(job, predicted=model.predict(new))
    return {"seconds": seconds, "before_bytes": before, "peak_bytes": peak}


def unroll(job: dict[str, Any]) -> Result:
    """Fit Isomap, and keep its map."""
    X = np.load(job["data"])
    estimator = _estimator(job["what"])
    estimator(**job["params"]).fit(X[: _WARM_ROWS : len(X) // _WARM_ROWS or 1] if len(X) < 50_000 else X[:_WARM_ROWS])
    before = memory("VmRSS")
    seconds, model = timed(lambda: estimator(**job["params"]).fit(X))
    peak = memory("VmHWM")
    _save(job, embedding=model.embedding_)
    found = {"seconds": seconds, "before_bytes": before, "peak_bytes": peak, **_report(model)}
    if hasattr(model, "residual_variance_"):
        found["unexplained"] = float(model.residual_variance_[-1])
    return found


def _two_views(path: str) -> tuple[np.ndarray, np.ndarray]:
    X = np.load(path, mmap_mode="r")
    half = X.shape[1] // 2
    return np.ascontiguousarray(X[:, :half]), np.ascontiguousarray(X[:, half:])


def solve(job: dict[str, Any]) -> Result:
    """Run an eigensolver on an explicit matrix, or on the data where it streams."""
    solvers = import_module("benchmarks.solvers")
    solver, k, tol = solvers.SOLVERS[job["what"]], job["k"], job["tol"]
    M = np.load(job["data"])
    extra = {"gamma": job["gamma"]} if solvers.streams(job["what"]) else {"largest": job["largest"]}
    small = M[:_WARM_ROWS] if solvers.streams(job["what"]) else _small_matrix()
    solver(small, min(k, 10), tol, **extra)
    before = memory("VmRSS")
    seconds, answer = timed(lambda: solver(M, k, tol, **extra))
    peak = memory("VmHWM")
    _save(job, values=answer["values"], vectors=answer["vectors"])
    counts = {name: answer[name] for name in ("passes", "products")}
    return {"seconds": seconds, "before_bytes": before, "peak_bytes": peak, **counts}


def timed(work: Callable[[], Any]) -> tuple[list[float], Any]:
    """The seconds that it took, as a list of one, and the answer."""
    started = time.perf_counter()
    answer = work()
    return [time.perf_counter() - started], answer


def memory(field: str) -> int:
    """Bytes resident now (VmRSS) or at most so far (VmHWM).

    VmHWM begins with this program. ru_maxrss does not: on Linux it is at least what the parent process held when it
    started this one, so it serves only where there is no /proc.
    """
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field + ":"))


def _limit_memory() -> None:
    """A MemoryError where the machine would otherwise start to kill processes."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    free = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    most = memory("VmSize") + free
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _estimator(path: str) -> Any:
    module, _, name = path.rpartition(".")
    return getattr(import_module(module), name)


def _small(params: dict[str, Any], X: np.ndarray) -> dict[str, Any]:
    """The parameters for the warm-up."""
    return {**params, "n_components": min(params["n_components"], 10, len(X) - 1)}


def _small_matrix() -> np.ndarray:
    rows = np.random.default_rng(0).standard_normal((800, 60)) * 0.9 ** np.arange(60)
    return rows @ rows.T


def _pairs(model: Any) -> dict[str, np.ndarray]:
    if hasattr(model, "eigenvectors_"):
        return {"values": model.eigenvalues_, "vectors": model.eigenvectors_}
    return {"values": model.explained_variance_, "vectors": model.components_.T}


def _report(model: Any) -> Result:
    """What Mercer's kernel PCA says of its own fit: passes, its certificate, whether it converged."""
    report = getattr(model, "solver_", None)
    if not hasattr(report, "passes"):
        return {}
    largest = float(model.eigenvalues_[0])
    return {
        "passes": report.passes or None,
        "solver": report.name,
        "converged": bool(report.converged),
        "certificate": float(np.max(model.residuals_)) / largest,
        "eigenvalue_error": float(np.max(model.eigenvalue_error_)) / largest,
        "reason": report.reason,
    }


def _save(job: dict[str, Any], **arrays: np.ndarray) -> None:
    for name, array in arrays.items():
        np.save(Path(job["out"]) / f"{name}.npy", array)


if __name__ == "__main__":
    main()
