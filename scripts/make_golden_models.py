"""Write the golden model files: small models of every kind, what to ask them, and what they answered.

    python scripts/make_golden_models.py [--again]

They stand for all files that were ever written in this format, so they are made once: existing ones are kept unless
--again is given, which belongs to a new version of the format alone. tests/models/test_model_file_golden.py loads
each and asks again.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression, Ridge

import mercer
from mercer.kernels import RBF, Linear, Polynomial, Spectrum

FOLDER = Path(__file__).parent.parent / "tests" / "models" / "golden"
WORDS = ["abcabc", "bcbcaa", "cabcab", "aaabbb", "abba", "caca", "bacbac", "ccab"]
Case = tuple[Callable[[], Any], Any, tuple[str, ...]]  # the fitted model, new rows, the methods that are asked


def cases() -> dict[str, Case]:
    """Each model by name."""
    rng = np.random.default_rng(7)
    X, new = rng.standard_normal((12, 3)), rng.standard_normal((5, 3))
    single, new_single = X.astype(np.float32), new.astype(np.float32)
    positive, new_positive = np.abs(X), np.abs(new)
    sparse, new_sparse = sp.csr_array(np.where(X > 0, X, 0)), sp.csr_array(np.where(new > 0, new, 0))
    y, names = np.arange(12) % 3, np.array(["ant", "bee", "cat"])[np.arange(12) % 3]
    D, new_D = _distances(X, X), _distances(new, X)
    both, back = ("transform",), ("transform", "inverse")
    kernel = 0.5 * RBF("median") + (Linear() * Polynomial(2, gamma=0.1)).on([0, 2]).normalized() ** 2

    def kpca(k: int = 2, **params: Any) -> Any:
        return mercer.KernelPCA(k, **params)

    def tsne(cls: Any = mercer.TSNE, **params: Any) -> Any:
        return cls(**({"perplexity": 3, "max_iter": 30} | params))

    return {
        "pca": (lambda: mercer.PCA(2).fit(X), new, back),
        "pca_unfitted": (lambda: mercer.PCA(0.9, svd_solver="full", random_state=np.random.default_rng(3)), None, ()),
        "kpca_algebra": (lambda: kpca(kernel=kernel).fit(X), new, both),
        "kpca_ridge": (lambda: kpca(kernel="rbf", gamma=0.4, fit_inverse_transform=True).fit(single), new_single, back),
        "kpca_fixed_point": (
            lambda: kpca(kernel="rbf", fit_inverse_transform=True, inverse_method="fixed_point").fit(X),
            new,
            back,
        ),
        "kpca_mds": (lambda: kpca(kernel="poly", fit_inverse_transform=True, inverse_method="mds").fit(X), new, back),
        "kpca_csr": (lambda: kpca(kernel="rbf", eigen_solver="rpcholesky", rank=8).fit(sparse), new_sparse, both),
        "kpca_strings": (lambda: kpca(kernel=Spectrum(2)).fit(WORDS), ["abcb", "ccaa"], both),
        "kpca_precomputed": (lambda: kpca(kernel="precomputed").fit(X @ X.T), new @ X.T, both),
        "kpca_chi2": (lambda: kpca(kernel="chi2").fit(positive), new_positive, both),
        "kda": (
            lambda: mercer.KernelDiscriminantAnalysis(reg=0.1).fit(X, names),
            new,
            ("transform", "predict", "predict_proba"),
        ),
        "kcca": (lambda: mercer.KernelCCA(2, rank=6).fit(X, X[:, :2] ** 2), new, both),
        "kernel_map": (lambda: mercer.KernelMap(rank=6).fit(X), new, both),
        "fourier": (lambda: mercer.KernelMap(rank=6, method="fourier").fit(X), new, both),
        "kernelized_classes": (
            lambda: mercer.Kernelized(LogisticRegression(), rank=5).fit(X, y),
            new,
            ("predict", "predict_proba"),
        ),
        "kernelized_ridge": (lambda: mercer.Kernelized(Ridge(), rank=5).fit(X, X[:, 0]), new, ("predict",)),
        "kernelized_kmeans": (
            lambda: mercer.Kernelized(KMeans(2, n_init=1, random_state=0), rank=5).fit(X),
            new,
            ("predict", "transform"),
        ),
        "novelty": (lambda: mercer.NoveltyDetector(kpca(4, kernel="rbf")).fit(X), new, ("score_samples", "predict")),
        "isomap": (lambda: mercer.Isomap(n_neighbors=4).fit(X), new, both),
        "isomap_landmarks": (
            lambda: mercer.Isomap(n_neighbors=4, landmarks=6, metric="seuclidean").fit(single),
            new_single,
            both,
        ),
        "isomap_radius": (
            lambda: mercer.Isomap(n_neighbors=None, radius=4.0, neighbors_algorithm="ball_tree").fit(X),
            new,
            both,
        ),
        "isomap_cells": (
            lambda: mercer.Isomap(n_neighbors=4, neighbors_algorithm="approximate", metric="cosine").fit(X),
            new,
            both,
        ),
        "isomap_csr": (lambda: mercer.Isomap(n_neighbors=4).fit(sparse), new_sparse, both),
        "isomap_distances": (lambda: mercer.Isomap(n_neighbors=4, metric="precomputed").fit(D), new_D, both),
        "isomap_graph": (
            lambda: mercer.Isomap(n_neighbors=4, metric="precomputed").fit(sp.csr_array(D)),
            sp.csr_array(new_D),
            both,
        ),
        "isomap_kernel": (lambda: mercer.Isomap(n_neighbors=4, metric=RBF(0.3)).fit(X), new, both),
        "mds": (lambda: mercer.ClassicalMDS(metric="manhattan").fit(X), new, both),
        "mds_distances": (lambda: mercer.ClassicalMDS(metric="precomputed").fit(D), new_D, both),
        "tsne": (lambda: tsne(snapshots=20).fit(X), new, ("transform", "optimize")),
        "tsne_csr": (lambda: tsne(init="random").fit(sparse), new_sparse, ("transform", "optimize")),
        "sne": (lambda: tsne(mercer.SNE, metric="cosine", method="grid").fit(X), new, ("transform", "optimize")),
    }


def _distances(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    return np.sqrt(((A[:, None] - B[None]) ** 2).sum(axis=2))


def ask(model: Any, rows: Any, method: str) -> np.ndarray:
    """One answer of a model: "inverse" is of its own scores, "optimize" of a few steps more."""
    if method == "inverse":
        return np.asarray(model.inverse_transform(model.transform(rows)))
    if method == "optimize":
        return np.asarray(model.optimize(5).embedding_)
    return np.asarray(getattr(model, method)(rows))


def flat(rows: Any) -> dict[str, np.ndarray]:
    """Rows as arrays of an npz file that needs no pickle."""
    if rows is None:
        return {}
    if sp.issparse(rows):
        return {"csr_data": rows.data, "csr_indices": rows.indices, "csr_indptr": rows.indptr, "csr_shape": rows.shape}
    return {"rows": np.asarray(rows)}


def unflat(kept: Any) -> Any:
    """The rows that `flat` wrote."""
    if "csr_data" in kept:
        parts = kept["csr_data"], kept["csr_indices"], kept["csr_indptr"]
        return sp.csr_array(parts, shape=tuple(kept["csr_shape"]))
    rows = kept.get("rows")
    return list(map(str, rows)) if rows is not None and rows.dtype.kind == "U" else rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--again", action="store_true", help="replace the files that are there")
    again = parser.parse_args().again
    warnings.simplefilter("ignore")
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, (make, rows, methods) in cases().items():
        path, answers = FOLDER / f"{name}.mercer", FOLDER / f"{name}.npz"
        if path.exists() and not again:
            sys.stdout.write(f"kept {path.name}\n")
            continue
        model = make()
        model.save(path)
        model = mercer.load(path)  # what is optimized further must not be what is saved
        np.savez_compressed(answers, **flat(rows), **{f"answer_{m}": ask(model, rows, m) for m in methods})
        sys.stdout.write(f"wrote {path.name}, {path.stat().st_size} bytes\n")
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}" for path in sorted(FOLDER.glob("*.*"))]
    sums = [line for line in sums if not line.endswith("SHA256SUMS")]
    (FOLDER / "SHA256SUMS").write_text("\n".join(sums) + "\n")


if __name__ == "__main__":
    main()
