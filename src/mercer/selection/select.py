"""The best of some kernels, by a criterion."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from mercer.estimators.kernel_pca import KernelPCA
from mercer.exceptions import DegenerateDataWarning, FailedCandidateWarning, MemoryLimitError, warn
from mercer.features import rows_of
from mercer.kernels.discrete import Spectrum
from mercer.kernels.kernel import Kernel
from mercer.memory import parse_bytes
from mercer.random_state import generator_from, seed_from
from mercer.selection.alignment import alignment
from mercer.selection.candidates import default_candidates, read_candidates
from mercer.selection.kernel_ridge import leave_one_out
from mercer.selection.ranking import KernelSelection, ScoredKernel
from mercer.selection.reconstruction import read_folds, reconstruction_error
from mercer.selection.samples import column_names, read_samples, read_target, refuse_constant
from mercer.spectral.parallel_analysis import ParallelAnalysis, parallel_analyses, refuse_one_column

EXACT_UP_TO = 2000  # up to this many samples rank="auto" is exact: a factor would not be faster


@dataclass(frozen=True)
class _Request:
    """What the user asked for, with everything read and checked."""

    X: Any
    y: Any
    target: str
    n_components: Any
    cv: int
    rank: int | str | None
    n_permutations: int
    kernel_pca: dict[str, Any]
    options: dict[str, Any]  # random_state, n_jobs
    memory_limit: Any
    report: Callable[[str], None]


# The score of every kernel, or the ValueError that says why a kernel cannot be used on the data.
_ScoreAll = Callable[[Sequence[Kernel], _Request], list[ScoredKernel | ValueError]]


def _by_alignment(kernel: Kernel, asked: _Request) -> ScoredKernel:
    score = alignment(
        kernel, asked.X, asked.y, target=asked.target, rank=asked.rank, memory_limit=asked.memory_limit, **asked.options
    )
    return ScoredKernel(kernel, score)


def _by_loo(kernel: Kernel, asked: _Request) -> ScoredKernel:
    found = leave_one_out(
        kernel, asked.X, asked.y, target=asked.target, rank=asked.rank, memory_limit=asked.memory_limit, **asked.options
    )
    details = {} if found.error_rate is None else {"error_rate": found.error_rate}
    return ScoredKernel(kernel, found.r2, found.standard_error, details=details | {"penalty": found.penalty})


def _by_reconstruction(kernel: Kernel, asked: _Request) -> ScoredKernel:
    found = reconstruction_error(
        kernel, asked.X, n_components=asked.n_components, cv=asked.cv, kernel_pca=asked.kernel_pca, **asked.options
    )
    return ScoredKernel(kernel, 1 - found.error, found.standard_error, found.n_components[found.best])


def _one_by_one(score: Callable[[Kernel, _Request], ScoredKernel]) -> _ScoreAll:
    """A criterion that scores each kernel by itself, as a criterion of all kernels."""

    def score_all(kernels: Sequence[Kernel], asked: _Request) -> list[ScoredKernel | ValueError]:
        found: list[ScoredKernel | ValueError] = []
        for number, kernel in enumerate(kernels, 1):
            asked.report(f"kernel {number} of {len(kernels)}: {kernel!r}")
            try:
                found.append(score(kernel, asked))
            except MemoryLimitError:
                raise
            except ValueError as error:
                found.append(error)
        return found

    return score_all


def _by_parallel(kernels: Sequence[Kernel], asked: _Request) -> list[ScoredKernel | ValueError]:
    """All kernels at once: they share the permutations, and the distances in them.

    A kernel that cannot become the best is left with its first permutations: its score is then an upper bound.
    """
    found = parallel_analyses(
        kernels,
        asked.X,
        n_permutations=asked.n_permutations,
        max_rows=asked.X.shape[0],
        best_only=True,
        report=asked.report,
        **asked.options,
    )
    return [
        one if isinstance(one, ValueError) else _by_share(kernel, one)
        for kernel, one in zip(kernels, found, strict=True)
    ]


def _by_share(kernel: Kernel, found: ParallelAnalysis) -> ScoredKernel:
    details = {"permutations": float(len(found.null_draws))}
    return ScoredKernel(kernel, found.share, n_components=found.n_components, details=details)


@dataclass(frozen=True)
class _Criterion:
    score: _ScoreAll
    meaning: str
    needs_y: bool
    takes: tuple[str, ...]  # kinds of samples
    max_rows: int | None  # that are looked at, unless more are asked for


_ALL = ("vectors", "strings", "indices")
_FEW = 1000  # rows for criteria that decompose a matrix for each candidate: some 10⁹ operations each time
_CRITERIA = {
    "alignment": _Criterion(_one_by_one(_by_alignment), "cosine between HKH and the target's kernel", True, _ALL, None),
    "loo": _Criterion(_one_by_one(_by_loo), "leave-one-out R² of kernel ridge regression", True, _ALL, None),
    "reconstruction": _Criterion(
        _one_by_one(_by_reconstruction), "share of new rows' variance given back", False, ("vectors",), _FEW
    ),
    "parallel": _Criterion(_by_parallel, "share of variance above permuted columns", False, ("vectors",), _FEW),
}
#: The criteria by which `select_kernel` can rank kernels.
CRITERIA = tuple(_CRITERIA)


def select_kernel(
    X: Any,
    y: Any = None,
    candidates: Any = None,
    *,
    criterion: str | None = None,
    target: str = "auto",
    n_components: Any = None,
    cv: int = 5,
    rank: int | str | None = "auto",
    n_permutations: int = 20,
    max_rows: int | None = None,
    kernel_pca: dict[str, Any] | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    memory_limit: Any = None,
    verbose: bool = False,
) -> KernelSelection:
    """Rank kernels by a criterion and return the best, bound to the data.

        best = the candidate with the largest score; `criterion` says which formula the score has

    Parameters
    ----------
    X : (n, d) dense or CSR; strings for kernels of strings
    y : (n,) or (n, c), classes or numbers, for the criteria that need it
    candidates : list of names, Kernels, functions and pairs (name, parameters); None is `default_candidates`
    criterion : None is "loo" with y and "parallel" without

        - "alignment" needs y: the cosine between the centred kernel and that of the target.
        - "loo" needs y: 1 − the relative squared leave-one-out error of kernel ridge regression, at the best penalty,
          with the share of wrong classes beside it.
        - "reconstruction": how much of the variance of rows held out comes back from a few components, by
          cross-validation in input space. It gives the number of components.
        - "parallel": how much variance exceeds that of data with permuted columns. It gives the number of components.
    target : "classes", "numbers" or "auto", for y
    n_components, cv, kernel_pca : for "reconstruction", see `reconstruction_error`
    rank : for "alignment" and "loo": None for exact values, a number or "auto" for those on factors; "auto" is exact up
        to 2000 samples
    n_permutations : for "parallel"
    max_rows : size of the random sample of rows that is used; None means all rows for "alignment" and "loo", and 1000
        for the others
    random_state : None, a seed, or a generator, from which one seed is drawn: every candidate sees the same sample,
        folds and permutations
    verbose : whether to report progress on standard error

    Returns
    -------
    KernelSelection : `best`, `n_components`, `ranking`, `table()`, `to_frame()`, `plot()`; it prints as a table. A
        kernel that cannot be used on X is left out with a FailedCandidateWarning. If no score exceeds zero, you get a
        DegenerateDataWarning.

    Cost: that of the criterion for each candidate; see `alignment`, `leave_one_out`, `reconstruction_error` and
    `parallel_analysis`. For "parallel" all candidates share the permutations and the distances that they read. A
    candidate that cannot become the best keeps only its first four permutations (column `permutations`), so its score
    is an upper bound.

    >>> from sklearn.datasets import make_circles
    >>> X, ring = make_circles(200, factor=0.4, noise=0.05, random_state=0)
    >>> selection = select_kernel(X, ring, ["linear", ("rbf", {"gamma": 2.0})], criterion="alignment")
    >>> selection.best
    RBF(gamma=2.0)

    `n_jobs` is the number of threads; None is all cores. `memory_limit` is in bytes or a text such as "4GB"; None is
    half of what is free.
    """
    criterion = criterion or ("parallel" if y is None else "loo")
    chosen = _criterion(criterion, y)
    X, kernels = _samples_and_kernels(X, candidates, criterion)
    refuse_constant(X)
    if chosen.needs_y:
        read_target(y, X.shape[0], target)
    random_state = seed_from(random_state)
    _check_numbers(max_rows=max_rows, n_permutations=n_permutations, rank=None if rank == "auto" else rank)
    if memory_limit is not None:
        parse_bytes(memory_limit)
    X, y = _sampled(X, y, max_rows or chosen.max_rows, kernels[0], random_state)
    _check_criterion(criterion, X, n_components, cv, kernel_pca or {})
    asked = _Request(
        X=X,
        y=y,
        target=target,
        n_components=n_components,
        cv=cv,
        rank=None if rank == "auto" and X.shape[0] <= EXACT_UP_TO else rank,
        n_permutations=n_permutations,
        kernel_pca=kernel_pca or {},
        options={"random_state": random_state, "n_jobs": n_jobs},
        memory_limit=memory_limit,
        report=_say if verbose else _say_nothing,
    )
    return _ranked(criterion, chosen, kernels, asked)


def _criterion(name: str, y: Any) -> _Criterion:
    if name not in _CRITERIA:
        raise ValueError(f"Unknown criterion {name!r}. Choose one of: {', '.join(CRITERIA)}.")
    if _CRITERIA[name].needs_y and y is None:
        free = ", ".join(other for other, c in _CRITERIA.items() if not c.needs_y)
        raise ValueError(f"criterion={name!r} needs y. Without y, choose one of: {free}.")
    return _CRITERIA[name]


def _samples_and_kernels(X: Any, candidates: Any, criterion: str) -> tuple[Any, list[Kernel]]:
    """The samples as the candidates take them, and the candidates, which the criterion must be able to compare."""
    if kernels := [] if candidates is None else read_candidates(candidates):
        names = column_names(X)
        X, kernels = read_samples(X, kernels[0]), [kernel.with_names(names) for kernel in kernels]
    else:
        X = _read_any(X)
        kernels = default_candidates(X)
    kind = kernels[0].accepts
    if kind not in _CRITERIA[criterion].takes:
        others = ", ".join(name for name, c in _CRITERIA.items() if kind in c.takes)
        raise TypeError(
            f"criterion={criterion!r} needs vectors, but {kernels[0]!r} does not take vectors. Choose one of: {others}."
        )
    return X, kernels


def _check_numbers(**given: Any) -> None:
    """A wrong number is an error of the call: it must not be reported as the failure of every candidate."""
    for name, value in given.items():
        if value is None and name != "n_permutations":
            continue
        if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
            raise ValueError(f"{name}={value!r} must be a whole number ≥ 1.")


def _check_criterion(criterion: str, X: Any, n_components: Any, cv: Any, kernel_pca: dict[str, Any]) -> None:
    if criterion == "reconstruction":
        read_folds(n_components, cv, *X.shape)
        KernelPCA(**kernel_pca)._validate_params()
    if criterion == "parallel":
        refuse_one_column(X)


def _read_any(X: Any) -> Any:
    """Samples without a named kernel: strings if every sample is text, otherwise vectors."""
    if not hasattr(X, "shape") or getattr(getattr(X, "dtype", None), "kind", "") in ("O", "U"):
        values = np.asarray(X, dtype=object)
        if values.size and all(isinstance(v, str) for v in values.reshape(-1)):
            return read_samples(X, Spectrum())
    return read_samples(X)


def _sampled(X: Any, y: Any, rows: int | None, kernel: Kernel, random_state: Any) -> tuple[Any, Any]:
    n = X.shape[0]
    if rows is None or n <= rows:
        return X, y
    index = np.sort(generator_from(random_state).choice(n, int(rows), replace=False))
    part = rows_of(X, index)
    if kernel.accepts == "indices":
        part = rows_of(part.T, index).T
    return part, None if y is None else np.asarray(y)[index]


def _say(line: str) -> None:
    sys.stderr.write(f"select_kernel: {line}\n")


def _say_nothing(line: str) -> None:
    pass


def _ranked(criterion: str, chosen: _Criterion, kernels: list[Kernel], asked: _Request) -> KernelSelection:
    entries, failed, reason = [], {}, None
    bound: list[Kernel | ValueError] = [_bound(kernel, asked.X) for kernel in kernels]
    usable = [kernel for kernel in bound if isinstance(kernel, Kernel)]
    scores = iter(chosen.score(usable, asked))
    for kernel, ready in zip(kernels, bound, strict=True):
        found = next(scores) if isinstance(ready, Kernel) else ready
        if isinstance(found, ScoredKernel):
            entries.append(found)
        else:
            failed[repr(kernel)], reason = str(found), found
    if not entries:
        raise ValueError(f"No candidate can be used on this data. {next(iter(failed.values()))}") from reason
    if failed:
        warn(
            f"{len(failed)} of {len(kernels)} kernels cannot be used here and are left out: {', '.join(failed)}. "
            "`failed` has the reasons.",
            FailedCandidateWarning,
        )
    if max(entry.score for entry in entries) <= 0:
        warn(
            f"No kernel has a {criterion} score above zero: by this criterion no kernel sees any structure, and the "
            "first is no better than the others. Try another criterion, other kernels or more rows.",
            DegenerateDataWarning,
        )
    order = sorted(range(len(entries)), key=lambda i: -entries[i].score)
    return KernelSelection(criterion, chosen.meaning, tuple(entries[i] for i in order), failed)


def _bound(kernel: Kernel, X: Any) -> Kernel | ValueError:
    """The kernel with its widths as numbers, or why the data gives none."""
    try:
        return kernel.bind(X)
    except ValueError as error:
        return error
