"""KernelCCA: the problem it states, scikit-learn's interface for two views, and input of every bad kind."""

import pickle
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import KernelCCA, KernelMap
from mercer.exceptions import (
    AsymmetricKernelWarning,
    DegenerateDataWarning,
    ForcedCorrelationWarning,
    MemoryLimitError,
    MercerWarning,
)
from mercer.kernels import RBF, Laplacian, Linear, Matern, Polynomial, Sigmoid, Spectrum


def two_views(n, seed):
    """One hidden variable, seen as a noisy circle with a useless column and as a noisy wave."""
    rng = np.random.default_rng(seed)
    t = rng.uniform(-3, 3, n)
    X = np.column_stack([np.cos(t), np.sin(t), rng.standard_normal(n)])
    Y = np.column_stack([np.sin(2 * t), np.cos(t) ** 2])
    return X + 0.1 * rng.standard_normal(X.shape), Y + 0.1 * rng.standard_normal(Y.shape)


(X, Y), (NEW_X, NEW_Y) = two_views(70, 0), two_views(40, 1)
KERNELS = [Linear(), Polynomial(2, 0.5), RBF(gamma=0.5), Laplacian(0.3), Matern()]


def centred(K):
    means = K.mean(axis=0)
    return K - means - means[:, None] + means.mean()


def textbook(K, L, reg, k):
    """K̃L̃b = ρ(K̃² + nλK̃)a and L̃K̃a = ρ(L̃² + nλL̃)b on n × n matrices: ρ, and the scores K̃a and L̃b.

    Where K̃ and L̃ are taken off the left, eliminating b leaves (K̃ + nλ)⁻¹L̃(L̃ + nλ)⁻¹K̃a = ρ²a. Scores are scaled so
    that variance and penalty together are one.
    """
    n = len(K)
    K, L = centred(K), centred(L)
    A, B = (M + reg * np.trace(M) * np.eye(n) for M in (K, L))
    squares, vectors = np.linalg.eig(np.linalg.solve(A, L) @ np.linalg.solve(B, K))
    order = np.argsort(-squares.real)[:k]
    rho, a = np.sqrt(squares.real[order]), vectors.real[:, order]
    a = a / np.sqrt(np.einsum("ij,ij->j", a, K @ A @ a) / n)
    b = np.linalg.solve(B, K @ a) / rho
    assert_allclose(K @ L @ b, K @ A @ a * rho, atol=1e-9 * n)
    assert_allclose(L @ K @ a, L @ B @ b * rho, atol=1e-9 * n)
    return rho, K @ a, L @ b


def same_up_to_sign(a, b, atol):
    signs = np.sign(np.sum(a * b, axis=0))
    assert_allclose(a * signs, b, atol=atol)


def finite(model):
    arrays = [model.correlations_, model.training_correlations_, model.residuals_, model.x_scores_, model.y_scores_]
    return all(np.all(np.isfinite(a)) for a in arrays) and np.all(np.isfinite(model.penalty_))


def plain(a, b):
    return np.array([np.corrcoef(a[:, i], b[:, i])[0, 1] for i in range(a.shape[1])])


# --- the problem that is stated ------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("reg", [1e-3, 0.1])
def test_pairs_are_those_of_the_textbook(kernel, reg):
    model = KernelCCA(2, kernel=kernel, kernel_y=RBF(gamma=1.0), reg=reg).fit(X, Y)
    rho, first, second = textbook(kernel(X), RBF(gamma=1.0)(Y), reg, 2)
    assert_allclose(model.correlations_, rho, atol=1e-10)
    same_up_to_sign(model.x_scores_, first, 1e-8)
    same_up_to_sign(model.y_scores_, second, 1e-8)
    assert_allclose(model.training_correlations_, plain(first, second), atol=1e-9)


def test_transform_is_the_centred_formula():
    """Of a new sample: k̃(x)ᵀa, with k̃ centred as the training matrix is and K̃a the training scores."""
    model = KernelCCA(2, kernel=RBF(gamma=0.5), reg=0.05).fit(X, Y)
    K, k = RBF(gamma=0.5)(X), RBF(gamma=0.5)(NEW_X, X)
    k = k - k.mean(axis=1, keepdims=True) - K.mean(axis=0) + K.mean()
    a = np.linalg.pinv(centred(K), rcond=1e-12, hermitian=True) @ model.x_scores_
    assert_allclose(model.transform(NEW_X), k @ a, atol=1e-6)


