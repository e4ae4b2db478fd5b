"""Maps by SNE and t-SNE: who makes them, their divergence on one P for all, and how many neighbours they keep.

The rows are those of the search for neighbours. Each library goes from rows to map, end to end, with its own neighbours
and its own defaults but for the seed; perplexity 30. Maps are then judged alike: KL(P ‖ Q) with P of the exact
neighbours and Z over all pairs in float64, and the share of the ten nearest rows among the ten nearest in the map.
"""

from __future__ import annotations

import time
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks import neighbors
from benchmarks.data import panel_rows

PERPLEXITY = 30.0
_WARM_ROWS = 6000  # enough for a grid, and for the points to be arranged
_JUDGED = 1000  # rows whose neighbours in the map are compared
_KL_UP_TO = 100_000  # rows up to which P and Z are taken exactly; beyond, the map's own divergence is all there is
_RUN = 2000


def embed(job: dict[str, Any]) -> dict[str, Any]:
    """The measurement, in a process of its own: rows to map."""
    from benchmarks.child import memory, timed

    X, work = panel_rows(Path(job["data"])), EMBEDDERS[job["what"]]
    first = _first_call(lambda: work(X[:_WARM_ROWS], **{**job["params"], "steps": 300}))
    before = memory("VmRSS")
    seconds, Y = timed(lambda: work(X, **job["params"]))
    peak = memory("VmHWM")
    np.save(Path(job["out"]) / "map.npy", Y)
    return {"seconds": seconds, "before_bytes": before, "peak_bytes": peak, "first_call": first}


def _first_call(work: Any) -> float:
    """How much longer the first call takes than the second: imports, and what is compiled or read from a cache."""
    times = []
    for _ in range(2):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return times[0] - times[1]


def verdict(path: Path, Y: np.ndarray, gaussian: bool) -> dict[str, float]:
    """How good a map is: its divergence where that can be afforded, and the neighbours that it keeps."""
    found = {"map_recall": map_recall(panel_rows(path), Y)}
    if len(Y) <= _KL_UP_TO:
        found["kl"] = divergence(path, Y, gaussian)
    return found


def divergence(path: Path, Y: np.ndarray, gaussian: bool = False) -> float:
    """Σ p log p − Σ p log w + log Z in float64, by NumPy, with the P by which all maps of these rows are judged."""
    P, Y = _shared_affinities(str(path)), Y.astype(np.float64)
    rows = np.repeat(np.arange(len(Y)), np.diff(P.indptr))
    p = P.data.astype(np.float64)
    d2 = np.square(Y[rows] - Y[P.indices]).sum(axis=1)
    logs = -d2 if gaussian else -np.log1p(d2)
    Z = sum(_similarities(Y[start : start + _RUN], Y, gaussian) for start in range(0, len(Y), _RUN)) - len(Y)
    return float(np.dot(p, np.log(p) - logs) / p.sum() + np.log(Z))


def _similarities(some: np.ndarray, Y: np.ndarray, gaussian: bool) -> float:
    """Σ w over all pairs of some points with all, those with themselves included."""
    d2 = np.zeros((len(some), len(Y)))
    for axis in range(Y.shape[1]):
        d2 += np.square(some[:, axis, None] - Y[None, :, axis])
    return float(np.sum(np.exp(-d2) if gaussian else 1 / (1 + d2)))


@cache
def _shared_affinities(path: str) -> Any:
    from mercer.embedding import Affinities

    P = Affinities.of(panel_rows(Path(path)), PERPLEXITY, neighbors="exact").P
    P.eliminate_zeros()
    return P


def map_recall(X: np.ndarray | sp.csr_array, Y: np.ndarray, k: int = 10) -> float:
    """The share of the k nearest rows that are among the k nearest points, on 1,000 rows."""
    sample = np.random.default_rng(2).choice(len(Y), min(_JUDGED, len(Y)), replace=False)
    hits = 0
    for run in np.array_split(sample, max(1, len(sample) // 50)):
        near, kept = (_nearest(points.astype(np.float64), run, k) for points in (X, Y))
        hits += sum(len(np.intersect1d(a, b)) for a, b in zip(near, kept, strict=True))
    return hits / (len(sample) * k)


def _nearest(X: np.ndarray | sp.csr_array, run: np.ndarray, k: int) -> np.ndarray:
    if sp.issparse(X):
        D = np.asarray(X.multiply(X).sum(axis=1)).reshape(1, -1) - 2 * (X[run] @ X.T).toarray()
    else:
        X = X - X.mean(axis=0)
        D = np.einsum("ij,ij->i", X, X)[None, :] - 2 * X[run] @ X.T
    D[np.arange(len(run)), run] = np.inf
    return np.argpartition(D, k - 1, axis=1)[:, :k]


def rows(n: int, d: int) -> Path:
    return neighbors.rows(n, d)


def _mercer(X: np.ndarray, estimator: str = "TSNE", steps: int | None = None) -> np.ndarray:
    import mercer

    model = getattr(mercer, estimator)(perplexity=PERPLEXITY, random_state=0)
    return model.set_params(**({} if steps is None else {"max_iter": steps})).fit_transform(X)


def _opentsne(X: np.ndarray, steps: int | None = None) -> np.ndarray:
    from openTSNE import TSNE

    fewer = {} if steps is None else {"early_exaggeration_iter": steps // 2, "n_iter": steps // 2}
    given = {"perplexity": PERPLEXITY, "negative_gradient_method": "fft", "n_jobs": 2, "random_state": 0}
    if sp.issparse(X):  # its approximate searches take no sparse rows, and no part of it takes sparse arrays
        X, given = sp.csr_matrix(X), {**given, "neighbors": "exact"}
    return np.asarray(TSNE(**given, **fewer).fit(X), np.float32)


def _sklearn(X: np.ndarray, steps: int | None = None) -> np.ndarray:
    from sklearn.manifold import TSNE

    model = TSNE(perplexity=PERPLEXITY, random_state=0, n_jobs=-1)
    return model.set_params(**({} if steps is None else {"max_iter": steps})).fit_transform(X)


EMBEDDERS = {"mercer": _mercer, "openTSNE": _opentsne, "sklearn": _sklearn}
