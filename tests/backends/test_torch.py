"""The same mathematics on torch tensors as on NumPy arrays, on every device that is there, and CuPy by way of torch."""

import warnings

import numpy as np
import pytest

from mercer import PCA, KernelCCA, KernelDiscriminantAnalysis, KernelPCA
from mercer.backends import backend_of, to_numpy
from mercer.exceptions import MercerWarning
from mercer.kernels import RBF, ArcCosine, Linear, Matern
from mercer.selection import CRITERIA, select_kernel
from mercer.testing import check_backend

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.cuda)]
RNG = np.random.default_rng(0)
X = RNG.random((150, 5)) * [3.0, 2.0, 1.5, 1.0, 0.5]
NEW = RNG.random((40, 5))

KERNELS = [
    "linear", "poly", "rbf", "laplacian", "cosine", "chi2", "intersection", "tanimoto", "arc_cosine", "matern",
    RBF("median") + 0.5 * Linear(), (Matern(2.5) * RBF("scale")).normalized(), ArcCosine(2).on([0, 3]) ** 2,
]  # fmt: skip


def tensor(A, device, dtype=None):
    if device == "cuda" and not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    return torch.as_tensor(A, device=device, dtype=dtype)


def quiet_fit(model, A):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MercerWarning)
        return model.fit(A)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("solver", ["dense", "krylov", "rpcholesky"])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_kernel_pca_is_that_of_numpy(kernel, solver, device):
    model = KernelPCA(3, kernel=kernel, eigen_solver=solver, rank=150)
    T = tensor(X, device)
    there, here = quiet_fit(model, T), None
    moved, score = there.transform(tensor(NEW, device)), there.score(tensor(NEW, device))
    assert moved.device == T.device and moved.dtype == T.dtype
    here = quiet_fit(KernelPCA(3, kernel=kernel, eigen_solver=solver, rank=150), X)
    np.testing.assert_allclose(to_numpy(there.eigenvalues_), here.eigenvalues_, rtol=1e-7)
    np.testing.assert_allclose(to_numpy(moved), here.transform(NEW), atol=1e-6)
    assert score == pytest.approx(here.score(NEW), abs=1e-8)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_streamed_fit_is_certified(device, dtype):
    rows = RNG.standard_normal((9000, 8)) * 0.8 ** np.arange(8)
    T = tensor(rows, device, dtype)
    model = KernelPCA(4, kernel="rbf", gamma="median", eigen_solver="krylov", tol=1e-6, memory_limit="300MB").fit(T)
    assert model.solver_.converged and float(model.residuals_.max()) <= 1e-6 * float(model.eigenvalues_[0])
    assert all(getattr(model, name).dtype == dtype for name in ("eigenvalues_", "eigenvectors_", "residuals_"))
    back = to_numpy(model.transform(T[:500]))
    np.testing.assert_allclose(back, to_numpy(model.eigenvectors_ * model.eigenvalues_**0.5)[:500], atol=2e-4)


@pytest.mark.parametrize("device", DEVICES)
def test_contributions_stay_there(device):
    kernel = RBF(0.3).on([0, 1, 2]) * Linear().normalized() + Matern(1.5) + ArcCosine(1)
    there, here = (quiet_fit(KernelPCA(2, kernel=kernel), rows) for rows in (tensor(X, device), X))
    for options in ({}, {"average": False}, {"standardize": True, "shares": True}):
        found = there.feature_contributions(tensor(NEW, device), **options)
        assert found.device == tensor(X, device).device
        np.testing.assert_allclose(to_numpy(found), here.feature_contributions(NEW, **options), atol=1e-7)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("criterion", CRITERIA)
def test_kernels_are_ranked_as_on_numpy(criterion, device):
    y, kernels = X[:, 0] > 1.5, ["linear", ("rbf", {"gamma": 0.5})]
    options = {"criterion": criterion, "n_permutations": 3, "cv": 2, "n_components": 2}
    found = select_kernel(tensor(X, device), tensor(y, device), kernels, **options)
    expected = select_kernel(X, y, kernels, **options)
    assert found.best == expected.best
    np.testing.assert_allclose(list(found.scores.values()), list(expected.scores.values()), atol=1e-6)


