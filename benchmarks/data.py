"""The inputs, made once and kept in data/benchmarks.

MNIST's 60,000 training images, divided by 255, centred and, below 784 dimensions, projected on their principal axes.
Beyond 60,000 rows they are drawn with replacement and a little Gaussian noise is added. The kernel's gamma is one
over the median squared distance, a number that every competitor is given.

`PANEL` has public data of other kinds, one builder per set, because a method that is fast on images may not be fast on
tables, counts or strings. scripts/fetch_data.py fetches it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import make_swiss_roll
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "data" / "mnist_train_images.npy"
FOLDER = ROOT / "data" / "benchmarks"
NOISE = 0.05  # standard deviation per coordinate; the first coordinates have one of about 2
_RUN = 50_000


def dataset(n: int, d: int, dtype: str, seed: int = 0) -> Path:
    """The .npy file of n rows of d columns."""
    path = FOLDER / f"mnist-{n}x{d}-{dtype}-{seed}.npy"
    if not path.exists():
        rng = np.random.default_rng(seed)
        scores = _scores(d)
        repeated = n > len(scores)
        index = rng.integers(0, len(scores), n) if repeated else rng.permutation(len(scores))[:n]
        rows = np.empty((n, d), dtype)
        for start in range(0, n, _RUN):
            run = slice(start, min(start + _RUN, n))
            part = scores[index[run]]
            rows[run] = part + NOISE * rng.standard_normal(part.shape) if repeated else part
        _save(path, rows)
    return path


def swiss_roll(n: int) -> Path:
    """The .npy file of n points of scikit-learn's swiss roll, (n, 3)."""
    path = FOLDER / f"swiss-roll-{n}.npy"
    if not path.exists():
        _save(path, make_swiss_roll(n, random_state=0)[0])
    return path


def halves(n: int, dtype: str) -> tuple[Path, Path]:
    """The .npy files of n images divided by 255, the pixels of the left half first, and of up to 10,000 others."""
    paths = tuple(FOLDER / f"mnist-halves-{n}-{dtype}-{part}.npy" for part in ("fit", "new"))
    if not all(path.exists() for path in paths):
        images = _images().reshape(-1, 28, 28)
        order = np.random.default_rng(0).permutation(len(images))
        for path, index in zip(paths, (order[:n], order[n : n + 10_000]), strict=True):
            chosen = images[index].astype(dtype)
            chosen /= 255
            sides = chosen[:, :, :14], chosen[:, :, 14:]
            _save(path, np.concatenate([side.reshape(len(index), -1) for side in sides], axis=1))
    return paths[0], paths[1]


def images(n: int, dtype: str) -> dict[str, Path]:
    """The .npy files of the first n training images divided by 255, of the test images, and of their classes."""
    paths = {}
    for name, part, count in (("data", "train", n), ("new", "test", None)):
        paths[name] = FOLDER / f"mnist-{part}-images-{count}-{dtype}.npy"
        if not paths[name].exists():
            pixels = _raw(part, "images")[:count].astype(dtype)
            pixels /= 255
            _save(paths[name], pixels)
    return {**paths, "labels": _class_file("train", np.arange(n)), "new_labels": _class_file("test", np.arange(10_000))}


def labelled(n: int, d: int, dtype: str) -> dict[str, Path]:
    """n rows as in `dataset` with their classes, and 1,000 others that may share images with them."""
    order = [np.random.default_rng(seed).permutation(60_000)[:count] for seed, count in ((0, n), (1, 1000))]
    return {
        "data": dataset(n, d, dtype),
        "labels": _class_file("train", order[0], 0),
        "new": dataset(1000, d, dtype, seed=1),
        "new_labels": _class_file("train", order[1], 1),
    }


def _class_file(part: str, index: np.ndarray, seed: int | None = None) -> Path:
    path = FOLDER / f"mnist-{part}-classes-{len(index)}{'' if seed is None else f'-{seed}'}.npy"
    if not path.exists():
        _save(path, _raw(part, "labels")[index])
    return path


