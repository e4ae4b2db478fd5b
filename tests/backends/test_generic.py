"""The reference backend, which `check_backend` holds the others to, against sums written out."""

import numpy as np
import pytest

from mercer.backends import cpu, generic

RNG = np.random.default_rng(0)
A, B = RNG.random((5, 3)), RNG.random((4, 3))

TERMS = {
    "sqeuclidean": lambda a, b: (a - b) ** 2,
    "manhattan": lambda a, b: abs(a - b),
    "intersection": min,
    "matches": lambda a, b: float(a == b),
    "chi2": lambda a, b: (a - b) ** 2 / (a + b) if a + b else 0.0,
}


@pytest.mark.parametrize("name", TERMS)
def test_sums_over_coordinates(name):
    left, right = A.copy(), B.copy()
    left[:2, 1] = right[:3, 1] = 0.0  # both zero: equal, and a quotient 0/0 that counts as nothing
    want = [[sum(TERMS[name](x, y) for x, y in zip(a, b, strict=True)) for b in right] for a in left]
    np.testing.assert_allclose(generic.coordinatewise(name, left, right), want, rtol=1e-14, atol=1e-15)


def test_a_new_diagonal_leaves_the_rest():
    K = A @ A.T
    got = generic.set_diagonal(K, np.arange(5.0))
    np.testing.assert_array_equal(np.diagonal(got), np.arange(5.0))
    off = ~np.eye(5, dtype=bool)
    np.testing.assert_array_equal(got[off], K[off])


def test_nothing_below_zero_comes_of_rounding():
    A = np.full((4, 2), 1e8) + np.arange(4)[:, None] * 1e-8
    aa = (A**2).sum(axis=1)
    for backend in (cpu, generic):
        assert backend.sqeuclidean(A, aa, A, aa).min() >= 0
        assert cpu.FUSED["rbf"](A, aa, A, aa, 1.0, None).max() <= 1
