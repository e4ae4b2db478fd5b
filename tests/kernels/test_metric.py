"""−½d² of any metric: its tiles are those of the whole, and its parameters come from all rows."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from mercer.kernels.metric import BOOLEAN, HalfSquaredDistance, bound_metric
from mercer.testing import check_kernel

X = np.random.default_rng(0).standard_normal((30, 4))


@pytest.mark.parametrize(
    ("metric", "params"),
    [
        ("euclidean", {}),
        ("cityblock", {}),
        ("canberra", {}),
        ("seuclidean", {"V": X.var(axis=0, ddof=1)}),
        ("mahalanobis", {"VI": np.linalg.inv(np.cov(X.T)).T}),
    ],
)
def test_it_is_half_the_squared_distance_with_variances_of_all_rows(metric, params):
    assert_allclose(HalfSquaredDistance(metric)(X), -0.5 * cdist(X, X, metric, **params) ** 2, atol=1e-12)


def test_the_parameters_of_a_metric_are_bound_to_all_rows_once():
    for metric, name in (("seuclidean", "V"), ("mahalanobis", "VI")):
        bound = HalfSquaredDistance(metric).bind(X)
        assert set(bound.params) == {name}
        assert_array_equal(bound(X[:5], X), bound(X)[:5])
    assert bound_metric("manhattan", None, X) == ("manhattan", {})


def test_it_keeps_the_contract_of_kernels():
    check_kernel(HalfSquaredDistance("manhattan"), X, psd=False, other_types=False)


@pytest.mark.parametrize("metric", ["jaccard", "dice", "rogerstanimoto", "yule"])
def test_metrics_of_sets_read_entries_as_members(metric):
    assert metric in BOOLEAN
    members = np.random.default_rng(1).random((20, 6)) > 0.4
    K = HalfSquaredDistance(metric)(3.0 * members)
    assert_allclose(K, -0.5 * cdist(members, members, metric) ** 2, atol=1e-12)


def test_sparse_rows_with_wide_indices_are_read():
    wide = sp.csr_array(np.where(X > 0.5, X, 0.0))
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    assert_allclose(
        HalfSquaredDistance("manhattan")(wide), -0.5 * cdist(wide.toarray(), wide.toarray(), "cityblock") ** 2
    )
