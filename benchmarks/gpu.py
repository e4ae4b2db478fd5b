"""Kernel matrices, neighbours and maps on one GPU: a script for a machine with CUDA, torch and little else.

    PYTHONPATH=src python benchmarks/gpu.py --output gpu.json
    python -m benchmarks --merge-gpu gpu.json

Times are medians of three fits after a warm-up, with the device synchronised before and after. Results are printed
as JSON, and with --output written after every case. The cases with MNIST read data/mnist_*.npy, which
`python scripts/fetch_data.py mnist` writes.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import statistics
import sys
import time
import traceback
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.datasets import make_swiss_roll
from sklearn.decomposition import KernelPCA

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import mercer
from benchmarks.cases import MERCER, SKLEARN
from benchmarks.machine import describe
from mercer.embedding import Affinities, Student
from mercer.embedding.loss import Loss
from mercer.embedding.repulsion import make_repulsion
from mercer.graph import build_index
from mercer.kernels import RBF
from mercer.linalg.gram import Gram
from mercer.quality import report

D, K = 50, 10
ROLLED_FROM = 12  # neighbours of Isomap
ROOT = Path(__file__).resolve().parents[1]
Row = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description="Kernel PCA on one GPU.")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to see that it runs")
    parser.add_argument("--device", default="cuda", help="a torch device (cuda)")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--output", type=Path, help="a file to write after every case")
    parser.add_argument("--only", nargs="*", help="some cases, such as gpu-stream-100m gpu-isomap-1m")
    options = parser.parse_args()
    device, scale = torch.device(options.device), 100 if options.quick else 1
    machine, cases = machine_of(device), {}
    found = {"quick": options.quick or device.type != "cuda", "cases": cases}
    for name, run in (
        ("gpu-pass", lambda: products(400_000 // scale, device, options.repeats)),
        ("gpu-100k", lambda: large(100_000 // scale, device, options.repeats)),
        ("gpu-400k", lambda: large(400_000 // scale, device, options.repeats)),
        ("gpu-flat-100k", lambda: flat(100_000 // scale, device, options.repeats)),
        ("gpu-flat-400k", lambda: flat(400_000 // scale, device, options.repeats)),
        ("gpu-flat-1m", lambda: flat(1_000_000 // scale, device, 1)),
        ("gpu-stream-100m", lambda: streamed(100_000_000 // scale**2, device)),
        ("gpu-kcca", lambda: canonical(10_000 // min(scale, 10), device, options.repeats)),
        ("gpu-isomap-20k", lambda: unrolled(20_000 // min(scale, 10), None, device, options.repeats)),
        ("gpu-isomap-1m", lambda: unrolled(1_000_000 // scale, 500 // min(scale, 10), device, options.repeats)),
        ("gpu-scores-1m", lambda: scored(1_000_000 // scale, device, options.repeats)),
        ("gpu-kda-mnist", lambda: discriminated(60_000 // min(scale, 30), device, 1)),
        ("gpu-20k", lambda: against_cpu(20_000 // min(scale, 8), device, options.repeats)),
        ("gpu-neighbors-1m", lambda: neighbors(1_000_000 // scale, device, options.repeats)),
        ("gpu-tsne-mnist", lambda: images(70_000 // scale, device, options.repeats)),
        ("gpu-tsne-1m", lambda: maps(1_000_000 // scale, device, options.repeats)),
        ("gpu-tsne-10m", lambda: maps(10_000_000 // scale, device, 1)),
    ):
        if options.only and name not in options.only:
            continue
        cases[name] = {**run(), "machine": machine}
        sys.stderr.write(f"{name}: {json.dumps(cases[name]['rows'])}\n")
        if options.output:
            options.output.write_text(json.dumps(found, indent=1, ensure_ascii=False))
    print(json.dumps(found, indent=1, ensure_ascii=False))


def large(n: int, device: torch.device, repeats: int) -> dict[str, Any]:
    """float32, tol = 1e-5."""
    X = clusters(n, device, torch.float32)
    gamma = gamma_of(X)
    return case(
        f"n = {n:,}, d = {D}, k = {K}, float32, tol = 1e-5",
        n,
        "float32",
        1e-5,
        [tried("Mercer, torch tensors", lambda: fitted(X, X, gamma, 1e-5, repeats)[0])],
    )


def flat(n: int, device: torch.device, repeats: int) -> dict[str, Any]:
    """Clusters that are alike in all directions, so that the tenth eigenvalue lies at the edge of a bulk."""
    X = round_clusters(n, device)
    gamma = gamma_of(X)
    return case(
        f"n = {n:,}, d = {D}, k = {K}, float32, tol = 1e-5, 10 round clusters",
        n,
        "float32",
        1e-5,
        [tried("Mercer, torch tensors", lambda: fitted(X, X, gamma, 1e-5, repeats)[0])],
    )


def products(n: int, device: torch.device, repeats: int) -> dict[str, Any]:
    """One product of the kernel matrix with 16 columns, in each arithmetic; `residual` is its error against float64."""
    X = round_clusters(n, device)
    K = Gram(RBF(gamma_of(X)), X, precision=torch.float64)
    V = torch.linalg.qr(torch.randn((n, 16), dtype=torch.float64, device=device))[0]
    rows = [tried(step_name(step), partial(multiplied, step, K, V, repeats)) for step in K.ladder(1e-5)]
    return case(f"n = {n:,}, d = {D}, one product with 16 columns", n, "float32", 0.0, rows)


def step_name(step: Gram) -> str:
    return f"{step.arithmetic}, {'fused' if step.fused is not None else 'tiles'}"


def multiplied(step: Gram, exact: Gram, V: torch.Tensor, repeats: int) -> Row:
    """The time of a product, and its error on a thousand rows relative to the length of a row of K times √b."""
    step.matmat(V)
    seconds = []
    for _ in range(repeats):
        synchronize(V.device, reset=True)
        started = time.perf_counter()
        found = step.matmat(V)
        synchronize(V.device)
        seconds.append(time.perf_counter() - started)
    peak = torch.cuda.max_memory_allocated(V.device) if V.device.type == "cuda" else 0
    places = torch.linspace(0, len(V) - 1, min(1000, len(V)), device=V.device).long()
    entries = exact.rows(places)
    wrong = (
        torch.linalg.vector_norm(found[places] - entries @ V) / torch.linalg.vector_norm(entries) / V.shape[1] ** 0.5
    )
    step.forget()
    return {**times(seconds), "residual": float(wrong), **({"peak_bytes": peak} if peak else {})}


class Made:
    """Rows that are made on the device, chunk by chunk: ten centres, and columns that vary less and less."""

    n_features, dtype, feature_names = D, np.dtype(np.float32), None

    def __init__(self, n: int, device: torch.device) -> None:
        self.device, size = device, 1_000_000
        self.lengths = [min(size, n - start) for start in range(0, n, size)]
        rng = np.random.default_rng(0)
        self.spread = torch.as_tensor(1 / np.sqrt(np.arange(1, D + 1)), dtype=torch.float32, device=device)
        self.centres = torch.as_tensor(2 * rng.standard_normal((10, D)), dtype=torch.float32, device=device)

    def chunk(self, i: int) -> torch.Tensor:
        rng = torch.Generator(self.device).manual_seed(i)
        n = self.lengths[i]
        kinds = torch.randint(0, 10, (n,), generator=rng, device=self.device)
        noise = torch.randn((n, D), generator=rng, device=self.device)
        return (self.centres[kinds] + noise) * self.spread


def streamed(n: int, device: torch.device, rank: int = 2000) -> dict[str, Any]:
    """One pass over rows that never are in memory together. `residual` is the error bound, relative to the largest."""
    rank = min(rank, n // 10)

    def fit() -> Row:
        settings = {"kernel": "rbf", "gamma": "median", "random_state": 0}
        mercer.KernelPCA(K, rank=100, **settings).fit(Made(50_000, device))
        synchronize(device, reset=True)
        started = time.perf_counter()
        model = mercer.KernelPCA(K, rank=rank, **settings).fit(Made(n, device))
        synchronize(device)
        peak = torch.cuda.max_memory_allocated(device) if device.type == "cuda" else 0
        bound = float(model.eigenvalue_error_[0] / model.eigenvalues_[0])
        return {**times([time.perf_counter() - started]), "residual": bound, **({"peak_bytes": peak} if peak else {})}

    words = f"n = {n:,}, d = {D}, rank {rank}, float32, chunks of 1,000,000 made on the device"
    return case(words, n, "float32", 0.0, [tried("Mercer, a source of tensors", fit)])


def canonical(n: int, device: torch.device, repeats: int) -> dict[str, Any]:
    """Exact pairs of two views of 50 columns each, which share five numbers."""
    rng = np.random.default_rng(0)
    shared = rng.standard_normal((n, 5))
    views = [np.c_[part, rng.standard_normal((n, 45))] for part in (shared, shared**2)]
    X, Y = (torch.as_tensor(view, device=device) for view in views)

    def fit() -> Row:
        seconds = []
        for _ in range(repeats + 1):
            synchronize(device)
            started = time.perf_counter()
            model = mercer.KernelCCA(5, gamma="median", reg=1e-2).fit(X, Y)
            synchronize(device)
            seconds.append(time.perf_counter() - started)
        return {**times(seconds[1:]), "residual": float(model.residuals_.max()), "passes": model.report_.passes}

    words = f"n = {n:,}, two views of 50, k = 5, float64, exact canonical pairs"
    return case(words, n, "float64", 0.0, [tried("Mercer, torch tensors", fit)])


def unrolled(n: int, landmarks: int | None, device: torch.device, repeats: int) -> dict[str, Any]:
    """Isomap of a swiss roll from 12 neighbours. `score_difference` is how far the map is from the CPU's, if known.

    The CPU's map is read from data/swiss-roll-<n>.npy, which `python -m benchmarks.gpu_references` writes.
    """
    X = torch.as_tensor(swiss_roll(n), device=device)
    params = {"n_neighbors": ROLLED_FROM, "landmarks": landmarks}

    def fit() -> Row:
        seconds, peaks, model = [], [], None
        for _ in range(repeats + 1):
            model = None
            synchronize(device, reset=True)
            started = time.perf_counter()
            model = mercer.Isomap(**params).fit(X)
            synchronize(device)
            seconds.append(time.perf_counter() - started)
            peaks.append(torch.cuda.max_memory_allocated(device) if device.type == "cuda" else 0)
        assert model is not None
        report = model.report_
        row = {**times(seconds[1:]), "residual": float(model.residuals_.max() / model.eigenvalues_.max())}
        row |= {"passes": report.passes, "solver": report.name, "reason": report.neighbors, "peak_bytes": max(peaks)}
        reference = ROOT / "data" / f"swiss-roll-{n}.npy"
        return row | ({"score_difference": apart(on_host(model.embedding_), reference)} if reference.exists() else {})

    words = f"swiss roll, n = {n:,}, {ROLLED_FROM} neighbours, {landmarks or 'no'} landmarks, float32"
    return case(words, n, "float32", 0.0, [tried("Mercer, torch tensors", fit)]) | {"d": 3, "k": 2}


def swiss_roll(n: int) -> np.ndarray:
    """scikit-learn's roll without noise, (n, 3) in float32."""
    return make_swiss_roll(n, random_state=0)[0].astype(np.float32)


