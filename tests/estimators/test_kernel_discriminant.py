"""Kernel discriminant analysis against the notes' equations, its peers, and what can go wrong."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import subspace_angles
from sklearn.datasets import load_digits, load_iris, make_circles
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer.spectral.discriminant as discriminants
from mercer import KernelDiscriminantAnalysis
from mercer.exceptions import DegenerateDataWarning, MemoryLimitError, NotConvergedWarning
from mercer.kernels import RBF, Linear, Polynomial, Spectrum
from mercer.spectral.scatter import Classes, directions

IRIS, SPECIES = load_iris(return_X_y=True)
CIRCLES, RINGS = make_circles(200, factor=0.3, noise=0.1, random_state=0)
DIGITS, LABELS = load_digits(return_X_y=True)
RNG = np.random.default_rng(2)


@parametrize_with_checks(
    [
        KernelDiscriminantAnalysis(reg=1e-3),
        KernelDiscriminantAnalysis(),
        KernelDiscriminantAnalysis(rank="auto", reg=1e-3),
        KernelDiscriminantAnalysis(kernel="linear", rank=5, normalize="rkhs"),
    ],
    expected_failed_checks=lambda estimator: dict.fromkeys(
        ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"),
        "a row that is left out takes all its weight with it, and leaves no copies behind",
    ),
)
def test_scikit_learn_common_checks(estimator, check):
    check(estimator)


# --- the notes -------------------------------------------------------------------------------------------


def notes(K, y, reg):
    """Equations 21.44 to 21.61, with the penalty λn K on N that makes it invertible: a = (N + λnK)⁻¹(m₁ − m₂)."""
    n = len(y)
    m, N = {}, np.zeros((n, n))
    for c in (1, -1):
        E = K[:, y == c]  # (n, n_i)
        n_i = E.shape[1]
        m[c] = E.sum(axis=1) / n_i  # 21.48
        N += E @ (np.eye(n_i) - np.full((n_i, n_i), 1 / n_i)) @ E.T  # 21.54
    H = np.eye(n) - 1 / n
    penalty = reg * np.trace(H @ K @ H)
    a = np.linalg.lstsq(N + penalty * K, m[1] - m[-1], rcond=1e-14)[0]
    return a / np.sqrt(a @ K @ a)  # 21.59


@pytest.mark.parametrize("kernel", [RBF(2.0), Polynomial(degree=3, gamma=1.0), Linear()])
def test_two_classes_are_the_notes(kernel):
    X, y = CIRCLES[:120], np.where(RINGS[:120] == 1, 1, -1)
    K = kernel(X)
    a = notes(K, y, 1e-2)
    kda = KernelDiscriminantAnalysis(kernel=kernel, reg=1e-2, normalize="rkhs").fit(X, y)
    ours, direct = kda.transform(X)[:, 0], K @ a  # 21.61
    direct = direct - direct.mean()
    assert_allclose(ours * np.sign(ours @ direct), direct, atol=1e-7 * np.abs(direct).max())
    J = (direct[y == 1].mean() - direct[y == -1].mean()) ** 2
    within = sum(((direct[y == c] - direct[y == c].mean()) ** 2).sum() for c in (1, -1))
    H = np.eye(len(y)) - 1 / len(y)
    between = J * (y == 1).sum() * (y == -1).sum() / len(y)
    assert_allclose(kda.eigenvalues_[0], between / (within + 1e-2 * np.trace(H @ K @ H)), rtol=1e-6)


def test_linear_kernel_without_penalty_is_linear_discriminant_analysis():
    lda = LinearDiscriminantAnalysis().fit(IRIS, SPECIES)
    for rank, reg, near in ((10, 1e-13, 1e-8), (None, 1e-8, 1e-4)):
        kda = KernelDiscriminantAnalysis(kernel="linear", rank=rank, reg=reg).fit(IRIS, SPECIES)
        assert subspace_angles(kda.transform(IRIS), lda.transform(IRIS)).max() < near
        assert np.mean(kda.predict(IRIS) == lda.predict(IRIS)) > 0.98
        assert_allclose(kda.explained_variance_ratio_, lda.explained_variance_ratio_, atol=1e-5)


# --- one answer, many ways -------------------------------------------------------------------------------


@pytest.fixture
def streaming(monkeypatch):
    monkeypatch.setattr(discriminants, "SMALL", 10)


@pytest.mark.parametrize("priors", [None, [0.2, 0.3, 0.5]])
@pytest.mark.parametrize("normalize", ["within", "rkhs"])
def test_streamed_is_factored_is_of_full_rank_is_precomputed(streaming, monkeypatch, priors, normalize):
    given = {"reg": 1e-3, "priors": priors, "normalize": normalize}
    kernel = RBF(0.3)
    streamed = KernelDiscriminantAnalysis(kernel=kernel, tol=1e-12, **given).fit(IRIS, SPECIES)
    assert "conjugate" in streamed.solver_.reason and streamed.residuals_.max() < 1e-11
    monkeypatch.setattr(discriminants, "SMALL", 1000)
    dense = KernelDiscriminantAnalysis(kernel=kernel, **given).fit(IRIS, SPECIES)
    full = KernelDiscriminantAnalysis(kernel=kernel, rank=150, **given).fit(IRIS, SPECIES)
    K = kernel(IRIS)
    other = KernelDiscriminantAnalysis(kernel="precomputed", **given).fit(K, SPECIES)
    z = dense.transform(IRIS)
    for fit, rows in ((streamed, IRIS), (full, IRIS), (other, K)):
        assert_allclose(np.abs(fit.transform(rows)), np.abs(z), atol=1e-5 * np.abs(z).max())
        assert_allclose(fit.predict_proba(rows), dense.predict_proba(IRIS), atol=1e-3)
        assert_allclose(fit.eigenvalues_, dense.eigenvalues_, rtol=1e-6)
        assert_allclose(fit.loo_error_, dense.loo_error_, atol=0.01)


def test_lengths_are_what_normalize_says():
    kernel = RBF(0.3)
    K = kernel(IRIS)
    H = np.eye(150) - 1 / 150
    for rank in (None, 150):
        kda = KernelDiscriminantAnalysis(kernel=kernel, reg=1e-3, rank=rank).fit(IRIS, SPECIES)
        z = kda.transform(IRIS)
        within = np.mean((z - np.stack([z[c == SPECIES].mean(axis=0) for c in range(3)])[SPECIES]) ** 2, axis=0)
        a = np.linalg.lstsq(H @ K @ H, z, rcond=1e-10)[0]
        lengths = np.sum(a * (H @ K @ H @ a), axis=0)
        assert_allclose(within + kda.penalty_ * lengths, 1.0, atol=1e-4)
        unit = KernelDiscriminantAnalysis(kernel=kernel, reg=1e-3, rank=rank, normalize="rkhs").fit(IRIS, SPECIES)
        assert_allclose(unit.transform(IRIS), z / np.sqrt(lengths), rtol=1e-3, atol=1e-4)
        assert_allclose(unit.predict_proba(IRIS), kda.predict_proba(IRIS), atol=1e-10)


def test_a_low_rank_is_near_and_float32_stays():
    X, y = DIGITS[:900], LABELS[:900]
    exact = KernelDiscriminantAnalysis(reg=1e-4).fit(X, y)
    low = KernelDiscriminantAnalysis(reg=1e-4, rank=500).fit(X, y)
    angles = subspace_angles(exact.transform(DIGITS[900:]), low.transform(DIGITS[900:]))
    assert np.rad2deg(angles.max()) < 20
    assert abs(exact.score(DIGITS[900:], LABELS[900:]) - low.score(DIGITS[900:], LABELS[900:])) < 0.02
    single = KernelDiscriminantAnalysis(reg=1e-4).fit(X.astype(np.float32), y)
    z = single.transform(DIGITS[900:].astype(np.float32))
    assert z.dtype == np.float32
    assert_allclose(np.abs(z), np.abs(exact.transform(DIGITS[900:])), atol=0.05 * np.abs(z).max())


def test_rows_in_another_order_and_labels_of_another_name():
    order = RNG.permutation(150)
    names = np.array(["setosa", "versicolor", "virginica"])
    kda = KernelDiscriminantAnalysis().fit(IRIS, SPECIES)
    other = KernelDiscriminantAnalysis().fit(IRIS[order], names[SPECIES][order])
    assert_allclose(np.abs(other.transform(IRIS)), np.abs(kda.transform(IRIS)), atol=1e-6)
    assert_array_equal(other.predict(IRIS), names[kda.predict(IRIS)])
    assert_array_equal(other.classes_, names)


# --- leaving one out -------------------------------------------------------------------------------------


@pytest.mark.parametrize("rank", [None, 40])
def test_the_leave_one_out_error_is_that_of_refits(rank):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 3))
    y = (X[:, 0] ** 2 + X[:, 1] + 0.5 * rng.standard_normal(80) > 0.7).astype(int)
    kda = KernelDiscriminantAnalysis(gamma=0.3, reg=1e-2, rank=rank)
    wrong = 0
    for i in range(80):
        rest = np.arange(80) != i
        wrong += kda.fit(X[rest], y[rest]).predict(X[i : i + 1])[0] != y[i]
    assert abs(kda.fit(X, y).loo_error_ - wrong / 80) <= 3 / 80


@pytest.mark.parametrize("seed", range(6))
def test_the_error_of_refits_is_within_two_standard_errors(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((50, 2)), np.arange(50) % (2 + seed % 2)
    X += np.array([[0.0, 0.0], [1.2, 1.2], [1.2, -1.2]])[y]
    kda = KernelDiscriminantAnalysis(gamma=0.3, reg=10.0 ** -(seed % 4))
    wrong = [kda.fit(np.delete(X, i, 0), np.delete(y, i)).predict(X[i : i + 1])[0] != y[i] for i in range(50)]
    fitted = kda.fit(X, y)
    assert abs(fitted.loo_error_ - np.mean(wrong)) <= 2 * fitted.loo_error_se_
    assert fitted.loo_error_se_ >= 1 / 52 * 0.9  # never zero, not even for a perfect score


@pytest.mark.parametrize("rank", [None, 200])
def test_reg_by_leaving_one_out_is_near_the_best_on_new_data(rank):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((1500, 4))
    y = (np.sin(2 * X[:, 0]) + X[:, 1] + 0.7 * rng.standard_normal(1500) > 0).astype(int)
    new = slice(400, None)
    chosen = KernelDiscriminantAnalysis(gamma="median", rank=rank).fit(X[:400], y[:400])
    fixed = [
        KernelDiscriminantAnalysis(gamma="median", rank=rank, reg=reg).fit(X[:400], y[:400]).score(X[new], y[new])
        for reg in np.logspace(-8, 0, 9)
    ]
    assert chosen.score(X[new], y[new]) >= max(fixed) - 0.02
    assert max(fixed) - min(fixed) > 0.04  # there was something to choose
    values, errors = chosen.reg_path_
    assert errors[values == chosen.reg_][0] == errors.min()


def test_probabilities_are_not_overconfident():
    """On noise there is nothing to learn, and an interpolating fit says so once its samples are left out."""
    rng = np.random.default_rng(4)
    X, y = rng.standard_normal((600, 5)), rng.integers(0, 2, 600)
    kda = KernelDiscriminantAnalysis(gamma=0.2, reg=1e-6).fit(X[:300], y[:300])
    assert log_loss(y[300:], kda.predict_proba(X[300:])) < 0.75  # a coin has 0.69
    P = kda.predict_proba(DIGITS[:, :5])
    assert_allclose(P.sum(axis=1), 1.0) and np.isfinite(kda.predict_log_proba(DIGITS[:, :5])).all()


RULE = np.random.default_rng(0).standard_normal((700, 4))
TRUE = (RULE[:, 0] + RULE[:, 1] ** 2 > 1).astype(int)


@pytest.mark.parametrize("gamma", ["median", 1.0, 10.0])
@pytest.mark.parametrize("reg", [1e-9, 1e-3, 1.0, "loo"])
def test_narrow_kernels_and_any_penalty_never_turn_the_classes_round(gamma, reg):
    kda = KernelDiscriminantAnalysis(gamma=gamma, reg=reg).fit(RULE[:300], TRUE[:300])
    z = kda.transform(RULE[:300])[:, 0]
    assert (kda.means_[1, 0] > kda.means_[0, 0]) == (z[TRUE[:300] == 1].mean() > z[TRUE[:300] == 0].mean())
    majority = max(TRUE[300:].mean(), 1 - TRUE[300:].mean())
    assert kda.score(RULE[300:], TRUE[300:]) > majority - 0.08
    loss = log_loss(TRUE[300:], kda.predict_proba(RULE[300:]))
    assert loss < log_loss(TRUE[300:], np.full(400, TRUE[:300].mean())) + 0.05


@pytest.mark.parametrize("gamma", ["median", 2.0])
@pytest.mark.parametrize("reg", [1e-6, 1e-2, "loo"])
def test_noise_is_called_noise(gamma, reg):
    y = np.random.default_rng(5).integers(0, 2, 300)
    kda = KernelDiscriminantAnalysis(gamma=gamma, reg=reg).fit(RULE[:300], y)
    assert kda.loo_error_ > 0.38
    assert np.mean(kda.predict_proba(RULE[300:]).max(axis=1)) < 0.62


@pytest.mark.parametrize(("gamma", "reg"), [(2.0, 1e-9), (2.0, 1e-4), (0.3, 1e-6)])
def test_a_small_penalty_does_not_look_perfect(gamma, reg):
    kda = KernelDiscriminantAnalysis(gamma=gamma, reg=reg)
    X, y = RULE[:120], TRUE[:120]
    wrong = [kda.fit(np.delete(X, i, 0), np.delete(y, i)).predict(X[i : i + 1])[0] != y[i] for i in range(120)]
    assert abs(kda.fit(X, y).loo_error_ - np.mean(wrong)) < 0.06


def test_streamed_and_in_memory_agree_on_new_samples(streaming, monkeypatch):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((1600, 15))
    y = (X[:, 0] * X[:, 1] + X[:, 2] > 0).astype(int)
    streamed = KernelDiscriminantAnalysis(reg=1e-4, tol=1e-8).fit(X[:800], y[:800])
    monkeypatch.setattr(discriminants, "SMALL", 2048)
    whole = KernelDiscriminantAnalysis(reg=1e-4).fit(X[:800], y[:800])
    assert_allclose(np.abs(streamed.transform(X[800:])), np.abs(whole.transform(X[800:])), atol=1e-5)
    assert abs(streamed.loo_error_ - whole.loo_error_) < 0.04
    assert abs(streamed.score(X[800:], y[800:]) - whole.score(X[800:], y[800:])) < 0.02
    losses = [log_loss(y[800:], kda.predict_proba(X[800:])) for kda in (streamed, whole)]
    assert abs(losses[0] - losses[1]) < 0.03


def scores_by_the_definition(X, y, weights, reg):
    """The scores of two classes: one solve with K_w, by NumPy."""
    shares = np.bincount(y, weights) / np.bincount(y, weights).sum()
    classes = Classes(y, shares, weights)
    w, n = classes.weights, len(y)
    C = np.eye(n) - np.outer(np.ones(n), w) / n
    Kw = np.sqrt(w)[:, None] * (C @ RBF("median").bind(X)(X) @ C.T) * np.sqrt(w)
    Y = classes.indicators() - np.outer(np.sqrt(w), np.sqrt(w) @ classes.indicators()) / n
    dual = np.linalg.solve(Kw + reg * np.trace(Kw) * np.eye(n), Y)
    found = directions(Y.T @ Kw @ dual, classes)
    return (Kw @ dual @ found.combine)[:, 0] / np.sqrt(w)


@pytest.mark.parametrize("weights", [None, np.random.default_rng(0).uniform(0.5, 2, 2100)])
def test_beyond_the_eigenvalues_one_factor_has_the_answer(weights):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((2100, 5))
    y = (X[:, 0] * X[:, 1] + X[:, 2] > 0).astype(int)
    direct = KernelDiscriminantAnalysis(gamma="median", reg=1e-4).fit(X, y, weights)
    assert direct.report_.name == "cholesky" and direct.residuals_.max() < 1e-9
    z = scores_by_the_definition(X, y, weights, 1e-4)
    assert_allclose(np.abs(direct.transform(X)[:, 0]), np.abs(z), atol=1e-6 * np.abs(z).max())


def test_where_the_matrix_does_not_fit_tiles_are_streamed():
    X, y = np.zeros((5000, 3)), np.arange(5000) % 2
    assert KernelDiscriminantAnalysis(memory_limit="2GB").plan(X, y).method == "cholesky"
    assert KernelDiscriminantAnalysis(memory_limit="250MB").plan(X, y).method == "conjugate gradients"


def test_the_same_mean_is_not_separated_by_rounding():
    X, y = np.repeat(RULE[:100], 2, axis=0), np.tile([0, 1], 100)
    for given in ({}, {"reg": 1e-6}, {"rank": 50}, {"rank": 50, "reg": 1e-6}):
        with pytest.raises(ValueError, match="same mean"):
            KernelDiscriminantAnalysis(**given).fit(X, y)


# --- the width -------------------------------------------------------------------------------------------

BOARD = np.random.default_rng(0).uniform(0, 6, (1400, 2))
SQUARES = (np.floor(BOARD).sum(axis=1) % 2).astype(int)  # a chessboard: the median distance is far too wide


@pytest.mark.parametrize("rank", [None, 200])
def test_a_width_by_leaving_one_out_suits_the_classes(rank):
    train, new = slice(0, 500), slice(500, None)
    fits = [KernelDiscriminantAnalysis(gamma=g, rank=rank).fit(BOARD[train], SQUARES[train]) for g in ("loo", "median")]
    chosen, median = (1 - fit.score(BOARD[new], SQUARES[new]) for fit in fits)
    assert chosen < 0.6 * median
    values, errors = fits[0].gamma_path_
    assert errors[values == fits[0].gamma_][0] == errors.min() and len(values) >= 4
    assert fits[0].kernel_ == RBF(fits[0].gamma_) and not hasattr(fits[1], "gamma_path_")


def test_a_width_is_chosen_for_kernels_that_have_one():
    laplacian = KernelDiscriminantAnalysis(kernel="laplacian", gamma="loo", reg=1e-3).fit(BOARD[:200], SQUARES[:200])
    assert laplacian.kernel_.gamma == laplacian.gamma_
    for kernel in ("linear", RBF(1.0)):  # they have no gamma that the search may change
        plain = KernelDiscriminantAnalysis(kernel=kernel, gamma="loo").fit(BOARD[:200], SQUARES[:200])
        assert not hasattr(plain, "gamma_path_")


# --- weights ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rank", [None, 150, "streamed"])
def test_whole_weights_are_repeated_rows(rank, monkeypatch):
    counts = np.random.default_rng(0).integers(0, 3, 150)
    given = {"kernel": RBF(0.3), "reg": 1e-3, "tol": 1e-12, "rank": None if rank == "streamed" else rank}
    if rank == "streamed":
        monkeypatch.setattr(discriminants, "SMALL", 10)
    weighted = KernelDiscriminantAnalysis(**given).fit(IRIS, SPECIES, sample_weight=counts)
    repeated = KernelDiscriminantAnalysis(**given).fit(np.repeat(IRIS, counts, axis=0), np.repeat(SPECIES, counts))
    z = repeated.transform(IRIS)
    assert_allclose(weighted.transform(IRIS), z, atol=1e-5 * np.abs(z).max())
    assert_allclose(weighted.eigenvalues_, repeated.eigenvalues_, rtol=1e-6)
    assert_allclose(weighted.priors_, repeated.priors_, rtol=1e-12)


def test_balanced_classes_are_equal_priors():
    X, y = IRIS[:120], SPECIES[:120]  # fifty, fifty, twenty
    balanced = KernelDiscriminantAnalysis(reg=1e-3, class_weight="balanced").fit(X, y)
    equal = KernelDiscriminantAnalysis(reg=1e-3, priors=[1 / 3, 1 / 3, 1 / 3]).fit(X, y)
    assert_allclose(balanced.transform(X), equal.transform(X), atol=1e-8)
    assert_allclose(balanced.predict_proba(X), equal.predict_proba(X), atol=1e-8)
    by_hand = KernelDiscriminantAnalysis(reg=1e-3, class_weight={0: 40 / 50, 1: 40 / 50, 2: 2.0}).fit(X, y)
    assert_allclose(by_hand.priors_, [1 / 3, 1 / 3, 1 / 3])


def test_weights_that_cannot_be_used_are_refused():
    for bad in (np.ones(3), -np.ones(150), np.full(150, np.nan)):
        with pytest.raises(ValueError, match="sample_weight"):
            KernelDiscriminantAnalysis().fit(IRIS, SPECIES, sample_weight=bad)
    only = (SPECIES == 0).astype(float)
    with pytest.raises(ValueError, match="greater than one"):
        KernelDiscriminantAnalysis().fit(IRIS, SPECIES, sample_weight=only)
    with pytest.raises(ValueError, match="precomputed kernel every sample needs a weight"):
        KernelDiscriminantAnalysis(kernel="precomputed").fit(RBF(1.0)(IRIS), SPECIES, sample_weight=np.arange(150))


def test_progress_is_reported_on_request(streaming, capsys):
    KernelDiscriminantAnalysis(gamma="loo", verbose=True).fit(IRIS, SPECIES)
    told = capsys.readouterr().err
    for part in ("gamma × 1:", "reg =", "pass 1, largest residual", "converged"):
        assert part in told
    KernelDiscriminantAnalysis().fit(IRIS, SPECIES)
    assert capsys.readouterr().err == ""


# --- classes as they come --------------------------------------------------------------------------------


def test_classes_of_one_member_and_imbalance():
    X = np.r_[RNG.standard_normal((200, 2)), [[8.0, 8.0]], [[-9.0, 9.0], [-9.2, 9.1]]]
    y = np.array(["many"] * 200 + ["one"] + ["two", "two"])
    for rank in (None, 50):
        kda = KernelDiscriminantAnalysis(gamma=0.1, rank=rank).fit(X, y)
        assert kda.transform(X).shape == (203, 2)
        assert_array_equal(kda.predict([[8.1, 8.0], [-9.0, 9.0], [0.1, 0.0]]), ["one", "two", "many"])
        assert np.isfinite(kda.predict_proba(X)).all()


def test_priors_move_the_boundary():
    rare = KernelDiscriminantAnalysis(gamma="median", reg=0.1, priors=[0.99, 0.01]).fit(CIRCLES, RINGS)
    even = KernelDiscriminantAnalysis(gamma="median", reg=0.1, priors=[0.5, 0.5]).fit(CIRCLES, RINGS)
    assert rare.predict_proba(CIRCLES)[:, 1].mean() < even.predict_proba(CIRCLES)[:, 1].mean()
    assert_allclose(rare.priors_, [0.99, 0.01])
    with pytest.warns(UserWarning, match="Renormalizing"):
        KernelDiscriminantAnalysis(priors=[1, 3]).fit(CIRCLES, RINGS)
    for bad in ([0.5], [0.5, 0.5, 0.5], [-1, 2], [np.nan, 1.0], [0, 1]):
        with pytest.raises(ValueError, match="2 positive numbers"):
            KernelDiscriminantAnalysis(priors=bad).fit(CIRCLES, RINGS)


def test_components_are_the_first_of_all_and_predictions_use_all():
    one = KernelDiscriminantAnalysis(1, gamma=0.3, reg=1e-3).fit(IRIS, SPECIES)
    both = KernelDiscriminantAnalysis(gamma=0.3, reg=1e-3).fit(IRIS, SPECIES)
    assert_allclose(one.transform(IRIS), both.transform(IRIS)[:, :1])
    assert_allclose(one.predict_proba(IRIS), both.predict_proba(IRIS))
    assert one.get_feature_names_out().tolist() == ["kerneldiscriminantanalysis0"]
    assert both.means_.shape == (3, 2) and both.decision_function(IRIS).shape == (150, 3)
    with pytest.raises(ValueError, match="2 directions at most"):
        KernelDiscriminantAnalysis(3).fit(IRIS, SPECIES)


# --- other data ------------------------------------------------------------------------------------------


def test_sparse_frames_and_strings():
    X, y = DIGITS[:300], LABELS[:300]
    dense = KernelDiscriminantAnalysis(reg=1e-3).fit(X, y)
    for rank in (None, 100):
        thin = KernelDiscriminantAnalysis(reg=1e-3, gamma=dense.gamma_, rank=rank).fit(sp.csr_matrix(X), y)
        assert thin.score(sp.csr_matrix(X), y) > 0.98
    frame = pd.DataFrame(IRIS, columns=list("abcd"))
    out = KernelDiscriminantAnalysis().set_output(transform="pandas").fit(frame, SPECIES).transform(frame)
    assert list(out.columns) == ["kerneldiscriminantanalysis0", "kerneldiscriminantanalysis1"]
    words = ["banana", "bandana", "ananas", "anna", "house", "mouse", "louse", "blouse"]
    kda = KernelDiscriminantAnalysis(kernel=Spectrum(), reg=0.1).fit(words, list("aaaabbbb"))
    assert_array_equal(kda.predict(["savanna", "grouse"]), ["a", "b"])


def test_in_a_pipeline_and_a_grid():
    search = GridSearchCV(
        make_pipeline(StandardScaler(), KernelDiscriminantAnalysis(reg=1e-3)),
        {"kerneldiscriminantanalysis__gamma": [0.01, 0.1, 1.0], "kerneldiscriminantanalysis__rank": [None, 50]},
        cv=3,
    ).fit(IRIS, SPECIES)
    assert search.best_score_ > 0.94


# --- bad input -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rank", [None, 20])
@pytest.mark.parametrize("scale", [1e-150, 1e150, 1e-3])
def test_any_scale(rank, scale):
    kda = KernelDiscriminantAnalysis(rank=rank).fit(IRIS * scale, SPECIES)
    assert kda.score(IRIS * scale, SPECIES) > 0.95


def test_what_is_refused():
    fit = KernelDiscriminantAnalysis().fit
    with pytest.raises(ValueError, match="greater than one"):
        fit(IRIS, np.zeros(150))
    with pytest.raises(ValueError, match="must be more than the number of classes"):
        fit(IRIS[:5], np.arange(5))
    with pytest.raises(ValueError, match="no variation"):
        fit(np.ones((20, 3)), np.arange(20) % 2)
    with pytest.raises(ValueError, match="no variation"):
        KernelDiscriminantAnalysis(rank=5).fit(np.ones((20, 3)), np.arange(20) % 2)
    with pytest.raises(ValueError, match="same mean"):
        KernelDiscriminantAnalysis(kernel="linear", reg=1.0).fit([[1.0], [-1.0], [1.0], [-1.0]], [0, 0, 1, 1])
    with pytest.raises(ValueError, match="inconsistent"):
        fit(IRIS, SPECIES[:-1])
    with pytest.raises(ValueError, match="Unknown label type"):
        fit(IRIS, RNG.standard_normal(150))
    with pytest.raises(MemoryLimitError, match="rank"):
        KernelDiscriminantAnalysis(memory_limit="100kB", rank=100).fit(IRIS, SPECIES)
    with pytest.raises(MemoryLimitError, match="Nothing was allocated"):
        KernelDiscriminantAnalysis(memory_limit="100kB").fit(IRIS, SPECIES)
    with pytest.raises(ValueError, match="definite"):
        Q = np.linalg.qr(RNG.standard_normal((150, 150)))[0]
        K = (Q * np.r_[-1.0, np.ones(149)]) @ Q.T
        KernelDiscriminantAnalysis(kernel="precomputed", reg=1e-9).fit(K, SPECIES)


def test_duplicates_and_too_few_directions():
    X = np.repeat(np.eye(3), 20, axis=0)
    kda = KernelDiscriminantAnalysis().fit(X, np.repeat([0, 1, 2], 20))
    assert kda.score(X, np.repeat([0, 1, 2], 20)) == 1 and np.isfinite(kda.transform(X)).all()
    with pytest.warns(DegenerateDataWarning, match="differ in 1 direction only"):
        KernelDiscriminantAnalysis(kernel="linear", reg=1e-3).fit(IRIS[:, :1], SPECIES)


def test_too_few_passes_are_told(streaming):
    with pytest.warns(NotConvergedWarning, match="raise reg"):
        kda = KernelDiscriminantAnalysis(gamma=0.5, reg=1e-9, max_iter=1).fit(DIGITS[:600], LABELS[:600])
    assert kda.residuals_.max() > 1e-8 and not kda.solver_.converged


def test_one_thread_when_asked_is_the_same_to_rounding(monkeypatch):
    from mercer.backends import cpu

    X, y = np.tile(DIGITS, (2, 1)) + RNG.normal(scale=0.5, size=(2 * len(DIGITS), 64)), np.tile(LABELS, 2)
    both = KernelDiscriminantAnalysis(reg=1e-3).fit(X, y)
    counts, original = [], cpu.workers
    monkeypatch.setattr(cpu, "workers", lambda n_jobs=None: counts.append(n_jobs) or original(n_jobs))
    alone = KernelDiscriminantAnalysis(reg=1e-3, n_jobs=1).fit(X, y)
    assert set(counts) == {1}
    counts.clear()
    KernelDiscriminantAnalysis(kernel="precomputed", reg=1e-3, n_jobs=1).fit(RBF(0.001)(X), y)
    assert set(counts) == {1}
    assert_allclose(alone.transform(X[:50]), both.transform(X[:50]), rtol=1e-4, atol=1e-4)
    assert alone.residuals_.max() <= 2e-4 and both.residuals_.max() <= 2e-4
