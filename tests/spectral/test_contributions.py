"""KernelPCA.feature_contributions: gradients of the components, against finite differences of transform."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError

from mercer import PCA, KernelPCA
from mercer.exceptions import MemoryLimitError
from mercer.kernels import RBF, ArcCosine, Cosine, Laplacian, Linear, Matern, Polynomial, RationalQuadratic, Sigmoid
from mercer.spectral import contributions
from mercer.streams import ArraySource

RNG = np.random.default_rng(0)
X, NEW = RNG.standard_normal((50, 4)), RNG.standard_normal((6, 4))
KERNELS = [
    Linear(),
    Polynomial(degree=2),
    RBF(gamma="median"),
    Sigmoid(gamma=0.05),
    Matern(1.5),
    Matern(3.2),
    RationalQuadratic(),
    Cosine(),
    ArcCosine(1),
    RBF(gamma=0.2) + 0.1 * Linear(),
    RBF(gamma=0.2).on([0, 2]) * Polynomial(degree=2).normalized(),
]


def differences(model, rows, step=1e-5):
    units = step * np.eye(rows.shape[1])
    return np.stack([(model.transform(rows + u) - model.transform(rows - u)) / (2 * step) for u in units], axis=2)


@pytest.mark.filterwarnings("ignore::mercer.exceptions.IndefiniteKernelWarning")
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_rows_against_finite_differences_of_transform(kernel):
    model = KernelPCA(3, kernel=kernel).fit(X)
    expected = differences(model, NEW)
    assert_allclose(model.feature_contributions(NEW, average=False), expected, atol=1e-8 * np.abs(expected).max())


def test_landmarks_of_a_factor_are_enough():
    model = KernelPCA(3, kernel="rbf", gamma=0.2, eigen_solver="rpcholesky", rank=20).fit(X)
    assert len(model.expansion_.anchors) == 20
    expected = differences(model, NEW)
    assert_allclose(model.feature_contributions(NEW, average=False), expected, atol=1e-8)


def test_linear_gives_the_loadings_of_pca():
    loadings = PCA(3).fit(X).components_
    model = KernelPCA(3, kernel="linear").fit(X)
    rows = model.feature_contributions(NEW, average=False)
    signs = np.sign(np.sum(rows[0] * loadings, axis=1))[:, None]
    assert_allclose(rows, np.broadcast_to(signs * loadings, rows.shape), atol=1e-10)
    assert_allclose(model.feature_contributions(), np.abs(loadings), atol=1e-10)
    assert_allclose(model.feature_contributions(shares=True), loadings**2, atol=1e-10)


def test_the_summary_is_the_root_mean_square_over_rows():
    model = KernelPCA(2, kernel="rbf", gamma=0.3).fit(X)
    rows = model.feature_contributions(average=False)
    assert rows.shape == (50, 2, 4)
    assert_allclose(model.feature_contributions(), np.sqrt(np.mean(rows**2, axis=0)))
    assert_allclose(model.feature_contributions(X), model.feature_contributions())


def test_shares_sum_to_one():
    model = KernelPCA(2, kernel="rbf", gamma=0.3).fit(X)
    assert_allclose(model.feature_contributions(shares=True).sum(axis=1), 1)
    assert_allclose(model.feature_contributions(NEW, average=False, shares=True).sum(axis=2), 1)


def test_a_variable_that_the_kernel_does_not_see_moves_nothing():
    noise = RNG.standard_normal((50, 1))
    model = KernelPCA(2, kernel=RBF(gamma=0.3).on([0, 1, 2, 3])).fit(np.hstack([X, noise]))
    assert_array_equal(model.feature_contributions()[:, 4], 0)


def test_a_constant_variable_contributes_nothing_once_standardised():
    model = KernelPCA(2, kernel="rbf", gamma=0.3).fit(np.hstack([X, np.ones((50, 1))]))
    assert_allclose(model.feature_contributions(standardize=True)[:, 4], 0, atol=1e-12)


def test_the_variable_that_makes_the_structure_is_found():
    rng = np.random.default_rng(3)
    rows = 0.1 * rng.standard_normal((120, 5))
    rows[:60, 2] += 3.0  # two groups, apart in variable 2 alone
    model = KernelPCA(1, kernel="rbf", gamma=0.3).fit(rows)
    found = model.feature_contributions(standardize=True, shares=True)
    assert found.argmax() == 2 and found[0, 2] > 0.95


@pytest.mark.parametrize("factor", [1e-3, 1e3])
def test_units_drop_out(factor):
    units = np.array([factor, 1.0, 1.0, 1.0])
    rescaled = RBF(gamma=0.3 / factor**2).on([0]) * RBF(gamma=0.3).on([1, 2, 3])
    one = KernelPCA(2, kernel=RBF(gamma=0.3)).fit(X).feature_contributions(standardize=True)
    other = KernelPCA(2, kernel=rescaled).fit(X * units).feature_contributions(standardize=True)
    assert_allclose(other, one, rtol=1e-6)


def test_permuting_columns_permutes_contributions():
    order = np.array([2, 0, 3, 1])
    there = KernelPCA(2, kernel="rbf", gamma=0.3).fit(X[:, order]).feature_contributions()
    assert_allclose(there, KernelPCA(2, kernel="rbf", gamma=0.3).fit(X).feature_contributions()[:, order])


@pytest.mark.parametrize("kernel", ["linear", "rbf", "cosine"])
def test_csr_rows(kernel):
    rows = np.where(np.abs(X) > 0.7, X, 0.0)
    dense = KernelPCA(2, kernel=kernel).fit(rows)
    sparse = KernelPCA(2, kernel=kernel).fit(sp.csr_array(rows))
    for options in ({}, {"standardize": True}, {"average": False}):
        found = sparse.feature_contributions(sp.csr_array(rows[:20]), **options)
        assert isinstance(found, np.ndarray)
        assert_allclose(np.abs(found), np.abs(dense.feature_contributions(rows[:20], **options)), atol=1e-8)


def test_float32_stays():
    double = KernelPCA(2, kernel="rbf", gamma=0.3).fit(X).feature_contributions()
    for average in (True, False):
        single = KernelPCA(2, kernel="rbf", gamma=0.3).fit(X.astype(np.float32))
        assert single.feature_contributions(average=average).dtype == np.float32
    assert_allclose(single.feature_contributions(), double, rtol=1e-3)


def test_runs_of_rows_do_not_show():
    model = KernelPCA(2, kernel="rbf", gamma=0.3).fit(X)
    whole, parts = model.feature_contributions(average=False), np.empty((50, 2, 4))

    def put(run, gradients):
        assert len(gradients) <= 3
        parts[run] = gradients

    model.expansion_.each_gradient(model.expansion_.new_points(X), 4, put, entries=3 * 2 * 4)
    assert_allclose(parts, whole, atol=1e-14)
    assert_allclose(model.feature_contributions(), np.sqrt(np.mean(whole**2, axis=0)))


def test_array_api_arrays():
    strict = pytest.importorskip("array_api_strict")
    found = KernelPCA(2, kernel="rbf", gamma=0.3).fit(strict.asarray(X)).feature_contributions()
    assert type(found).__module__.startswith("array_api_strict")
    model, there = (KernelPCA(2, kernel="rbf", gamma=0.3).fit(rows) for rows in (X, strict.asarray(X)))
    assert_allclose(np.from_dlpack(found), model.feature_contributions(), atol=1e-10)
    for shares in (True, False):
        options = {"average": False, "standardize": True, "shares": shares}
        rows = there.feature_contributions(strict.asarray(NEW), **options)
        assert_allclose(np.from_dlpack(rows), model.feature_contributions(NEW, **options), atol=1e-8)


@pytest.mark.filterwarnings("ignore::mercer.exceptions.DegenerateDataWarning")
def test_no_components_have_no_contributions():
    model = KernelPCA(kernel="rbf").fit(np.ones((10, 3)))
    assert model.feature_contributions().shape == (0, 3)
    assert model.feature_contributions(average=False).shape == (10, 0, 3)
    flat = KernelPCA(1, kernel="rbf").fit(np.ones((10, 3)))
    assert_array_equal(flat.feature_contributions(shares=True), 0)


# --- what is refused ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [Laplacian(), Matern(0.5), lambda a, b: float(a @ b)])
def test_kernels_with_kinks(kernel):
    model = KernelPCA(2, kernel=kernel).fit(X)
    with pytest.raises(TypeError, match="has no gradient"):
        model.feature_contributions()


def test_things_that_are_no_vectors():
    words = ["banana", "bandana", "cabana", "kernel", "colonel"]
    for model in (
        KernelPCA(1, kernel="spectrum").fit(words),
        KernelPCA(1, kernel="precomputed").fit(X @ X.T),
    ):
        with pytest.raises(TypeError, match="no gradient"):
            model.feature_contributions()


def test_bad_rows():
    model = KernelPCA(2, kernel="rbf").fit(X)
    with pytest.raises(ValueError, match="features"):
        model.feature_contributions(X[:, :3])
    with pytest.raises(ValueError, match="NaN"):
        model.feature_contributions(np.full((2, 4), np.nan))
    with pytest.raises(NotFittedError):
        KernelPCA(2).feature_contributions(X)


def test_rows_of_gradients_that_do_not_fit_are_refused(monkeypatch):
    model = KernelPCA(2, kernel="rbf").fit(X)
    monkeypatch.setattr(contributions, "available_bytes", lambda: 1000)
    with pytest.raises(MemoryLimitError, match="fewer rows"):
        model.feature_contributions(average=False)
    assert model.feature_contributions().shape == (2, 4)


def test_frames():
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = KernelPCA(2, kernel="rbf", gamma=0.3).fit(frame)
    assert_allclose(model.feature_contributions(frame), model.feature_contributions())


def test_a_fit_to_a_source_has_landmarks_only_so_rows_must_be_given():
    model = KernelPCA(2, kernel="rbf", gamma=0.2, rank=10).fit(ArraySource(X, chunk_rows=20))
    assert_allclose(model.feature_contributions(NEW, average=False), differences(model, NEW), atol=1e-8)
    for settings in ({}, {"X": NEW, "standardize": True}):
        with pytest.raises(ValueError, match="Give X"):
            model.feature_contributions(**settings)