def apart(found: np.ndarray, reference: Path) -> float:
    """The largest difference of two maps, up to the signs of their columns, relative to the largest coordinate."""
    wanted = np.load(reference)
    signs = np.sign((found.astype(np.float64) * wanted).sum(axis=0))
    return float(abs(found * signs - wanted).max() / abs(wanted).max())


def scored(n: int, device: torch.device, repeats: int) -> dict[str, Any]:
    """All scores of a map, the first two coordinates of round clusters, to ± 0.005."""
    X = round_clusters(n, device)
    Y, labels = X[:, :2].contiguous(), on_host(X[:, 0] > 0).astype(int)

    def score() -> Row:
        seconds, found = [], None
        for _ in range(repeats + 1):
            synchronize(device)
            started = time.perf_counter()
            found = report(X, Y, labels=labels)
            seconds.append(time.perf_counter() - started)
        assert found is not None
        worst = max(score.error for score in found.scores if score.name != "kl_divergence")
        return {**times(seconds[1:]), "residual": 1.96 * worst, "reason": str(found)}

    words = f"n = {n:,}, d = {D}, all scores of a map, float32"
    return case(words, n, "float32", 0.0, [tried("Mercer, torch tensors", score)])


def discriminated(n: int, device: torch.device, repeats: int) -> dict[str, Any]:
    """Discriminants of MNIST on all of K. `wrong` is the share of the 10,000 test images in another class."""
    images, labels, new, truth = (
        np.load(ROOT / "data" / f"mnist_{part}_{what}.npy")
        for part in ("train", "test")
        for what in ("images", "labels")
    )
    X, T = (torch.as_tensor(part.reshape(len(part), -1), device=device).float() / 255 for part in (images[:n], new))

    def fit() -> Row:
        seconds, model = [], None
        for _ in range(repeats + 1):
            model = None
            synchronize(device, reset=True)
            started = time.perf_counter()
            model = mercer.KernelDiscriminantAnalysis(gamma="loo").fit(X, labels[:n])
            synchronize(device)
            seconds.append(time.perf_counter() - started)
        assert model is not None
        wrong = float(np.mean(on_host(model.predict(T)) != truth))
        peak = torch.cuda.max_memory_allocated(device) if device.type == "cuda" else 0
        told = f"gamma {model.gamma_:.4g}; {model.report_}"
        return {**times(seconds[1:]), "wrong": wrong, "peak_bytes": peak, "reason": told}

    words = f"MNIST, n = {n:,}, 784 pixels, float32, width and penalty by leave-one-out"
    return case(words, n, "float32", 0.0, [tried("Mercer, torch tensors", fit)]) | {"d": 784, "k": 9}


