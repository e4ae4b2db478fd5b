"""KernelPCA: scikit-learn's interface, the mathematics it promises, and input of every bad kind."""

import pickle
import re
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
from scipy.sparse.linalg import eigsh
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process import kernels as gp
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import KernelPCA
from mercer.exceptions import (
    AsymmetricKernelWarning,
    DegenerateDataWarning,
    IndefiniteKernelWarning,
    MemoryLimitError,
    MercerWarning,
    NotConvergedWarning,
)
from mercer.kernels import (
    RBF,
    ArcCosine,
    Cosine,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    RationalQuadratic,
    Sigmoid,
    Spectrum,
)
from mercer.linalg.gram import Gram
from mercer.linalg.operators import Centered

RNG = np.random.default_rng(0)
X, NEW = RNG.standard_normal((60, 4)), RNG.standard_normal((15, 4))
LARGE = np.random.default_rng(1).standard_normal((2100, 3))
SOLVERS = ["auto", "dense", "arpack", "randomized", "krylov", "power"]


def rbf(k=3, **parameters):
    return KernelPCA(k, **({"kernel": "rbf", "gamma": 0.2, "random_state": 0} | parameters))


def centred(K):
    means = K.mean(axis=0)
    return K - means - means[:, None] + means.mean()


def spectrum(K):
    return np.linalg.eigvalsh(centred(K))[::-1]


def finite(model):
    arrays = [model.eigenvalues_, model.eigenvectors_, model.residuals_, model.explained_variance_ratio_]
    return all(np.all(np.isfinite(a)) for a in arrays) and np.isfinite(model.total_variance_)


# --- scikit-learn ------------------------------------------------------------------------------------------


@parametrize_with_checks(
    [
        KernelPCA(),
        KernelPCA(2, kernel="rbf", gamma="median"),
        KernelPCA(2, kernel=Matern() + Linear()),
        KernelPCA(2, kernel="poly", eigen_solver="krylov"),
        KernelPCA(2, kernel="laplacian", eigen_solver="arpack"),
        KernelPCA(1, kernel="rbf", eigen_solver="randomized"),
        KernelPCA(0.9, kernel="cosine"),
        KernelPCA(2, kernel="rbf", eigen_solver="rpcholesky", rank=20),
        KernelPCA(2, kernel="rbf", fit_inverse_transform=True),
    ],
)
@pytest.mark.filterwarnings("ignore::mercer.exceptions.MercerWarning")
def test_common_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_set_output(library):
    model = rbf().set_output(transform=library)
    frame = model.fit_transform(pd.DataFrame(X, columns=list("abcd")))
    assert isinstance(frame, pd.DataFrame if library == "pandas" else pl.DataFrame)
    assert list(frame.columns) == ["kernelpca0", "kernelpca1", "kernelpca2"] == list(model.get_feature_names_out())
    assert_allclose(np.asarray(frame), rbf().fit_transform(X))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_frames_in(frame):
    data = frame(dict(zip("abcd", X.T, strict=True)))
    model = rbf().fit(data)
    assert list(model.feature_names_in_) == list("abcd")
    assert_allclose(model.transform(data), rbf().fit(X).transform(X))


def test_columns_must_keep_their_names():
    model = rbf().fit(pd.DataFrame(X, columns=list("abcd")))
    with pytest.raises(ValueError, match="feature names"):
        model.transform(pd.DataFrame(X, columns=list("abdc")))


@pytest.mark.parametrize(
    "parameters",
    [
        {"n_components": 0},
        {"n_components": 1.5},
        {"n_components": 0.0},
        {"n_components": "all"},
        {"kernel": "gauss"},
        {"kernel": 3},
        {"gamma": -1.0},
        {"gamma": "auto"},
        {"degree": -1},
        {"eigen_solver": "qr"},
        {"tol": -1e-3},
        {"max_iter": 0},
        {"iterated_power": "many"},
        {"alpha": -1},
        {"rank": 0},
        {"memory_limit": 0},
        {"memory_limit": "much"},
        {"kernel_params": 3},
    ],
    ids=str,
)
def test_parameters_are_checked(parameters):
    with pytest.raises(ValueError, match=next(iter(parameters))):
        KernelPCA(**parameters).fit(X)


