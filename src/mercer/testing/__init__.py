"""Public contracts: what a kernel, an operator, a solver, a backend or an expansion must do to work with the rest.

Each check raises an AssertionError that says which promise was broken and by how much, and returns nothing. A new
kernel is tested in five lines, with any test runner or none:

    import numpy as np
    from mercer.testing import check_kernel

    def test_my_kernel():
        check_kernel(MyKernel(width=2.0), np.random.default_rng(0).standard_normal((20, 3)))
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from mercer.backends import generic, namespace, to_numpy
from mercer.expansion import KernelExpansion
from mercer.kernels import Kernel
from mercer.kernels.gradients import gradient_sum, has_gradient
from mercer.linalg.eigen import Eigenpairs, top_eigenpairs
from mercer.linalg.eigen_bounds import column_norms
from mercer.linalg.operators import Operator
from mercer.testing import spectra
from mercer.testing.array_libraries import check_arrays

__all__ = [
    "check_arrays",
    "check_backend",
    "check_expansion",
    "check_kernel",
    "check_operator",
    "check_solver",
    "spectra",
]


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    """Load the suite of spectra when it is first asked for: it needs scikit-learn's data sets."""
    if name != "spectra":
        raise AttributeError(f"module 'mercer.testing' has no attribute {name!r}")
    return import_module("mercer.testing.spectra")


_EPS = float(np.finfo(np.float64).eps)


def _close(what: str, actual: Any, expected: Any, tol: float) -> None:
    """Assert equal shapes, finite entries, and a difference of at most tol · max |expected|."""
    actual, expected = _array(actual), _array(expected)
    assert actual.shape == expected.shape, f"{what}: shape {actual.shape}, expected {expected.shape}."
    assert np.all(np.isfinite(actual)), f"{what}: NaN or infinity."
    scale = float(np.abs(expected).max(initial=0.0)) or 1.0
    worst = float(np.abs(actual - expected).max(initial=0.0)) / scale
    assert worst <= tol, f"{what}: differs by {worst:.2e} of the largest entry, more than {tol:.0e}."


def _array(x: Any) -> np.ndarray:
    return np.asarray(to_numpy(x.toarray() if sp.issparse(x) else x), dtype=np.float64)


def _same_bits(what: str, actual: Any, expected: Any) -> None:
    assert np.array_equal(to_numpy(actual), to_numpy(expected)), f"{what}: the bits changed."


# --- kernels ------------------------------------------------------------------------------------------------


def check_kernel(kernel: Kernel, X: Any, *, psd: bool = True, other_types: bool = True, tol: float = 1e-10) -> None:
    """Check that all tiles of a kernel are parts of one symmetric matrix, on data that the kernel accepts.

    kernel : the kernel, bound or not
    X : a dozen rows or more that it accepts; float64 if they are numbers, strings for a kernel of strings, a
        symmetric matrix for one that takes indices
    psd : whether the matrix must be positive semidefinite, as for an inner product
    other_types : whether to try CSR rows and array-API arrays as well; the kernel may refuse with a TypeError
    tol : how far two ways to compute an entry may differ, relative to the largest entry. Entries of a row with itself
        may differ by 1e-7, since distances and angles near zero are known to half the digits only

    If the kernel has a gradient (`mercer.kernels.gradients`), it is compared with finite differences of its values.

    >>> from mercer.kernels import RBF
    >>> check_kernel(RBF(gamma=0.5), np.random.default_rng(0).standard_normal((12, 3)))
    """
    assert len(X) >= 12, f"Give at least 12 rows to check a kernel on, not {len(X)}."
    bound = kernel.bind(X)
    K = _array(bound.tile(bound.points(X)))
    _check_parameters(kernel, X, K, tol)
    _check_matrix(bound, X, K, psd, tol)
    _check_blocks(bound, X, K, tol)
    _check_precision(bound, X, K)
    if kernel.accepts == "vectors":
        _check_call(bound, X, K, tol)
    if kernel.accepts == "vectors" and other_types:
        _check_array_types(bound, X, K, tol)
    if kernel.accepts == "vectors" and has_gradient(bound):
        _check_gradient(bound, X, other_types)


