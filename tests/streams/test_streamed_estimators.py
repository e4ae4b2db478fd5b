"""Every estimator that takes a source: the fit to it is the fit to the array, and what it gives of a source is lazy."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import MiniBatchKMeans
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier, SGDClassifier, SGDRegressor

import mercer
from mercer import KernelCCA, KernelDiscriminantAnalysis, Kernelized, KernelPCA, NoveltyDetector
from mercer.streams import ArraySource, open_rows

RNG = np.random.default_rng(0)
X = RNG.standard_normal((400, 3))
CODES = (X[:, 0] * X[:, 1] > 0).astype(int) + (X[:, 2] > 1)
NAMES = np.array(["few", "many", "none"])[CODES]
TARGET = np.sin(X[:, 0]) + X[:, 1]
SOURCE = ArraySource(X, chunk_rows=90)
# Features agree to rounding, times the condition of the landmarks' kernel matrix: at most 1e5 for these 40 landmarks.
ROOM = 1e-8


@pytest.fixture
def table(tmp_path):
    rows = ArraySource(np.column_stack([X, CODES, TARGET]), feature_names=["a", "b", "c", "class", "target"])
    mercer.write_rows(rows, tmp_path / "table.parquet")
    return tmp_path / "table.parquet"


# --- discriminants -------------------------------------------------------------------------------------------


def test_discriminants_predict_a_source_lazily():
    kda = KernelDiscriminantAnalysis(rank=40).fit(SOURCE, NAMES)
    found = kda.predict(SOURCE)
    assert found.lengths == SOURCE.lengths and np.array_equal(found.to_array(), kda.predict(X))
    for method in ("predict_proba", "predict_log_proba", "decision_function"):
        lazy = getattr(kda, method)(SOURCE)
        assert lazy.feature_names == ["few", "many", "none"]
        assert np.abs(lazy.to_array() - getattr(kda, method)(X)).max() <= ROOM
    assert kda.score(SOURCE, NAMES) == kda.score(X, NAMES)


def test_a_column_of_the_source_may_hold_the_labels(table):
    rows = open_rows(table, columns=["a", "b", "c", "class"], chunk_rows=150)
    kda = KernelDiscriminantAnalysis(rank=40).fit(rows, "class")
    assert kda.feature_names_in_.tolist() == ["a", "b", "c"] and kda.classes_.tolist() == [0, 1, 2]
    apart = KernelDiscriminantAnalysis(rank=40).fit(X, CODES)
    assert np.abs(kda.transform(rows).to_array() - apart.transform(X)).max() <= ROOM  # columns are found by name
    assert kda.score(rows, "class") == pytest.approx(apart.score(X, CODES), abs=1e-12)


def test_discriminants_say_what_a_source_cannot_do():
    with pytest.raises(ValueError, match="Give rank"):
        KernelDiscriminantAnalysis().fit(SOURCE, CODES)
    with pytest.raises(ValueError, match="no weights of their own"):
        KernelDiscriminantAnalysis(rank=5).fit(SOURCE, CODES, sample_weight=np.ones(400))
    with pytest.raises(ValueError, match="target y is None"):
        KernelDiscriminantAnalysis(rank=5).fit(SOURCE, None)
    with pytest.raises(ValueError, match="weight zero"):
        KernelDiscriminantAnalysis(rank=5, class_weight={0: 0.0}).fit(SOURCE, CODES)
    assert KernelDiscriminantAnalysis(rank=5).plan(SOURCE, CODES).fits


def test_a_width_by_leave_one_out_comes_from_the_sample():
    whole = KernelDiscriminantAnalysis(rank=20, gamma="loo").fit(X[:150], CODES[:150])
    streamed = KernelDiscriminantAnalysis(rank=20, gamma="loo").fit(ArraySource(X[:150], chunk_rows=40), CODES[:150])
    assert streamed.gamma_ == pytest.approx(whole.gamma_, rel=1e-12) and "sample" in streamed.report_.reason


# --- two views -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", [{}, {"reg": "cv"}, {"gamma": "median", "reg": (1e-2, 1e-3)}], ids=str)
def test_canonical_pairs_of_sources_are_those_of_the_arrays(settings):
    second = np.column_stack([TARGET, X[:, 2] ** 2])
    whole = KernelCCA(2, rank=40, **settings).fit(X, second)
    streamed = KernelCCA(2, rank=40, **settings).fit(SOURCE, ArraySource(second, chunk_rows=33))
    assert streamed.reg_ == whole.reg_
    assert np.abs(streamed.correlations_ - whole.correlations_).max() <= ROOM
    assert np.abs(streamed.training_correlations_ - whole.training_correlations_).max() <= ROOM
    assert np.abs(streamed.transform(X) - whole.transform(X)).max() <= 1e3 * ROOM  # scores are scaled by 1/√reg
    first, other = streamed.transform(SOURCE, ArraySource(second, chunk_rows=33))
    assert np.array_equal(first.to_array(), streamed.transform(X))
    assert np.array_equal(other.to_array(), streamed.transform_y(second))
    assert streamed.score(SOURCE, second) == pytest.approx(whole.score(X, second), abs=ROOM)


def test_the_second_view_may_be_an_array_or_a_column(table, tmp_path):
    rows = open_rows(table, columns=["a", "b", "c", "target"])
    named, given = KernelCCA(1, rank=30).fit(rows, "target"), KernelCCA(1, rank=30).fit(SOURCE, TARGET)
    assert np.abs(named.correlations_ - given.correlations_).max() <= ROOM
    given.save(tmp_path / "model")
    assert np.array_equal(mercer.load(tmp_path / "model").transform(X), given.transform(X))


def test_rank_auto_grows_both_views():
    wide = RNG.standard_normal((5000, 2))
    found = KernelCCA(1, gamma=0.5, rank="auto").fit(ArraySource(wide, chunk_rows=2000), wide[:, :1] ** 2)
    assert max(found.factor_error_) <= 1e-3


# --- Kernelized ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["cholesky", "fourier"])
@pytest.mark.parametrize(
    ("estimator", "y"),
    [
        (Ridge(), TARGET),
        (Ridge(0.1, fit_intercept=False), np.column_stack([TARGET, X])),
        (RidgeClassifier(), NAMES),
        (RidgeClassifier(3.0, class_weight="balanced"), CODES),
        (RidgeClassifier(class_weight={False: 2.0}, fit_intercept=False), CODES == 1),
    ],
    ids=str,
)
def test_ridge_in_closed_form_is_ridge_on_the_array(estimator, y, method):
    whole = Kernelized(estimator, rank=40, method=method).fit(X, y)
    streamed = Kernelized(estimator, rank=40, method=method).fit(SOURCE, y)
    assert streamed.estimator_.coef_.shape == whole.estimator_.coef_.shape
    assert np.abs(streamed.estimator_.coef_ - whole.estimator_.coef_).max() <= ROOM
    assert np.array_equal(streamed.predict(SOURCE).to_array(), streamed.predict(X))
    assert streamed.score(SOURCE, y) == pytest.approx(whole.score(X, y), abs=1e-6)


def test_an_estimator_with_partial_fit_sees_every_chunk():
    model = Kernelized(SGDClassifier(loss="log_loss", random_state=0), rank=40).fit(SOURCE, NAMES)
    by_hand = SGDClassifier(loss="log_loss", random_state=0)
    for start, stop in zip(SOURCE.cuts[:-1], SOURCE.cuts[1:], strict=True):
        by_hand.partial_fit(model.map_.transform(X[start:stop]), NAMES[start:stop], classes=np.unique(NAMES))
    assert np.abs(model.estimator_.coef_ - by_hand.coef_).max() <= ROOM
    assert model.predict_proba(SOURCE).feature_names == ["few", "many", "none"]
    assert Kernelized(SGDRegressor(random_state=0), rank=40).fit(SOURCE, TARGET).score(SOURCE, TARGET) > 0
    means = Kernelized(MiniBatchKMeans(3, random_state=0), rank=40).fit(SOURCE)
    assert np.array_equal(means.predict(SOURCE).to_array(), means.predict(X))


def test_an_estimator_without_partial_fit_is_refused_with_what_to_take():
    with pytest.raises(TypeError, match=r"LogisticRegression has no partial_fit.*SGDClassifier\(loss='log_loss'\)"):
        Kernelized(LogisticRegression(), rank=10).fit(SOURCE, CODES)
    with pytest.raises(ValueError, match="sample_weight"):
        Kernelized(Ridge(), rank=10).fit(SOURCE, TARGET, sample_weight=np.ones(400))
    with pytest.raises(ValueError, match="target y is None"):
        Kernelized(Ridge(), rank=10).fit(SOURCE)


# --- novelty -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "subspace",
    [mercer.PCA(2), KernelPCA(3, kernel="rbf", rank=40, eigen_solver="rpcholesky")],
    ids=["PCA", "KernelPCA"],
)
def test_the_threshold_of_a_source_is_that_of_the_array(subspace):
    whole, streamed = NoveltyDetector(subspace).fit(X), NoveltyDetector(subspace).fit(SOURCE)
    assert np.abs(streamed.left_out_distances_ - whole.left_out_distances_).max() <= ROOM * whole.threshold_
    assert streamed.threshold_ == pytest.approx(whole.threshold_, rel=ROOM)
    assert np.array_equal(streamed.predict(SOURCE).to_array(), streamed.predict(X))
    assert np.array_equal(streamed.decision_function(SOURCE).to_array(), streamed.decision_function(X))
    with pytest.raises(TypeError, match=r"fit\(X\).predict\(X\)"):
        NoveltyDetector(subspace).fit_predict(SOURCE)


@pytest.mark.parametrize("subspace", [mercer.PCA(2), KernelPCA(3, kernel="rbf", rank=40)], ids=["PCA", "KernelPCA"])
def test_the_threshold_of_sparse_rows_is_that_of_the_dense_ones(subspace):
    rows = np.where(np.abs(X) > 1, X, 0)
    dense, sparse = (ArraySource(each, chunk_rows=90) for each in (rows, sp.csr_array(rows)))
    ours, theirs = NoveltyDetector(subspace).fit(sparse), NoveltyDetector(subspace).fit(dense)
    assert ours.threshold_ == pytest.approx(theirs.threshold_, rel=ROOM)
    assert np.abs(ours.score_samples(sparse).to_array() - theirs.score_samples(rows)).max() <= ROOM * ours.threshold_


def test_the_default_subspace_takes_a_source():
    found = NoveltyDetector().fit(SOURCE)
    assert found.estimator_.landmarks_ is not None and found.plan(SOURCE).fits


# --- maps of landmarks ---------------------------------------------------------------------------------------


def maps():
    return [
        lambda **more: mercer.TSNE(perplexity=10, max_iter=60, early_exaggeration_iter=30, random_state=0, **more),
        lambda **more: mercer.SNE(perplexity=10, max_iter=60, early_exaggeration_iter=30, random_state=0, **more),
        lambda **more: mercer.Isomap(n_neighbors=8, random_state=0, **more),
    ]


@pytest.mark.parametrize("make", maps(), ids=["TSNE", "SNE", "Isomap"])
def test_a_map_of_a_source_is_that_of_its_landmarks_and_places_the_others(make, tmp_path):
    found = make(landmarks=120).fit(SOURCE)
    apart = make().fit(X[found.source_rows_])
    assert np.array_equal(found.embedding_, apart.embedding_) and len(found.embedding_) == 120
    placed = found.transform(SOURCE)
    assert placed.lengths == SOURCE.lengths and np.array_equal(placed.chunk(2), apart.transform(SOURCE.chunk(2)))
    assert np.array_equal(make(landmarks=120).fit_transform(SOURCE).chunk(2), placed.chunk(2))
    found.save(tmp_path / "map")
    again = mercer.load(tmp_path / "map")
    assert np.array_equal(again.source_rows_, found.source_rows_)
    assert np.array_equal(again.transform(SOURCE).chunk(0), placed.chunk(0))
    score = mercer.streams.placement_quality(found, SOURCE, sample=100)
    assert 0 < score.placed.value <= 1 and score.placed.error > 0
    assert "120 landmarks" in found.plan(SOURCE).reason


@pytest.mark.parametrize("make", maps(), ids=["TSNE", "SNE", "Isomap"])
def test_landmarks_may_be_given_and_must_be(make):
    chosen = mercer.streams.landmark_places(SOURCE, 100, "maxmin", random_state=0)
    assert np.array_equal(make(landmarks=chosen).fit(SOURCE).source_rows_, chosen)
    with pytest.raises(ValueError, match="landmarks=10_000"):
        make().fit(SOURCE)
    with pytest.raises(ValueError, match="metric of rows"):
        make(landmarks=50, metric="precomputed").fit(SOURCE)


@pytest.mark.filterwarnings("error::UserWarning")
def test_rows_of_named_columns_are_placed_without_a_warning():
    named = ArraySource(X, chunk_rows=150, feature_names=["a", "b", "c"])
    isomap = mercer.Isomap(landmarks=60, random_state=0).fit(named)
    tsne = mercer.TSNE(landmarks=60, perplexity=5, max_iter=30, random_state=0).fit(named)
    for model in (isomap, tsne):
        assert model.transform(named).chunk(0).shape == (133, 2)
        mercer.streams.placement_quality(model, named, sample=20)
        assert list(model.feature_names_in_) == ["a", "b", "c"]
    for model in (KernelPCA(2, kernel="rbf", rank=30), mercer.PCA(1)):
        found = model.fit(named).squared_distance(named)
        assert found.feature_names == ["squared distance"] and found.to_array().min() >= 0


# --- columns -------------------------------------------------------------------------------------------------


def test_columns_are_those_of_the_fit_by_name_whatever_their_order():
    named = ArraySource(X, chunk_rows=90, feature_names=["a", "b", "c"])
    pca = mercer.PCA(2).fit(named)
    turned = ArraySource(X[:, ::-1], chunk_rows=90, feature_names=["c", "b", "a"])
    expected = pca.transform(named).to_array()
    assert np.array_equal(pca.transform(turned).to_array(), expected)
    assert np.array_equal(pca.transform(SOURCE).to_array(), expected)  # without names their places count
    for other in (["a", "b", "d"], ["a", "b"]):
        with pytest.raises(ValueError, match=r"names should match .* no column 'c'"):
            pca.transform(ArraySource(X[:, : len(other)], feature_names=other))
