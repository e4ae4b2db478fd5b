"""Reading samples and targets for the functions of this package."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_array, column_or_1d

from mercer.backends import adopt, as_floats, is_foreign, namespace, to_numpy
from mercer.estimators.base import FLOATS
from mercer.features import Features, kernel_features, refuse_overflow, symmetric
from mercer.kernels.discrete import Precomputed, as_strings
from mercer.kernels.kernel import Kernel
from mercer.linalg.gram import Gram
from mercer.linalg.inner import power_of_two
from mercer.linalg.operators import Dense, Operator
from mercer.numeric_input import refuse_not_numeric, sorted_columns

TARGETS = ("auto", "classes", "numbers")


def read_samples(X: Any, kernel: Kernel | None = None, *, least: int = 2) -> Any:
    """X as the kernel reads it: dense or CSR rows, strings, or a square matrix; at least `least` samples."""
    if kernel is not None and kernel.accepts == "strings":
        X = np.asarray(as_strings(X), dtype=object)
    else:
        X, _ = adopt(X)
        refuse_not_numeric(X)
        X = _check_foreign(X) if is_foreign(X) else check_array(sorted_columns(X), accept_sparse="csr", dtype=FLOATS)
    if X.shape[0] < least:
        raise ValueError(f"X has {X.shape[0]} sample(s); at least {least} are needed.")
    if isinstance(kernel, Precomputed) and X.shape[0] != X.shape[1]:
        raise ValueError(f"A precomputed kernel must be a square matrix (n_samples, n_samples), not {X.shape}.")
    return X


def column_names(X: Any) -> Sequence[str]:
    """The names of the columns of a data frame, if all are text; else none."""
    names = list(getattr(X, "columns", ()))
    return names if all(isinstance(name, str) for name in names) else ()


def _check_foreign(X: Any) -> Any:
    xp = namespace(X)
    if X.ndim != 2:
        raise ValueError(f"Expected 2D array, got {X.ndim}D array instead: rows of samples are needed.")
    X = as_floats(X)
    if not bool(xp.all(xp.isfinite(X))):
        raise ValueError("Input X contains NaN or infinity.")
    return X


def refuse_constant(X: Any) -> None:
    """Raise ValueError if all rows are the same, because then nothing distinguishes kernels."""
    if X.ndim != 2:
        same = len(set(X.tolist())) == 1
    elif sp.issparse(X):
        top = X.max(axis=0).toarray() - X.min(axis=0).toarray()
        same = not np.any(top)
    else:
        same = not bool(namespace(X).any(X[:1, :] != X))
    if same:
        raise ValueError("All samples are the same. Every kernel sees one point, so there is nothing to choose by.")


def read_target(y: Any, n: int, target: str = "auto") -> tuple[np.ndarray, np.ndarray | None]:
    """y as columns Y, (n, c): numbers in a unit near their size, classes as indicators; and each class, or None.

    "auto" takes text and booleans as classes, and whole numbers where they are few (up to 20 values, or five samples
    per value on average); other numbers are numbers.
    """
    if target not in TARGETS:
        raise ValueError(f"Unknown target {target!r}. Choose one of: {', '.join(TARGETS)}.")
    y = to_numpy(y) if is_foreign(y) else np.asarray(y)
    if y.ndim not in (1, 2) or y.shape[0] != n:
        raise ValueError(f"y has shape {y.shape}; {n} samples need one value, or one row of values, each.")
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.dtype.kind == "f" and not np.all(np.isfinite(y)):
        raise ValueError("Input y contains NaN or infinity.")
    if target == "auto":
        target = "classes" if _are_classes(y) else "numbers"
    return _indicators(y) if target == "classes" else (_numbers(y), None)


def _are_classes(y: np.ndarray) -> bool:
    if y.ndim != 1:
        return False
    if y.dtype.kind not in "iuf":
        return True
    values = np.unique(y)
    most = max(20, len(y) // 5)  # five rows of each class on average, or few classes; more are counts or years
    return bool(np.all(values == np.round(values))) and len(values) <= most


def _indicators(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    classes, index = np.unique(column_or_1d(y), return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"y has only one class, {classes[0]!r}; judging a kernel by classes takes at least two.")
    return np.eye(len(classes))[index], index


def _numbers(y: np.ndarray) -> np.ndarray:
    y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
    Y = y.reshape(len(y), -1)
    if not np.any(Y[:1] != Y):
        raise ValueError("y is constant, so no kernel can be judged by it.")
    return Y / power_of_two(
        float(np.abs(Y).max())
    )  # no result depends on the unit, and in this one squares cannot overflow


def features_of_kernel(kernel: Kernel, X: Any, **options: Any) -> Features:
    """`kernel_features` of a kernel whose features will be centred: bound, and in the form that rounds least then."""
    return kernel_features(kernel.bind(X).centered_form(X), X, **options)


def operator_of_kernel(kernel: Kernel, X: Any, n_jobs: int | None) -> Operator:
    """The matrix of a bound kernel in float64, streamed, with k(x, x) looked at first."""
    double = namespace(X).float64
    if isinstance(kernel, Precomputed):
        return Dense(symmetric(kernel.points(X, double).rows))
    A = Gram(kernel.centered_form(X), X, precision=double, n_jobs=n_jobs)
    refuse_overflow(A, kernel)
    return A