def _check_parameters(kernel: Kernel, X: Any, K: np.ndarray, tol: float) -> None:
    """get_params, set_params, clone and repr, as scikit-learn's tools need them."""
    copy = clone(kernel)
    assert type(copy) is type(kernel) and copy is not kernel, "clone: not a new kernel of the same class."
    assert repr(copy) == repr(kernel), f"clone: {copy!r} is not {kernel!r}."
    assert repr(kernel) and " at 0x" not in repr(kernel), f"repr: {kernel!r} says nothing to a reader."
    copy.set_params(**kernel.get_params(deep=False))
    inner = {name: value for name, value in kernel.get_params().items() if "__" in name}
    copy.set_params(**inner)
    assert repr(copy) == repr(kernel), f"set_params(get_params()): {copy!r} is not {kernel!r}."
    bound = copy.bind(X)
    _close("A clone's matrix", bound.tile(bound.points(X)), K, tol)
    again = bound.bind(X)
    _close("The matrix after binding twice", again.tile(again.points(X)), K, tol)
    try:
        copy.set_params(no_such_parameter=1)
    except ValueError:
        return
    raise AssertionError("set_params: an unknown name must be a ValueError.")


def _entries(what: str, got: Any, K: np.ndarray, I: Any, J: Any, tol: float) -> None:
    """Assert that `got` holds the entries of K at rows I and columns J, to tol · max |K|."""
    places = np.arange(len(K))
    rows, columns = places[I], places[J]
    expected, got = K[np.ix_(rows, columns)], _array(got)
    assert got.shape == expected.shape, f"{what}: shape {got.shape}, expected {expected.shape}."
    assert np.all(np.isfinite(got)), f"{what}: NaN or infinity."
    room = np.where(
        rows[:, None] == columns[None, :], max(tol, 1e-7), tol
    )  # a distance to itself may be a root of rounding
    excess = np.abs(got - expected) / (np.abs(K).max() or 1.0) / room
    assert excess.max() <= 1, f"{what}: an entry differs by {excess.max():.1e} times what is allowed."


_ALL = slice(None)


def _check_matrix(kernel: Kernel, X: Any, K: np.ndarray, psd: bool, tol: float) -> None:
    n, A = len(X), kernel.points(X)
    assert len(A) == n, f"points: {len(A)} points of {n} rows."
    assert K.shape == (n, n) and np.all(np.isfinite(K)), "tile: not a finite n × n matrix."
    _close("tile(A) against its transpose", K, K.T, tol)
    _entries(
        "tile(A) against tile(A, B) with B the same rows", kernel.tile(A, A.take(np.arange(n))), K, _ALL, _ALL, tol
    )
    many = np.arange(150) % n
    _entries("tile(A) of many rows", kernel.tile(A.take(many)), K, many, many, tol)
    _close("diagonal(A) against the diagonal of tile(A)", kernel.diagonal(A), np.diagonal(K), tol)
    if psd:
        values = np.linalg.eigvalsh((K + K.T) / 2)
        room = 100 * tol * max(values[-1], 0.0)
        assert values[0] >= -room, f"psd: an eigenvalue of {values[0]:.3g}, the largest is {values[-1]:.3g}."


def _check_blocks(kernel: Kernel, X: Any, K: np.ndarray, tol: float) -> None:
    """Slicing and taking points gives the entries of the whole matrix; so do points made later, and buffers."""
    A = kernel.points(X)
    index = np.array([7, 2, 2, 11, 0])
    run, other = slice(2, 9), slice(6, 12)
    _entries("a tile of two slices", kernel.tile(A[run], A[other]), K, run, other, tol)
    _entries("a symmetric tile of a slice", kernel.tile(A[run]), K, run, run, tol)
    _entries("a tile of taken points", kernel.tile(A.take(index), A[other]), K, index, other, tol)
    _close("the diagonal of taken points", kernel.diagonal(A.take(index)), np.diagonal(K)[index], tol)
    for i, j in ((0, 1), (5, 5), (11, 3), (4, 10)):
        pair = kernel.tile(A[i : i + 1], A[j : j + 1])
        _entries(f"the entry ({i}, {j}) alone", pair, K, [i], [j], tol)
    buffer = np.full((7, 6), np.nan, dtype=np.float64)
    _entries("a tile with a buffer", kernel.tile(A[run], A[other], buffer), K, run, other, tol)
    later = kernel.points(_rows(X, index), like=A)
    _entries("points made with like=", kernel.tile(later, A), K, index, _ALL, tol)


