"""NoveltyDetector(), an isolation forest and a one-class SVM on tables: the area under the curve, and seconds.

    python -m benchmarks.novelty            the tables of scikit-learn, and those in data/
    python -m benchmarks.novelty --draws 5

For each table the rows of one class, or of a few, are normal, and those of the other classes are odd. "new": half of
the normal rows are fitted, and the other half is to be told from the odd ones. "among": all of them are fitted together
with 8 % of odd ones, which are to be found. Tables of R's mlbench and kernlab are taken from data/mlbench_NAME.npz,
with X and y, where these files exist.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

from mercer import NoveltyDetector

DATA = Path(__file__).resolve().parents[1] / "data"
MOST_ROWS = 6000


def tables(folder: Path, most: int = MOST_ROWS) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Names, rows, and which rows are odd."""
    cancer, wine, digits = load_breast_cancer(), load_wine(), load_digits()
    yield "cancer", cancer.data, cancer.target == 0
    yield "wine", wine.data, wine.target == 2
    yield "digits, 0", digits.data, digits.target != 0
    yield "digits, 8", digits.data, digits.target != 8
    for path in sorted(folder.glob("mlbench_*.npz")):
        with np.load(path) as held:
            X, y = held["X"], held["y"]
        classes, counts = np.unique(y, return_counts=True)
        normal = classes[np.argsort(-counts)[: max(1, len(classes) // 3)]]
        chosen = np.random.default_rng(0).permutation(len(X))[:most]
        yield path.stem.removeprefix("mlbench_"), X[chosen], ~np.isin(y[chosen], normal)


def split(odd: np.ndarray, way: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The rows to fit and the rows to judge."""
    normal, others = rng.permutation(np.flatnonzero(~odd)), np.flatnonzero(odd)
    if way == "new":
        half = len(normal) // 2
        return normal[:half], np.concatenate([normal[half:], others])
    few = rng.choice(others, min(len(others), max(3, int(0.08 * len(normal)))), replace=False)
    together = np.concatenate([normal, few])
    return together, together


class OneClassSVC:
    """scikit-learn's one-class SVM with the same share of false alarms, on standardised columns."""

    def __init__(self) -> None:
        self.pipeline = make_pipeline(StandardScaler(), OneClassSVM(nu=0.05))

    def fit(self, X: np.ndarray) -> OneClassSVC:
        self.pipeline.fit(X)
        return self

    def score_samples(self, X: np.ndarray) -> np.ndarray:
        return self.pipeline.score_samples(X)


def measured(X: np.ndarray, odd: np.ndarray, way: str, seed: int) -> tuple[list[float], list[float]]:
    """The areas under the curve, and the seconds of the fits, of the three in turn."""
    fitted, judged = split(odd, way, np.random.default_rng(seed))
    areas, seconds = [], []
    for detector in (NoveltyDetector(), IsolationForest(random_state=seed), OneClassSVC()):
        started = time.perf_counter()
        detector.fit(X[fitted])
        seconds.append(time.perf_counter() - started)
        left_out = way == "among" and isinstance(detector, NoveltyDetector)
        far = detector.left_out_distances_ if left_out else -detector.score_samples(X[judged])
        areas.append(float(roc_auc_score(odd[judged], far)))
    return areas, seconds


def main() -> None:
    parser = argparse.ArgumentParser(
        description="NoveltyDetector(), an isolation forest and a one-class SVM on tables."
    )
    parser.add_argument("--draws", type=int, default=3, help="splits to average over")
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of mlbench_NAME.npz")
    parser.add_argument("--rows", type=int, default=MOST_ROWS, help="of each table at most")
    given = parser.parse_args()
    NoveltyDetector().fit(np.random.default_rng(0).standard_normal((3000, 60)))  # compiled code is loaded here
    for way in ("new", "among"):
        sys.stdout.write(
            f"{way:20} {'rows':>6} {'columns':>7}   area: ours  forest  svm     seconds: ours  forest  svm\n"
        )
        areas, seconds = [], []
        for name, X, odd in tables(given.data, given.rows):
            draws = [measured(X, odd, way, seed) for seed in range(given.draws)]
            areas.append(np.mean([area for area, _ in draws], axis=0))
            seconds.append(np.median([spent for _, spent in draws], axis=0))
            numbers = "   ".join("  ".join(f"{x:6.3f}" for x in part) for part in (areas[-1], seconds[-1]))
            sys.stdout.write(f"{name:20} {len(X):6} {X.shape[1]:7}       {numbers}\n")
            sys.stdout.flush()
        ahead = np.array(areas)[:, :1] - np.array(areas)[:, 1:]
        longest, usual = np.max(seconds, axis=0), np.median(seconds, axis=0)
        for i, peer in enumerate(("the forest", "the SVM")):
            sys.stdout.write(
                f"area less that of {peer}: least {ahead[:, i].min():.3f}, median {np.median(ahead[:, i]):.3f}\n"
            )
        sys.stdout.write(f"seconds, longest: {longest.round(3)}, median: {usual.round(3)}\n\n")


if __name__ == "__main__":
    main()
