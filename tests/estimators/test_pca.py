"""PCA: the theorem it rests on, its equality with scikit-learn, other array types, and bad data."""

import warnings

import numpy as np
import pandas as pd
import polars
import pytest
import scipy.sparse as sp
import sklearn.decomposition
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ortho_group

from mercer.estimators.pca import PCA
from mercer.exceptions import DegenerateDataWarning, NotConvergedWarning
from mercer.spectral.intrinsic_dimension import choose_dimension

SOLVERS = ["auto", "full", "covariance_eigh", "arpack", "randomized"]
RNG = np.random.default_rng(0)


def correlated(n=150, d=6, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)) * 2.0 ** -np.arange(d) @ ortho_group.rvs(d, random_state=seed) + 5


X = correlated()
FITTED = ["components_", "explained_variance_", "explained_variance_ratio_", "singular_values_", "mean_"]


# The theorem


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("k", [1, 3, 5])
def test_reconstruction_error_is_the_sum_of_the_discarded_variances(solver, k):
    pca = PCA(k, svd_solver=solver, random_state=0).fit(X)
    discarded = np.linalg.eigvalsh(np.cov(X, rowvar=False))[: 6 - k].sum()
    n = len(X)
    assert pca.reconstruction_error(X) == pytest.approx((n - 1) / n * discarded, rel=1e-10)


def test_reconstruction_error_is_its_definition():
    pca = PCA(2, whiten=True).fit(X)
    rebuilt = pca.inverse_transform(pca.transform(X))
    assert pca.reconstruction_error(X) == pytest.approx(np.mean(np.sum((X - rebuilt) ** 2, axis=1)), rel=1e-12)
    assert PCA().fit(X).reconstruction_error(X) < 1e-28
    assert PCA(0).fit(X).reconstruction_error(X) == pytest.approx(X.var(axis=0).sum())


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10_000), k=st.integers(1, 5))
def test_no_other_subspace_is_better(seed, k):
    other = ortho_group.rvs(6, random_state=seed)[:k]
    centred = X - X.mean(axis=0)
    error = np.mean(np.sum((centred - centred @ other.T @ other) ** 2, axis=1))
    assert PCA(k).fit(X).reconstruction_error(X) <= error * (1 + 1e-12)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_a_rotation_of_the_data_rotates_the_components(seed):
    Q = ortho_group.rvs(6, random_state=seed)
    pca, turned = PCA().fit(X), PCA().fit(X @ Q)
    np.testing.assert_allclose(turned.explained_variance_, pca.explained_variance_, rtol=1e-10)
    np.testing.assert_allclose(np.abs(turned.transform(X @ Q)), np.abs(pca.transform(X)), atol=1e-9)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_the_order_of_the_rows_does_not_matter(seed):
    order = np.random.default_rng(seed).permutation(len(X))
    np.testing.assert_allclose(PCA().fit(X[order]).components_, PCA().fit(X).components_, atol=1e-11)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("dtype, bound", [(np.float64, 1e-13), (np.float32, 3e-6)])
def test_residuals_are_those_of_the_sample_covariance(solver, dtype, bound):
    Z = X.astype(dtype)
    pca = PCA(3, svd_solver=solver, random_state=0, iterated_power=20).fit(Z)
    assert pca.residuals_.shape == (3,) and pca.residuals_.dtype == dtype
    assert pca.residuals_.max() < bound * pca.explained_variance_[0]


def test_residuals_show_a_poor_answer():
    noise = RNG.standard_normal((300, 100))
    rough = PCA(5, svd_solver="randomized", iterated_power=0, n_oversamples=1, random_state=0).fit(noise)
    S, V = np.cov(noise, rowvar=False), rough.components_.T
    explicit = np.linalg.norm(S @ V - V * rough.explained_variance_, axis=0)
    np.testing.assert_allclose(rough.residuals_, explicit, rtol=1e-9)
    assert rough.residuals_.max() > 0.05 * rough.explained_variance_[0]