def against_cpu(n: int, device: torch.device, repeats: int) -> dict[str, Any]:
    """float64, tol = 1e-6: torch and CuPy arrays on the GPU, and the same in NumPy on the CPU."""
    X = clusters(n, device, torch.float64)
    gamma, host = gamma_of(X), X.cpu().numpy()
    reference, expected = on_cpu(host, X, gamma, 1e-6)

    def compared(array: Any) -> Row:
        row, model = fitted(array, X, gamma, 1e-6, repeats)
        scores = model.transform(array[:1000])
        same = type(scores) is type(array)
        if not same:
            raise TypeError(f"{type(array).__name__} went in and {type(scores).__name__} came out")
        difference = abs(on_host(model.eigenvalues_) - expected.eigenvalues_) / expected.eigenvalues_[0]
        wanted = expected.transform(host[:1000])
        return row | {
            "shortfall": float(difference.max()),
            "score_difference": float(abs(on_host(scores) - wanted).max() / abs(wanted).max()),
        }

    rows = [
        tried("Mercer, torch tensors", lambda: compared(X)),
        tried("Mercer, CuPy arrays", lambda: compared(import_module("cupy").from_dlpack(X))),
        reference,
    ]
    words = f"n = {n:,}, d = {D}, k = {K}, float64, tol = 1e-6"
    return case(words, n, "float64", 1e-6, rows)


