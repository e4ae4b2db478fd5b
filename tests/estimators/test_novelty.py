"""NoveltyDetector: distances against their definition, thresholds against refits and against new data."""

import pickle
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.decomposition import PCA as SklearnPCA
from sklearn.ensemble import IsolationForest
from sklearn.exceptions import NotFittedError
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import PCA, KernelPCA, NoveltyDetector
from mercer.estimators.novelty import EXACT_ROWS
from mercer.exceptions import DegenerateDataWarning
from mercer.kernels import RBF, ArcCosine, Cosine, Laplacian, Linear, Matern, Polynomial, Spectrum
from mercer.spectral.leave_one_out import Limits

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 5)) * [3.0, 2.0, 1.0, 0.5, 0.3] + 4.0
NEW = RNG.standard_normal((15, 5)) * [3.0, 2.0, 1.0, 0.5, 0.3] + 4.0
KERNELS = [Linear(), Polynomial(2, 0.1), RBF(gamma=0.1), Laplacian(0.1), Matern(), Cosine(), ArcCosine(1)]
JUDGES_BY_LEAVING_OUT = (
    "the threshold is a quantile of the distances of rows that are left out, and fit_predict judges by these; rows "
    "given to predict count as new, and training rows are nearer than new ones"
)


def kpca(k=4, **parameters):
    return KernelPCA(k, **({"kernel": "rbf", "gamma": 0.1} | parameters))


def refitted(model, X):
    """The definition: for every row a fit without it."""
    others = (np.delete(np.arange(X.shape[0]), i) for i in range(X.shape[0]))
    return np.array([clone(model).fit(X[rest]).squared_distance(X[[i]])[0] for i, rest in enumerate(others)])


# --- scikit-learn ------------------------------------------------------------------------------------------


@parametrize_with_checks(
    [
        NoveltyDetector(),
        NoveltyDetector(PCA(1), contamination=0.1),
        NoveltyDetector(KernelPCA(2, kernel="rbf", eigen_solver="rpcholesky", rank=20)),
    ],
    expected_failed_checks=lambda _: dict.fromkeys(
        ["check_outliers_train", "check_outliers_fit_predict"], JUDGES_BY_LEAVING_OUT
    ),
)
@pytest.mark.filterwarnings("ignore::mercer.exceptions.MercerWarning")
def test_common_checks(estimator, check):
    check(estimator)


def test_the_interface_of_outlier_detectors():
    detector = NoveltyDetector(kpca(), contamination=0.1).fit(X)
    scores, decision = detector.score_samples(NEW), detector.decision_function(NEW)
    assert_allclose(scores, -detector.estimator_.squared_distance(NEW))
    assert_allclose(decision, scores - detector.offset_)
    assert detector.offset_ == -detector.threshold_
    assert_array_equal(detector.predict(NEW), np.where(decision >= 0, 1, -1))
    assert detector.n_features_in_ == 5


def test_fit_predict_calls_the_asked_share_new():
    detector = NoveltyDetector(kpca(), contamination=0.1)
    labels = detector.fit_predict(X)
    assert (labels == -1).sum() == 6
    assert_array_equal(labels == -1, detector.left_out_distances_ > detector.threshold_)
    assert_array_equal(np.unique(labels), [-1, 1])


def test_parameters_inside_can_be_searched():
    y = np.r_[np.ones(60), np.zeros(40)]
    mixed = np.vstack([X, RNG.uniform(-5, 13, size=(40, 5))])
    rows = [(np.arange(40), np.arange(40, 100))]

    def area(detector, X, y):
        return roc_auc_score(y, detector.score_samples(X))

    search = GridSearchCV(
        NoveltyDetector(KernelPCA(kernel=RBF())),
        {"estimator__kernel__gamma": [1e-3, 0.1, 100.0], "estimator__n_components": [2, 5]},
        scoring=area,
        cv=rows,
    )
    assert search.fit(mixed, y).best_score_ > 0.9


def test_pickle_clone_and_names():
    frame = pd.DataFrame(X, columns=list("abcde"))
    detector = NoveltyDetector(PCA(2)).fit(frame)
    assert list(detector.feature_names_in_) == list("abcde")
    again = pickle.loads(pickle.dumps(detector))
    assert_array_equal(again.predict(frame), detector.predict(frame))
    assert not hasattr(clone(detector), "threshold_")
    with pytest.raises(ValueError, match="feature names"):
        detector.predict(frame[list("edcba")])