# Against scikit-learn


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("whiten", [False, True])
@pytest.mark.parametrize("shape", [(150, 6), (12, 30)])
def test_equal_to_scikit_learn(solver, whiten, shape):
    Z = correlated(*shape)
    settings = {"n_components": 3, "svd_solver": solver, "whiten": whiten, "random_state": 0}
    ours, theirs = PCA(**settings).fit(Z), sklearn.decomposition.PCA(**settings).fit(Z)
    assert ours._fit_svd_solver == ours.solver_ == theirs._fit_svd_solver
    for name in FITTED:
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-9, atol=1e-11, err_msg=name)
    assert ours.noise_variance_ == pytest.approx(theirs.noise_variance_, rel=1e-8)
    np.testing.assert_allclose(ours.transform(Z), theirs.transform(Z), atol=1e-9)
    np.testing.assert_allclose(ours.fit_transform(Z), theirs.fit_transform(Z), atol=1e-9)
    np.testing.assert_allclose(ours.inverse_transform(Z[:, :3]), theirs.inverse_transform(Z[:, :3]), rtol=1e-9)
    np.testing.assert_allclose(ours.get_covariance(), theirs.get_covariance(), atol=1e-9)
    np.testing.assert_allclose(ours.get_precision(), theirs.get_precision(), rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(ours.score_samples(Z), theirs.score_samples(Z), rtol=1e-6)


@pytest.mark.parametrize("n_components", [None, 0.3, 0.9, 0.999999, "mle", 0, 6])
def test_the_same_number_of_components(n_components):
    ours, theirs = (P(n_components).fit(X) for P in (PCA, sklearn.decomposition.PCA))
    assert ours.n_components_ == theirs.n_components_
    assert type(ours.n_components_) is type(theirs.n_components_)  # programs format it


def test_more_accurate_than_scikit_learn_far_from_the_origin():
    far = correlated(2000, 5) + 1e8
    moved = far.astype(np.longdouble) - np.longdouble(1e8)  # exact: the data has no digits below 1e-8
    exact = np.linalg.eigvalsh(np.cov(moved.astype(np.float64), rowvar=False))[::-1]

    def error(P):
        return np.abs(P(svd_solver="covariance_eigh").fit(far).explained_variance_ / exact - 1).max()

    assert error(PCA) < 1e-12
    assert error(sklearn.decomposition.PCA) > 1e-2
    moved_axes = PCA(2).fit(moved.astype(np.float64))
    np.testing.assert_allclose(PCA(2).fit(far).transform(far), moved_axes.transform(moved), atol=1e-7)


def test_minka_does_not_depend_on_the_scale():
    wide = correlated(300, 8)
    chosen = {PCA("mle").fit(wide * scale).n_components_ for scale in (1e-30, 1, 1e30)}
    assert len(chosen) == 1


def test_a_share_that_rounding_puts_out_of_reach_takes_all_components():
    assert choose_dimension(1 - 1e-17, np.ones(3), 10) == 3
    assert choose_dimension(np.nextafter(1, 0), np.array([1.0, 1e-30]), 10) <= 2


# Where the data lives, and what comes out


def test_a_read_only_memory_map_is_fitted_as_it_lies(tmp_path):
    np.save(tmp_path / "x.npy", (X * 100).astype(np.int32))
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    pca = PCA(2, copy=False).fit(mapped)
    reference = PCA(2).fit(mapped.astype(np.float64))
    assert pca.solver_ == "covariance_eigh"
    np.testing.assert_allclose(pca.components_, reference.components_, atol=1e-12)
    np.testing.assert_allclose(pca.transform(mapped), reference.transform(mapped.astype(np.float64)))
    assert PCA(2, svd_solver="full", copy=False).fit(mapped).n_samples_ == 150


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_training_data_is_left_alone(solver):
    Z = X.copy()
    PCA(2, svd_solver=solver).fit_transform(Z)
    np.testing.assert_array_equal(Z, X)


@pytest.mark.parametrize("solver", SOLVERS)
def test_float32_stays_float32(solver):
    pca = PCA(2, svd_solver=solver, random_state=0)
    scores = pca.fit_transform(X.astype(np.float32))
    assert scores.dtype == pca.inverse_transform(scores).dtype == pca.transform(X.astype(np.float32)).dtype
    assert all(getattr(pca, name).dtype == np.float32 for name in [*FITTED, "residuals_"])
    assert pca.transform(X).dtype == np.float64


@pytest.mark.parametrize("make", [sp.csr_matrix, sp.csc_array])
@pytest.mark.parametrize("solver", ["auto", "covariance_eigh"])
def test_sparse_equals_dense(make, solver):
    Z = sp.random(200, 30, 0.1, random_state=0)
    sparse = PCA(3, svd_solver=solver, random_state=0).fit(make(Z))
    dense = PCA(3, svd_solver="full").fit(Z.toarray())
    np.testing.assert_allclose(sparse.explained_variance_, dense.explained_variance_, rtol=1e-9)
    np.testing.assert_allclose(sparse.transform(make(Z)), dense.transform(Z.toarray()), atol=1e-8)
    assert sparse.reconstruction_error(make(Z)) == pytest.approx(dense.reconstruction_error(Z.toarray()))
    assert sparse.residuals_.max() < 1e-9


def array_api_solvers():
    return [
        PCA(2, svd_solver="full"),
        PCA(2, svd_solver="covariance_eigh", whiten=True),
        PCA(0.9, svd_solver="full"),
        PCA(2, svd_solver="randomized", power_iteration_normalizer="QR", random_state=0),
    ]


def check_array_type(pca, asarray, to_numpy, dtype):
    Z = asarray(X.astype(dtype))
    reference = PCA(**pca.get_params()).fit(X.astype(dtype))
    tolerance = {"rtol": 1e-8, "atol": 1e-9} if dtype == "float64" else {"rtol": 2e-3, "atol": 2e-4}
    for scores in (pca.fit_transform(Z), pca.transform(Z)):
        assert type(scores) is type(Z) and scores.dtype == Z.dtype and scores.device == Z.device
        np.testing.assert_allclose(to_numpy(scores), reference.transform(X.astype(dtype)), **tolerance)
    for name in [*FITTED, "residuals_"]:
        assert type(getattr(pca, name)) is type(Z) and getattr(pca, name).dtype == Z.dtype
    assert type(pca.inverse_transform(scores)) is type(Z)
    assert type(pca.get_precision()) is type(Z)
    assert pca.reconstruction_error(Z) == pytest.approx(reference.reconstruction_error(X), rel=1e-3)
    assert pca.score(Z) == pytest.approx(reference.score(X), rel=1e-3)
    with pytest.raises(ValueError, match="must use the same namespace"):
        pca.transform(X)


@pytest.mark.parametrize("pca", array_api_solvers(), ids=str)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_array_api_strict(pca, dtype):
    xp = pytest.importorskip("array_api_strict")
    check_array_type(pca, xp.asarray, np.from_dlpack, dtype)


@pytest.mark.torch
@pytest.mark.parametrize("pca", array_api_solvers(), ids=str)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_torch(pca, dtype):
    torch = pytest.importorskip("torch")
    check_array_type(pca, torch.asarray, lambda tensor: tensor.numpy(), dtype)


@pytest.mark.torch
def test_torch_integers_and_bad_values():
    torch = pytest.importorskip("torch")
    assert PCA(1).fit_transform(torch.arange(60).reshape(20, 3)).dtype == torch.float64
    with pytest.raises(ValueError, match="NaN"):
        PCA().fit(torch.full((20, 2), torch.nan))
    with pytest.warns(DegenerateDataWarning):
        assert float(PCA(1).fit(torch.ones(20, 2)).explained_variance_ratio_[0]) == 0


def test_frames_in_and_out():
    frame = pd.DataFrame(X, columns=list("abcdef"))
    pca = PCA(2).fit(frame)
    assert list(pca.feature_names_in_) == list("abcdef")
    assert list(pca.get_feature_names_out()) == ["pca0", "pca1"]
    assert list(pca.set_output(transform="pandas").transform(frame).columns) == ["pca0", "pca1"]
    scores = pca.set_output(transform="polars").transform(frame)
    assert isinstance(scores, polars.DataFrame)
    np.testing.assert_allclose(scores.to_numpy(), PCA(2).fit_transform(polars.DataFrame(X)))
    with pytest.raises(ValueError, match="feature names"):
        pca.transform(frame[list("bacdef")])
    with pytest.warns(UserWarning, match="valid feature names"):
        pca.transform(X)


# Bad data


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("whiten", [False, True])
@pytest.mark.parametrize("value", [0.0, 0.1, 1e300])
def test_constant_data_gives_zeros_and_a_warning(solver, whiten, value):
    constant = np.full((30, 3), value)
    pca = PCA(2, svd_solver=solver, whiten=whiten)
    with pytest.warns(DegenerateDataWarning, match="nothing varies"):
        scores = pca.fit_transform(constant)
    assert pca.n_components_ == 2
    for array in (scores, pca.explained_variance_, pca.explained_variance_ratio_, pca.transform(constant)):
        np.testing.assert_array_equal(array, 0)
    np.testing.assert_allclose(pca.components_ @ pca.components_.T, np.eye(2), atol=1e-15)
    assert np.isfinite(pca.score_samples(constant)).all() and np.isfinite(pca.get_precision()).all()
    np.testing.assert_allclose(pca.inverse_transform(scores), constant)


@pytest.mark.parametrize("n_components", ["mle", 0.5])
def test_constant_data_has_one_component(n_components):
    with pytest.warns(DegenerateDataWarning):
        assert PCA(n_components).fit(np.ones((20, 3))).n_components_ == 1


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("whiten", [False, True])
@pytest.mark.parametrize("Z", [np.repeat(X[:2], 20, axis=0), X[:2], X[:, [0, 0, 0]]], ids=["rows", "two", "columns"])
def test_duplicates_give_numbers(solver, whiten, Z):
    pca = PCA(1 if solver == "arpack" else None, svd_solver=solver, whiten=whiten, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scores = pca.fit_transform(Z)
        results = scores, pca.transform(Z), pca.components_, pca.score_samples(Z), pca.get_precision()
    assert all(np.isfinite(array).all() for array in results)
    assert pca.explained_variance_ratio_[0] == pytest.approx(1)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    "bad, message",
    [
        (np.where(X > 6.5, np.nan, X), "Input X contains NaN"),
        (np.where(X > 6.5, np.inf, X), r"infinity or a value too large for dtype\('float64'\)"),
        (X[:0], "0 sample"),
        (X[:1], "1 sample"),
        (X[:, :0], "0 feature"),
        (X[0], "Expected 2D array"),
        (np.array([["a", "b"], ["c", "d"]]), "X holds text"),
        (np.array([["a", "b"], ["c", "d"]], dtype=object), "could not convert string"),
        (X + 1j, "Complex data not supported"),
        ((X - 5) * 1e200, "overflow.*Rescale"),
        ((X - 5) * 1e-200, "vanish.*Rescale"),
        (((X - 5) * 1e30).astype(np.float32), "overflow in float32"),
        (((X - 5) * 1e-30).astype(np.float32), "vanish in float32"),
    ],
)
def test_bad_data_is_refused(solver, bad, message):
    with pytest.raises(ValueError, match=message):
        PCA(1, svd_solver=solver).fit(bad)


@pytest.mark.parametrize("scale", [1e-100, 1e-20, 1e20, 1e100])
@pytest.mark.parametrize("solver", SOLVERS)
def test_unusual_scales_are_exact(solver, scale):
    pca = PCA(2, svd_solver=solver, whiten=True, random_state=0)
    scores, reference = pca.fit_transform(X * scale), PCA(2, whiten=True).fit_transform(X)
    np.testing.assert_allclose(scores, reference, atol=1e-9)
    np.testing.assert_allclose(pca.inverse_transform(pca.transform(X * scale)) / scale, X, atol=2)


def test_a_whitened_model_that_overflows_is_refused():
    with pytest.raises(ValueError, match="Rescale"):
        PCA(2, whiten=True).fit(X * 1e100).score(X)


def test_bad_data_after_fitting():
    pca = PCA(2).fit(X)
    with pytest.raises(ValueError, match="X has 3 features, but PCA is expecting 6"):
        pca.transform(X[:, :3])
    with pytest.raises(ValueError, match="X has 3 columns, but PCA kept 2"):
        pca.inverse_transform(X[:, :3])
    for method in (pca.transform, pca.score_samples, pca.reconstruction_error):
        with pytest.raises(ValueError, match="Input X contains NaN"):
            method(np.where(X > 6.5, np.nan, X))
    with pytest.raises(ValueError, match="overflow"):
        pca.transform(np.sign(pca.components_[:1]) * 1.7e308)


@pytest.mark.parametrize("solver", SOLVERS)
def test_too_many_components(solver):
    with pytest.raises(ValueError, match=r"n_components=7 must be between . and min.*=6"):
        PCA(7, svd_solver=solver).fit(X)


@pytest.mark.parametrize("shape, k", [((700, 765), 20), ((900, 600), 10), ((300, 900), 30)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_auto_is_accurate_on_spectra_without_gaps(shape, k, dtype):
    """Noise, where random projections alone are several per cent off, and components are not the true ones."""
    X = np.random.default_rng(0).standard_normal(shape).astype(dtype)
    auto, exact = PCA(k).fit(X), PCA(k, svd_solver="full").fit(X.astype(np.float64))
    assert auto.solver_ == "randomized"
    np.testing.assert_allclose(auto.explained_variance_, exact.explained_variance_, rtol=1e-4)
    assert np.all(auto.residuals_ <= 1e-3 * auto.explained_variance_)
    few = PCA(k, svd_solver="randomized", iterated_power=2).fit(X)  # who sets the iterations gets these
    assert np.max(few.residuals_ / few.explained_variance_) > 0.01


def test_what_stays_inaccurate_is_said(monkeypatch):
    monkeypatch.setattr("mercer.estimators.pca.accurate_svd", lambda A, found: found)
    with pytest.warns(NotConvergedWarning, match="may be off by"):
        PCA(20).fit(np.random.default_rng(0).standard_normal((700, 765)))
