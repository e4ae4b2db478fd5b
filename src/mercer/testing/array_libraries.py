"""The contract of an estimator for arrays of other libraries, such as tensors on a GPU."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from mercer.backends import device_of, is_foreign, namespace, to_numpy
from mercer.models.registry import load_model

_METHODS = ("transform", "score_samples", "decision_function")


def check_arrays(
    estimator: Any, X: np.ndarray, make: Callable[[np.ndarray], Any], *, y: Any = None, new: Any = None, tol: float
) -> None:
    """Check that an estimator gives the same results for arrays of another library as for NumPy arrays.

    make : a function that turns a NumPy array into an array of the library
    new : rows to transform; None is X
    tol : how far results may differ, relative to the largest entry; columns of coordinates may differ in sign

    Results have the library, the device and the precision of the input. A float32 copy of X gives float32. A saved
    model can be loaded without the library, and gives the same.

    >>> import array_api_strict
    >>> from mercer import PCA
    >>> X = np.random.default_rng(0).standard_normal((20, 3))
    >>> check_arrays(PCA(2, svd_solver="full"), X, array_api_strict.asarray, tol=1e-8)
    """
    new = X if new is None else new
    here, there = clone(estimator).fit(X, y), clone(estimator).fit(make(X), y)
    methods = [name for name in _METHODS if hasattr(there, name)]
    expected = {name: getattr(here, name)(new) for name in methods}
    for name in methods:
        _alike(name, getattr(there, name)(make(new)), expected[name], make(new), tol)
    if hasattr(there, "embedding_"):
        _alike("embedding_", there.embedding_, here.embedding_, make(X), tol)
    single = clone(estimator).fit(make(X.astype(np.float32)), y)
    for name in methods:
        result = getattr(single, name)(make(new.astype(np.float32)))
        assert result.dtype == make(new.astype(np.float32)).dtype, f"{name}: {result.dtype} for rows in float32."
    if hasattr(there, "save"):
        with tempfile.TemporaryDirectory() as folder:
            there.save(Path(folder) / "model.mercer")
            loaded, _ = load_model(Path(folder) / "model.mercer")
        for name in methods:
            result = getattr(loaded, name)(new)
            assert isinstance(result, np.ndarray), f"{name}: a loaded model gave {type(result).__name__}."
            _alike(f"{name} of a loaded model", result, expected[name], new, tol)


def _alike(what: str, found: Any, expected: np.ndarray, like: Any, tol: float) -> None:
    kind = type(found).__name__
    assert type(found) is type(like), f"{what}: {kind} for {type(like).__name__}."
    if is_foreign(like):
        assert namespace(found) is namespace(like) and device_of(found) == device_of(like), f"{what}: {kind} elsewhere."
        assert found.dtype == like.dtype, f"{what}: {found.dtype} for {like.dtype}."
    A, B = (to_numpy(part).astype(np.float64) for part in (found, expected))
    assert A.shape == B.shape, f"{what}: shape {A.shape}, expected {B.shape}."
    signs = np.where(np.sum(A * B, axis=0) < 0, -1.0, 1.0) if A.ndim == 2 else 1.0
    worst = float(np.abs(A * signs - B).max(initial=0.0)) / (float(np.abs(B).max(initial=0.0)) or 1.0)
    assert worst <= tol, f"{what}: differs by {worst:.2e} of the largest entry, more than {tol:.0e}."
