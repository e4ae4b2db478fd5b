"""Where kernel PCA could be quietly wrong: mixed inputs, lost digits, indefinite kernels, limits, interruptions."""

import subprocess
import sys
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from mercer import KernelPCA
from mercer.exceptions import DegenerateDataWarning, IndefiniteKernelWarning, MercerWarning, NotConvergedWarning
from mercer.kernels import RBF, Linear, Matern
from mercer.linalg.eigen import top_eigenpairs
from mercer.linalg.gram import Gram
from mercer.linalg.operators import Dense
from mercer.memory import parse_bytes

RNG = np.random.default_rng(0)
X = RNG.standard_normal((80, 4))
LARGE = np.random.default_rng(1).standard_normal((2300, 3))


def centred(K):
    means = K.mean(axis=0)
    return K - means - means[:, None] + means.mean()


# --- rows of another kind than the fitted ones -----------------------------------------------------------


@pytest.mark.parametrize("kernel", ["rbf", "matern", "linear", "poly", "laplacian"])
def test_sparse_and_dense_rows_can_be_mixed(kernel):
    dense, sparse = X + 3.0, sp.csr_array(X + 3.0)
    on_dense, on_sparse = (KernelPCA(2, kernel=kernel).fit(A) for A in (dense, sparse))
    expected = on_dense.transform(dense)
    for model, rows in ((on_dense, sparse), (on_sparse, dense), (on_sparse, sparse)):
        assert_allclose(model.transform(rows), expected, atol=1e-9 * np.abs(expected).max())


def test_refit_on_another_array_type():
    strict = pytest.importorskip("array_api_strict")
    model = KernelPCA(2, kernel="rbf")
    there = model.fit_transform(strict.asarray(X))
    here = model.fit_transform(X)
    assert isinstance(here, np.ndarray) and isinstance(model.eigenvalues_, np.ndarray)
    assert_allclose(np.from_dlpack(there), here, atol=1e-9)
    with pytest.raises(ValueError, match="fitted on numpy"):
        model.transform(strict.asarray(X))


def test_plan_of_a_frame_and_scores_of_the_wrong_width():
    assert KernelPCA(2).plan(pd.DataFrame(X)).solver == KernelPCA(2).plan(X).solver
    model = KernelPCA(2, kernel="rbf", fit_inverse_transform=True).fit(X)
    with pytest.raises(ValueError, match="scores of 2 components"):
        model.inverse_transform(X)


# --- bounds that hold ------------------------------------------------------------------------------------


@pytest.mark.parametrize("spread", [1.0, 1e3, 1e5])
def test_errors_hold_for_far_clusters(spread):
    rows = RNG.standard_normal((120, 2)) + np.where(np.arange(120) % 2, spread, -spread)[:, None]
    model = KernelPCA(4, kernel="rbf", gamma=0.5).fit(rows)
    apart = ((rows[:, None, :] - rows[None, :, :]) ** 2).sum(-1)
    truth = np.linalg.eigvalsh(centred(np.exp(-0.5 * apart)))[::-1][:4]
    assert np.all(np.abs(truth - model.eigenvalues_) <= model.eigenvalue_error_ + 1e-12)


def test_matern_of_duplicates_has_all_its_digits():
    rows = np.repeat(RNG.standard_normal((20, 3)) + 50.0, 3, axis=0)
    K = Matern(0.5)(rows, rows + 0.0)
    apart = np.sqrt(((rows[:, None, :] - rows[None, :, :]) ** 2).sum(-1))
    assert_allclose(K, np.exp(-apart), atol=1e-12)


@pytest.mark.parametrize("nu", [0.3, 3.3, 20.0, 90.0])
def test_matern_far_away_is_nothing_and_near_by_is_one(nu):
    k = Matern(nu)(np.array([[0.0], [1e-9], [14.0], [60.0]], dtype=np.float32))[0]
    assert k[0] == 1.0 and k[1] > 0.99 and 0 <= k[3] <= k[2] < 1e-4


def test_matern_beyond_bessel_is_refused():
    with pytest.raises(ValueError, match="nu=inf"):
        Matern(150.0)(X)


def test_a_float32_matrix_is_certified_in_float64():
    K = RBF(0.2)(X).astype(np.float32)
    model = KernelPCA(3, kernel="precomputed", eigen_solver="dense").fit(K)
    truth = np.linalg.eigvalsh(centred(K.astype(np.float64)))[::-1][:3]
    assert np.all(np.abs(truth - model.eigenvalues_) <= model.eigenvalue_error_ + np.spacing(model.eigenvalues_))


@pytest.mark.parametrize("kernel", [0.5 * Linear(), Linear().on([0, 1]) + RBF(0.1)], ids=repr)
def test_linear_parts_far_from_the_origin(kernel):
    near, far = KernelPCA(2, kernel=kernel).fit(X), KernelPCA(2, kernel=kernel).fit(X + 1e7)
    assert_allclose(far.eigenvalues_, near.eigenvalues_, rtol=1e-7)


