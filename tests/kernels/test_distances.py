"""Kernels of distances: invariances, and digits that survive far from the origin."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from mercer import KernelPCA, load
from mercer.kernels import (
    RBF,
    ArcCosine,
    Chi2,
    Cosine,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    RationalQuadratic,
)
from mercer.testing import check_kernel


@pytest.mark.parametrize("kernel", [RBF(gamma=5.0), Matern(), RationalQuadratic()], ids=repr)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_two_tight_clusters_far_apart(kernel, dtype):
    """Distances inside a cluster survive a spread a million times theirs."""
    inside = np.array([[0.0, 0.0], [0.5, 0.0], [0.0, 0.25]])
    both = np.concatenate([inside, inside + 2.0**18]).astype(dtype)
    K = kernel(both)
    np.testing.assert_allclose(K[:3, :3], kernel(inside), rtol=1e-4)
    np.testing.assert_allclose(K[3:, 3:], kernel(inside), rtol=1e-4)


@given(
    seed=st.integers(0, 10**6),
    shift=st.floats(-100, 100),
    kernel=st.sampled_from([RBF(gamma=0.5), Matern(2.5), Laplacian(0.5), RationalQuadratic()]),
)
def test_shift_invariance(seed, shift, kernel):
    A = np.random.default_rng(seed).standard_normal((6, 3))
    np.testing.assert_allclose(kernel(A + shift), kernel(A), atol=1e-10)


@given(seed=st.integers(0, 10**6), kernel=st.sampled_from([RBF(gamma=0.5), Linear(), Cosine(), ArcCosine(1), Matern()]))
def test_rotation_invariance(seed, kernel):
    rng = np.random.default_rng(seed)
    A, Q = rng.standard_normal((6, 3)), np.linalg.qr(rng.standard_normal((3, 3)))[0]
    np.testing.assert_allclose(kernel(A @ Q), kernel(A), atol=1e-10)


ROWS, WIDTHS = np.random.default_rng(0).standard_normal((30, 3)), np.array([2.0, 0.3, 1.0])


def by_columns(kernel, rows):
    """The kernel with a width per column, by its formula."""
    difference = rows[:, None] - rows[None]
    if isinstance(kernel, Laplacian):
        return np.exp(-(WIDTHS * np.abs(difference)).sum(axis=2))
    if isinstance(kernel, RBF):
        return np.exp(-(WIDTHS * difference**2).sum(axis=2))
    d = np.sqrt(((difference / WIDTHS) ** 2).sum(axis=2))
    return (1 + np.sqrt(3) * d) * np.exp(-np.sqrt(3) * d) if isinstance(kernel, Matern) else 1 / (1 + d**2 / 2)


COLUMNWISE = [
    RBF(gamma=WIDTHS),
    RBF(gamma=WIDTHS.tolist()),
    Laplacian(gamma=tuple(WIDTHS)),
    Matern(1.5, WIDTHS),
    RationalQuadratic(WIDTHS),
]


@pytest.mark.parametrize("kernel", COLUMNWISE, ids=repr)
def test_a_width_per_column(kernel):
    np.testing.assert_allclose(kernel(ROWS), by_columns(kernel, ROWS), rtol=1e-12)
    np.testing.assert_allclose(kernel(sp.csr_array(ROWS)), by_columns(kernel, ROWS), rtol=1e-12)
    check_kernel(kernel, ROWS)


def test_equal_widths_are_one_width():
    np.testing.assert_allclose(RBF(gamma=[0.7] * 3)(ROWS), RBF(gamma=0.7)(ROWS), rtol=1e-12)
    np.testing.assert_allclose(
        KernelPCA(2, kernel="matern", gamma=[2.0] * 3).fit(ROWS).eigenvalues_,
        KernelPCA(2, kernel="matern", gamma=2.0).fit(ROWS).eigenvalues_,
        rtol=1e-9,
    )


def test_widths_per_column_travel_with_model_files(tmp_path):
    model = KernelPCA(2, kernel=RBF(gamma=[0.7, 0.1, 2.0])).fit(ROWS)
    model.save(tmp_path / "model.mercer")
    again = load(tmp_path / "model.mercer")
    np.testing.assert_array_equal(again.transform(ROWS), model.transform(ROWS))
    assert again.kernel == model.kernel and model.gamma_ is None


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (RBF(gamma=[1, 2]), "3 numbers, one per column"),
        (RBF(gamma=[1, 2, -3]), "finite numbers ≥ 0"),
        (RBF(gamma=[1, 2, np.nan]), "finite numbers ≥ 0"),
        (RBF(gamma=["a", "b", "c"]), "3 numbers"),
        (Matern(length_scale=[1, 2, 0]), "positive"),
        (Chi2(gamma=[1, 2, 3]), "only RBF and Laplacian"),
        (Polynomial(gamma=[1, 2, 3]), "only RBF and Laplacian"),
    ],
    ids=repr,
)
def test_widths_per_column_that_cannot_be(kernel, message):
    with pytest.raises(ValueError, match=message):
        kernel(np.abs(ROWS))


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("kernel, power", [(RBF("columns"), 2), (Laplacian("columns"), 1)])
def test_a_width_per_column_makes_units_alike(kernel, power, make):
    """k does not change with the units of columns, and is 1/e at the median distance of the standardised rows."""
    X = np.random.default_rng(0).standard_normal((80, 4)) * [1.0, 5.0, 1e-3, 1e4]
    X[:, 3] = 7.0  # a constant column
    bound = kernel.bind(make(X))
    K = bound(make(X))
    units = np.array([1e150, 1e-150, 3.0, 1.0])
    np.testing.assert_allclose(kernel.bind(make(X * units))(make(X * units)), K, rtol=1e-9)
    Z = X[:, :3] / X[:, :3].std(axis=0)
    D = (np.abs(Z[:, None] - Z[None]) ** power).sum(axis=2)
    np.testing.assert_allclose(K, np.exp(-D / np.median(D[np.triu_indices(80, 1)])), rtol=1e-9)
    assert (
        kernel.bind(make(X))(make(X[:1]), make(X[:1] + np.array([0, 0, 0, 1e6])))[0, 0] < 1e-3
    )  # and a change there is seen


def test_a_width_per_column_is_for_kernels_that_have_one():
    with pytest.raises(ValueError, match="only RBF and Laplacian"):
        Polynomial(2, "columns").bind(np.eye(3))
