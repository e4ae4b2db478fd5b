"""Scores of maps: trustworthiness beside scikit-learn's, and all scores of maps that it could not look at.

The rows are those of the search for neighbours, with the digits that they are of. The map of up to 70,000 rows is
t-SNE's; of a million rows it is their first two principal axes, for which ranks are at their worst. Both are made
beforehand. Exact trustworthiness is judged by a few lines of NumPy.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import data, neighbors

K = 15
_WARM_ROWS = 6000
_TSNE_UP_TO = 100_000


def files(n: int, d: int) -> dict[str, Path]:
    """The .npy files of the rows, a map of them, and their classes."""
    rows = neighbors.rows(n, d)
    paths = {
        "data": rows,
        "map": rows.with_name(rows.stem + "-map.npy"),
        "labels": rows.with_name(rows.stem + "-classes.npy"),
    }
    if not paths["labels"].exists():
        data._save(paths["labels"], _classes(n))
    if not paths["map"].exists():
        data._save(paths["map"], _map(np.load(rows)))
    return paths


def _classes(n: int) -> np.ndarray:
    """The digit of each row, drawn as `neighbors.rows` draws them; between two images, that of the first."""
    digits = np.concatenate([data._raw(part, "labels") for part in ("train", "test")])
    rng = np.random.default_rng(0)
    return digits[rng.permutation(len(digits))[:n] if n <= len(digits) else rng.integers(0, len(digits), n)]


def _map(X: np.ndarray) -> np.ndarray:
    if len(X) > _TSNE_UP_TO:
        return np.ascontiguousarray(X[:, :2])
    from mercer import TSNE

    return TSNE(random_state=0, max_iter=600).fit_transform(X)


def score(job: dict[str, Any]) -> dict[str, Any]:
    """The measurement, in a process of its own: rows and map to scores."""
    from benchmarks.child import memory, timed

    X, Y, labels = (np.load(job[name]) for name in ("data", "map", "labels"))
    X = X.astype(job["dtype"], copy=False)
    work = SCORERS[job["what"]]
    work(X[:_WARM_ROWS], Y[:_WARM_ROWS], labels[:_WARM_ROWS], **job["params"])
    before = memory("VmRSS")
    seconds, found = timed(lambda: work(X, Y, labels, **job["params"]))
    peak = memory("VmHWM")
    np.save(Path(job["out"]) / "trust.npy", found["trust"])
    return {"seconds": seconds, "before_bytes": before, "peak_bytes": peak, **found}


def _report(X: np.ndarray, Y: np.ndarray, labels: np.ndarray, **params: Any) -> dict[str, float]:
    from mercer import quality

    found = quality.report(X, Y, labels=labels, n_neighbors=K, **params)
    shares = [one for one in found.scores if one.name != "kl_divergence"]
    widest = max(1.96 * one.error for one in shares)
    trust = found["trustworthiness"]
    return {"trust": trust.value, "trust_error": trust.error, "widest": widest}


def _mercer(X: np.ndarray, Y: np.ndarray, labels: np.ndarray, **params: Any) -> dict[str, float]:
    from mercer import quality

    found = quality.trustworthiness(X, Y, n_neighbors=K, **params)
    return {"trust": found.value, "trust_error": found.error}


def _sklearn(X: np.ndarray, Y: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    from sklearn.manifold import trustworthiness

    return {"trust": float(trustworthiness(X, Y, n_neighbors=K))}


SCORERS = {"report": _report, "mercer": _mercer, "sklearn": _sklearn}
