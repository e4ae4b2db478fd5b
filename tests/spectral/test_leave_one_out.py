"""Distances of rows left out: the same from rows, from a kernel matrix and from a factor, and those of refits."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from mercer import KernelPCA
from mercer.kernels import RBF, Linear
from mercer.spectral.leave_one_out import Limits, from_gram, from_rows

X = np.random.default_rng(0).standard_normal((40, 6)) * [3.0, 2.0, 1.0, 0.7, 0.5, 0.3] + 2.0
ROUNDING = 1e-10 * float(np.max(np.sum((X - X.mean(axis=0)) ** 2, axis=1)))  # a distance is a difference of lengths


def refitted(X, k):
    """The definition: a mean and an SVD of the others, for every row."""
    out = np.empty(len(X))
    for i, row in enumerate(X):
        others = np.delete(X, i, axis=0)
        V = np.linalg.svd(others - others.mean(axis=0), full_matrices=False)[2][:k]
        y = row - others.mean(axis=0)
        out[i] = y @ y - ((V @ y) ** 2).sum()
    return out


def pairs(X, k):
    """The first k eigenvalues of the scatter, and the scores."""
    U, s, _ = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    return s[:k] ** 2, U[:, :k] * s[:k]


@pytest.mark.parametrize("k", [0, 1, 3, 5])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_rows_and_their_matrix_give_the_distances_of_refits(k, make):
    expected = refitted(X, k)
    assert_allclose(from_rows(make(X), k), expected, rtol=1e-8, atol=ROUNDING)
    values, scores = pairs(X, k)
    if k:
        assert_allclose(
            from_gram(Linear().centered_form(X), X, values, scores, None), expected, rtol=1e-8, atol=ROUNDING
        )


def test_beyond_the_limit_what_is_not_kept_is_lumped():
    """Five of six directions are kept, so that one mean stands for one eigenvalue, and the answer stays exact."""
    values, scores = pairs(X, 5)
    kernel = Linear().centered_form(X)
    lumped = from_gram(kernel, X, values, scores, None, Limits(whole=10))
    assert_allclose(lumped, refitted(X, 5), rtol=1e-7, atol=ROUNDING)
    in_blocks = from_gram(kernel, X, values, scores, None, Limits(whole=10, block_entries=100))
    assert_allclose(in_blocks, lumped, rtol=1e-9, atol=ROUNDING)


def test_a_factor_of_every_row_is_the_matrix():
    """Landmarks that are all rows give exact features, and no landmark is nearer than the matrix says."""
    kernel = RBF(gamma=0.05)
    model = KernelPCA(3, kernel=kernel, eigen_solver="rpcholesky", rank=40, random_state=0).fit(X)
    found = model.left_out_distances(X)
    exact = KernelPCA(3, kernel=kernel, eigen_solver="dense").fit(X).left_out_distances(X)
    assert np.all(found >= exact * (1 - 1e-6))


@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_units_do_not_matter(scale):
    values, scores = pairs(X, 2)
    kernel = Linear().centered_form(X * scale)
    found = from_gram(kernel, X * scale, values * scale**2, scores * scale, None, Limits(whole=10))
    expected = from_gram(Linear().centered_form(X), X, values, scores, None, Limits(whole=10))
    assert_allclose(found / scale**2, expected, rtol=1e-8, atol=ROUNDING)
