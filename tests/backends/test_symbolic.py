"""A kernel's formula computes what its tile computes: statement by statement, with NumPy in place of Triton."""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.backends.symbolic import Formula, Symbol, SymbolicRows, trace
from mercer.kernels import (
    RBF,
    AdditiveChi2,
    ArcCosine,
    Chi2,
    Constant,
    Cosine,
    FunctionKernel,
    Hamming,
    Intersection,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    RationalQuadratic,
    Sigmoid,
    Tanimoto,
    VectorKernel,
)

RNG = np.random.default_rng(0)
X = np.round(RNG.random((14, 4)) * [3.0, 2.0, 1.5, 1.0], 1)  # rounded, so that some coordinates are equal
Y = np.round(RNG.random((9, 4)), 1)

TL = SimpleNamespace(
    exp=np.exp, log=np.log, sqrt=np.sqrt, sin=np.sin, cos=np.cos, abs=np.abs, where=np.where,
    maximum=np.maximum, minimum=np.minimum, zeros=lambda shape, dtype: np.zeros(shape, dtype),
)  # fmt: skip

KERNELS = [
    RBF(0.7), RBF([1.0, 2.0, 0.0, 3.0]), Laplacian(0.4), Matern(0.5), Matern(1.5), Matern(2.5), Matern(np.inf),
    RationalQuadratic(1.2, 0.7), RationalQuadratic(1.2, 1.0), RationalQuadratic(1.2, 1.5), Linear(),
    Polynomial(3, 0.5, 1.0), Polynomial(0, 0.5, 1.0), Polynomial(2.3, 0.5, 1.0), Sigmoid(0.5, 0.1), Sigmoid(9.0, -2.0),
    Cosine(), ArcCosine(0), ArcCosine(1), ArcCosine(2), Tanimoto(), Chi2(0.3), AdditiveChi2(), Intersection(),
    Hamming(), RBF(0.5) + 0.5 * Linear(), (Matern(2.5) * RBF(0.3)).normalized(), ArcCosine(2).on([0, 3]) ** 2,
    RBF(0.5) + 1.0, Polynomial(2, 1.0, 0.5).normalized() * Constant(2.0),
]  # fmt: skip


def readings_of(formula):
    terms = {
        "dot": lambda a, b: np.sum(a * b, axis=2),
        "sqeuclidean": lambda a, b: np.sum((a - b) ** 2, axis=2),
        "direct": lambda a, b: np.sum((a - b) ** 2, axis=2),
        "manhattan": lambda a, b: np.sum(abs(a - b), axis=2),
        "intersection": lambda a, b: np.sum(np.minimum(a, b), axis=2),
        "matches": lambda a, b: np.sum(a == b, axis=2).astype(float),
        "chi2": lambda a, b: np.sum(np.where(a + b > 0, (a - b) ** 2 / np.where(a + b > 0, a + b, 1), 0), axis=2),
    }
    return [terms[r.name](r.rows[:, None, :], r.columns[None, :, :]) for r in formula.readings]


def value_of(formula, shape):
    """The matrix that the statements compute."""
    names = {"tl": TL, "BM": shape[0], "BN": shape[1], "REAL": float, "same": np.eye(*shape, dtype=bool)}
    names |= {f"r{i}": reading for i, reading in enumerate(readings_of(formula))}
    names |= {f"c{i}": value for i, value in enumerate(formula.constants)}
    for i, vector in enumerate(formula.vectors):
        names[f"n{i}"] = vector.values[:, None] if vector.by_row else vector.values[None, :]
    for statement in formula.statements:
        text = statement.diagonal if formula.symmetric and statement.diagonal else statement.text
        names[statement.name] = eval(text, names)
    return names[formula.result]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_the_formula_is_the_tile(kernel):
    kernel = kernel.bind(X)
    anchors = kernel.points(X)
    new = kernel.points(Y, like=anchors)
    with np.errstate(all="ignore"):
        symmetric = value_of(trace(kernel.tile, anchors), (14, 14))
        across = value_of(trace(kernel.tile, new, anchors), (9, 14))
    expected = kernel.tile(anchors)
    # arccos near 1 makes √eps of rounding, on the diagonal of the kernel with a kink there
    loose = 1e-7 if kernel == ArcCosine(0) else 1e-13
    assert_allclose(symmetric, expected, rtol=1e-12, atol=loose * abs(expected).max())
    assert_allclose(across, kernel.tile(new, anchors), rtol=1e-12, atol=1e-13 * abs(expected).max())


@dataclass(repr=False)
class Cauchy(VectorKernel):
    """A kernel as a user writes it."""

    reads = "sqeuclidean"

    def profile(self, t, xp):
        return 1 / (1 + xp.minimum(t, 1e9) / 3.0)


def test_a_users_kernel_has_a_formula_and_numbers_are_not_in_its_text():
    kernel, points = Cauchy(), RBF(1.0).points(X)
    assert_allclose(value_of(trace(kernel.tile, points), (14, 14)), kernel.tile(points), rtol=1e-14)
    texts = [[s.text for s in trace(RBF(gamma).tile, points).statements] for gamma in (0.3, 0.7)]
    assert texts[0] == texts[1]


@dataclass(repr=False)
class ByNumPy(VectorKernel):
    reads = "sqeuclidean"

    def profile(self, t, xp):
        return np.exp(-t)


@dataclass(repr=False)
class Deciding(ByNumPy):
    def profile(self, t, xp):
        return t if t.max() > 3 else 2 * t


@dataclass(repr=False)
class Branching(ByNumPy):
    def profile(self, t, xp):
        return t if t > 3 else 2 * t


@pytest.mark.parametrize(
    "kernel",
    [ByNumPy(), Deciding(), Branching(), Matern(0.7), FunctionKernel(lambda a, b: a @ b.T, "matrices")],
    ids=repr,
)
def test_what_cannot_be_traced_has_no_formula(kernel):
    assert trace(kernel.tile, RBF(1.0).points(X)) is None


@pytest.mark.parametrize("x", [-40.0, -0.5, -0.49, -1e-9, 0.0, 1e-5, 0.3, 0.5, 0.51, 3.0, 400.0])
def test_tanh_and_acos_keep_their_digits(x):
    def computed(function, at):
        formula = Formula()
        rows = SymbolicRows(formula, np.zeros((1, 1)))
        found = getattr(rows.__array_namespace__(), function)(Symbol(formula, "r0", "pair"))
        names = {"tl": TL, "r0": np.float64(at)} | {f"c{i}": c for i, c in enumerate(formula.constants)}
        with np.errstate(all="ignore"):
            for statement in formula.statements:
                names[statement.name] = eval(statement.text, names)
        return names[found.name]

    assert_allclose(computed("tanh", x), np.tanh(x), rtol=1e-15)
    if abs(x) <= 1:
        assert_allclose(computed("acos", x), np.arccos(x), rtol=1e-15, atol=1e-16)