def _rows(X: Any, index: np.ndarray) -> Any:
    return X[index] if hasattr(X, "shape") else [X[i] for i in index]


def _check_precision(kernel: Kernel, X: Any, K: np.ndarray) -> None:
    single = kernel.points(X, np.float32)
    tiles = ("tile(A)", kernel.tile(single)), ("tile(A, B)", kernel.tile(single[:3], single[2:]))
    for what, got in (*tiles, ("diagonal", kernel.diagonal(single))):
        assert got.dtype == np.float32, f"{what}: float32 points give {got.dtype}."
    _close("float32 against float64", kernel.tile(single), K, 1e-3)


def _check_call(kernel: Kernel, X: Any, K: np.ndarray, tol: float) -> None:
    Y, run = X[4:9], slice(4, 9)
    _entries("kernel(X)", kernel(X), K, _ALL, _ALL, tol)
    _entries("kernel(X, Y)", kernel(X, Y), K, _ALL, run, tol)
    _entries("kernel(Y, X), the transpose of kernel(X, Y)", kernel(Y, X), K, run, _ALL, tol)


def _check_array_types(kernel: Kernel, X: Any, K: np.ndarray, tol: float) -> None:
    """CSR rows and array-API arrays give the same matrix, or a TypeError from a kernel that does not take them."""
    for what, data in _other_types(X):
        try:
            points = kernel.points(data)
            whole = kernel.tile(points)
        except TypeError:
            continue
        _entries(f"{what} against NumPy", whole, K, _ALL, _ALL, 100 * tol)
        _close(f"{what}: diagonal", kernel.diagonal(points), np.diagonal(K), 100 * tol)
        block = kernel.tile(points[2:9], points[6:12])
        _entries(f"{what}: a block", block, K, slice(2, 9), slice(6, 12), 100 * tol)


def _check_gradient(kernel: Kernel, X: Any, other_types: bool) -> None:
    """Σ w c ∂k/∂x against central differences, at rows and halfway between two, one column and all of them."""
    A, d = kernel.points(X), X.shape[1]
    rng = np.random.default_rng(0)
    coefs, weights = rng.standard_normal((len(X), 3)), rng.random((8, len(X)))
    at = np.concatenate([X[:4], (X[:4] + X[4:8]) / 2])
    step = 1e-5 * float(np.abs(X - X.mean(axis=0)).max() or 1.0)
    for what, w in (("the gradient", None), ("the gradient with weights", weights)):
        expected = np.empty((8, 3, d))
        for c, unit in enumerate(step * np.eye(d)):
            up, down = (kernel.tile(kernel.points(rows, like=A), A) for rows in (at + unit, at - unit))
            expected[:, :, c] = ((up - down) * (1.0 if w is None else w)) @ coefs / (2 * step)
        found = gradient_sum(kernel, kernel.points(at, like=A), A, coefs, d, w)
        _close(f"{what} against finite differences", found, expected, 1e-4)
    for what, data in _other_types(X) if other_types else ():
        try:
            points = kernel.points(data)
            there = gradient_sum(kernel, points[0:4], points, _beside(coefs, data), d)
        except TypeError:
            continue
        here = gradient_sum(kernel, A[0:4], A, coefs, d)
        _close(f"{what}: the gradient", there, here, 1e-7)


def _beside(values: np.ndarray, data: Any) -> Any:
    return values if sp.issparse(data) else namespace(data).asarray(values)


def _other_types(X: Any) -> Iterator[tuple[str, Any]]:
    yield "CSR", sp.csr_array(X)
    if find_spec("array_api_strict") is not None:
        yield "array-api-strict", import_module("array_api_strict").asarray(X)


# --- operators ----------------------------------------------------------------------------------------------


