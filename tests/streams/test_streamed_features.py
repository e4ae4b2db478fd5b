"""The bound of streamed features holds over all rows, and on the same landmarks they are those of the array."""

import numpy as np
import pytest
import scipy.sparse as sp

import mercer
from mercer.kernels import RBF, Laplacian, Matern, Polynomial
from mercer.streams import ArraySource, ListSource
from mercer.streams.streamed_features import (
    SAMPLE_PER_LANDMARK,
    chosen_landmarks,
    features_of,
    next_landmarks,
    rounding_share,
    sample_size,
    streamed_features,
)
from mercer.streams.sufficient_statistics import draw_rows

RNG = np.random.default_rng(0)
EPS = np.finfo(np.float64).eps


def datasets():
    plain = RNG.standard_normal((400, 4))
    outliers = plain.copy()
    outliers[-5:] *= 50  # in the last chunk, and in no sample of the first rows
    yield "plain", plain
    yield "float32", plain.astype(np.float32)
    yield "duplicates", np.repeat(plain[:40], 10, axis=0)
    yield "outliers", outliers
    yield "sparse", sp.random_array((400, 12), density=0.3, rng=RNG, format="csr")


def dense(X):
    return np.asarray(X.toarray() if sp.issparse(X) else X, np.float64)


@pytest.mark.parametrize("kernel", [RBF(0.2), Laplacian(0.3), Matern(nu=1.5), Polynomial(2, 0.1)], ids=repr)
@pytest.mark.parametrize(("name", "X"), list(datasets()))
def test_the_bound_is_never_below_the_error_over_all_rows(kernel, name, X):
    kernel = kernel.bind(dense(X))
    source = ArraySource(X, chunk_rows=90)
    first = np.arange(100)  # landmarks from the first rows alone: the bound must hold all the same
    found = streamed_features(kernel, source, (first, X[:100]), rank=20)
    K = kernel(dense(X))
    n = len(K)
    H = np.eye(n) - 1 / n
    exact = np.linalg.eigvalsh(H @ K @ H)[::-1]
    held = np.linalg.eigvalsh(found.statistics.centred_products())[::-1]
    missed = exact[: len(held)] - held
    noise = n * EPS * np.trace(K)
    assert missed.max() <= found.error + noise
    assert missed.min() >= -found.rounding - noise
    # What is left is measured on all rows: with F of the map, tr(K − FFᵀ) to the rounding that it states.
    F = found.features.expansion
    left = np.trace(K) - (np.asarray(F(X), np.float64) ** 2).sum()
    assert abs(left - found.statistics.left[0]) <= found.rounding + noise


def test_streamed_components_are_those_of_the_array_on_the_same_landmarks():
    X = RNG.standard_normal((700, 3))  # all rows are in the sample, so both choose the same landmarks
    whole = mercer.KernelPCA(3, kernel="rbf", gamma=0.3, rank=40, eigen_solver="rpcholesky").fit(X)
    streamed = mercer.KernelPCA(3, kernel="rbf", gamma=0.3, rank=40).fit(ArraySource(X, chunk_rows=150))
    assert np.array_equal(whole.landmarks_, streamed.landmarks_)
    # Both have features to rounding, amplified by the inverse of the landmarks' Cholesky factor.
    room = 1e-8 * whole.eigenvalues_[0]
    assert np.abs(whole.eigenvalues_ - streamed.eigenvalues_).max() <= room
    Z, W = np.abs(whole.transform(X)), np.abs(streamed.transform(X))
    assert np.abs(Z - W).max() <= 1e-6
    assert streamed.eigenvalue_error_[0] == pytest.approx(whole.eigenvalue_error_[0], rel=1e-6)


def test_cutting_elsewhere_changes_no_more_than_rounding():
    X = RNG.standard_normal((900, 3)).astype(np.float32)
    fits = [
        mercer.KernelPCA(3, kernel="rbf", rank=30).fit(source)
        for source in (ArraySource(X), ArraySource(X, chunk_rows=101), ListSource([X[:0], X[:1], X[1:]]))
    ]
    for other in fits[1:]:
        assert np.array_equal(fits[0].landmarks_, other.landmarks_)
        # The bound of the rounding of sums in float32 is part of every error.
        room = rounding_share(features_of(fits[0].kernel_, fits[0].X_fit_, X)) * len(X)
        assert np.abs(fits[0].eigenvalues_ - other.eigenvalues_).max() <= room


