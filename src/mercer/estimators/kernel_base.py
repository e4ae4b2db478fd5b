"""The base of estimators with a kernel: its parameters, and reading samples in the form that the kernel needs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from mercer.amounts import amount
from mercer.backends import cpu, is_foreign, namespace, placement
from mercer.estimators.base import Estimator
from mercer.expansion import KernelExpansion
from mercer.features import memory_to_use, most_columns, workload_of
from mercer.footprints import Workload, streamed
from mercer.kernels import KERNEL_NAMES, Kernel, resolve_kernel
from mercer.kernels.discrete import Precomputed
from mercer.kernels.fused_products import may_fuse
from mercer.kernels.kernel import needs_compiled_code
from mercer.kernels.resolve import LENGTH_NAMES
from mercer.linalg.eigen import SMALL
from mercer.memory import UNLIMITED, available_bytes
from mercer.planning import KEPT_MOST, Footprint, Plan, code_bytes
from mercer.progress import in_phase
from mercer.streams.chunk_statistics import run_rows
from mercer.streams.local_driver import row_count
from mercer.streams.mapped_rows import MappedRows
from mercer.streams.row_source import RowSource, device_of_rows
from mercer.streams.streamed_features import sample_size, source_sample

# scikit-learn's declaration of valid values, for the parameters that every estimator with a kernel has.
KERNEL_CONSTRAINTS: dict[str, list[Any]] = {
    "kernel": [StrOptions(set(KERNEL_NAMES)), callable],
    "gamma": [Interval(Real, 0, None, closed="left"), StrOptions({"scale", "median", "columns"}), "array-like", None],
    "degree": [Interval(Real, 0, None, closed="left")],
    "coef0": [Interval(Real, None, None, closed="neither")],
    "kernel_params": [dict, None],
    "random_state": ["random_state"],
    "n_jobs": [None, Integral],
    "memory_limit": [Interval(Real, 0, None, closed="neither"), str, None],
}


class KernelEstimator(Estimator):
    """An estimator with `kernel`, `gamma`, `degree`, `coef0` and `kernel_params` (abstract: never built itself).

    A fit sets `kernel_`, the kernel with all its numbers, and `X_fit_`, the samples it was bound to.
    """

    kernel: Any
    gamma: Any
    degree: float
    coef0: float
    kernel_params: dict[str, Any] | None
    n_jobs: int | None
    memory_limit: int | float | str | None
    kernel_: Kernel
    X_fit_: Any

    @in_phase("width of the kernel")
    def _bind(self, X: Any) -> None:
        names = getattr(self, "feature_names_in_", ())  # of a data frame; a kernel may name its columns
        self.kernel_ = unbound_kernel(self, self.n_features_in_).with_names(names).bind(X)
        gamma = getattr(self.kernel_, "gamma", None)
        self.gamma_ = gamma if isinstance(gamma, Real) else None  # None for a kernel without a single gamma
        self.X_fit_ = X

    def _samples(self, X: Any, *, reset: bool, **checks: Any) -> tuple[Any, Callable[[Any], Any]]:
        """The samples, checked for their kernel, and the function that gives a result their type."""
        kernel = unbound_kernel(self) if reset else self.kernel_
        if kernel.accepts == "strings":
            return self._strings(X), lambda result: result
        X, restore = self._read(X, reset=reset, **checks)
        if reset and isinstance(kernel, Precomputed) and X.shape[0] != X.shape[1]:
            raise ValueError(f"A precomputed kernel must be a square matrix (n_samples, n_samples), not {X.shape}.")
        return X, restore

    def _new_samples(self, X: Any) -> tuple[Any, Callable[[Any], Any]]:
        """New samples, read as in `_samples`, in the precision of the fitted ones; another device is refused."""
        X, restore = self._samples(X, reset=False)
        return self._in_fit_dtype(X), restore

    def _in_fit_dtype(self, X: Any) -> Any:
        if X.ndim == 2:
            self._refuse_other_place(X, self.X_fit_)
        if X.ndim != 2 or X.dtype == self.X_fit_.dtype:
            return X
        return namespace(X).astype(X, self.X_fit_.dtype) if is_foreign(X) else X.astype(self.X_fit_.dtype)

    # --- rows that are streamed ------------------------------------------------------------------------

    def _source_draft(self, source: RowSource, rank: int | str | None, more: int = 0) -> Plan:
        """The plan of a pass with a factor of this rank, and `more` columns beside it."""
        if rank is None:
            raise ValueError(
                f"{type(self).__name__} needs the kernel matrix of all rows without a rank, and X is a source of rows. "
                "Give rank, such as rank=500, or read the rows into an array."
            )
        self._refuse_not_vectors()
        n, d, m = row_count(source), source.n_features, most_columns(row_count(source), rank)
        itemsize, threads = np.dtype(source.dtype).itemsize, cpu.workers(self.n_jobs)
        footprint = streamed(
            max(source.lengths, default=0),
            d,
            m + more,
            itemsize=itemsize,
            threads=threads,
            run=run_rows(m + more),
            sample=sample_size(n, rank),
            draws=m if rank == "auto" else 0,
        )
        code = code_bytes(n > SMALL and needs_compiled_code(unbound_kernel(self)))
        reason = f"one pass over {amount(len(source.lengths), 'chunk')} with landmarks from a sample, rank={rank!r}"
        return self._streaming_plan(source, "rpcholesky", reason, footprint, code)

    def _bind_source(self, source: RowSource, rank: int | str, least: int = 2) -> tuple[np.ndarray, Any]:
        """Bind the kernel to a sample of the rows, and give the sample: numbers of rows, and rows."""
        self._read_source(source, least)
        self._refuse_not_vectors()
        places, sample = source_sample(source, rank, self.random_state)
        self._bind(sample)
        return places, sample

    def _placed_by(
        self, source: RowSource, expansion: KernelExpansion, columns: int, names: list[str] | None = None
    ) -> MappedRows:
        """The rows of a source as an expansion maps them: on their device, if they are tensors and the model is not."""
        if (device := device_of_rows(source)) is None or is_foreign(self.X_fit_):
            return self._mapped(source, columns, lambda rows: expansion(self._in_fit_dtype(rows)), names)
        there = expansion.on_device(device)
        cast: Callable[[Any], Any] = lambda rows: namespace(rows).astype(rows, there.anchors.dtype, copy=False)  # noqa: E731
        return self._mapped(source, columns, lambda rows: there(cast(rows)), names, of_tensors=True)

    def _refuse_not_vectors(self) -> None:
        kernel = unbound_kernel(self)
        if kernel.accepts != "vectors" or isinstance(kernel, Precomputed):
            raise ValueError(f"{kernel!r} does not read rows of numbers, and a source of rows has nothing else.")

    verbose: bool = False  # estimators that report their progress have the parameter

    def _say(self, line: str) -> None:
        if self.verbose:
            sys.stderr.write(f"{type(self).__name__}: {line}\n")

    def _say_step(self, step: int, residual: float) -> None:
        self._say(f"pass {step}, largest residual {residual:.1e}")

    def _workload(self, X: Any, *, copied: bool = False) -> Workload:
        """The sizes that a plan reads. `copied` says that the fit keeps a copy of X."""
        return workload_of(X, self.n_jobs, unbound_kernel(self), copied=copied)

    def _plan_of(
        self, X: Any, method: str, reason: str, footprint: Footprint, *, compiled: bool = True, **more: Any
    ) -> Plan:
        """A plan under this estimator's limit. `compiled=False` if no tile is computed; `more` holds fields of Plan."""
        compiled = compiled and not is_foreign(X) and X.shape[0] > SMALL and needs_compiled_code(unbound_kernel(self))
        given = self.memory_limit is not None
        fields = {"limit_given": given, "code_bytes": code_bytes(compiled), **more}
        if "limit" not in fields:
            fields["limit"] = memory_to_use(X, self.memory_limit)
        return Plan(type(self).__name__, X.shape[0], method, reason, footprint, **fields)

    def _keeping(self, X: Any, wanted: int, plan: Plan, most: int = KEPT_MOST) -> Plan:
        """The plan with up to `wanted` bytes of kept tiles, `most` without a limit; on a device all free memory.

        Fused products compute entries faster than memory would deliver them, so none are kept.
        """
        wanted = 0 if not wanted or may_fuse(unbound_kernel(self), X) else wanted
        on_host = not is_foreign(X) or str(placement(X).get("device", "cpu")) == "cpu"
        free = available_bytes() if on_host else UNLIMITED
        return plan.keeping(wanted, free, most=most if on_host else UNLIMITED)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.input_tags.pairwise = self.kernel == "precomputed" or isinstance(self.kernel, Precomputed)
        return tags


