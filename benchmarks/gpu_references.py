"""The CPU's maps that `benchmarks/gpu.py` compares a card's with: python -m benchmarks.gpu_references"""

from __future__ import annotations

import numpy as np

import mercer
from benchmarks.gpu import ROLLED_FROM, ROOT, swiss_roll


def main() -> None:
    for n, landmarks in ((20_000, None), (1_000_000, 500)):
        model = mercer.Isomap(n_neighbors=ROLLED_FROM, landmarks=landmarks, memory_limit="12GB").fit(swiss_roll(n))
        np.save(ROOT / "data" / f"swiss-roll-{n}.npy", model.embedding_)


if __name__ == "__main__":
    main()
