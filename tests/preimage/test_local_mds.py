"""LocalMDS: distances go over as the formulas say, and the point is where they put it."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.decomposition import PCA

from mercer import KernelPCA
from mercer.kernels import RBF, Linear, Matern, Polynomial, RationalQuadratic
from mercer.preimage import LocalMDS
from mercer.preimage.local_mds import inverse_profile, point_at_distances

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 3))
NEW = RNG.standard_normal((8, 3))


def fitted(kernel, k=None, rows=X, q=10, **parameters):
    return KernelPCA(
        k, kernel=kernel, fit_inverse_transform=True, inverse_method=LocalMDS(n_neighbors=q), **parameters
    ).fit(rows)


# --- distances ---------------------------------------------------------------------------------------------


def test_for_a_gaussian_the_distance_is_a_logarithm():
    model = fitted(RBF(0.3), k=4)
    Z = model.transform(NEW)
    places, squares = model.preimage_.neighbors(Z, 5)
    norms = model.preimage_.fitted.squared_norms(Z)[:, None]
    products = 0.5 * (norms + 1 - squares) / np.sqrt(norms)
    assert products.min() > 0
    assert_allclose(
        model.preimage_.input_distances(Z, places, squares), -np.log(np.minimum(products, 1)) / 0.3, atol=1e-9
    )


@pytest.mark.parametrize(
    "kernel",
    [RBF(0.3), RationalQuadratic(2.0), Matern(0.5), Matern(1.5), Matern(0.8), Linear(), Polynomial(3, 0.2)],
    ids=repr,
)
def test_a_training_row_is_at_its_own_distances(kernel):
    """With every component P is φ(xᵢ) itself, so distances come back as they are."""
    model = fitted(kernel)
    Z = model.transform(X[:6])
    places, squares = model.preimage_.neighbors(Z, 10)
    found = model.preimage_.input_distances(Z, places, squares)
    true = ((X[:6, None, :] - X[places]) ** 2).sum(axis=2)
    assert_allclose(found, true, atol=2e-3 if kernel == Matern(1.5) else 1e-5, rtol=1e-4)


@pytest.mark.parametrize(
    "kernel", [RBF(0.3), Matern(1.5, 2.0), RationalQuadratic(2.0, 0.7), Polynomial(5, 0.1, 1.0)], ids=repr
)
def test_a_profile_turned_round(kernel):
    turned = inverse_profile(kernel, kernel.points(X))
    t = np.linspace(turned.low, turned.high, 50)[1:-1]
    assert turned.is_monotone()
    assert_allclose(turned(kernel.profile(t, np)), t, rtol=1e-6)
    beyond = turned(np.array([-1e9, 1e9]))
    assert set(np.round(beyond, 6)) <= {round(turned.low, 6), round(turned.high, 6)}


# --- the point ---------------------------------------------------------------------------------------------


def test_a_point_is_found_from_its_distances():
    rows, target = RNG.standard_normal((1, 6, 3)), RNG.standard_normal((1, 3))
    squares = ((rows - target[:, None]) ** 2).sum(axis=2)
    assert_allclose(point_at_distances(rows, squares), target, atol=1e-10)


def test_outside_their_span_it_is_the_foot_of_the_perpendicular():
    rows = np.concatenate([RNG.standard_normal((1, 6, 2)), np.zeros((1, 6, 1))], axis=2)
    target = np.array([[0.3, -0.2, 5.0]])
    squares = ((rows - target[:, None]) ** 2).sum(axis=2)
    assert_allclose(point_at_distances(rows, squares), [[0.3, -0.2, 0.0]], atol=1e-10)


@pytest.mark.parametrize("kernel", [RBF(0.3), RationalQuadratic(2.0), Matern(2.5, 2.0), Polynomial(3, 0.2)], ids=repr)
def test_all_components_bring_rows_back(kernel):
    model = fitted(kernel)
    assert_allclose(model.inverse_transform(model.transform(X)), X, atol=1e-3)


@pytest.mark.parametrize("rows", [X, sp.csr_array(X), X + 1e3], ids=["dense", "csr", "far"])
def test_a_linear_kernel_with_enough_neighbours_is_pca(rows):
    plain = PCA(2).fit(rows.toarray() if sp.issparse(rows) else rows)
    new = NEW + plain.mean_
    model = fitted(Linear(), k=2, rows=rows, q=40)
    assert_allclose(
        model.inverse_transform(model.transform(new)), plain.inverse_transform(plain.transform(new)), atol=1e-6
    )


def test_tiles_change_nothing():
    model = fitted(RBF(0.3), k=4)
    Z = model.transform(X)
    assert_allclose(model.preimage_(Z, tile_entries=120), model.inverse_transform(Z), atol=1e-10)


def test_more_neighbours_than_rows_are_all_of_them():
    few, all_of_them = (fitted(RBF(0.3), k=3, q=q).inverse_transform(np.zeros((1, 3))) for q in (60, 1000))
    assert_allclose(few, all_of_them)


def test_repeated_rows_are_harmless():
    model = fitted(RBF(0.3), k=3, rows=np.repeat(X[:5], 10, axis=0))
    assert np.all(np.isfinite(model.inverse_transform(3 * RNG.standard_normal((20, 3)))))


# --- what it refuses ---------------------------------------------------------------------------------------


def test_even_powers_need_data_of_one_sign():
    kernel = Polynomial(2, gamma=1.0, coef0=0.0)
    with pytest.raises(TypeError, match="odd degree"):
        fitted(kernel, k=2)
    model = fitted(kernel, k=5, rows=np.abs(X))
    assert np.all(np.isfinite(model.inverse_transform(model.transform(np.abs(NEW)))))


@pytest.mark.parametrize("q", [1, 0, 2.5, "many"])
def test_bad_neighbours(q):
    with pytest.raises(ValueError, match="n_neighbors"):
        fitted(RBF(0.3), q=q)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shift", [0.0, 100.0])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_neighbours_that_are_copies_of_one_row_give_that_row(dtype, shift, make):
    distinct = np.random.default_rng(0).standard_normal((3, 4)) + shift
    X = np.repeat(distinct, 12, axis=0).astype(dtype)
    kpca = KernelPCA(2, kernel="rbf", gamma="median", fit_inverse_transform=True, inverse_method="mds").fit(make(X))
    back = kpca.inverse_transform(kpca.transform(make(X)))
    assert back.dtype == dtype
    np.testing.assert_allclose(back, X, rtol=0, atol=4 * np.finfo(dtype).eps * (1 + shift))
