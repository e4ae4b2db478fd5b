"""Kernelized: linear methods on kernel features are the kernel methods, and look like the methods they are made of."""

import os
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone, is_classifier, is_clusterer, is_outlier_detector, is_regressor
from sklearn.cluster import KMeans
from sklearn.cross_decomposition import CCA, PLSRegression
from sklearn.datasets import make_circles, make_moons
from sklearn.decomposition import PCA as SklearnPCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import NotFittedError
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.svm import SVC, LinearSVC, OneClassSVM
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import PCA, Kernelized, KernelMap, KernelPCA
from mercer.exceptions import MemoryLimitError
from mercer.kernels import RBF, Laplacian, Linear, Polynomial, Spectrum

RNG = np.random.default_rng(0)
X, NEW = RNG.standard_normal((80, 3)), RNG.standard_normal((20, 3))
Y = np.column_stack([np.sin(X[:, 0]), X[:, 1] ** 2]) + 0.1 * RNG.standard_normal((80, 2))
CIRCLES, RING = make_circles(200, factor=0.3, noise=0.05, random_state=0)


# --- scikit-learn ------------------------------------------------------------------------------------------


@parametrize_with_checks(
    [
        Kernelized(Ridge()),
        Kernelized(LogisticRegression(), gamma="median", rank=None),
        Kernelized(KMeans(3, n_init=2, random_state=0)),
        Kernelized(PCA(1), "linear"),
        Kernelized(LinearDiscriminantAnalysis()),
        Kernelized(Ridge(), method="fourier", rank=200),
    ]
)
@pytest.mark.filterwarnings("ignore::mercer.exceptions.MercerWarning")
def test_common_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    ("estimator", "kind"),
    [
        (Ridge(), is_regressor),
        (RidgeClassifier(), is_classifier),
        (KMeans(), is_clusterer),
        (OneClassSVM(kernel="linear"), is_outlier_detector),
    ],
)
def test_it_is_what_its_estimator_is(estimator, kind):
    assert kind(Kernelized(estimator))
    others = {is_regressor, is_classifier, is_clusterer, is_outlier_detector} - {kind}
    assert not any(other(Kernelized(estimator)) for other in others)


def test_tags_of_targets_follow_and_tags_of_input_do_not():
    assert get_tags(Kernelized(LogisticRegression())).target_tags.required
    assert not get_tags(Kernelized(PCA())).target_tags.required
    assert get_tags(Kernelized(Ridge())).target_tags.multi_output
    assert get_tags(Kernelized(PLSRegression())).input_tags.sparse  # PLS itself takes none
    assert get_tags(Kernelized(Ridge(), "precomputed")).input_tags.pairwise
    assert get_tags(Kernelized(PCA())).transformer_tags is not None


METHODS = ["predict", "predict_proba", "predict_log_proba", "decision_function", "transform", "fit_transform"]
METHODS += ["fit_predict", "score", "score_samples", "inverse_transform", "get_feature_names_out", "set_output"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "estimator",
    [Ridge(), LogisticRegression(), KMeans(), PCA(), LinearSVC(), PLSRegression(), OneClassSVM()],
    ids=lambda e: type(e).__name__,
)
def test_methods_are_there_exactly_when_the_estimator_has_them(estimator, method):
    assert hasattr(Kernelized(estimator), method) == hasattr(estimator, method)


def test_what_is_missing_is_said():
    with pytest.raises(AttributeError, match="predict_proba"):
        Kernelized(Ridge()).predict_proba(X)


def test_grid_search_reaches_both():
    search = GridSearchCV(
        Kernelized(Ridge()),
        {"estimator__alpha": [1e-3, 1e3], "gamma": [1e-4, 0.3], "kernel": ["rbf", "laplacian"]},
        cv=3,
    ).fit(X, Y[:, 0])
    assert search.best_params_["estimator__alpha"] == 1e-3 and search.best_params_["gamma"] == 0.3
    inner = GridSearchCV(Kernelized(Ridge(), RBF()), {"kernel__gamma": [1e-4, 0.3]}, cv=3).fit(X, Y[:, 0])
    assert inner.best_params_["kernel__gamma"] == 0.3


def test_precomputed_kernels_are_cut_by_cross_validation():
    model = Kernelized(Ridge(fit_intercept=False), "precomputed", rank=None)
    own = Kernelized(Ridge(fit_intercept=False), "rbf", gamma=0.3, rank=None)
    given = cross_val_score(model, RBF(gamma=0.3)(X), Y[:, 0], cv=4)
    assert_allclose(given, cross_val_score(own, X, Y[:, 0], cv=4), rtol=1e-6)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_set_output(library):
    frame = pd.DataFrame(X, columns=list("abc"), index=np.arange(100, 180))
    model = Kernelized(PCA(2)).set_output(transform=library)
    for result in (model.fit_transform(frame), model.fit(frame).transform(frame), clone(model).fit_transform(frame)):
        assert isinstance(result, pd.DataFrame if library == "pandas" else pl.DataFrame)
        assert list(result.columns) == ["pca0", "pca1"]
        if library == "pandas":
            assert_array_equal(result.index, frame.index)
    assert list(model.get_feature_names_out()) == ["pca0", "pca1"]
    assert list(model.feature_names_in_) == list("abc")
    assert isinstance(model.set_output(transform="default").transform(frame), np.ndarray)