# --- the distance --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("solver", ["auto", "krylov", "rpcholesky"])
def test_squared_distance_is_its_definition(kernel, solver):
    model = KernelPCA(4, kernel=kernel, eigen_solver=solver, rank=60, random_state=0).fit(X)
    K, k, own = kernel(X), kernel(NEW, X), np.diag(kernel(NEW))
    centred = k - k.mean(axis=1, keepdims=True) - K.mean(axis=0) + K.mean()
    H = np.eye(60) - 1 / 60
    values, vectors = np.linalg.eigh(H @ K @ H)
    scores = centred @ vectors[:, -4:] / np.sqrt(values[-4:])
    truth = own - 2 * k.mean(axis=1) + K.mean() - (scores**2).sum(axis=1)
    assert_allclose(model.squared_distance(NEW), truth, atol=1e-7 * own.max())


def test_pca_and_the_linear_kernel_agree():
    pca, kernel = PCA(2).fit(X), KernelPCA(2, kernel="linear").fit(X)
    rebuilt = pca.inverse_transform(pca.transform(NEW))
    assert_allclose(pca.squared_distance(NEW), ((NEW - rebuilt) ** 2).sum(axis=1), rtol=1e-10)
    assert_allclose(kernel.squared_distance(NEW), pca.squared_distance(NEW), rtol=1e-8)
    assert pca.squared_distance(NEW).mean() == pytest.approx(pca.reconstruction_error(NEW))
    assert_allclose(NoveltyDetector(pca).fit(X).threshold_, NoveltyDetector(kernel).fit(X).threshold_, rtol=1e-9)


@given(scale=st.floats(-3, 3), k=st.integers(1, 60))
def test_distances_are_never_negative(scale, k):
    model = kpca(k).fit(X)
    assert model.squared_distance(np.vstack([X, NEW * 10**scale])).min() >= 0


def test_score_is_the_share_that_is_not_distance():
    model = kpca().fit(X)
    z = model.transform(NEW)
    kept = (z**2).sum()
    assert model.score(NEW) == pytest.approx(kept / (kept + model.squared_distance(NEW).sum()))


def test_whitening_changes_no_distance():
    plain, white = (NoveltyDetector(PCA(2, whiten=w)).fit(X) for w in (False, True))
    assert_allclose(white.left_out_distances_, plain.left_out_distances_, rtol=1e-10)


# --- rows that are left out ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        PCA(2),
        PCA(0),
        *(KernelPCA(4, kernel=kernel) for kernel in KERNELS if not isinstance(kernel, Linear)),
        KernelPCA(3, kernel="linear"),
        kpca(4, eigen_solver="krylov"),
        kpca(4, eigen_solver="rpcholesky", rank=60),
    ],
    ids=repr,
)
def test_left_out_distances_are_those_of_refits(model):
    """1e-9 of the mean distance, where rows in the sample are 8 % to 50 % too near."""
    truth = refitted(model, X)
    fitted = clone(model).fit(X)
    assert_allclose(fitted.left_out_distances(X), truth, atol=1e-9 * truth.mean())
    assert fitted.squared_distance(X).mean() < 0.97 * truth.mean()


def test_wide_data():
    wide = np.random.default_rng(3).standard_normal((30, 80)) * 0.95 ** np.arange(80)
    assert_allclose(PCA(4).fit(wide).left_out_distances(wide), refitted(PCA(4), wide), rtol=1e-9)


@pytest.mark.parametrize("model", [PCA(2), kpca(), kpca(eigen_solver="rpcholesky", rank=60)], ids=repr)
def test_large_data_is_judged_by_the_kept_pairs(model):
    """Without all eigenpairs the distances are estimates: most of the bias goes, and ranks stay."""
    truth = refitted(model, X)
    fitted = clone(model).fit(X)
    naive = fitted.squared_distance(X)
    found = fitted.left_out_distances(X, limits=Limits(whole=1, block_entries=200))
    assert abs(found.mean() - truth.mean()) < 0.2 * (truth.mean() - naive.mean())
    assert np.corrcoef(found, truth)[0, 1] > 0.98


