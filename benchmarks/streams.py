"""Rows that are not in memory: a script of its own, which writes the table of docs/guide/large.md.

    python -m benchmarks.streams --folder /tmp/rows              10⁶ and 10⁷ rows: 4 GB of files
    python -m benchmarks.streams --folder /tmp/rows --rows 1e8   12 GB for the largest alone

Every measurement is a fresh process. Seconds are those of the processor, since a busy machine has no others that can be
compared; the least of three turns is taken, in which a fit and the reading of its file take turns. Peaks are those of
the whole process. Every measurement is noted in measured.jsonl beside the files, and not made again by a later run, so
that hours can be spent in parts. With --keep the files stay for the next run.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "guide" / "large.md"
BEGIN, END = "<!-- written by benchmarks/streams.py -->", "<!-- end -->"
RANK, GROUP_ROWS, TURNS, NOTES = 500, 500_000, 3, "measured.jsonl"
POINTS, TRUE_RANK = 1000, 200  # of the data whose spectrum is known


class Latent:
    """Rows with four latent columns and noise, made anew in every chunk."""

    feature_names, dtype = None, np.dtype(np.float32)

    def __init__(self, n: int, d: int) -> None:
        self.n_features = d
        self.lengths = [min(GROUP_ROWS, n - start) for start in range(0, n, GROUP_ROWS)]

    def chunk(self, i: int) -> np.ndarray:
        rng = np.random.default_rng(i)
        turn = np.random.default_rng(10**6).standard_normal((4, self.n_features)).astype(np.float32)
        rows = rng.standard_normal((self.lengths[i], 4), dtype=np.float32) @ turn
        return rows + 0.3 * rng.standard_normal(rows.shape, dtype=np.float32)


class Repeated:
    """The same points over and over: n rows with the eigenvalues of the points', times n / POINTS."""

    feature_names, dtype, n_features = None, np.dtype(np.float32), 4

    def __init__(self, n: int) -> None:
        self.points = np.random.default_rng(0).standard_normal((POINTS, 4)).astype(np.float32)
        self.lengths = [GROUP_ROWS] * (n // GROUP_ROWS)

    def chunk(self, i: int) -> np.ndarray:
        return np.tile(self.points, (GROUP_ROWS // POINTS, 1))


def main() -> None:
    parser = argparse.ArgumentParser(description="Rows that are not in memory.")
    parser.add_argument("--folder", type=Path, required=True, help="where the files are written")
    parser.add_argument("--rows", type=float, nargs="+", default=[1e6, 1e7])
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to see that it runs; nothing is written")
    parser.add_argument("--keep", action="store_true", help="leave the files there")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        print(json.dumps(noted(options.folder, json.loads(options.job))))
        return
    sizes = [20_000, 40_000] if options.quick else [int(n) for n in options.rows]
    options.folder.mkdir(parents=True, exist_ok=True)
    lines, files = [], []
    for n in sizes:
        for d, what in ((20, "kpca"), (50, "pca")):
            files.append(written(options.folder, n, d))
            count = 1 if n >= (10**7 if what == "kpca" else 10**8) else TURNS
            lines.append(line(what, n, d, turns(what, files[-1], count)))
            sys.stderr.write(lines[-1] + "\n")
    n = max(10 * GROUP_ROWS, max(sizes)) if not options.quick else GROUP_ROWS
    truth = apart(options.folder, {"what": "truth", "n": n})
    text = page(lines, truth)
    if not options.keep:
        for file in [*files, options.folder / NOTES]:
            file.unlink(missing_ok=True)
    if options.quick:
        print(text)
        return
    before, rest = PAGE.read_text().split(BEGIN)
    PAGE.write_text(before + BEGIN + "\n\n" + text + "\n" + END + rest.split(END)[1])


def written(folder: Path, n: int, d: int) -> Path:
    """The file of n × d rows; made unless it is there."""
    from mercer import write_rows

    path = folder / f"rows-{n}x{d}.parquet"
    if not path.exists():
        write_rows(Latent(n, d), path)
    return path


def turns(what: str, path: Path, count: int) -> dict[str, Any]:
    """The least processor seconds of a fit and of reading its file, and the fit's largest peak."""
    fits, reads = [], []
    for turn in range(count):
        fits.append(apart(path.parent, {"what": what, "path": str(path), "turn": turn}))
        reads.append(apart(path.parent, {"what": "read", "path": str(path), "turn": turn})["seconds"])
    return {
        **fits[0],
        "seconds": min(each["seconds"] for each in fits),
        "peak": max(each["peak"] for each in fits),
        "read": min(reads),
    }


def apart(folder: Path, job: dict[str, Any]) -> dict[str, Any]:
    """What a job measures in a process of its own, unless it was measured before."""
    notes = folder / NOTES
    for text in notes.read_text().splitlines() if notes.exists() else []:
        if (note := json.loads(text))["job"] == job:
            return note["found"]
    command = [sys.executable, "-m", "benchmarks.streams", "--folder", str(folder), "--job", json.dumps(job)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def noted(folder: Path, job: dict[str, Any]) -> dict[str, Any]:
    """What a job measures in this process, noted for later runs."""
    found = measured(job)
    with open(folder / NOTES, "a") as notes:
        notes.write(json.dumps({"job": job, "found": found}) + "\n")
    return found


def measured(job: dict[str, Any]) -> dict[str, Any]:
    """One job in this process."""
    import mercer
    from benchmarks.child import memory

    found: dict[str, Any] = {}
    if job["what"] == "truth":
        return truth_of(job["n"])
    source = mercer.open_rows(job["path"])
    if job["what"] != "read":
        warm(job["what"], source)
    started = time.process_time()
    if job["what"] == "read":
        for i in range(len(source.lengths)):
            source.chunk(i)
    elif job["what"] == "pca":
        mercer.PCA().fit(source)
    else:
        model = mercer.KernelPCA(10, kernel="rbf", gamma="median", rank=RANK, random_state=0).fit(source)
        found["bound"] = float(model.eigenvalue_error_[0] / model.eigenvalues_[0])
        found["precision"] = str(model.X_fit_.dtype)
    return {**found, "seconds": time.process_time() - started, "peak": memory("VmHWM")}


def warm(what: str, source: Any) -> None:
    """A fit of a few rows loads the libraries and compiles the loops, which takes the same time for any data."""
    import mercer

    rows = source.chunk(0)[:5000]
    if what == "pca":
        mercer.PCA().fit(mercer.open_rows(rows))
    else:
        mercer.KernelPCA(2, kernel="rbf", gamma="median", rank=20).fit(mercer.open_rows(rows))


def truth_of(n: int) -> dict[str, Any]:
    """The bound over n rows beside the error that it bounds, for eigenvalues that are known."""
    import mercer

    source = Repeated(n)
    model = mercer.KernelPCA(20, kernel="rbf", gamma=0.2, rank=TRUE_RANK, random_state=0).fit(source)
    points = source.points.astype(np.float64)
    squares = (points**2).sum(axis=1)
    K = np.exp(-0.2 * np.maximum(squares[:, None] + squares - 2 * points @ points.T, 0.0))
    means = K.mean(axis=0)
    exact = np.linalg.eigvalsh(K - means - means[:, None] + means.mean())[::-1][:20] * (n / POINTS)
    missed = exact - np.asarray(model.eigenvalues_, np.float64)
    bound = np.asarray(model.eigenvalue_error_, np.float64)
    return {"n": n, "most": float((missed / bound).max()), "least": float((missed / bound).min())}


def line(what: str, n: int, d: int, found: dict[str, Any]) -> str:
    name = f"kernel PCA, rank {RANK}" if what == "kpca" else "PCA"
    bound = f"{found['bound']:.1%} of γ₁" if "bound" in found else "exact"
    return (
        f"| {name} | {n:,} × {d} | {found['seconds']:.1f} s, {found['seconds'] / n * 1e6:.2f} µs per row | "
        f"{found['seconds'] / found['read']:.2f}× | {found['peak'] / 1e6:.0f} MB | {bound} |"
    )


def page(lines: list[str], truth: dict[str, Any]) -> str:
    from benchmarks.machine import describe

    machine = describe()
    head = [
        "| method | rows, float32 in parquet | processor time | beside reading the file once | peak | error bound |"
    ]
    head.append("|---|---|---|---|---|---|")
    below = (
        f"Processor time is the sum over all cores ({machine['cpu']}, {machine['cores']} cores). On {truth['n']:,} "
        f"rows whose spectrum is known, the errors of the 20 largest eigenvalues lay between {truth['least']:.4f} and "
        f"{truth['most']:.4f} of the bound."
    )
    return "\n".join([*head, *lines, "", below, ""])


if __name__ == "__main__":
    main()