def test_grid_search_over_score():
    grid = {"kernel__gamma": [1e-3, 0.2, 50.0], "n_components": [2, 5]}
    search = GridSearchCV(KernelPCA(kernel=RBF()), grid, cv=3, error_score="raise").fit(X)
    assert np.all(np.isfinite(search.cv_results_["mean_test_score"]))
    assert search.best_params_["n_components"] == 5


def test_pickle_and_clone():
    model = rbf().fit(X)
    copy = pickle.loads(pickle.dumps(model))
    held = [
        [a for part in (m, m.expansion_) for a in vars(part).values() if isinstance(a, np.ndarray)]
        for m in (copy, model)
    ]
    assert len(held[1]) >= 8
    for ours, theirs in zip(*held, strict=True):
        assert_array_equal(ours, theirs)
    # Where arrays lie in memory decides the order in which some processors' BLAS adds up.
    assert_allclose(copy.transform(NEW), model.transform(NEW), rtol=0, atol=1e-14 * model.eigenvalues_[0])
    assert not hasattr(clone(model), "eigenvalues_")


@pytest.mark.parametrize("method", ["transform", "score"])
def test_not_fitted(method):
    with pytest.raises(NotFittedError):
        getattr(rbf(), method)(X)


# --- against the explicit matrix ---------------------------------------------------------------------------

KERNELS = [Linear(), Polynomial(2, 0.5), RBF(gamma=0.2), Laplacian(0.2), Matern(), Cosine(), ArcCosine(1)]


@pytest.mark.parametrize("kernel", [*KERNELS, RBF(gamma=0.2) * Linear() + 2.0], ids=repr)
@pytest.mark.parametrize("solver", ["dense", "krylov"])
def test_eigenpairs_of_the_centred_matrix(kernel, solver):
    model = KernelPCA(3, kernel=kernel, eigen_solver=solver, random_state=0).fit(X)
    K = kernel(X)
    truth = spectrum(K)
    assert_allclose(model.eigenvalues_, truth[:3], rtol=1e-9)
    assert np.all(np.abs(model.eigenvalues_ - truth[:3]) <= model.eigenvalue_error_ + 1e-13 * truth[0])
    left = centred(K) @ model.eigenvectors_ - model.eigenvectors_ * model.eigenvalues_
    assert_allclose(model.residuals_, np.linalg.norm(left, axis=0), atol=1e-12 * truth[0])
    assert_allclose(model.eigenvectors_.T @ model.eigenvectors_, np.eye(3), atol=1e-9)
    assert np.all(model.eigenvectors_[np.abs(model.eigenvectors_).argmax(axis=0), range(3)] > 0)


@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_gives_the_same_scores(solver):
    model = rbf(eigen_solver=solver)
    assert_allclose(model.fit_transform(X), rbf(eigen_solver="dense").fit_transform(X), atol=1e-6)
    assert model.solver_.name == ("dense" if solver == "auto" else solver)
    assert model.solver_.converged


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("solver", ["auto", "krylov", "rpcholesky"])
def test_transform_of_the_fit_data_is_fit_transform(kernel, solver):
    model = KernelPCA(3, kernel=kernel, eigen_solver=solver, rank=60, random_state=0)
    scores = model.fit_transform(X)
    assert_allclose(model.transform(X), scores, atol=1e-6 * np.abs(scores).max())


def test_transform_is_the_centred_formula():
    model = rbf().fit(X)
    K, k = RBF(gamma=0.2)(X), RBF(gamma=0.2)(NEW, X)
    k_centred = k - k.mean(axis=1, keepdims=True) - K.mean(axis=0) + K.mean()
    assert_allclose(model.transform(NEW), k_centred @ model.eigenvectors_ / np.sqrt(model.eigenvalues_), atol=1e-10)


@pytest.mark.parametrize("solver", ["dense", "krylov", "arpack", "randomized", "power"])
def test_variance_is_exact_with_few_components(solver):
    model = rbf(2, eigen_solver=solver).fit(X)
    truth = spectrum(RBF(gamma=0.2)(X))
    assert_allclose(model.total_variance_, truth.sum() / 60, rtol=1e-12)
    assert_allclose(model.explained_variance_, truth[:2] / 60, rtol=1e-6)
    assert_allclose(model.explained_variance_ratio_, truth[:2] / truth.sum(), rtol=1e-6)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("solver", ["auto", "krylov"])
