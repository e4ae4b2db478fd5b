"""Check that the same seed gives the same bits from code fresh from the compiler and from numba's cache.

    python scripts/test_compilation.py

Fits every family of compiled loops in three processes: with an empty cache, with the cache that the first one left, and
with a cache that holds only the functions that other compiled functions call. The coordinates must agree to the bit.
Compiling everything takes some twenty seconds of processor time, so this is not among the tests that pytest runs.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np


def fits() -> Iterator[tuple[str, np.ndarray]]:
    """A name and coordinates from each family of loops; large enough for each to leave plain NumPy."""
    from mercer import MDS, SNE, TSNE, Isomap, KernelPCA
    from mercer.graph import build_index

    random = np.random.default_rng(0)
    X, far = random.standard_normal((1300, 8)), 300 * random.standard_normal((1300, 3))
    for kind in (np.float32, np.float64):
        rows = X.astype(kind)
        few = {"perplexity": 10, "max_iter": 10, "random_state": 0}
        yield f"MDS {kind.__name__}", MDS(2, init="random", n_init=1, max_iter=5, random_state=0).fit_transform(rows)
        maps = {"grid": TSNE(**few), "exact": TSNE(method="exact", **few), "SNE": SNE(**few)}
        maps |= {f"far apart, {c}": TSNE(c, init=far[:, :c].astype(kind), **few) for c in (2, 3)}
        for name, model in maps.items():
            yield f"t-SNE {name} {kind.__name__}", model.fit_transform(rows)
            yield f"t-SNE {name} {kind.__name__}, divergence", np.array([model.kl_divergence_])
    ranks = MDS(2, metric_mds=False, init="random", n_init=1, max_iter=5, random_state=0)
    yield "MDS by ranks", ranks.fit_transform(X)
    found = build_index(X, metric="euclidean").neighbors(10)
    yield "neighbours", np.column_stack([found.indices, found.distances])
    isomap = Isomap(n_neighbors=8).fit(X)
    yield "Isomap", isomap.embedding_
    yield "Isomap, error", np.array([isomap.reconstruction_error()])
    many = random.standard_normal((2100, 8))
    for kernel in ("rbf", "laplacian"):
        yield f"kernel PCA {kernel}", KernelPCA(3, kernel=kernel, gamma=0.05, random_state=0).fit_transform(many)


def print_digests() -> None:
    warnings.simplefilter("ignore")  # ten steps are too few to converge
    for name, array in fits():
        print(f"{name}: {hashlib.sha256(np.ascontiguousarray(array)).hexdigest()}")


def digests(cache: str) -> list[str]:
    """What a process prints that reads compiled code from, and writes it to, this folder."""
    environment = os.environ | {"NUMBA_CACHE_DIR": cache}
    command = [sys.executable, __file__, "--digests"]
    return subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()


def forget_callers(cache: str) -> None:
    """Remove the functions that Python calls. Those that only compiled code calls are private in their modules."""
    for file in Path(cache).rglob("*.nb?"):
        if not file.name.split(".")[1].startswith("_"):
            file.unlink()


def main() -> int:
    with tempfile.TemporaryDirectory() as cache:
        fresh = digests(cache)
        found = {"from the cache": digests(cache)}
        forget_callers(cache)
        found["with callees from the cache"] = digests(cache)
    different = [f"{how}: {line}" for how, lines in found.items() for line in lines if line not in fresh]
    print("\n".join(different) or f"{len(fresh)} arrays have the same bits from the compiler and from its cache")
    return 1 if different else 0


if __name__ == "__main__":
    if sys.argv[1:] == ["--digests"]:
        print_digests()
    else:
        sys.exit(main())