def on_cpu(host: np.ndarray, X: torch.Tensor, gamma: float, tol: float) -> tuple[Row, Any]:
    """The same in NumPy: by Mercer, or by scikit-learn where Mercer's compiler is not installed."""
    try:
        row, model = fitted(host, X, gamma, tol, 1)
        return {"competitor": "Mercer, NumPy arrays on the CPU", **row}, model
    except ImportError:
        model = KernelPCA(K, kernel="rbf", gamma=gamma, eigen_solver="arpack", tol=tol, random_state=0)
        started = time.perf_counter()
        model.fit(host)
        seconds = time.perf_counter() - started
        row = {
            "competitor": f"{SKLEARN} arpack, on the CPU",
            "library": SKLEARN,
            **times([seconds]),
            "residual": largest_residual(X, gamma, model.eigenvalues_, model.eigenvectors_),
        }
        return row, model


def neighbors(n: int, device: torch.device, repeats: int) -> dict[str, Any]:
    """90 neighbours of every row of the round clusters, by cells and of all pairs; the search states its recall."""
    X = round_clusters(n, device)

    def search(method: str) -> Row:
        build_index(X[:20_000], method=method).neighbors(90)
        seconds, peak, recall = [], 0, 0.0
        for _ in range(repeats):
            synchronize(device, reset=True)
            started = time.perf_counter()
            recall = build_index(X, method=method).neighbors(90).recall
            synchronize(device)
            seconds.append(time.perf_counter() - started)
            peak = max(peak, torch.cuda.max_memory_allocated(device) if device.type == "cuda" else 0)
        return {**times(seconds), "recall": recall, **({"peak_bytes": peak} if peak else {})}

    rows = [tried(f"Mercer, torch tensors, {method}", partial(search, method)) for method in ("approximate", "tiles")]
    return case(f"n = {n:,}, d = {D}, 90 neighbours, float32, 10 round clusters", n, "float32", 0.0, rows) | {"k": 90}


