"""The scores of components: those of training rows are the same either way, and every error is within its bound."""

import warnings
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_iris,
    load_wine,
    make_blobs,
    make_circles,
    make_moons,
    make_swiss_roll,
)
from sklearn.decomposition import KernelPCA as SklearnKernelPCA
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale

from mercer import KernelPCA
from mercer.exceptions import MercerWarning, UncertainScoresWarning
from mercer.testing.spectra import rotated

SOLVERS = ("dense", "lanczos", "arpack", "krylov", "randomized", "power", "rpcholesky")
STREAMED = 2100  # rows from which the matrix is streamed


def _counts(rows, columns, seed=3):
    """Counts of words: each row has a few, drawn by rank as words are."""
    rng = np.random.default_rng(seed)
    chances = 1.0 / np.arange(1, columns + 1)
    return np.stack([rng.multinomial(40, chances / chances.sum()) for _ in range(rows)]).astype(np.float64)


def _with_outliers(rows):
    X = np.random.default_rng(4).standard_normal((rows, 3))
    X[::20] *= 50
    return X


DATA = {
    "moons": lambda n: make_moons(n, noise=0.2, random_state=0)[0],
    "circles": lambda n: make_circles(n, factor=0.3, noise=0.05, random_state=0)[0],
    "iris": lambda n: load_iris().data[:: max(1, 150 // n)],
    "wine": lambda n: scale(load_wine().data)[:: max(1, 178 // n)],
    "breast cancer": lambda n: scale(load_breast_cancer().data)[:n],
    "breast cancer, unscaled": lambda n: load_breast_cancer().data[:n],
    "digits": lambda n: load_digits().data[:n],
    "swiss roll": lambda n: make_swiss_roll(n, random_state=0)[0],
    "blobs with duplicates": lambda n: np.repeat(make_blobs(n // 2, random_state=0)[0], 2, axis=0),
    "sparse counts": lambda n: sp.csr_array(_counts(n, 200)),
    "few rows": lambda n: np.random.default_rng(5).standard_normal((20, 300)),
    "outliers": lambda n: _with_outliers(n),
    "far away": lambda n: make_moons(n, noise=0.2, random_state=1)[0] + 1000.0,
}
KERNELS = {
    "linear": {},
    "poly": {},
    "rbf": {"gamma": "median"},
    "laplacian": {},
    "cosine": {},
    "matern": {"gamma": "median"},
    "rational_quadratic": {"gamma": "median"},
    "arc_cosine": {},
    "sigmoid": {"gamma": 1e-8, "coef0": 0},
    "chi2": {},
    "additive_chi2": {},
    "intersection": {},
    "tanimoto": {},
    "hamming": {},
}
COUNTS_ONLY = ("chi2", "additive_chi2", "intersection", "tanimoto")


@cache
def data(name, n=50):
    return DATA[name](n)


def fitted(X, **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MercerWarning)
        return KernelPCA(**parameters).fit(X)


def training_scores(model):
    return np.asarray(model.eigenvectors_, np.float64) * np.sqrt(np.asarray(model.eigenvalues_, np.float64))


def excess(model, X):
    """The largest error of a training row's score, per component, in units of its bound."""
    apart = np.abs(np.asarray(model.transform(X), np.float64) - training_scores(model)).max(axis=0)
    bound = np.asarray(model.transform_error_, np.float64)
    assert np.all(apart[bound == 0] == 0)  # a component that is zero scores zero
    return apart[bound > 0] / bound[bound > 0]


def _suitable(X, kernel):
    if kernel in COUNTS_ONLY:
        return abs(X)
    return X


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", DATA)
def test_transform_of_the_training_rows_is_fit_transform_for_every_component(name, kernel):
    for dtype in (np.float64, np.float32):
        X = _suitable(data(name), kernel).astype(dtype)
        every = X.shape[0] // 2
        for solver in SOLVERS:
            # Power iteration is stopped early: the bound holds whatever residual is left. Sigmoids turn negative.
            k = {"power": 3, "dense": None}.get(solver, every)
            k = 2 if kernel == "sigmoid" else k
            if solver == "rpcholesky" and kernel in ("sigmoid", "additive_chi2"):
                continue  # not positive semidefinite: there is no factor
            model = fitted(X, n_components=k, kernel=kernel, eigen_solver=solver, max_iter=300, **KERNELS[kernel])
            assert excess(model, X).max(initial=0.0) <= 1, (solver, dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", ["moons", "wine", "breast cancer", "swiss roll", "digits"])
@pytest.mark.parametrize("solver", ["dense", "arpack", "krylov"])
def test_ordinary_data_keeps_every_component_to_a_hundredth_and_warns_of_none(name, dtype, solver):
    X = data(name, 200).astype(dtype)
    k = None if solver == "dense" else 60
    with warnings.catch_warnings():
        warnings.simplefilter("error", UncertainScoresWarning)
        model = KernelPCA(k, kernel="rbf", gamma="median", eigen_solver=solver).fit(X)
    apart = np.abs(np.asarray(model.transform(X), np.float64) - training_scores(model))
    alive = model.eigenvalues_ > 0
    assert np.all(np.linalg.norm(apart[:, alive], axis=0) <= 0.01 * np.sqrt(model.eigenvalues_[alive]))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_streamed_components_far_down_are_as_good(dtype):
    X = make_moons(STREAMED, noise=0.2, random_state=0)[0].astype(dtype)
    model = KernelPCA(60, kernel="rbf", gamma=2).fit(X)
    assert model.solver_.name == "krylov"
    assert excess(model, X).max() <= 1
    assert np.all(model.transform_error_ <= 0.01 * np.sqrt(model.eigenvalues_))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("solver", ["dense", "rpcholesky"])
def test_scores_of_new_rows_are_within_the_bound_of_exact_arithmetic(dtype, solver):
    """⟨φ̃(x), Σ αᵢφ̃(xᵢ)⟩ worked out with eleven digits more than float32 has, and three more than float64."""
    X, new = (make_moons(150, noise=0.2, random_state=seed)[0].astype(dtype) for seed in (0, 1))
    model = fitted(X, kernel="rbf", gamma=2, eigen_solver=solver)
    wide = np.longdouble if dtype == np.float64 else np.float64
    anchors = model.expansion_.anchors.astype(wide)

    def k(A):
        return np.exp(-2 * ((A.astype(wide)[:, None, :] - anchors[None, :, :]) ** 2).sum(axis=-1))

    alpha = model.expansion_.coefs.astype(wide)
    exact = k(new) @ alpha - (k(X) @ alpha).mean(axis=0)
    apart = np.abs(model.transform(new).astype(wide) - exact)
    rounded = np.finfo(dtype).eps * np.abs(exact)  # of the answer itself, which may be larger than any training score
    assert np.all(apart <= model.transform_error_ + rounded)


def test_float32_rows_are_mapped_in_float32_where_that_is_enough():
    X = data("moons", 300).astype(np.float32)
    few, many = (KernelPCA(k, kernel="rbf", gamma=2).fit(X) for k in (5, 80))
    assert few.expansion_.coefs.dtype == np.float32
    assert many.expansion_.coefs.dtype == np.float64
    assert few.transform(X).dtype == many.transform(X).dtype == np.float32
    assert many.eigenfunctions_[0](X).dtype == np.float32


def test_components_at_the_rounding_level_are_named_in_one_warning():
    X = data("far away", 300)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = KernelPCA(kernel="poly", degree=2).fit(X)
    said = [w for w in caught if w.category is UncertainScoresWarning]
    uncertain = np.flatnonzero(model.transform_error_ > 0.01 * np.sqrt(model.eigenvalues_))
    assert len(said) == 1 and len(uncertain)
    assert f"{len(uncertain)} of {len(model.eigenvalues_)} components" in str(said[0].message)
    assert f"{uncertain[-1]}" in str(said[0].message) and "rounding level" in str(said[0].message)


def test_residuals_that_blur_scores_are_named_as_the_reason():
    X = np.random.default_rng(0).random((300, 9))
    with pytest.warns(UncertainScoresWarning, match="the solver left residuals"):
        KernelPCA(3, kernel="laplacian", eigen_solver="randomized", iterated_power=0).fit(X)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", DATA)
def test_score_is_a_share_and_distances_are_not_negative(name, dtype):
    X = data(name, 120).astype(dtype)
    train, new = X[::2], X[1::2]
    for kernel in ("rbf", "poly", "linear"):
        model = fitted(train, kernel=kernel)
        for rows in (train, new):
            assert 0 <= model.score(rows) <= 1
            assert np.all(model.squared_distance(rows) >= 0)


def test_a_pipeline_that_standardises_the_scores_predicts_as_with_scikit_learn():
    """Dividing by a component's spread makes of a small error a large one: the sharpest test a user can make."""
    X, y = make_moons(1000, noise=0.2, random_state=0)
    scores = [
        make_pipeline(each(kernel="rbf", gamma=2), StandardScaler(), LogisticRegression())
        .fit(X[::2], y[::2])
        .score(X[1::2], y[1::2])
        for each in (KernelPCA, SklearnKernelPCA)
    ]
    assert abs(scores[0] - scores[1]) <= 0.02  # a few of 500 rows: components near 1e-12 γ₁ are rounding in both


@pytest.mark.parametrize("tol", [0.0, 1e-8, 1e-6, 1e-4])
def test_a_coarse_tolerance_still_leaves_small_components_certain(tol):
    """Residuals keep to tol beside γ₁, and to a tenth of what raises a warning, 1e-3, beside their own γ."""
    K = rotated(10.0 ** (-np.arange(150) / 3.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error", UncertainScoresWarning)
        model = KernelPCA(15, kernel="precomputed", eigen_solver="lanczos", tol=tol).fit(K)
    rounding = 100 * 150 * np.finfo(np.float64).eps * model.eigenvalues_[0]
    assert np.all(model.residuals_ <= (tol or 1e-10) * model.eigenvalues_[0] + rounding)
    assert np.all(model.residuals_ <= max(1e-6, min(100 * tol, 1e-3)) * model.eigenvalues_ + rounding)