def test_sample_weight_passes_through():
    weight = RNG.uniform(0.1, 3, 80)
    model = Kernelized(Ridge(), gamma=0.3, rank=None).fit(X, Y[:, 0], sample_weight=weight)
    reference = KernelRidge(kernel="rbf", gamma=0.3, alpha=1.0).fit(X, Y[:, 0], sample_weight=weight)
    uncentred = Kernelized(Ridge(fit_intercept=False), gamma=0.3, rank=None).fit(X, Y[:, 0], sample_weight=weight)
    assert_allclose(uncentred.predict(NEW), reference.predict(NEW), rtol=1e-6, atol=1e-8)
    assert model.score(X, Y[:, 0], sample_weight=weight) != model.score(X, Y[:, 0])


def test_metadata_routing():
    weight = RNG.uniform(0.1, 3, 80)
    with sklearn.config_context(enable_metadata_routing=True):
        inner = Ridge().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        model = Kernelized(inner, gamma=0.3)
        routed = model.fit(X, Y[:, 0], sample_weight=weight).predict(NEW)
        with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError):
            Kernelized(Ridge(), gamma=0.3).fit(X, Y[:, 0], sample_weight=weight)
    assert_array_equal(routed, Kernelized(Ridge(), gamma=0.3).fit(X, Y[:, 0], sample_weight=weight).predict(NEW))


def test_the_estimator_given_is_left_alone_and_pickles_work():
    inner = Ridge()
    model = Kernelized(inner).fit(X, Y[:, 0])
    assert not hasattr(inner, "coef_") and hasattr(model.estimator_, "coef_")
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict(NEW), model.predict(NEW))
    assert not hasattr(clone(model), "estimator_")
    assert not hasattr(model, "classes_") and not hasattr(Kernelized(KMeans(2)), "labels_")


# --- linear methods become kernel methods --------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [RBF(gamma=0.3), Laplacian(0.3), Polynomial(3, 0.5)], ids=repr)
@pytest.mark.parametrize("alpha", [1e-2, 1.0])
def test_ridge_is_kernel_ridge(kernel, alpha):
    """To 1e-8, as (FᵀF + αI)⁻¹Fᵀ = Fᵀ(K + αI)⁻¹; both targets at once."""
    model = Kernelized(Ridge(alpha, fit_intercept=False), kernel, rank=None).fit(X, Y)
    dual = KernelRidge(alpha=alpha, kernel="precomputed").fit(kernel(X), Y)
    truth = dual.predict(kernel(NEW, X))
    assert_allclose(model.predict(NEW), truth, atol=1e-8 * np.abs(truth).max())


def test_ridge_of_a_rank_is_near():
    rough = Kernelized(Ridge(0.1, fit_intercept=False), "rbf", gamma=0.3, rank=60).fit(X, Y)
    exact = KernelRidge(alpha=0.1, kernel="rbf", gamma=0.3).fit(X, Y)
    assert np.abs(rough.predict(NEW) - exact.predict(NEW)).max() < 0.1


@pytest.mark.parametrize("inner", [PCA(3), SklearnPCA(3)], ids=["mercer", "scikit-learn"])
@pytest.mark.parametrize("kernel", [RBF(gamma=0.3), Polynomial(2, 0.5)], ids=repr)
def test_pca_is_kernel_pca(inner, kernel):
    model, kpca = Kernelized(inner, kernel, rank=None), KernelPCA(3, kernel=kernel)
    Z, truth = model.fit_transform(X), kpca.fit_transform(X)
    signs = np.sign((Z * truth).sum(axis=0))
    assert_allclose(Z * signs, truth, atol=1e-7)
    assert_allclose(model.transform(NEW) * signs, kpca.transform(NEW), atol=1e-6)
    assert_allclose(model.estimator_.explained_variance_ * 79 / 80, kpca.explained_variance_, rtol=1e-8)


def test_inverse_transform_gives_features():
    model = Kernelized(PCA(None), "rbf", gamma=0.3, rank=20)
    assert_allclose(model.inverse_transform(model.fit_transform(X)), model.map_.transform(X), atol=1e-6)