def test_blocks_change_nothing():
    models = [PCA(2).fit(X), kpca(eigen_solver="rpcholesky", rank=40).fit(X)]
    for model in models:
        in_blocks = model.left_out_distances(X, limits=Limits(block_entries=200))
        assert_allclose(in_blocks, model.left_out_distances(X), rtol=1e-7)


def test_low_rank_is_near_its_refits():
    """A landmark that is left out is no landmark: its distance is at least that from the span of the others."""
    model = kpca(eigen_solver="rpcholesky", rank=30, random_state=0).fit(X)
    exact = refitted(kpca(), X)
    found = model.left_out_distances(X)
    assert abs(found.mean() - exact.mean()) < 0.3 * (exact.mean() - model.squared_distance(X).mean())
    S = X[model.landmarks_]
    apart = 1 / np.linalg.inv(RBF(gamma=0.1)(S)).diagonal()
    assert np.all(found[model.landmarks_] >= apart * (1 - 1e-6))


# --- the threshold on new data -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "data"),
    [
        (KernelPCA(30, kernel="rbf", gamma=3.0), lambda n, seed: make_moons(n, noise=0.08, random_state=seed)[0]),
        (PCA(20), lambda n, seed: np.random.default_rng(seed).standard_normal((n, 40))),
    ],
    ids=["kernel", "pca"],
)
def test_false_alarms_are_as_rare_as_asked(model, data):
    """Counted over 20 samples of 100 rows: within what chance allows at 5 %, while rows in the sample set it too low.

    A threshold from n rows makes false alarms of about 5 % ± √(0.05 · 0.95/n) by itself, so means over samples are
    compared, with four standard errors of that.
    """
    rates, naive = [], []
    for seed in range(20):
        rows = data(100, seed)
        detector = NoveltyDetector(model, contamination=0.05).fit(rows)
        new = -detector.score_samples(data(500, 1000 + seed))
        rates.append(np.mean(new > detector.threshold_))
        naive.append(np.mean(new > np.quantile(detector.estimator_.squared_distance(rows), 0.95)))
    error = np.sqrt(0.05 * 0.95 / 100 / 20)
    assert abs(np.mean(rates) - 0.05) < 4 * error + 0.01  # and a quantile of 100 numbers is off by up to 1 in 101
    assert np.mean(naive) > 0.12


def test_auto_is_one_in_twenty():
    auto, same = NoveltyDetector(kpca()).fit(X), NoveltyDetector(kpca(), contamination=0.05).fit(X)
    assert auto.threshold_ == same.threshold_
    assert (auto.left_out_distances_ > auto.threshold_).sum() == 3  # of 60


def test_rings_hold_the_middle_for_new_and_pca_does_not():
    angle = RNG.uniform(0, 2 * np.pi, 300)
    ring = np.column_stack([np.cos(angle), np.sin(angle)]) + 0.05 * RNG.standard_normal((300, 2))
    kernel = NoveltyDetector(KernelPCA(20, kernel="rbf", gamma=2.0)).fit(ring)
    flat = NoveltyDetector(PCA(1)).fit(ring)
    assert kernel.predict([[0.0, 0.0]]) == -1
    assert flat.predict([[0.0, 0.0]]) == 1


# --- kinds of data -------------------------------------------------------------------------------------------


def test_float32_stays_float32():
    small = X.astype(np.float32)
    for model in (PCA(2), kpca(), kpca(eigen_solver="rpcholesky", rank=40)):
        detector, wide = NoveltyDetector(model).fit(small), NoveltyDetector(model).fit(X)
        assert detector.score_samples(NEW.astype(np.float32)).dtype == np.float32
        assert detector.decision_function(NEW.astype(np.float32)).dtype == np.float32
        assert detector.threshold_ == pytest.approx(wide.threshold_, rel=1e-3)


