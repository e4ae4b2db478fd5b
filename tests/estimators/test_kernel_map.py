"""KernelMap: F Fᵀ ≈ K to the error it states, on the rows of the fit and on new ones."""

import pickle
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
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import KernelMap
from mercer.exceptions import DegenerateDataWarning, MemoryLimitError
from mercer.kernels import RBF, ArcCosine, Laplacian, Linear, Matern, Polynomial, RationalQuadratic, Sigmoid, Spectrum

RNG = np.random.default_rng(0)
X, NEW = RNG.standard_normal((120, 4)), RNG.standard_normal((15, 4))
KERNELS = [
    Linear(),
    Polynomial(2, 0.5),
    RBF(gamma=0.2),
    Laplacian(0.2),
    Matern(),
    ArcCosine(1),
    RBF(0.2) * Linear() + 2.0,
]
SHIFT_INVARIANT = [RBF(gamma=0.2), Matern(1.5), RationalQuadratic(1.2, 0.8)]


# --- scikit-learn ------------------------------------------------------------------------------------------


@parametrize_with_checks(
    [
        KernelMap(),
        KernelMap("rbf", gamma="median", rank=None),
        KernelMap("linear", rank=3),
        KernelMap(Matern() + Linear()),
        KernelMap(method="fourier", rank=50),
    ]
)
@pytest.mark.filterwarnings("ignore::mercer.exceptions.MercerWarning")
def test_common_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_set_output(library):
    model = KernelMap(rank=3).set_output(transform=library)
    frame = model.fit_transform(pd.DataFrame(X, columns=list("abcd")))
    assert isinstance(frame, pd.DataFrame if library == "pandas" else pl.DataFrame)
    assert list(frame.columns) == ["kernelmap0", "kernelmap1", "kernelmap2"] == list(model.get_feature_names_out())
    assert_allclose(np.asarray(frame), KernelMap(rank=3).fit_transform(X), atol=1e-14)


def test_in_a_pipeline_and_a_search():
    y = (X**2).sum(axis=1) > 3
    search = GridSearchCV(
        make_pipeline(KernelMap(RBF()), RidgeClassifier(1e-3)),
        {"kernelmap__kernel__gamma": [0.01, 0.3], "kernelmap__rank": [10, None]},
        cv=3,
    ).fit(X, y)
    assert search.best_score_ > 0.85


@pytest.mark.parametrize(
    "parameters",
    [{"rank": 0}, {"rank": 2.5}, {"rank": "all"}, {"method": "nystroem"}, {"kernel": "gauss"}, {"gamma": -1.0}],
    ids=str,
)
def test_parameters_are_checked(parameters):
    with pytest.raises(ValueError, match=next(iter(parameters))):
        KernelMap(**parameters).fit(X)


def test_pickle_and_clone():
    for model in (KernelMap(rank=20).fit(X), KernelMap(method="fourier", rank=20).fit(X)):
        assert_array_equal(pickle.loads(pickle.dumps(model)).transform(NEW), model.transform(NEW))
        assert not hasattr(clone(model), "n_components_")


def test_a_model_holds_its_landmarks_and_no_more():
    wide = RNG.standard_normal((3000, 20))
    model = KernelMap("rbf", gamma=0.01, rank=30).fit(wide)
    assert model.X_fit_.shape == (30, 20)
    assert_array_equal(model.X_fit_, wide[model.landmarks_])
    assert len(pickle.dumps(model)) < 100_000


# --- the mathematics ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_exact_is_exact_and_holds_for_new_rows(kernel):
    """⟨F(x), F(y)⟩ = k(x, y) where x is any row and y one of the fit: F(x) is φ(x) in their span."""
    model = KernelMap(kernel, rank=None)
    F = model.fit_transform(X)
    K = kernel(X)
    assert_allclose(F @ F.T, K, atol=1e-10 * K.max())
    assert_allclose(model.transform(NEW) @ F.T, kernel(NEW, X), atol=1e-6 * K.max())
    assert model.error_ < 1e-9 and model.error_se_ == 0.0


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("rank", [None, "auto", 25])
def test_transform_of_the_fit_data_is_fit_transform(kernel, rank):
    """To 1e-6 of the largest entry: columns of tiny pivots magnify rounding by 1/√pivot."""
    model = KernelMap(kernel, rank=rank, random_state=0)
    F = model.fit_transform(X)
    assert_allclose(model.transform(X), F, atol=1e-6 * np.abs(F).max())
    assert F.shape == (120, model.n_components_)