# --- what the kernel is ----------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [80, 300, 2300])
def test_entries_that_are_no_numbers_are_refused(n):
    with pytest.raises(ValueError, match="not finite"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        KernelPCA(2, kernel="poly", degree=2.5, coef0=0.0).fit(RNG.standard_normal((n, 3)))


@pytest.mark.parametrize("solver", ["dense", "arpack", "krylov"])
def test_indefinite_kernels_are_named(solver):
    with pytest.warns(IndefiniteKernelWarning):
        KernelPCA(2, kernel="sigmoid", gamma=1.0, eigen_solver=solver).fit(RNG.standard_normal((300, 4)))


def test_a_rough_answer_is_not_called_converged():
    rough = KernelPCA(3, kernel="laplacian", eigen_solver="randomized", iterated_power=0).fit(RNG.random((300, 9)))
    assert rough.residuals_.max() > 1e-6 * rough.eigenvalues_[0] and not rough.solver_.converged


def test_a_factor_that_falls_short_says_so():
    with pytest.warns(NotConvergedWarning, match="Raise rank"):
        KernelPCA(0.99, kernel="rbf", gamma=2.0, eigen_solver="rpcholesky", rank=10).fit(X)
    with pytest.warns(DegenerateDataWarning, match="has rank 4"):
        KernelPCA(6, eigen_solver="rpcholesky").fit(X)
    with pytest.raises(ValueError, match="eigen_solver='krylov'"):
        KernelPCA(2, kernel="additive_chi2", eigen_solver="rpcholesky").fit(np.abs(X))


# --- solvers ---------------------------------------------------------------------------------------------


def test_residuals_are_relative_to_the_largest_value_not_the_lowest():
    spectrum = np.concatenate([[-1e4], np.linspace(0.1, 1.0, 299)])
    Q = np.linalg.qr(RNG.standard_normal((300, 300)))[0]
    pairs = top_eigenpairs((Q * spectrum) @ Q.T, 2, solver="krylov", tol=1e-6)
    assert pairs.residuals.max() <= 1e-6 * pairs.values[0]
    assert_allclose(pairs.values, [1.0, spectrum[-2]], rtol=1e-6)


def test_arpack_that_gives_up_is_finished_by_the_block_method():
    spectrum = 1.0 / np.arange(1, 501)
    Q = np.linalg.qr(RNG.standard_normal((500, 500)))[0]
    pairs = top_eigenpairs((Q * spectrum) @ Q.T, 4, solver="arpack", tol=1e-9, max_iter=2)
    assert_allclose(pairs.values, spectrum[:4], rtol=1e-2)


def test_copies_of_an_eigenvalue_are_all_found():
    spectrum = np.concatenate([[5.0] * 4, [3.0] * 3, np.linspace(0, 1, 293)])
    Q = np.linalg.qr(RNG.standard_normal((300, 300)))[0]
    for solver in ("arpack", "krylov", "dense"):
        pairs = top_eigenpairs((Q * spectrum) @ Q.T, 7, solver=solver)
        assert_allclose(pairs.values, spectrum[:7], rtol=1e-9)


def test_ctrl_c_keeps_the_best_so_far(monkeypatch):
    seen, calls, original = [], [], Gram.matmat

    def stop_at_fifth(self, V):
        calls.append(V.shape)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return original(self, V)

    monkeypatch.setattr(Gram, "matmat", stop_at_fifth)
    A = Gram(RBF(0.2), LARGE)
    pairs = top_eigenpairs(A, 4, solver="krylov", tol=1e-13, monitor=lambda passes, worst: seen.append(worst))
    assert pairs.residuals.max() <= 2 * seen[-1] * pairs.values[0]


# --- limits ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["krylov", "rpcholesky"])
def test_the_limit_is_kept(solver):
    rows = np.random.default_rng(0).standard_normal((6000, 5))
    KernelPCA(3, kernel="rbf", eigen_solver=solver).fit(rows[:2500])  # compiled code and buffers of BLAS come first
    tracemalloc.start()
    KernelPCA(3, kernel="rbf", eigen_solver=solver, memory_limit="130MB", tol=1e-6).fit(rows)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < parse_bytes("130MB")


def test_dense_plans_cover_what_they_take():
    rows = np.random.default_rng(0).standard_normal((700, 5))
    KernelPCA(kernel="rbf").fit(rows[:500])
    plan = KernelPCA(kernel="rbf").plan(rows)
    tracemalloc.start()
    KernelPCA(kernel="rbf").fit(rows)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1.2 * plan.needed_bytes


def test_one_thread_when_asked(monkeypatch):
    from mercer.backends import cpu

    counts = []
    original = cpu.workers
    monkeypatch.setattr(cpu, "workers", lambda n_jobs=None: counts.append(n_jobs) or original(n_jobs))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MercerWarning)
        KernelPCA(2, kernel="rbf", n_jobs=1, eigen_solver="rpcholesky", rank=30).fit(LARGE)
        KernelPCA(2, kernel="rbf", n_jobs=1, eigen_solver="krylov").fit(LARGE)
    assert set(counts) == {1}


def test_a_stored_matrix_is_multiplied_as_it_is():
    M = RNG.standard_normal((1500, 1500))
    M = M + M.T
    v = RNG.standard_normal((1500, 1))
    assert_allclose(Dense(M).matmat(v), M @ v, rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("seed", [0, 1])
def test_data_of_the_same_seed_raises_no_false_alarm(seed):
    rows = np.random.default_rng(seed).standard_normal((300, 4))
    with warnings.catch_warnings():
        warnings.simplefilter("error", MercerWarning)
        for solver in ("dense", "arpack", "krylov"):
            KernelPCA(2, eigen_solver=solver, random_state=seed).fit(rows)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "matern"])
@pytest.mark.parametrize("n", [150, 400, 700])
def test_kernels_that_vanish_far_away_are_no_error_where_errors_are_raised(kernel, n):
    far = 1e3 * np.random.default_rng(0).standard_normal((n, 3))
    with np.errstate(all="raise"):
        model = KernelPCA(2, kernel=kernel, gamma=1.0).fit(far)
        assert np.isfinite(model.transform(far[:5])).all()


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_fits_of_matrices_that_are_stored_do_not_load_numba(kernel):
    code = (
        "import sys, numpy as np; from mercer import KernelPCA; X = np.random.default_rng(0).normal(size=(2048, 3)); "
        f"KernelPCA(2, kernel={kernel!r}, tol=1e-3).fit(X); sys.exit('numba' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