@pytest.mark.parametrize("model", [PCA(2), kpca(), kpca(eigen_solver="rpcholesky", rank=60)], ids=repr)
def test_csr_is_dense(model):
    rows = np.where(np.abs(X - 4) > 0.8, X - 4, 0.0)
    dense, sparse = NoveltyDetector(model).fit(rows), NoveltyDetector(model).fit(sp.csr_array(rows))
    assert sparse.threshold_ == pytest.approx(dense.threshold_, rel=1e-6)
    assert_allclose(sparse.score_samples(sp.csr_array(NEW)), dense.score_samples(NEW), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("solver", ["auto", "rpcholesky"])
def test_strings(solver):
    words = ["".join(RNG.choice(list("abcd"), size=9)) for _ in range(40)]
    detector = NoveltyDetector(KernelPCA(3, kernel=Spectrum(2), eigen_solver=solver)).fit(words)
    strange, usual = detector.score_samples(["zzzzzzzzz", "abbaababa"])
    assert strange < usual
    assert detector.predict(["zzzzzzzzz"]) == -1


@pytest.mark.torch
@pytest.mark.parametrize("model", [PCA(2), kpca(), kpca(eigen_solver="rpcholesky", rank=30)], ids=repr)
def test_torch_tensors_give_the_same_numbers(model):
    torch = pytest.importorskip("torch")
    here, there = NoveltyDetector(model).fit(X), NoveltyDetector(model).fit(torch.asarray(X))
    assert there.threshold_ == pytest.approx(here.threshold_)
    labels = there.predict(torch.asarray(NEW))
    assert isinstance(labels, torch.Tensor)
    assert_array_equal(labels.numpy(), here.predict(NEW))


def test_the_order_of_rows_does_not_matter():
    order = RNG.permutation(60)
    a, b = NoveltyDetector(kpca()).fit(X), NoveltyDetector(kpca()).fit(X[order])
    assert_allclose(b.left_out_distances_, a.left_out_distances_[order], rtol=1e-8)
    assert b.threshold_ == pytest.approx(a.threshold_)


@given(power=st.floats(-5, 5))
def test_scale_law(power):
    s = 10**power
    a, b = NoveltyDetector(PCA(2)).fit(X), NoveltyDetector(PCA(2)).fit(s * X)
    assert b.threshold_ == pytest.approx(s**2 * a.threshold_, rel=1e-6)


def test_same_bits():
    a, b = (NoveltyDetector(kpca(eigen_solver="rpcholesky")).fit(X) for _ in range(2))
    assert_array_equal(a.left_out_distances_, b.left_out_distances_)


# --- what is refused -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("contamination", [0, 0.0, 0.6, -0.1, "many", None])
def test_contamination_is_checked(contamination):
    with pytest.raises(ValueError, match="contamination"):
        NoveltyDetector(contamination=contamination).fit(X)


def test_other_estimators_are_refused():
    with pytest.raises(ValueError, match="estimator"):
        NoveltyDetector(SklearnPCA(2)).fit(X)

    class Pretender(SklearnPCA):
        def squared_distance(self, X):
            return X

    with pytest.raises(TypeError, match=r"needs a mercer\.PCA"):
        NoveltyDetector(Pretender()).fit(X)


@pytest.mark.parametrize("kernel", ["precomputed", pytest.param(None, id="Precomputed()")])
def test_precomputed_is_refused_before_work(kernel):
    from mercer.kernels import Precomputed

    with pytest.raises(ValueError, match="precomputed"):
        NoveltyDetector(KernelPCA(2, kernel=kernel or Precomputed())).fit(Linear()(X))


@pytest.mark.parametrize(
    "bad", [X * np.nan, X * np.inf, X[:0], X[0], [["a"] * 5] * 9], ids=["nan", "inf", "empty", "1d", "text"]
)
def test_bad_data(bad):
    with pytest.raises(ValueError):
        NoveltyDetector(kpca()).fit(bad)


def test_not_fitted_and_wrong_width():
    for method in ("predict", "score_samples", "decision_function"):
        with pytest.raises(NotFittedError):
            getattr(NoveltyDetector(), method)(X)
    with pytest.raises(ValueError, match="3 features"):
        NoveltyDetector(kpca()).fit(X).predict(NEW[:, :3])


@pytest.mark.parametrize("rows", [X[:1], np.ones((9, 3))], ids=["one row", "constant"])
def test_nothing_to_tell_apart(rows):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)
        detector = NoveltyDetector(KernelPCA(1, kernel="rbf")).fit(rows)
    assert np.all(np.isfinite(detector.score_samples(rows)))
    assert np.all(detector.predict(rows) == 1)


