"""The algebra of kernels, and their parameters as scikit-learn's tools see them."""

from copy import copy

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.gaussian_process import kernels as gp
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline

from mercer import TSNE, KernelPCA
from mercer.kernels import (
    RBF,
    Constant,
    FunctionKernel,
    GaussianProcessKernel,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    RationalQuadratic,
    Sigmoid,
)

X = np.random.default_rng(0).standard_normal((15, 4))
A, B = RBF(gamma=0.3), Polynomial(degree=2, gamma=1.0)


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (A + B, A(X) + B(X)),
        (A + 2, A(X) + 2),
        (2 + A, A(X) + 2),
        (A * B, A(X) * B(X)),
        (3 * A, 3 * A(X)),
        (A * 3, 3 * A(X)),
        (B**3, B(X) ** 3),
        (A.on([0, 2]), A(X[:, [0, 2]])),
        (A.on(-1), A(X[:, [-1]])),
        (A.on(slice(1, 3)), A(X[:, 1:3])),
        (A.on([False, True, True, False]), A(X[:, 1:3])),
        (B.normalized(), B(X) / np.sqrt(np.outer(np.diag(B(X)), np.diag(B(X))))),
        (Constant(2.5), np.full((15, 15), 2.5)),
    ],
    ids=lambda value: repr(value) if not isinstance(value, np.ndarray) else "",
)
def test_algebra_is_entrywise(kernel, expected):
    np.testing.assert_allclose(kernel(X), expected, rtol=1e-12, atol=1e-14)


def test_repr_reads_back():
    kernel = 0.5 * (RBF(gamma=0.3) + Linear()).normalized() ** 2 + Matern(nu=2.5).on([0, 1])
    again = eval(repr(kernel))
    assert repr(again) == repr(kernel)
    np.testing.assert_allclose(again(X), kernel(X), rtol=1e-14)


def test_normalized_zero_row_stays_zero():
    K = Linear().normalized()(np.array([[0.0, 0.0], [3.0, 4.0]]))
    np.testing.assert_allclose(K, [[0, 0], [0, 1]])


def test_inner_parameters():
    kernel = RBF(gamma=0.3) + Laplacian(gamma=1.0).normalized()
    assert {"left__gamma", "right__kernel__gamma"} <= set(kernel.get_params())
    kernel.set_params(left__gamma=0.7, right__kernel__gamma="median")
    assert kernel.left.gamma == 0.7 and kernel.right.kernel.gamma == "median"
    copy = clone(kernel)
    copy.set_params(left__gamma=5.0)
    assert kernel.left.gamma == 0.7


@pytest.mark.parametrize("name", ["gama", "left", "gamma__x__y"])
def test_unknown_parameter(name):
    with pytest.raises((ValueError, AttributeError)):
        RBF(gamma=0.3).set_params(**{name: 1.0})


@pytest.mark.parametrize(
    ("make", "error", "match"),
    [
        (lambda: (-1.0 * A)(X), ValueError, "≥ 0"),
        (lambda: (float("nan") * A)(X), ValueError, "≥ 0"),
        (lambda: Constant(-1.0)(X), ValueError, "≥ 0"),
        (lambda: (A**0.5)(X), ValueError, "whole number"),
        (lambda: (A**0)(X), ValueError, "whole number"),
        (lambda: A + "b", TypeError, "number"),
        (lambda: A.on([9])(X), ValueError, "4 columns"),
        (lambda: A.on([0.5])(X), ValueError, "whole numbers"),
        (lambda: A.on([])(X), ValueError, "columns"),
        (lambda: Sigmoid(coef0=-9.0).normalized()(X), ValueError, "normalised"),
    ],
)
def test_what_is_refused(make, error, match):
    with pytest.raises(error, match=match):
        make()


@pytest.mark.parametrize("scale", [np.float64(2.0), np.float32(2.0), np.int64(2)])
def test_numpy_numbers_do_not_widen_float32(scale):
    small = X.astype(np.float32)
    made = [A * scale, scale * A, A + scale, Constant(scale), Polynomial(degree=scale, coef0=scale)]
    made += [Sigmoid(coef0=scale), Matern(length_scale=scale), RationalQuadratic(scale, scale), RBF(gamma=scale)]
    for kernel in made:
        assert kernel(small).dtype == np.float32, kernel