def check_operator(A: Operator, explicit: Any, *, tol: float = 1e-10) -> None:
    """Check that everything an operator returns agrees with the explicit matrix, and that its counters count.

    A : an operator on NumPy data with n ≥ 6, of any precision
    explicit : the n × n matrix that it stands for
    tol : how far they may differ, relative to the largest entry of the result

    >>> from mercer.linalg import Dense
    >>> A = np.diag(np.arange(8.0))
    >>> check_operator(Dense(A), A)
    """
    M = _array(explicit)
    n = len(M)
    assert A.n == n >= 6, f"n: the operator has {A.n} rows, the matrix {n}; 6 are needed."
    _check_products(A, M, tol)
    _check_parts(A, M, tol)
    _check_ladder(A, M, tol)


def _check_products(A: Operator, M: np.ndarray, tol: float) -> None:
    rng = np.random.default_rng(0)
    for b in (1, 3, 8):
        V = rng.standard_normal((A.n, b)).astype(A.dtype)
        passes, columns = A.passes, A.columns
        product = A.matmat(V)
        assert product.dtype == A.dtype, f"matmat: {product.dtype}, but the operator says {A.dtype}."
        _close(f"matmat of {b} columns", product, M @ V.astype(np.float64), tol)
        assert A.passes == passes + 1, f"passes: {A.passes - passes} counted for one product."
        assert A.columns >= columns + b, f"columns: {A.columns - columns} counted for {b}."
    again = A.matmat(V)
    _same_bits("The same product again", A.matmat(V), again)
    A.forget()
    assert A.kept_bytes >= 0
    _same_bits("A product after forget()", A.matmat(V), again)


def _check_parts(A: Operator, M: np.ndarray, tol: float) -> None:
    index = np.array([3, 0, 5])
    _close("rows", A.rows(index), M[index], tol)
    _close("crossing", A.crossing(index), M[np.ix_(index, index)], tol)
    strip = A.strip(index)
    for run in (slice(0, 1), slice(1, A.n)):
        _close(f"strip at {run}", strip(run), M[index, run], tol)
    _close("diagonal", A.diagonal(), np.diagonal(M), tol)
    _close("to_dense", A.to_dense(), M, tol)


def _check_ladder(A: Operator, M: np.ndarray, tol: float) -> None:
    steps = A.ladder(1e-10)
    assert steps[-1] is A, "ladder: the last step must be the operator itself."
    V = np.random.default_rng(1).standard_normal((A.n, 2)).astype(A.dtype)
    for step in steps[:-1]:
        _close("a coarse step of the ladder", step.matmat(V), M @ V, max(1e-4, tol))


# --- solvers ------------------------------------------------------------------------------------------------


def check_solver(
    solver: str | Callable[[np.ndarray, int], Eigenpairs],
    *,
    n: int = 60,
    k: int = 5,
    tol: float = 1e-8,
    which: str = "algebraic",
    repeated: bool = True,
) -> None:
    """Check that a solver finds the top k eigenpairs of matrices of every kind, and that its error bounds are true.

    solver : one of `mercer.linalg.eigen.SOLVERS`, or a function (matrix, k) -> Eigenpairs
    tol : the residual that it must reach, relative to the largest eigenvalue
    which : "algebraic" for the largest values, "magnitude" for a solver that finds the largest magnitudes
    repeated : whether it finds a repeated eigenvalue as often as it occurs; a method with a single start vector may not

    >>> check_solver("dense", n=30, k=3)
    """
    solve = solver if callable(solver) else _by_name(solver)
    for name, M in _matrices(n, k).items():
        if name == "clustered" and not repeated:
            continue
        for count in (1, k):
            _check_pairs(f"{name}, k = {count}", M, solve(M, count), count, tol, which)


def _by_name(solver: str) -> Callable[[np.ndarray, int], Eigenpairs]:
    return lambda M, k: top_eigenpairs(M, k, solver=solver, random_state=0)


def _matrices(n: int, k: int) -> dict[str, np.ndarray]:
    """Symmetric matrices with spectra that solvers trip over."""
    rng = np.random.default_rng(0)
    falling = 2.0 ** -np.arange(n)
    clustered = np.concatenate([np.full(k - 1, 3.0), [2.0, 2.0 - 1e-13], 0.5 ** np.arange(1, n - k)])
    indefinite = np.where(np.arange(n) % 2, -1.5, 1.0) * falling
    shapes = {
        "psd": falling,
        "indefinite": indefinite,
        "clustered": clustered,
        "low rank": np.where(np.arange(n) < max(k - 1, 1), falling, 0.0),
        "zero": np.zeros(n),
        "tiny": 1e-200 * falling,
        "huge": 1e150 * falling,
    }
    return {name: _with_spectrum(values, rng) for name, values in shapes.items()}


