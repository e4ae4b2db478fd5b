"""Dates, text, masks and lying indices are refused before anything reads them as numbers."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from mercer import PCA, TSNE, ClassicalMDS, Isomap, KernelCCA, KernelPCA
from mercer.graph import build_index
from mercer.kernels import RBF
from mercer.numeric_input import refuse_not_numeric, sorted_columns
from mercer.selection import diagnose_neighbors, select_kernel

ROWS = np.random.default_rng(0).standard_normal((12, 3))
DAYS = np.arange(36).reshape(12, 3).astype("datetime64[D]")


def tampered(part, place, value):
    """CSR rows with one index changed behind SciPy's back."""
    X = sp.csr_matrix(ROWS)
    getattr(X, part)[place] = value
    return X


@pytest.mark.parametrize(
    "X",
    [
        ROWS,
        ROWS > 0,
        ROWS.tolist(),
        ROWS.astype(object),
        np.ma.masked_array(ROWS),  # nothing is hidden
        sp.csr_matrix(ROWS),
        sp.csc_array(ROWS),
        sp.coo_matrix(ROWS),
        sp.csr_matrix((0, 3)),
        pd.DataFrame(ROWS),
        pd.DataFrame({"a": pd.array([1, 2], dtype="Int64"), "b": [True, False]}),
        pl.DataFrame(ROWS),
        None,
    ],
)
def test_numbers_pass(X):
    refuse_not_numeric(X)


@pytest.mark.parametrize(
    ("X", "error", "words"),
    [
        (np.ma.masked_greater(ROWS, 1.0), ValueError, "masked array that hides .* of 36 values"),
        (ROWS.astype(str), ValueError, "X holds text"),
        (ROWS.astype(str).astype(object), ValueError, "X holds text"),
        (ROWS.astype("S8"), ValueError, "X holds text"),
        (DAYS, TypeError, "X holds dates"),
        (DAYS - DAYS[0], TypeError, "X holds durations"),
        (pd.DataFrame({"a": [1.0], "day": pd.to_datetime(["2020-01-01"])}), TypeError, "Column 'day' holds dates"),
        (pd.DataFrame({"size": ["1", "2"]}), ValueError, "Column 'size' holds text"),
        (pd.DataFrame({"kind": pd.Categorical(["a", "b"])}), ValueError, "Column 'kind' holds text"),
        (pl.DataFrame({"day": [DAYS[0, 0].item()]}), TypeError, "Column 'day' of X holds dates"),
        (pl.LazyFrame({"a": [1.0]}), TypeError, r"LazyFrame.*call \.collect\(\) first"),
        (tampered("indices", 2, 10**6), ValueError, "X is a malformed CSR matrix"),
        (tampered("indices", 2, -4), ValueError, "X is a malformed CSR matrix"),
        (tampered("indptr", 3, 36), ValueError, "X is a malformed CSR matrix"),
        (tampered("indptr", -1, 500), ValueError, "X is a malformed CSR matrix"),
    ],
)
def test_what_is_not_numbers_is_refused_with_what_to_do(X, error, words):
    with pytest.raises(error, match=words):
        refuse_not_numeric(X)


def test_a_malformed_coordinate_matrix():
    X = sp.coo_matrix(ROWS)
    X.col[3] = 99
    with pytest.raises(ValueError, match="malformed COO matrix: an index lies outside of 0 to 2"):
        refuse_not_numeric(X)


@pytest.mark.parametrize("bad", [tampered("indices", 2, 10**6), DAYS, np.ma.masked_greater(ROWS, 1.0)])
@pytest.mark.parametrize(
    "read",
    [
        lambda X: PCA(2).fit(X),
        lambda X: KernelPCA(2).fit(X),
        lambda X: KernelPCA(2).fit(ROWS).transform(X),
        lambda X: KernelCCA(1).fit(ROWS, X),
        lambda X: Isomap(n_neighbors=3).fit(X),
        lambda X: ClassicalMDS(2).fit(X),
        lambda X: TSNE(perplexity=2).fit(X),
        lambda X: RBF(1.0)(X),
        lambda X: build_index(X),
        lambda X: select_kernel(X),
        lambda X: diagnose_neighbors(X),
    ],
)
def test_everything_that_reads_a_matrix_asks(read, bad):
    with pytest.raises((TypeError, ValueError), match=r"malformed|dates|masked"):
        read(bad)


def test_columns_out_of_order_are_put_right():
    """A product leaves columns in another order; sharing these indices between matrices once gave wrong distances."""
    rows = np.random.default_rng(0).standard_normal((30, 4)) + np.array([0, 0, 0, 1000.0])
    mixed = sp.csr_array(sp.csr_array(rows) @ sp.diags_array(np.ones(4)))
    assert (np.diff(mixed.indices[:4]) < 0).all()
    before = mixed.indices.copy()
    np.testing.assert_allclose(sorted_columns(mixed).toarray(), rows)
    np.testing.assert_allclose(RBF(1.0)(mixed), RBF(1.0)(rows), atol=1e-9)
    ours, theirs = (np.abs(KernelPCA(2, kernel="rbf").fit_transform(Z)) for Z in (mixed, rows))
    np.testing.assert_allclose(ours, theirs, atol=1e-6)
    np.testing.assert_array_equal(mixed.indices, before)  # the caller's matrix stays
    plain = sp.csr_array(rows)
    assert sorted_columns(plain) is plain and sorted_columns(rows) is rows