def test_a_share_of_the_variance(share, solver):
    model = rbf(share, eigen_solver=solver).fit(X)
    ratios = spectrum(RBF(gamma=0.2)(X))
    needed = int(np.searchsorted(np.cumsum(ratios) / ratios.sum(), share)) + 1
    assert len(model.eigenvalues_) == needed
    assert model.explained_variance_ratio_.sum() >= share > model.explained_variance_ratio_[:-1].sum()


def test_none_keeps_what_is_not_zero():
    assert KernelPCA(None, kernel="linear").fit(X).eigenvalues_.shape == (4,)
    assert KernelPCA(10, kernel="linear").fit(X).eigenvalues_.shape == (10,)
    assert KernelPCA(10, kernel="linear", remove_zero_eig=True).fit(X).eigenvalues_.shape == (4,)


@pytest.mark.parametrize("solver", ["auto", "krylov", "rpcholesky"])
def test_score(solver):
    model = rbf(5, eigen_solver=solver, rank=60).fit(X)
    assert_allclose(model.score(X), model.explained_variance_ratio_.sum(), rtol=1e-6)
    assert 0 < model.score(NEW) < model.score(X) <= 1


def test_score_is_one_when_nothing_is_left_out():
    model = KernelPCA(None, kernel="poly", degree=2).fit(X)
    assert_allclose(model.score(NEW), 1.0, rtol=1e-8)


def test_eigenfunctions():
    model = rbf().fit(X)
    assert len(model.eigenfunctions_) == 3
    for i, f in enumerate(model.eigenfunctions_):
        assert_allclose(f(NEW), model.transform(NEW)[:, i], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("solver", [*SOLVERS, "rpcholesky"])
def test_two_fits_give_the_same_bits(solver):
    a, b = (rbf(eigen_solver=solver, random_state=None).fit(X) for _ in range(2))
    assert_array_equal(a.eigenvectors_, b.eigenvectors_)
    assert_array_equal(a.transform(NEW), b.transform(NEW))


# --- laws --------------------------------------------------------------------------------------------------


@given(seed=st.integers(0, 10**6), kernel=st.sampled_from(KERNELS))
def test_permutation_equivariance(seed, kernel):
    order = np.random.default_rng(seed).permutation(60)
    model = KernelPCA(2, kernel=kernel)
    assert_allclose(model.fit_transform(X[order]), model.fit_transform(X)[order], atol=1e-7)


@given(seed=st.integers(0, 10**6), shift=st.floats(-10, 10))
def test_rigid_motions_change_nothing_for_rbf(seed, shift):
    Q, _ = np.linalg.qr(np.random.default_rng(seed).standard_normal((4, 4)))
    assert_allclose(rbf().fit_transform(X @ Q + shift), rbf().fit_transform(X), atol=1e-7)


@given(power=st.floats(-6, 6))
def test_scale_law(power):
    """X → sX with γ → γ/s² leaves the Gaussian kernel as it is."""
    s = 10**power
    assert_allclose(rbf(gamma=0.2 / s**2).fit_transform(s * X), rbf().fit_transform(X), atol=1e-7)


@given(cut=st.integers(1, 14), solver=st.sampled_from(["auto", "rpcholesky"]))
def test_rows_are_transformed_one_by_one(cut, solver):
    model = rbf(eigen_solver=solver).fit(X)
    whole = model.transform(NEW)
    parts = np.concatenate([model.transform(NEW[:cut]), model.transform(NEW[cut:])])
    assert_allclose(parts, whole, atol=1e-11)
    assert_allclose(np.concatenate([model.transform(row[None]) for row in NEW]), whole, atol=1e-11)


# --- kinds of data -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["auto", "krylov", "rpcholesky"])
def test_float32_stays_float32(solver):
    model = rbf(eigen_solver=solver)
    small = X.astype(np.float32)
    arrays = [model.fit_transform(small), model.transform(small), model.eigenvalues_, model.explained_variance_ratio_]
    assert all(a.dtype == np.float32 for a in arrays)
    assert_allclose(arrays[0], rbf(eigen_solver=solver).fit_transform(X), atol=2e-3)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "cosine", "laplacian"])
@pytest.mark.parametrize("solver", ["auto", "rpcholesky"])
def test_csr_is_dense(kernel, solver):
    data = np.where(np.abs(X) > 0.8, X, 0.0)
    model = KernelPCA(2, kernel=kernel, eigen_solver=solver, random_state=0)
    dense = model.fit(data).transform(NEW)
    for kind in (sp.csr_matrix, sp.csr_array, sp.coo_array):
        assert_allclose(model.fit(kind(data)).transform(kind(NEW)), dense, atol=1e-8)