def maps(n: int, device: torch.device, repeats: int) -> dict[str, Any]:
    """t-SNE of the round clusters, 1,000 steps, from rows to map."""
    X = round_clusters(n, device)
    rows = [tried("Mercer, torch tensors", lambda: mapped(X, repeats)[0])]
    return case(f"n = {n:,}, d = {D}, t-SNE, 1,000 steps, 10 round clusters", n, "float32", 0.0, rows) | {"k": 2}


def images(n: int, device: torch.device, repeats: int) -> dict[str, Any]:
    """t-SNE of MNIST on 50 axes, beside the map that NumPy arrays get on the CPU, judged on the same affinities."""

    def rows() -> torch.Tensor:
        pixels = [np.load(ROOT / "data" / f"mnist_{part}_images.npy") for part in ("train", "test")]
        X = torch.as_tensor(np.concatenate(pixels).reshape(-1, 784)[:n], device=device).float() / 255
        return mercer.PCA(D, random_state=0).fit_transform(X)

    def on_card() -> Row:
        X = rows()
        row, model = mapped(X, repeats)
        return row | {"kl": divergence(X, model.embedding_)}

    def on_the_cpu() -> Row:
        X = rows()
        host = on_host(X)
        started = time.perf_counter()
        model = mercer.TSNE().fit(host)
        seconds = time.perf_counter() - started
        return {**times([seconds]), "kl": divergence(X, torch.as_tensor(model.embedding_, device=device))}

    found = [tried("Mercer, torch tensors", on_card), tried("Mercer, NumPy arrays on the CPU", on_the_cpu)]
    return case(f"n = {n:,}, d = {D}, t-SNE, 1,000 steps, MNIST", n, "float32", 0.0, found) | {"k": 2}


def mapped(X: torch.Tensor, repeats: int) -> tuple[Row, Any]:
    """The row of repeated maps, and the last model."""
    mercer.TSNE(max_iter=300).fit(X[:20_000])
    seconds, peak, model = [], 0, None
    for _ in range(repeats):
        model = None
        synchronize(X.device, reset=True)
        started = time.perf_counter()
        model = mercer.TSNE().fit(X)
        synchronize(X.device)
        seconds.append(time.perf_counter() - started)
        peak = max(peak, torch.cuda.max_memory_allocated(X.device) if X.device.type == "cuda" else 0)
    assert model is not None
    row = {**times(seconds), "recall": model.affinities_.recall, "solver": model.report_.neighbors.partition(",")[0]}
    return row | ({"peak_bytes": peak} if peak else {}), model


def divergence(X: torch.Tensor, Y: torch.Tensor) -> float:
    """KL(P ‖ Q) with P of exact neighbours, and Q over all pairs of the map in float64."""
    P = Affinities.of(X, neighbors="exact")
    exact = Loss(P.P, P.entropy, Student(), make_repulsion(Student(), Y.shape[1], n=len(Y), method="exact"))
    return exact.value(Y.double())


def times(seconds: list[float]) -> Row:
    return {
        "seconds": statistics.median(seconds),
        "fastest": min(seconds),
        "slowest": max(seconds),
        "measurements": len(seconds),
    }


def case(words: str, n: int, dtype: str, tol: float, rows: list[Row]) -> dict[str, Any]:
    return {
        "group": "gpu",
        "settings": words,
        "n": n,
        "d": D,
        "k": K,
        "dtype": dtype,
        "tol": tol,
        "rows": [{"library": MERCER, **row} for row in rows],
    }


def tried(name: str, run: Callable[[], Row]) -> Row:
    """A row, or what went wrong, so that the other cases still run."""
    try:
        return {"competitor": name, **run()}
    except Exception as error:
        traceback.print_exc()
        return {"competitor": name, "error": f"failed: {type(error).__name__}: {error}"[:200]}


