"""Every kernel keeps the contract, and the contract notices when one does not."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.gaussian_process import kernels as gp

from mercer import kernels
from mercer.kernels import (
    RBF,
    AdditiveChi2,
    ArcCosine,
    Chi2,
    Constant,
    Cosine,
    FunctionKernel,
    GaussianProcessKernel,
    Hamming,
    Intersection,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Precomputed,
    RationalQuadratic,
    Sigmoid,
    Spectrum,
    Tanimoto,
    VectorKernel,
    resolve_kernel,
)
from mercer.testing import check_kernel

RNG = np.random.default_rng(0)
SIGNED = RNG.standard_normal((20, 4))
POSITIVE = RNG.exponential(size=(20, 4)).round(2)
BITS = (RNG.random((20, 9)) < 0.4).astype(float)
FAR = SIGNED + 1e3
WORDS = ["".join(RNG.choice(list("abc"), size=size)) for size in RNG.integers(4, 15, size=16)]


def cubed(A, B):
    return (A @ B.T + 2.0) ** 3


def overlap(x, y, weight=1.0):
    return weight * float((x * y).sum())


def periodic(A, B):
    return np.cos(A[:, :1] - B[:, :1].T)


SIGNED_KERNELS = [
    Linear(),
    Polynomial(),
    Polynomial(degree=2, gamma=0.5, coef0=0.0),
    RBF(),
    RBF(gamma="scale"),
    RBF(gamma="median"),
    RBF(gamma=0),
    Laplacian(),
    Laplacian(gamma="median"),
    Matern(nu=0.5),
    Matern(nu=1.5, length_scale="median"),
    Matern(nu=2.5, length_scale=2.0),
    Matern(nu=float("inf")),
    Matern(nu=0.8),
    RationalQuadratic(),
    RationalQuadratic(length_scale="median", alpha=0.5),
    Cosine(),
    ArcCosine(0),
    ArcCosine(1),
    ArcCosine(2),
    Hamming(),
    Constant(2.0),
]
FUNCTIONS = [
    FunctionKernel(cubed),
    FunctionKernel(periodic, takes="matrices"),
    FunctionKernel(overlap, params={"weight": 2.0}),
    FunctionKernel(overlap, takes="rows"),
]
POSITIVE_KERNELS = [Chi2(), Chi2(gamma="median"), Intersection(), Tanimoto()]
ALGEBRA = [
    RBF(gamma=0.3) + Linear(),
    RBF(gamma=0.3) + 2.0,
    1.0 + Laplacian(),
    RBF(gamma="median") * Polynomial(degree=2),
    3.0 * Matern(),
    RBF(gamma=0.3) * 0.0,
    (Linear() + 1) ** 3,
    RBF(gamma="median").on([0, 2]),
    RBF().on(slice(1, 3)) * Linear().on(np.array([True, False, False, True])),
    Polynomial().normalized(),
    (Linear() + Constant(1.0)).normalized() ** 2 + 0.5 * RBF(gamma="scale"),
]
GAUSSIAN_PROCESS = [
    gp.RBF(0.7),
    gp.RBF([0.7, 1.0, 2.0, 3.0]),
    gp.Matern(1.2, nu=1.5),
    gp.Matern(1.2, nu=1.1),
    gp.RationalQuadratic(1.3, alpha=0.4),
    gp.DotProduct(2.0),
    gp.ConstantKernel(2.0) * gp.RBF(0.7) + gp.DotProduct(),
    gp.Exponentiation(gp.DotProduct(), 2),
]


@pytest.mark.parametrize("kernel", [*SIGNED_KERNELS, *ALGEBRA], ids=repr)
def test_on_signed_vectors(kernel):
    check_kernel(kernel, SIGNED)


@pytest.mark.parametrize("kernel", FUNCTIONS, ids=repr)
def test_functions(kernel):
    check_kernel(kernel, SIGNED, other_types=False)


def test_a_function_of_arrays_runs_on_arrays():
    check_kernel(FunctionKernel(lambda A, B: (A @ B.T) ** 2), SIGNED)


@pytest.mark.parametrize("kernel", [*POSITIVE_KERNELS, Tanimoto(), Hamming()], ids=repr)
@pytest.mark.parametrize("X", [POSITIVE, BITS], ids=["counts", "bits"])
def test_on_entries_that_are_not_negative(kernel, X):
    check_kernel(kernel, X)


@pytest.mark.parametrize("kernel", [Sigmoid(), Sigmoid(gamma=2.0, coef0=-1.0)], ids=repr)
def test_indefinite_kernels_on_signed_vectors(kernel):
    check_kernel(kernel, SIGNED, psd=False)


def test_additive_chi2_is_positive_once_centred():
    check_kernel(AdditiveChi2(), POSITIVE, psd=False)
    K = AdditiveChi2()(POSITIVE)
    H = np.eye(len(K)) - 1 / len(K)
    assert np.linalg.eigvalsh(H @ K @ H)[0] > -1e-12


@pytest.mark.parametrize("kernel", [RBF(gamma=0.3), Matern(), RationalQuadratic()], ids=repr)
def test_far_from_the_origin(kernel):
    check_kernel(kernel, FAR, tol=1e-8)
    np.testing.assert_allclose(kernel(FAR), kernel(SIGNED), atol=1e-9)


@pytest.mark.parametrize("kernel", GAUSSIAN_PROCESS, ids=repr)
def test_gaussian_process_kernels(kernel):
    check_kernel(resolve_kernel(kernel), SIGNED)
    check_kernel(GaussianProcessKernel(kernel), SIGNED)


def test_a_periodic_gaussian_process_kernel():
    check_kernel(resolve_kernel(gp.ExpSineSquared()), SIGNED[:, :1])


@pytest.mark.parametrize("kernel", [Spectrum(), Spectrum(2), Spectrum(1).normalized()], ids=repr)
def test_on_strings(kernel):
    check_kernel(kernel, WORDS)


def test_precomputed():
    check_kernel(Precomputed(), RBF(gamma=0.3)(SIGNED))


def test_every_public_kernel_is_checked_here():
    checked = {type(k) for k in (*SIGNED_KERNELS, *FUNCTIONS, *POSITIVE_KERNELS)}
    checked |= {Sigmoid, AdditiveChi2, Spectrum, Precomputed, GaussianProcessKernel}
    public = {value for value in vars(kernels).values() if isinstance(value, type)}
    concrete = {c for c in public if issubclass(c, kernels.Kernel) and not c.__abstractmethods__}
    assert concrete - checked <= {VectorKernel}


@pytest.mark.parametrize("kernel", [*SIGNED_KERNELS, Sigmoid(), *ALGEBRA], ids=repr)
def test_csr_and_array_api_are_taken(kernel):
    """The contract lets a kernel refuse them; Mercer's own do not, but for the Bessel functions."""
    strict = pytest.importorskip("array_api_strict")
    bound = kernel.bind(SIGNED)
    bessel = isinstance(kernel, Matern) and kernel.nu == 0.8
    if bessel:
        with pytest.raises(TypeError, match="Bessel"):
            bound.tile(bound.points(strict.asarray(SIGNED)))
    else:
        bound.tile(bound.points(strict.asarray(SIGNED)))
    bound.tile(bound.points(sp.csr_array(SIGNED)))