WORDS = ["".join(RNG.choice(list("ab"), size=size)) for size in RNG.integers(5, 12, size=30)]


@pytest.mark.parametrize("solver", ["auto", "krylov", "rpcholesky"])
def test_strings(solver):
    model = KernelPCA(2, kernel=Spectrum(2), eigen_solver=solver)
    scores = model.fit_transform(WORDS)
    assert_allclose(model.transform(WORDS), scores, atol=1e-7)
    assert_allclose(model.eigenvalues_, spectrum(Spectrum(2)(WORDS))[:2], rtol=1e-8)
    assert np.all(np.isfinite(model.transform(["zzzz", ""])))
    assert 0 < model.score(WORDS) <= 1


@pytest.mark.parametrize("solver", ["auto", "krylov", "rpcholesky"])
def test_precomputed_is_the_kernel(solver):
    given_, own = (KernelPCA(3, kernel=k, eigen_solver=solver, random_state=0) for k in ("precomputed", RBF(gamma=0.2)))
    assert_allclose(given_.fit_transform(RBF(gamma=0.2)(X)), own.fit_transform(X), atol=1e-8)
    assert_allclose(given_.transform(RBF(gamma=0.2)(NEW, X)), own.transform(NEW), atol=1e-8)


@pytest.mark.parametrize(
    "kernel", [gp.RBF(1.5), gp.Matern(2.0, nu=1.1), 2.0 * gp.RBF([1.0, 2, 3, 4]) + gp.DotProduct()]
)
def test_gaussian_process_kernels(kernel):
    model = KernelPCA(3, kernel=kernel)
    assert_allclose(model.fit(X).eigenvalues_, spectrum(kernel(X))[:3], rtol=1e-9)
    assert_allclose(model.transform(X), model.fit_transform(X), atol=1e-7)


@pytest.mark.parametrize("kernel", [lambda A, B: (A @ B.T + 1) ** 2, lambda a, b: float(a @ b + 1) ** 2])
def test_functions(kernel):
    expected = KernelPCA(3, kernel="poly", degree=2, gamma=1.0).fit(X)
    model = KernelPCA(3, kernel=kernel).fit(X)
    assert_allclose(model.transform(NEW), expected.transform(NEW), rtol=1e-8, atol=1e-8)


def test_function_parameters():
    model = KernelPCA(2, kernel=lambda A, B, c: (A @ B.T + c) ** 2, kernel_params={"c": 1.0}).fit(X)
    assert_allclose(model.eigenvalues_, KernelPCA(2, kernel="poly", degree=2, gamma=1.0).fit(X).eigenvalues_)


@pytest.mark.parametrize("kernel", [*KERNELS, RBF(gamma="median"), Linear() * RBF(gamma=0.2) + 1.0], ids=repr)
@pytest.mark.parametrize("solver", ["auto", "krylov", "rpcholesky"])
def test_strict_arrays_give_the_same_numbers(kernel, solver):
    strict = pytest.importorskip("array_api_strict")
    model, there = (KernelPCA(3, kernel=kernel, eigen_solver=solver, rank=50, random_state=0) for _ in range(2))
    expected, scores = model.fit_transform(X), there.fit_transform(strict.asarray(X))
    assert isinstance(scores, type(strict.asarray(X)))
    assert_allclose(np.from_dlpack(scores), expected, atol=1e-7)
    assert_allclose(np.from_dlpack(there.transform(strict.asarray(NEW))), model.transform(NEW), atol=1e-6)
    assert_allclose(there.score(strict.asarray(NEW)), model.score(NEW), rtol=1e-7)
    assert_allclose(np.from_dlpack(there.explained_variance_ratio_), model.explained_variance_ratio_, rtol=1e-7)


