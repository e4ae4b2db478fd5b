"""The median heuristic: the number, its standard error, and degenerate rows."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.spatial.distance import pdist

from mercer.kernels import RBF, Laplacian
from mercer.selection import distance_summary, median_distance, median_gamma

X = np.random.default_rng(0).standard_normal((80, 3))


@pytest.mark.parametrize(
    ("metric", "scipy_name"), [("euclidean", "euclidean"), ("sqeuclidean", "sqeuclidean"), ("manhattan", "cityblock")]
)
def test_median_and_quartiles_of_all_pairs(metric, scipy_name):
    pairs = pdist(X, scipy_name)
    summary = distance_summary(X, metric=metric)
    assert_allclose(median_distance(X, metric=metric), np.median(pairs))
    assert_allclose((summary.median, *summary.quartiles), np.quantile(pairs, [0.5, 0.25, 0.75]))
    assert summary.rows == 80


def test_gamma_is_that_of_the_kernels():
    assert median_gamma(X) == RBF("median").bind(X).gamma == 1 / np.median(pdist(X, "sqeuclidean"))
    assert median_gamma(X, kernel="laplacian") == Laplacian("median").bind(X).gamma


@given(st.floats(1e-6, 1e6), st.integers(0, 50))
def test_scales_and_shifts_with_the_data(scale, seed):
    rng = np.random.default_rng(seed)
    rows, shift = rng.standard_normal((30, 2)), rng.standard_normal(2)
    a, b = distance_summary(rows), distance_summary(scale * (rows + shift))
    assert_allclose([b.median, b.standard_error], [scale * a.median, scale * a.standard_error], rtol=1e-9)


def test_standard_error_is_the_spread_over_samples():
    rng = np.random.default_rng(1)
    summaries = [distance_summary(rng.standard_normal((60, 2))) for _ in range(300)]
    spread = np.std([s.median for s in summaries])
    assert_allclose(np.mean([s.standard_error for s in summaries]), spread, rtol=0.15)


def test_csr_and_many_rows():
    assert_allclose(median_distance(sp.csr_array(X)), median_distance(X))
    many = np.random.default_rng(2).standard_normal((3000, 2))
    summary = distance_summary(many)
    assert summary.rows == 1000 and abs(summary.median - np.median(pdist(many))) < 4 * summary.standard_error


def test_rows_that_mostly_coincide():
    rows = np.zeros((20, 2))
    rows[0] = [3.0, 4.0]
    assert median_distance(rows) == 5.0 and median_gamma(rows) == 1 / 25


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (np.ones((5, 2)), "All rows are the same"),
        (np.ones((1, 2)), "at least 2"),
        (np.full((4, 2), np.nan), "NaN"),
        (np.full((4, 2), np.inf), "infinity"),
        (np.empty((0, 2)), "0 sample"),
        (["a", "b"], "convert string"),
    ],
)
def test_bad_rows(rows, words):
    with pytest.raises(ValueError, match=words):
        median_distance(rows)


def test_bad_names():
    with pytest.raises(ValueError, match="Unknown metric 'cosine'"):
        median_distance(X, metric="cosine")
    with pytest.raises(ValueError, match="kernel='poly'"):
        median_gamma(X, kernel="poly")
