"""Operators, solvers, backends and expansions keep their contracts, and broken ones are caught."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from mercer.backends import cpu, generic
from mercer.expansion import KernelExpansion
from mercer.kernels import RBF, Laplacian, Precomputed, Spectrum
from mercer.linalg.eigen import SOLVERS, top_eigenpairs
from mercer.linalg.gram import Gram
from mercer.linalg.operators import Centered, Dense, LowRank
from mercer.testing import check_backend, check_expansion, check_operator, check_solver

RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 3))
KERNEL = RBF(gamma=0.4)
K = KERNEL(X)
H = np.eye(40) - 1 / 40
F = RNG.standard_normal((40, 6))

OPERATORS = {
    "dense": (lambda: Dense(K), K),
    "low rank": (lambda: LowRank(F), F @ F.T),
    "gram": (lambda: Gram(KERNEL, X), K),
    "gram in tiles": (lambda: Gram(KERNEL, X, tile=9), K),
    "gram kept": (lambda: Gram(KERNEL, X, tile=9, keep_bytes=10**6), K),
    "gram half kept, later": (lambda: Gram(KERNEL, X, tile=9, keep_bytes=6000, keep_from=1), K),
    "gram of rows": (lambda: Gram(Laplacian(0.4), X, tile=11), Laplacian(0.4)(X)),
    "gram given": (lambda: Gram(Precomputed(), K, tile=11), K),
    "centred dense": (lambda: Centered(Dense(K)), H @ K @ H),
    "centred gram": (lambda: Centered(Gram(KERNEL, X, tile=9)), H @ K @ H),
    "centred low rank": (lambda: Centered(LowRank(F)), H @ F @ F.T @ H),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_operators(name):
    make, explicit = OPERATORS[name]
    check_operator(make(), explicit)


def test_operator_of_float32_tiles():
    check_operator(Gram(KERNEL, X, precision=np.float32, tile=9), K, tol=1e-5)


def test_operator_of_strings():
    words = ["".join(RNG.choice(list("ab"), size=8)) for _ in range(30)]
    check_operator(Gram(Spectrum(2), words, tile=8), Spectrum(2)(words))


class _Forgetful(Dense):
    """Forgetting changes the matrix."""

    def forget(self):
        self.A = self.A * (1 + 1e-15)


class _Uncounted(Dense):
    def count(self, V):
        pass


class _OffDiagonal(Dense):
    def diagonal(self):
        return super().diagonal() + 1e-6


@pytest.mark.parametrize(
    ("broken", "message"), [(_Forgetful, "forget"), (_Uncounted, "passes"), (_OffDiagonal, "diagonal")]
)
def test_a_broken_operator_is_caught(broken, message):
    with pytest.raises(AssertionError, match=message):
        check_operator(broken(K), K)


WAYS = {"randomized": {"which": "magnitude"}, "arpack": {"repeated": False}}


@pytest.mark.parametrize("solver", SOLVERS)
def test_solvers(solver):
    check_solver(solver, **WAYS.get(solver, {}))


@pytest.mark.parametrize("solver", SOLVERS)
def test_solvers_when_nearly_every_pair_is_wanted(solver):
    check_solver(solver, n=12, k=11, **WAYS.get(solver, {}))


@pytest.mark.parametrize(
    ("field", "change", "message"),
    [
        ("values", lambda v: v * (1 + 1e-6), "residuals|values"),
        ("values", lambda v: v[::-1], "descend|residuals|values"),
        ("vectors", lambda v: v * 1.001, "VᵀV"),
        ("residuals", lambda r: r + 1e-3, "residuals"),
    ],
)
def test_a_broken_solver_is_caught(field, change, message):
    def solve(M, k):
        pairs = top_eigenpairs(M, k, solver="dense")
        return replace(pairs, **{field: change(getattr(pairs, field))})

    with pytest.raises(AssertionError, match=message):
        check_solver(solve)


def test_a_solver_that_promises_too_much_is_caught():
    def solve(M, k):
        V = np.linalg.eigh(M)[1][:, ::-1][:, :k]
        V = np.linalg.qr(V + 1e-3 * np.ones_like(V))[0]
        W = M @ V
        values = np.sum(V * W, axis=0)
        order = np.argsort(-values)
        V, values = V[:, order], values[order]
        residuals = np.linalg.norm(W[:, order] - V * values, axis=0)
        return SimpleNamespace(vectors=V, values=values, residuals=residuals, errors=np.zeros(k))

    with pytest.raises(AssertionError, match="above the stated bounds"):
        check_solver(solve, tol=0.1)


@pytest.mark.parametrize("backend", [cpu, generic], ids=["cpu", "generic"])
def test_backends(backend):
    check_backend(backend)


def test_generic_backend_on_strict_arrays():
    check_backend(generic, pytest.importorskip("array_api_strict").asarray)


@pytest.mark.torch
def test_torch_backend():
    torch = pytest.importorskip("torch")
    from mercer.backends import torch as backend

    check_backend(backend, torch.asarray)


def _module(**changes):
    return SimpleNamespace(**{**vars(generic), **changes})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dot": lambda A, B, out=None: A @ B.T + 1e-6}, "dot"),
        ({"coordinatewise": lambda name, A, B, out=None: generic.coordinatewise("manhattan", A, B)}, "inters"),
        ({"FUSED": {"rbf": lambda a, aa, b, bb, gamma, out, entries: np.exp(-2 * gamma * (a @ b.T))}}, "fused"),
        ({"for_each": lambda jobs, work, n_jobs=None: [work(j, 0) for j in list(jobs)[1:]]}, "each job"),
        ({"set_diagonal": lambda K, values: K}, "set_diagonal"),
        ({"mirrored": lambda t, entries: t}, "mirrored"),
    ],
)
def test_a_broken_backend_is_caught(changes, message):
    with pytest.raises(AssertionError, match=message):
        check_backend(_module(**changes))


def test_expansions():
    coefs, offset = RNG.standard_normal((40, 3)), np.array([1.0, 0.0, -2.0])
    check_expansion(KernelExpansion(KERNEL, X, coefs, offset), RNG.standard_normal((7, 3)))


def test_expansion_of_strings():
    anchors = np.array(["abab", "bba", "aab"], dtype=object)
    check_expansion(KernelExpansion(Spectrum(2), anchors, np.eye(3), np.zeros(3)), ["ab", "zz", "bab"])


class _WrongOffset(KernelExpansion):
    def on_points(self, new):
        return super().on_points(new) + 2 * self.offset


class _WrongColumn(KernelExpansion):
    def column(self, i):
        return super().column((i + 1) % 3 if i < 3 else i)


@pytest.mark.parametrize(("broken", "message"), [(_WrongOffset, r"f\(X\)"), (_WrongColumn, "column")])
def test_a_broken_expansion_is_caught(broken, message):
    coefs, offset = RNG.standard_normal((40, 3)), np.array([1.0, 0.5, -2.0])
    with pytest.raises(AssertionError, match=message):
        check_expansion(broken(KERNEL, X, coefs, offset), RNG.standard_normal((7, 3)))
