"""Kernels out of a model file: widths are numbers, and a kernel fits the samples it will compare."""

import numpy as np
import pytest

from mercer.kernels import RBF, Linear, Matern, Spectrum
from mercer.kernels.kernel_fields import bound_kernel, refuse_metric_parameters, refuse_unsuited
from mercer.kernels.metric import HalfSquaredDistance
from mercer.kernels.products import LinearAbout
from mercer.models.fields import Mismatch, Scope, declaration_of

X = np.random.default_rng(0).standard_normal((6, 3))
WORDS = np.array(["ab", "ba"], object)


def scope_with(kernel):
    """As after reading: the scope knows the kernel by its name in files."""
    return Scope(known={id(kernel): (declaration_of(kernel).name, {})})


@pytest.mark.parametrize("kernel", [RBF(0.5), 2.0 * RBF(0.5) + Linear(), Matern(length_scale=1.0).on([0])], ids=str)
def test_a_kernel_with_numbers_is_bound(kernel):
    bound_kernel(kernel, scope_with(kernel))


@pytest.mark.parametrize("kernel", [RBF("median"), Linear() + RBF(None), Matern(length_scale="median") ** 2], ids=str)
def test_a_width_without_a_number_is_refused_at_any_depth(kernel):
    with pytest.raises(Mismatch, match=r"has a (gamma|length_scale) that must be a number"):
        bound_kernel(kernel, scope_with(kernel))


def test_an_object_that_is_not_a_kernel_is_refused():
    with pytest.raises(Mismatch, match="must be one of kernel"):
        bound_kernel(X, Scope())


def test_a_kernel_must_suit_the_samples():
    refuse_unsuited(RBF(0.5), X, X[:, :2])
    refuse_unsuited(Spectrum(2), WORDS)
    refuse_unsuited(LinearAbout(np.zeros(3)), X)
    for kernel, samples, coefs in (
        (RBF(0.5), WORDS, None),
        (Spectrum(2), X, None),
        (LinearAbout(np.zeros(2)), X, None),
        (RBF(0.5), X, X.astype(np.float32)),
        (HalfSquaredDistance("mahalanobis", {"VI": np.eye(2)}), X, None),
        (Linear() + HalfSquaredDistance("seuclidean", {"V": np.ones(4)}), X, None),
    ):
        with pytest.raises(Mismatch):
            refuse_unsuited(kernel, samples, coefs)


def test_parameters_of_a_metric_are_as_wide_as_the_rows():
    refuse_metric_parameters({"p": 3, "w": np.ones(3)}, 3)
    refuse_metric_parameters({"VI": np.eye(3), "V": np.ones(3)}, 3)
    for params in ({"w": np.ones(2)}, {"VI": np.ones(3)}, {"V": [np.nan, 1, 1]}, {"p": "3"}, {"metric": 1}, None):
        with pytest.raises(Mismatch):
            refuse_metric_parameters(params, 3)