@pytest.mark.parametrize("rank", [None, "auto", 30])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_transform_of_the_training_samples_gives_their_scores(kernel, rank):
    model = KernelCCA(2, kernel=kernel, reg=0.01, rank=rank).fit(X, Y)
    first, second = model.transform(X, Y)
    assert_allclose(first, model.x_scores_, atol=1e-7)
    assert_allclose(second, model.y_scores_, atol=1e-7)
    assert_allclose(model.correlations(X, Y), model.training_correlations_, atol=1e-7)
    assert_allclose(model.fit_transform(X, Y), first, atol=1e-7)


def test_scale_signs_and_order():
    """Variance plus penalty is one, so the variance alone is less; scores are centred and ρ falls."""
    model = KernelCCA(4, reg=0.01).fit(X, Y)
    for scores in (model.x_scores_, model.y_scores_):
        assert_allclose(scores.mean(axis=0), 0, atol=1e-10)
        assert np.all((scores.var(axis=0) > 0.1) & (scores.var(axis=0) < 1))
    assert np.all(np.diff(model.correlations_) <= 0)
    assert np.all(model.x_scores_[np.abs(model.x_scores_).argmax(axis=0), range(4)] > 0)
    assert np.all(model.correlations_ <= model.training_correlations_)
    assert model.residuals_.shape == (4, 2) and model.residuals_.max() < 1e-12


def test_the_penalty_is_relative_and_told():
    model = KernelCCA(1, kernel=RBF(gamma=0.5), reg=(0.1, 0.3)).fit(X, Y)
    variances = [np.trace(centred(RBF(gamma=0.5)(V))) / 70 for V in (X, Y)]
    assert_allclose(model.penalty_, [0.1 * variances[0], 0.3 * variances[1]], rtol=1e-10)


def test_more_penalty_less_correlation():
    found = [KernelCCA(1, reg=reg).fit(X, Y).correlations_[0] for reg in (1e-6, 1e-4, 1e-2, 1.0, 100.0)]
    assert np.all(np.diff(found) < 0) and found[0] > 0.99 and found[-1] < 0.1


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_huge_penalty_leaves_the_covariance(dtype):
    """As reg → ∞ correlations give way to covariances: the directions are the singular vectors of X̃ᵀỸ."""
    first, second = X.astype(dtype), Y.astype(dtype)
    model = KernelCCA(2, kernel="linear", reg=1e8).fit(first, second)
    U, s, _ = np.linalg.svd((X - X.mean(axis=0)).T @ (Y - Y.mean(axis=0)))
    expected = (X - X.mean(axis=0)) @ U[:, :2]
    agreement = plain(model.x_scores_, expected)
    assert_allclose(np.abs(agreement), 1.0, atol=1e-5)
    assert_allclose(model.correlations_[1] / model.correlations_[0], s[1] / s[0], rtol=1e-4)


def test_a_view_and_itself():
    """Equal views have equal scores, and correlate perfectly for a reason."""
    model = KernelCCA(2, reg=0.01).fit(X, X)
    assert_allclose(model.x_scores_, model.y_scores_, atol=1e-7)
    assert_allclose(model.training_correlations_, 1.0, atol=1e-10)


def test_as_many_components_as_columns_and_samples():
    square = np.random.default_rng(4).standard_normal((2, 21, 20))
    with pytest.warns(ForcedCorrelationWarning):
        model = KernelCCA(20, kernel="linear", reg=0).fit(*square)
    assert finite(model) and np.all(np.isfinite(model.transform(square[0])))
    assert_allclose(model.correlations_, 1.0, atol=1e-8)


def test_views_can_change_places():
    there, back = KernelCCA(2, reg=(0.01, 0.1)).fit(X, Y), KernelCCA(2, reg=(0.1, 0.01)).fit(Y, X)
    assert_allclose(there.correlations_, back.correlations_, rtol=1e-9)
    same_up_to_sign(there.x_scores_, back.y_scores_, 1e-7)


def test_what_two_nonlinear_views_share_is_found():
    model = KernelCCA(1, gamma="median").fit(*two_views(500, 3))
    linear = KernelCCA(1, kernel="linear").fit(*two_views(500, 3))
    held_out = two_views(500, 4)
    assert model.score(*held_out) > 0.9 > 0.5 > linear.score(*held_out)


# --- why there is a penalty ----------------------------------------------------------------------------------


