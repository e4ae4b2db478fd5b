"""gamma=None, "scale" and "median" are the numbers that they say."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import pdist

from mercer.kernels import RBF, Chi2, Laplacian, Matern, Polynomial, RationalQuadratic

X = np.abs(np.random.default_rng(0).standard_normal((30, 4))) + 0.1


@pytest.mark.parametrize("kernel", [RBF, Laplacian, Polynomial], ids=lambda c: c.__name__)
def test_none_is_one_over_d(kernel):
    assert kernel(gamma=None).bind(X).gamma == 0.25


def test_none_is_one_for_chi2():
    assert Chi2().bind(X).gamma == 1.0


def test_scale_is_that_of_support_vector_machines():
    np.testing.assert_allclose(RBF(gamma="scale").bind(X).gamma, 1 / (4 * X.var()))
    sparse = np.where(X > 0.8, X, 0.0)
    np.testing.assert_allclose(RBF(gamma="scale").bind(sp.csr_array(sparse)).gamma, 1 / (4 * sparse.var()))


def chi2_distance(a, b):
    return ((a - b) ** 2 / (a + b)).sum()


@pytest.mark.parametrize(
    ("kernel", "metric"),
    [(RBF(gamma="median"), "sqeuclidean"), (Laplacian(gamma="median"), "cityblock"), (Chi2("median"), chi2_distance)],
    ids=["rbf", "laplacian", "chi2"],
)
def test_median_of_what_the_kernel_reads(kernel, metric):
    np.testing.assert_allclose(kernel.bind(X).gamma, 1 / np.median(pdist(X, metric)), rtol=1e-12)


@pytest.mark.parametrize("kernel", [Matern, RationalQuadratic], ids=lambda c: c.__name__)
def test_median_length(kernel):
    np.testing.assert_allclose(kernel(length_scale="median").bind(X).length_scale, np.median(pdist(X)), rtol=1e-12)


def test_median_of_many_rows_is_sampled():
    many = np.random.default_rng(0).standard_normal((5000, 2))
    np.testing.assert_allclose(
        RBF(gamma="median").bind(many).gamma, 1 / np.median(pdist(many, "sqeuclidean")), rtol=0.05
    )


def test_median_among_rows_that_mostly_coincide():
    rows = np.zeros((20, 2))
    rows[0] = [3.0, 4.0]
    assert RBF(gamma="median").bind(rows).gamma == 1 / 25


@pytest.mark.parametrize("gamma", ["median", "scale"])
@pytest.mark.parametrize("rows", [np.ones((5, 2)), np.ones((1, 2))], ids=["constant", "one row"])
def test_degenerate_data_gives_a_number(gamma, rows):
    assert RBF(gamma=gamma).bind(rows).gamma == 1.0


def test_array_api_arrays_give_the_same_numbers():
    strict = pytest.importorskip("array_api_strict")
    for gamma in ("scale", "median", None):
        there = RBF(gamma=gamma).bind(strict.asarray(X)).gamma
        np.testing.assert_allclose(there, RBF(gamma=gamma).bind(X).gamma, rtol=1e-12)


@pytest.mark.parametrize("kernel", [RBF(gamma="median"), Matern(length_scale="median")], ids=["gamma", "length"])
def test_a_median_that_overflows_is_refused(kernel):
    with pytest.raises(ValueError, match="median distance between rows overflows"):
        kernel.bind(X * 1e200)


@pytest.mark.parametrize("kernel", [RBF("columns"), Laplacian("columns")], ids=repr)
def test_widths_of_sparse_columns_are_those_of_dense_ones(kernel):
    rng = np.random.default_rng(3)
    dense = np.where(rng.random((60, 9)) < 0.3, rng.standard_normal((60, 9)) * 10.0 ** np.arange(-4, 5), 0.0)
    dense[:, 2], dense[:, 5] = 0.0, 7.0  # constant columns
    sparse = sp.csr_array(dense)
    expected = kernel.bind(dense)(dense)
    np.testing.assert_allclose(kernel.bind(sparse)(sparse), expected, atol=1e-12)