@pytest.mark.parametrize("device", DEVICES)
def test_inverse_transform_stays_there(device):
    T = tensor(X, device)
    model = KernelPCA(4, kernel="rbf", fit_inverse_transform=True, alpha=1e-3).fit(T)
    here = KernelPCA(4, kernel="rbf", fit_inverse_transform=True, alpha=1e-3).fit(X)
    back = model.inverse_transform(model.transform(T))
    assert back.device == T.device
    np.testing.assert_allclose(to_numpy(back), here.inverse_transform(here.transform(X)), atol=1e-6)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("reg", [1e-3, "loo"])
@pytest.mark.parametrize("rank", [None, 80])
def test_discriminants_are_those_of_numpy(rank, reg, device):
    y = (X[:, 0] * X[:, 1] > 1.5) + 1 * (X[:, 2] > 1.0)
    T = tensor(X, device)
    there = KernelDiscriminantAnalysis(rank=rank, reg=reg).fit(T, y)
    here = KernelDiscriminantAnalysis(rank=rank, reg=reg).fit(X, y)
    moved = there.transform(tensor(NEW, device))
    assert moved.device == T.device and moved.dtype == T.dtype
    if there.reg_ == here.reg_:  # neighbours on its path may be equal but for rounding
        np.testing.assert_allclose(np.abs(to_numpy(moved)), np.abs(here.transform(NEW)), atol=1e-4)
    assert np.mean(there.predict(tensor(NEW, device)) == here.predict(NEW)) > 0.9


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("solver", ["auto", "full", "covariance_eigh"])
def test_pca_is_that_of_numpy(solver, device):
    T = tensor(X, device)
    there, here = PCA(3, svd_solver=solver).fit(T), PCA(3, svd_solver=solver).fit(X)
    np.testing.assert_allclose(to_numpy(there.transform(T)), here.transform(X), atol=1e-9)
    assert there.transform(T).device == T.device


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_bad_tensors(bad, device):
    rows = X.copy()
    rows[3, 2] = bad
    with pytest.raises(ValueError, match="NaN or infinity"):
        KernelPCA(2, kernel="rbf").fit(tensor(rows, device))
    with pytest.raises(ValueError, match="expecting 5 features"):
        KernelPCA(2).fit(tensor(X, device)).transform(tensor(X[:, :2], device))


@pytest.mark.parametrize("device", DEVICES)
def test_the_backend_keeps_its_contract(device):
    check_backend(backend_of(tensor(X, device)), lambda A: tensor(A, device))


@pytest.mark.cuda
def test_cupy_goes_in_and_comes_out():
    cupy = pytest.importorskip("cupy")
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    C = cupy.asarray(X)
    model = KernelPCA(3, kernel="rbf").fit(C)
    moved = model.transform(C)
    assert isinstance(moved, cupy.ndarray)
    np.testing.assert_allclose(moved.get(), KernelPCA(3, kernel="rbf").fit(X).transform(X), atol=1e-9)
    assert isinstance(PCA(2).fit_transform(C), cupy.ndarray)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_canonical_pairs_of_whole_matrices_are_those_of_numpy(dtype, device):
    """Above 512 rows a view is one Cholesky factor, which stays on the device."""
    first = RNG.standard_normal((600, 3))
    second = np.c_[first[:, :1] ** 2, RNG.standard_normal((600, 2))]
    model = KernelCCA(2, gamma="median", reg=1e-2)
    there = model.fit(tensor(first, device, dtype), tensor(second, device, dtype))
    here = KernelCCA(2, gamma="median", reg=1e-2).fit(first, second)
    assert there.report_.name == "whole matrices" and there.x_scores_.device == tensor(first, device).device
    assert there.x_scores_.dtype == dtype
    eps = np.finfo(str(dtype)[6:]).eps
    # Rounding the rows moves entries of K by some eps, and the penalty of 1e-2 multiplies that by at most 100.
    np.testing.assert_allclose(to_numpy(there.correlations_), here.correlations_, atol=1e-8 + 2000 * eps)
    moved = to_numpy(there.transform(tensor(first[:20], device, dtype)))
    np.testing.assert_allclose(abs(moved), abs(here.transform(first[:20])), atol=1e-6 + 1e5 * eps)
