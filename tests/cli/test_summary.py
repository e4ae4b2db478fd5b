"""The summary of a fit: every line says what the estimator knows, and is left out if it knows nothing."""

from types import SimpleNamespace

import numpy as np
import pytest

from mercer import PCA, KernelPCA
from mercer.cli import summary

X = np.random.default_rng(0).normal(size=(30, 3))


def test_a_kernel_and_its_width_are_named_with_the_rule():
    model = KernelPCA(2, kernel="rbf", gamma="median").fit(X)
    assert summary.fitted_kernel(model) == ("kernel", f"rbf, gamma {model.gamma_:.4g} (median)")
    assert summary.fitted_kernel(KernelPCA(2, kernel="cosine").fit(X)) == ("kernel", "cosine")
    assert summary.fitted_kernel(PCA(2).fit(X)) is None


def test_shares_of_the_variance_add_up_to_what_is_told():
    model = PCA(3).fit(X)
    assert summary.explained(model)[1].startswith("100.0% of the variance: ")
    many = SimpleNamespace(explained_variance_ratio_=[0.1] * 10)
    assert summary.explained(many)[1].endswith("10.0% …")


def test_one_of_anything_is_told_in_the_singular():
    model = SimpleNamespace(kl_divergence_=0.5, stress_=0.5, n_iter_=1, report_=SimpleNamespace(steps=1, ended="e"))
    assert summary.map_divergence(model)[1] == "KL 0.5 after 1 step (e)"
    assert summary.map_stress(model)[1] == "stress 0.5 after 1 step (e)"
    only = SimpleNamespace(eigenvalues_=[1.0], eigenvalue_error_=[2.0])
    assert summary.doubt(only) == "1 of 1 eigenvalue is below the error bound: its component is a rounding error."


def test_the_residual_is_relative_to_the_largest_eigenvalue():
    model = SimpleNamespace(eigenvalues_=[4.0, 1.0], residuals_=[2e-9, 4e-9])
    assert summary.residual(model) == ("residual", "1.0e-09 of the largest eigenvalue")


def test_a_bound_is_called_a_bound_and_one_above_its_eigenvalue_is_a_warning():
    loose = KernelPCA(5, kernel="rbf", gamma=5.0, eigen_solver="rpcholesky", rank=8, random_state=0).fit(X)
    assert summary.residual(loose)[0] == "bound" and "of 5 eigenvalues are below" in summary.doubt(loose)
    assert "Raise `rank`" in summary.doubt(loose)
    whole = KernelPCA(30, kernel="linear", eigen_solver="dense").fit(X)  # three columns: the other values are rounding
    assert "Lower n_components to 3" in summary.doubt(whole)
    exact = KernelPCA(2, kernel="rbf", gamma="median").fit(X)
    assert summary.residual(exact)[0] == "residual" and summary.doubt(exact) is None


@pytest.mark.parametrize("values", [[], [0.0]])
def test_without_a_positive_eigenvalue_there_is_no_residual(values):
    assert summary.residual(SimpleNamespace(eigenvalues_=values, residuals_=values)) is None
