"""Ridge: the regression is the one it says, its leave-one-out error is that of refits, and it fits its memory."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from bordered_ridge import by_definition
from numpy.testing import assert_allclose
from sklearn.decomposition import PCA

from mercer import KernelPCA
from mercer.backends import cpu
from mercer.exceptions import MemoryLimitError
from mercer.kernels import RBF
from mercer.preimage import Ridge
from mercer.preimage.inverse_method import InverseRequest
from mercer.preimage.ridge import EXACT_ROWS, RANK, chosen_rank

RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 3)) @ np.diag([3.0, 1.0, 0.5]) + 5.0
NEW = RNG.standard_normal((9, 3)) + 5.0


def model(k=4, **parameters):
    return KernelPCA(k, **({"kernel": "rbf", "gamma": 0.1, "fit_inverse_transform": True} | parameters))


# --- the definition ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [1e-3, 1.0, 50.0])
def test_it_is_the_ridge_regression_with_an_intercept(alpha):
    fitted = model(alpha=alpha, inverse_method=Ridge(gamma=2.0)).fit(X)
    Z, new = fitted.X_transformed_fit_, fitted.transform(NEW)
    assert_allclose(fitted.inverse_transform(new), by_definition(Z, X, new, 2.0, alpha), atol=1e-9)
    assert fitted.dual_coef_.shape == X.shape and fitted.preimage_.rank is None


def test_a_heavy_penalty_gives_the_mean():
    fitted = model(alpha=1e12).fit(X)
    assert_allclose(fitted.inverse_transform(fitted.transform(NEW)), np.tile(X.mean(axis=0), (9, 1)), atol=1e-8)
    drawn_to_zero = model(alpha=1e12, inverse_method="sklearn").fit(X)
    assert np.abs(drawn_to_zero.inverse_transform(drawn_to_zero.transform(NEW))).max() < 1e-8


@pytest.mark.parametrize("alpha", [0, 1e-300])
def test_no_penalty_interpolates(alpha):
    fitted = model(20, alpha=alpha, inverse_method=Ridge(gamma=3.0)).fit(X)
    assert_allclose(fitted.inverse_transform(fitted.X_transformed_fit_), X, atol=1e-6)


def test_no_penalty_on_repeated_rows_is_the_answer_of_least_norm():
    twice = np.vstack([X, X])
    fitted = model(10, alpha=0, inverse_method=Ridge(gamma=3.0)).fit(twice)
    assert_allclose(fitted.inverse_transform(fitted.X_transformed_fit_), twice, atol=1e-5)


def test_moved_data_has_moved_pre_images():
    here, there = (model().fit(rows) for rows in (X, X + 100.0))
    new = here.transform(NEW)
    assert_allclose(there.inverse_transform(new), here.inverse_transform(new) + 100.0, atol=1e-6)


# --- leave-one-out -----------------------------------------------------------------------------------------


def test_the_penalty_chosen_is_the_largest_within_a_standard_error():
    fitted = model(alpha="loo", inverse_method=Ridge(gamma=2.0)).fit(X)
    chosen = fitted.preimage_
    n, Z = len(X), fitted.X_transformed_fit_

    def refits(alpha):
        left = [np.delete(np.arange(n), i) for i in range(n)]
        return np.array(
            [((X[i] - by_definition(Z[r], X[r], Z[[i]], 2.0, alpha)) ** 2).sum() for i, r in enumerate(left)]
        )

    assert chosen.loo_error == pytest.approx(refits(chosen.alpha).mean(), rel=1e-6)
    tried = [refits(chosen.alpha * 10 ** (step / 2)) for step in range(-8, 3)]
    least = min(tried, key=np.mean)
    enough = least.mean() + np.std(least) / np.sqrt(n)
    assert chosen.loo_error <= enough < refits(chosen.alpha * 10**0.5).mean()


def test_rows_beyond_the_others_do_not_explode():
    """A score that folds back on itself: the least leave-one-out error has next to no penalty, and pays outside."""
    t = np.linspace(0, np.pi, 90)
    arc = np.column_stack([np.cos(t), np.sin(t)]) + 0.03 * np.random.default_rng(0).standard_normal((90, 2))
    fitted = KernelPCA(1, kernel="rbf", gamma="median", fit_inverse_transform=True, alpha="loo").fit(arc[8:-8])
    back = fitted.inverse_transform(fitted.transform(arc))
    assert np.abs(back).max() < 3


# --- linear kernels ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [X, sp.csr_array(X)], ids=["dense", "csr"])
def test_a_linear_kernel_is_shrunk_pca(rows):
    fitted = KernelPCA(2, fit_inverse_transform=True, alpha=7.0).fit(rows)
    plain = PCA(2).fit(X)
    shrunk = plain.transform(NEW) * fitted.eigenvalues_ / (fitted.eigenvalues_ + 7.0)
    assert_allclose(fitted.inverse_transform(fitted.transform(NEW)), plain.inverse_transform(shrunk), atol=1e-8)


def test_dual_coefficients_of_a_linear_kernel():
    fitted = KernelPCA(2, fit_inverse_transform=True, alpha=2.0).fit(X)
    new = fitted.transform(NEW)
    rebuilt = new @ fitted.X_transformed_fit_.T @ fitted.dual_coef_ + X.mean(axis=0)
    assert_allclose(rebuilt, fitted.inverse_transform(new), atol=1e-9)


def test_by_leave_one_out_a_linear_kernel_is_pca():
    rows = np.random.default_rng(0).standard_normal((200, 2)) @ np.array([[1.0, 2.0, 0.5], [0.3, -1.0, 2.0]]) + 3.0
    fitted = KernelPCA(2, fit_inverse_transform=True, alpha="loo").fit(rows)
    plain = PCA(2).fit(rows)
    assert_allclose(fitted.inverse_transform(fitted.transform(rows)), rows, atol=1e-6)
    assert_allclose(plain.inverse_transform(plain.transform(rows)), rows, atol=1e-9)


# --- large n -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [1e-2, "loo"])
def test_a_factor_of_full_rank_is_the_exact_regression(alpha):
    exact = model(alpha=alpha, inverse_method=Ridge(gamma=1.0)).fit(X)
    factored = model(alpha=alpha, inverse_method=Ridge(gamma=1.0), eigen_solver="rpcholesky", rank=40).fit(X)
    assert factored.preimage_.rank is not None and factored.preimage_.factor_error < 1e-9
    signs = np.sign((exact.X_transformed_fit_ * factored.X_transformed_fit_).sum(axis=0))
    new = exact.transform(NEW)
    assert_allclose(factored.inverse_transform(new * signs), exact.inverse_transform(new), atol=1e-4)


def test_many_rows_take_no_square_matrix():
    n = 6000
    rows = np.random.default_rng(0).random((n, 3)) * [3.0, 1.0, 0.2]
    tracemalloc.start()
    fitted = KernelPCA(
        4, kernel="rbf", gamma=0.3, fit_inverse_transform=True, alpha="loo", eigen_solver="rpcholesky", rank=60
    ).fit(rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * n * n / 2
    assert fitted.preimage_.rank < n and fitted.preimage_.factor_error <= 2e-3
    assert np.sqrt(((fitted.inverse_transform(fitted.transform(rows)) - rows) ** 2).mean()) < 0.1 * rows.std()


def test_a_small_limit_takes_a_factor_where_the_matrix_does_not_fit():
    rows = np.random.default_rng(1).standard_normal((3000, 3))
    roomy, tight = (model(3, memory_limit=limit).fit(rows) for limit in ("1GB", "60MB"))
    assert roomy.preimage_.rank is None and tight.preimage_.rank is not None
    new = roomy.transform(rows[:50])
    assert_allclose(tight.inverse_transform(new), roomy.inverse_transform(new), atol=0.02)


def test_without_a_limit_the_rows_choose_and_memory_refuses():
    plenty, little = (InverseRequest(1.0, limit, False, limit_given=False) for limit in (10**13, 2 * 10**8))
    few, most, more, many = (np.broadcast_to(0.0, (n, 5)) for n in (2000, EXACT_ROWS, EXACT_ROWS + 1, 10 * EXACT_ROWS))
    assert chosen_rank(few, plenty) is None and chosen_rank(most, plenty) is None
    assert chosen_rank(more, plenty) == RANK
    with pytest.raises(MemoryLimitError, match="Set a memory_limit"):
        Ridge().check(RBF(1.0), most, little)
    with pytest.raises(MemoryLimitError, match=f"rank {RANK}"):
        Ridge().check(RBF(1.0), many, little)
    assert chosen_rank(most, replace(little, limit_given=True)) < RANK


def test_the_plan_counts_the_way_back():
    rows = np.random.default_rng(0).standard_normal((2500, 3))
    kpca = model(3, alpha=0.1, memory_limit="1GB").fit(rows)  # compiled code is loaded before memory is counted
    plan = kpca.plan(rows)
    assert plan.later.peak > plan.footprint.peak and plan.needed_bytes == plan.later.peak + plan.code_bytes
    tracemalloc.start()
    kpca.fit(rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert plan.later.peak / 1.3 < peak < 1.3 * plan.peak_bytes


def test_free_memory_does_not_change_the_answer(monkeypatch):
    """The same data gives the same bits, whatever else runs on the machine, or is refused."""
    rows = np.random.default_rng(1).standard_normal((3000, 3))
    model(3).fit(rows)  # compiled code is loaded, and no longer counts
    monkeypatch.setattr(cpu, "free_bytes", lambda X: 120_000_000)  # enough for the fit, not for the exact way back
    with pytest.raises(MemoryLimitError, match="fit_inverse_transform"):
        model(3).fit(rows)


# --- scikit-learn's ----------------------------------------------------------------------------------------


# --- bad input ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("gamma", [-1.0, np.nan, np.inf, "best", None])
def test_bad_gamma(gamma):
    with pytest.raises(ValueError, match=r"gamma=.*'loo' or 'median'"):
        model(inverse_method=Ridge(gamma=gamma)).fit(X)


@pytest.mark.parametrize("scale", [1e100, 1e-100])
def test_the_penalty_that_is_chosen_keeps_the_unit_of_the_data(scale):
    rows = np.random.default_rng(0).standard_normal((60, 4))

    def there_and_back(unit):
        model = KernelPCA(2, kernel="linear", fit_inverse_transform=True, alpha="loo").fit(rows * unit)
        return model.inverse_transform(model.transform(rows * unit)) / unit

    np.testing.assert_allclose(there_and_back(scale), there_and_back(1.0), rtol=1e-6)