def test_strict_arrays_are_checked():
    strict = pytest.importorskip("array_api_strict")
    bad = X.copy()
    bad[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        rbf().fit(strict.asarray(bad))
    with pytest.raises(ValueError, match="2D"):
        rbf().fit(strict.asarray(X[0]))
    with pytest.raises(ValueError, match="features"):
        rbf().fit(strict.asarray(X)).transform(strict.asarray(NEW[:, :2]))


@pytest.mark.torch
@pytest.mark.parametrize("solver", ["auto", "krylov", "rpcholesky"])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "poly"])
def test_torch_tensors_give_the_same_numbers(kernel, solver):
    torch = pytest.importorskip("torch")
    model, there = (KernelPCA(3, kernel=kernel, eigen_solver=solver, rank=50, random_state=0) for _ in range(2))
    expected, scores = model.fit_transform(X), there.fit_transform(torch.asarray(X))
    assert isinstance(scores, torch.Tensor) and scores.dtype == torch.float64
    assert_allclose(scores.numpy(), expected, atol=1e-7)
    assert_allclose(there.transform(torch.asarray(NEW)).numpy(), model.transform(NEW), atol=1e-6)


def test_inverse_transform():
    model = rbf(20, fit_inverse_transform=True, alpha=1e-3, gamma=0.05).fit(X)
    back = model.inverse_transform(model.transform(X))
    assert back.shape == X.shape
    assert np.sqrt(((back - X) ** 2).mean()) < 0.2 * X.std()


# --- memory, plans, reports ----------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["dense", "krylov", "rpcholesky"])
def test_a_fit_that_does_not_fit_is_refused_before_it_starts(solver):
    wide = np.zeros((20_000, 2))
    wide[:, 0] = np.arange(20_000)
    tracemalloc.start()
    with pytest.raises(MemoryLimitError, match="memory_limit") as refused:
        KernelPCA(5, kernel="rbf", eigen_solver=solver, memory_limit="1MB").fit(wide)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5 * wide.nbytes
    assert "20,000" in str(refused.value) and "Try" in str(refused.value) and "1 MB" in str(refused.value)


def test_the_default_limit_refuses_a_matrix_no_machine_holds():
    plan = KernelPCA(5, kernel="rbf", eigen_solver="dense").plan(np.broadcast_to(np.zeros(2), (3_000_000, 2)))
    assert not plan.fits
    with pytest.raises(MemoryLimitError, match="free memory"):
        plan.refuse()


def test_inverse_transform_is_refused_as_well():
    wide = sp.random_array((300, 200_000), density=1e-4, format="csr", rng=np.random.default_rng(0))
    with pytest.raises(MemoryLimitError, match="for fit_inverse_transform, more than the memory_limit"):
        KernelPCA(2, kernel="cosine", fit_inverse_transform=True, eigen_solver="dense", memory_limit="100MB").fit(wide)


def test_plan_tells_what_fit_does():
    for model, data in ((rbf(), X), (rbf(), LARGE), (rbf(eigen_solver="rpcholesky"), X)):
        plan = model.plan(data)
        model.fit(data)
        assert plan.solver == model.solver_.name
        assert plan.solver in str(plan) and plan.needed_bytes <= plan.limit
    assert not hasattr(rbf(), "solver_")


def test_a_small_limit_streams():
    data = LARGE
    large = rbf(memory_limit="1GB").fit(data)  # loads the compiled code, which a limit of 60 MB would not allow
    small = rbf(memory_limit="60MB").fit(data)
    assert small.solver_.name == "krylov" and small.solver_.bytes <= 60e6
    assert_allclose(small.transform(NEW[:, :3]), large.transform(NEW[:, :3]), atol=1e-8)


def test_report():
    report = rbf(eigen_solver="krylov").fit(X).solver_
    assert report.name == "krylov" and report.passes >= 1 and report.tol == 1e-10 and report.seconds > 0
    assert "converged" in str(report) and "krylov" in str(report)


def test_verbose_writes_to_stderr_only(capsys):
    rbf(eigen_solver="krylov", verbose=True).fit(X)
    out, err = capsys.readouterr()
    assert out == "" and "pass 1" in err and err.startswith("KernelPCA")
    rbf(eigen_solver="krylov").fit(X)
    assert capsys.readouterr() == ("", "")


def test_many_rows_stream_and_certify():
    model = rbf(4, eigen_solver="krylov").fit(LARGE)
    assert model.solver_.converged and model.residuals_.max() <= 1e-10 * model.eigenvalues_[0]
    K = centred(RBF(gamma=0.2)(LARGE))
    truth = eigsh(K, 4, which="LA", tol=1e-12, v0=np.arange(len(K), dtype=float))[0][::-1]
    assert np.all(np.abs(model.eigenvalues_ - truth) <= model.eigenvalue_error_ + 1e-12 * truth[0])
    assert_allclose(model.total_variance_, np.trace(K) / len(K), rtol=1e-10)