def _with_spectrum(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    Q, _ = np.linalg.qr(rng.standard_normal((len(values), len(values))))
    M = (Q * values) @ Q.T
    return (M + M.T) / 2


def _check_pairs(name: str, M: np.ndarray, pairs: Eigenpairs, k: int, tol: float, which: str) -> None:
    truth = np.linalg.eigvalsh(M)[::-1]
    scale = float(np.abs(truth).max())
    wanted = truth[:k]
    if which == "magnitude":
        wanted = np.sort(truth[np.argsort(-np.abs(truth), kind="stable")[:k]])[::-1]
    V, values = _array(pairs.vectors), pairs.values
    assert V.shape == (len(M), k), f"{name}: vectors of shape {V.shape}."
    assert np.all(np.isfinite(V)) and np.all(np.isfinite(values)), f"{name}: NaN or infinity."
    assert np.all(np.diff(values) <= 0), f"{name}: the values do not descend: {values}."
    _close(f"{name}: VᵀV", V.T @ V, np.eye(k), 1e-10)
    room = 100 * len(M) * _EPS * scale
    recomputed = column_norms(M @ V - V * values, np)
    off = np.abs(recomputed - pairs.residuals).max()
    assert off <= room, f"{name}: residuals are off by {off:.2e} from those of the vectors."
    worst = recomputed.max()
    assert worst <= tol * scale + room, f"{name}: a residual of {worst:.2e} for a norm of {scale:.2e}."
    distance = np.abs(truth[:, None] - values[None, :]).min(axis=0)
    assert np.all(distance <= pairs.errors + room), (
        f"{name}: the errors are {distance}, above the stated bounds {pairs.errors}."
    )
    wrong = np.abs(values - wanted).max()
    assert wrong <= tol * scale + room, f"{name}: values {values}, expected {wanted}."


# --- backends -----------------------------------------------------------------------------------------------


def check_backend(backend: ModuleType, make: Callable[[np.ndarray], Any] = np.asarray) -> None:
    """Check that a backend's functions agree with the reference, on small tiles and on large ones.

    backend : a module such as `mercer.backends.cpu`
    make : a function that turns a NumPy array into the backend's own array

    >>> from mercer.backends import cpu
    >>> check_backend(cpu)
    """
    sizes = ((7, 5, np.float64, 1e-12), (200, 150, np.float64, 1e-12), (200, 150, np.float32, 1e-4))
    for m, n, dtype, tol in (*sizes, (800, 700, np.float64, 1e-12), (800, 700, np.float32, 1e-4)):
        _check_tiles(backend, make, m, n, dtype, tol)
    _check_jobs(backend)
    assert backend.free_bytes(make(np.zeros((2, 2)))) > 0, "free_bytes: nothing free."
    assert backend.TILE >= 1, "TILE: not a positive number."


def _check_tiles(
    backend: ModuleType, make: Callable[[np.ndarray], Any], m: int, n: int, dtype: Any, tol: float
) -> None:
    rng = np.random.default_rng(0)
    A, B = (np.round(rng.exponential(size=(rows, 3)), 1).astype(dtype) for rows in (m, n))
    aa, bb = (A**2).sum(axis=1), (B**2).sum(axis=1)
    a, b, norms = make(A), make(B), (make(aa), make(bb))
    buffer = backend.buffer(m, n, a)
    assert buffer is None or tuple(buffer.shape) == (m, n), "buffer: not of the shape asked for."
    where = f"for {m} × {n} {np.dtype(dtype)}"
    _close(f"dot {where}", backend.dot(a, b, buffer), generic.dot(A, B), tol)
    exact = generic.sqeuclidean_direct(A, B)
    _close(f"sqeuclidean {where}", backend.sqeuclidean(a, norms[0], b, norms[1], buffer), exact, tol)
    _close(f"sqeuclidean_direct {where}", backend.sqeuclidean_direct(a, b), exact, tol)
    for name in ("manhattan", "intersection", "matches", "chi2"):
        got = backend.coordinatewise(name, a, b, buffer)
        _close(f"{name} {where}", got, generic.coordinatewise(name, A, B), tol)
        own = backend.coordinatewise(name, a, a)
        _close(f"{name} of rows with themselves {where}", own, generic.coordinatewise(name, A, A), tol)
    for name, sweep in backend.FUSED.items():
        assert name == "rbf", f"FUSED: {name!r} has no reference to be checked against."
        got = sweep(a, norms[0], b, norms[1], 0.7, buffer, m * n)
        _close(f"fused {name} {where}", got, np.exp(-0.7 * exact.astype(np.float64)), tol)
        got = sweep(a, norms[0], a, norms[0], 0.7, None, m * m)
        own = np.exp(-0.7 * generic.sqeuclidean_direct(A, A).astype(np.float64))
        _close(f"fused {name} of rows with themselves {where}", got, own, tol)
    own, weigh = A @ A.T, lambda t, I, J: t * norms[0][I][:, None] * norms[0][J][None, :]
    _close(f"mirrored {where}", backend.mirrored(make(own.copy()), weigh), aa[:, None] * own * aa[None, :], tol)
    square = rng.standard_normal((m, m)).astype(dtype)
    expected = generic.set_diagonal(square, aa)
    _close(f"set_diagonal {where}", backend.set_diagonal(make(square.copy()), norms[0]), expected, 0.0)


def _check_jobs(backend: ModuleType) -> None:
    """Assert that each job runs once, each slot runs its jobs in order, and an error in a job reaches the caller."""
    for n_jobs in (None, 1, 2):
        slots = backend.workers(n_jobs)
        assert slots >= 1, f"workers({n_jobs}): {slots}."
        seen: list[list[int]] = [[] for _ in range(slots)]
        backend.for_each(range(23), lambda job, slot, seen=seen: seen[slot].append(job), n_jobs)
        assert sorted(job for jobs in seen for job in jobs) == list(range(23)), "for_each: not each job once."
        assert all(jobs == sorted(jobs) for jobs in seen), "for_each: jobs of one slot out of order."
    backend.for_each([], _fail)
    try:
        backend.for_each(range(3), _fail)
    except ZeroDivisionError:
        return
    raise AssertionError("for_each: an error in a job was swallowed.")


def _fail(job: Any, slot: int) -> None:
    raise ZeroDivisionError


# --- expansions ---------------------------------------------------------------------------------------------


def check_expansion(expansion: KernelExpansion, X: Any, *, tol: float = 1e-10) -> None:
    """Check f(X) = k(X, anchors) @ coefs − offset for rows that are cut, pickled or taken column by column.

    X : a few rows that the expansion's kernel accepts

    `tol` is the largest difference allowed, relative to the scores.

    >>> from mercer import KernelPCA
    >>> X = np.random.default_rng(0).standard_normal((20, 2))
    >>> check_expansion(KernelPCA(2, kernel="rbf").fit(X).expansion_, X)
    """
    kernel, anchors = expansion.kernel, expansion.anchor_points()
    K = _array(kernel.tile(kernel.points(X, like=anchors), anchors))
    expected = K @ _array(expansion.coefs) - _array(expansion.offset)[None, :]
    scale = np.abs(K).sum(axis=1).max() * np.abs(_array(expansion.coefs)).max(initial=0.0)
    tol = tol * max(1.0, scale / (np.abs(expected).max(initial=0.0) or 1.0))  # what cancels in the sum
    _close("f(X)", expansion(X), expected, tol)
    one_by_one = np.concatenate([_array(expansion(X[i : i + 1])) for i in range(len(X))])
    _close("f row by row", one_by_one, expected, tol)
    _same_bits("f(X) after pickling", pickle.loads(pickle.dumps(expansion))(X), expansion(X))
    k = expected.shape[1]
    columns = np.column_stack([_array(expansion.column(i)(X)) for i in range(k)])
    _close("f column by column", columns, expected, tol)
    try:
        expansion.column(k)
    except IndexError:
        return
    raise AssertionError("column: a place beyond the last must be an IndexError.")