@pytest.mark.parametrize("kernel", [RBF(gamma=0.2), Laplacian(0.2), Matern()], ids=repr)
@pytest.mark.parametrize("rank", ["auto", 10, 40])
def test_the_error_is_the_share_of_the_trace_left_out(kernel, rank):
    model = KernelMap(kernel, rank=rank)
    F = model.fit_transform(X)
    left = kernel(X) - F @ F.T
    assert model.error_ == pytest.approx(np.trace(left) / 120, rel=1e-6, abs=1e-9)
    assert np.linalg.eigvalsh(left).min() > -1e-10
    assert model.error_ <= 1e-3 if rank == "auto" else model.n_components_ == rank


@pytest.mark.parametrize("kernel", SHIFT_INVARIANT, ids=repr)
def test_fourier_has_the_error_it_states(kernel):
    model = KernelMap(kernel, method="fourier", rank=400, random_state=0)
    F = model.fit_transform(X)
    wrong = (F @ F.T - kernel(X))[np.triu_indices(120, 1)]
    assert abs(model.error_ - np.sqrt(np.mean(wrong**2))) < 5 * model.error_se_ + 0.1 * model.error_
    assert F.shape == (120, 400) and model.landmarks_ is None
    assert_allclose(model.transform(X), F, atol=1e-13)
    assert_allclose((F**2).sum(axis=1), 1.0)


def test_fourier_far_from_the_origin_in_single_precision():
    near = X.astype(np.float32)
    far = near + np.float32(4096)
    near = far - np.float32(4096)  # what single precision leaves of them
    model = KernelMap("rbf", gamma=0.2, method="fourier", rank=1000, random_state=0)
    F = model.fit_transform(far)
    assert F.dtype == np.float32
    assert np.sqrt(np.mean((F @ F.T - RBF(gamma=0.2)(near)) ** 2)) < 2 * model.error_


@given(seed=st.integers(0, 10**6))
def test_the_order_of_rows_does_not_matter_to_inner_products(seed):
    order = np.random.default_rng(seed).permutation(120)
    F, G = (KernelMap("rbf", gamma=0.2, rank=None).fit_transform(rows) for rows in (X, X[order]))
    assert_allclose(G @ G.T, (F @ F.T)[np.ix_(order, order)], atol=1e-10)


@pytest.mark.parametrize("parameters", [{}, {"rank": None}, {"rank": 9}, {"method": "fourier"}], ids=str)
def test_two_fits_give_the_same_bits(parameters):
    a, b = (KernelMap(**parameters).fit(X) for _ in range(2))
    assert_array_equal(a.transform(NEW), b.transform(NEW))


# --- kinds of data -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("parameters", [{}, {"rank": None}, {"rank": 30}, {"method": "fourier"}], ids=str)
def test_float32_stays_float32(parameters):
    model = KernelMap("rbf", gamma=0.2, **parameters)
    F = model.fit_transform(X.astype(np.float32))
    assert F.dtype == model.transform(NEW.astype(np.float32)).dtype == np.float32
    bound = 5 * model.error_ if parameters.get("method") else model.error_ * 120 + 1e-4
    assert np.abs(F @ F.T - RBF(gamma=0.2)(X)).max() < bound


@pytest.mark.parametrize("parameters", [{}, {"rank": None}, {"method": "fourier"}], ids=str)
def test_csr_is_dense(parameters):
    rows = np.where(np.abs(X) > 0.8, X, 0.0)
    model = KernelMap("rbf", gamma=0.2, **parameters)
    F = model.fit_transform(rows)
    G = model.fit_transform(sp.csr_array(rows))
    assert_allclose(G @ G.T, F @ F.T, atol=2e-3 if not parameters else 0.2 if "method" in parameters else 1e-9)
    assert_allclose(model.transform(sp.csr_array(rows)), G, atol=1e-6)


@pytest.mark.parametrize("rank", [None, "auto"])
def test_strings(rank):
    words = ["".join(RNG.choice(list("abc"), size=size)) for size in RNG.integers(5, 12, size=30)]
    model = KernelMap(Spectrum(2), rank=rank)
    F = model.fit_transform(words)
    assert_allclose(F @ F.T, Spectrum(2)(words), atol=1e-2 * 30)
    assert_allclose(model.transform(words), F, atol=1e-6)
    assert_array_equal(model.transform(["zzzz"]), np.zeros((1, F.shape[1])))


