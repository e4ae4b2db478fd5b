"""Each vector kernel is its formula, scikit-learn's where that has it, and refuses what it cannot be."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import gamma as gamma_function
from scipy.special import kv
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS, pairwise_kernels

from mercer.kernels import (
    RBF,
    ArcCosine,
    Chi2,
    Cosine,
    Intersection,
    Laplacian,
    Linear,
    Matern,
    RationalQuadratic,
    Tanimoto,
    resolve_kernel,
)

RNG = np.random.default_rng(1)
X, Y = np.abs(RNG.standard_normal((12, 4))), np.abs(RNG.standard_normal((7, 4)))
SIGNED = RNG.standard_normal((12, 4))
GAMMA_FREE = {"linear", "cosine", "additive_chi2"}


@pytest.mark.parametrize("name", sorted(PAIRWISE_KERNEL_FUNCTIONS))
@pytest.mark.parametrize("gamma", [None, 0.37])
def test_scikit_learns_kernels(name, gamma):
    parameters = {} if name in GAMMA_FREE or gamma is None else {"gamma": gamma}
    ours = resolve_kernel(name, gamma)
    np.testing.assert_allclose(ours(X, Y), pairwise_kernels(X, Y, metric=name, **parameters), rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(ours(X), pairwise_kernels(X, metric=name, **parameters), rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("name", ["poly", "sigmoid"])
def test_degree_and_coef0_reach_named_kernels(name):
    parameters = {"gamma": 0.2, "coef0": 0.5} | ({"degree": 2} if name == "poly" else {})
    expected = pairwise_kernels(SIGNED, metric=name, **parameters)
    np.testing.assert_allclose(resolve_kernel(name, 0.2, 2, 0.5)(SIGNED), expected, rtol=1e-12)


def pairs(function, A, B):
    return np.array([[function(a, b) for b in B] for a in A])


def angle(a, b):
    return np.arccos(np.clip(a @ b / np.linalg.norm(a) / np.linalg.norm(b), -1, 1))


def bessel(a, b, nu=0.8, length=1.5):
    s = np.sqrt(2 * nu) * np.linalg.norm(a - b) / length
    return 2 ** (1 - nu) / gamma_function(nu) * s**nu * kv(nu, s)


FORMULAS = {
    "matern 1/2": (Matern(0.5, 1.5), lambda a, b: np.exp(-np.linalg.norm(a - b) / 1.5)),
    "matern 3/2": (Matern(1.5, 1.5), lambda a, b: bessel(a, b, nu=1.5)),
    "matern 5/2": (Matern(2.5, 1.5), lambda a, b: bessel(a, b, nu=2.5)),
    "matern any": (Matern(0.8, 1.5), bessel),
    "matern inf": (Matern(np.inf, 1.5), lambda a, b: np.exp(-((a - b) ** 2).sum() / 2 / 1.5**2)),
    "quadratic": (RationalQuadratic(1.5, 0.7), lambda a, b: (1 + ((a - b) ** 2).sum() / (1.4 * 1.5**2)) ** -0.7),
    "arc 0": (ArcCosine(0), lambda a, b: 1 - angle(a, b) / np.pi),
    "arc 1": (
        ArcCosine(1),
        lambda a, b: (
            np.linalg.norm(a)
            * np.linalg.norm(b)
            * (np.sin(angle(a, b)) + (np.pi - angle(a, b)) * np.cos(angle(a, b)))
            / np.pi
        ),
    ),
    "intersection": (Intersection(), lambda a, b: np.minimum(a, b).sum()),
    "tanimoto": (Tanimoto(), lambda a, b: a @ b / (a @ a + b @ b - a @ b)),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_formulas(name):
    kernel, formula = FORMULAS[name]
    np.testing.assert_allclose(kernel(X, Y), pairs(formula, X, Y), rtol=1e-10)


@pytest.mark.parametrize(
    ("kernel", "match"),
    [
        (RBF(gamma=-1.0), "gamma"),
        (RBF(gamma=float("nan")), "gamma"),
        (RBF(gamma=float("inf")), "gamma"),
        (RBF(gamma="mean"), "gamma"),
        (Laplacian(gamma=-0.1), "gamma"),
        (Matern(nu=-1.0), "nu"),
        (Matern(length_scale=0.0), "length_scale"),
        (Matern(length_scale="mean"), "length_scale"),
        (RationalQuadratic(alpha=0.0), "alpha"),
        (RationalQuadratic(length_scale=float("inf")), "length_scale"),
        (ArcCosine(order=3), "order"),
        (Chi2(), "≥ 0"),
        (Intersection(), "≥ 0"),
    ],
    ids=repr,
)
def test_bad_parameters_and_data(kernel, match):
    with pytest.raises(ValueError, match=match):
        kernel(SIGNED)


@pytest.mark.parametrize("kernel", [Cosine(), Tanimoto(), ArcCosine(0), ArcCosine(1)], ids=repr)
def test_zero_rows_give_numbers(kernel):
    K = kernel(np.array([[0.0, 0.0], [1.0, 2.0], [0.0, 0.0]]))
    assert np.all(np.isfinite(K))
    np.testing.assert_allclose(K, K.T)


@pytest.mark.parametrize("kernel", [RBF(gamma=1.0), Matern(), Matern(0.7), RationalQuadratic(), Laplacian()], ids=repr)
@pytest.mark.parametrize("scale", [1e-200, 1e-20, 1e20, 1e200])
def test_extreme_scales_give_numbers(kernel, scale):
    K = kernel(scale * SIGNED)
    assert np.all(np.isfinite(K))
    np.testing.assert_allclose(np.diag(K), 1.0, rtol=1e-12)
    np.testing.assert_allclose(K[0, 1], 1.0 if scale < 1 else 0.0, atol=1e-6)


@pytest.mark.parametrize("kernel", [Linear(), RBF(), Cosine(), Laplacian(), Chi2(), Matern()], ids=repr)
def test_csr_matrix_and_array(kernel):
    sparse = np.where(X > 0.7, X, 0.0)
    for kind in (sp.csr_matrix, sp.csr_array, sp.coo_array):
        np.testing.assert_allclose(kernel(kind(sparse)), kernel(sparse), rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(kernel(kind(sparse), kind(Y)), kernel(sparse, Y), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", [RBF(0.3), Matern(1.5, 0.5), Laplacian(0.2)], ids=repr)
def test_compiled_tiles_of_a_large_matrix_are_those_of_numpy_to_rounding(kernel, dtype):
    points = kernel.points(np.random.default_rng(5).standard_normal((2100, 6)), dtype)
    compiled = kernel.tile(points[:90], points[50:170])
    plain = kernel.tile(*(replace(part, cut_from=0) for part in (points[:90], points[50:170])))
    np.testing.assert_allclose(compiled, plain, rtol=64 * np.finfo(dtype).eps, atol=4 * np.finfo(dtype).eps)


def compiles(code):
    """Whether compiled loops are loaded in a fresh process after `code`."""
    code = f"import sys, numpy as np; from mercer.kernels import *; {code}"
    code += "; sys.exit('mercer.backends.compiled_tiles' in sys.modules)"
    return bool(subprocess.run([sys.executable, "-c", code], check=False).returncode)


def test_numba_is_loaded_for_tiles_of_a_large_matrix_alone():
    assert not compiles("k = RBF(0.3); k.tile(k.points(np.ones((300, 6)))[:50])")
    assert compiles("k = RBF(0.3); k.tile(k.points(np.ones((2100, 6)))[:50])")


def test_numba_is_loaded_where_sums_over_coordinates_are_long():
    assert not compiles("[k.tile(k.points(np.ones((400, 300)))) for k in (RBF(0.3), Laplacian(0.2))]")
    assert compiles("k = Laplacian(0.2); k.tile(k.points(np.ones((400, 500))))")
    assert not compiles("k = Chi2(0.2); k.tile(k.points(np.ones((400, 40))))")
    assert compiles("k = Chi2(0.2); k.tile(k.points(np.ones((400, 80))))")  # quotients take longer
