"""NoveltyDetector() and an isolation forest on tables: the area under the curve for rows of other classes.

    python -m benchmarks.novelty            the tables of scikit-learn, and those in data/
    python -m benchmarks.novelty --draws 5

For each table the rows of one class, or of a few, are normal. "new": half of them are fitted, and the other half is to
be told from all other rows. "among": all of them are fitted together with 8 % of others, which are to be found. Tables
of R's mlbench are taken from data/mlbench_NAME.npz, with X and y, where these files exist.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score

from mercer import NoveltyDetector

DATA = Path(__file__).resolve().parents[1] / "data"
MOST_ROWS = 6000


def tables(folder: Path) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
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
        chosen = np.random.default_rng(0).permutation(len(X))[:MOST_ROWS]
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


def areas(X: np.ndarray, odd: np.ndarray, way: str, seed: int) -> tuple[float, float]:
    """The areas under the curve of the detector and of the forest."""
    fitted, judged = split(odd, way, np.random.default_rng(seed))
    detector = NoveltyDetector().fit(X[fitted])
    ours = detector.left_out_distances_ if way == "among" else -detector.score_samples(X[judged])
    theirs = -IsolationForest(random_state=seed).fit(X[fitted]).score_samples(X[judged])
    return float(roc_auc_score(odd[judged], ours)), float(roc_auc_score(odd[judged], theirs))


def main() -> None:
    parser = argparse.ArgumentParser(description="NoveltyDetector() and an isolation forest on tables.")
    parser.add_argument("--draws", type=int, default=3, help="splits to average over")
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of mlbench_NAME.npz")
    given = parser.parse_args()
    sys.stdout.write(f"{'table':20} {'rows':>6}  {'new: ours':>9} {'forest':>7}  {'among: ours':>11} {'forest':>7}\n")
    for name, X, odd in tables(given.data):
        new, forest = np.mean([areas(X, odd, "new", seed) for seed in range(given.draws)], axis=0)
        among, forest_among = np.mean([areas(X, odd, "among", seed) for seed in range(given.draws)], axis=0)
        sys.stdout.write(f"{name:20} {len(X):6}  {new:9.3f} {forest:7.3f}  {among:11.3f} {forest_among:7.3f}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