def _raw(part: str, what: str) -> np.ndarray:
    _images()  # fetches all of them where they are not there
    return np.load(IMAGES.with_name(f"mnist_{part}_{what}.npy"))


# --- the panel -----------------------------------------------------------------------------------------------


def panel(name: str, n: int) -> Path:
    """The file of n rows of a set of `PANEL`, or of all if it has fewer: .npy, or .npz for CSR rows."""
    found = list(FOLDER.glob(f"panel-{name}-{n}.np?"))
    if found:
        return found[0]
    rows = PANEL[name](n)
    path = FOLDER / f"panel-{name}-{n}.{'npz' if sp.issparse(rows) else 'npy'}"
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"part-{path.name}")
    sp.save_npz(part, rows) if sp.issparse(rows) else np.save(part, rows)
    part.replace(path)
    return path


def panel_rows(path: Path) -> np.ndarray | sp.csr_array:
    return sp.csr_array(sp.load_npz(path)) if path.suffix == ".npz" else np.load(path)


def _digit_images(n: int) -> np.ndarray:
    return _drawn(_images(), n).astype(np.float32) / 255


def _diamonds(n: int) -> np.ndarray:
    """Carats, proportions, prices and sizes in units of their deviation: some sizes are 30 deviations off."""
    return _standardised(_drawn(np.load(_panel_file("diamonds.npy")), n))