@pytest.mark.parametrize("rank", [None, 30])
def test_precomputed_is_the_kernel(rank):
    K, k = RBF(gamma=0.2)(X), RBF(gamma=0.2)(NEW, X)
    given_, own = (KernelMap(kernel, gamma=0.2, rank=rank) for kernel in ("precomputed", "rbf"))
    F, G = given_.fit_transform(K), own.fit_transform(X)
    assert_allclose(F @ F.T, G @ G.T, atol=1e-8)
    assert_allclose(given_.transform(k) @ F.T, own.transform(NEW) @ G.T, atol=1e-6)


@pytest.mark.torch
@pytest.mark.parametrize("parameters", [{}, {"rank": None}, {"rank": 20}, {"method": "fourier"}], ids=str)
def test_torch_tensors_stay_tensors(parameters):
    torch = pytest.importorskip("torch")
    model = KernelMap("rbf", gamma=0.2, **parameters)
    F = model.fit_transform(torch.asarray(X))
    assert isinstance(F, torch.Tensor) and isinstance(model.transform(torch.asarray(NEW)), torch.Tensor)
    G = KernelMap("rbf", gamma=0.2, **parameters).fit_transform(X)
    assert_allclose((F @ F.T).numpy(), G @ G.T, atol=1e-6)


# --- what is refused -----------------------------------------------------------------------------------------


def test_memory_is_refused_before_it_is_taken():
    for parameters in ({"rank": None}, {"rank": 100}, {"method": "fourier", "rank": 100_000}):
        with pytest.raises(MemoryLimitError):
            KernelMap(memory_limit="50kB", **parameters).fit(X)


def test_no_number_of_random_features_is_exact():
    with pytest.raises(ValueError, match="rank=None"):
        KernelMap(method="fourier", rank=None).fit(X)


@pytest.mark.parametrize("kernel", [Linear(), Laplacian(0.2), Spectrum(2)], ids=repr)
def test_fourier_needs_a_spectral_density(kernel):
    rows = ["ab", "ba"] if isinstance(kernel, Spectrum) else X
    with pytest.raises(TypeError, match="spectral density"):
        KernelMap(kernel, method="fourier").fit(rows)


def test_indefinite_kernels_have_no_map():
    with pytest.raises(ValueError, match="positive semidefinite"):
        KernelMap(Sigmoid(gamma=1.0, coef0=-1.0), rank=None).fit(X)


@pytest.mark.parametrize(
    "bad", [X * np.nan, X * np.inf, X[:0], X[0], [["a"] * 4] * 9], ids=["nan", "inf", "empty", "1d", "text"]
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_bad_data(bad):
    with pytest.raises(ValueError):
        KernelMap().fit(bad)


def test_not_fitted_and_wrong_width():
    with pytest.raises(NotFittedError):
        KernelMap().transform(X)
    with pytest.raises(ValueError, match="3 features"):
        KernelMap().fit(X).transform(NEW[:, :3])


@pytest.mark.parametrize("parameters", [{}, {"rank": None}, {"method": "fourier", "rank": 8}], ids=str)
@pytest.mark.parametrize(
    "rows", [X[:1], np.ones((9, 3)), np.repeat(X[:5], 4, axis=0), 1e8 * X, 1e-8 * X], ids=lambda rows: str(rows.shape)
)
def test_odd_data(rows, parameters):
    F = KernelMap("rbf", gamma=0.2, **parameters).fit(rows).transform(rows)
    assert np.all(np.isfinite(F)) and F.shape[0] == len(rows)
    if "method" not in parameters:
        assert_allclose(F @ F.T, RBF(gamma=0.2)(rows), atol=0.05)


def test_a_kernel_that_is_zero_maps_to_zero():
    with pytest.warns(DegenerateDataWarning, match="zero"):
        model = KernelMap("linear").fit(np.zeros((6, 3)))
    assert_array_equal(model.transform(NEW[:, :3]), np.zeros((15, 1)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)
        assert_array_equal(model.fit_transform(np.zeros((6, 3))), np.zeros((6, 1)))
