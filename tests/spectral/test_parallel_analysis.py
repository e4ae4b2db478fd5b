"""Parallel analysis: the number of components that exceed those of independent variables."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_circles
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import KernelPCA
from mercer.exceptions import DegenerateDataWarning, MemoryLimitError
from mercer.kernels import RBF, Laplacian, Linear, Polynomial, Spectrum
from mercer.spectral.parallel_analysis import parallel_analyses, parallel_analysis, permuted_columns

RINGS = make_circles(300, factor=0.3, noise=0.04, random_state=0)[0]


def factors(count, n=200, copies=4, noise=0.5, seed=0):
    """`count` hidden variables, each seen `copies` times with noise."""
    rng = np.random.default_rng(seed)
    hidden = rng.standard_normal((n, count))
    return np.repeat(hidden, copies, axis=1) + noise * rng.standard_normal((n, count * copies))


@parametrize_with_checks([KernelPCA("parallel", kernel="rbf", gamma="median")])
@pytest.mark.filterwarnings("ignore::mercer.exceptions.MercerWarning")
def test_common_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("count", [1, 2, 3, 5])
@pytest.mark.parametrize("seed", [0, 1])
def test_known_number_of_factors(count, seed):
    X = factors(count, seed=seed)
    if count == 1:
        X = np.hstack([X, np.random.default_rng(9).standard_normal((200, 3))])
    assert parallel_analysis(Linear(), X).n_components == count
    wide = RBF(gamma=1e-3 / X.shape[1])  # a wide Gaussian sees what the linear kernel sees
    assert parallel_analysis(wide, X).n_components == count


def test_eigenvalues_and_null_are_those_of_the_explicit_matrices():
    X = factors(2, n=60)
    found = parallel_analysis(RBF(0.05), X, n_permutations=3, quantile=0.5)

    def spectrum(rows):
        K = RBF(0.05)(rows)
        H = np.eye(len(K)) - 1 / len(K)
        return np.linalg.eigvalsh(H @ K @ H)[::-1]

    k = len(found.eigenvalues)
    assert_allclose(found.eigenvalues, spectrum(X)[:k], atol=1e-6)
    assert_allclose(found.trace, spectrum(X).sum())
    assert_allclose(found.null, np.median(found.null_draws, axis=0))
    q = found.n_components
    assert np.all(found.eigenvalues[:q] > found.null[:q]) and found.eigenvalues[q] <= found.null[q]
    assert_allclose(found.share, (found.eigenvalues - found.null)[:q].sum() / found.trace)


def test_noise_passes_no_more_often_than_it_may():
    rng = np.random.default_rng(2)
    options = {"n_permutations": 4, "quantile": 0.8}
    found = [parallel_analysis(Linear(), rng.standard_normal((20, 3)), **options).n_components for _ in range(150)]
    assert abs(np.mean(np.array(found) > 0) - 0.2) < 3 * np.sqrt(0.2 * 0.8 / 150)


def test_permuting_keeps_columns_and_breaks_rows():
    X = factors(1, n=50)
    permuted = permuted_columns(X, 3)
    assert_array_equal(np.sort(permuted, axis=0), np.sort(X, axis=0))
    assert abs(np.corrcoef(permuted.T)[0, 1]) < 0.4 < np.corrcoef(X.T)[0, 1]
    assert_array_equal(permuted, permuted_columns(X, 3))
    assert not np.array_equal(permuted, permuted_columns(X, 4))
    assert_array_equal(permuted_columns(sp.csr_array(X), 3).toarray(), permuted)


def test_the_kernel_sees_what_pca_does_not():
    assert parallel_analysis(Linear(), RINGS).n_components == 0
    found = parallel_analysis(RBF(gamma=10.0), RINGS)
    assert found.n_components >= 1 and found.share > 0.02


def test_more_components_than_are_computed_at_first():
    X = factors(20, n=300, copies=3, noise=0.2)
    found = parallel_analysis(Linear(), X, n_permutations=5)
    assert found.n_components == 20 and len(found.null) == len(found.eigenvalues) == 40


def test_several_kernels_share_permutations_and_each_gets_its_own_answer():
    X = factors(3, n=150)
    kernels = [RBF(0.5), Linear(), Polynomial(300, 1.0), Laplacian(0.05), RBF(0.01)]  # the third overflows
    found = parallel_analyses(kernels, X, n_permutations=6, random_state=2)
    assert isinstance(found[2], ValueError) and "overflows" in str(found[2])
    for kernel, one in zip(kernels, found, strict=True):
        if not isinstance(one, ValueError):
            alone = parallel_analysis(kernel, X, n_permutations=6, random_state=2)
            assert one.n_components == alone.n_components
            assert_allclose(one.null_draws, alone.null_draws, rtol=1e-9, atol=1e-9 * one.trace)


def test_threads_change_nothing():
    X = factors(3, n=150)
    one, two = (parallel_analysis(RBF(0.5), X, n_jobs=jobs) for jobs in (1, 2))
    assert one.n_components == two.n_components
    assert_allclose(one.null_draws, two.null_draws, rtol=1e-9, atol=1e-9 * one.trace)


def test_progress_is_told():
    told = []
    parallel_analyses([Linear(), RBF(0.1)], factors(2, n=60), n_permutations=3, report=told.append)
    assert len(told) == 4 and sum("data" in line for line in told) == 1


def test_order_of_rows_and_columns_matters_no_more_than_the_draws():
    X = factors(3)
    rng = np.random.default_rng(1)
    turned = X[rng.permutation(len(X))][:, rng.permutation(X.shape[1])]
    a, b = parallel_analysis(Linear(), X), parallel_analysis(Linear(), turned)
    assert a.n_components == b.n_components == 3
    assert_allclose(a.eigenvalues, b.eigenvalues, atol=1e-9)
    assert_allclose(a.null[:5], b.null[:5], rtol=0.05)


def test_scale_and_shift_do_not_matter_to_linear():
    X = factors(2)
    a, b = parallel_analysis(Linear(), X), parallel_analysis(Linear(), 1e5 * X + 1e6)
    assert a.n_components == b.n_components == 2
    assert_allclose(b.null, 1e10 * a.null, rtol=1e-6, atol=1)


def test_the_seed_fixes_it():
    X = factors(2)
    first, again = (parallel_analysis(Linear(), X, random_state=3) for _ in range(2))
    assert_array_equal(first.null_draws, again.null_draws)
    assert not np.array_equal(first.null, parallel_analysis(Linear(), X, random_state=4).null)


def test_a_sample_of_many_rows_is_looked_at():
    found = parallel_analysis(Linear(), factors(2, n=3000), max_rows=200)
    assert found.rows == 200 and found.n_components == 2


def test_csr_and_float32_and_array_api():
    X = factors(2)
    counts = [
        parallel_analysis(kernel, rows).n_components
        for kernel in (Linear(), Polynomial(2, 0.01))
        for rows in (X, sp.csr_array(X), X.astype(np.float32))
    ]
    assert counts[:3] == [2, 2, 2] and len(set(counts[3:])) == 1
    strict = pytest.importorskip("array_api_strict")
    assert parallel_analysis(Linear(), strict.asarray(X)).n_components == 2


# --- KernelPCA(n_components="parallel") --------------------------------------------------------------------


def test_kernel_pca_takes_the_number():
    X = factors(3)
    model = KernelPCA("parallel", kernel="linear").fit(X)
    assert model.transform(X).shape == (200, 3)
    null = model.null_eigenvalues_
    assert np.all(model.eigenvalues_ > null[:3]) and null.shape[0] > 3
    every = KernelPCA(kernel="linear").fit(X).eigenvalues_
    assert every[3] <= null[3]
    same = KernelPCA(3, kernel="linear").fit(X)
    assert_allclose(model.fit_transform(X), same.fit_transform(X), atol=1e-8)


def test_the_null_is_given_for_all_rows():
    X = factors(2, n=1200)
    model = KernelPCA("parallel", kernel="linear").fit(X)
    whole = parallel_analysis(Linear(), X, max_rows=1200)
    assert model.eigenvalues_.shape == (2,)
    assert_allclose(model.null_eigenvalues_[:4], whole.null[:4], rtol=0.15)


@pytest.mark.parametrize("solver", ["auto", "dense", "krylov", "rpcholesky"])
def test_with_every_kind_of_solver(solver):
    model = KernelPCA("parallel", kernel="rbf", gamma=0.01, eigen_solver=solver, rank=100).fit(factors(2))
    assert model.eigenvalues_.shape == (2,)


def test_noise_has_one_component_and_a_warning():
    noise = np.random.default_rng(0).standard_normal((200, 5))
    with pytest.warns(DegenerateDataWarning, match="no dependence"):
        model = KernelPCA("parallel", kernel="rbf", gamma="median").fit(noise)
    assert model.eigenvalues_.shape == (1,) and model.eigenvalues_[0] <= model.null_eigenvalues_[0]


@pytest.mark.filterwarnings("ignore::mercer.exceptions.DegenerateDataWarning")
def test_constant_rows():
    assert KernelPCA("parallel", kernel="rbf").fit(np.ones((20, 3))).eigenvalues_.shape == (1,)


def test_plan_and_dtype():
    X = factors(2).astype(np.float32)
    assert KernelPCA("parallel", kernel="linear").plan(X).solver == "lanczos"
    assert KernelPCA("parallel", kernel="linear").fit(X).null_eigenvalues_.dtype == np.float32


def test_what_has_no_columns_is_refused():
    X = factors(1)
    with pytest.raises(TypeError, match="permutes the columns"):
        KernelPCA("parallel", kernel="precomputed").fit(X @ X.T)
    with pytest.raises(TypeError, match="permutes the columns"):
        KernelPCA("parallel", kernel="spectrum").fit(["abc", "abd", "xyz"])
    with pytest.raises(TypeError, match="permutes the columns"):
        parallel_analysis(Spectrum(), np.array(["abc", "abd"], dtype=object))


@pytest.mark.parametrize("options", [{"n_permutations": 0}, {"quantile": 1.5}])
def test_bad_settings(options):
    with pytest.raises(ValueError, match="n_permutations"):
        parallel_analysis(Laplacian(1.0), RINGS, **options)


def test_memory_is_asked_for(monkeypatch):
    monkeypatch.setattr("mercer.spectral.parallel_analysis.available_bytes", lambda: 10**5)
    with pytest.raises(MemoryLimitError, match="max_rows"):
        parallel_analysis(Linear(), RINGS)
    assert parallel_analysis(Linear(), RINGS, max_rows=40).rows == 40


def test_one_row_is_refused():
    with pytest.raises(ValueError, match="at least 2 rows"):
        parallel_analysis(Linear(), np.ones((1, 3)))


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_one_column_depends_on_no_other(make):
    column = make(RINGS[:, :1])
    with pytest.raises(ValueError, match=r"X has 1 feature\(s\).*between columns"):
        parallel_analysis(RBF(1.0), column)
    with pytest.raises(ValueError, match=r"X has 1 feature\(s\).*between columns"):
        KernelPCA("parallel", kernel="rbf").fit(column)