def test_linear_svm_is_the_svm_of_the_kernel():
    y = (X**2).sum(axis=1) > 2
    with_kernel = SVC(kernel="rbf", gamma=0.3, tol=1e-8).fit(X, y)
    features = Kernelized(SVC(kernel="linear", tol=1e-8), "rbf", gamma=0.3, rank=None).fit(X, y)
    assert_allclose(features.decision_function(NEW), with_kernel.decision_function(NEW), atol=1e-5)
    assert_array_equal(features.predict(NEW), with_kernel.predict(NEW))


def test_k_means_separates_rings():
    means = KMeans(2, n_init=10, random_state=0)
    model = Kernelized(means, "rbf", gamma=4.0)
    labels = model.fit_predict(CIRCLES)
    assert adjusted_rand_score(RING, labels) == 1.0 > 0.1 > adjusted_rand_score(RING, means.fit_predict(CIRCLES))
    assert_array_equal(model.labels_, labels)
    assert_array_equal(model.predict(CIRCLES), labels)
    assert model.transform(CIRCLES).shape == (200, 2)


def test_k_means_minimises_the_spread_in_feature_space():
    """Its inertia is Σ k(x, x) − Σ over clusters of 1ᵀK1/size, which needs no features."""
    model = Kernelized(KMeans(3, n_init=5, random_state=0), "rbf", gamma=0.3, rank=None).fit(X)
    K = RBF(gamma=0.3)(X)
    blocks = sum(K[np.ix_(c, c)].sum() / len(c) for c in (np.flatnonzero(model.labels_ == j) for j in range(3)))
    assert model.estimator_.inertia_ == pytest.approx(np.trace(K) - blocks)


def test_discriminants_of_rings():
    plain = LinearDiscriminantAnalysis().fit(CIRCLES, RING)
    model = Kernelized(LinearDiscriminantAnalysis(), "rbf", gamma=1.0, rank=20).fit(CIRCLES, RING)
    assert plain.score(CIRCLES, RING) < 0.7 and model.score(CIRCLES, RING) == 1.0
    assert_array_equal(model.classes_, [0, 1])
    assert_allclose(model.predict_proba(CIRCLES).sum(axis=1), 1.0)
    assert_allclose(np.exp(model.predict_log_proba(CIRCLES[:5])), model.predict_proba(CIRCLES[:5]), atol=1e-12)
    assert model.transform(CIRCLES).shape == (200, 1)
    assert len(np.unique(np.sign(model.decision_function(CIRCLES)[RING == 1]))) == 1


def test_classes_may_be_words():
    words = np.where(RING == 1, "inner", "outer")
    model = Kernelized(RidgeClassifier(), "rbf").fit(CIRCLES, words)
    assert list(model.classes_) == ["inner", "outer"] and model.score(CIRCLES, words) == 1.0


def test_partial_least_squares_with_a_kernel():
    flat = PLSRegression(2).fit(X, Y)
    model = Kernelized(PLSRegression(6, scale=False), "rbf", gamma=0.3).fit(X, Y)
    assert model.score(X, Y) > 0.9 > flat.score(X, Y) + 0.2
    x_scores, y_scores = model.transform(X, Y)
    assert x_scores.shape == y_scores.shape == (80, 6)
    assert model.predict(NEW).shape == (20, 2)


def test_canonical_correlation_with_a_kernel():
    moons, side = make_moons(200, noise=0.05, random_state=0)
    other = np.column_stack([side + 0.1 * RNG.standard_normal(200), RNG.standard_normal(200)])
    plain, model = (
        CCA(1).fit(moons, other),
        Kernelized(CCA(1, scale=False), "rbf", gamma=2.0, rank=12).fit(moons, other),
    )
    flat, curved = (np.corrcoef(*(z[:, 0] for z in m.transform(moons, other)))[0, 1] for m in (plain, model))
    assert curved > 0.95 > flat


def test_score_samples():
    model = Kernelized(OneClassSVM(kernel="linear"), "rbf", gamma=0.3, rank=None).fit(X)
    reference = OneClassSVM(kernel="rbf", gamma=0.3).fit(X)
    assert_allclose(model.score_samples(NEW), reference.score_samples(NEW), rtol=1e-2)
    assert set(model.fit_predict(X)) <= {-1, 1}


# --- kinds of data, and what is refused ----------------------------------------------------------------------


def test_sparse_float32_and_strings():
    rows = np.where(np.abs(X) > 0.5, X, 0.0)
    dense, sparse = (Kernelized(Ridge(), rank=None).fit(kind(rows), Y) for kind in (np.asarray, sp.csr_array))
    assert_allclose(sparse.predict(sp.csr_array(rows)), dense.predict(rows), atol=1e-7)
    single = Kernelized(Ridge(), rank=None).fit(X.astype(np.float32), Y.astype(np.float32))
    assert single.predict(NEW.astype(np.float32)).dtype == np.float32
    words = ["".join(RNG.choice(list("ab"), size=8)) for _ in range(40)]
    counts = np.array([word.count("ab") for word in words], float)
    assert Kernelized(Ridge(1e-3), Spectrum(2)).fit(words, counts).score(words, counts) > 0.999