def test_ctrl_c_keeps_what_was_computed(monkeypatch):
    calls = []
    original = Gram.matmat

    def stop_at_third(self, V):
        calls.append(V.shape)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return original(self, V)

    monkeypatch.setattr(Gram, "matmat", stop_at_third)
    with pytest.warns(NotConvergedWarning, match="residual"):
        model = rbf(4, kernel="laplacian", eigen_solver="krylov").fit(LARGE)
    assert not model.solver_.converged and finite(model)
    assert model.transform(LARGE[:5]).shape == (5, 4)
    left = centred(Laplacian(0.2)(LARGE)) @ model.eigenvectors_ - model.eigenvectors_ * model.eigenvalues_
    assert_allclose(np.linalg.norm(left, axis=0), model.residuals_, rtol=1e-2)


def test_ctrl_c_before_anything_was_computed(monkeypatch):
    def stop(self, V):
        raise KeyboardInterrupt

    monkeypatch.setattr(Centered, "matmat", stop)
    with pytest.raises(KeyboardInterrupt):
        rbf(eigen_solver="krylov").fit(X)


def test_too_few_iterations_are_a_warning():
    with pytest.warns(NotConvergedWarning, match="max_iter"):
        model = rbf(eigen_solver="krylov", max_iter=1).fit(LARGE)
    assert not model.solver_.converged and finite(model)


# --- rpcholesky ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rank", [5, 20, 60])
def test_factor_bounds(rank):
    model = rbf(3, eigen_solver="rpcholesky", rank=rank).fit(X)
    K = RBF(gamma=0.2)(X)
    truth = spectrum(K)
    gap = truth[:3] - model.eigenvalues_
    assert np.all(gap >= -1e-10) and np.all(gap <= model.eigenvalue_error_ + 1e-10)
    left = centred(K) @ model.eigenvectors_ - model.eigenvectors_ * model.eigenvalues_
    assert np.all(np.linalg.norm(left, axis=0) <= model.residuals_ + 1e-10)
    assert model.total_variance_ >= truth.sum() / 60 - 1e-12
    assert f"rank {min(rank, 60)}" in model.solver_.reason


def test_full_rank_factor_is_exact():
    model, exact = rbf(eigen_solver="rpcholesky", rank=60).fit(X), rbf().fit(X)
    assert_allclose(model.eigenvalues_, exact.eigenvalues_, rtol=1e-9)
    assert_allclose(model.transform(NEW), exact.transform(NEW), atol=1e-6)


@pytest.mark.parametrize("n_components", [0.5, None, 100])
def test_factor_with_any_number_of_components(n_components):
    model = rbf(n_components, eigen_solver="rpcholesky", rank=30).fit(X)
    assert 1 <= len(model.eigenvalues_) <= 30 and finite(model)
    assert model.transform(NEW).shape == (15, len(model.eigenvalues_))
    if n_components == 0.5:
        assert model.explained_variance_ratio_.sum() >= 0.5


# --- bad input -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["auto", "krylov", "rpcholesky"])
@pytest.mark.parametrize(
    ("data", "match"),
    [
        (np.full((5, 2), np.nan), "NaN"),
        (np.full((5, 2), np.inf), "infinity"),
        (np.empty((0, 2)), "0 sample"),
        (np.empty((3, 0)), "0 feature"),
        (np.ones(5), "2D"),
        (np.ones((2, 2, 2)), "dim 3|2D|<= 2"),
        (np.array([["a", "b"], ["c", "d"]]), "could not convert|string"),
        (np.ones((3, 2)) * 1j, "omplex"),
        (None, ""),
    ],
    ids=["nan", "inf", "no rows", "no columns", "one dimension", "three", "text", "complex", "none"],
)
def test_bad_data(data, match, solver):
    with pytest.raises((ValueError, TypeError), match=match):
        rbf(eigen_solver=solver).fit(data)


