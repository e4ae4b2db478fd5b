"""Rows prepared for tiles: the stated bound on rounding holds, and no unit overflows."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from mercer.graph.tile_rows import Operand, RowScaling, exact_rows, products, rounded_rows, work_per_pair


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
@pytest.mark.parametrize("shift", [0.0, 1e4])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_squared_distances_are_within_the_stated_rounding(scale, shift, dtype):
    X = (np.random.default_rng(0).standard_normal((60, 7)) + shift) * scale
    scaling = RowScaling.of(X, "euclidean")
    coarse = rounded_rows(exact_rows(X, scaling), scaling, dtype)
    dots = products(coarse.rows, coarse.rows, np.empty(60 * 60, dtype)).astype(np.float64)
    e = scaling.rounding(dtype)
    norms = coarse.norms.astype(np.float64) / (1 - e)
    true = cdist(X / scaling.unit, X / scaling.unit, "sqeuclidean")
    computed = norms[:, None] + norms[None, :] - 2 * dots
    # Twice the bound: the norms are divided here once more than in the scan, and `true` is rounded far from the origin.
    slack = 4 * np.finfo(np.float64).eps * (abs(shift) * scale / scaling.unit) ** 2 * 7
    assert np.all(np.abs(computed - true) <= 2 * e * (norms[:, None] + norms[None, :]) + slack)


@pytest.mark.parametrize("density", [0.0, 0.005, 0.1, 0.3])
@pytest.mark.parametrize("full", [0, 30], ids=["even columns", "full columns"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_of_sparse_rows_are_those_of_dense_ones(density, full, dtype):
    """A sum of up to 300 products is within 300 units of rounding of |a| · |b|, in any order."""
    dense = []
    for m, seed in ((20, 0), (31, 1)):
        rng = np.random.default_rng(seed)
        rows = sp.random_array((m, 300), density=density, rng=rng).toarray()
        rows[:, :full] = rng.standard_normal((m, full))
        dense.append(rows.astype(dtype))
    A, B = dense
    found = products(sp.csr_array(A), sp.csr_array(B), np.full(20 * 31, np.nan, dtype))
    rounding = 300 * np.finfo(dtype).eps * np.abs(A) @ np.abs(B).T
    assert np.all(np.abs(found - A.astype(np.float64) @ B.T) <= rounding)


@pytest.mark.parametrize("full", [0, 30, 300])
def test_an_operand_serves_tiles_of_its_last_rows(full):
    rng = np.random.default_rng(0)
    A, B = (sp.random_array((m, 300), density=0.05, rng=rng).tolil() for m in (20, 31))
    B[:, :full] = A[0, 0] = 1.0  # columns that every row fills are multiplied as dense ones
    A, B = A.tocsr(), B.tocsr()
    operand = Operand(B)
    assert operand.dense.shape[1] >= full and operand.rare.nnz + np.count_nonzero(operand.dense) == B.nnz
    for start in (0, 7, 30):
        found = products(A, operand.after(start), np.full(20 * 31, np.nan))
        np.testing.assert_allclose(found, (A @ B.T).toarray()[:, start:], atol=300 * np.finfo(float).eps * 30)


def test_a_product_of_sparse_rows_costs_no_more_than_one_of_dense_rows():
    full, empty = np.ones((50, 4)), np.zeros((50, 6))
    assert work_per_pair(sp.csr_array(np.hstack([full, empty]))) == 4
    assert work_per_pair(np.hstack([full, empty])) == 10
    assert 0 < work_per_pair(sp.random_array((200, 1000), density=0.01, format="csr", rng=0)) < 100


def test_rows_very_far_out_get_a_unit_of_their_own():
    X = np.random.default_rng(0).standard_normal((10, 2))
    scaling = RowScaling.of(X, "euclidean")
    assert scaling.reaching(X) is scaling
    far = scaling.reaching(np.array([[1e300, 0.0]]))
    assert np.isfinite(1e300 / far.unit) and 1e300 / far.unit <= 2
    groups = scaling.classes(np.array([[1.0, 0.0], [1e200, 0.0], [0.5, 2.0]]))
    assert [group.tolist() for group in groups] == [[0, 2], [1]]