def test_grid_search_through_a_pipeline():
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, 60)
    y = np.arange(60) % 2
    rings = np.column_stack([np.cos(angle), np.sin(angle)]) * np.where(y, 1.0, 0.3)[:, None]
    pipe = Pipeline([("kpca", KernelPCA(2, kernel=RBF(gamma=1.0))), ("clf", LogisticRegression())])
    grid = {"kpca__kernel__gamma": [1e-6, 2.0]}
    search = GridSearchCV(pipe, grid, cv=3, error_score="raise").fit(rings, y)
    assert search.best_params_["kpca__kernel__gamma"] == 2.0
    assert search.best_score_ > 0.95
    assert pipe.named_steps["kpca"].kernel.gamma == 1.0


def test_points_remember_how_many_they_were_cut_from():
    points = (RBF(0.3) + Laplacian(0.2)).points(np.ones((2100, 6)))
    part = points[100:200]
    assert (len(points), points.all_told) == (2100, 2100)
    assert (len(part), part.all_told, part.parts[1].all_told) == (100, 2100, 2100)
    taken = part.take(np.arange(7))  # points that are picked out are a job of their own
    assert (len(taken), taken.all_told, taken.parts[1].all_told) == (7, 7, 7)


def test_weights_of_columns_are_columns_multiplied():
    w = np.array([2.0, 0.5, 0.0, 1.0])
    for kernel in (A, B, A + 2 * B, Matern().normalized()):
        np.testing.assert_allclose(kernel.weighted(w)(X), kernel(X * w), rtol=1e-12)
    np.testing.assert_allclose(A.weighted(w)(sp.csr_array(X)), A(X * w), rtol=1e-12)
    with pytest.raises(ValueError, match="data has 4"):
        A.weighted([1.0, 2.0])(X)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_columns_by_name(frame):
    data = frame(dict(zip("abcd", X.T, strict=True)))
    kernel = A.on(["d", "b"]) + Polynomial(degree=2, gamma=1.0).on("a")
    numbers = A.on([3, 1]) + Polynomial(degree=2, gamma=1.0).on([0])
    np.testing.assert_array_equal(kernel(data), numbers(X))
    model = KernelPCA(2, kernel=kernel).fit(data)
    assert model.kernel_ == KernelPCA(2, kernel=numbers).fit(X).kernel_
    np.testing.assert_array_equal(model.transform(data), KernelPCA(2, kernel=numbers).fit(X).transform(X))
    assert TSNE(metric=A.on(["d", "b"]), perplexity=3, max_iter=0).fit(data).embedding_.shape == (15, 2)
    with pytest.raises(ValueError, match=r"no column named 'age'.*a, b, c, d"):
        KernelPCA(2, kernel=A.on(["age"])).fit(data)
    with pytest.raises(ValueError, match="have no names"):
        KernelPCA(2, kernel=kernel).fit(X)


KEYS = [
    A,
    A + B,
    A.on([0, 2]),
    A.on(slice(1, 3)),
    RBF(gamma=[1.0, 2.0]),
    A.weighted([1.0, 2.0]),
    FunctionKernel(np.dot, "rows", {"out": None}),
    Linear().centered_form(X),
    GaussianProcessKernel(gp.RBF(2.0)),
]


@pytest.mark.parametrize("kernel", KEYS, ids=repr)
def test_kernels_are_keys_and_show_themselves_in_notebooks(kernel):
    assert hash(kernel) == hash(copy(kernel)) and {kernel: 1}[kernel] == 1
    assert kernel._repr_html_().startswith("<code>") and "<lambda>" not in kernel._repr_html_()


def test_equal_kernels_have_equal_hashes():
    assert RBF(gamma=1) == RBF(gamma=1.0) and hash(RBF(gamma=1)) == hash(RBF(gamma=1.0))
    assert len({RBF(0.5), RBF(0.5), RBF(0.6), Laplacian(0.5)}) == 3