@pytest.mark.parametrize("solver", ["auto", "krylov", "arpack", "randomized", "power", "rpcholesky"])
@pytest.mark.parametrize(
    "data",
    [np.ones((8, 2)), np.full((8, 2), 1e300), np.zeros((8, 2)), np.full((500, 1), 0.1)],
    ids=["ones", "large", "zeros", "many"],
)
def test_constant_data_is_a_named_warning(data, solver):
    with pytest.warns(DegenerateDataWarning, match="no variation"):
        model = rbf(2, eigen_solver=solver).fit(data)
    assert finite(model)
    assert_array_equal(model.eigenvalues_, 0)
    assert_array_equal(model.transform(data), 0)
    assert model.score(data) == 0.0


@pytest.mark.parametrize("solver", ["dense", "krylov", "randomized", "rpcholesky"])
@pytest.mark.parametrize("n", [12, 60])
def test_points_that_have_nothing_in_common(solver, n):
    """γ so large that K = I: every eigenvalue of HKH is 1, n − 1 times."""
    model = rbf(2, gamma=1e6, eigen_solver=solver).fit(X[:n])
    assert_allclose(model.eigenvalues_, 1.0, rtol=1e-9)
    assert_allclose(model.explained_variance_ratio_, 1 / (n - 1), rtol=1e-9)
    assert model.fit_transform(X[:n]).shape == (n, 2)


@pytest.mark.parametrize("solver", ["auto", "krylov", "rpcholesky"])
def test_one_row(solver):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MercerWarning)
        model = rbf(1, eigen_solver=solver).fit(X[:1])
    assert finite(model)
    assert_array_equal(model.transform(X[:1]), 0)


