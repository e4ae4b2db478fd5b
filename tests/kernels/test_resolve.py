"""From whatever stands for a kernel to a Kernel."""

import numpy as np
import pytest
from sklearn.gaussian_process import kernels as gp

from mercer.kernels import KERNEL_NAMES, RBF, FunctionKernel, Kernel, Polynomial, Sigmoid, resolve_kernel


@pytest.mark.parametrize("name", KERNEL_NAMES)
def test_every_name(name):
    assert isinstance(resolve_kernel(name), Kernel)


def test_names_take_their_numbers():
    assert repr(resolve_kernel("poly", 0.5, 2, 0.0)) == repr(Polynomial(2, 0.5, 0.0))
    assert repr(resolve_kernel("sigmoid", 0.5, 2, 0.25)) == repr(Sigmoid(0.5, 0.25))


@pytest.mark.parametrize(("name", "limit"), [("matern", {"nu": np.inf}), ("rational_quadratic", {"alpha": 1e9})])
def test_gamma_is_a_length_where_the_kernel_has_one(name, limit):
    rows = np.random.default_rng(0).standard_normal((20, 3))
    assert resolve_kernel(name).length_scale == 1.0
    for gamma in (0.3, "scale"):
        kernel = resolve_kernel(name, gamma).set_params(**limit).bind(rows)
        np.testing.assert_allclose(kernel(rows), RBF(gamma).bind(rows)(rows), atol=1e-6)
    assert resolve_kernel(name, "median").bind(rows) == type(kernel)(length_scale="median").bind(rows)
    for bad in (0.0, -1.0, np.inf):
        with pytest.raises(ValueError, match="1/\\(2 length_scale²\\)"):
            resolve_kernel(name, bad)


def test_objects_are_themselves():
    kernel = RBF(gamma=0.5)
    assert resolve_kernel(kernel, gamma=9.0) is kernel


def test_a_gaussian_process_kernel_is_no_plain_function():
    assert not isinstance(resolve_kernel(gp.RBF() * gp.RBF()), FunctionKernel)
    assert isinstance(resolve_kernel(lambda x, y: 0.0), FunctionKernel)


def test_an_unknown_name_lists_the_known():
    with pytest.raises(ValueError, match=r"rbf.*spectrum"):
        resolve_kernel("gauss")


@pytest.mark.parametrize("thing", [3, None, np.ones(3)], ids=["number", "none", "array"])
def test_no_kernel(thing):
    with pytest.raises(TypeError, match="kernel must be a name"):
        resolve_kernel(thing)