def test_components_that_hold_everything_warn():
    with pytest.warns(DegenerateDataWarning, match="fewer components"):
        detector = NoveltyDetector(PCA(5)).fit(X)
    assert_array_equal(detector.predict(np.vstack([X, NEW])), 1)  # and rounding raises no alarm


def test_duplicates():
    twice = np.repeat(X[:20], 2, axis=0)
    detector = NoveltyDetector(PCA(3)).fit(twice)
    assert_allclose(detector.left_out_distances_, refitted(PCA(3), twice), atol=1e-9)


@pytest.mark.parametrize("scale", [1e100, 1e-100])
@pytest.mark.parametrize("whole", [2000, 10], ids=["all pairs", "the kept pairs"])
@pytest.mark.parametrize(
    "model",
    [PCA(2), KernelPCA(2, kernel="linear"), KernelPCA(2, kernel="linear", eigen_solver="rpcholesky", rank=5)],
    ids=["pca", "kernel pca", "factor"],
)
def test_left_out_distances_keep_the_unit_of_the_data(model, whole, scale):
    limits = Limits(whole=whole)
    plain, scaled = (clone(model).fit(rows).left_out_distances(rows, limits=limits) for rows in (X, X * scale))
    assert plain.min() > 0
    assert_allclose(scaled / scale / scale, plain, rtol=1e-6)


# --- the default on tables ---------------------------------------------------------------------------------


def test_the_default_of_a_few_thousand_rows_does_not_load_numba():
    """To load it takes longer than the fit."""
    code = (
        "import sys, numpy as np; from mercer import NoveltyDetector; "
        "NoveltyDetector().fit(np.random.default_rng(0).normal(size=(4000, 12))); sys.exit('numba' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def table(n, seed=0):
    """Two normal groups in columns of very different units, and rows that swap the columns' dependence."""
    rng = np.random.default_rng(seed)
    hidden = rng.standard_normal((n, 2)) + 4 * rng.integers(0, 2, (n, 1))
    mixed = np.column_stack([hidden, hidden[:, :1] - hidden[:, 1:], hidden.sum(axis=1)])
    return (mixed + 0.1 * rng.standard_normal(mixed.shape)) * [1e-3, 1.0, 1e4, 30.0]


def test_the_default_sees_columns_of_any_unit_as_well_as_an_isolation_forest():
    train, new = table(400), table(300, seed=1)
    odd = np.random.default_rng(2).permuted(new, axis=0)  # every column as before, and no dependence
    rows, is_odd = np.vstack([new, odd]), np.repeat([0, 1], 300)
    ours = roc_auc_score(is_odd, -NoveltyDetector().fit(train).score_samples(rows))
    forest = roc_auc_score(is_odd, -IsolationForest(random_state=0).fit(train).score_samples(rows))
    assert ours > forest and ours > 0.9


def test_units_of_columns_do_not_change_the_default():
    X = table(120)
    one = NoveltyDetector().fit(X)
    other = NoveltyDetector().fit(X * [1e6, 1e-3, 7.0, 1.0])
    assert_allclose(other.left_out_distances_, one.left_out_distances_, rtol=1e-6)


def test_many_rows_take_a_factor_and_no_warning():
    X = table(EXACT_ROWS + 100)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        detector = NoveltyDetector().fit(X)
    assert detector.estimator_.landmarks_ is not None
    assert np.mean(detector.predict(table(2000, seed=3)) == -1) == pytest.approx(0.05, abs=0.03)


def test_all_components_need_no_second_decomposition(monkeypatch):
    """Distances of rows left out then follow from the pairs at hand: 1 / (K⁺)ᵢᵢ, since every row spans a direction."""
    model = kpca(None).fit(X)
    monkeypatch.setattr(np.linalg, "eigh", None)
    found = model.left_out_distances(X)
    H = np.eye(60) - 1 / 60
    expected = 1 / np.linalg.pinv(H @ RBF(gamma=0.1)(X) @ H, rcond=1e-12, hermitian=False).diagonal()
    assert_allclose(found, expected, rtol=1e-6)


def test_progress_is_told_only_when_asked(capsys):
    NoveltyDetector(kpca()).fit(X)
    assert capsys.readouterr().err == ""
    NoveltyDetector(kpca(), verbose=True).fit(X)
    assert capsys.readouterr().err.count("NoveltyDetector: ") == 2