@pytest.mark.parametrize("solver", ["auto", "krylov", "rpcholesky", "arpack"])
def test_duplicated_rows(solver):
    twice = np.repeat(X[:5], 6, axis=0)
    model = rbf(10, eigen_solver=solver).fit(twice)
    assert finite(model)
    k = len(model.eigenvalues_)
    assert_allclose(model.eigenvalues_, np.maximum(spectrum(RBF(gamma=0.2)(twice))[:k], 0), atol=1e-9)
    assert_allclose(model.transform(twice), model.transform(X[:5]).repeat(6, axis=0), atol=1e-9)


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "cosine", "laplacian", "sigmoid", "matern", "arc_cosine"])
@pytest.mark.parametrize("scale", [1e-200, 1e-100, 1e100, 1e200])
@pytest.mark.parametrize("solver", ["auto", "krylov", "rpcholesky"])
def test_extreme_scales(kernel, scale, solver):
    """A clear error or finite numbers, with named warnings at most."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", MercerWarning)
        try:
            model = KernelPCA(2, kernel=kernel, eigen_solver=solver).fit(scale * X)
        except ValueError as error:
            # Saturated, a sigmoid is a matrix of signs, which is indefinite: a factor of it is refused.
            assert re.search("overflow|negative eigenvalues|not positive semidefinite", str(error))
            return
        scores = model.transform(scale * NEW)
    assert finite(model) and np.all(np.isfinite(scores))
    assert len(model.eigenvalues_) == 2 or solver == "rpcholesky"  # a factor of rank 0 has no components to give


def test_a_linear_kernel_at_the_edge_of_what_floats_hold():
    for scale in (1e-100, 1e100):
        model, plain = KernelPCA(2).fit(scale * X), KernelPCA(2).fit(X)
        assert_allclose(model.explained_variance_ratio_, plain.explained_variance_ratio_, rtol=1e-9)


@pytest.mark.parametrize("solver", ["krylov", "dense", "arpack", "power"])
def test_indefinite_kernels(solver):
    kernel = Sigmoid(gamma=1.0, coef0=-1.0)
    truth = spectrum(kernel(X))
    assert truth[-1] < -0.1 * truth[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IndefiniteKernelWarning)
        model = KernelPCA(2, kernel=kernel, eigen_solver=solver, random_state=0).fit(X)
    assert_allclose(model.eigenvalues_, truth[:2], rtol=1e-7)
    with pytest.raises(ValueError, match="negative eigenvalues"):
        KernelPCA(60, kernel=kernel, eigen_solver=solver, max_iter=500).fit(X)


def test_an_indefinite_kernel_is_named():
    with pytest.warns(IndefiniteKernelWarning, match="not an inner product"):
        KernelPCA(2, kernel=Sigmoid(gamma=1.0, coef0=-1.0), eigen_solver="krylov").fit(X)


def test_an_asymmetric_precomputed_kernel_is_named():
    K = RBF(gamma=0.2)(X)
    skewed = K + 0.1 * np.triu(RNG.random(K.shape), 1)
    with pytest.warns(AsymmetricKernelWarning, match="transpose"):
        model = KernelPCA(2, kernel="precomputed").fit(skewed)
    assert_allclose(model.eigenvalues_, spectrum((skewed + skewed.T) / 2)[:2], rtol=1e-9)


def test_a_precomputed_kernel_must_be_square():
    with pytest.raises(ValueError, match="square"):
        KernelPCA(2, kernel="precomputed").fit(np.ones((3, 4)))
    with pytest.raises(ValueError, match="precomputed"):
        KernelPCA(2, kernel="precomputed").fit(np.eye(5)).score(np.eye(5))


@pytest.mark.parametrize("solver", ["auto", "dense", "krylov", "arpack", "randomized", "power", "rpcholesky"])
def test_more_components_than_samples(solver):
    model = rbf(100, eigen_solver=solver).fit(X[:10])
    assert len(model.eigenvalues_) <= 10 and finite(model)
    assert_allclose(model.eigenvalues_[:9], spectrum(RBF(gamma=0.2)(X[:10]))[:9], rtol=1e-6)


@pytest.mark.parametrize("data", [np.ones((3, 2)), np.ones((3, 9))])
def test_wrong_width_at_transform(data):
    with pytest.raises(ValueError, match="features"):
        rbf().fit(X).transform(data)


@pytest.mark.parametrize("words", [[], [1, 2], ["a", None], [["a", "b"]]])
def test_bad_strings(words):
    with pytest.raises((ValueError, TypeError), match=r"string|0 sample"):
        KernelPCA(1, kernel=Spectrum(2)).fit(words)


@pytest.mark.parametrize("kernel", ["chi2", "additive_chi2", "intersection"])
def test_negative_entries_where_none_may_be(kernel):
    with pytest.raises(ValueError, match="≥ 0"):
        KernelPCA(2, kernel=kernel).fit(X)


def test_a_function_that_raises_is_not_hidden():
    def broken(a, b):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        KernelPCA(2, kernel=broken).fit(X)


def test_a_function_that_gives_nan_is_an_error():
    with pytest.raises(ValueError, match=r"finite|NaN|overflow"):
        KernelPCA(2, kernel=lambda A, B: np.full((len(A), len(B)), np.nan)).fit(X)


def test_a_refit_with_other_parameters_leaves_nothing_of_the_first():
    rows = np.random.default_rng(0).standard_normal((40, 3))
    rows[:, 2] = rows[:, 0]
    model = KernelPCA("parallel", kernel="rbf", fit_inverse_transform=True).fit(rows)
    optional = {"null_eigenvalues_", "preimage_", "dual_coef_", "X_transformed_fit_"}
    assert optional <= set(vars(model))
    model.set_params(inverse_method="mds").fit(rows)
    assert "dual_coef_" not in vars(model)  # of the ridge regression alone
    model.set_params(n_components=2, fit_inverse_transform=False).fit(rows)
    fresh = KernelPCA(2, kernel="rbf").fit(rows)
    assert set(vars(model)) == set(vars(fresh))


@pytest.mark.parametrize("name", ["matern", "rational_quadratic"])
def test_gamma_reaches_kernels_with_a_length(name):
    lengths = {
        g: KernelPCA(2, kernel=name, gamma=g).fit(X).kernel_.length_scale for g in (None, 7.0, "median", "scale")
    }
    assert lengths[None] == 1.0
    assert_allclose(lengths[7.0], 1 / np.sqrt(14))
    kind = {"matern": Matern, "rational_quadratic": RationalQuadratic}[name]
    assert lengths["median"] == kind(length_scale="median").bind(X).length_scale
    assert_allclose(lengths["scale"], np.sqrt(X.shape[1] * X.var() / 2))


@pytest.mark.parametrize("gamma", [None, 0.5, "median", "scale"])
@pytest.mark.parametrize("kernel", ["linear", "matern", "cosine", "rbf", "poly", Linear() + RBF("median")])
def test_gamma_is_the_kernels_own_number_or_none(kernel, gamma):
    found = KernelPCA(2, kernel=kernel, gamma=gamma).fit(X)
    assert found.gamma_ == getattr(found.kernel_, "gamma", None)
    assert (found.gamma_ is None) == (kernel not in ("rbf", "poly"))