def _flights(n: int) -> np.ndarray:
    """Delays in steps of ten minutes, distances in steps of 100 miles, hours: most rows have copies."""
    return (_drawn(np.load(_panel_file("flights.npy")), n) // [10, 100, 1]).astype(np.float64)


def _zipcodes(n: int) -> np.ndarray:
    return _drawn(np.load(_panel_file("zipcodes.npy")), n)


def _weather(n: int) -> np.ndarray:
    """Every stretch of 24 hours of pressure, temperature and wind, 72 numbers."""
    hours = _standardised(np.load(_panel_file("weather.npy")))
    days = np.lib.stride_tricks.sliding_window_view(hours, 24, axis=0)
    return _drawn(np.ascontiguousarray(days.reshape(len(days), -1)), n)


def _cells(n: int) -> sp.csr_array:
    """log(1 + counts per 10,000) of the 2,000 genes that vary most."""
    counts = sp.csr_array(sp.load_npz(_panel_file("cells.npz")))
    counts = _drawn(counts[np.asarray(counts.sum(axis=1)).ravel() > 0], n)
    scaled = sp.diags_array(1e4 / np.asarray(counts.sum(axis=1)).ravel()) @ counts
    logs = sp.csc_array(scaled.log1p())
    means = np.asarray(logs.mean(axis=0)).ravel()
    spread = np.asarray(logs.multiply(logs).mean(axis=0)).ravel() - means**2
    return sp.csr_array(logs[:, np.sort(np.argsort(-spread)[:2000])], dtype=np.float32)


def _glosses(n: int) -> sp.csr_array:
    """How often each word stands in a definition; words of fewer than five definitions are left out."""
    counts = CountVectorizer(min_df=5, dtype=np.float32).fit_transform(_lines("glosses.txt", n))
    return sp.csr_array(counts)


def _letters(n: int) -> sp.csr_array:
    """How often each run of three to five letters stands in a definition, in 2¹⁸ columns."""
    counts = HashingVectorizer(analyzer="char", ngram_range=(3, 5), n_features=2**18, dtype=np.float32)
    return sp.csr_array(counts.transform(_lines("glosses.txt", n)))


def _words(n: int) -> sp.csr_array:
    """Strings as the spectrum kernel of length 2 sees them: how often each pair of letters stands in a noun."""
    counts = CountVectorizer(analyzer="char", ngram_range=(2, 2), dtype=np.float32).fit_transform(
        _lines("words.txt", n)
    )
    return sp.csr_array(counts)


PANEL: dict[str, Callable[[int], np.ndarray | sp.csr_array]] = {
    "images": _digit_images,
    "table with outliers": _diamonds,
    "integers with copies": _flights,
    "single cells": _cells,
    "text counts": _glosses,
    "time series": _weather,
    "two columns": _zipcodes,
    "262,144 columns": _letters,
    "strings": _words,
}


def _drawn(rows: np.ndarray | sp.csr_array, n: int) -> np.ndarray | sp.csr_array:
    order = np.random.default_rng(0).permutation(rows.shape[0])[:n]
    return rows[np.sort(order)]


def _standardised(rows: np.ndarray) -> np.ndarray:
    return (rows - rows.mean(axis=0)) / rows.std(axis=0)


def _lines(name: str, n: int) -> list[str]:
    return _drawn(np.array(_panel_file(name).read_text().splitlines(), object), n).tolist()


def _panel_file(name: str) -> Path:
    path = ROOT / "data" / "panel" / name
    if not path.exists():
        subprocess.run([sys.executable, str(ROOT / "scripts" / "fetch_data.py"), "panel"], check=False)
    if not path.exists():
        sys.exit(f"The panel needs {path.relative_to(ROOT)}, which is missing. Run scripts/fetch_data.py panel.")
    return path


def gamma_of(path: Path) -> float:
    """One over the median squared distance of 1,000 rows, to four digits."""
    note = path.with_suffix(".json")
    if not note.exists():
        X = np.load(path, mmap_mode="r")
        index = np.random.default_rng(0).choice(len(X), min(1000, len(X)), replace=False)
        rows = np.asarray(X[np.sort(index)], np.float64)
        squares = np.sum(rows**2, axis=1)
        distances = squares[:, None] + squares[None, :] - 2 * rows @ rows.T
        gamma = 1 / np.median(distances[np.triu_indices(len(rows), k=1)])
        note.write_text(json.dumps({"gamma": float(f"{gamma:.4g}")}))
    return json.loads(note.read_text())["gamma"]


def centred_gram(n: int, d: int) -> tuple[Path, float]:
    """The .npy file of HKH in float64, and its largest eigenvalue."""
    path = FOLDER / f"gram-{n}x{d}.npy"
    note = path.with_suffix(".json")
    if not (path.exists() and note.exists()):
        source = dataset(n, d, "float64")
        X, gamma = np.load(source), gamma_of(source)
        squares = np.sum(X**2, axis=1)
        K = X @ X.T
        for start in range(0, n, 1000):
            run = slice(start, min(start + 1000, n))
            K[run] = np.exp(-gamma * np.maximum(squares[run, None] + squares[None, :] - 2 * K[run], 0))
        means = K.mean(axis=0)
        K -= means[None, :]
        K += means.mean() - means[:, None]
        _save(path, K)
        note.write_text(json.dumps({"largest": _largest(K)}))
    return path, json.loads(note.read_text())["largest"]


def _largest(K: np.ndarray) -> float:
    v = np.random.default_rng(0).standard_normal(len(K))
    for _ in range(60):
        v = K @ (v / np.linalg.norm(v))
    return float(np.linalg.norm(v))


@lru_cache(1)
def _scores(d: int) -> np.ndarray:
    """All images in d dimensions, (60,000, d)."""
    X = _images().astype(np.float64)
    X /= 255
    X -= X.mean(axis=0)
    if d == X.shape[1]:
        return X
    _, axes = np.linalg.eigh(X.T @ X)
    return X @ axes[:, ::-1][:, :d]


def _images() -> np.ndarray:
    if not IMAGES.exists():
        subprocess.run([sys.executable, str(ROOT / "scripts" / "fetch_data.py")], check=False)
    if not IMAGES.exists():
        sys.exit(f"The benchmarks need MNIST: {IMAGES.relative_to(ROOT)} is not there. Run scripts/fetch_data.py.")
    return np.load(IMAGES)


def _save(path: Path, array: np.ndarray) -> None:
    """Written under another name first, so that a run that is stopped leaves no half of a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part.npy")
    np.save(part, array)
    part.replace(path)
