"""Kill a streamed fit at random moments, resume it, and compare the bits: `python scripts/kill_streamed_fits.py`.

Each trial starts a fit in a process of its own, which says when it reads a chunk. After a random chunk, and a random
part of a second, the process is killed (SIGKILL). This happens three times; the fourth process is left to finish. Its
model must have the bits of a fit that nobody killed.
"""

from __future__ import annotations

import argparse
import hashlib
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

CHUNKS, KILLS = 30, 3


class Announced:
    """Rows made anew in every chunk; the number of a chunk is printed when it is read."""

    feature_names, dtype, n_features = None, np.dtype(np.float32), 6
    lengths = (20_000,) * CHUNKS

    def chunk(self, i: int) -> np.ndarray:
        print(i, flush=True)
        return np.random.default_rng(i).standard_normal((self.lengths[i], 6), dtype=np.float32)


def fit(folder: Path) -> None:
    """Fit, resuming from what is there, and write a digest of the model."""
    import mercer

    with mercer.streams.checkpoints(folder / "fit.part", every=0):
        model = mercer.KernelPCA(5, kernel="rbf", gamma=0.1, rank=100, random_state=0).fit(Announced())
    parts = (model.eigenvalues_, model.eigenvalue_error_, model.transform(np.eye(6, dtype=np.float32)))
    (folder / "digest").write_text(hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest())


def digest_after(kills: list[tuple[int, float]]) -> tuple[str, int]:
    """The digest of a fit whose processes were killed so many chunks and seconds after their start, and the kills."""
    with tempfile.TemporaryDirectory() as name:
        done = 0
        for chunks, seconds in [*kills, (10**9, 0.0)]:
            process = subprocess.Popen([sys.executable, __file__, "--fit", name], stdout=subprocess.PIPE, text=True)
            assert process.stdout is not None
            for count, _ in enumerate(process.stdout):
                if count >= chunks:
                    time.sleep(seconds)
                    process.send_signal(signal.SIGKILL)
                    break
            process.communicate()
            done += process.returncode == -signal.SIGKILL
            if process.returncode not in (0, -signal.SIGKILL):
                sys.exit(f"a fit ended with {process.returncode}")
            if process.returncode == 0:
                break
        return (Path(name) / "digest").read_text(), done


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--fit", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.fit:
        fit(options.fit)
        return
    rng = np.random.default_rng()
    whole, _ = digest_after([])
    same, killed = 0, 0
    for _ in range(options.trials):
        # A fit reads up to CHUNKS chunks for its sample before the pass that is checkpointed.
        kills = [(int(rng.integers(2 * CHUNKS)), float(rng.uniform(0, 0.05))) for _ in range(KILLS)]
        found, times = digest_after(kills)
        same, killed = same + (found == whole), killed + times
        print(f"killed {times} times: {'the same bits' if found == whole else 'OTHER BITS'}", flush=True)
    print(f"{same} of {options.trials} the same bits, after {killed} kills")
    sys.exit(same < options.trials)


if __name__ == "__main__":
    main()
