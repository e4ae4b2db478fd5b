"""What estimators with a kernel share: the kernel of their parameters, and samples as that kernel wants them."""

import numpy as np
import pytest

from mercer import KernelDiscriminantAnalysis, KernelMap, KernelPCA
from mercer.estimators.kernel_base import needs_compiled_code, unbound_kernel
from mercer.kernels import RBF, Laplacian, Linear, Matern, Polynomial

X = np.random.default_rng(0).standard_normal((30, 4))


def test_parameters_describe_a_kernel():
    assert unbound_kernel(KernelPCA(kernel="rbf", gamma=0.5)) == RBF(0.5)
    assert unbound_kernel(KernelPCA(kernel="rbf"), 4) == RBF(0.25)  # gamma=None is 1/d
    assert unbound_kernel(KernelPCA(kernel="poly", gamma=2, degree=5, coef0=3)) == Polynomial(5, 2, 3)
    assert isinstance(unbound_kernel(KernelPCA(kernel="matern"), 4), Matern)  # its length is not a gamma


def test_gamma_is_the_number_of_the_bound_kernel():
    assert KernelMap("rbf", gamma="median").fit(X).gamma_ == RBF("median").bind(X).gamma
    assert KernelMap("linear").fit(X).gamma_ is None


@pytest.mark.parametrize("kernel", ["precomputed"])
def test_a_given_matrix_must_be_square(kernel):
    with pytest.raises(ValueError, match="square matrix"):
        KernelMap(kernel).fit(X)


def test_new_rows_take_the_precision_of_the_fitted_ones():
    fitted = KernelDiscriminantAnalysis(reg=1e-2).fit(X.astype(np.float32), np.arange(30) % 2)
    assert fitted.transform(X).dtype == np.float32


def test_only_kernels_of_distances_need_compiled_code():
    assert needs_compiled_code(RBF(1.0)) and needs_compiled_code(Linear() + Laplacian(1.0))
    assert not needs_compiled_code(Linear() * Polynomial(2, 1.0, 1.0))


@pytest.mark.parametrize("build", [lambda: KernelMap(gamma="median"), lambda: KernelDiscriminantAnalysis()])
def test_rows_whose_distances_overflow_are_refused_with_advice(build):
    with pytest.raises(ValueError, match="Scale the data"):
        build().fit(X * 1e200, np.arange(30) % 2)