def test_without_a_penalty_noise_correlates_perfectly_and_is_worth_nothing():
    """The features of n samples span n − 1 dimensions: any direction of one view can be matched by the other."""
    rng = np.random.default_rng(0)
    noise, other, new, new_other = (rng.standard_normal((n, 4)) for n in (150, 150, 2000, 2000))
    with pytest.warns(ForcedCorrelationWarning, match="149 and 149 of 149 dimensions"):
        free = KernelCCA(2, reg=0).fit(noise, other)
    assert_allclose(free.training_correlations_, 1.0, atol=1e-6)
    assert abs(free.score(new, new_other)) < 0.1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        held = KernelCCA(2, reg=0.1).fit(noise, other)
    assert held.training_correlations_.max() < 0.9 and abs(held.score(new, new_other)) < 0.1


def test_the_warning_counts_dimensions():
    """Spaces of r₁ and r₂ dimensions meet in r₁ + r₂ − (n − 1) at least: no warning where that is nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        KernelCCA(2, kernel="linear", reg=0).fit(X, Y)
        KernelCCA(2, kernel="linear", reg=0).fit(X[:6], Y[:6])  # 3 + 2 = 5 dimensions of 5
    with pytest.warns(ForcedCorrelationWarning, match="so one pair matches whatever"):
        few = KernelCCA(1, kernel="linear", reg=0).fit(X[:5], Y[:5])
    assert_allclose(few.correlations_, 1.0, rtol=1e-9)
    with pytest.warns(ForcedCorrelationWarning):  # one view is free and spans everything
        half = KernelCCA(1, kernel=RBF(gamma=50.0), kernel_y=RBF(gamma=0.5), reg=(0, 0.1)).fit(X, Y)
    assert_allclose(half.training_correlations_, 1.0, atol=1e-6)


def digit_halves(n, seed):
    images = load_digits().images[np.random.default_rng(seed).permutation(1797)[:n]] / 16
    return images[:, :, :4].reshape(n, -1), images[:, :, 4:].reshape(n, -1)


def noisy_factors(n, seed):
    """Two linear factors under as much noise."""
    loadings = np.random.default_rng(7).standard_normal((2, 2, 8))
    rng = np.random.default_rng(seed)
    shared = rng.standard_normal((n, 2))
    return tuple(shared @ A + rng.standard_normal((n, 8)) for A in loadings)


@pytest.mark.parametrize("source", [two_views, digit_halves, noisy_factors])
def test_the_default_penalty_is_among_the_best(source):
    X, Y = source(700, 10)
    scores = [
        KernelCCA(2, gamma="median", reg=reg).fit(X[:300], Y[:300]).score(X[300:], Y[300:])
        for reg in (1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)
    ]
    assert KernelCCA().reg == 1e-3 and scores[2] > max(scores) - 0.05 and scores[2] > 0.6


# --- laws ----------------------------------------------------------------------------------------------------


@given(seed=st.integers(0, 10**6), kernel=st.sampled_from(KERNELS))
def test_the_order_of_samples_does_not_matter(seed, kernel):
    order = np.random.default_rng(seed).permutation(70)
    model = KernelCCA(2, kernel=kernel, reg=0.01)
    first, second = model.fit(X, Y).x_scores_, model.y_scores_
    model.fit(X[order], Y[order])
    assert_allclose(model.x_scores_, first[order], atol=1e-6)
    assert_allclose(model.y_scores_, second[order], atol=1e-6)


@given(seed=st.integers(0, 10**6))
def test_affine_maps_change_nothing_in_the_linear_case(seed):
    rng = np.random.default_rng(seed)
    A, B = (rng.standard_normal((d, d)) + 3 * np.eye(d) for d in (3, 2))
    model = KernelCCA(2, kernel="linear", reg=0)
    first = model.fit_transform(X, Y)
    same_up_to_sign(model.fit_transform(X @ A + 5, Y @ B - 70), first, 1e-6)


@given(seed=st.integers(0, 10**6), power=st.floats(-5, 5))
def test_scales_rotations_and_shifts_change_nothing_for_rbf(seed, power):
    Q, s = np.linalg.qr(np.random.default_rng(seed).standard_normal((3, 3)))[0], 10**power
    first = KernelCCA(2, gamma=0.4, reg=0.01).fit_transform(X, Y)
    moved = KernelCCA(2, gamma=0.4 / s**2, gamma_y=0.4, reg=0.01).fit_transform(s * (X @ Q + 3), Y)
    assert_allclose(moved, first, atol=1e-6)


@given(cut=st.integers(1, 39))
def test_samples_are_transformed_one_by_one(cut):
    model = KernelCCA(2, rank=30).fit(X, Y)
    for whole, part in zip(model.transform(NEW_X, NEW_Y), model.transform(NEW_X[:cut], NEW_Y[:cut]), strict=True):
        assert_allclose(part, whole[:cut], atol=1e-10)


def test_a_factor_of_full_rank_is_exact_and_a_small_one_near():
    data = two_views(400, 5)
    exact = KernelCCA(2, gamma="median").fit(*data)
    errors = []
    for rank in (20, 60, 400):
        rough = KernelCCA(2, gamma="median", rank=rank).fit(*data)
        assert rough.rank_ == (rank, rank) or rank == 400
        errors.append(np.abs(rough.correlations_ - exact.correlations_).max())
        assert 0 <= max(rough.factor_error_) < 1
    assert errors[0] > errors[1] > errors[2] and errors[1] < 0.02 and errors[2] < 1e-8
    assert_allclose(rough.transform(NEW_X), exact.transform(NEW_X), atol=1e-5)


def test_two_fits_give_the_same_bits():
    for rank in (None, 25):
        a, b = (KernelCCA(2, rank=rank).fit(X, Y) for _ in range(2))
        assert_array_equal(a.x_scores_, b.x_scores_)
        assert_array_equal(a.transform_y(NEW_Y), b.transform_y(NEW_Y))
    seeds = [KernelCCA(2, rank=25, random_state=seed).fit(X, Y).x_scores_ for seed in (0, 1)]
    assert not np.array_equal(*seeds)


# --- scikit-learn --------------------------------------------------------------------------------------------


@parametrize_with_checks(
    [
        KernelCCA(),
        KernelCCA(1, kernel="linear"),
        KernelCCA(2, kernel="poly", kernel_y=Matern(), reg=0.1),
        KernelCCA(2, gamma="median", rank=20),
        KernelCCA(1, reg=(0.0, 0.1)),
    ]
)
@pytest.mark.filterwarnings("ignore::mercer.exceptions.MercerWarning")
def test_common_checks(estimator, check):
    check(estimator)


def test_plain_grid_search():
    data = two_views(240, 6)
    search = GridSearchCV(KernelCCA(), {"reg": [1e-3, 0.1, 10.0], "gamma": [1e-3, 0.5]}, cv=3, error_score="raise")
    search.fit(*data)
    assert np.all(np.isfinite(search.cv_results_["mean_test_score"]))
    assert search.best_params_ == {"reg": 1e-3, "gamma": 0.5}
    assert_allclose(search.score(NEW_X, NEW_Y), search.best_estimator_.score(NEW_X, NEW_Y))


def test_score_is_the_mean_correlation():
    model = KernelCCA(3).fit(X, Y)
    expected = plain(model.transform(NEW_X), model.transform_y(NEW_Y))
    assert_allclose(model.correlations(NEW_X, NEW_Y), expected)
    assert_allclose(model.score(NEW_X, NEW_Y), expected.mean())
    with pytest.raises(ValueError, match="two samples"):
        model.score(NEW_X[:1], NEW_Y[:1])


@pytest.mark.parametrize("target", [Y[:, 0], Y[:, :1], Y[:, 0].tolist(), pd.Series(Y[:, 0], name="wave")])
def test_one_dimension_is_one_column(target):
    model = KernelCCA(2).fit(X, target)
    assert_array_equal(model.x_scores_, KernelCCA(2).fit(X, Y[:, :1]).x_scores_)
    assert np.all(np.isfinite(cross_val_score(KernelCCA(1), X, target, cv=3, error_score="raise")))
    assert model.n_features_y_in_ == 1


def test_pipelines():
    """As the last step it scores two views; before a regressor it gives the scores of X alone."""
    last = make_pipeline(StandardScaler(), KernelCCA(2)).fit(X, Y)
    assert_allclose(last.transform(NEW_X), KernelCCA(2).fit(*_scaled(X), Y).transform(*_scaled(NEW_X)), atol=1e-8)
    assert -1 <= last.score(NEW_X, NEW_Y) <= 1
    inner = make_pipeline(StandardScaler(), KernelCCA(3), Ridge(1e-3)).fit(X, Y)
    assert inner.predict(NEW_X).shape == NEW_Y.shape and inner.score(NEW_X, NEW_Y) > 0.5
    search = GridSearchCV(last, {"kernelcca__reg": [1e-3, 0.1]}, cv=3, error_score="raise").fit(X, Y)
    assert search.best_params_["kernelcca__reg"] in (1e-3, 0.1)


def _scaled(data):
    return (StandardScaler().fit(X).transform(data),)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_set_output(library):
    kind = pd.DataFrame if library == "pandas" else pl.DataFrame
    model = KernelCCA(2).set_output(transform=library)
    frames = [model.fit_transform(pd.DataFrame(X, columns=list("abc")), Y), *model.transform(model_frame(X), Y)]
    assert all(isinstance(frame, kind) for frame in frames)
    assert all(list(frame.columns) == ["kernelcca0", "kernelcca1"] for frame in frames)
    assert list(model.get_feature_names_out()) == ["kernelcca0", "kernelcca1"]
    assert_allclose(np.asarray(frames[2]), KernelCCA(2).fit(X, Y).y_scores_, atol=1e-8)


def model_frame(data):
    return pd.DataFrame(data, columns=list("abc"))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_frames_in_both_views(frame):
    first, second = frame(dict(zip("abc", X.T, strict=True))), frame(dict(zip("uv", Y.T, strict=True)))
    model = KernelCCA(2).fit(first, second)
    assert list(model.feature_names_in_) == list("abc")
    assert_allclose(model.x_scores_, KernelCCA(2).fit(X, Y).x_scores_, atol=1e-9)
    assert_allclose(model.transform(first, second)[1], model.y_scores_, atol=1e-8)
    with pytest.raises(ValueError, match="feature names"):
        model.transform_y(pd.DataFrame(Y, columns=["v", "u"]))


@pytest.mark.parametrize(
    "parameters",
    [
        {"n_components": 0},
        {"n_components": 0.5},
        {"kernel": "gauss"},
        {"kernel_y": "gauss"},
        {"gamma": -1.0},
        {"gamma_y": "auto"},
        {"degree_y": -1},
        {"coef0_y": "one"},
        {"kernel_params_y": 3},
        {"reg": -0.1},
        {"reg": (0.1, -0.1)},
        {"reg": (0.1, 0.1, 0.1)},
        {"reg": np.inf},
        {"reg": (0.1, np.nan)},
        {"reg": "auto"},
        {"rank": 0},
        {"rank": "all"},
        {"memory_limit": "much"},
    ],
    ids=str,
)
def test_parameters_are_checked(parameters):
    with pytest.raises(ValueError, match=next(iter(parameters))):
        KernelCCA(**parameters).fit(X, Y)


def test_pickle_and_clone():
    model = KernelCCA(2).fit(X, Y)
    again = pickle.loads(pickle.dumps(model))
    for a, b in zip(again.transform(NEW_X, NEW_Y), model.transform(NEW_X, NEW_Y), strict=True):
        assert_array_equal(a, b)
    assert not hasattr(clone(model), "correlations_")


def test_not_fitted():
    for call in (lambda m: m.transform(X), lambda m: m.transform_y(Y), lambda m: m.score(X, Y)):
        with pytest.raises(NotFittedError):
            call(KernelCCA())


# --- kinds of views ------------------------------------------------------------------------------------------


def test_each_view_has_its_own_kernel_and_width():
    model = KernelCCA(1).fit(X, Y)
    assert (model.gamma_, model.gamma_y_) == (1 / 3, 1 / 2)
    model = KernelCCA(1, gamma="median").fit(X, Y)
    assert model.gamma_ != model.gamma_y_
    model = KernelCCA(1, kernel="poly", gamma=0.5, degree=2, coef0=2, kernel_y="poly", degree_y=4, coef0_y=0).fit(X, Y)
    assert (model.kernel_, model.kernel_y_) == (Polynomial(2, 0.5, 2), Polynomial(4, 0.5, 0))
    named = KernelCCA(1, kernel="rbf", gamma=0.5, kernel_y="laplacian", gamma_y=0.3).fit(X, Y)
    objects = KernelCCA(1, kernel=RBF(gamma=0.5), kernel_y=Laplacian(0.3)).fit(X, Y)
    assert_array_equal(named.x_scores_, objects.x_scores_)
    function = KernelCCA(
        1, kernel=lambda A, B, c: (A @ B.T + c) ** 2, kernel_params={"c": 1}, kernel_params_y={"c": 3}, reg=0.1
    ).fit(X, Y)
    poly = KernelCCA(1, kernel=Polynomial(2, 1, 1), kernel_y=Polynomial(2, 1, 3), reg=0.1).fit(X, Y)
    assert_allclose(function.x_scores_, poly.x_scores_, atol=1e-7)


@pytest.mark.parametrize("rank", [None, 30])
def test_float32_stays_float32(rank):
    model = KernelCCA(2, reg=0.01, rank=rank)
    small = [V.astype(np.float32) for V in (X, Y)]
    arrays = [model.fit_transform(*small), *model.transform(*small), model.correlations_, model.residuals_]
    assert all(a.dtype == np.float32 for a in arrays)
    assert_allclose(model.correlations_, KernelCCA(2, reg=0.01, rank=rank).fit(X, Y).correlations_, atol=1e-4)
    assert_allclose(arrays[1], model.x_scores_, atol=5e-3)


def test_each_view_keeps_its_precision():
    model = KernelCCA(2, reg=0.01).fit(X.astype(np.float32), Y)
    first, second = model.transform(X, Y)
    assert (first.dtype, second.dtype) == (np.float32, np.float64)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
@pytest.mark.parametrize("rank", [None, 20])
def test_csr_is_dense(kernel, rank):
    first, second = np.where(np.abs(X) > 0.5, X, 0.0), np.where(np.abs(Y) > 0.3, Y, 0.0)
    model = KernelCCA(2, kernel=kernel, rank=rank, reg=0.01)
    dense = model.fit(first, second).transform(NEW_X, NEW_Y)
    for kind in (sp.csr_matrix, sp.csr_array, sp.coo_array):
        scores = model.fit(kind(first), kind(second)).transform(kind(NEW_X), kind(NEW_Y))
        for a, b in zip(scores, dense, strict=True):
            assert_allclose(a, b, atol=1e-6)


def sentences(n, seed):
    """Words whose letters follow a number that the other view holds."""
    rng = np.random.default_rng(seed)
    share = rng.random(n)
    words = ["".join(rng.choice(["ab", "cd"], size=12, p=[s, 1 - s])) for s in share]
    return words, np.column_stack([share, rng.random(n)])


@pytest.mark.parametrize("rank", [None, 30])
def test_texts_in_one_view_and_numbers_in_the_other(rank):
    (words, numbers), (new_words, new_numbers) = sentences(150, 0), sentences(100, 1)
    model = KernelCCA(1, kernel=Spectrum(2), kernel_y="rbf", rank=rank, reg=0.01).fit(words, numbers)
    assert model.score(new_words, new_numbers) > 0.8
    assert np.all(np.isfinite(model.transform(["zzzz", ""])))
    turned = KernelCCA(1, kernel="rbf", kernel_y=Spectrum(2), rank=rank, reg=0.01).fit(numbers, words)
    assert_allclose(turned.score(new_numbers, new_words), model.score(new_words, new_numbers), rtol=1e-7)
    search = GridSearchCV(KernelCCA(1, kernel=Spectrum(), kernel_y="rbf"), {"kernel__length": [1, 2]}, cv=3)
    assert np.all(np.isfinite(search.fit(words, numbers).cv_results_["mean_test_score"]))


@pytest.mark.parametrize("rank", [None, 30])
@pytest.mark.parametrize("which", ["x", "y", "both"])
def test_precomputed_is_the_kernel(which, rank):
    own = KernelCCA(2, kernel=RBF(gamma=0.5), rank=rank, reg=0.01).fit(X, Y)
    kernels = ["precomputed" if which in (view, "both") else RBF(gamma=0.5) for view in "xy"]
    views = [RBF(gamma=0.5)(V) if k == "precomputed" else V for k, V in zip(kernels, (X, Y), strict=True)]
    news = [
        RBF(gamma=0.5)(new, V) if k == "precomputed" else new
        for k, new, V in zip(kernels, (NEW_X, NEW_Y), (X, Y), strict=True)
    ]
    given_ = KernelCCA(2, kernel=kernels[0], kernel_y=kernels[1], rank=rank, reg=0.01).fit(*views)
    for a, b in zip(given_.transform(*news), own.transform(NEW_X, NEW_Y), strict=True):
        assert_allclose(a, b, atol=1e-6)
    assert_allclose(given_.score(*news), own.score(NEW_X, NEW_Y), atol=1e-7)


def test_a_precomputed_first_view_is_cut_both_ways_in_a_search():
    search = GridSearchCV(KernelCCA(1, kernel="precomputed", kernel_y="rbf"), {"reg": [1e-3, 1.0]}, cv=3)
    search.set_params(error_score="raise").fit(RBF(gamma=0.5)(X), Y)
    direct = GridSearchCV(KernelCCA(1, kernel=RBF(gamma=0.5), kernel_y="rbf"), {"reg": [1e-3, 1.0]}, cv=3).fit(X, Y)
    assert_allclose(search.cv_results_["mean_test_score"], direct.cv_results_["mean_test_score"], atol=1e-7)


@pytest.mark.parametrize("rank", [None, 30])
def test_strict_arrays_give_the_same_numbers(rank):
    strict = pytest.importorskip("array_api_strict")
    model, there = (KernelCCA(2, rank=rank, reg=0.01) for _ in range(2))
    expected = model.fit(X, Y).transform(NEW_X, NEW_Y)
    scores = there.fit(strict.asarray(X), strict.asarray(Y)).transform(strict.asarray(NEW_X), strict.asarray(NEW_Y))
    for a, b in zip(scores, expected, strict=True):
        assert isinstance(a, type(strict.asarray(X)))
        assert_allclose(np.from_dlpack(a), b, atol=1e-6)
    assert_allclose(there.score(strict.asarray(NEW_X), strict.asarray(NEW_Y)), model.score(NEW_X, NEW_Y), rtol=1e-6)
    assert there.fit(strict.asarray(X), strict.asarray(Y[:, 0])).n_features_y_in_ == 1


def test_views_in_different_places_are_refused():
    strict = pytest.importorskip("array_api_strict")
    with pytest.raises(ValueError, match="one array type"):
        KernelCCA().fit(strict.asarray(X), Y)


@pytest.mark.torch
@pytest.mark.parametrize("rank", [None, 30])
def test_torch_tensors_give_the_same_numbers(rank):
    torch = pytest.importorskip("torch")
    model, there = (KernelCCA(2, rank=rank, reg=0.01) for _ in range(2))
    expected = model.fit(X, Y).transform(NEW_X, NEW_Y)
    scores = there.fit(torch.asarray(X), torch.asarray(Y)).transform(torch.asarray(NEW_X), torch.asarray(NEW_Y))
    for a, b in zip(scores, expected, strict=True):
        assert isinstance(a, torch.Tensor)
        assert_allclose(a.numpy(), b, atol=1e-6)


# --- memory --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rank", [None, 500])
def test_a_fit_that_does_not_fit_is_refused_before_it_starts(rank):
    wide = np.arange(40_000.0).reshape(20_000, 2)
    tracemalloc.start()
    with pytest.raises(MemoryLimitError, match="memory_limit") as refused:
        KernelCCA(rank=rank, memory_limit="100MB").fit(wide, wide)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5 * wide.nbytes
    assert "20,000" in str(refused.value) and "Try" in str(refused.value)


def test_the_limit_is_for_both_views_together():
    needed = KernelCCA().plan(X, Y).needed_bytes
    assert needed > 1.5 * KernelMap("rbf", rank=None).plan(X).footprint.held["factor"]
    KernelCCA(memory_limit=needed).fit(X, Y)
    with pytest.raises(MemoryLimitError):
        KernelCCA(memory_limit=needed - 1).fit(X, Y)


def test_only_landmarks_are_kept():
    model = KernelCCA(1, rank=12).fit(X, Y)
    assert model.X_fit_.shape == (12, 3) and model.Y_fit_.shape == (12, 2)
    assert len(pickle.dumps(model)) < len(pickle.dumps(KernelCCA(1).fit(X, Y)))


# --- bad input -----------------------------------------------------------------------------------------------

BAD = [
    (np.full((70, 2), np.nan), "NaN"),
    (np.full((70, 2), np.inf), "infinity"),
    (np.empty((0, 2)), "0 sample"),
    (np.empty((70, 0)), "0 feature"),
    (np.ones((70, 2, 2)), "dim 3|2D|<= 2"),
    (np.full((70, 2), "a"), "could not convert|string"),
    (np.ones((70, 2)) * 1j, "omplex"),
    (None, "scalar array|y is None"),
]


@pytest.mark.parametrize(("data", "match"), BAD, ids=["nan", "inf", "empty", "bare", "3d", "text", "complex", "none"])
def test_bad_data_in_either_view(data, match):
    for views in ((data, Y), (X, data)):
        with pytest.raises((ValueError, TypeError), match=match):
            KernelCCA().fit(*views)


def test_bad_new_data():
    model = KernelCCA().fit(X, Y)
    with pytest.raises(ValueError, match="X has 2 features, but KernelCCA is expecting 3"):
        model.transform(Y)
    with pytest.raises(ValueError, match="y has 3 features, but KernelCCA is expecting 2"):
        model.transform_y(X)
    with pytest.raises(ValueError, match="NaN"):
        model.transform(X, Y * np.nan)
    with pytest.raises(ValueError, match="inconsistent numbers"):
        model.score(NEW_X, NEW_Y[:-1])


def test_views_must_have_the_same_samples():
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        KernelCCA().fit(X, Y[:-1])
    with pytest.raises(ValueError, match=r"1 sample|two samples"):
        KernelCCA().fit(X[:1], Y[:1])
    with pytest.raises(ValueError, match="two samples"):
        KernelCCA(kernel=Spectrum()).fit(["banana"], ["ananas"])


def test_a_precomputed_kernel_must_be_square_and_symmetric():
    with pytest.raises(ValueError, match="square"):
        KernelCCA(kernel="precomputed", kernel_y="rbf").fit(np.ones((70, 4)), Y)
    with pytest.raises(ValueError, match="square"):
        KernelCCA(kernel_y="precomputed").fit(X, np.ones((70, 4)))
    K, skew = RBF(gamma=0.5)(X) + np.eye(70), 0.01 * np.triu(np.random.default_rng(0).random((70, 70)), 1)
    with pytest.warns(AsymmetricKernelWarning):
        model = KernelCCA(kernel_y="precomputed").fit(X, K + skew)
    assert_allclose(model.x_scores_, KernelCCA(kernel_y="precomputed").fit(X, K + (skew + skew.T) / 2).x_scores_)


def test_indefinite_kernels_are_refused():
    with pytest.raises(ValueError, match="not positive semidefinite"):
        KernelCCA(kernel=Sigmoid(gamma=1.0, coef0=-1.0)).fit(X, Y)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("rank", [None, 20])
@pytest.mark.parametrize("reg", [0.0, 0.1])
@pytest.mark.parametrize("value", [0.0, 0.1, 1e100])
def test_a_constant_view_is_a_named_warning(kernel, rank, reg, value):
    for views, name in (((np.full((70, 2), value), Y), "X"), ((X, np.full(70, value)), "y")):
        with pytest.warns(DegenerateDataWarning, match=f"{name} has no variation"):
            model = KernelCCA(2, kernel=kernel, rank=rank, reg=reg).fit(*views)
        assert finite(model) and model.score(*views) == 0.0
        assert_array_equal(model.correlations_, 0)
        assert_array_equal(model.transform(views[0]), 0)


def test_constant_columns_do_no_harm():
    wide = np.column_stack([X, np.full(70, 3.0)])
    for reg in (0.0, 0.01):
        model = KernelCCA(2, kernel="linear", reg=reg)
        assert_allclose(model.fit(wide, Y).x_scores_, model.fit(X, Y).x_scores_, atol=1e-8)


@pytest.mark.parametrize("reg", [0.0, 0.01])
def test_more_components_than_there_are(reg):
    with pytest.warns(DegenerateDataWarning, match="only 2 pairs of directions"):
        model = KernelCCA(5, kernel="linear", reg=reg).fit(X, Y)
    assert finite(model) and model.transform(NEW_X).shape == (40, 5)
    assert_array_equal(model.transform(NEW_X)[:, 2:], 0)
    assert_array_equal(model.correlations_[2:], 0)
    assert_allclose(model.correlations_[:2], KernelCCA(2, kernel="linear", reg=reg).fit(X, Y).correlations_)


def test_duplicated_samples():
    twice = np.repeat(np.arange(10), 4)
    with warnings.catch_warnings():
        warnings.simplefilter("error", MercerWarning)
        model = KernelCCA(2, reg=0.01).fit(X[twice], Y[twice])
    once = KernelCCA(2, reg=0.01).fit(X[:10], Y[:10])
    assert_allclose(model.correlations_, once.correlations_, atol=1e-8)  # the same distribution of samples
    assert_allclose(model.transform(NEW_X), once.transform(NEW_X), atol=1e-6)


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "laplacian", "cosine"])
@pytest.mark.parametrize("scale", [1e-200, 1e-100, 1e-12, 1e12, 1e100, 1e200])
def test_extreme_scales(kernel, scale):
    """A clear error or finite numbers, with named warnings at most."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", MercerWarning)
        try:
            model = KernelCCA(2, kernel=kernel, kernel_y="rbf").fit(scale * X, Y)
        except ValueError as error:
            assert "overflow" in str(error)
            return
        scores = model.transform(scale * NEW_X)
    assert finite(model) and np.all(np.isfinite(scores))


@pytest.mark.parametrize("reg", ["cv", 1e-6, 1e-5, 1e-4])
def test_small_penalties_give_the_pairs_of_factors(reg):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((600, 6))
    B = np.c_[A[:, :3] + A[:, 3:] ** 2, np.sin(A[:, :3])]
    model = KernelCCA(2, kernel="laplacian", gamma="median", reg=reg).fit(A, B)
    # A factor of all columns gives the same pairs by another route: singular values of L₁⁻¹F₁ᵀF₂L₂⁻ᵀ.
    expected = KernelCCA(2, kernel="laplacian", gamma="median", reg=model.reg_, rank=600).fit(A, B)
    np.testing.assert_allclose(model.correlations_, expected.correlations_, atol=1e-7)
