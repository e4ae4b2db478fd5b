"""Checks of the rows that an index is built on, and of new rows: as wide and as precise as the indexed ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_array

from mercer.backends import is_foreign
from mercer.numeric_input import refuse_not_numeric

FLOATS = (np.float64, np.float32)


def refuse_foreign(X: Any) -> None:
    if is_foreign(X):
        kind = type(X).__module__.partition(".")[0]
        raise TypeError(
            f"Neighbours are searched in NumPy and SciPy arrays and in torch tensors, not in those of {kind}. Convert "
            "the data first."
        )


def check_rows(X: Any, like: Any = None, **checks: Any) -> Any:
    """X as a dense array in C order or a CSR array with sorted columns; as wide and as precise as `like`."""
    refuse_foreign(X)
    refuse_not_numeric(X)
    dtype = FLOATS if like is None else like.dtype
    X = check_array(X, accept_sparse="csr", dtype=dtype, order="C", **checks)
    if like is not None and X.shape[1] != like.shape[1]:
        raise ValueError(f"X has {X.shape[1]} features, but the index was built on {like.shape[1]} features.")
    if sp.issparse(X):
        X = sp.csr_array(X, copy=not X.has_canonical_format)
        X.sum_duplicates()  # and sorts the columns
        if X.nnz < 2**31 and X.indices.dtype != np.int32:
            X = sp.csr_array((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)
    else:
        X = X.view(np.ndarray)
    return _as_like(X, like)


def _as_like(X: Any, like: Any) -> Any:
    """Sparse if the indexed rows are sparse, dense if they are dense."""
    if like is None or sp.issparse(X) == sp.issparse(like):
        return X
    return sp.csr_array(X) if sp.issparse(like) else X.toarray()
