"""Estimators whose products are fused find what they find by tiles."""

from dataclasses import dataclass

import numpy as np
import pytest

from card import CARD, DEVICE, MARKS, torch
from mercer import KernelPCA
from mercer.backends import to_numpy, triton_products
from mercer.backends import torch as torch_backend
from mercer.exceptions import MiscompiledWarning
from mercer.expansion import KernelExpansion
from mercer.kernels import RBF, Matern, Polynomial, VectorKernel, fused_products
from mercer.linalg.gram import Gram
from mercer.linalg.operators import Centered

pytestmark = MARKS
N = 5000 if CARD else 250  # the interpreter takes a while for each block
RNG = np.random.default_rng(0)
X = RNG.standard_normal((N, 4)) * [3.0, 2.0, 1.5, 1.0]
LARGE = triton_products.BlockSizes(128, 128, 8, 2, 2)


@pytest.fixture
def fused(monkeypatch):
    """Everything is fused, however small, and in blocks that the interpreter is quick with."""
    monkeypatch.setattr(fused_products, "FUSED_FROM", 0)
    monkeypatch.setattr(torch_backend, "TILE", 100)
    if not CARD:
        monkeypatch.setattr(torch_backend, "fuses", lambda X: True)
        for name in ("half", "single", "double"):
            monkeypatch.setitem(triton_products.BLOCKS, name, LARGE)


def rows(dtype=torch.float64):
    return torch.as_tensor(X, dtype=dtype, device=DEVICE)


def test_the_ladder_ends_with_float64_and_each_step_knows_its_noise(fused):
    K = Gram(RBF(0.1), rows(), precision=torch.float64)
    V = torch.linalg.qr(torch.as_tensor(RNG.standard_normal((N, 3)), device=DEVICE))[0]
    exact = torch.as_tensor(RBF(0.1)(X), device=DEVICE) @ V
    steps = K.ladder(1e-6)
    assert [step.arithmetic for step in steps] == ["half", "single", "double"] and steps[-1] is K
    noise = []
    for step in steps[:-1]:
        wrong = torch.linalg.vector_norm(step.matmat(V) - exact, dim=0)
        np.testing.assert_allclose(step.noise, to_numpy(wrong), rtol=0.3)  # 250 rows are all in the sample
        noise.append(float(wrong.max()))
    assert noise[1] < noise[0] / 50  # 11 bits more
    assert float(abs(K.matmat(V) - exact).max()) < 1e-12 and K.noise is None


def test_a_centred_product_carries_its_row_sums(fused):
    kernel = Polynomial(2, 0.1)
    K = torch.as_tensor(kernel(X), device=DEVICE)
    V = torch.as_tensor(RNG.standard_normal((N, 2)), device=DEVICE)
    A = Centered(Gram(kernel, rows(), precision=torch.float64))
    centred = K - K.mean(dim=0) - K.mean(dim=1)[:, None] + K.mean()
    assert torch.allclose(A.matmat(V), centred @ V, atol=1e-12 * N * float(K.max()))
    assert torch.allclose(A.row_sums(), K.sum(dim=1), rtol=1e-12) and A.passes == A.A.passes == 1


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_kernel_pca_is_certified_and_that_of_numpy(fused, dtype, monkeypatch):
    monkeypatch.setattr("mercer.spectral.components.SMALL", 100)
    there = KernelPCA(3, kernel="rbf", gamma=0.1, eigen_solver="krylov", tol=1e-5).fit(rows(dtype))
    here = KernelPCA(3, kernel="rbf", gamma=0.1, eigen_solver="dense").fit(X)
    assert there.solver_.converged and float(there.residuals_.max()) <= 1e-5 * float(there.eigenvalues_[0])
    error = to_numpy(there.eigenvalue_error_) + N * np.finfo(str(dtype)[6:]).eps
    assert np.all(abs(to_numpy(there.eigenvalues_) - here.eigenvalues_) <= error)
    moved = to_numpy(there.transform(rows(dtype)[:50]))
    np.testing.assert_allclose(moved, here.transform(X[:50]), atol=1e-3)


def expansion(kernel, width, dtype=torch.float64):
    anchors = rows(dtype)
    coefs = torch.as_tensor(RNG.standard_normal((N, width)), dtype=dtype, device=DEVICE)
    return KernelExpansion(kernel, anchors, coefs, torch.zeros(width, dtype=dtype, device=DEVICE))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_an_expansion_is_as_right_as_it_says(fused, dtype):
    f = expansion(RBF(0.1), 3, dtype)
    new = rows(dtype)[:100] * 0.9
    exact = torch.as_tensor(RBF(0.1)(to_numpy(new).astype(float), to_numpy(f.anchors).astype(float)), device=DEVICE)
    error = abs(f(new).double() - exact @ f.coefs.double()).max(dim=0).values
    assert np.all(to_numpy(error) <= f.rounding_error(1.0, RBF(0.1).rounding(f.anchor_points())))


