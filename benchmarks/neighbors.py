"""The search for neighbours: the rows, who searches, and the share of the true neighbours that was found.

All 70,000 images of MNIST on their first principal axes; beyond that many, points between an image and one of its ten
nearest, with noise, so that the data has the same shape at every size. Each library builds its index, asks it for the
k nearest of every row, and drops the row itself.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import data

NOISE = 0.3  # standard deviation per coordinate; nearest images are about 4 apart
_JUDGED = 1000  # rows whose neighbours are recomputed
_WARM_ROWS = 3000
Answer = tuple[np.ndarray, np.ndarray]


def rows(n: int, d: int) -> Path:
    """The .npy file of n rows of d columns, float32."""
    path = data.FOLDER / f"mnist-neighbors-{n}x{d}.npy"
    if not path.exists():
        rng = np.random.default_rng(0)
        scores = _scores(d)
        if n <= len(scores):
            chosen = scores[rng.permutation(len(scores))[:n]]
        else:
            start = rng.integers(0, len(scores), n)
            end = _nearest_images(d)[start, rng.integers(0, 10, n)]
            share = rng.random((n, 1), np.float32)
            chosen = scores[start] * (1 - share) + scores[end] * share
            chosen += NOISE * rng.standard_normal(chosen.shape, np.float32)
        data._save(path, np.ascontiguousarray(chosen, np.float32))
    return path


@cache
def _scores(d: int) -> np.ndarray:
    """Training and test images on their first d principal axes, (70,000, d)."""
    X = np.concatenate([data._raw(part, "images") for part in ("train", "test")]).astype(np.float32)
    X /= 255
    X -= X.mean(axis=0)
    _, axes = np.linalg.eigh(X.T.astype(np.float64) @ X)
    return (X @ axes[:, ::-1][:, :d]).astype(np.float32)


def _nearest_images(d: int) -> np.ndarray:
    from sklearn.neighbors import NearestNeighbors

    return NearestNeighbors(n_neighbors=10, algorithm="brute").fit(_scores(d)).kneighbors(return_distance=False)


def recall(path: Path, found: np.ndarray) -> float:
    """The share of the k nearest that was found, on 1,000 rows, by the direct formula in float64."""
    X, k = np.load(path), found.shape[1]
    centre = X.mean(axis=0, dtype=np.float64)
    X = X - centre
    norms, hits = np.einsum("ij,ij->i", X, X), 0
    sample = np.sort(np.random.default_rng(1).choice(len(X), min(_JUDGED, len(X)), replace=False))
    for run in np.array_split(sample, max(1, len(sample) // 50)):
        D = norms[None, :] - 2 * X[run] @ X.T
        D[np.arange(len(run)), run] = np.inf
        true = np.argpartition(D, k - 1, axis=1)[:, :k]
        hits += sum(len(np.intersect1d(a, b)) for a, b in zip(true, found[run], strict=True))
    return hits / (len(sample) * k)


def search(job: dict[str, Any]) -> dict[str, Any]:
    """The measurement, in a process of its own: build an index, and find the neighbours of all rows."""
    from benchmarks.child import memory, timed

    X, k = np.load(job["data"]), job["k"]
    work = SEARCHES[job["what"]]
    work(X[:_WARM_ROWS], min(k, 50), **job["params"])
    before = memory("VmRSS")
    seconds, (places, _) = timed(lambda: work(X, k, **job["params"]))
    peak = memory("VmHWM")
    np.save(Path(job["out"]) / "places.npy", places)
    return {"seconds": seconds, "before_bytes": before, "peak_bytes": peak}


def _mercer(X: np.ndarray, k: int, method: str) -> Answer:
    from mercer.graph.nearest_neighbors import build_index

    answer = build_index(X, method=method).neighbors(k)
    return answer.indices, answer.distances


def _sklearn(X: np.ndarray, k: int) -> Answer:
    from sklearn.neighbors import NearestNeighbors

    distances, places = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(X).kneighbors()
    return places, distances


def _faiss_flat(X: np.ndarray, k: int) -> Answer:
    import faiss

    index = faiss.IndexFlatL2(X.shape[1])
    index.add(X)
    squares, places = index.search(X, k + 1)
    return _without_self(places, squares)


def _faiss_cells(X: np.ndarray, k: int, cells: float, probes: int) -> Answer:
    import faiss

    count = int(cells * np.sqrt(len(X)))
    index = faiss.IndexIVFFlat(faiss.IndexFlatL2(X.shape[1]), X.shape[1], count)
    index.cp.seed = 0
    index.train(X)
    index.add(X)
    index.nprobe = probes
    squares, places = index.search(X, k + 1)
    return _without_self(places, squares)


def _hnswlib(X: np.ndarray, k: int, links: int, build: int, breadth: int) -> Answer:
    import hnswlib

    index = hnswlib.Index("l2", X.shape[1])
    index.init_index(len(X), M=links, ef_construction=build, random_seed=0)
    index.set_num_threads(os.cpu_count() or 1)
    index.add_items(X)
    index.set_ef(max(breadth, k + 1))
    places, squares = index.knn_query(X, k + 1)
    return _without_self(places.astype(np.int64), squares)


def _usearch(X: np.ndarray, k: int, links: int, build: int, breadth: int) -> Answer:
    from usearch.index import Index

    index = Index(
        ndim=X.shape[1],
        metric="l2sq",
        dtype="f32",
        connectivity=links,
        expansion_add=build,
        expansion_search=max(breadth, k + 1),
    )
    keys, threads = np.arange(len(X)), os.cpu_count() or 1
    index.add(keys, X, threads=threads)
    answer = index.search(X, k + 1, threads=threads)
    return _without_self(answer.keys.astype(np.int64), answer.distances)


def _pynndescent(X: np.ndarray, k: int, **params: Any) -> Answer:
    from pynndescent import NNDescent

    index = NNDescent(X, n_neighbors=k + 1, random_state=0, n_jobs=os.cpu_count() or 1, **params)
    return _without_self(*index.neighbor_graph)


def _without_self(places: np.ndarray, distances: np.ndarray) -> Answer:
    """k of k + 1 neighbours: without the row itself where it was found, without the farthest where it was not."""
    own = places == np.arange(len(places))[:, None]
    own[~own.any(axis=1), -1] = True
    shape = len(places), places.shape[1] - 1
    return places[~own].reshape(shape), distances[~own].reshape(shape)


SEARCHES: dict[str, Callable[..., Answer]] = {
    "mercer": _mercer,
    "sklearn": _sklearn,
    "faiss_flat": _faiss_flat,
    "faiss_cells": _faiss_cells,
    "hnswlib": _hnswlib,
    "usearch": _usearch,
    "pynndescent": _pynndescent,
}