def fitted(X: Any, judged_on: torch.Tensor, gamma: float, tol: float, repeats: int) -> tuple[Row, Any]:
    """The row of repeated fits, and the last model."""
    device, seconds, peak = judged_on.device, [], 0
    params = {"n_components": K, "kernel": "rbf", "gamma": gamma, "tol": tol}
    mercer.KernelPCA(**params).fit(X[:20_000])
    model = None
    for _ in range(repeats):
        model = None  # so that two models never stand in memory at once
        synchronize(device, reset=True)
        started = time.perf_counter()
        model = mercer.KernelPCA(**params).fit(X)
        synchronize(device)
        seconds.append(time.perf_counter() - started)
        peak = max(peak, torch.cuda.max_memory_allocated(device) if device.type == "cuda" else 0)
    assert model is not None
    values, vectors = on_host(model.eigenvalues_), on_host(model.eigenvectors_)
    row = {
        **times(seconds),
        "residual": largest_residual(judged_on, gamma, values, vectors),
        "passes": model.solver_.passes,
        "solver": model.solver_.name,
        "converged": bool(model.solver_.converged),
        "certificate": float(model.residuals_.max()) / float(values[0]),
        "eigenvalue_error": float(model.eigenvalue_error_.max()) / float(values[0]),
        "reason": model.solver_.reason,
    }
    return row | ({"peak_bytes": peak} if peak and not isinstance(X, np.ndarray) else {}), model


def largest_residual(X: torch.Tensor, gamma: float, values: np.ndarray, vectors: np.ndarray) -> float:
    """‖HKHv − γv‖ / γ₁ in float64, in tiles, by torch alone."""
    X = X.double() - X.double().mean(dim=0)
    V = torch.as_tensor(vectors, dtype=torch.float64, device=X.device)
    V = V / torch.linalg.vector_norm(V, dim=0)
    centred, squares = V - V.mean(dim=0), (X**2).sum(dim=1)
    product = torch.zeros_like(V)
    for i in range(0, len(X), 8192):
        rows = slice(i, i + 8192)
        for j in range(0, len(X), 32_768):
            columns = slice(j, j + 32_768)
            distances = squares[rows, None] + squares[None, columns] - 2 * X[rows] @ X[columns].T
            product[rows] += torch.exp(-gamma * distances.clamp_(min=0)) @ centred[columns]
    theta = torch.as_tensor(values, dtype=torch.float64, device=X.device)
    difference = product - product.mean(dim=0) - V * theta
    return float(torch.linalg.vector_norm(difference, dim=0).max() / theta.max())


def clusters(n: int, device: torch.device, dtype: torch.dtype) -> torch.Tensor:
    """Twenty Gaussian clusters, coordinate c of which varies like 1/√(c + 1), (n, D)."""
    rng = np.random.default_rng(0)
    spread = 1 / np.sqrt(np.arange(1, D + 1))
    centres = 1.5 * rng.standard_normal((20, D)) * spread
    rows = centres[rng.integers(0, 20, n)] + rng.standard_normal((n, D)) * spread
    return torch.as_tensor(rows, dtype=dtype, device=device)


def round_clusters(n: int, device: torch.device) -> torch.Tensor:
    """Ten Gaussian clusters with unit variance in every coordinate, and centres with the same, (n, D) in float32."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((10, D), dtype=np.float32)[rng.integers(0, 10, n)]
    return torch.as_tensor(rows + rng.standard_normal((n, D), dtype=np.float32), device=device)


def gamma_of(X: torch.Tensor) -> float:
    """One over the median squared distance, from 2,000 rows."""
    rows = X[:2000].double().cpu()
    distances = torch.pdist(rows) ** 2
    return float(f"{1 / float(distances.median()):.4g}")


def on_host(array: Any) -> np.ndarray:
    """A NumPy copy of a torch, CuPy or NumPy array."""
    if isinstance(array, torch.Tensor):
        return array.detach().cpu().numpy()
    return array.get() if hasattr(array, "get") else np.asarray(array)


def synchronize(device: torch.device, reset: bool = False) -> None:
    if device.type != "cuda":
        return
    torch.cuda.synchronize(device)
    if reset:
        torch.cuda.reset_peak_memory_stats(device)


def machine_of(device: torch.device) -> dict[str, Any]:
    machine = describe()
    packages = {**machine["packages"], "mercer": mercer.__version__, "torch": torch.__version__}
    with contextlib.suppress(ImportError):
        packages["cupy"] = import_module("cupy").__version__
    gpu = torch.cuda.get_device_name(device) if device.type == "cuda" else "no GPU"
    return {**machine, "gpu": gpu, "packages": packages}


if __name__ == "__main__":
    main()