@dataclass(repr=False)
class Cauchy(VectorKernel):
    reads = "sqeuclidean"

    def profile(self, t, xp):
        return 1 / (1 + t)


@dataclass(repr=False)
class Untraced(Cauchy):
    def profile(self, t, xp):
        return 1 / (1 + torch.abs(t))


def test_a_users_kernel_is_fused_and_tiles_take_over_where_it_cannot_be(fused):
    points = Cauchy().points(rows())
    assert fused_products.fused_product(Cauchy(), points, None, "double") is not None
    assert fused_products.fused_product(Untraced(), points, None, "double") is None
    V = torch.ones((N, 1), dtype=torch.float64, device=DEVICE)
    sums = [Gram(kernel, rows(), precision=torch.float64).matmat(V) for kernel in (Cauchy(), Untraced())]
    assert torch.allclose(*sums, rtol=1e-12)


@dataclass(repr=False)
class SquaredDistance(VectorKernel):
    """Its diagonal says nothing of its other entries."""

    reads = "sqeuclidean"


def test_tiles_take_over_where_the_range_of_half_precision_ends(fused):
    far = np.vstack([X, X, X])
    far[1] *= 1e6  # no row of the sample from which the range is guessed
    rows = torch.as_tensor(far, dtype=torch.float32, device=DEVICE)
    K = Gram(SquaredDistance(), rows, precision=torch.float32)
    found = K.matmat(torch.ones((len(far), 1), dtype=torch.float64, device=DEVICE))[:, 0]
    exact = torch.as_tensor(SquaredDistance()(far).sum(axis=1), device=DEVICE)
    assert torch.allclose(found, exact, rtol=1e-4, atol=1e-6 * float(exact.max()))
    assert K.fused is None and K.passes == 1


@pytest.mark.parametrize("arithmetic", ["half", "single", "double"])
def test_code_that_computes_something_else_is_noticed_and_not_used(fused, arithmetic, monkeypatch):
    """A kernel whose dot products lose their last operand, as a compiler once lost it."""
    source = triton_products.code_of

    def wrong(key):
        lines = source(key).splitlines()
        lost = {"half": "tl.trans(b0h * 0)", "single": "tl.trans(b0l * 0)", "double": "tl.trans(b0h * 0)"}[arithmetic]
        return "\n".join(line.replace(f"tl.trans(b0{'l' if 'b0l' in lost else 'h'})", lost) for line in lines) + "\n"

    monkeypatch.setattr(triton_products, "code_of", wrong)
    precision = torch.float64 if arithmetic == "double" else torch.float32
    K = Gram(RBF(0.1), rows(), precision=precision, arithmetic=arithmetic)
    V = torch.as_tensor(RNG.standard_normal((N, 2)), device=DEVICE)
    with pytest.warns(MiscompiledWarning, match="computed in tiles"):
        found = K.matmat(V)
    exact = torch.as_tensor(RBF(0.1)(X), device=DEVICE) @ V
    assert K.fused is None and torch.allclose(found, exact, atol=1e-5 * float(abs(V).sum()))


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("kernel", [RBF(0.1), RBF(30.0), Polynomial(3, 0.1), Matern(1.5)], ids=repr)
def test_right_code_passes_its_trial_whatever_the_data(fused, kernel, scale):
    data, V = scale * rows(), torch.ones((N, 1), dtype=torch.float64, device=DEVICE)
    for arithmetic in ("half", "single", "double"):
        triton_products.PROVEN.clear()
        precision = torch.float64 if arithmetic == "double" else torch.float32
        K = Gram(kernel, data, precision=precision, arithmetic=arithmetic)
        K.matmat(V)
        assert all(triton_products.PROVEN.values())


def test_small_matrices_and_other_arrays_have_tiles():
    points = RBF(0.1).points(rows())
    assert fused_products.fused_product(RBF(0.1), points, None, "double") is None
    assert fused_products.fused_product(RBF(0.1), RBF(0.1).points(X), None, "double") is None
    assert not fused_products.may_fuse(RBF(0.1), X) and not fused_products.may_fuse(RBF(0.1), rows())