def test_the_map_is_a_kernel_map():
    model = Kernelized(Ridge(), "rbf", gamma=0.3, rank=15, random_state=0).fit(X, Y)
    assert_array_equal(
        model.map_.transform(NEW), KernelMap("rbf", gamma=0.3, rank=15, random_state=0).fit(X).transform(NEW)
    )
    assert model.map_.error_ > 0 and model.n_features_in_ == 3


@pytest.mark.parametrize("parameters", [{"kernel": "gauss"}, {"rank": 0}, {"method": "rks"}, {"gamma": -1.0}], ids=str)
def test_parameters_are_checked(parameters):
    with pytest.raises(ValueError, match=next(iter(parameters))):
        Kernelized(Ridge(), **parameters).fit(X, Y)


def test_an_estimator_is_needed():
    with pytest.raises(ValueError, match="estimator"):
        Kernelized("ridge").fit(X, Y)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_bad_data():
    for bad in (X * np.nan, X * np.inf, X[:0], X[0], [["a"] * 3] * 80):
        with pytest.raises(ValueError):
            Kernelized(Ridge()).fit(bad, Y)
    with pytest.raises(ValueError, match="2 features"):
        Kernelized(Ridge()).fit(X, Y).predict(NEW[:, :2])
    with pytest.raises(NotFittedError):
        Kernelized(Ridge()).predict(X)
    with pytest.raises(MemoryLimitError):
        Kernelized(Ridge(), rank=None, memory_limit="10kB").fit(X, Y)
    with pytest.raises(ValueError, match="positive semidefinite"):
        Kernelized(Ridge(), "sigmoid", gamma=1.0, coef0=-1, rank=None).fit(X, Y)


def test_a_linear_kernel_changes_nothing():
    plain = Ridge().fit(X, Y).predict(NEW)
    assert_allclose(Kernelized(Ridge(), Linear(), rank=None).fit(X, Y).predict(NEW), plain, atol=1e-9)


class Watched(RidgeClassifier):
    """Notes what it is given."""

    def fit(self, F, y, sample_weight=None):
        self.given = type(F), type(y), type(sample_weight)
        return super().fit(F, y, sample_weight)


@pytest.mark.torch
def test_an_estimator_of_arrays_gets_arrays_for_tensors():
    """It could not read the tensors of a card."""
    torch = pytest.importorskip("torch")
    rows = torch.as_tensor(RNG.standard_normal((80, 3)))
    y = (rows[:, 0] > 0).long()
    weights = torch.ones(80, dtype=torch.float64)
    there = Kernelized(Watched(), gamma=0.5, rank=20, random_state=0).fit(rows, y, sample_weight=weights)
    assert there.estimator_.given == (np.ndarray,) * 3
    here = Kernelized(Watched(), gamma=0.5, rank=20, random_state=0).fit(rows.numpy(), y.numpy())
    np.testing.assert_array_equal(there.predict(rows), here.predict(rows.numpy()))
    assert there.score(rows, y) == here.score(rows.numpy(), y.numpy())


@pytest.mark.torch
def test_an_estimator_of_tensors_gets_tensors():
    torch = pytest.importorskip("torch")
    rows = torch.as_tensor(RNG.standard_normal((80, 3)))
    model = Kernelized(PCA(2), gamma=0.5, rank=20, random_state=0).fit(rows)
    scores = model.transform(rows)
    assert isinstance(scores, torch.Tensor)
    here = Kernelized(PCA(2), gamma=0.5, rank=20, random_state=0).fit(rows.numpy()).transform(rows.numpy())
    np.testing.assert_allclose(abs(scores.numpy()), abs(here), atol=1e-8 * abs(here).max())


@pytest.mark.torch
def test_scikit_learn_gets_tensors_if_it_is_told_to_compute_with_them():
    pytest.importorskip("torch")
    program = """
import numpy as np, torch
from sklearn import config_context
from sklearn.linear_model import Ridge
from mercer import Kernelized
rows = torch.as_tensor(np.random.default_rng(0).standard_normal((60, 3)))
model = Kernelized(Ridge(solver="svd"), gamma=0.5, rank=20, random_state=0)
with config_context(array_api_dispatch=True):
    there = model.fit(rows, rows[:, 0]).predict(rows)
assert isinstance(there, torch.Tensor), type(there)
here = model.fit(rows.numpy(), rows[:, 0].numpy()).predict(rows.numpy())
np.testing.assert_allclose(there.numpy(), here, atol=1e-8)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, "SCIPY_ARRAY_API": "1"}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
