"""CSR rows stay sparse: neither a plan nor a computation counts the columns that hold nothing."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from mercer import (
    ClassicalMDS,
    KernelCCA,
    KernelDiscriminantAnalysis,
    KernelMap,
    KernelPCA,
    NoveltyDetector,
)
from mercer.backends import cpu
from mercer.kernels import RBF, Chi2, Hamming, Laplacian, Matern, RationalQuadratic
from mercer.memory import numbers_per_row
from mercer.selection import distance_summary

WIDE = 2**20  # columns, as a hashing vectorizer has them
N = 300
DENSE = 8 * N * WIDE  # bytes that dense rows would take


def texts(n: int = N, words: int = 40, seed: int = 0) -> sp.csr_array:
    """Rows of a few words each, drawn from 2000 columns of 2²⁰, of unit length."""
    rng = np.random.default_rng(seed)
    columns = rng.choice(WIDE, 2000, replace=False)[rng.integers(0, 2000, n * words)]
    X = sp.csr_array((rng.random(n * words), columns, np.arange(0, n * words + 1, words)), shape=(n, WIDE))
    X.sum_duplicates()
    lengths = np.sqrt(np.asarray(X.power(2).sum(axis=1)).reshape(-1))
    return sp.csr_array(X.multiply(1 / lengths[:, None]))


def peak(work) -> int:
    """The largest number of bytes that Python and NumPy held at a time while `work` ran."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


LABELS = np.arange(N) % 3
FITS = {
    "kernel PCA": lambda X: KernelPCA(5, kernel="cosine").fit(X).transform(X),
    "kernel PCA, linear": lambda X: KernelPCA(5).fit(X).transform(X),
    "kernel PCA, a factor": lambda X: KernelPCA(5, kernel="cosine", eigen_solver="rpcholesky").fit(X).transform(X),
    "kernel PCA, median": lambda X: KernelPCA(5, kernel="rbf", gamma="median").fit(X).transform(X),
    "kernel PCA, a narrow Gaussian": lambda X: KernelPCA(5, kernel="rbf", gamma=1e5).fit(X).transform(X),
    "kernel PCA, Matern": lambda X: KernelPCA(5, kernel="matern", gamma="median").fit(X).transform(X),
    "discriminants": lambda X: KernelDiscriminantAnalysis(kernel="cosine").fit(X, LABELS).transform(X),
    "discriminants, a factor": lambda X: KernelDiscriminantAnalysis(kernel="cosine", rank=50).fit(X, LABELS),
    "canonical correlations": lambda X: KernelCCA(2, kernel="cosine").fit(X, X).transform(X),
    "classical scaling": lambda X: ClassicalMDS().fit(X).transform(X),
    "novelty": lambda X: NoveltyDetector().fit(X).predict(X),
    "features": lambda X: KernelMap("cosine").fit(X).transform(X),
}


@pytest.mark.parametrize("name", FITS)
@pytest.mark.filterwarnings("ignore")
def test_a_fit_and_a_transform_of_wide_sparse_rows_stay_far_below_their_dense_size(name):
    X = texts()
    assert peak(lambda: FITS[name](X)) < DENSE / 20


@pytest.mark.parametrize("estimator", [KernelPCA(5, kernel="cosine"), KernelPCA(5, eigen_solver="rpcholesky")])
def test_a_plan_counts_the_stored_numbers_of_sparse_rows(estimator):
    X = texts()
    as_if_narrow = sp.csr_array((X.data, X.indices % 2000, X.indptr), shape=(N, 2000))
    wide, narrow = estimator.plan(X).needed_bytes, estimator.plan(as_if_narrow).needed_bytes
    pointers = 4 * WIDE * cpu.workers()  # SciPy's product of CSR rows counts the entries of each column, in each thread
    assert narrow <= wide <= narrow + pointers
    assert narrow < DENSE / 20


def test_numbers_per_row():
    X = texts()
    assert numbers_per_row(X[:, :7].toarray()) == 7
    assert numbers_per_row(np.array(["a", "b"])) == 1
    assert X.nnz / N <= numbers_per_row(X) <= 2 * X.nnz / N
    assert numbers_per_row(sp.csr_array((N, WIDE))) == 1


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "manhattan", "chi2"])
def test_typical_distances_of_sparse_rows_are_those_of_dense_ones(metric):
    X = texts(60)
    narrow = X[:, np.unique(X.indices)]
    sparse, dense = distance_summary(X, metric=metric), distance_summary(narrow.toarray(), metric=metric)
    # Sums of at most 80 terms each, in another order: 80 units in the last place of the largest distance.
    assert sparse.median == pytest.approx(dense.median, rel=80 * np.finfo(float).eps)
    assert peak(lambda: distance_summary(X, metric=metric)) < DENSE / 20


@pytest.mark.parametrize("kernel", [RBF("median"), Laplacian("median"), Chi2("median"), Matern(length_scale="median")])
def test_a_median_width_of_sparse_rows_is_that_of_dense_ones(kernel):
    X = texts(60)
    narrow = X[:, np.unique(X.indices)].toarray()
    name = "length_scale" if isinstance(kernel, Matern) else "gamma"
    widths = [getattr(kernel.bind(rows), name) for rows in (X, narrow)]
    assert widths[0] == pytest.approx(widths[1], rel=80 * np.finfo(float).eps)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_squared_distances_of_sparse_rows_are_right_to_the_last_digits_near_and_far(dtype):
    X = texts(40)[:, :].astype(dtype)
    X = X[:, np.unique(X.indices)]
    near = sp.csr_array(X * dtype(1 + 2.0**-12))  # a relative distance of 6e-8, far below what the identity resolves
    wide = [part.toarray().astype(np.float64) for part in (X, near)]
    exact = ((wide[0][:, None, :] - wide[1][None, :, :]) ** 2).sum(axis=2)
    found = cpu.sqeuclidean_direct(X, near).astype(np.float64)
    # Beyond the threshold for near pairs the identity is off by at most 80 eps / 4e-3 of the distance.
    bound = max(80 * np.finfo(np.float64).eps / 4e-3, np.finfo(dtype).eps)
    np.testing.assert_allclose(found, exact, rtol=bound)


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_squared_distances_of_huge_and_tiny_sparse_rows_do_not_become_nan(unit):
    X = texts(10)
    assert not np.isnan(cpu.sqeuclidean_direct(unit * X, unit * X)).any()


@pytest.mark.parametrize("kernel", [Laplacian(0.1), Chi2(0.1), Hamming(), RationalQuadratic(length_scale=1e-6)])
def test_sums_over_coordinates_of_sparse_rows_are_those_of_dense_ones(kernel):
    X = texts(30, words=10)
    narrow = X[:, np.unique(X.indices)]
    rounding = 1000 * np.finfo(float).eps  # sums of 300 terms, in another order, through a profile of slope below one
    if isinstance(kernel, Hamming):  # counts columns that both leave empty
        share = narrow.shape[1] / WIDE
        np.testing.assert_allclose(kernel(X), share * kernel(narrow.toarray()) + 1 - share, rtol=rounding)
    else:
        np.testing.assert_allclose(kernel(X), kernel(narrow.toarray()), rtol=rounding)
    assert peak(lambda: kernel(X)) < DENSE / 20