# --- the contract can fail -----------------------------------------------------------------------------------


@dataclass(repr=False)
class _Lopsided(VectorKernel):
    """Not symmetric: a tile adds its row's place."""

    reads = "dot"

    def profile(self, t, xp):
        return t

    def tile(self, A, B=None, out=None):
        K = super().tile(A, B)
        return K + np.arange(K.shape[0], dtype=K.dtype)[:, None]


@dataclass(repr=False)
class _WrongDiagonal(VectorKernel):
    reads = "dot"

    def profile(self, t, xp):
        return t

    def diagonal(self, A):
        return 2 * A.norms

    def tile(self, A, B=None, out=None):
        return A.rows @ (A if B is None else B).rows.T


@dataclass(repr=False)
class _Negative(VectorKernel):
    reads = "dot"

    def profile(self, t, xp):
        return -t


@dataclass(repr=False)
class _AlwaysDouble(VectorKernel):
    reads = "dot"

    def profile(self, t, xp):
        return t.astype(np.float64)


@dataclass(repr=False)
class _SizeDependent(VectorKernel):
    """Divides by the number of rows it happens to see."""

    reads = "dot"

    def profile(self, t, xp):
        return t

    def points(self, X, dtype=None, like=None):
        points = super().points(X, dtype, like)
        return replace(points, rows=points.rows / len(points), norms=points.norms / len(points) ** 2)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (_Lopsided(), "transpose"),
        (_WrongDiagonal(), "diagonal"),
        (_Negative(), "psd"),
        (_AlwaysDouble(), "float32"),
        (_SizeDependent(), "like="),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_broken_kernel_is_caught(kernel, message):
    with pytest.raises(AssertionError, match=message):
        check_kernel(kernel, SIGNED)


def test_too_few_rows_to_check():
    with pytest.raises(AssertionError, match="12 rows"):
        check_kernel(Linear(), SIGNED[:3])
