"""Give odd inputs to every estimator: it must raise ValueError, TypeError or MemoryError, or give finite numbers.

    PYTHONPATH=src python scripts/odd_inputs.py                        every combination
    PYTHONPATH=src python scripts/odd_inputs.py 200 --seed 1           so many, drawn at random
    PYTHONPATH=src python scripts/odd_inputs.py --input csr --estimator Isomap

Every combination is tried in a process of its own, forked from this one, so that a crash is seen and harms nothing:
`fit`, then the scores of the same rows, and the way back where there is one. Bounds (`…_error_`) may be infinite, which
says that nothing is certain; nothing else may be, and nothing may be NaN. Inputs that hold no numbers must be refused.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import signal
import threading
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # tiny data; and threads do not survive a fork

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression, Ridge

import mercer

SECONDS = 60  # of processor time for one combination
PATIENCE = 5  # times as long by the clock, for a busy machine
N, D = 14, 3
FINE = (ValueError, TypeError, MemoryError)
RNG = np.random.default_rng(0)
ROWS = RNG.standard_normal((N, D))
ONE_BAD = {
    name: np.where(np.arange(N * D).reshape(N, D) == 4, value, ROWS)
    for name, value in (("nan", np.nan), ("inf", np.inf), ("-inf", -np.inf), ("1e300", 1e300), ("1e160", 1e160))
}


class Unreadable:
    """An object that cannot become an array."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        raise ValueError("not an array")


def csr(**changes: np.ndarray) -> sp.csr_matrix:
    """CSR rows with parts replaced behind SciPy's back."""
    X = sp.csr_matrix(np.where(ROWS > 0, ROWS, 0))
    for name, part in changes.items():
        setattr(X, name, part)
    return X


def malformed() -> dict[str, Callable[[], Any]]:
    """CSR rows whose indices lie: compiled code that followed them would read foreign memory."""
    good = csr()
    far, negative = good.indices.copy(), good.indices.copy()
    far[2], negative[2] = 10**6, -5
    falling, long, short = good.indptr.copy(), good.indptr.copy(), good.indptr.copy()
    falling[3], long[-1] = falling[-1], len(good.data) + 50
    return {
        "csr, index out of range": lambda: csr(indices=far),
        "csr, negative index": lambda: csr(indices=negative),
        "csr, falling indptr": lambda: csr(indptr=falling),
        "csr, long indptr": lambda: csr(indptr=long),
        "csr, short indptr": lambda: csr(indptr=short[:-2]),
        "csr, short data": lambda: csr(data=good.data[:3]),
    }


