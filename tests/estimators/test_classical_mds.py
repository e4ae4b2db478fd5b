"""Classical scaling: distances that fit are reproduced, PCA is its Euclidean case, and new points are placed."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.datasets import load_iris
from sklearn.metrics import pairwise_distances
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import PCA, ClassicalMDS, Isomap, KernelPCA
from mercer.exceptions import IndefiniteKernelWarning, MemoryLimitError
from mercer.kernels import RBF
from mercer.kernels.metric import HalfSquaredDistance
from mercer.linalg.gram import Gram
from mercer.testing import check_operator

IRIS = load_iris().data
RNG = np.random.default_rng(0)


@parametrize_with_checks([ClassicalMDS(), ClassicalMDS(metric="manhattan"), ClassicalMDS(1, metric="cosine")])
@pytest.mark.filterwarnings("ignore::mercer.exceptions.MercerWarning")
def test_scikit_learn_common_checks(estimator, check):
    check(estimator)


def test_enough_coordinates_reproduce_euclidean_distances():
    D = cdist(IRIS, IRIS)
    mds = ClassicalMDS(4, metric="precomputed").fit(D)
    assert np.allclose(cdist(mds.embedding_, mds.embedding_), D, atol=1e-9)
    assert np.array_equal(mds.dissimilarity_matrix_, D)


@pytest.mark.parametrize("metric", ["cityblock", "chebyshev", "canberra", lambda a, b: np.abs(a - b).sum()])
@pytest.mark.filterwarnings("ignore::mercer.exceptions.IndefiniteKernelWarning")
def test_any_metric_is_its_matrix(metric):
    streamed = ClassicalMDS(2, metric=metric).fit(IRIS[::2])
    D = streamed.dissimilarity_matrix_
    given = ClassicalMDS(2, metric="precomputed").fit(D)
    assert np.allclose(streamed.embedding_, given.embedding_, atol=1e-9)
    H = np.eye(len(D)) - 1 / len(D)
    assert np.allclose(given.eigenvalues_, np.linalg.eigvalsh(-0.5 * H @ D**2 @ H)[::-1][:2])


def test_euclidean_distances_are_pca_and_place_new_points_like_it():
    mds, pca = ClassicalMDS(2).fit(IRIS[:100]), PCA(2).fit(IRIS[:100])
    signs = np.sign(np.sum(mds.embedding_ * pca.transform(IRIS[:100]), axis=0))
    assert np.allclose(mds.transform(IRIS[100:]), pca.transform(IRIS[100:]) * signs)
    given = ClassicalMDS(2, metric="precomputed").fit(cdist(IRIS[:100], IRIS[:100]))
    assert np.allclose(given.transform(cdist(IRIS[100:], IRIS[:100])), mds.transform(IRIS[100:]))


@pytest.mark.parametrize("metric", ["seuclidean", "mahalanobis"])
def test_variances_are_read_off_all_fitted_rows(metric):
    mds = ClassicalMDS(2, metric=metric).fit(IRIS[:100])
    given = ClassicalMDS(2, metric="precomputed").fit(pairwise_distances(IRIS[:100], metric=metric))
    assert np.allclose(mds.embedding_, given.embedding_, atol=1e-8)
    assert np.allclose(mds.transform(IRIS[:100]), mds.embedding_, atol=1e-8)


def test_the_distances_of_a_kernel_are_kernel_pca():
    kernel = RBF(gamma=0.3)
    assert np.allclose(
        ClassicalMDS(2, metric=kernel).fit_transform(IRIS), KernelPCA(2, kernel=kernel).fit_transform(IRIS)
    )


def test_it_is_kernel_pca_of_minus_half_the_squared_distance():
    by_kernel = KernelPCA(2, kernel=HalfSquaredDistance("euclidean")).fit_transform(IRIS)
    assert np.allclose(ClassicalMDS(2).fit_transform(IRIS), by_kernel, atol=1e-9)


@pytest.mark.filterwarnings("ignore::mercer.exceptions.IndefiniteKernelWarning")
def test_many_rows_are_streamed():
    X = RNG.standard_normal((3100, 3))
    mds = ClassicalMDS(2, metric="manhattan").fit(X)
    assert mds.solver_.name == "krylov" and mds.solver_.converged
    assert np.allclose(mds.transform(X[:50]), mds.embedding_[:50], atol=1e-6)
    with pytest.raises(MemoryLimitError):
        ClassicalMDS(2, metric="manhattan", memory_limit="1MB").fit(X)


def test_the_kernel_keeps_the_contract_of_operators():
    X = RNG.standard_normal((25, 3))
    check_operator(Gram(HalfSquaredDistance("manhattan"), X, tile=7), -0.5 * cdist(X, X, "cityblock") ** 2)


def test_distances_that_fit_no_space_are_said_to_be_so_where_it_matters():
    """Where a negative eigenvalue outweighs a coordinate, whoever computes the distances; else there is no need."""
    D = np.random.default_rng(0).uniform(size=(100, 100))
    D = np.triu(D, 1) + np.triu(D, 1).T  # no geometry at all: as much negative as positive
    values = np.linalg.eigvalsh(-0.5 * centred(D**2))
    assert -values[0] > 1.5 * values[-20]
    by_hand = ClassicalMDS(20, metric=lambda x, y: D[int(x[0]), int(y[0])])
    for model, X in ((ClassicalMDS(20, metric="precomputed"), D), (by_hand, np.arange(100.0)[:, None])):
        with pytest.warns(
            IndefiniteKernelWarning, match=r"fit no Euclidean space.*the last coordinate's.*Ask for fewer"
        ):
            Y = model.fit_transform(X)
        assert np.isfinite(Y).all()


@pytest.mark.parametrize("metric", ["manhattan", "chebyshev"])
def test_ordinary_distances_need_no_warning(metric):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ClassicalMDS(2, metric=metric).fit(IRIS)
        ClassicalMDS(2, metric="precomputed").fit(pairwise_distances(IRIS, metric=metric))
        Isomap(metric=metric).fit(IRIS[:50])


def centred(A):
    return A - A.mean(axis=0) - A.mean(axis=1, keepdims=True) + A.mean()


@pytest.mark.parametrize("model", [ClassicalMDS(), ClassicalMDS(metric="manhattan"), Isomap(), KernelPCA(2)], ids=repr)
def test_eigenvalues_beyond_float32_are_refused(model):
    X = (RNG.standard_normal((60, 4)) * 1e30).astype(np.float32)
    with pytest.raises(ValueError, match=r"float32"):
        model.fit(X)
    assert np.isfinite(model.fit(X.astype(np.float64)).eigenvalues_).all()
    assert np.isfinite(model.fit(X / np.float32(1e30)).eigenvalues_).all()


@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_units_far_from_one(scale):
    D = cdist(IRIS, IRIS)
    Y = ClassicalMDS(2, metric="precomputed").fit_transform(D)
    far = ClassicalMDS(2, metric="precomputed").fit(D * scale)
    assert np.allclose(far.embedding_ / scale, Y, atol=1e-9)


def test_sparse_rows_and_float32():
    X = np.where(IRIS > 2, IRIS, 0)
    dense = ClassicalMDS(2).fit_transform(X)
    assert np.allclose(np.abs(ClassicalMDS(2).fit_transform(sp.csr_array(X))), np.abs(dense), atol=1e-8)
    assert ClassicalMDS(2).fit_transform(X.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize(
    ("parameters", "X", "message"),
    [
        ({"metric": "precomputed"}, -np.ones((5, 5)), "negative"),
        ({"metric": "precomputed"}, np.triu(np.ones((5, 5)), 1), "symmetric"),
        ({"metric": "nothing"}, IRIS, "Metric|metric"),
        ({}, IRIS[:1], "minimum of 2"),
        ({}, np.full((4, 2), np.nan), "NaN"),
    ],
)
def test_what_cannot_be_scaled_is_refused(parameters, X, message):
    with pytest.raises(ValueError, match=message):
        ClassicalMDS(**parameters).fit(X)