def test_scores_of_a_source_have_the_variances_that_the_fit_states():
    X = RNG.standard_normal((500, 3))
    source = ArraySource(X, chunk_rows=120)
    model = mercer.KernelPCA(4, kernel="rbf", gamma="median", rank=50)
    Z = model.fit_transform(source).to_array()
    assert np.allclose(Z.T @ Z, np.diag(model.eigenvalues_), atol=1e-8 * len(X))
    assert np.abs(Z.mean(axis=0)).max() <= 1e-8
    assert model.landmarks_.max() < 500 and np.array_equal(X[model.landmarks_], model.X_fit_)


def test_auto_adds_drawn_landmarks_until_the_tolerance_is_met():
    far = RNG.standard_normal((60, 2)) * 0.5 + 30 * RNG.integers(0, 8, (60, 2))
    X = np.concatenate([RNG.standard_normal((500, 2)), far])
    source = ArraySource(X, chunk_rows=100)
    sample = np.arange(400), X[:400]  # none of the rows that are far away
    kernel = RBF(0.5)
    once, _ = chosen_landmarks(kernel, sample[1], sample[0], "auto", 0, None)
    found = streamed_features(kernel, source, sample, rank="auto")
    assert found.features.columns > once.columns and found.places.max() >= 500
    H = found.statistics.centred_products()
    assert found.error <= 1e-3 * np.trace(H)


def test_next_landmarks_leave_out_less_and_are_what_was_drawn():
    X = RNG.standard_normal((300, 2))
    features = features_of(RBF(1.0), X[:5], X)
    _, diagonal, squares = features(X)
    drawn = draw_rows(X, np.maximum(diagonal - squares, 0), 20, 0, (0, 0, 0, 0))
    grown, places = next_landmarks(features, np.arange(5), drawn, X, (0, 0))
    assert np.array_equal(grown.expansion.anchors, X[places]) and set(places[5:]) <= set(drawn.places)
    assert np.sum(grown(X)[2]) > np.sum(squares)


def test_float64_takes_over_where_float32_would_blur_the_bound():
    X = RNG.uniform(size=(300, 2)).astype(np.float32)
    easy, hard = features_of(RBF(30.0), X[:20], X), features_of(RBF(0.05), X[:60], X)
    assert easy.expansion.coefs.dtype == np.float32 and hard.expansion.coefs.dtype == np.float64
    assert rounding_share(hard) < 1e-4


def test_the_sample_grows_with_the_rank_not_with_the_rows():
    assert sample_size(10**9, 500) == sample_size(10**6, 500) == SAMPLE_PER_LANDMARK * 500
    assert sample_size(100, 500) == 100


def test_an_indefinite_kernel_is_refused():
    with pytest.raises(ValueError, match=r"positive semidefinite|k\(x, x\) > 0"):
        mercer.KernelPCA(2, kernel="sigmoid", gamma=1.0, coef0=-1.0, rank=20).fit(
            ArraySource(RNG.standard_normal((300, 3)), chunk_rows=100)
        )


def test_what_cannot_stream_says_what_can():
    source = ArraySource(RNG.standard_normal((60, 3)))
    with pytest.raises(ValueError, match="Give rank"):
        mercer.KernelPCA(2, kernel="rbf").fit(source)
    with pytest.raises(ValueError, match="eigen_solver='rpcholesky'"):
        mercer.KernelPCA(2, eigen_solver="krylov", rank=9).fit(source)
    for model in (mercer.MDS(), mercer.ClassicalMDS()):
        with pytest.raises(TypeError, match="all rows in memory"):
            model.fit(source)


def test_a_model_of_a_stream_is_saved_and_loaded(tmp_path):
    X = RNG.standard_normal((300, 3))
    source = ArraySource(X, chunk_rows=70, feature_names=["a", "b", "c"])
    for model in (mercer.KernelPCA(2, kernel="rbf", rank=20), mercer.PCA(2), mercer.KernelMap(rank=20)):
        model.fit(source).save(tmp_path / "model.mercer")
        loaded = mercer.load(tmp_path / "model.mercer")
        assert np.array_equal(loaded.transform(source).to_array(), model.transform(source).to_array())
        assert list(loaded.feature_names_in_) == ["a", "b", "c"]
