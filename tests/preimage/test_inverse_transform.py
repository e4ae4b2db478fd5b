"""KernelPCA.inverse_transform by every method: laws, kinds of data, and what is refused before work."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import ParameterGrid
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import KernelPCA
from mercer.exceptions import MercerWarning
from mercer.kernels import RBF, Matern, Polynomial
from mercer.preimage import METHODS, FixedPoint, LocalMDS, Ridge

RNG = np.random.default_rng(0)
X = RNG.standard_normal((50, 3)) @ np.diag([2.0, 1.0, 0.5])
NEW = RNG.standard_normal((7, 3))
OURS = ["ridge", "fixed_point", "mds"]


def model(method, k=4, **parameters):
    settings = {"kernel": "rbf", "gamma": 0.2, "fit_inverse_transform": True, "inverse_method": method}
    return KernelPCA(k, **(settings | parameters))


def round_trip(method, rows=X, new=NEW, **parameters):
    fitted = model(method, **parameters).fit(rows)
    return fitted.inverse_transform(fitted.transform(new))


@parametrize_with_checks([model(method, k=2, gamma=None) for method in METHODS])
@pytest.mark.filterwarnings("ignore::mercer.exceptions.MercerWarning")
def test_common_checks(estimator, check):
    check(estimator)


# --- laws --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", OURS)
def test_turned_and_moved_data_has_turned_and_moved_pre_images(method):
    Q, b = np.linalg.qr(RNG.standard_normal((3, 3)))[0], np.array([10.0, -5.0, 3.0])
    there = round_trip(method, X @ Q + b, NEW @ Q + b)
    assert_allclose(there, round_trip(method) @ Q + b, atol=1e-4)


@pytest.mark.parametrize("method", OURS)
@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_units_do_not_matter(method, scale):
    there = round_trip(method, scale * X, scale * NEW, gamma=0.2 / scale**2)
    assert_allclose(there / scale, round_trip(method), atol=1e-4)


@pytest.mark.parametrize("method", OURS)
def test_the_order_of_the_rows_does_not_matter(method):
    order = RNG.permutation(len(X))
    assert_allclose(round_trip(method, X[order]), round_trip(method), atol=1e-4)


@pytest.mark.parametrize("method", METHODS)
def test_each_row_is_on_its_own(method):
    fitted = model(method).fit(X)
    Z = fitted.transform(NEW)
    one_by_one = np.vstack([fitted.inverse_transform(Z[i : i + 1]) for i in range(len(Z))])
    assert_allclose(one_by_one, fitted.inverse_transform(Z), atol=1e-9)
    assert fitted.inverse_transform(Z[:0]).shape == (0, 3)


@pytest.mark.parametrize("method", METHODS)
def test_the_same_bits_again(method):
    assert_array_equal(round_trip(method), round_trip(method))


# --- kinds of data -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("solver", ["auto", "krylov", "rpcholesky"])
def test_single_precision_stays_so(method, solver):
    single = round_trip(method, X.astype(np.float32), NEW.astype(np.float32), eigen_solver=solver)
    assert single.dtype == np.float32
    assert_allclose(single, round_trip(method, eigen_solver=solver), atol=0.02)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("solver", ["auto", "rpcholesky"])
def test_sparse_rows_come_back_dense(method, solver):
    rows = np.where(RNG.random((50, 6)) < 0.6, 0.0, RNG.standard_normal((50, 6)))
    dense = round_trip(method, rows, rows, eigen_solver=solver)
    sparse = round_trip(method, sp.csr_array(rows), sp.csr_array(rows), eigen_solver=solver)
    assert isinstance(sparse, np.ndarray)
    assert_allclose(sparse, dense, atol=1e-4)


@pytest.mark.parametrize("method", METHODS)
def test_frames_and_pickles(method):
    frame = pd.DataFrame(X, columns=list("abc"))
    fitted = model(method).set_output(transform="pandas").fit(frame)
    scores = fitted.transform(frame)
    assert isinstance(scores, pd.DataFrame)
    assert_allclose(fitted.inverse_transform(scores), round_trip(method, new=X), atol=1e-9)
    assert_array_equal(pickle.loads(pickle.dumps(fitted)).inverse_transform(scores), fitted.inverse_transform(scores))


@pytest.mark.torch
@pytest.mark.parametrize("alpha", [1e-3, 0.1, "loo"])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("solver", ["auto", "rpcholesky"])
def test_tensors(alpha, kernel, solver):
    torch = pytest.importorskip("torch")
    parameters = {"alpha": alpha, "kernel": kernel, "eigen_solver": solver, "k": 2}
    method = Ridge(gamma=0.5)
    back = round_trip(method, torch.asarray(X), torch.asarray(NEW), **parameters)
    assert isinstance(back, torch.Tensor) and back.dtype == torch.float64
    assert_allclose(back.numpy(), round_trip(method, **parameters), atol=1e-5)


@pytest.mark.torch
def test_tensors_and_widths_by_leave_one_out():
    torch = pytest.importorskip("torch")
    back = round_trip("ridge", torch.asarray(X), torch.asarray(NEW), alpha="loo")
    assert_allclose(back.numpy(), round_trip("ridge", alpha="loo"), atol=1e-5)


@pytest.mark.torch
@pytest.mark.parametrize("kernel", [RBF(0.5), Matern(1.5), Polynomial(3, 1.0, 1.0)], ids=repr)
@pytest.mark.parametrize("method", [FixedPoint(), FixedPoint(start="ridge"), LocalMDS()], ids=repr)
def test_searches_on_tensors_find_what_they_find_on_arrays(method, kernel):
    torch = pytest.importorskip("torch")
    here, there = (model(method, kernel=kernel).fit(rows) for rows in (X, torch.asarray(X)))
    scores = here.transform(NEW)
    back = there.inverse_transform(torch.asarray(scores))
    assert isinstance(back, torch.Tensor) and back.dtype == torch.float64
    assert_allclose(back.numpy(), here.inverse_transform(scores), atol=1e-4)  # ten times the tolerance of a search


@pytest.mark.torch
def test_tensors_in_float32_give_rows_in_float32():
    torch = pytest.importorskip("torch")
    fitted = model("fixed_point").fit(torch.asarray(X, dtype=torch.float32))
    back = fitted.inverse_transform(fitted.transform(torch.asarray(NEW, dtype=torch.float32)))
    assert back.dtype == torch.float32
    assert_allclose(back.numpy(), round_trip("fixed_point"), atol=1e-3)


# --- degenerate data ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", OURS)
@pytest.mark.parametrize("alpha", [0.0, 1.0, "loo"])
@pytest.mark.parametrize(
    "rows",
    [np.ones((6, 3)), X[:1], np.repeat(X[:2], 4, axis=0), 1e-150 * X[:9], np.eye(4)],
    ids=["constant", "one", "two points", "tiny", "corners"],
)
@pytest.mark.parametrize("k", [1, None])
def test_degenerate_data_gives_finite_rows(method, alpha, rows, k):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MercerWarning)
        fitted = model(method, k=k, alpha=alpha).fit(rows)
        back = fitted.inverse_transform(fitted.transform(rows))
    assert back.shape == rows.shape and np.all(np.isfinite(back))
    if np.ptp(rows, axis=0).max() == 0:
        assert_allclose(back, rows, atol=1e-12)


# --- what is refused ---------------------------------------------------------------------------------------


def test_not_fitted_and_not_asked_for():
    with pytest.raises(NotFittedError):
        model("ridge").inverse_transform(X)
    with pytest.raises(NotFittedError, match="fit_inverse_transform"):
        KernelPCA(2).fit(X).inverse_transform(X[:, :2])


@pytest.mark.parametrize("parameters", [{"inverse_method": "newton"}, {"alpha": "best"}, {"alpha": -1.0}])
def test_bad_parameters(parameters):
    with pytest.raises(ValueError, match=next(iter(parameters))):
        KernelPCA(2, fit_inverse_transform=True, **parameters).fit(X)


# --- methods are values --------------------------------------------------------------------------------------


# --- what it is for ------------------------------------------------------------------------------------------


def test_digits_with_noise_are_cleaner_than_by_the_old_regression():
    """Every method at its best on one half of the noisy rows, compared on the other half."""
    rng = np.random.default_rng(0)
    rows = rng.permutation(load_digits().data / 16)
    train, clean = rows[:600], rows[600:900]
    noisy = clean + 0.25 * rng.standard_normal(clean.shape)

    def errors(method, n_components, gamma, **parameters):
        fitted = model(method, n_components, gamma=gamma, **parameters).fit(train)
        squares = ((fitted.inverse_transform(fitted.transform(noisy)) - clean) ** 2).mean(axis=1)
        return squares[::2].mean(), squares[1::2].mean()

    def best(method, **grid):
        return min(errors(method, **parameters) for parameters in ParameterGrid(grid))[1]

    theirs = best("sklearn", n_components=[20, 80], gamma=[0.01, 0.03, 0.1], alpha=[0.01, 0.1, 1.0])
    ridge = best(Ridge(gamma=3.0), n_components=[40, 80], gamma=[0.03, 0.1], alpha=[0.1, 0.3])
    fixed_point = best("fixed_point", n_components=[80, 150], gamma=[0.1, 0.2])
    mds = best("mds", n_components=[80, 150], gamma=[0.03, 0.1])
    assert max(ridge, fixed_point, mds) < 0.95 * theirs
    assert fixed_point < 0.85 * theirs