# Inputs that hold no numbers, or not the numbers that they seem to hold.
REFUSED: dict[str, Callable[[], Any]] = {
    "None": lambda: None,
    "a number": lambda: 3.0,
    "text": lambda: "rows",
    "bytes": lambda: b"rows",
    "dict": lambda: {"a": [1.0, 2.0]},
    "generator": lambda: (row for row in ROWS),
    "ragged list": lambda: [[1.0, 2.0], [3.0]],
    "complex": lambda: ROWS + 1j,
    "objects": lambda: np.array([[object()] * D] * N),
    "words": lambda: np.array([["a", "b", "c"]] * N),
    "numbers as text": lambda: ROWS.astype(str),
    "numbers as text, objects": lambda: ROWS.astype(str).astype(object),
    "dates": lambda: np.arange(N * D).reshape(N, D).astype("datetime64[D]"),
    "durations": lambda: np.arange(N * D).reshape(N, D).astype("timedelta64[s]"),
    "masked": lambda: np.ma.masked_greater(ROWS, 1.0),
    "structured": lambda: np.zeros(N, [("a", float), ("b", float)]),
    "frame of words": lambda: pd.DataFrame({"a": list("ab") * (N // 2), "b": ROWS[:, 0]}),
    "frame of dates": lambda: pd.DataFrame({"a": pd.date_range("2020", periods=N), "b": ROWS[:, 0]}),
    "frame of categories": lambda: pd.DataFrame({"a": pd.Categorical(list("ab") * (N // 2))}),
    "frame with gaps": lambda: pd.DataFrame(ONE_BAD["nan"]),
    "frame with NA": lambda: pd.DataFrame({"a": pd.array([1, None] * (N // 2), dtype="Int64"), "b": ROWS[:, 0]}),
    "no array": Unreadable,
    "no rows": lambda: np.empty((0, D)),
    "no columns": lambda: np.empty((N, 0)),
    "nothing": lambda: np.empty((0, 0)),
    "empty list": list,
    "vector": lambda: ROWS[:, 0],
    "cube": lambda: ROWS[:, :, None],
    "nan": lambda: ONE_BAD["nan"],
    "inf": lambda: ONE_BAD["inf"],
    "-inf": lambda: ONE_BAD["-inf"],
    "all nan": lambda: np.full((N, D), np.nan),
    "csr with nan": lambda: sp.csr_matrix(ONE_BAD["nan"]),
    "csr with inf": lambda: sp.csr_matrix(ONE_BAD["inf"]),
    "csr, no rows": lambda: sp.csr_matrix((0, D)),
    "csr, complex": lambda: sp.csr_matrix(ROWS + 1j),
    **malformed(),
}
# Inputs that an estimator may fit or refuse.
ODD: dict[str, Callable[[], Any]] = {
    "ordinary": lambda: ROWS,
    "float32": lambda: ROWS.astype(np.float32),
    "float16": lambda: ROWS.astype(np.float16),
    "longdouble": lambda: ROWS.astype(np.longdouble),
    "big-endian": lambda: ROWS.astype(">f8"),
    "integers": lambda: (10 * ROWS).astype(int),
    "uint8": lambda: (50 * abs(ROWS)).astype(np.uint8),
    "largest integers": lambda: np.full((N, D), 2**63 - 1, dtype=np.int64) - np.arange(N)[:, None],
    "booleans": lambda: ROWS > 0,
    "numbers as objects": lambda: ROWS.astype(object),
    "list": lambda: ROWS.tolist(),
    "matrix": lambda: np.asmatrix(ROWS),
    "fortran": lambda: np.asfortranarray(ROWS),
    "strided": lambda: np.repeat(ROWS, 2, axis=0)[::-2, ::-1],
    "read-only": lambda: _read_only(ROWS),
    "frame": lambda: pd.DataFrame(ROWS, columns=list("abc")),
    "frame, mixed": lambda: pd.DataFrame({"a": np.arange(N), "b": ROWS[:, 0].astype("f4"), "c": ROWS[:, 1] > 0}),
    "masked, nothing hidden": lambda: np.ma.masked_array(ROWS),
    "one row": lambda: ROWS[:1],
    "two rows": lambda: ROWS[:2],
    "three rows": lambda: ROWS[:3],
    "one column": lambda: ROWS[:, :1],
    "constant": lambda: np.ones((N, D)),
    "zeros": lambda: np.zeros((N, D)),
    "duplicates": lambda: np.repeat(ROWS[:2], N // 2, axis=0),
    "all but one alike": lambda: np.vstack([np.ones((N - 1, D)), 2 * np.ones((1, D))]),
    "one far row": lambda: np.vstack([ROWS[:-1], 1e8 * np.ones((1, D))]),
    "two clusters": lambda: ROWS + 1e6 * (np.arange(N) % 2)[:, None],
    "far from the origin": lambda: ROWS + 1e12,
    "signed zeros": lambda: np.where(ROWS > 0, 0.0, -0.0),
    "two scales": lambda: ROWS * [1e-150, 1.0, 1e150],
    "columns alike": lambda: np.repeat(ROWS[:, :1], D, axis=1),
    "more columns than rows": lambda: RNG.standard_normal((5, 60)),
    **{f"one value {name}": lambda X=X: X for name, X in ONE_BAD.items() if name.startswith("1e")},
    **{
        f"× {scale:g}": lambda scale=scale: ROWS * scale
        for scale in (1e-320, 1e-300, 1e-160, 1e-20, 1e20, 1e160, 1e200)
    },
    "× largest": lambda: ROWS / abs(ROWS).max() * np.finfo(float).max,
    "× 1e30, float32": lambda: (ROWS * 1e30).astype(np.float32),
    "× 1e-40, float32": lambda: (ROWS * 1e-40).astype(np.float32),
    "× largest, float32": lambda: (ROWS / abs(ROWS).max() * np.finfo(np.float32).max).astype(np.float32),
    "csr": csr,
    "csc": lambda: sp.csc_matrix(ROWS),
    "coo": lambda: sp.coo_matrix(ROWS),
    "csr array": lambda: sp.csr_array(ROWS),
    "csr, float32": lambda: csr().astype(np.float32),
    "csr, integers": lambda: sp.csr_matrix((3 * ROWS).astype(int)),
    "csr, booleans": lambda: sp.csr_matrix(ROWS > 0),
    "csr, all zero": lambda: sp.csr_matrix((N, D)),
    "csr, very wide": lambda: sp.random_array((N, 10**6), density=1e-5, rng=0, format="csr"),
    "csr, unsorted": lambda: _unsorted(),
    "csr, duplicates": lambda: sp.csr_matrix(
        (np.ones(2 * N), np.zeros(2 * N, int), np.arange(0, 2 * N + 1, 2)), (N, D)
    ),
    "csr, × 1e200": lambda: csr() * 1e200,
}
INPUTS = {**REFUSED, **ODD}


def _read_only(X: np.ndarray) -> np.ndarray:
    X = X.copy()
    X.flags.writeable = False
    return X


def _unsorted() -> sp.csr_matrix:
    X = sp.csr_matrix(ROWS)
    return sp.csr_matrix((X.data[::-1].copy(), X.indices[::-1].copy(), X.indptr), X.shape)


class Subject(NamedTuple):
    """An estimator, what its `fit` wants beside X, and what X must be."""

    build: Callable[[], Any]
    beside: str = ""  # "classes", "numbers" or "view"
    square: bool = False  # X is a matrix of distances or kernel values


def _kernel_pca(**params: Any) -> Callable[[], Any]:
    return lambda: mercer.KernelPCA(**{"n_components": 2, "kernel": "rbf", **params})


SUBJECTS: dict[str, Subject] = {
    **{
        f"KernelPCA {solver}": Subject(_kernel_pca(eigen_solver=solver))
        for solver in ("auto", "dense", "arpack", "krylov", "randomized", "power", "rpcholesky")
    },
    **{
        f"KernelPCA {kernel}": Subject(_kernel_pca(kernel=kernel))
        for kernel in ("linear", "poly", "sigmoid", "cosine", "laplacian", "matern", "chi2", "arccosine")
    },
    "KernelPCA, every component": Subject(_kernel_pca(n_components=None)),
    "KernelPCA, 0.9 of the variance": Subject(_kernel_pca(n_components=0.9)),
    "KernelPCA, parallel": Subject(_kernel_pca(n_components="parallel")),
    "KernelPCA, median": Subject(_kernel_pca(gamma="median")),
    "KernelPCA, inverse": Subject(_kernel_pca(fit_inverse_transform=True)),
    "KernelPCA, precomputed": Subject(_kernel_pca(kernel="precomputed"), square=True),
    "KernelDiscriminantAnalysis": Subject(lambda: mercer.KernelDiscriminantAnalysis(), "classes"),
    "KernelDiscriminantAnalysis, loo": Subject(lambda: mercer.KernelDiscriminantAnalysis(reg="loo"), "classes"),
    "KernelDiscriminantAnalysis, rank": Subject(lambda: mercer.KernelDiscriminantAnalysis(rank=4), "classes"),
    "KernelCCA": Subject(lambda: mercer.KernelCCA(2), "view"),
    "KernelCCA, rank": Subject(lambda: mercer.KernelCCA(2, rank=4), "view"),
    "KernelMap": Subject(lambda: mercer.KernelMap(rank=4)),
    "KernelMap, median": Subject(lambda: mercer.KernelMap(rank=None, gamma="median")),
    "KernelMap, Fourier": Subject(lambda: mercer.KernelMap(rank=8, method="fourier")),
    "Kernelized ridge": Subject(lambda: mercer.Kernelized(Ridge(), rank=4), "numbers"),
    "Kernelized logistic": Subject(lambda: mercer.Kernelized(LogisticRegression(), rank=None), "classes"),
    "NoveltyDetector": Subject(lambda: mercer.NoveltyDetector()),
    "NoveltyDetector, PCA": Subject(lambda: mercer.NoveltyDetector(mercer.PCA(1))),
    "Isomap": Subject(lambda: mercer.Isomap(n_neighbors=3)),
    "Isomap, landmarks": Subject(lambda: mercer.Isomap(n_neighbors=3, landmarks=6)),
    "TSNE, landmarks": Subject(lambda: mercer.TSNE(perplexity=3, max_iter=60, landmarks=9)),
    "Isomap, radius": Subject(lambda: mercer.Isomap(n_neighbors=None, radius=1.0)),
    "Isomap, manhattan": Subject(lambda: mercer.Isomap(n_neighbors=3, metric="manhattan")),
    "Isomap, precomputed": Subject(lambda: mercer.Isomap(n_neighbors=3, metric="precomputed"), square=True),
    "MDS": Subject(lambda: mercer.MDS(2, max_iter=30)),
    "MDS, non-metric": Subject(lambda: mercer.MDS(2, max_iter=30, metric=False)),
    "MDS, precomputed": Subject(lambda: mercer.MDS(2, max_iter=30, dissimilarity="precomputed"), square=True),
    "ClassicalMDS": Subject(lambda: mercer.ClassicalMDS(2)),
    "ClassicalMDS, precomputed": Subject(lambda: mercer.ClassicalMDS(2, metric="precomputed"), square=True),
    "SNE": Subject(lambda: mercer.SNE(perplexity=3, max_iter=30)),
    "TSNE": Subject(lambda: mercer.TSNE(perplexity=3, max_iter=30)),
    "TSNE, grid": Subject(lambda: mercer.TSNE(perplexity=3, max_iter=30, method="grid", init="random")),
    "TSNE, cosine": Subject(lambda: mercer.TSNE(perplexity=3, max_iter=30, metric="cosine")),
    **{
        f"PCA {solver}": Subject(lambda solver=solver: mercer.PCA(2, svd_solver=solver))
        for solver in ("auto", "full", "covariance_eigh", "arpack", "randomized")
    },
    "PCA, mle": Subject(lambda: mercer.PCA("mle", svd_solver="full")),
    "PCA, whitened": Subject(lambda: mercer.PCA(2, whiten=True)),
}


def try_one(subject: str, name: str) -> str:
    """What happened: "fitted", "refused", or a finding in words."""
    estimator, beside, square = SUBJECTS[subject]
    try:
        X = _as_square(INPUTS[name]()) if square else INPUTS[name]()
    except Exception:
        return "no such input"  # distances of things that are no rows
    model = estimator()
    try:
        _use(model, X, _beside(beside, X))
    except FINE as error:
        return "refused" if str(error) else "refused without a word"
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__}: {error} ({os.path.basename(place.filename)}:{place.lineno})"[:300]
    if name in REFUSED and not (square and name == "no columns"):  # distances of rows without columns are zeros
        return "accepted"
    return _findings(model) or "fitted"


def _use(model: Any, X: Any, y: Any) -> None:
    """Fit, score the same rows, and go back: every number that comes out is checked."""
    model.fit(X) if y is None else model.fit(X, y)
    for method in ("transform", "predict", "score_samples"):
        if hasattr(model, method) and not isinstance(model, mercer.SNE | mercer.TSNE):
            outcome = getattr(model, method)(X)
            _refuse_not_finite(method, outcome)
            if method == "transform" and hasattr(model, "inverse_transform") and _can_go_back(model):
                _refuse_not_finite("inverse_transform", model.inverse_transform(outcome))


def _can_go_back(model: Any) -> bool:
    return isinstance(model, mercer.PCA) or bool(getattr(model, "fit_inverse_transform", False))


class NotFiniteError(Exception):
    """A number that came out is not finite."""


def _refuse_not_finite(name: str, values: Any) -> None:
    values = values.data if sp.issparse(values) else np.asarray(values)
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise NotFiniteError(f"{name} gives {'NaN' if np.isnan(values).any() else 'infinite values'}")


def _findings(model: Any) -> str:
    for name, value in vars(model).items():
        if name.endswith("_") and isinstance(value, np.ndarray | float | np.floating):
            values = np.asarray(value)
            if values.dtype.kind == "f" and (
                np.isnan(values).any() or ("error" not in name and not np.isfinite(values).all())
            ):
                return f"NotFiniteError: {name} holds {'NaN' if np.isnan(values).any() else 'infinite values'}"
    return ""


def _beside(kind: str, X: Any) -> Any:
    n = X.shape[0] if getattr(X, "shape", ()) else len(X) if hasattr(X, "__len__") else N
    if kind == "classes":
        return np.arange(n) % 2
    return {"numbers": np.arange(n, dtype=float), "view": X}.get(kind)


def _as_square(X: Any) -> Any:
    """Distances of the rows, where they are rows; what cannot be measured stays as it is."""
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "fiub":
        with np.errstate(all="ignore"):
            return abs(X[:, None] - X[None]).sum(axis=2, dtype=X.dtype)
    return X


def warm_up() -> None:
    """Load what the estimators load, so that every process need not do it again; on one core, so without threads."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for subject in SUBJECTS:
            try_one(subject, "ordinary")
            try_one(subject, "csr")
    os.sched_setaffinity(0, cores)
    if threading.active_count() > 1:
        raise SystemExit("Threads are running, and a process forked from this one would not have them.")


class Trial(NamedTuple):
    """A combination that a process of its own is trying."""

    subject: str
    name: str
    child: int
    pipe: int
    started: float


def start(subject: str, name: str) -> Trial:
    """Fork a process that tries one combination and writes the outcome into a pipe."""
    reading, writing = os.pipe()
    child = os.fork()
    if child:
        os.close(writing)
        return Trial(subject, name, child, reading, time.monotonic())
    try:
        os.close(reading)
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        warnings.simplefilter("ignore")
        os.write(writing, try_one(subject, name).encode())
    finally:
        os._exit(0)


def ended(trial: Trial) -> str | None:
    """The outcome of a trial, once its process has ended; a crash is a finding."""
    child, status = os.waitpid(trial.child, os.WNOHANG)
    if not child:
        if time.monotonic() - trial.started > PATIENCE * SECONDS:
            os.kill(trial.child, signal.SIGXCPU)
        return None
    with os.fdopen(trial.pipe, "rb") as pipe:
        said = pipe.read().decode()
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return f"takes longer than {SECONDS} s" if number == signal.SIGXCPU else f"CRASH: {signal.Signals(number).name}"
    return said or "CRASH: no answer"


def outcomes(both: Iterable[tuple[str, str]], jobs: int) -> Iterator[tuple[str, str, str]]:
    """Estimator, input and outcome of each combination, as they end; `jobs` processes run at a time."""
    waiting, running = list(both)[::-1], list[Trial]()
    while waiting or running:
        while waiting and len(running) < jobs:
            running.append(start(*waiting.pop()))
        for trial in list(running):
            if (outcome := ended(trial)) is not None:
                running.remove(trial)
                yield trial.subject, trial.name, outcome
        time.sleep(0.002)


def combinations(options: argparse.Namespace) -> list[tuple[str, str]]:
    both = [
        (subject, name)
        for subject in SUBJECTS
        for name in INPUTS
        if options.estimator in subject and options.input in name
    ]
    random.Random(options.seed).shuffle(both)
    return both[: options.count]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("count", nargs="?", type=int, help="how many combinations to draw; every one without it")
    parser.add_argument("--seed", type=int, default=0, help="of the draw")
    parser.add_argument("--estimator", default="", help="only estimators whose names contain this")
    parser.add_argument("--input", default="", help="only inputs whose names contain this")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes at a time")
    options = parser.parse_args()
    warm_up()
    counts: Counter[str] = Counter()
    for subject, name, outcome in outcomes(combinations(options), options.jobs):
        fine = outcome in ("fitted", "refused", "no such input")
        counts[outcome if fine else "FINDINGS"] += 1
        if not fine:
            print(f"{subject} × {name}: {outcome}", flush=True)
    print(f"{sum(counts.values())} combinations: " + ", ".join(f"{n} {what}" for what, n in counts.most_common()))
    return 1 if counts["FINDINGS"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
