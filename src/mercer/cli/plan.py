"""The memory of a fit, method by method, for `--dry-run`."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.cli.methods import as_classes
from mercer.memory import available_bytes, format_bytes, numbers_per_row
from mercer.tables.table import Table


def memory_of(method: str, estimator: Any, table: Table, second: Table | None) -> tuple[str, int]:
    """How it would be solved, and the bytes it would take."""
    return _MEMORY[method](estimator, table, second)


def _of_pca(estimator: Any, table: Table, _: Any) -> tuple[str, int]:
    from mercer.backends.cpu import workers

    n, d = table.X.shape
    solver = estimator._choose_solver(table.X)
    if solver == "covariance_eigh":
        return "covariance_eigh: one pass over tall data", 8 * d * d * (workers(None) + 4)
    dense = 0 if not hasattr(table.X, "nbytes") else int(table.X.nbytes)
    return f"{solver}: a copy of the data", 2 * dense + 16 * (n + d) * min(n, d, 64)


def _of_kernel_pca(estimator: Any, table: Table, _: Any) -> tuple[str, int]:
    plan = estimator.plan(table.X)
    return f"{plan.solver}: {plan.reason}", plan.needed_bytes


def _of_discriminants(estimator: Any, table: Table, _: Any) -> tuple[str, int]:
    from mercer.features import factor_bytes
    from mercer.spectral.discriminants import block_width
    from mercer.spectral.plan import plan_fit

    n, d = table.X.shape[0], numbers_per_row(table.X)
    if estimator.rank is not None:
        return f"a factor of rank {estimator.rank}", factor_bytes(n, estimator.rank, table.X.dtype.itemsize == 4)
    block = block_width(len(np.unique(as_classes(table.labels))))
    bits = table.X.dtype.itemsize
    limit = estimator.memory_limit
    tries = ["rank='auto' or a rank of a few hundred"]
    plan = plan_fit(n, d, block, bits, solver="krylov", rank=None, limit=limit, tries=tries, **_machine(estimator))
    small = n <= 2048
    solver = "one Cholesky factor of the kernel matrix" if small else "conjugate gradients over streamed tiles"
    return solver, max(plan.needed_bytes, 5 * 8 * n * n if small else 0)


def _machine(estimator: Any) -> dict[str, Any]:
    from mercer.backends import cpu

    return {"free": available_bytes(), "threads": cpu.workers(estimator.n_jobs), "tile": cpu.TILE}


def _of_cca(estimator: Any, table: Table, second: Table | None) -> tuple[str, int]:
    from mercer.exceptions import MemoryLimitError
    from mercer.features import factor_bytes, memory_to_use, most_columns

    n = table.X.shape[0]
    assert second is not None
    views = [factor_bytes(n, estimator.rank, view.X.dtype.itemsize == 4) for view in (table, second)]
    needed = sum(views) + 3 * 8 * most_columns(n, estimator.rank) ** 2
    limit = memory_to_use(table.X, estimator.memory_limit)
    if needed > limit:
        raise MemoryLimitError(
            f"kernel CCA of {n:,} rows needs {format_bytes(needed)}, more than the limit of {format_bytes(limit)}; "
            "try --rank auto"
        )
    return f"factors of rank {estimator.rank or n}", needed


def _of_isomap(estimator: Any, table: Table, _: Any) -> tuple[str, int]:
    from mercer.spectral.landmarks import landmark_count
    from mercer.spectral.scaling import plan_unfolding

    n = table.X.shape[0]
    landmarks = landmark_count(estimator.landmarks, n, n, estimator.n_components)
    plan = plan_unfolding(
        n,
        min(estimator.n_components, n),
        solver=estimator.eigen_solver,
        landmarks=landmarks,
        limit=estimator.memory_limit,
        n_jobs=estimator.n_jobs,
    )
    return f"{plan.solver}: {plan.reason}; {landmarks or n:,} shortest-path trees", plan.needed_bytes


def _of_neighbours(estimator: Any, table: Table, _: Any) -> tuple[str, int]:
    from mercer.embedding.repulsion import GRID_ABOVE

    n, d = table.X.shape
    perplexity = estimator.perplexity if isinstance(estimator.perplexity, int | float) else max(estimator.perplexity)
    if estimator.method == "exact":
        return "all pairs in every step", 8 * 4 * n * n
    k = min(n - 1, int(3 * perplexity) + 1)
    steps = f"{estimator.max_iter:,} steps of {k} neighbours a row"
    grid = estimator.method == "grid" or n >= GRID_ABOVE.get(estimator.n_components, n + 1)
    return f"{steps}, repulsion by {'a grid' if grid else 'all pairs'}", 36 * n * k + 8 * n * d + 200 * n


_MEMORY: dict[str, Any] = {
    "pca": _of_pca,
    "kpca": _of_kernel_pca,
    "kda": _of_discriminants,
    "kcca": _of_cca,
    "isomap": _of_isomap,
    "sne": _of_neighbours,
    "tsne": _of_neighbours,
}