def unbound_kernel(estimator: Any, columns: int = 1) -> Kernel:
    """The kernel that an estimator's parameters describe. gamma=None needs the number of columns: it means 1/d.

    A search for a width starts at the median: "loo" and "cv" stand for it until the search has ended.
    """
    has_length = isinstance(estimator.kernel, str) and estimator.kernel in LENGTH_NAMES
    gamma = 1.0 / columns if estimator.gamma is None and not has_length else estimator.gamma
    gamma = "median" if isinstance(gamma, str) and gamma in ("loo", "cv") else gamma
    return resolve_kernel(estimator.kernel, gamma, estimator.degree, estimator.coef0, estimator.kernel_params)


def with_gamma(kernel: Any, gamma: float) -> Kernel:
    """A bound kernel with another width."""
    return replace(kernel, gamma=gamma)


def has_gamma(given: Any, bound: Kernel) -> bool:
    """Whether the kernel was given by name and has a gamma that a search can change."""
    gamma = getattr(bound, "gamma", None)
    return isinstance(given, str) and isinstance(gamma, Real) and float(gamma) > 0


def refuse_without_gamma(given: Any, bound: Kernel, option: str) -> float:
    """The gamma that a search starts from. Raises ValueError if the kernel was not given by name or has no gamma."""
    if has_gamma(given, bound):
        return float(bound.gamma)  # type: ignore[attr-defined]
    raise ValueError(
        f"gamma={option!r} chooses the gamma of a kernel given by name, but {given!r} has no such gamma. Give a "
        "number, or a kernel such as 'rbf' or 'laplacian'."
    )
