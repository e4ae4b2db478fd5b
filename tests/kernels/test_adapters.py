"""Functions and scikit-learn's Gaussian-process kernels as kernels."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.gaussian_process import kernels as gp
from sklearn.metrics.pairwise import rbf_kernel

from mercer import KernelPCA
from mercer.kernels import FunctionKernel, GaussianProcessKernel, resolve_kernel
from mercer.linalg.gram import Gram
from mercer.linalg.lowrank import rpcholesky

RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((20, 3)), RNG.standard_normal((6, 3))

KERNELS = [
    gp.RBF(0.7),
    gp.RBF([0.7, 1.0, 2.0]),
    gp.Matern(1.2, nu=0.5),
    gp.Matern(1.2, nu=2.5),
    gp.Matern(1.2, nu=np.inf),
    gp.Matern(1.2, nu=1.1),
    gp.Matern([1.0, 2.0, 3.0], nu=1.5),
    gp.RationalQuadratic(1.3, alpha=0.4),
    gp.DotProduct(2.0),
    gp.ExpSineSquared(1.1, 2.0),
    gp.ConstantKernel(2.0),
    gp.ConstantKernel(2.0) * gp.RBF(0.7) + gp.DotProduct(),
    gp.Exponentiation(gp.RBF(0.7), 2),
    gp.Exponentiation(gp.RBF(0.7), 0.5),
    gp.WhiteKernel(0.3),
    gp.RBF(0.7) + gp.WhiteKernel(0.3),
    gp.CompoundKernel([gp.RBF(0.7)]).kernels[0],
    gp.PairwiseKernel(metric="laplacian", gamma=0.4),
]
TRANSLATED = [KERNELS[i] for i in (0, 2, 3, 4, 7, 8, 10, 11, 12)]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_gaussian_process_kernels_keep_their_matrix(kernel):
    for ours in (resolve_kernel(kernel), GaussianProcessKernel(kernel)):
        np.testing.assert_allclose(ours(X), kernel(X), rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(ours(X, Y), kernel(X, Y), rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(ours.diagonal(ours.points(X)), kernel.diag(X), rtol=1e-12)


@pytest.mark.parametrize("kernel", TRANSLATED, ids=repr)
def test_known_formulas_are_translated(kernel):
    assert "GaussianProcessKernel" not in str(_classes(resolve_kernel(kernel)))


def _classes(kernel):
    inner = [_classes(v) for v in kernel.get_params(deep=False).values() if hasattr(v, "tile")]
    return [type(kernel).__name__, *inner]


@pytest.mark.parametrize("data", [sp.csr_array(X)], ids=["csr"])
def test_wrapped_kernels_refuse_what_they_cannot_read(data):
    with pytest.raises(TypeError, match="dense NumPy"):
        GaussianProcessKernel(gp.RBF(0.7)).points(data)


def test_white_noise_lies_on_the_diagonal_however_rows_are_asked_for():
    kernel = resolve_kernel(gp.RBF(0.7) + gp.WhiteKernel(0.3))
    explicit = (gp.RBF(0.7) + gp.WhiteKernel(0.3))(X)
    A = Gram(kernel, X, tile=7)
    np.testing.assert_allclose(A.to_dense(), explicit, atol=1e-12)
    np.testing.assert_allclose(A.matmat(np.eye(20)), explicit, atol=1e-12)
    np.testing.assert_allclose(A.diagonal(), np.diag(explicit), atol=1e-12)
    factor = rpcholesky(A, 6, np.random.default_rng(0))
    left = explicit - factor.F @ factor.F.T
    assert np.trace(left) <= factor.error + 1e-9
    assert np.linalg.eigvalsh(left)[0] > -1e-9


def of_matrices(A, B, gamma=0.5):
    return rbf_kernel(A, B, gamma=gamma)


def of_rows(a, b, gamma=0.5):
    return np.exp(-gamma * ((a - b) ** 2).sum())


@pytest.mark.parametrize(("function", "takes"), [(of_matrices, "matrices"), (of_rows, "rows")])
@pytest.mark.parametrize("width", [1, 2, 3, 5])
def test_what_a_function_takes_is_found_out(function, takes, width):
    data = RNG.standard_normal((4, width))
    kernel = FunctionKernel(function).bind(data)
    assert kernel.takes == takes
    np.testing.assert_allclose(kernel(data), rbf_kernel(data, gamma=0.5), atol=1e-12)


@pytest.mark.parametrize("function", [of_matrices, of_rows])
def test_functions_get_their_parameters(function):
    kernel = resolve_kernel(function, params={"gamma": 2.0})
    np.testing.assert_allclose(kernel(X, Y), rbf_kernel(X, Y, gamma=2.0), atol=1e-12)


def test_a_function_on_one_row():
    np.testing.assert_allclose(FunctionKernel(of_matrices)(X[:1]), [[1.0]])


def test_a_long_diagonal_is_made_in_blocks():
    many = RNG.standard_normal((150, 2))
    kernel = FunctionKernel(lambda A, B: A @ B.T, takes="matrices")
    np.testing.assert_allclose(kernel.diagonal(kernel.points(many)), (many**2).sum(axis=1))


def test_wrong_shape():
    with pytest.raises(ValueError, match="shape"):
        FunctionKernel(lambda A, B: np.ones(3), takes="matrices")(X)


def test_wrong_takes():
    with pytest.raises(ValueError, match="takes"):
        FunctionKernel(of_rows, takes="columns")(X)


def test_row_functions_on_sparse_and_strict_rows():
    dot = FunctionKernel(lambda a, b: float((a * b).sum()) if not sp.issparse(a) else float((a @ b.T).sum()))
    np.testing.assert_allclose(dot(sp.csr_array(X)), X @ X.T, atol=1e-12)
    strict = pytest.importorskip("array_api_strict")
    plain = FunctionKernel(lambda a, b: float(strict.sum(a * b)), takes="rows")
    np.testing.assert_allclose(np.from_dlpack(plain(strict.asarray(X))), X @ X.T, atol=1e-12)


def test_a_function_of_rows_is_asked_once_a_pair():
    asked = []

    def count(a, b):
        asked.append((a.tobytes(), b.tobytes()))
        return float(a @ b)

    kernel = FunctionKernel(count, takes="rows")
    A = kernel.points(X)
    np.testing.assert_allclose(kernel.tile(A), X @ X.T, rtol=1e-12)
    assert len(asked) == len(set(asked)) == len(X) * (len(X) + 1) // 2


@pytest.mark.parametrize("n", [100, 400, 600])
def test_what_a_function_gives_stays_its_own(n):
    rows = np.random.default_rng(0).standard_normal((n, 3))
    kept = {}

    def remembered(A, B):
        key = A.tobytes(), B.tobytes()
        if key not in kept:
            kept[key] = np.exp(-cdist(A, B, "sqeuclidean"))
            kept[key].flags.writeable = False
        return kept[key]

    model = KernelPCA(2, kernel=remembered).fit(rows)
    np.testing.assert_allclose(model.eigenvalues_, KernelPCA(2, kernel="rbf", gamma=1.0).fit(rows).eigenvalues_)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda a, b: np.ones(3), r"array of shape \(3,\) for two rows"),
        (lambda a, b: a @ b.T + np.ones((7, 7)), r"array of shape \(7, 7\)"),
        (lambda a, b: None, "NoneType for two rows"),
        (lambda a, b: "much", "str for two rows"),
    ],
)
def test_a_function_of_the_wrong_shape(function, message):
    with pytest.raises(TypeError, match=message):
        FunctionKernel(function)(X)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("takes", ["rows", "matrices"])
def test_a_function_that_is_not_finite(takes, bad):
    def kernel(a, b):
        return bad if a.ndim == 1 else np.full((len(a), len(b)), bad)

    with pytest.raises(ValueError, match="NaN or infinity"):
        FunctionKernel(kernel, takes)(X)
    with pytest.raises(ValueError, match="NaN or infinity"):
        KernelPCA(2, kernel=kernel).fit(X)
    bound = FunctionKernel(kernel, takes)
    with pytest.raises(ValueError, match="NaN or infinity"):  # not: "overflows, scale the data"
        bound.diagonal(bound.points(X))
