"""What is compared with what. A case is one problem; its competitors solve it in turn; groups share a target."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from benchmarks.data import PANEL

MERCER, SKLEARN, DIRECT = "Mercer", "scikit-learn", "the direct eigenproblem"
OPENTSNE = "openTSNE"
PEERS = (SKLEARN, DIRECT)
POWERS = (4, 7, 10, 15, 20)  # iterated_power of scikit-learn's randomized solver, raised until it is exact enough
AUTO_POWER = 7  # what its "auto" stands for when k < n / 10
SLACK = 1.5  # a competitor whose judged residual is within this factor of the tolerance has reached it

GROUPS = {
    "kpca-20k": "Kernel PCA, 20,000 samples",
    "kpca-10k": "Kernel PCA, 10,000 samples, widths and numbers of components",
    "kpca-small": "Kernel PCA, small",
    "kpca-100k": "Kernel PCA, 100,000 samples in 5 GB",
    "kpca-1m": "Kernel PCA, a million samples by a low-rank factor",
    "transform": "Transforming new rows",
    "kda-mnist": "Kernel discriminants, MNIST",
    "kda-direct": "Kernel discriminants against the direct eigenproblem",
    "kcca": "Kernel CCA, the left and the right halves of images",
    "pca": "PCA, a million rows",
    "isomap": "Isomap, swiss rolls",
    "solvers": "Eigensolvers on the same matrix",
    "neighbors": "Nearest neighbours",
    "embedding": "SNE and t-SNE",
    "panel": "t-SNE on data of every kind",
    "quality": "Scores of maps",
    "faces": "Is it a face, and whose?",
    "tables": "Reading tables",
    "page": "Pages in a browser",
    "memory": "Memory: planned, allowed and taken",
    "gpu": "On a GPU",
}


@dataclass(frozen=True)
class Competitor:
    """Who solves a case, and with which parameters."""

    name: str
    library: str
    what: str  # an estimator, "mercer.KernelPCA", or a function of benchmarks.solvers
    params: dict[str, Any] = field(default_factory=dict)
    powers: tuple[int, ...] = ()  # values of iterated_power to try, until one reaches the tolerance
    calls: int = 1  # in how many pieces the new rows are transformed
    may_exhaust: bool = False  # whether running out of memory is an answer


@dataclass(frozen=True)
class Case:
    """One problem: the data, the number of components, the tolerance, and who competes."""

    id: str
    group: str
    # kpca, pca, transform, kda, kcca, isomap, solve, neighbors, embedding, scores, quality, table, page, memory: how
    # it is measured and judged
    kind: str
    n: int
    d: int
    k: int
    competitors: tuple[Competitor, ...]
    dtype: str = "float64"
    tol: float | None = None  # None: every competitor at its default, whatever residual that gives
    new_rows: int = 0
    rounds: int = 0  # where a fit takes milliseconds: how often all fit by turns in one process, to be timed
    settings: str = ""  # the case in words, for tables
    panel: str = ""  # the set of `benchmarks.data.PANEL` whose rows are used; none: those of MNIST


def all_cases() -> list[Case]:
    return [
        *_kpca_20k(20_000),
        *_kpca_10k(10_000, (10, 50, 784), (2, 10, 50)),
        *_kpca_small((200, 500, 1000, 2000), (2, 10, 50)),
        *_kpca_100k(100_000, "5GB"),
        *_kpca_1m(1_000_000, 1000),
        *_transform(20_000, 100_000),
        *_kda_mnist(60_000, 7000),
        *_kda_direct(5000),
        *_kcca(50_000, 2000, 10_000, (5000, 10_000)),
        *_pca(1_000_000),
        *_isomap(10_000, 30_000, 1_000_000, 200),
        *_solvers(10_000, (10, 50)),
        *_neighbors((70_000, 1_000_000), (15, 90)),
        *_embedding(10_000, 70_000, 1_000_000),
        *_panel(10_000),
        *_quality(10_000, 70_000, 1_000_000),
        *_faces(quick=False),
        *_tables("csv-1gb", 1_020_000),
        *_page(1_000_000),
        *_memory((2000, 10_000, 30_000)),
    ]


def quick_cases() -> list[Case]:
    """The same kinds of cases at sizes that take seconds: does everything run?"""
    cases = [
        *_kpca_20k(3500),
        *_kpca_10k(2500, (10, 784), (2,)),
        *_kpca_small((200, 500), (2,)),
        *_kpca_100k(4000, "500MB"),
        *_kpca_1m(5000, 100),
        *_transform(2500, 6000),
        *_kda_mnist(3000, 200),
        *_kda_direct(600),
        *_kcca(3000, 100, 1000, (600,)),
        *_pca(20_000),
        *_isomap(2200, 2500, 5000, 50),
        *_solvers(3200, (5,)),
        *_neighbors((4000,), (15,)),
        *_embedding(1000, 1500, 2000),
        *_panel(500),
        *_quality(1000, 5500, 6000),
        *_faces(quick=True),
        *_tables("csv-1gb", 4000),
        *_page(5000),
        *_memory((1000,)),
    ]
    return [replace(case, rounds=min(case.rounds, 3)) for case in cases]


def chosen(cases: list[Case], names: list[str]) -> list[Case]:
    """The cases whose id or group is named, all without names; ValueError for a name that fits none."""
    for name in names:
        if not any(name in (case.id, case.group) for case in cases):
            known = ", ".join(dict.fromkeys(case.group for case in cases))
            raise ValueError(f"There is no case {name!r}. Groups are {known}; --list shows every id.")
    return [case for case in cases if not names or case.id in names or case.group in names]


def with_fits(cases: list[Case], words: list[str]) -> list[Case]:
    """The memory cases with those fits alone whose names contain one of the words; all cases if there are no words."""
    if not words:
        return cases
    parts = [
        replace(case, competitors=tuple(one for one in case.competitors if any(word in one.name for word in words)))
        for case in cases
        if case.kind == "memory"
    ]
    if not any(case.competitors for case in parts):
        raise ValueError(f"No fit of these cases is named {' or '.join(words)}; only cases of kind memory have fits.")
    return [case for case in parts if case.competitors]


def _mercer(k: int, name: str = MERCER, **params: Any) -> Competitor:
    return Competitor(name, MERCER, "mercer.KernelPCA", {"n_components": k, "kernel": "rbf", **params})


def _sklearn(k: int, solver: str, name: str = "", powers: tuple[int, ...] = (), **params: Any) -> Competitor:
    params = {"n_components": k, "kernel": "rbf", "eigen_solver": solver, "random_state": 0, **params}
    estimator = "sklearn.decomposition.KernelPCA"
    return Competitor(f"{SKLEARN} {name or solver}", SKLEARN, estimator, params, powers=powers)


def _at_tolerance(n: int, k: int, tol: float) -> tuple[Competitor, ...]:
    """Mercer and every solver of scikit-learn that can be asked for a tolerance, or pushed to it."""
    peers = [
        _sklearn(k, "arpack", tol=tol),
        _sklearn(k, "randomized", f"randomized (auto: {AUTO_POWER} iterations)"),
        _sklearn(k, "randomized", "randomized, {} iterations", powers=POWERS),
    ]
    if n <= 5000:
        peers.append(_sklearn(k, "dense"))
    return (_mercer(k, tol=tol), *peers)


def _kpca_20k(n: int) -> list[Case]:
    words = f"n = {n:,}, d = 50, k = 10, tol = 1e-6"
    return [Case("kpca-20k", "kpca-20k", "kpca", n, 50, 10, _at_tolerance(n, 10, 1e-6), tol=1e-6, settings=words)]


def _kpca_10k(n: int, dims: tuple[int, ...], counts: tuple[int, ...]) -> list[Case]:
    return [
        Case(
            f"kpca-10k-d{d}-k{k}",
            "kpca-10k",
            "kpca",
            n,
            d,
            k,
            _at_tolerance(n, k, 1e-6),
            tol=1e-6,
            settings=f"d = {d}, k = {k}",
        )
        for d in dims
        for k in counts
    ]


def _kpca_small(sizes: tuple[int, ...], counts: tuple[int, ...]) -> list[Case]:
    cases = []
    for n in sizes:
        for k in counts:
            peers = [_sklearn(k, solver) for solver in ("auto", "arpack", "dense")]
            exact = (_mercer(k), *peers)
            loose = [
                _sklearn(k, "auto", tol=1e-6),
                _sklearn(k, "arpack", tol=1e-6),
                _sklearn(k, "dense"),
                _sklearn(k, "randomized"),
            ]
            for tol, who in ((None, exact), (1e-6, (_mercer(k, tol=1e-6), *loose))):
                word = "default" if tol is None else "1e-6"
                cases.append(
                    Case(
                        f"kpca-small-n{n}-k{k}-{word}",
                        "kpca-small",
                        "kpca",
                        n,
                        50,
                        k,
                        who,
                        tol=tol,
                        rounds=25,
                        settings=f"n = {n}, k = {k}, tol {word}",
                    )
                )
    return cases


def _kpca_100k(n: int, limit: str) -> list[Case]:
    who = (_mercer(10, tol=1e-5, memory_limit=limit),)
    words = f"n = {n:,}, d = 50, k = 10, float32, tol = 1e-5, memory_limit = {limit}"
    return [Case("kpca-100k", "kpca-100k", "kpca", n, 50, 10, who, dtype="float32", tol=1e-5, settings=words)]


def _kpca_1m(n: int, rank: int) -> list[Case]:
    who = (_mercer(10, eigen_solver="rpcholesky", rank=rank),)
    words = f"n = {n:,}, d = 50, k = 10, float32, rank {rank}"
    return [Case("kpca-1m", "kpca-1m", "kpca", n, 50, 10, who, dtype="float32", settings=words)]


def _transform(n: int, rows: int) -> list[Case]:
    mercer, sklearn = _mercer(10, tol=1e-6), _sklearn(10, "arpack", "in one call", tol=1e-6)
    sklearn = replace(sklearn, may_exhaust=True)
    pieces = replace(sklearn, name=f"{SKLEARN} in four calls", calls=4)
    few = Case("transform-quarter", "transform", "transform", n, 50, 10, (mercer, sklearn), tol=1e-6)
    many = replace(few, id="transform-full", competitors=(mercer, sklearn, pieces))
    return [
        replace(case, new_rows=m, settings=f"{m:,} rows, fitted on {n:,}")
        for case, m in ((few, rows // 4), (many, rows))
    ]


def _kda_mnist(n: int, rank: int) -> list[Case]:
    """Images as they come, a kernel of degree four on them made unit vectors, and the 10,000 test images."""
    who = (Competitor(MERCER, MERCER, "mercer.KernelDiscriminantAnalysis", {"rank": rank, "reg": 1e-7}),)
    words = f"n = {n:,}, 784 pixels, ten classes, float32, rank {rank}, (⟨x, y⟩/‖x‖‖y‖)⁴"
    chosen = (Competitor(MERCER, MERCER, "mercer.KernelDiscriminantAnalysis", {"rank": rank, "gamma": "loo"}),)
    nothing = f"n = {n:,}, 784 pixels, ten classes, float32, rank {rank}, Gaussian, width and penalty by leave-one-out"
    plain = (
        Competitor(MERCER, MERCER, "mercer.KernelDiscriminantAnalysis", {"gamma": "loo"}),
    )  # as the default has it
    whole = f"n = {n:,}, 784 pixels, ten classes, float32, all of K, every parameter at its default"
    return [
        Case("kda-mnist", "kda-mnist", "kda", n, 784, 9, who, dtype="float32", settings=words),
        Case("kda-mnist-loo", "kda-mnist", "kda", n, 784, 9, chosen, dtype="float32", settings=nothing),
        Case("kda-mnist-plain", "kda-mnist", "kda", n, 784, 9, plain, dtype="float32", settings=whole),
    ]


def _kda_direct(n: int) -> list[Case]:
    given = {"reg": 1e-3}
    estimator = "benchmarks.discriminants.DirectDiscriminants"
    who = (
        Competitor(MERCER, MERCER, "mercer.KernelDiscriminantAnalysis", {**given, "tol": 2e-6}),
        Competitor("direct, ARPACK as in kfda", DIRECT, estimator, {**given, "solver": "arpack"}),
        Competitor("direct, LAPACK", DIRECT, estimator, {**given, "solver": "lapack"}),
    )
    words = f"n = {n:,}, d = 50, ten classes, reg = 1e-3, all of K, tol = 1e-6"
    return [Case("kda-direct", "kda-direct", "kda", n, 50, 9, who, tol=1e-6, settings=words)]


def _kcca(n: int, rank: int, linear_n: int, exact: tuple[int, ...]) -> list[Case]:
    """Gaussian kernels by a factor, which nobody else has at this size, and by all of K; and plain CCA."""
    kernel = {"n_components": 10, "gamma": "median", "rank": rank}
    who = (Competitor(MERCER, MERCER, "mercer.KernelCCA", kernel),)
    whole = (Competitor(MERCER, MERCER, "mercer.KernelCCA", {"n_components": 10, "gamma": "median"}),)
    linear = (
        Competitor(MERCER, MERCER, "mercer.KernelCCA", {"n_components": 10, "kernel": "linear", "reg": 0, "rank": 392}),
        Competitor(f"{SKLEARN} CCA", SKLEARN, "sklearn.cross_decomposition.CCA", {"n_components": 10}),
    )
    words = f"n = {n:,}, 392 pixels per view, k = 10, rank {rank}"
    small = f"n = {linear_n:,}, 392 pixels per view, k = 10, linear, float64, no penalty"
    return [
        *(
            Case(f"kcca-{dtype}", "kcca", "kcca", n, 784, 10, who, dtype=dtype, settings=f"{words}, {dtype}")
            for dtype in ("float64", "float32")
        ),
        *(
            Case(f"kcca-exact-{size}", "kcca", "kcca", size, 784, 10, whole, settings=f"n = {size:,}, k = 10, all of K")
            for size in exact
        ),
        Case("kcca-linear", "kcca", "kcca", linear_n, 784, 10, linear, settings=small),
    ]


def _pca(n: int) -> list[Case]:
    estimator = "sklearn.decomposition.PCA"
    params = {"n_components": 10, "random_state": 0}
    who = (
        Competitor(MERCER, MERCER, "mercer.PCA", {"n_components": 10}),
        *(
            Competitor(f"{SKLEARN} {solver}", SKLEARN, estimator, {**params, "svd_solver": solver})
            for solver in ("covariance_eigh", "randomized")
        ),
    )
    return [
        Case(
            f"pca-{dtype}",
            "pca",
            "pca",
            n,
            100,
            10,
            who,
            dtype=dtype,
            tol=tol,
            settings=f"{n:,} × 100, k = 10, {dtype}",
        )
        for dtype, tol in (("float64", 1e-6), ("float32", 1e-4))
    ]


def _isomap(n: int, large: int, huge: int, landmarks: int) -> list[Case]:
    """The roll that scikit-learn can still do, one that it cannot, and one that nobody could without landmarks."""
    given = {"n_components": 2, "n_neighbors": 10}
    estimator = "sklearn.manifold.Isomap"
    mercer = Competitor(MERCER, MERCER, "mercer.Isomap", given)
    peers = (
        Competitor(f"{SKLEARN} auto", SKLEARN, estimator, {**given, "n_jobs": -1}),
        Competitor(f"{SKLEARN} arpack", SKLEARN, estimator, {**given, "eigen_solver": "arpack", "n_jobs": -1}),
    )
    few = replace(mercer, params={**given, "landmarks": landmarks})
    words = "{:,} points in 3 dimensions, 10 neighbours"
    whole = Case("isomap-roll", "isomap", "isomap", n, 3, 2, (mercer, *peers), tol=1e-6, settings=words.format(n))
    alone = replace(whole, id="isomap-large", n=large, competitors=(mercer,), tol=None, settings=words.format(large))
    settings = f"{words.format(huge)}, {landmarks} landmarks"
    return [whole, alone, replace(alone, id="isomap-landmarks", n=huge, competitors=(few,), settings=settings)]


def _solvers(n: int, counts: tuple[int, ...]) -> list[Case]:
    who = (
        Competitor("Mercer krylov, the same matrix", MERCER, "krylov_dense"),
        Competitor("Mercer krylov, streamed from the data", MERCER, "krylov_streamed"),
        Competitor("PRIMME, its defaults", "PRIMME", "primme_default"),
        Competitor("PRIMME, same start and preconditioner", "PRIMME", "primme_started"),
        Competitor("SciPy LOBPCG, random start", "SciPy", "lobpcg_random"),
        Competitor("SciPy LOBPCG, same start and preconditioner", "SciPy", "lobpcg_started"),
        Competitor("SciPy eigsh (ARPACK)", "SciPy", "arpack"),
    )
    return [
        Case(
            f"solvers-k{k}",
            "solvers",
            "solve",
            n,
            50,
            k,
            who,
            tol=1e-6,
            settings=f"n = {n:,}, k = {k}, tol = 1e-6",
        )
        for k in counts
    ]


def _neighbors(sizes: tuple[int, ...], counts: tuple[int, ...]) -> list[Case]:
    """Up to 100,000 rows everyone who is exact, and the approximate ones at two settings; beyond that at one."""
    exact = (
        Competitor(f"{MERCER} tiles (exact)", MERCER, "mercer", {"method": "tiles"}),
        Competitor(f"{SKLEARN} brute (exact)", SKLEARN, "sklearn"),
        Competitor("faiss Flat (exact)", "faiss", "faiss_flat"),
    )
    graphs = [
        Competitor(f"{library}, {16 * c} links, breadth {50 * c}", library, library, params)
        for library in ("hnswlib", "usearch")
        for c in (1, 2)
        for params in [{"links": 16 * c, "build": 100 * c, "breadth": 50 * c}]
    ]
    near = (
        Competitor(f"{MERCER} approximate", MERCER, "mercer", {"method": "approximate"}),
        *(
            Competitor(f"faiss IVF, {probes} of √n cells", "faiss", "faiss_cells", {"cells": 1, "probes": probes})
            for probes in (8, 16)
        ),
        *graphs,
        Competitor("pynndescent", "pynndescent", "pynndescent"),
        Competitor("pynndescent, more rounds", "pynndescent", "pynndescent", {"n_iters": 15, "delta": 1e-4}),
    )
    return [
        Case(
            f"neighbors-{n}-k{k}",
            "neighbors",
            "neighbors",
            n,
            50,
            k,
            (*exact, *near) if n <= 100_000 else tuple(one for one in near if not _thorough(one)),
            dtype="float32",
            settings=f"n = {n:,}, k = {k}",
        )
        for n in sizes
        for k in counts
    ]


def _embedding(small: int, middle: int, large: int) -> list[Case]:
    """From rows to a map in the plane, end to end; nobody else has SNE beyond n²."""
    mercer = (
        Competitor(f"{MERCER}, 1000 steps (its default)", MERCER, "mercer"),
        Competitor(f"{MERCER}, 600 steps", MERCER, "mercer", {"steps": 600}),
    )
    peer = Competitor(f"{OPENTSNE}, FFT, 750 steps (its default)", OPENTSNE, "openTSNE")
    sklearn = Competitor(f"{SKLEARN} Barnes–Hut, 1000 steps (its default)", SKLEARN, "sklearn")
    sne = (Competitor(f"{MERCER} SNE, 1000 steps (its default)", MERCER, "mercer", {"estimator": "SNE"}),)
    few = Case("embedding-small", "embedding", "embedding", small, 50, 2, (*mercer, peer, sklearn), dtype="float32")
    return [
        replace(case, settings=f"n = {case.n:,}" + (", SNE" if case.competitors == sne else ""))
        for case in (
            few,
            replace(few, id="embedding-middle", n=middle, competitors=(*mercer, peer)),
            replace(few, id="embedding-sne", n=middle, competitors=sne),
            replace(few, id="embedding-large", n=large, competitors=mercer[:1]),
        )
    ]


def _panel(n: int) -> list[Case]:
    """The same race on data of other kinds; a set with fewer rows takes all that it has."""
    who = (
        Competitor(f"{MERCER}, 1000 steps (its default)", MERCER, "mercer"),
        Competitor(f"{OPENTSNE}, FFT, 750 steps (its default)", OPENTSNE, "openTSNE"),
    )
    few = Case("", "panel", "embedding", n, 0, 2, who)
    return [
        replace(few, id=f"panel-{name.replace(' ', '-').replace(',', '')}", panel=name, settings=f"{name}, n ≤ {n:,}")
        for name in PANEL
    ]


def _quality(small: int, middle: int, large: int) -> list[Case]:
    """Trustworthiness where scikit-learn can give it, and every score of maps where it cannot."""
    exact = Competitor(f"{MERCER} trustworthiness, exact", MERCER, "mercer", {"sample": None})
    peer = Competitor(f"{SKLEARN} trustworthiness", SKLEARN, "sklearn")
    whole = Competitor(f"{MERCER} report, all scores to ± 0.005", MERCER, "report")
    few = Case(f"quality-{small}", "quality", "scores", small, 50, 15, (exact, peer), tol=1e-12)
    many = replace(few, id=f"quality-{middle}", n=middle, competitors=(whole, exact), dtype="float32", tol=None)
    most = replace(many, id=f"quality-{large}", n=large, competitors=(whole,))
    return [replace(case, settings=f"n = {case.n:,}") for case in (few, many, most)]


def _thorough(one: Competitor) -> bool:
    """Whether this is the second, slower setting of a library that searches a graph."""
    return one.params.get("links", 0) > 16 or "n_iters" in one.params


def _faces(quick: bool) -> list[Case]:
    """PCA beside kernel PCA and beside neither: here it is the answers that are compared, and not the times."""
    who = tuple(Competitor(name, MERCER, name, {"quick": quick}) for name in ("PCA", "kernel PCA", "no components"))
    words = {
        "faces-pixels": ("200 patches, half of them faces, as they are", 200, 625),
        "faces-light": ("the same patches in even light", 200, 625),
        "faces-people": ("400 portraits of 40 people", 400, 644),
    }
    return [Case(name, "faces", "quality", n, d, 1, who, settings=settings) for name, (settings, n, d) in words.items()]


def _tables(name: str, n: int) -> list[Case]:
    """A csv of 50 columns into one array; residuals are differences from the numbers that were written."""
    who = (
        Competitor(MERCER, MERCER, "mercer"),
        Competitor("pyarrow read_csv", "pyarrow", "pyarrow"),
        Competitor("pandas read_csv", "pandas", "pandas"),
        Competitor("pandas read_csv, engine pyarrow", "pandas", "pandas_pyarrow"),
        Competitor("polars read_csv", "polars", "polars"),
    )
    return [Case(name, "tables", "table", n, 50, 1, who, settings=f"csv, {n:,} rows of 50 numbers of 17 digits")]


def _page(n: int) -> list[Case]:
    who = (
        Competitor("Mercer, WebGL in software", MERCER, "webgl"),
        Competitor("Mercer, Canvas", MERCER, "canvas"),
    )
    words = f"{n:,} points with ids, a column of ten classes, one of numbers, and scores; 1440 × 900 pixels"
    return [Case("page", "page", "page", n, 2, 1, who, settings=words)]


def _memory(sizes: tuple[int, ...]) -> list[Case]:
    """Every estimator that can be large, with each of its methods, on few and many columns, once on sparse rows."""
    few, middle, many = {"d": 3}, {"d": 50}, {"d": 784}
    single, texts = {"d": 50, "dtype": "float32"}, {"d": 2**16, "stored": 60}
    labels, views = {"d": 50, "labels": True}, {"d": 50, "second": True}
    kernel = {"kernel": "rbf", "gamma": "median"}
    pca, lda, cca = "KernelPCA", "KernelDiscriminantAnalysis", "KernelCCA"

    def fit(words: str, what: str, data: dict[str, Any], most: int = 10**9, **params: Any) -> tuple[int, Competitor]:
        return most, Competitor(f"{what}, {words}", MERCER, what, {"data": data, **params})

    fits = [
        fit("k = 10, d = 50", pca, middle, n_components=10, **kernel),
        fit("k = 10, d = 50, float32", pca, single, n_components=10, **kernel),
        fit("k = 10, d = 784", pca, many, n_components=10, **kernel),
        fit("k = 50, d = 3, tol = 1e-5", pca, few, n_components=50, tol=1e-5, **kernel),
        fit("k = 10, sparse", pca, texts, n_components=10, kernel="cosine"),
        fit("every component", pca, middle, 5000, kernel="rbf", gamma="median"),
        fit("dense, k = 10", pca, middle, 5000, n_components=10, eigen_solver="dense", **kernel),
        fit("randomized", pca, middle, n_components=10, eigen_solver="randomized", **kernel),
        fit("arpack", pca, middle, 10_000, n_components=10, eigen_solver="arpack", **kernel),
        fit("power", pca, middle, 10_000, n_components=2, eigen_solver="power", tol=1e-3, **kernel),
        fit("rpcholesky, rank 500", pca, middle, n_components=10, eigen_solver="rpcholesky", rank=500, **kernel),
        fit("k = 10, and back", pca, middle, n_components=10, fit_inverse_transform=True, alpha=0.01, **kernel),
        fit("exact", lda, labels, 20_000, **kernel),
        fit("rank 1000", lda, labels, rank=1000, **kernel),
        fit("rank auto", lda, labels, rank="auto", **kernel),
        fit("exact", cca, views, 5000, rank=None, **kernel),
        fit("rank 500", cca, views, rank=500, **kernel),
        fit("rank 500", "KernelMap", middle, rank=500, **kernel),
        fit("rank 500, float32", "KernelMap", single, rank=500, **kernel),
        fit("Fourier, 1000", "KernelMap", middle, method="fourier", rank=1000, **kernel),
        fit("ridge, rank 500", "Kernelized", labels, estimator="ridge", rank=500, **kernel),
        fit(
            "kernel PCA, k = 10",
            "NoveltyDetector",
            middle,
            10_000,
            estimator={"class": "KernelPCA", "n_components": 10, "kernel": "rbf", "gamma": "median"},
        ),
        fit("PCA, k = 10", "NoveltyDetector", middle, estimator={"class": "PCA", "n_components": 10}),
        fit("exact, d = 3", "Isomap", few, n_neighbors=10),
        fit("200 landmarks, d = 3", "Isomap", few, n_neighbors=10, landmarks=200),
        fit("rows", "ClassicalMDS", middle, n_components=2),
        fit("distances", "ClassicalMDS", {"d": 50, "distances": True}, 10_000, n_components=2, metric="precomputed"),
        fit("d = 50", "SNE", middle, max_iter=300),
        fit("d = 50", "TSNE", middle, max_iter=300),
        fit("d = 784, float32", "TSNE", {"d": 784, "dtype": "float32"}, max_iter=300),
        fit("d = 50", "MDS", middle, 10_000, max_iter=20, n_init=1, init="random", random_state=0),
        fit(
            "d = 50, by ranks",
            "MDS",
            middle,
            10_000,
            metric_mds=False,
            max_iter=20,
            n_init=1,
            init="random",
            random_state=0,
        ),
        fit("d = 50", "PCA", middle, n_components=10),
        fit("d = 784", "PCA", many, n_components=10),
        fit("d = 784, full", "PCA", many, 10_000, n_components=10, svd_solver="full"),
        fit("sparse", "PCA", texts, n_components=10),
    ]
    return [
        Case(
            f"memory-{n}",
            "memory",
            "memory",
            n,
            50,
            10,
            tuple(one for most, one in fits if n <= most),
            settings=f"{n:,}",
        )
        for n in sizes
    ]
