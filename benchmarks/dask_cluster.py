"""What a cluster of dask costs and gains, and what happens when its workers are killed.

    python -m benchmarks.dask_cluster speed --rows 10000000    one and two workers beside a fit in this process
    python -m benchmarks.dask_cluster kills                    a worker killed at 20 random moments

Kernel PCA of rank 500, 20 columns of float32, in parquet. Workers are processes with one thread, and so has the fit
without a cluster. Every fit is in a fresh process, in turns. Processor seconds do not depend on what else the machine
does: those of the busiest worker and of the client together are what a fit takes on an idle machine that overlaps
nothing. Times by the clock are shown beside them.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
COLUMNS, RANK, CHUNKS = 20, 500, 40


class Spectrum:
    """Rows around ten centres with a decaying spectrum, made chunk by chunk."""

    n_features, dtype, feature_names = COLUMNS, np.dtype(np.float32), None

    def __init__(self, rows: int, chunks: int) -> None:
        self.lengths = [rows * (i + 1) // chunks - rows * i // chunks for i in range(chunks)]

    def chunk(self, i: int) -> np.ndarray:
        rng, centres = np.random.default_rng([1, i]), np.random.default_rng(0).standard_normal((10, COLUMNS))
        kind = rng.integers(0, 10, self.lengths[i])
        X = 3 * centres[kind].astype(np.float32) + rng.standard_normal((self.lengths[i], COLUMNS), dtype=np.float32)
        return X / np.sqrt(1 + np.arange(COLUMNS, dtype=np.float32))


def model(rank: int) -> Any:
    from mercer import KernelPCA

    return KernelPCA(5, kernel="rbf", gamma="median", rank=rank, n_jobs=1)


def digest(fitted: Any) -> str:
    """A hash of every array of a model."""
    arrays = {name: value for name, value in vars(fitted).items() if isinstance(value, np.ndarray)}
    sha = hashlib.sha256()
    for name in sorted(arrays):
        if arrays[name].dtype != object:
            sha.update(name.encode() + arrays[name].tobytes())
    return sha.hexdigest()[:16]


def fit(path: str, chunk_rows: int, workers: int) -> dict[str, Any]:
    """One fit in this process, whose libraries and compiled code are loaded; workers=0 is without a cluster."""
    import mercer
    from mercer.streams import cluster

    warm, rows = mercer.open_rows(Spectrum(4 * 2048, 4)), mercer.open_rows(path, chunk_rows=chunk_rows)
    if not workers:
        model(RANK).fit(warm)
        return timed(rows, list)
    from distributed import Client

    with cluster(f"local:{workers}"):
        client = Client.current()
        for _ in range(2):  # whichever worker takes which chunk, in the end both have taken one
            model(RANK).fit(warm)
        return timed(rows, lambda: list(client.run(time.process_time).values()))


def timed(rows: Any, workers_seconds: Any) -> dict[str, Any]:
    before, mine, started = workers_seconds(), time.process_time(), time.monotonic()
    fitted = model(RANK).fit(rows)
    clock, mine = time.monotonic() - started, time.process_time() - mine
    spent = [after - earlier for after, earlier in zip(workers_seconds(), before, strict=True)]
    return {"clock": clock, "client": mine, "workers": spent, "bits": digest(fitted)}


def speed(rows: int, turns: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        import mercer

        path = f"{folder}/rows.parquet"
        mercer.write_rows(Spectrum(rows, CHUNKS), path)
        found: dict[int, list[dict[str, Any]]] = {0: [], 1: [], 2: []}
        for _ in range(turns):
            for workers, results in found.items():
                results.append(apart(path, -(-rows // CHUNKS), workers))
                print(json.dumps({"fit": workers, **results[-1]}), flush=True)
    total = {w: statistics.median(path_of(r) for r in results) for w, results in found.items()}
    clock = {w: statistics.median(r["clock"] for r in results) for w, results in found.items()}
    same = len({r["bits"] for results in found.values() for r in results}) == 1
    print(f"{rows:,} rows, rank {RANK}, {CHUNKS} chunks, {turns} turns; the same bits: {'yes' if same else 'NO'}")
    print(f"one worker beside this process: {total[1] / total[0]:.3f}× processor seconds, {clock[1] / clock[0]:.2f}×")
    print(f"two workers beside one: {total[1] / total[2]:.3f}× on the longest path, {clock[1] / clock[2]:.2f}×")


def path_of(result: dict[str, Any]) -> float:
    """Processor seconds of the busiest worker and of the client, one after the other."""
    return result["client"] + max(result["workers"], default=0.0)


def apart(path: str, chunk_rows: int, workers: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.dask_cluster", "fit", path, str(chunk_rows), str(workers)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def kills(rows: int, times: int, rank: int) -> None:
    """Fits of which each loses a worker, at a random moment of the pass; their bits beside those without a cluster."""
    from distributed import Client, LocalCluster

    import mercer
    from mercer.progress import listening
    from mercer.streams import cluster

    source = Spectrum(rows, CHUNKS)
    started = time.monotonic()
    expected = digest(model(rank).fit(mercer.open_rows(source)))
    chunk_seconds, chance, same = (time.monotonic() - started) / CHUNKS, random.Random(0), 0
    for number in range(times):
        moment, wait, victim, hit = chance.randrange(CHUNKS), chance.random(), chance.randrange(2), list[int]()
        # A cluster for each: dask's nanny does not always start a worker again that has been killed twice.
        with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as made, Client(made) as client:

            def strike(client: Any = client, delay: float = wait, victim: int = victim, hit: list[int] = hit) -> None:
                time.sleep(delay * chunk_seconds)
                hit.append(sorted(client.run(os.getpid).values())[victim])
                os.kill(hit[0], signal.SIGKILL)

            def told(name: str, done: int, count: int, note: str, moment: int = moment, strike: Any = strike) -> None:
                if count == CHUNKS and done == moment:
                    threading.Thread(target=strike).start()

            with cluster(client), listening(told):
                fitted = digest(model(rank).fit(source))
        same += bool(hit) and fitted == expected
        struck = f"process {hit[0]}" if hit else "no one in time"
        print(f"{number + 1}: after {moment} chunks, killed {struck}: {fitted == expected}", flush=True)
    print(f"{same} of {times} fits ended with the bits of a fit that lost no worker")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.dask_cluster", description=__doc__.split("\n")[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    for name, least in (("speed", 10**7), ("kills", 2 * 10**5)):
        verb = verbs.add_parser(name)
        verb.add_argument("--rows", type=int, default=least)
        verb.add_argument("--times", type=int, default=3 if name == "speed" else 20)
        verb.add_argument("--rank", type=int, default=100)
    one = verbs.add_parser("fit")
    one.add_argument("path")
    one.add_argument("chunk_rows", type=int)
    one.add_argument("workers", type=int)
    asked = parser.parse_args()
    if asked.verb == "fit":
        print(json.dumps(fit(asked.path, asked.chunk_rows, asked.workers)))
    elif asked.verb == "speed":
        speed(asked.rows, asked.times)
    else:
        kills(asked.rows, asked.times, asked.rank)


if __name__ == "__main__":
    main()
